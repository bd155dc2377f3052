--- Texts about berth.cluster (docs/cluster.md), in the form of topics.lua, which adds them to its
-- list.
local gang = require "berth.cluster.gang"

return {
  { "cluster", [[cluster = berth.cluster]],
    [[Jobs that arrive, are given machines or refused, run and leave: docs/cluster.md. simulate,
new; schedulers: names of those for gangs.]] },
  { "cluster.simulate", "r = berth.cluster.simulate(jobs, { machines = 64 }, scheduler, options)",
    [[jobs: array of { arrival, work, deadline, kind, machines or gpus, name } by arrival. cluster:
machines, capacity, horizon, slot, slack. scheduler: a table of methods arrival, finish, slot,
wake that return a plan { pause, refuse, rate, start, wake, stop }; or a name (help "las-2d";
docs/cluster.md has their options): ]] .. table.concat(gang.in_order, " ") .. [[.
r.records, r.summary, r.runs; r:save_csv(path), r:save_jsonl(path), r:save_trace(path): Perfetto.]],
    [[berth.cluster.simulate({ { arrival = 0, work = 5 } }, 1, "fifo")]] },
  { "cluster_report", "berth.cluster_report(path, { r, ... }, { title = ... })",
    [[A page about results of berth.cluster.simulate of the same jobs: numbers per scheduler, jobs
on GPUs, GPUs in use and waiting jobs over time; figure = "jobs", "usage" or "queue": this one, as
SVG. true; nil, message, code.]],
    [[r = berth.cluster.simulate({ { arrival = 0, work = 5 } }, 1, "fifo")
berth.cluster_report(os.tmpname(), { r })]] },
  { "cluster.new", "c = berth.cluster.new(jobs, { machines = 2, capacity = 8 })",
    [[The event loop itself. c:next() gives "finish", "wake", "slot", "arrival" or "over", the time
and the job. Decisions: c:start(job, machines, { amounts, rate }), c:set_rate, c:pause,
c:refuse(job, cause), c:wake(time). What is: c.now, c:upcoming(), c:job(j), c:record(j), c:free(),
c:capacity(), c:idle(most), c:waiting(most), c:running(), c:places(j), c:summary().
c:run { arrival = f, finish = f, slot = f, wake = f } calls functions until it is over; c:stop()
ends it.]],
    [[c = berth.cluster.new({ { arrival = 0, work = 5 } }, 1)]] },
  { "cluster.schedulers", "names = berth.cluster.schedulers",
    "Names of gang schedulers, which berth.cluster.simulate takes: docs/cluster.md, \"Gang "
      .. "schedulers\"." },
  { "cluster.optimus", "counts = berth.cluster.optimus({ { speeds =, left = } }, gpus)",
    [[How many GPUs each job gets, by Optimus: one each, then to whom one more saves most time.
speeds: work per s on 1, 2, ... GPUs.]] },
  { "cluster.pollux", "counts = berth.cluster.pollux({ { speeds =, now = } }, gpus, { power = })",
    [[How many GPUs each job gets, by Pollux: the greatest mean of speedup^power. Of a job change:
times its speed if its number changes.]] },
  { "cluster.goodput", "x, batch, s, efficiency = berth.cluster.goodput(model, gpus, machines)",
    [[The largest goodput of Pollux's model, over batches; the model has the options below.
docs/cluster.md, "Resizable jobs".]] },
  { "cluster.gavel", "shares, x = berth.cluster.gavel({ throughputs =, gpus = }, goal)",
    [[Shares of time of each job on each type of GPU. goal: "max-min", "makespan", "finish-time",
"max-sum", "fifo". docs/cluster.md, "Types of GPUs".]] },
  { "load_trace", "jobs, about = berth.load_trace(path, options)",
    [[Jobs of a recorded trace for berth.cluster.simulate: Philly, Tiresias, Pollux, Gavel, or any
CSV with columns = { arrival = "submitted", work = "minutes:min", gpus = "gpus" }; gzip too.
about: format, jobs, left_out, sorted, notes. docs/cluster.md, "Traces".]] },
}
