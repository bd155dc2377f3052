--- Texts about berth.pdors (docs/pdors.md), in the form of topics.lua, which adds them to its list.
return {
  { "pdors", "pdors = berth.pdors",
    [[Training jobs of workers and parameter servers on machines, slot by slot: PD-ORS, OASiS, Dorm,
DRF, FIFO, Optimus. docs/pdors.md. generate, problem, load, simulate, scheduler, study, report;
policies: their names; options(policy): names of those it takes.]] },
  { "pdors.generate",
    [[p = berth.pdors.generate("default", options)]],
    [[Jobs and a cluster drawn at random, tables for berth.pdors.problem. "default": the recalled
workload of PD-ORS. "realistic": measured models.]],
    [[berth.pdors.generate("realistic", { jobs = 3 })]] },
  { "pdors.problem", "p = berth.pdors.problem(jobs, cluster)",
    [[jobs: array by arrival of tables, help "pdors.job"; cluster: a table, help "pdors.cluster". Or
the tables of generate. p:speed(job, places), p:utility(job, slots),
p:worker_slots(job, bandwidth), p:bound(steps), p:offline{}, p:save(path).]],
    [[berth.pdors.problem(berth.pdors.generate("default", { jobs = 3 }))]] },
  { "pdors.load", "p = assert(berth.pdors.load(path))",
    "The problem that p:save(path) wrote, or other JSON with jobs and cluster." },
  { "pdors.simulate", [[r = berth.pdors.simulate(problem, "pd-ors", { seed = 0, certify = 100 })]],
    [[Plays a policy: a name of berth.pdors.policies, or methods as of berth.cluster.simulate:
arrival(self, view, job), finish(self, view, job), slot(self, view) that return a plan
{ assign = { { job, places = { { machine, workers, servers } } } }, refuse = { job } }. r.utility,
r.bound (no schedule is worth more), r.possible (jobs that can be done in time), r.ratio,
r.records, r.summary, r.log, r.counts; r:usage(),
r:each(f), r:save_csv(path), r:save_jsonl(path), r:save_trace(path). More options:
berth.pdors.options(policy); pd-ors revises its plans, pd-ors-published does not; believes: the
problem that they decide on.]],
    [[berth.pdors.simulate(berth.pdors.generate("default", { jobs = 5 }), "pd-ors")]] },
  { "pdors.options", [[names = berth.pdors.options("pd-ors")]],
    "Names of the options of a policy; docs/pdors.md, \"Policies\"." },
  { "pdors.policies", "names = berth.pdors.policies",
    "Names of the policies that berth.pdors.simulate takes: docs/pdors.md." },
  { "pdors.scheduler", "s = berth.pdors.scheduler(problem, { mode = \"repaired\" })",
    [[PD-ORS or OASiS (algorithm = "oasis") by hand. s:decide(job) and s:admit(job) give { admitted,
payoff, utility, cost, bound, done, schedule = { { slot, places } } }; plans = "final": L and U of
all jobs, as published, not of those so far; s:price(machine, resource,
slot), s:range(machine, resource) (L, U), s:committed(slot), s:counts(), s:certify(utility,
steps).]],
    [[berth.pdors.scheduler(berth.pdors.problem(berth.pdors.generate("default", { jobs = 3 })))]] },
  { "pdors.gdelta",
    [[g = berth.pdors.gdelta { favour = "packing", form = "tight", rows = 81, delta = 0.5 }]],
    [[The factor before rounding: form "formula" as published, "tight" always valid.
docs/pdors.md.]],
    "berth.pdors.gdelta { rows = 81, width = 15 }" },
  { "pdors.fit_speed", "theta = berth.pdors.fit_speed(batch, workers, servers, speed)",
    [[Five numbers of Optimus's model, not below 0, from measured samples per slot: slots per sample
= theta1 batch / workers + theta2 + theta3 workers / servers + theta4 workers + theta5 servers.]],
    "berth.pdors.fit_speed(8, { 1, 2, 4 }, { 1, 1, 2 }, { 10, 18, 33 })" },
  { "pdors.study", [[e = berth.pdors.study { policies = { "pd-ors", "drf" }, seeds = 20 }]],
    [[Policies on the same generated problems, as a berth.experiment.]] },
  { "pdors.report", "berth.pdors.report(path, { r, ... }, { title = ... })",
    [[One HTML file about runs on the same problem: utility and resources over slots, machines,
numbers, jobs.]],
    [[berth.pdors.report(os.tmpname(), { r })]] },
}
