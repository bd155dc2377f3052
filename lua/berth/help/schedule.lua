--- Texts about berth.schedule (docs/schedule.md), in the form of topics.lua, which adds them to its
-- list.
return {
  { "schedule.make", [[s = berth.schedule.make("1f1b", { stages = 8, microbatches = 32 })]],
    [[The order in which the stages of a pipeline run F, B and W of micro-batches, by a generator: a
name of berth.schedule.generators() or function(problem, stage) -> word, an array of "F", "B",
"W", "BW" ("F2": of the stage's second chunk; "F1&B2": one slot). Fields: outcome ("runs",
"deadlock", "memory"), step, makespan, span, bubble, peak (by stage), problem, name, stopped.
Methods: s:actions(stage), s:simulate(options), s:save(path), s:to_string(format), s:figure(),
s:report(path, { title, rows, command }).]],
    [[print(berth.schedule.make("zb-h1", { stages = 8, microbatches = 32, memory = 8 }))]] },
  { "schedule.generators", "list = berth.schedule.generators { chunks =, map = }",
    [[The built-in generators: { name, text, source, map, chunks }; those that fit, all without
options. Prints a line for each.]], "print(berth.schedule.generators())" },
  { "schedule.simulate", [[r = berth.schedule.simulate(s, { links = "duplex" })]],
    [[The schedule in the step simulator: a result, with any links, on a ring of the stages or a
topology. nil, message, "infeasible", { outcome, stage, index, action, excess }: a deadlock, or
memory over the limit.]],
    [[r = berth.schedule.make("1f1b", { stages = 4, microbatches = 8, p2p = 0.1 }):simulate()]] },
  { "schedule.search", "s = berth.schedule.search { stages = 8, microbatches = 32, memory = 8 }",
    [[The schedule with the shortest step found within the limits: options of berth.schedule.make,
and calls, seconds, seed. Of layers without a split, their split with it. Fields: bound, proven,
calls, interrupted.]],
    [[print(berth.schedule.search { stages = 4, microbatches = 8, memory = 4, calls = 200 })]] },
  { "schedule.exact", "s = berth.schedule.exact { stages = 3, microbatches = 6, memory = 3 }",
    [[The shortest schedule within the limits, with proof (proven), of up to 400 actions. Proved is
that no schedule whose stages start at their earliest is shorter. Fields as of
berth.schedule.search.]],
    "print(berth.schedule.exact { stages = 3, microbatches = 4, memory = 2 })" },
  { "schedule.bound", "b = berth.schedule.bound(s)",
    [[Lower bounds of the step within the limits, of a schedule's problem or of options: best, work,
stage, pair, area, chain, s.]],
    "print(berth.schedule.bound({ stages = 4, microbatches = 8, memory = 4 }).best)" },
  { "schedule.compare", [[rows = berth.schedule.compare({ "1f1b", "search" }, options)]],
    [[Generators, functions, "search" or { one of these, options } on one pipeline; prints as a
table, those within the limits first. Without names all generators whose chunks fit.]],
    [[print(berth.schedule.compare(nil, { stages = 4, microbatches = 8, memory = 4 }))]] },
  { "schedule.costs", "c = berth.schedule.costs(path)",
    [[Costs for the option `costs`: from a CSV, or of a graph that is cut into stages:
berth.schedule.costs(g, t, berth.split(g, t)).]],
    "c = berth.schedule.costs(g, t, berth.split(g, t))" },
  { "schedule.load", [[s = berth.schedule.load("schedule.csv", { costs = { 1, 1, 1 } })]],
    [[A schedule from PyTorch's CSV, checked for order, dependencies and memory, or from berth JSON;
or the text of a Megatron layout. nil, message with file, row, cell, value and reason, code.]] },
  { "schedule.save", [[berth.schedule.save(s, "schedule.csv")]],
    [[Writes PyTorch's CSV, berth JSON (.json) or the Megatron layout of the layers (.layout); also
s:save(path).]] },
}
