-- Baechi's placers by what must hold: bounds, guarantees and the portfolio against every schedule there is; plans and replays.
local berth = require "berth"
local brute = require "support.brute_force"
local checker = require "support.checker"
local lp = require "support.lp_reference"
local random_graph = require "support.random_graph"
local runs = require "support.runs"
local whole = require "support.whole_times"

-- ---- every schedule there is ----------------------------------------------------------------------------------------------

-- What the portfolio answers for: searches start from it, and published variants follow other rules.
local searches = { anneal = true, ["local"] = true, brkga = true, exact = true, random = true }
local function constructive(entry) return not entry.opts.variant and not searches[entry.name] end

local function placers()
  local list = {}
  for _, name in ipairs(berth.placers()) do
    if name ~= "policy" then
      list[#list + 1] = { name = name, opts = {}, planned = name ~= "portfolio" }
      for _, variant in ipairs(berth.placers(name)) do list[#list + 1] = { name = name, opts = { variant = variant } } end
    end
  end
  for _, favourites in ipairs { "lp", "through", "none" } do
    for _, ties in ipairs { "level", "topological" } do
      list[#list + 1] = { name = "m-sct", opts = { favourites = favourites, ties = ties }, planned = true }
    end
  end
  return list
end

local function options(entry, more)
  local opts = {}
  for k, v in pairs(entry.opts) do opts[k] = v end
  for k, v in pairs(more) do opts[k] = v end
  return opts
end

local function title(entry)
  return entry.name .. (entry.opts.variant and " " .. entry.opts.variant or "")
    .. (entry.opts.favourites and (" %s %s"):format(entry.opts.favourites, entry.opts.ties) or "")
end

local function small_case(seed, groups)
  local n, devices = 5 + seed % 3, 2 + (seed % 4 == 0 and seed % 3 ~= 2 and 1 or 0)
  local description = random_graph.describe(seed, { n = n, fan_in = 3, zero = seed % 2 * 10, groups = groups })
  local latency = seed % 3 * 0.4
  return description, { devices = devices, bandwidth = 100, latency = latency },
    assert(berth.graph(description)), berth.topology.mesh(devices, { bandwidth = 100, latency = latency })
end

local BOUNDS = { "critical_path", "transfers", "lp", "work", "memory", "best" }

local function check_bounds(g, t, best, opts, what)
  local b = assert(berth.bounds(g, t, opts))
  for _, name in ipairs(BOUNDS) do
    if b[name] then
      assert.is_true(b[name] <= best * (1 + 1e-9), ("%s: %s is %.9g, the optimum %.9g"):format(what, name, b[name], best))
    end
  end
  return b
end

describe("on graphs of five to seven ops, against every placement and order,", function()
  it("no bound passes the optimum, none of the thorough ones either", function()
    local sharper = 0
    for seed = 1, 40 do
      local description, opts, g, t = small_case(seed, seed % 5 == 0 and 3 or nil)
      local best, what = brute.optimum(description, opts), "seed " .. seed
      local cheap = check_bounds(g, t, best, {}, what)
      local thorough = check_bounds(g, t, best, { thorough = true }, what)
      assert.is_true(thorough.best >= cheap.best * (1 - 1e-12), what)
      if thorough.best > math.max(cheap.critical_path, cheap.work) * (1 + 1e-9) then sharper = sharper + 1 end
      local least = assert(berth.favourites(g, t, { times = "least", gap = 1e-6 }))
      assert.is_true(least.lower <= best * (1 + 1e-9), what .. ": the program with least times")
    end
    assert.is_true(sharper >= 5, "the thorough bounds are no better than path and work")
  end)

  it("no placer beats the optimum, and the portfolio is between it and the best of them", function()
    local list = placers()
    for seed = 1, 24 do
      local description, opts, g, t = small_case(seed)
      local best, least = brute.optimum(description, opts), math.huge
      for _, entry in ipairs(list) do
        local p = assert(berth.place(g, t, entry.name, options(entry, { seed = seed })))
        local makespan = assert(berth.simulate(g, t, p, { bound = false })).makespan
        local what = ("%s, seed %d"):format(title(entry), seed)
        assert.is_true(makespan >= best * (1 - 1e-9), what)
        if entry.planned then assert.is_true(p.estimate >= best * (1 - 1e-9), what .. ": estimate") end
        if constructive(entry) then least = math.min(least, makespan) end
      end
      local chosen = assert(berth.simulate(g, t, assert(berth.place(g, t, nil, { seed = seed })), { bound = false })).makespan
      assert.is_true(chosen >= best * (1 - 1e-9) and chosen <= least * (1 + 1e-12), "portfolio, seed " .. seed)
    end
  end)

  it("memory limits included", function()
    local list, fitted = placers(), 0
    for seed = 1, 24 do
      local description = whole.graph(seed, { n = 5 + seed % 2, sizes = 4, parameters = 9, workspace = 4, shared = true })
      local total, largest = whole.sizes(description)
      local memory = math.max(largest, math.floor(total * (0.55 + seed % 4 * 0.12)))
      local t = berth.topology.mesh(2, { bandwidth = 1e6, memory = memory })
      local g = assert(berth.graph(description))
      local best = brute.optimum(description, { devices = 2, bandwidth = 1e6, memory = memory })
      for _, entry in ipairs(list) do
        local policy = not entry.opts.variant and "total" or nil
        local p = berth.place(g, t, entry.name, options(entry, { memory = policy, seed = seed }))
        local r = p and assert(berth.simulate(g, t, p, { memory = "total", bound = false }))
        if r and not entry.opts.variant then
          fitted = fitted + 1
          assert.is_nil(r.oom, title(entry))
          assert.is_true(r.makespan >= best * (1 - 1e-9), ("%s, seed %d"):format(title(entry), seed))
        end
      end
      if best < math.huge then check_bounds(g, t, best, { memory = "total", thorough = true }, "seed " .. seed) end
    end
    assert.is_true(fitted > 200, "hardly anything fitted")
  end)
end)

-- ---- guarantees -----------------------------------------------------------------------------------------------------------

-- n times a greedy makespan is at most the work, n - 1 times the op times of one chain, and n times its transfers.
local function chain_limit(instance, n)
  local scaled = { p = {}, edges = instance.edges }
  local work, none = 0, {}
  for i, p in ipairs(instance.p) do
    work = work + p
    scaled.p[i] = (1 - 1 / n) * p
  end
  for k = 1, #instance.edges do none[k] = 0 end
  return work / n + lp.longest_path(scaled, none)
end

describe("on free links", function()
  it("ETF and m-ETF keep the bound of greedy schedules", function()
    for seed = 1, 60 do
      local n = 2 + seed % 4
      local description = random_graph.describe(seed, { n = 20 + seed % 30, fan_in = 3, zero = seed % 3 * 10 })
      local t, g = berth.topology.mesh(n, { bandwidth = 100 + seed % 5 * 200 }), assert(berth.graph(description))
      -- one tensor read by two ops is one transfer; several between a pair go at once: the longest counts
      local instance = lp.instance(description, 100 + seed % 5 * 200)
      for _, name in ipairs { "etf", "m-etf" } do
        local p = assert(berth.place(g, t, name))
        assert.is_true(p.estimate <= chain_limit(instance, n) * (1 + 1e-9), ("%s, seed %d"):format(name, seed))
      end
    end
  end)
end)

-- Two sorts of small graphs: any transfers; transfers no longer than any op.
local function guarantee_case(seed, small_rho)
  local description, opts = small_case(seed)
  if small_rho then
    opts.latency = 0
    for _, op in ipairs(description.ops) do op.seconds = 2 + op.seconds / 4 end
    for _, tensor in ipairs(description.tensors) do tensor.bytes = tensor.bytes * 2 / 9 end
  end
  return description, opts, assert(berth.graph(description)),
    berth.topology.mesh(opts.devices, { bandwidth = 100, latency = opts.latency })
end

describe("every guarantee that is said to hold", function()
  for _, small_rho in ipairs { false, true } do
    it("does, against the optimum" .. (small_rho and ", transfers shorter than ops" or ""), function()
      local held = {}
      for seed = 1, 24 do
        local description, opts, g, t = guarantee_case(seed, small_rho)
        local best = brute.optimum(description, opts)
        for _, placer in ipairs { "etf", "m-etf", "m-sct" } do
          local p = assert(berth.place(g, t, placer))
          local b = assert(berth.bounds(g, t, { thorough = true, makespan = p.estimate }))
          assert.is_true(p.estimate / best <= b.achieved * (1 + 1e-9))
          for _, k in ipairs(b.guarantees) do
            if k.valid and (k.placers .. ","):find(placer .. ",", 1, true) then
              local what = ("%s of %s, seed %d"):format(k.name, placer, seed)
              held[k.name] = true
              assert.is_true(p.estimate <= (k.limit or math.huge) * (1 + 1e-9), what)
              assert.is_true(p.estimate <= (k.ratio or math.huge) * best * (1 + 1e-9), what)
            end
          end
        end
      end
      assert.is_true(held["etf seconds"] and held["etf"] and (not small_rho or held["sct"]), "hardly any is said to hold")
    end)
  end
end)

-- ---- plans and replays ----------------------------------------------------------------------------------------------------

local function topology_of(seed)
  if seed % 3 == 0 then return berth.topology.ring(4, { bandwidth = 60, latency = 0.1 }) end
  if seed % 3 == 1 then return berth.topology.mesh(3, { bandwidth = 100, latency = 0.5 }) end
  return berth.topology {
    devices = { { name = "a", speed = 2 }, { name = "b" }, { name = "c", speed = 0.5 } }, switches = { "s" },
    links = { { "a", "s", bandwidth = 200, latency = 0.1 }, { "b", "s", bandwidth = 50 }, { "c", "s", bandwidth = 100 } },
  }
end

describe("m-SCT", function()
  for _, favourites in ipairs { "lp", "through", "none" } do
    for _, ties in ipairs { "level", "topological" } do
      it(("plans on free links what the simulator replays: favourites %s, ties %s"):format(favourites, ties), function()
        for seed = 1, 12 do
          local g = assert(berth.graph(random_graph.describe(seed, { n = 30, zero = 10, groups = seed % 2 == 0 and 4 or nil })))
          local t = topology_of(seed)
          local p = assert(berth.place(g, t, "m-sct", { favourites = favourites, ties = ties }))
          local r = assert(berth.simulate(g, t, p, { dispatch = "planned" }))
          local what = "seed " .. seed
          assert.equal("", table.concat(checker.check(g, t, r, { dispatch = "planned" }), "\n"), what)
          assert.near(p.estimate, r.makespan, 1e-9 * p.estimate, what)
          for op = 1, #g do assert.near(p.start[op], r.start[op], 1e-9 * p.estimate, what .. ", op " .. op) end
        end
      end)
    end
  end

  it("runs favourites right behind their parents when nothing else is in the way", function()
    -- two chains of long transfers: any device that waits for its own child is best
    local g = berth.graph {
      ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 }, { seconds = 1 } }, edges = { { 1, 3, 5 }, { 2, 4, 5 } },
    }
    local p = assert(berth.place(g, berth.topology.mesh(2, { bandwidth = 1 }), "m-sct"))
    assert.equal(2, p.estimate)
    assert.equal(p[1], p[3])
    assert.equal(p[2], p[4])
    assert.not_equal(p[1], p[2])
  end)
end)

-- ---- the same again -------------------------------------------------------------------------------------------------------

describe("the same input", function()
  it("gives the same bytes, by every placer", function()
    for seed = 1, 6 do
      local t = topology_of(seed)
      for _, entry in ipairs(placers()) do
        local n = entry.name == "exact" and runs(9, 40) or 40
        local description, texts = random_graph.describe(seed, { n = n, zero = 10, groups = 4, memory = true }), {}
        for k = 1, 2 do
          local g = assert(berth.graph(description))
          local p, message = berth.place(g, t, entry.name, options(entry, { seed = seed }))
          -- a published variant may find no place for a group
          assert.is_truthy(p or entry.opts.variant, message)
          texts[k] = p and p:to_string() or message
        end
        assert.equal(texts[1], texts[2], title(entry))
      end
    end
  end)

  -- Ops are numbered otherwise; times are such that two paths are hardly ever of one length.
  local function renumbered(description, seed)
    local below, new, at = random_graph.source(seed + 5), {}, {}
    for i = 1, #description.ops do at[i] = i end
    for i = #at, 2, -1 do
      local j = below(i)
      at[i], at[j] = at[j], at[i]
    end
    local out = { ops = {}, tensors = {} }
    for i, j in ipairs(at) do
      new[i] = j
      out.ops[j] = description.ops[i]
    end
    for k, t in ipairs(description.tensors) do
      local to = {}
      for i, op in ipairs(t.to) do to[i] = new[op] end
      out.tensors[k] = { from = new[t.from], to = to, bytes = t.bytes, resident = t.resident }
    end
    return out
  end

  it("with its ops renumbered takes the same time, where ties are by level", function()
    local members = {
      { "m-etf" }, { "etf" }, { "heft" }, { "minmin" }, { "blevel" }, { "m-sct", { favourites = "through" } },
      { "m-sct", { favourites = "none" } }, { "m-sct", { gap = 1e-9 } },
    }
    for seed = 1, 12 do
      local description = random_graph.describe(seed, { n = 25 })
      for i, op in ipairs(description.ops) do op.seconds = op.seconds + 0.001 * math.sqrt(i * 7 + seed) end
      for k, t in ipairs(description.tensors) do t.bytes = t.bytes + math.sqrt(k * 3 + seed) end
      local g, h = assert(berth.graph(description)), assert(berth.graph(renumbered(description, seed)))
      local t = berth.topology.mesh(3, { bandwidth = 100 })
      for _, member in ipairs(members) do
        local a, b = assert(berth.place(g, t, member[1], member[2])), assert(berth.place(h, t, member[1], member[2]))
        assert.near(a.estimate, b.estimate, 1e-9 * a.estimate, ("%s, seed %d"):format(member[1], seed))
      end
      local x, y = assert(berth.favourites(g, t, { gap = 1e-6 })), assert(berth.favourites(h, t, { gap = 1e-6 }))
      assert.is_true(x.lower <= y.upper * (1 + 1e-9) and y.lower <= x.upper * (1 + 1e-9), "seed " .. seed)
    end
  end)
end)

-- ---- the portfolio --------------------------------------------------------------------------------------------------------

describe("the portfolio", function()
  it("answers the same for any number of threads, and its members the same by themselves", function()
    for seed = 1, 3 do
      local g = assert(berth.graph(random_graph.describe(seed, { n = 60, zero = 5, memory = true })))
      local t, texts = topology_of(seed), {}
      for _, threads in ipairs { 1, 2, 5 } do
        local p, rows = berth.portfolio(g, t, { threads = threads, links = "duplex" })
        texts[#texts + 1] = assert(p, rows):to_string() .. "\n" .. tostring(rows)
        for _, row in ipairs(rows) do
          if row.placement then
            local again = assert(berth.place(g, t, { row.placer, row.options }))
            assert.same(again:devices(), row.placement:devices(), row.name)
          end
        end
      end
      assert.equal(texts[1], texts[2])
      assert.equal(texts[1], texts[3])
    end
  end)

  for _, links in ipairs { "free", "channel", "duplex", "pair" } do
    it("is never worse than a member or a placer by itself, links " .. links, function()
      for seed = 1, 5 do
        local g = assert(berth.graph(random_graph.describe(seed, { n = 35, zero = 5, groups = seed % 2 == 0 and 5 or nil })))
        local t = topology_of(seed)
        local p, rows = berth.portfolio(g, t, { links = links })
        local function judged(placement) return assert(berth.simulate(g, t, placement, { links = links })) end
        local best = judged(assert(p, rows))
        local least = math.huge
        for _, row in ipairs(rows) do
          if row.placement then
            local again = judged(row.placement).makespan
            assert.near(again, row.makespan, 1e-12 * again, row.name)
            least = math.min(least, again)
          end
        end
        assert.equal(least, best.makespan, "seed " .. seed)
        assert.is_true(best.bound <= best.makespan * (1 + 1e-12))
        assert.equal("", table.concat(checker.check(g, t, best, { links = links }), "\n"))
        for _, entry in ipairs(placers()) do
          if constructive(entry) then
            local alone = judged(assert(berth.place(g, t, entry.name, options(entry, { links = links }))))
            assert.is_true(best.makespan <= alone.makespan * (1 + 1e-12), ("%s, seed %d"):format(title(entry), seed))
          end
        end
      end
    end)
  end
end)
