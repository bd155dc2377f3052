-- Placement: every placer with its variants and main options; searches, exact, portfolio, pipelines, repair.
local berth = require "berth"
local graphs = require "graphs"

local function placed(p, message, code)
  if not p then return nil, message, code end
  return p
end

-- Figures of a placement: makespan as simulated, and the placer's own estimate; details: devices, order, times of the plan.
local function judged(g, t, p, options)
  local r = assert(berth.simulate(g, t, p, options))
  return { r.makespan, p.estimate or "-", r.oom and "oom" or "fits" }, { p:devices(), p:sequence(), p.start, p.finish,
    p.placer, p.bound }
end

local options = { -- beside the variants
  single = { { device = 2 }, { memory = "total" } },
  random = { { seed = 5 } },
  ["m-etf"] = { { ties = "topological" }, { ties = "b-level" }, { memory = "total" }, { coarsen = "chains" } },
  ["m-sct"] = { { favourites = "through" }, { favourites = "none" }, { tau = 0.5 }, { ties = "b-level" } },
  etf = { { coarsen = "coplace", coarsen_ops = 4 }, { transfer_weight = 2 } },
  heft = { { averages = "saga" }, { links = "duplex" }, { links = "channel" }, { links = "pair" }, { links = "fair" },
    { coarsen = "fuse" }, { quantum = 0.25 } },
  cpop = { { averages = "saga" }, { links = "route" } },
  peft = { { averages = "saga" }, { memory = "none" } },
  ["critical-path"] = { { tries = 4, seed = 3 } },
  metis = { { links = "duplex" }, { memory = "none" } },
  ["m-topo"] = { { coarsen = "coplace" } },
}

local slow = { anneal = { calls = 120, seed = 1 }, ["local"] = { calls = 120, seed = 1 }, brkga = { calls = 120,
  seed = 1 }, portfolio = { threads = 1 } }

local function named(options_of)
  local cells, keys = {}, {}
  for key in pairs(options_of) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do cells[i] = key .. "=" .. tostring(options_of[key]) end
  return table.concat(cells, ",")
end

