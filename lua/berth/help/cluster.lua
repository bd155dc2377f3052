--- Texts about berth.cluster, in the form of topics.lua, which takes them in.
return {
  { "cluster", [[cluster = berth.cluster]],
    [[Jobs that arrive, are given machines or refused, run and leave: docs/cluster.md. simulate, new; schedulers fifo,
backfill, srtf.]] },
  { "cluster.simulate", "r = berth.cluster.simulate(jobs, { machines = 64 }, scheduler, { seed = 0, rate = f })",
    [[jobs: array of { arrival, work, deadline, kind, machines, name } by arrival. cluster: machines, capacity, horizon,
slot, slack. scheduler: "fifo", "backfill", "srtf", or a table of methods arrival, finish, slot, wake that return a
plan { pause, refuse, rate, start, wake }. r.records, r.summary, r.runs; r:save_csv(path), r:save_jsonl(path),
r:save_trace(path) (Perfetto).]],
    [[berth.cluster.simulate({ { arrival = 0, work = 5 } }, 1, "fifo")]] },
  { "cluster.new", "c = berth.cluster.new(jobs, { machines = 2, capacity = 8 })",
    [[The event loop itself. c:next() gives "finish", "wake", "slot", "arrival" or "over", the time and the job. Decisions:
c:start(job, machines, { amounts, rate }), c:set_rate, c:pause, c:refuse(job, cause), c:wake(time). What is: c.now,
c:job(j), c:record(j), c:free(), c:capacity(), c:idle(most), c:running(), c:places(j), c:summary().]],
    [[c = berth.cluster.new({ { arrival = 0, work = 5 } }, 1)]] },
  { "cluster.fifo", "s = berth.cluster.fifo { backfill = false }",
    "First in, first out, for gangs of whole machines; backfill: who does not put off the first may overtake." },
  { "cluster.backfill", "s = berth.cluster.backfill()", "berth.cluster.fifo { backfill = true }." },
  { "cluster.srtf", "s = berth.cluster.srtf()", "Shortest remaining time first, with pauses, for gangs of whole machines." },
}
