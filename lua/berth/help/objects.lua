--- Texts about the methods of objects that docs/cluster.md, pacml.md and pdors.md have, in the form
-- of topics.lua, which takes them in. Classes are named as in core.classes: by the end of their
-- key.
return {
  { "cluster:next", "kind, time, job = c:next()",
    [[The next event: "finish", "wake", "slot", "arrival", or "over"; its time, s; the job of finish
and arrival.]] },
  { "cluster:upcoming", "c:upcoming()", "s: time of the next event; inf: there is none." },
  { "cluster:start", "c:start(job, machines, { amounts = {...}, rate = 1 })",
    [[The job holds amounts of machines, and its work goes down by rate per s. Gives true, or nil,
message, code: it does not fit, and nothing is changed.]],
    "c:start(1, { 1, 2 }, { amounts = { 8, 4 }, rate = 2 })" },
  { "cluster:set_rate", "c:set_rate(job, rate)", "Work per s of a job that runs." },
  { "cluster:pause", "c:pause(job)", "The job leaves its machines; it can be started again." },
  { "cluster:refuse", "c:refuse(job, cause)",
    "The job will not run. cause: a whole number for its record (0)." },
  { "cluster:wake", "c:wake(time)", "An event \"wake\" at that time, s; nil: none." },
  { "cluster:run", "c:run { arrival = f, finish = f, slot = f, wake = f }",
    "Calls the functions with the job of each event, until it is over; any of them may be "
      .. "missing." },
  { "cluster:stop", "c:stop()", "The next event is \"over\"." },
  { "cluster:waiting", "c:waiting(most)",
    "Jobs that arrived or were paused and wait, by number, the first `most`." },
  { "cluster:job", "c:job(j)", "Table: arrival, work, deadline." },
  { "cluster:record", "c:record(j)",
    "Table of what became of a job: state, start, finish, left, rate, held, ran, pauses, cause, "
      .. "ends." },
  { "cluster:free", "c:free()", "What is free: amounts of each machine." },
  { "cluster:capacity", "c:capacity()", "What there is: amounts of each machine." },
  { "cluster:idle", "machines, n = c:idle(most)",
    "Machines without a job, the first `most`; how many there are in all." },
  { "cluster:running", "jobs, ends = c:running()",
    "Jobs that run, by the time of their ends; these times, s." },
  { "cluster:places", "machines, amounts = c:places(j)",
    "Where a job runs, and what it holds there." },
  { "cluster:summary", "c:summary()", "Table of counts, means and the utilisation up to now." },

  { "pacml_run:busy", "run:busy()", "Array of 0 and 1: is the server held?" },
  { "pacml_run:free_at", "run:free_at()", "Array: when each server will be free, s." },
  { "pacml_run:finishing", "times, servers = run:finishing()",
    "When each running job ends, s, in order; how many servers each has." },
  { "pacml_run:mask", [[run:mask("paper" or "exact")]],
    [[Array of 0 and 1, at decision + 1: what is offered, as published, or would be accepted.]] },
  { "pacml_run:look", "seconds, servers, cause = run:look(decision, block)",
    [[What a decision about the present job would come to; nil and the cause where it cannot be
placed. Changes nothing.]] },
  { "pacml_run:decide", "accepted, cause = run:decide(decision, block)",
    [[Decides about the present job, in so many pieces (0: it is turned away), and goes on to the
next arrival.]] },
  { "pacml_run:play", "run:play { arrival = f, finish = f }",
    [[Calls arrival(job), which gives a decision and a block, until all jobs are decided about;
finish(job) as one ends.]] },
  { "pacml_run:result", "run:result(job)",
    "Table of a job that is decided about: decision, cause, jct, pieces, servers, channels." },
  { "pacml_run:report", "run:report { horizon = 1e6 }",
    "Table of means, when all jobs are decided about: docs/pacml.md, \"Runs\"." },

  { "pacml_planner:set", "planner:set(weights)", "Takes these weights; gives the planner." },
  { "pacml_planner:get", "planner:get()", "Array of the weights." },
  { "pacml_planner:draw", "planner:draw(rng, n)",
    "A trace of n jobs of the process that it was made for." },
  { "pacml_planner:simulate", "planner:simulate(trace)",
    "How many jobs of a trace its network turns away, on its copy of the cluster." },
  { "pacml_planner:learn", "planner:learn(rng, { jobs = 300000 })",
    "Goes on from the weights that there are; gives the share of jobs turned away on the way." },
  { "pacml_planner:decide", "decision, block = planner:decide(run, { futures = 32, depth = 24 })",
    "What to do about the present job of a run; the servers of its block, nil: the first that "
      .. "fits." },

  { "scheduler:decide", "plan = s:decide(job)",
    "The best schedule at present prices: admitted, payoff, utility, cost, bound, done, schedule. "
      .. "Changes nothing." },
  { "scheduler:admit", "plan = s:admit(job)",
    "As decide, and commits the schedule if the job is admitted." },
  { "scheduler:price", "s:price(machine, resource, slot)", "Price of a unit of a resource." },
  { "scheduler:range", "low, high = s:range(machine, resource)",
    "Least and largest price of a resource." },
  { "scheduler:committed", "s:committed(slot)",
    "Amounts of each machine that are committed in a slot." },
  { "scheduler:counts", "s:counts()",
    "Table: slots solved and remembered, programs, roundings, repairs." },
  { "scheduler:certify", "s:certify(utility, steps)",
    "A bound on the utility of every schedule, by dual prices." },
}