local function every_placer(add)
  for _, name in ipairs(berth.placers()) do
    for k, case in ipairs(graphs.cases) do
      if not (slow[name] and k == 4 or name == "exact" and k ~= 3) then
        add(("place %s %s"):format(name, case[1]), function()
          local p, message, code = placed(berth.place(case[2], case[3], name, slow[name]))
          if not p then return nil, message, code end
          return judged(case[2], case[3], p)
        end)
      end
    end
    local more = {}
    for _, variant in ipairs(berth.placers(name)) do more[#more + 1] = { variant = variant } end
    for _, own in ipairs(options[name] or {}) do more[#more + 1] = own end
    for _, own in ipairs(more) do
      add(("place %s %s"):format(name, named(own)), function()
        local case = graphs.cases[name == "enumerative" and 1 or 2]
        local p, message, code = berth.place(case[2], case[3], name, own)
        if not p then return nil, message, code end
        return judged(case[2], case[3], p)
      end)
    end
  end
end

local function searches(add)
  local g, t = graphs.cases[2][2], graphs.cases[2][3]
  for _, more in ipairs {
    { "anneal", { calls = 150, seed = 2, links = "duplex", restarts = 2 } }, { "anneal", { calls = 100,
      judge = { dispatch = "blevel" } } },
    { "local", { calls = 150, steepest = true } }, { "brkga", { calls = 150, population = 12, elite = 0.25,
      mutants = 0.2, bias = 0.6 } },
    { "anneal", { calls = 60, threads = 1, objective = function(p) return p[1] + 2 * p[2] + (p[3] == p[4] and 0 or 1) end } },
  } do
    local own = {}
    for key, value in pairs(more[2]) do
      own[key] = type(value) == "table" and named(value) or type(value) ~= "function" and value or "f"
    end
    add(("search %s %s"):format(more[1], named(own)), function()
      local p, message, code = berth.place(g, t, more[1], more[2])
      if not p then return nil, message, code end
      return judged(g, t, p, { links = more[2].links })
    end)
  end
  add("search tries", function()
    local p = assert(berth.place(g, t, "heft"))
    local s, best = assert(berth.tries(g, t, p, { memory = "none" }))
    local seen, rng = { best }, berth.rng(4)
    for _ = 1, 60 do
      local makespan, peak, op = s:try({ [rng:below(#g)] = rng:below(#t) }, best)
      seen[#seen + 1] = { makespan or "none", peak, op, s:ended() }
      if makespan and makespan < best and not op then assert(s:accept()); best = makespan end
    end
    return { best }, seen
  end)
  for _, case in ipairs { graphs.cases[1], graphs.cases[2] } do
    add("exact small " .. case[1], function()
      local small = graphs.random(7, 9)
      local p, proof = assert(berth.exact(small, case[3], { nodes = 4000 }))
      return { proof.makespan, proof.bound, proof.proved }, { p:devices(), p.start }
    end)
  end
  add("exact identical", function()
    local ops, rng = {}, berth.rng(9)
    for i = 1, 18 do ops[i] = { seconds = rng:below(9) } end
    local p, proof = berth.exact(assert(berth.graph { ops = ops, edges = { { 1, 5, 0 }, { 2, 9, 0 }, { 5, 12, 0 } } }),
      berth.topology.mesh(4, { bandwidth = math.huge }), { nodes = 2000, schedules = 60 })
    return { proof.makespan, proof.bound, proof.proved }, p:devices()
  end)
end

local function without_time(rows)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = { row.name, row.makespan, row.gap, row.estimate, row.peak, row.oom, row.error, row.code, row.placement,
      row.missing }
  end
  return out
end

local function several(add)
  for _, case in ipairs(graphs.cases) do
    add("portfolio " .. case[1], function()
      local p, rows, code = berth.portfolio(case[2], case[3], { links = "duplex", threads = 2,
        members = case[1] == "zoo" and { "single", "m-etf", "heft", { "peft", { averages = "saga" } } } or nil })
      if not p then return nil, rows, code end
      return { rows.winner.name, rows.winner.makespan, rows.bound, rows.bound_name, #rows }, without_time(rows)
    end)
  end
  local g, t = graphs.cases[2][2], graphs.cases[2][3]
  add("compare", function()
    local cmp = assert(berth.compare(g, t, { "single", "etf", "heft", "m-topo" }, { links = "fair", thorough = true }))
    return { cmp.best[1].name, cmp.best[1].makespan }, { without_time(cmp), tostring(cmp) }
  end)
  local least_loaded = {
    name = "least loaded", ready = "assigned", fit = "append", choose = "op",
    prepare = function(_, cost) return cost.graph:b_level { cost = cost } end,
    device = function(_, est, plan)
      local best
      for d = 1, #est do
        if est[d] < math.huge and (not best or plan:memory(d) < plan:memory(best)) then best = d end
      end
      return best
    end,
  }
  local scored = { name = "scored", choose = "pair", fit = "insertion",
    score = function(op, est, _, eft)
      local out = {}
      for d = 1, #est do out[d] = eft[d] + 0.01 * op * est[d] end
      return out
    end }
  for _, x in ipairs {
    { "policy least loaded", least_loaded }, { "policy scored", scored },
    { "pipeline coplace fuse heft", berth.pipeline { { "coplace", { max_ops = 4 } }, "fuse", { "heft",
      { links = "duplex" } } } },
    { "pipeline chains etf repair", berth.pipeline { "chains", "etf", "repair" } },
    { "pipeline heft anneal", berth.pipeline { "heft", { "anneal", { calls = 80 } } } },
    { "pipeline forward m-etf", berth.pipeline { { "forward", { memory_fraction = 0.9 } }, "m-etf" }, graphs.cases[3] },
  } do
    add(x[1], function()
      local case = x[3] or graphs.cases[2]
      local p, message, code = berth.place(case[2], case[3], x[2])
      if not p then return nil, message, code end
      return judged(case[2], case[3], p)
    end)
  end
  for _, memory in ipairs { "none", "inference", "total" } do
    add("repair " .. memory, function()
      local all = {}
      for i = 1, #g do all[i] = 3 end
      local p, message, code = berth.repair(g, t, all, { memory = memory, param_multiple = 2 })
      if not p then return nil, message, code end
      return judged(g, t, p)
    end)
  end
  for _, by in ipairs { "random", "memory", "time", "frequent", "memory_sum", "time_sum" } do
    add("adjust " .. by, function()
      local dealt = {}
      for i = 1, #g do dealt[i] = i % #t + 1 end
      local p, message, code = berth.adjust(g, t, dealt, { by = by, fit = by == "memory" })
      if not p then return nil, message, code end
      return judged(g, t, p)
    end)
  end
end

return function(add)
  every_placer(add)
  searches(add)
  several(add)
end
