-- Deployment of training graphs: analysis, grouping, compiling, values, baselines, searches, repeated ops, plans; berth.decide.
local berth = require "berth"

local net = assert(berth.graph {
  ops = { { kind = "Placeholder" }, { kind = "VariableV2" }, { kind = "MatMul" }, { kind = "MyLoss" },
    { kind = "MatMul:transpose_a" },
    { kind = "ApplyGradientDescent", name = "apply" } },
  edges = { { 1, 3, 4 }, { 2, 3, 4 }, { 3, 4, 4 }, { 1, 5, 4 }, { 4, 5, 4 }, { 2, 6, 4 }, { 5, 6, 4 } },
})
local g = berth.deploy.models.random { seed = 3, family = "mlp", layers = 4 }
local vgg = (berth.deploy.models.build("vgg19", { batch = 6 }))
local small = berth.deploy.clusters.sfb_trio()
local large = berth.deploy.clusters.six_gpu()

local analysis = {
  { "vgg", vgg }, { "mlp", g }, { "rules", net, { rules = { { kind = "MyLoss", batch = "first" } } } },
  { "roles", net, { ops = { { op = 4, batch = "first" }, { op = "apply", role = "scatter" } } } },
}

local function analysed(add)
  for _, x in ipairs(analysis) do
    add("analyse " .. x[1], function()
      local a = berth.deploy.analyse(x[2], x[3])
      return { a.counts.inputs or "-", a.counts.updates or "-", #a.base }, { a.role, a.batch, a.gradient,
        a.from_input, a.base, a.unknown, a.counts }
    end)
  end
  add("simplify", function()
    local t = berth.deploy.clusters.testbed()
    local a, map = berth.deploy.simplify(vgg, { cheap = 0.01, cost = assert(berth.cost(vgg, t)) })
    local b, other = berth.deploy.simplify(net)
    return { #a, #b }, { a, map, b, other }
  end)
  add("analysis rules", function() return { #berth.deploy.rules() }, berth.deploy.rules() end)
end

local function problem(graph, cluster, options)
  options = options or {}
  options.batch, options.op_groups = options.batch or 6, options.op_groups or 10
  options.physics = options.physics or "calibrated"
  return assert(berth.deploy.problem(graph, cluster, options))
end

-- A strategy with other actions in turn.
local function mixed(d, seed)
  local rng, action = berth.rng(seed), {}
  for k = 1, #d:groups() do
    local legal = d:legal(k)
    action[k] = legal[rng:below(#legal)]
  end
  return { action = action, sfb = "local" }
end

local function values(add)
  for _, x in ipairs {
    { "physical", vgg, small }, { "auto", vgg, small, { physics = "physical" } },
    { "compat", vgg, small, { physics = "compat" } }, { "published", g, small,
      { physics = "published" } },
    { "even", vgg, large, { uneven = false, grouping = "top-k" } }, { "duplicates", g, small, { duplicates = true,
      bucket = "none" } },
    { "strict", g, large, { strict = true, order = "fifo", split = "parameters" } },
  } do
    local d = problem(x[2], x[3], x[4])
    add("deploy groups " .. x[1], function()
      return { #d:groups(), #d:sets(), #d:actions() }, { d:groups(), d:group_of(), d:sets(), d:actions(), d:legal(1),
        { d:device_groups() }, d:positions() }
    end)
    for seed = 1, 3 do
      add(("deploy evaluate %s %d"):format(x[1], seed), function()
        local s = mixed(d, seed)
        local v, message, code = d:evaluate(s)
        if not v then return nil, message, code end
        return { v.seconds, v.peak, v.over }, { v, d:feedback(s), d:local_costs(s, 2), d:repeated(s, "local"),
          d:repeated(s, "cut") }
      end)
    end
    add("deploy compile " .. x[1], function()
      local s = mixed(d, 1)
      local c = assert(d:compile(s))
      local r = assert(berth.simulate(c.cost, c.placement, c.simulation))
      return { #c.graph, c.graph.n_tensors, c.graph.n_collectives, r.makespan }, { c.graph, c.origin, c.part,
        c.samples, c.source, c.rank, r.start }
    end)
    add("deploy bound " .. x[1], function() return { d:bound() } end)
    add("deploy guard " .. x[1], function()
      local s, v, n = d:guard(mixed(d, 2), { calls = 6 })
      return { v.seconds or v, n }, s
    end)
    if x[1] ~= "strict" then
      add("deploy baselines " .. x[1], function()
        local list, best = d:baselines(), math.huge
        for _, b in ipairs(list) do if (b.over or 0) == 0 then best = math.min(best, b.seconds) end end
        return { #list, best }, list
      end)
    end
    add("deploy features " .. x[1], function()
      local s, list = mixed(d, 3), {}
      local f = d:features(s, { deciding = 2, decided = 1, scale = "raw", feedback = true })
      for key, a in pairs(f) do
        local ok, flat = pcall(function() return a.flat and a:flat() or a end)
        list[key] = ok and flat or "-"
      end
      return { #d:groups() }, list
    end)
  end
end

local function searches(add)
  local d = problem(vgg, small, { op_groups = 8 })
  for _, method in ipairs { "mcts", "tree", "anneal", "refine", "published" } do
    add("deploy search " .. method, function()
      local r = assert(d:search { method = method, calls = 40, seed = 1 })
      return { r.seconds, r.start, r.evaluations, r.repeats }, { r.action, r.duplicate, r.sfb, r.trace, r.playouts }
    end)
  end
  for _, options in ipairs { { prior = "uniform" }, { sfb = "cut" }, { sfb = "none" }, { fill = "first" },
    { steps = true }, { baselines = true } } do
    local key = next(options)
    add(("deploy search %s=%s"):format(key, tostring(options[key])), function()
      options.calls, options.seed = 40, 2
      local r = assert(d:search(options))
      return { r.seconds, r.start, r.evaluations }, { r.action, r.duplicate, r.trace }
    end)
  end
  add("deploy tree", function()
    local t = d:tree { seed = 1 }
    t:run(30)
    local visits, priors = t:visits()
    t:advance(1)
    t:run(10)
    return { #visits }, { visits, priors, { t:root() }, { t:visits() } }
  end)
end

local function sfb(add)
  for _, cost in ipairs { "per-device", "compat" } do
    add("sfb " .. cost, function()
      local p = { cost = cost, replicas = 16, bandwidth = "2.81 GB/s",
        ops = { { barred = true }, { barred = true }, { seconds = "40 us" }, { seconds = "10 us" } },
        tensors = { { from = 1, to = { 3, 4 }, bytes = 4e5 }, { from = 2, to = { 3 }, bytes = 4e5 }, { from = 3,
          to = { 4 }, bytes = 1e4 } },
        gradients = { { op = 3, bytes = "4 MiB" }, { op = 4, bytes = "1 MiB" } } }
      local a = assert(berth.deploy.sfb(p))
      return { a.total, a.work, a.gather, a.sync, #a.duplicated }, { a, berth.deploy.sfb_measure(p, { 3, 4 }) }
    end)
  end
end

local function plans(add)
  for _, x in ipairs { { "bert", (berth.deploy.models.build("bert_small", { batch = 6 })), small,
    { physics = "calibrated" } }, { "auto", g, small, {} }, { "compat", g,
    small, { physics = "compat" } },
    { "anneal", vgg, large, { physics = "calibrated", method = "anneal", sfb = "cut" } } } do
    local cluster, options = x[3], x[4]
    add("deploy plan " .. x[1], function()
      options.batch, options.op_groups, options.calls, options.reasons = 6, 8, 60, 10
      local a = assert(berth.deploy.plan(x[2], cluster, options))
      local path = os.tmpname()
      local texts = { a:to_json(), a:table(5), a:baseline_table(), a:memory_table(), tostring(a) }
      assert(a:report(path, { title = "plan" }))
      local f = assert(io.open(path))
      texts[6] = f:read "*a"
      f:close()
      assert(a:save(path))
      local again = assert(berth.deploy.load(path, x[2], cluster))
      os.remove(path)
      return { a.seconds, a.speedup, a.speedup_uniform, a.bound, a.bound_name, a.evaluations,
        again.seconds == a.seconds }, texts
    end)
  end
end

local function decisions(add)
  local items, cap = { { 12, 4 }, { 2, 2 }, { 1, 1 }, { 4, 10 }, { 1, 2 }, { 3, 3 }, { 7, 6 } }, 17
  for _, method in ipairs { "mcts", "tree", "anneal", "refine", "published" } do
    for _, prior in ipairs { false, true } do
      add(("decide %s%s"):format(method, prior and " prior" or ""), function()
        local r = assert(berth.decide {
          decisions = #items, actions = { "leave", "pack" }, seed = 1, calls = 60, method = method,
          prior = prior and function(leaves)
            local out = {}
            for i, leaf in ipairs(leaves) do out[i] = { 1, items[leaf.decision][2] / items[leaf.decision][1] } end
            return out
          end or nil,
          value = function(a)
            local worth, weight = 0, 0
            for i, what in ipairs(a) do
              if what == "pack" then weight, worth = weight + items[i][1], worth + items[i][2] end
            end
            return -worth, math.max(0, weight - cap)
          end,
        })
        return { r.value, r.evaluations, r.repeats, r.playouts or "-" }, { r.assignment, r.trace }
      end)
    end
  end
end

return function(add)
  analysed(add)
  values(add)
  searches(add)
  sfb(add)
  plans(add)
  decisions(add)
end
