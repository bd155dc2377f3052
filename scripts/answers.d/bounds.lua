-- Bounds of all kinds, gaps, guarantees, favourite children, pipeline splits.
local berth = require "berth"
local graphs = require "graphs"

local kinds = { "critical_path", "work", "memory", "clusters", "intervals", "link_cut", "transfers", "best" }

local function bounds(add)
  for _, case in ipairs(graphs.cases) do
    for _, options in ipairs { {}, { thorough = true }, { thorough = true, links = "duplex", memory = "none" },
      { memory = "total" } } do
      if case[1] ~= "zoo" or not options.thorough then
        local name = ("bounds %s%s %s %s"):format(case[1], options.thorough and " thorough" or "", options.links or "free",
          options.memory or "default")
        add(name, function()
          local b, message, code = berth.bounds(case[2], case[3], options)
          if not b then return nil, message, code end
          local out, guarantees = { b.name }, {}
          for _, kind in ipairs(kinds) do out[#out + 1] = b[kind] or "-" end
          for i, x in ipairs(b.guarantees or {}) do guarantees[i] = { x.name, x.placers, x.ratio, x.limit, x.valid, x.why } end
          return out, { guarantees, b.rho, b.path_rho, b.closed }
        end)
      end
    end
  end
  add("bounds achieved", function()
    local b = berth.bounds(graphs.cases[1][2], graphs.mesh, { makespan = 100 })
    return { b.achieved, b.best }, tostring(b)
  end)
  local like = graphs.random(5, 20)
  add("guarantees", function()
    local b = berth.bounds(like, berth.topology.mesh(4, { bandwidth = 1e4 }), { thorough = true })
    return { #b.guarantees, b.rho, b.path_rho }, tostring(b.guarantees)
  end)
  for _, case in ipairs { graphs.cases[1], graphs.cases[3] } do
    add("gaps " .. case[1], function()
      local p = assert(berth.place(case[2], case[3], "m-topo"))
      local k = assert(berth.gaps(case[2], case[3], p, { calls = 120 }))
      return { k.makespan, k.bound, k.gap, k.placement, k.queue_rule, k.open }, tostring(k)
    end)
  end
end

local function favourites(add)
  for _, method in ipairs { "auto", "entropic", "interior" } do
    for _, case in ipairs { graphs.cases[1], graphs.cases[3] } do
      local free = method == "entropic"
      add(("%sfavourites %s %s"):format(free and "" or "~", method, case[1]), function()
        local f = assert(berth.favourites(case[2], case[3], { method = method, gap = free and 0.05 or 1e-3, tau = 0.5 }))
        local out, number = { f.value or f.bound or "-" }, 0
        for i = 1, #f.child do if (f.child[i] or 0) ~= 0 then number = number + 1 end end
        out[2] = number
        return out, f.child
      end)
    end
  end
end

local function splits(add)
  local g = graphs.cases[3][2]
  local t = berth.topology.mesh(3, { bandwidth = "1 GB/s", memory = "1 GB" })
  for _, options in ipairs { {}, { contiguous = false }, { objective = "latency" }, { visits = 40 } } do
    local key = next(options)
    add("split " .. (key and key .. "=" .. tostring(options[key]) or "default"), function()
      local s, message, code = berth.split(g, t, options)
      if not s then return nil, message, code end
      local m = berth.split_measure(g, t, s.placement)
      return { s.max_load or "-", s.latency or "-", s.proven, s.ideals or "-", s.bound or "-" }, { s.placement,
        m.loads, m.latency }
    end)
  end
  local forward = graphs.random(11, 16, { reach = 4 })
  add("split random latency", function()
    local s = assert(berth.split(forward, berth.topology.mesh(3, { bandwidth = 100 }), { objective = "latency" }))
    return { s.latency, s.max_load, s.bound }, s.placement
  end)
end

return function(add)
  bounds(add)
  favourites(add)
  splits(add)
end
