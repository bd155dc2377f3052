-- PAC-ML: cutting on RAMP in both modes, deciders, the planner, bounds, records and pages.
local berth = require "berth"

local function model(ramp, layers, seconds, params, output)
  local ops, edges = {}, {}
  for k = 1, layers do
    ops[k] = { seconds = seconds * (0.5 + k / layers), params = params }
    edges[k - 1] = k > 1 and { k - 1, k, output } or nil
  end
  return ramp:model((assert(berth.graph({ ops = ops, edges = edges }):mirror { ratio = 2 })))
end

local function models(ramp)
  return { model(ramp, 5, 2e-3, "16 MB", "8 MB"), model(ramp, 3, 5e-3, "256 MB", "2 MB"), model(ramp, 8, 1e-3, "4 MB",
    "16 MB") }
end

local modes = {
  { "exact", { groups = 3, racks = 2, slots = 2 } }, { "compat", { compat = true, groups = 3, racks = 2, slots = 2 } },
  { "true units", { compat = true, time_scale = 1, quantum = "10 us", groups = 2, racks = 2, slots = 2 } },
}

local function written(save)
  local path = os.tmpname()
  assert(save(path))
  local f = assert(io.open(path))
  local text = f:read "*a"
  f:close()
  os.remove(path)
  return text
end

local function cutting(add, name, ramp, list)
  for i, m in ipairs(list) do
    for _, most in ipairs { 1, 2, 4, 8 } do
      add(("ramp %s model %d in %d"):format(name, i, most), function()
        local busy = {}
        for k = 1, ramp.servers do busy[k] = k == 1 end
        local plan = ramp:plan(m, most, { busy = busy })
        return { plan.step or "-", #(plan.servers or {}), plan.ops or plan.op, plan.deps or "-", plan.flows or "-",
          plan.ticks or "-" }, {
          plan.placed, plan.servers, plan.compute, plan.communication, plan.memory, plan.bytes, plan.flow_bytes,
            plan.channels, plan.pieces }
      end)
    end
  end
  add("ramp " .. name, function()
    local legal = {}
    for k = 1, ramp.servers do legal[k] = ramp:legal(k) end
    return { ramp:transfer(1, 4, 1e6), ramp:collective({ 1, 2, 3, 4 }, 1e7), list[1].sequential, list[1].memory }, legal
  end)
end

local deciders = { "para-max", "para-min", "random:3", "sequential", "min-parallelism", "largest-feasible",
  "smallest-feasible", "capped:4" }

local function episodes(add, name, env, gap)
  local trace = berth.pacml.trace { models = 3, beta = "C", seed = 1, jobs = 60, interarrival = gap }
  for _, decider in ipairs(deciders) do
    add(("pacml %s %s"):format(name, decider), function()
      local report, records = berth.pacml.simulate(env, trace, decider)
      return { report.blocking_rate, report.late, report.jct, report.utilisation, report.speedup }, { report,
        records:csv "jobs", records:jsonl "cluster" }
    end)
  end
  add("pacml horizon " .. name, function()
    local report, records = berth.pacml.simulate(env, trace, "para-max", { horizon = trace.arrival[40] })
    return { report.blocking_rate, report.completed }, { report, records:csv "cluster" }
  end)
  add("~pacml bound " .. name, function()
    local b = assert(berth.pacml.bound(env, trace))
    return { b.value, b.bound, b:prove() }
  end)
  add("pacml run " .. name, function()
    local run, seen = env:run(trace), {}
    for k = 1, 12 do
      seen[k] = { run.job, run.free, run:mask "paper", run:mask "exact", { run:look(4) }, run:busy(), run:free_at(),
        { run:finishing() } }
      seen[k].decided = { run:decide(k % 3 * 2) }
    end
    return { run.now, run.running, run.deadline }, { seen, run:result(5) }
  end)
  add("pacml page " .. name, function()
    local _, a = berth.pacml.simulate(env, trace, "para-max")
    local _, b = berth.pacml.simulate(env, trace, "capped:4")
    local page = written(function(path) return berth.pacml.report(path, { a, b }, { title = "two" }) end)
    local timeline = written(function(path) return a:save_trace(path) end)
    return { #page, #timeline }, { page, timeline }
  end)
end

local function planning(add, env, gap)
  local beta = berth.pacml.beta "A"
  add("pacml planner", function()
    local planner = assert(env:planner { gap = gap, beta = beta.values, mass = beta.mass, hidden = 8 })
    local trace = berth.pacml.trace { models = 3, beta = "A", seed = 2, jobs = 25, interarrival = gap }
    local before = planner:simulate(trace)
    local share = planner:learn(berth.rng(1), { jobs = 600 })
    local run, decisions = env:run(trace), {}
    while not run.done do
      local d, block = planner:decide(run, { futures = 2, depth = 4 })
      decisions[#decisions + 1] = { d, block }
      run:decide(d, block)
    end
    local weights = planner:get()
    return { share, #weights, type(before) == "number" and before or "-" }, { decisions, weights, before }
  end)
  add("pacml planner futures", function()
    local planner = assert(env:planner { gap = { gap / 2, gap }, beta = beta.values, mass = beta.mass, hidden = 8, blocks = 1 })
    return { planner:learn(berth.rng(2), { jobs = 40, futures = 2, depth = 3 }) }, planner:get()
  end)
  add("pacml rolling-horizon", function()
    local trace = berth.pacml.trace { models = 3, beta = "A", seed = 3, jobs = 20, interarrival = gap }
    local decider = berth.pacml.decider("rolling-horizon", { env = env, beta = "A", interarrival = gap, futures = 3,
      depth = 4, seed = 1 })
    local report = berth.pacml.simulate(env, trace, decider)
    return { report.blocking_rate, report.jct }, report
  end)
end

return function(add)
  for i, mode in ipairs(modes) do
    local ramp = berth.ramp(mode[2])
    local list = models(ramp)
    cutting(add, mode[1], ramp, list)
    local env, gap = berth.pacml.env { models = list, names = { "middling", "heavy", "deep" }, steps = 50, most = 8 },
      i == 2 and 200 or 0.3
    episodes(add, mode[1], env, gap)
    if i == 1 then planning(add, env, gap) end
  end
  for _, name in ipairs { "A", "B", "C", "D" } do
    add("pacml beta " .. name, function()
      local b = berth.pacml.beta(name)
      return { b.mean, b.deviation, b:quantile(0.25), b:draw(berth.rng(3)) }, { b.values, b.mass }
    end)
  end
  add("pacml beta skew", function()
    local b = berth.pacml.beta { skew = 3, seed = 1, redraw = true }
    return { ("%.9g"):format(b.mean), #b.values }, b.counts
  end)
  add("pacml trace", function()
    local t = berth.pacml.trace { models = 3, beta = "D", seed = 4, jobs = 30, interarrival = { 1, 9 }, copies = 5 }
    return { t.arrival[30], t.beta[7] }, t
  end)
  add("~pacml bound by hand", function()
    local b = assert(berth.pacml.bound { servers = 3, arrivals = { 0, 0, 1 }, choices = { { { 2, 1 }, { 1, 3 } },
      { { 2, 1 } }, { { 3, 5 } } } })
    return { b.bound, b.value, b:prove() }
  end)
end
