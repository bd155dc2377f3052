--- Texts about berth.ramp and berth.pacml (docs/pacml.md), in the form of topics.lua, which adds
-- them to its list.
return {
  { "ramp", [[r = berth.ramp { compat = false, groups = 4, racks = 4, slots = 2 }]],
    "An optical cluster for jobs whose ops are cut into pieces: docs/pacml.md. compat = true: as "
      .. "the published simulator has it.",
    [[r = berth.ramp { groups = 4, racks = 4, slots = 2 }]] },
  { "ramp:transfer", "r:transfer(a, b, bytes)", "Seconds of a message from server a to server b.",
    [[r:transfer(1, 9, "4 MB")]] },
  { "ramp:collective", "r:collective(servers, bytes)",
    "Seconds of an all-reduce among them, of so many bytes in all.",
    [[r:collective({ 1, 3, 9, 11 }, "4 MB")]] },
  { "ramp:legal", "r:legal(k)", "May an op be in k pieces: 1 or even, and is there a block of so "
    .. "many servers?" },
  { "ramp:model", "m = r:model(g, { order = {...} })",
    [[A job's graph, made ready to be cut. Every op has a twin (g:mirror, or load with mirror =
"pac-ml"), one time for all devices. order: forward ops as they are worked through. Raises for
other graphs.]] },
  { "ramp:plan", "o = r:plan(m, most, { busy =, block =, look = true })",
    [[Cuts into at most that many pieces, places on servers that are not busy (one mark per server:
true or 1), schedules and looks ahead. Gives { placed, pieces, servers, ops, deps, flows,
channels, ticks, step, compute, communication (s), memory, bytes, flow_bytes }, or { placed =
false, op, pieces }: that op has no free block. block: servers for the ops with most pieces. look
= false: places only.]], "r:plan(m, 8).step" },
  { "pacml", "pacml = berth.pacml",
    [[PAC-ML: how many pieces each arriving job is cut into. docs/pacml.md. profile, beta, trace,
env, bound, decider, simulate, study, report.]] },
  { "pacml.profile", "m = assert(berth.pacml.profile(r, path))",
    [[A PipeDream profile with its backward pass as published, as a model whose ops are worked
through in the order of the file. Gives nil, message, code if the file cannot be read.]] },
  { "pacml.beta", [[d = berth.pacml.beta("B")]],
    [[Distribution of beta, the share of its sequential time within which a job must end: "A" to
"D", or options. d.values, d.mass, d.mean, d.deviation, d:draw(rng),
d:quantile(share).]],
    [[d = berth.pacml.beta "B"]] },
  { "pacml.trace",
    [[t = berth.pacml.trace { models = 5, beta = "A", seed = 0, jobs = 1001 }]],
    "Which model each job is of, its beta, when it arrives: arrays t.model, t.beta, t.arrival.",
    [[t = berth.pacml.trace { models = 5, beta = "B", seed = 1 }]] },
  { "pacml.env", "env = berth.pacml.env { models = {...} }",
    [[Models of one cluster whose jobs arrive. run = env:run(trace) is at the first arrival;
run:decide(pieces) goes on to the next. env.models, names, most, steps, sequential, ramp;
env:planner{...}.]] },
  { "pacml.bound", "b = berth.pacml.bound(env, trace, { horizon = 1e6 })",
    [[At most so many jobs can be accepted, by any decider: a linear program that is given all
arrivals, with its proof. Or berth.pacml.bound { arrivals, choices (per job { servers, seconds }),
servers }. b.jobs, b.blocking_rate, b.bound, b.value, b.share, b.price; b:prove(prices),
b:covers(job, decision, servers, seconds). docs/pacml.md.]],
    [[b = berth.pacml.bound { servers = 1, arrivals = { 0 }, choices = { { { 1, 5 } } } }]] },
  { "pacml.decider", [[f = berth.pacml.decider("capped", { cap = 8 })]],
    [[A function of a run that decides. Published: para-max, para-min, random, sequential,
min-parallelism; by what will be accepted: largest-feasible, smallest-feasible, capped. By the
arrival process: rolling-horizon. Also random:SEED, capped:CAP, rolling-horizon:FUTURES. A function
stays as it is. berth.pacml.deciders: their names.]], [[f = berth.pacml.decider "para-min"]] },
  { "pacml.deciders", "names = berth.pacml.deciders",
    "Names that berth.pacml.decider and berth.pacml.simulate take.",
    "#berth.pacml.deciders" },
  { "pacml.simulate",
    "report, records = berth.pacml.simulate(env, trace, decider, { horizon = 1e6 })",
    [[Decides about all jobs of a trace: decider is a name, a function of the run, an agent, or
methods as of berth.cluster.simulate: arrival(self, run, job) returns pieces or a plan { start = {
{ job, pieces, block } }, refuse = { job } }. The report has blocking_rate, jct, speedup,
utilisation and so on; records[j] is what became of a job, records:cluster() what the cluster did;
records:save(path, "jobs" or "cluster") as .csv or .jsonl, records:save_trace(path). records =
false: the report alone.]] },
  { "pacml.study", "e = berth.pacml.study(env, options)",
    "All deciders on the same jobs, as a berth.experiment with parameters beta and decider." },
  { "pacml.published", "berth.pacml.published[decider][beta]",
    [[Blocking rates of the published tables: of "pac-ml", "para-max", "para-min", "random".]],
    [[berth.pacml.published["pac-ml"].B]] },
  { "pacml.report", "berth.pacml.report(path, { records, ... }, { title = ... })",
    "One HTML file about runs of the same jobs: load, blocking and utilisation over time, decider "
      .. "by decider." },
}
