--- Texts of berth.help: an array of { name, use, text, example }.
-- name: a function or module by its path from berth ("place", "topology.ring"), a method as
-- "graph:op", or a word without a path, a topic. use: how it is called, nil for topics. text: one
-- paragraph, whose first sentence is the brief form in lists. example: lines of Lua that a spec
-- runs, or nil.
-- The other files of this folder add theirs in the same form; the order is that of the lists.
-- Option tables are not described here: berth.help prints the descriptors of berth.base.options
-- below the text.
return {
  { "graph", "g = berth.graph { ops = {...}, tensors = {...}, edges = {...} }",
    [[A graph from tables. ops: { name, kind, seconds (number, or one per device type), flop, bytes,
params, workspace, shape, group, twin, pin, backward, update, splittable, communication (beside
what its device computes) }. shape: { m, n, k, copies, gradients } or { batch, seq, heads, ... },
for kernel times. tensors: { from, to = {...}, bytes, resident, batch, gradient }. edges: {
from, to, bytes }. Gives nil, message, "cycle" if there is one. Quantities are in base units, or
strings: "5 us", "16 GiB".]],
    [[g = berth.graph { ops = { { seconds = 2 }, { seconds = 1 } }, edges = { { 1, 2, 8 } } }]] },
  { "graph:op", "g:op(i)",
    [[Table with everything about one op: name, kind, seconds, flop, bytes, params, workspace,
shape, group, twin, pin.]],
    "g:op(1).name" },
  { "graph:ops", "for op in g:ops() do", "The same tables, in id order." },
  { "graph:tensor", "g:tensor(k)",
    "Table: id, from, to = {...}, bytes, resident, batch, gradient." },
  { "graph:tensors", "for t in g:tensors() do", "The same tables, in id order." },
  { "graph:inputs", "g:inputs(i)", "Array of the tensors that op i reads." },
  { "graph:outputs", "g:outputs(i)", "Array of the tensors that op i makes." },
  { "graph:predecessors", "g:predecessors(i)", "Array of the ops that op i waits for, each once." },
  { "graph:successors", "g:successors(i)", "Array of the ops that wait for op i, each once." },
  { "graph:collective", "g:collective(k)", "Table: kind, bytes, members, consumers, count." },
  { "graph:find", "g:find(name)", "Id of the op of that name, or nil.",
    [[g:op(g:find "head.fc")]] },
  { "graph:topo_order", "g:topo_order()", "Array of op ids, producers first." },
  { "graph:b_level", "g:b_level { comp =, comm =, cost = }",
    "Longest path from every op to the end, itself included, s." },
  { "graph:t_level", "g:t_level { comp =, comm =, cost = }",
    "Longest path from the start to every op, itself excluded, s." },
  { "graph:slack", "g:slack { comp =, comm =, cost = }",
    "How much later every op may finish without a longer path, s." },
  { "graph:depth", "g:depth()", "Longest number of edges from a source to every op." },
  { "graph:meta_ops", "g:meta_ops { comp =, tolerance = 0 }",
    "Number of the meta-op of every op, and how many: runs of ids of one kind, time, depth and "
      .. "number of inputs." },
  { "graph:critical_path", "g:critical_path { comp =, comm =, cost = }",
    "Array of op ids of one longest path, and its length in s.",
    "g:critical_path { cost = berth.cost(g, t) }" },
  { "graph:layout", "x, y = g:layout { layer = }",
    "Arrays of places of a drawing in layers with few crossings; y is layer, which rises along "
      .. "edges (default: the depth)." },
  { "graph:reachable", "g:reachable(a, b)", "Does a path lead from op a to op b?" },
  { "graph:descendants", "g:descendants(i)", "Array of the ops that depend on op i." },
  { "graph:ancestors", "g:ancestors(i)", "Array of the ops that op i depends on." },
  { "graph:components", "g:components()", "Component number of every op." },
  { "graph:mirror",
    "g:mirror(options)",
    "Forward graph to forward + backward graph; also the array of origins.",
    "full, origin = g:mirror { ratio = 2 }" },
  { "graph:colocate", "h, map, names = g:colocate { names = table or function }",
    [[Groups from the names that a framework gives ops: names[op] (id or name) or names(op) is a
name or an array of them. All names that appear together are one group; names[group] is the
shortest one.]],
    [[h, map, names = g:colocate { names = function(op) return { op % 2 == 0 and "even" or "odd" }
end }]] },
  { "graph:coplace", "h, map, joined = g:coplace(options)",
    [[Every op with exactly one consumer joins its group, heaviest edges first, within limits.
Without limits one group can swallow most of a model.]],
    [[h = g:coplace { max_ops = 16 }]] },
  { "graph:fuse", "h, map = g:fuse(options)",
    [[Contracts directly connected ops of one group (scope = "all": of any), heaviest tensors first,
never to a cycle.]],
    [[h, map = g:fuse { scope = "all", max_ops = 8 }]] },
  { "graph:chains", "h, map = g:chains(options)",
    "Contracts ops that follow one another and nothing else.",
    "h, map = g:chains()" },
  { "graph:forward", [[h, map = g:forward { memory = "training", memory_fraction = 1 }]],
    "The forward ops only; backward ops go with their twins, update ops with the op whose "
      .. "parameters they update.",
    "h, map = g:mirror():forward()" },
  { "expand", "h, devices, origins = berth.expand(g, t, placement, options)",
    [[The collectives of a placed graph as transfers between its devices, to simulate what links
really carry. devices: of the ops of h. origins[op]: the collective that an op is there for, or
false.]],
    [[h, devices = berth.expand(g, t, p, { algorithm = "tree" })
r = berth.simulate(h, t, devices, { links = "fair" })]] },
  { "graph:save", [[g:save(path, { format = "dot", placement = p })]],
    [[Writes berth JSON, GraphML or DOT: by the ending, or the option format.]],
    [[g:save("bert.dot", { format = "dot", placement = p })]] },
  { "graph:to_string", "g:to_string(format)", "What save would write." },

  { "topology", "t = berth.topology { devices =, switches =, links =, routes = }",
    [[A topology from parts. devices: { name, type, preset, speed, flops, memory, memory_bandwidth,
overhead, machine }; links: { "a", "b", bandwidth =, latency =, directed = false }. Generators:
mesh ring star pcie_tree dgx1 fat_tree torus two_level groups.]],
    [[t = berth.topology.mesh(4, { preset = "V100", bandwidth = "50 GB/s", latency = "5 us" })]] },
  { "topology.mesh", "berth.topology.mesh(n, options)",
    "n devices, a link between every two.",
    [[t = berth.topology.mesh(4, { preset = "A100", bandwidth = "300 GB/s", latency = "3 us" })]] },
  { "topology.ring", "berth.topology.ring(n, options)",
    "n devices in a circle." },
  { "topology.star", "berth.topology.star(n, options)",
    "n devices around one switch." },
  { "topology.pcie_tree", "berth.topology.pcie_tree(n, options)",
    "n devices on PCIe switches of fan_out = 4 each, below one root." },
  { "topology.dgx1", "berth.topology.dgx1(options)",
    "Eight devices in a hybrid cube mesh." },
  { "topology.fat_tree", "berth.topology.fat_tree(k, options)",
    "k^3 / 4 devices, full bisection; k is even." },
  { "topology.torus", "berth.topology.torus({ 4, 4 }, options)",
    "A torus of any number of dimensions." },
  { "topology.two_level", "berth.topology.two_level(machines, per_machine, options)",
    "Machines with a switch in each and one between them." },
  { "topology.groups", "berth.topology.groups { groups = {...}, between =, links =, latency = }",
    "A cluster of groups of equal devices.",
    [[t = berth.topology.groups { groups = { { count = 4 }, {} }, between = "3 GB/s" }]] },
  { "topology:device", "t:device(d)",
    "Table: name, type, speed, flops, memory, memory_bandwidth, overhead, machine." },
  { "topology:link", "t:link(k)", "Table: from, to (node names), bandwidth, latency." },
  { "topology:route", "t:route(a, b)", [[Array of link ids from device a to b; nil, message,
"unreachable".]] },
  { "topology:path", "t:path(a, b)", "Bandwidth (bytes/s) and latency (s) from device a to b." },
  { "topology:rate", "flops, used = t:rate(device, dtype)",
    "FLOP/s of a device in an arithmetic (\"bf16\"), and which one its preset has for it; nil: "
      .. "its own flops." },
  { "topology:devices", "for device in t:devices() do", "The same tables, in id order." },
  { "topology:node", "t:node(k)", "Name of a node, and its device if it is one." },
  { "topology:to_string", "t:to_string()", "What save would write." },
  { "topology:save", "t:save(path)", "Writes berth JSON." },
  { "device_presets", "berth.device_presets()",
    "Names of the devices whose data sheets are built in." },
  { "device_sheet", [[berth.device_sheet("H100")]],
    [[Table of a board's figures: board, flops, memory, usable, memory_bandwidth, fp64 to fp4,
sms, gpus (of a machine), domain, link, nics, nic, source; nil: no such board. docs/devices.md.]],
    [[berth.device_sheet("A100-80GB").bf16]] },

  { "cost", "c = berth.cost(g, t, options)",
    [[A graph on a topology, priced. Functions return seconds: op(op, device), transfer(tensor,
from, to), collective(k, devices), which alone is called later: by c:collective and by whatever
simulates graphs with collectives. collective_lines = { c1, c0, d1, d0 } for "lines": an allreduce
of k KiB takes max(c1 k + c0, d1 k + d0) us. Every function of (g, t, ...) also takes (c, ...).]],
    "c = berth.cost(g, t, { op = function(op, device) return 1e-3 * device end })" },
  { "cost:op", "c:op(op, device)",
    "Seconds of an op on a device; math.huge: it cannot run there." },
  { "cost:transfer", "c:transfer(tensor, from, to)",
    "Seconds of a tensor from one device to another." },
  { "cost:mean_ops", "c:mean_ops()", "Mean time of every op over the devices that can run it, s." },
  { "cost:mean_transfers", [[c:mean_transfers("textbook")]], [[Mean time of every tensor; "saga"
counts pairs (d, d) too.]] },
  { "cost:min_ops", "c:min_ops()", "Least time of every op, s." },
  { "cost:collective", "c:collective(k, devices)",
    "Seconds of a collective whose member i sits on devices[i], and the algorithm." },
  { "cost:rho", "c:rho()", "Largest transfer over least op time above 0. What guarantees need: "
    .. "help \"guarantees\"." },
  { "kernels", "k = berth.kernels(gpu, dtype, options)",
    [[Times of kernels and NCCL's collectives on a GPU, fitted to measurements (docs/kernels.md).
gpu: a preset's name, or "" with the options flops and memory_bandwidth. dtype: "bf16" by default. A
GPU that was never fitted has the constants of the nearest one, and k.fitted is false.]],
    [[k = berth.kernels("H100", "bf16")
print(k:gemm(4096, 14336, 4096))]] },
  { "kernels:gemm", "k:gemm(m, n, k)", "Seconds of [m, k] times [k, n]; m: tokens." },
  { "kernels:attention", "k:attention { seq =, heads =, head_size = }",
    "Seconds of flash attention, forward or backward.",
    "k:attention { batch = 2, seq = 4096, heads = 32, kv_heads = 8, head_size = 128 }" },
  { "kernels:shape", "k:shape(shape, bytes)",
    [[Seconds of an op of that shape, { m, n, k, copies, gradients } or attention, which moves so
many bytes (nil: as its operands and result are), as cost option form = "kernels" prices ops.]],
    "k:shape { m = 2048, n = 128, k = 2048, copies = 32, gradients = true }" },
  { "kernels:elementwise", "k:elementwise(bytes)", "Seconds of work that moves so many bytes." },
  { "kernels:work", "k:work(flop, bytes, kind)",
    [[Seconds of work without a shape, as cost option form = "kernels" prices ops.]] },
  { "kernels:collective", "k:collective(kind, bytes, gpus, machines, nic)",
    [[Seconds; kind: allreduce allgather reducescatter alltoall; bytes: of the whole buffer; nic:
bytes/s out of a machine, needed from 2 machines on.]],
    [[k:collective("allreduce", "64 MB", 16, 2, "400 GB/s")]] },
  { "kernels:p2p", "k:p2p(bytes, nic)", "Seconds from GPU to GPU; without nic inside a machine." },

  { "fit_link", "berth.fit_link(bytes, seconds, { relative = false })",
    "Latency and bandwidth from measurements: { latency, bandwidth, r2 }.",
    "berth.fit_link({ 1e3, 1e6, 1e9 }, { 6e-6, 45e-6, 0.04 }, { relative = true })" },

  { "fit_collective", "berth.fit_collective(bytes, devices, seconds, { relative = false })",
    "Latency and bandwidth of the ring from all-reduces measured on so many devices: { latency, "
      .. "bandwidth, r2 }.",
    "berth.fit_collective({ 1e6, 1e9, 1e9 }, { 4, 4, 8 }, { 4e-4, 0.3, 0.35 })" },
  { "fit_lines", "berth.fit_lines(bytes, seconds)",
    "collective_lines from measured all-reduces: one line below 256 KiB, one above 1 MiB, by "
      .. "Huber's loss.",
    "berth.fit_lines({ 1e3, 1e5, 2e6, 2e7 }, { 2e-4, 2.1e-4, 7e-4, 5e-3 })" },

  { "place", "p, message, code, why = berth.place(g, t, placer, options)",
    [[Decides which device runs each op. placer: a name from berth.placers() (help "m-etf" is
about one), a policy table, or berth.pipeline{...}; none: the default, the best of several, with
the options of berth.portfolio. Give the links that will be simulated. If nothing fits: nil,
message, "infeasible", { op, device, missing }.]],
    [[p = assert(berth.place(g, t, "m-etf", { links = "duplex" }))]] },
  { "placers", "berth.placers()",
    [[Names of the placers; berth.placers(name): its variants. help "heft" explains one.]] },
  { "placement", "p = berth.placement(devices, { sequence = {...}, placer = \"label\", estimate = "
    .. "0.1 })",
    "A placement from an array of device ids. Files keep sequence, label and estimate.",
    "p = berth.placement { 1, 1, 2 }" },
  { "placement:devices", "p:devices()",
    "Array: the device of every op; also p[i], #p." },
  { "placement:sequence", "p:sequence()", "Array of ops by planned start, or nil." },
  { "placement:to_string", "p:to_string()", "What save would write." },
  { "placement:save", "p:save(path)", "Writes berth JSON." },
  { "repair", "q, message, code, why = berth.repair(g, t, placement, options)",
    [[A placement near the given one (or array of devices) that keeps groups, pins, types and
memory: what fits stays, else as little as possible moves, cheapest first.]],
    [[q = berth.repair(g, t, { 1, 1, 1 }, { memory = "total" })]] },
  { "split", [[s = berth.split(g, t, { objective = "max-load", contiguous = false })]],
    [[Pipeline stages, one per device: the smallest largest load, proved among contiguous splits, or
the least latency. CPUs pay no transfers and have no limit. Fields: placement, max_load, latency,
loads, busiest, bound, proven, contiguous, contiguous_load, complete, units, ideals, visits,
objective.]],
    "print(berth.split(g, t))" },
  { "split_measure", "v = berth.split_measure(g, t, placement, { cpu = })",
    [[What a placement is worth as a split: max_load, latency (s; nil: devices wait for one another
in a circle), loads, busiest; over and missing (bytes) if a device lacks memory.]],
    "print(berth.split_measure(g, t, p))" },
  { "exact", "p, proof = berth.exact(g, t, options)",
    [[The shortest makespan on free links, or the best found and a bound. proof: makespan, bound,
proved, interrupted, timed_out, nodes, schedules; prints as a line. Partial schedules are for up
to 64 ops. Without seconds work is counted.]],
    [[p, proof = berth.exact(g, t); print(proof)]] },
  { "pipeline", "line = berth.pipeline { transforms, placer, refinements }",
    [[A placer made of steps; takes the place of a placer's name. Before the placer: names of
berth.transforms(), { name, options }, or functions (graph, topology) -> graph, way back. Behind
it: "adjust", "repair", { name, options }, or functions (graph, topology, placement) -> placement.
{ name =, transform = f } and { name =, refine = f } name functions. Behind a transform memory is
checked on the original graph.]],
    [[p = berth.place(g, t, berth.pipeline { { "coplace", { max_ops = 8 } }, "fuse", "heft" })]] },
  { "transforms", "berth.transforms()",
    "Names of the transforms; each is a method of graphs, too: help(g.fuse)." },
  { "adjust", [[q = berth.adjust(g, t, p, { by = "frequent", fit = false })]],
    "Puts colocation groups that a placement has split on one device each.",
    [[q = berth.adjust(g, t, p, { by = "memory_sum" })]] },

  { "portfolio", "p, rows = berth.portfolio(g, t, options)",
    [[The default placer: runs several, keeps the best; rows have what each of them reached, and
print as a table. rows.winner is the row that won, rows.best all from best to worst: name,
makespan, gap, placement, error; rows.bound, rows.bound_name.]],
    "p, rows = berth.portfolio(g, t, { links = \"duplex\" }); print(rows)" },

  { "simulate", "r = berth.simulate(g, t, p, options)",
    [[Runs the graph as placed. p: a placement or an array of devices. help "result" lists the
fields of the result, help "links" (or another option) the choices. Collectives require an order
other than "ready"; help "cost": their prices.]],
    [[r = berth.simulate(g, t, p, { links = "duplex" })]] },
  { "result", "r = berth.simulate(g, t, p, options)",
    [[What happened in one step. It prints as a line; ids are those of the graph and the topology,
times are in s, sizes in bytes.]],
    "print(r.makespan, r.bound_name, r.gap)" },
  { "result:critical_path", "r:critical_path()",
    "Ops that set the makespan, each waiting for the one before it." },
  { "result:slack", "r:slack()", "How much later every op could finish in this schedule, s." },
  { "result:peak_ops", "r:peak_ops(d)",
    "What is held on device d at its peak: array of { op, bytes }." },
  { "result:memory_timeline", "r:memory_timeline(d)",
    [[What device d holds over time, parameters first: array of times (s), array of bytes. Two
entries of one time: what is held at that instant, then what stays. The largest is
peak_memory[d].]],
    "times, bytes = r:memory_timeline(1)" },
  { "result:save_trace", "r:save_trace(path)", "Writes a timeline that opens in Perfetto.",
    [[r:save_trace("step.json")]] },
  { "result:trace", "r:trace()", "What save_trace would write." },
  { "result:to_table", "r:to_table()", "Everything as plain tables." },
  { "simulate_batch", "berth.simulate_batch(g, t, { p1, p2 }, options)",
    "Many placements on threads: arrays of makespans (s), of peaks (bytes), of ops at which memory "
      .. "ran out (false: it held)." },
  { "simulator", "f = berth.simulator(g, t, options)",
    "A function: placement -> makespan (s), peak (bytes), op at which memory ran out (nil: it "
      .. "held). Keeps its memory." },
  { "tries", "s, makespan, peak, op = berth.tries(g, t, p, options)",
    [[What p comes to when some of its ops are elsewhere: the figures of a run of the changed
placement, often for less work. It prints how many ends of ops it has simulated.]],
    [[s = berth.tries(g, t, p, { memory = "none" })]] },
  { "decide",
    [[r = berth.decide { decisions = 3, actions = { "a", "b" }, value = function(a) ... end }]],
    [[The best assignment of actions to decisions, by a value of your own: least is best; a second
number above 0: not allowed. docs/lua.md. r: assignment, value, start, evaluations, repeats,
playouts, trace, interrupted.]],
    [[berth.decide { decisions = 2, actions = 3, value = function(a) return a[1] * a[2] end }]] },
  { "decide.tree", "t = berth.decide.tree { decisions =, actions =, value =, ... }",
    "A search that goes on, with its tree: search, run, visits, node, advance, root, best. "
      .. "Options: help(berth.decide).",
    "t = berth.decide.tree { decisions = 2, actions = 3, value = function(a) return a[1] end }" },
  { "tree:search", "r = t:search { calls =, seconds = }",
    "So many more; without options as many as it was made for. The best so far." },
  { "tree:run", "t:run(n)", "Playouts until the root has n visits, those from before included." },
  { "tree:visits", "counts, priors = t:visits()",
    "Of each action of the next decision at the root." },
  { "tree:node", "visits, q, prior = t:node { 2, 1 }",
    "The node behind these actions from the root." },
  { "tree:advance", "t:advance(action)", "The root becomes its child, with what is known below." },
  { "tree:root", "decided, assignment = t:root()",
    "How many decisions are made at the root, and its assignment, filled in." },
  { "tree:best", "r = t:best()", "The best assignment so far, as berth.decide gives it." },
  { "executor", "ex = berth.executor(g, t, options)",
    [[Runs placements for real: a thread and an arena for each device, kernels sized by the graph,
copies paced as the links. docs/execute.md. nil, message, "unsupported": no threads,
collectives. ex.simulation: the options of the simulator for the same discipline. ex:close() joins
the threads.]],
    [[ex = berth.executor(g, t, { mode = "paced", seconds = 0.05 })]] },
  { "executor:run", "r = ex:run(p, { repeats = 1 })",
    [[Runs a placement; of several runs the one of median makespan. r: see help "execution". nil,
message, code as simulate.]],
    "r = ex:run(p, { repeats = 5 })" },
  { "executor:calibrate",
    [[g2, t2 = ex:calibrate { load = "busy", runs = 6, repeats = 3, seed = 1 }]],
    [[Measures ops and links: a graph and a topology with which berth.simulate(g2, t2, p,
ex.simulation) predicts ex:run(p). The third value are the samples.]] },
  { "executor:objective", "f = ex:objective { repeats = 1 }",
    "A function: array of placements -> array of measured seconds; one placement -> a number. To "
      .. "train with." },
  { "executor:kernels", "numbers, count = ex:kernels()",
    "Which ops run the same kernel on operands of the same sizes." },
  { "execute.calibrate", "g2, t2 = berth.execute.calibrate(ex, options)",
    "The same as ex:calibrate(options)." },
  { "execution:save_trace", "r:save_trace(path)", "Writes a timeline that opens in Perfetto.",
    [[r:save_trace("run.json")]] },
  { "execution:trace", "r:trace()", "What save_trace would write." },
  { "tries:try", "makespan, peak, op = s:try({ [7] = 2 }, limit)",
    [[The base with op 7 on device 2; the base stays. limit (s): stops as soon as the makespan is
certain to be above it; then makespan is a lower bound above it, and memory is not checked. op:
where memory ran out. nil, message, code: the moves split a group, leave a pin or have no route.]],
    [[m, peak, op = s:try({ [7] = 2 }, best)]] },
  { "tries:accept", "s:accept()",
    [[The last try becomes the base, which later tries differ from. true; nil, message, code if it
cannot: no try since the base was taken, or one that has failed.]],
    "m, peak, op = s:try({ [7] = 2 }, best); if m and m < best and not op then s:accept() end" },
  { "tries:base", "makespan, peak, op = s:base(p)",
    "Another base: a placement or an array. Its makespan (s), peak (bytes), and the op at which "
      .. "memory ran out (nil: it held)." },
  { "tries:ended", "s:ended()", "Ops whose ends have been simulated so far: the work done." },

  { "report", "berth.report(path, { result = r, compare = rows, bounds = b })",
    [[One HTML file with pictures of a run: schedule, memory against its limit, links, placers with
gaps, the graph. Instead of result: graph, topology, placement, simulate (options). More: rows (of
a portfolio), placement (says who placed), title, figures (array of "gantt", "memory", "links",
"placers", "graph"), bounds (a table of them), times (true: how long placers took), command (a
text: what made the run).]],
    [[berth.report(os.tmpname(), { result = r, placement = p })]] },
  { "figure", "text = berth.figure(kind, what)",
    [[One figure of a report as SVG. kind: "gantt", "memory", "links", "placers", "graph"; what: see
help(berth.report).]],
    [[text = berth.figure("gantt", { result = r })]] },

  { "bounds", [[b = berth.bounds(g, t, { thorough = true, makespan = r })]],
    [[Lower bounds of the makespan, s: critical_path, work, memory; clusters ("serial clusters": ops
that must share a device run one after another, and must fit) and intervals (what all devices must
do within an interval, too), up to 1000 ops; link_cut, of parts between which links are thin; with
thorough = true these with a search, up to 2000 ops, and transfers and lp (the linear program, to
the relative gap); best, the largest of them; name, which one that is. makespan, a result or s,
gives achieved: so many times the optimum at most.
links ("free" by default: valid for all): on which the schedules run; larger where inputs queue
for channels or links. b.guarantees: what is proved of placers here, and why not; it prints as a
table.]],
    "print(berth.bounds(g, t, { thorough = true }).guarantees)" },
  { "gaps", [[k = berth.gaps(g, t, placement, { calls = 2000 })]],
    [[Why a step takes longer than its bound, as a table: gap = placement (search finds a faster
one, first in, first out) + queue_rule (and a faster one under light-first, light-class or b-level
dispatch) + open (due to bound or search), s. rules: the placement under each rule; found: the best
of the searches (makespan, rule, placement, fifo); bound, bound_name, makespan; closed: nothing is
open (up to 16 ops on free links berth.exact helps). It prints which dispatch runs the placement
faster. Without a placement: the portfolio's.]],
    [[print(berth.gaps(g, t, p, { calls = 200 }))]] },
  { "guarantees", [[berth.bounds(g, t, { thorough = true }).guarantees]],
    [[What is proved of m-etf, etf and m-sct on this graph: array of { name, placers, ratio, limit
(s), valid, why }. Not valid: why gives the reason. b.rho: largest transfer over least
op time, infinite if an op takes none; b.path_rho: most that transfers take of any path, over its
op times; b.closed: devices that memory may close to some op.]],
    "print(berth.bounds(g, t).guarantees)" },
  { "tau", [[berth.place(g, t, "m-sct", { tau = 0.5, gap = 0.01 })]],
    [[Of m-sct and berth.favourites: favourites are the edges with 1 - y at most tau, 0 to 1, larger
y first; 0, the default: a maximal matching. gap: relative, to which the linear program is
solved.]],
    [[p = berth.place(g, t, "m-sct", { tau = 0.5 })]] },
  { "favourites",
    [[lp = berth.favourites(g, t, { times = "mean", method = "auto", gap = 0.01 })]],
    [[The linear program behind m-sct: which consumer should run right after its producer, on the
same device, if devices were plenty. lower and upper enclose its value, the longest path, s.
Arrays by pair of ops: from, to, c (transfer, s), y (share of the favour, 0..1), flow (how
critical, 0..1). child[op]: the favourite child in a matching, or false. times = "least" makes
lower a bound on every makespan.]],
    "print(berth.favourites(g, t, { gap = 0.001 }))" },
  { "compare",
    [[berth.compare(g, t, { "single", "etf", policy }, { place = {...}, simulate = {...} })]],
    [[Runs placers and simulates each: a table that prints. Without names: all. thorough = true:
gaps by thorough bounds. Rows: name, makespan, gap, bound, estimate, peak, oom, placement; error,
code, why. best: the rows, best first.]],
    [[print(berth.compare(g, t, { "single", "etf", "heft" }, { links = "duplex" }))]] },

  { "load", "g, t, p = berth.load(path, options)",
    "What the file holds; the format is found by the contents. nil, message, code on failure.",
    [[g = assert(berth.load("bert.json"))]] },
  { "load_topology", "t = berth.load_topology(path)", "A topology from a file." },
  { "load_placement", "p = berth.load_placement(path)", "A placement from a file." },
  { "parse", "g, t, p = berth.parse(text, options)", "As load, from a string." },
  { "parse_topology", "t = berth.parse_topology(text, options)", "A topology from a string." },
  { "parse_placement", "p = berth.parse_placement(text, options)", "A placement from a string." },
  { "save", "berth.save(path, { graph = g, topology = t, placement = p })",
    "Several parts in one file of berth JSON." },
  { "to_string", "berth.to_string { graph = g, topology = t, placement = p }",
    "What save would write." },
  { "formats", "read, saved = berth.formats()",
    "Names of the file formats that are read, and of those that graphs are saved in." },

  { "models", "g, about = berth.models.resnet { depth = 50 }",
    [[Graphs of well-known networks: resnet vgg inception_v3 transformer bert llama gnmt; and
einsum. Options of all others: batch, dtype, training, optimizer ("sgd", "momentum", "adam",
"none"), granularity ("op", "layer", "block"), colocate ("weights", "layer").
berth.models.options(name) lists the rest.]],
    [[g, about = berth.models.bert { size = "large", batch = 8 }]] },
  { "models.rnnlm", [[g, about = berth.models.rnnlm { size = "medium", seq = 35 }]],
    "An LSTM language model, unrolled: size \"medium\" or \"large\", or hidden; layers = 2, vocab "
      .. "= 10000.",
    [[g = berth.models.rnnlm { size = "large", steps_per_op = 5 }]] },
  { "models.random", "g, about = berth.models.random { seed = 0, family = \"any\", layers = 8 }",
    [[A small random training graph at granularity "layer": family "cnn", "mlp", "transformer" or
"any".]],
    [[g = berth.models.random { seed = 1, family = "cnn" }]] },
  { "models.list", "berth.models.list()", [[Names for models.build and for "model:NAME" on the
command line.]] },
  { "models.build", "g, about = berth.models.build(name, options)",
    "A model by its name.",
    [[g = berth.models.build("resnet50", { batch = 64 })]] },
  { "models.origin", "o = berth.models.origin(g)",
    [[What a graph was made from: o.name, o.maker, o.given (options as given), o.options (all). nil:
it is of no model, or a transform made it.]],
    [[print(berth.models.origin(berth.models.build("vgg11")).name)]] },
  { "models.describe", "description, about = berth.models.describe(name, options)",
    "The plain tables that berth.graph takes." },
  { "models.options", "names, about = berth.models.options(name)",
    "Names of the options that a model takes; and an array of { name, default, by (what the "
      .. "default depends on), legal }." },
  { "models.resnet", "berth.models.resnet { depth = 50, image = 224, classes = 1000 }",
    "depth: 18, 34, 50, 101, 152." },
  { "models.vgg", "berth.models.vgg { depth = 16, image = 224, classes = 1000 }",
    "depth: 11, 13, 16, 19." },
  { "models.inception_v3", "berth.models.inception_v3 { image = 299, classes = 1000, aux = }",
    "aux: with the auxiliary head; default: when training." },
  { "models.transformer",
    [[berth.models.transformer { size = "base", vocab = 37000, seq = 128, target_seq = seq }]],
    "size: base, big; or layers, hidden, heads, ffn." },
  { "models.bert",
    [[berth.models.bert { size = "base", seq = 128, head = "pooler", attention = "ops" }]],
    [[size: base, large; or layers, hidden, heads, ffn. head: none, pooler, pretraining (with
predictions). positions: rows of the position table; default 512, or seq if that is more.]] },
  { "models.llama",
    [[berth.models.llama { size = "7b", seq = 2048, batch = 1, dtype = 2, attention = "ops" }]],
    "size: 7b 13b 30b 65b 2-70b 3-8b 3-70b; or layers, hidden, heads, kv_heads, ffn, vocab." },
  { "models.gnmt", "berth.models.gnmt { layers = 4, hidden = 1024, seq = 50, steps_per_op = 1 }",
    "Recurrent; one op covers steps_per_op time steps." },
  { "models.einsum",
    [[g, about = berth.models.einsum { program = "random", seed = 0, devices = 4, ... }]],
    [[Sharded einsum graphs like DOPPLER's, to train on. program: chain, ffnn, transformer, random;
also shards, layers, width, comm: "work" (transfers by work, as published), "bytes". Op times are
work, links of 1 B/s make them agree. about.meta[op]: its logical op. docs/models.md.]],
    [[g, about = berth.models.einsum { program = "transformer", seed = 1 }]] },

  { "agents", "agents = berth.agents",
    [[Placers that learn: DOPPLER, PLACETO, GDP. agent = berth.agents.doppler { seed = 1, contract =
true }, agent:train(tasks, { stages = ... }), berth.place(g, t, agent), agent:save(path). On the
command line: berth train. docs/learning.md, Agents.]] },
  { "agents.doppler",
    [[agent = berth.agents.doppler { design = "compact", seed = 0, contract = false, ... }]],
    [[A placer that learns: agent:train(tasks, options), berth.place(g, t, agent), agent:save(path).
tasks: { { graph =, topology =, judge = { preset = "doppler" } } }; options: stages, calls, batch,
checkpoint. contract: whole units of ops at a time, which a few hundred episodes need.
docs/learning.md, Agents.]] },
  { "agents.placeto", [[agent = berth.agents.placeto { rounds = 3, hidden = 32, seed = 0, ... }]],
    "PLACETO, for comparison: op after op in topological order; tied to the number of devices. "
      .. "docs/learning.md, Baselines." },
  { "agents.gdp",
    "agent = berth.agents.gdp { width = 64, segment = 8, heads = 4, quirks = false, ... }",
    "GDP, for comparison: all ops at one look; tied to the number of devices. docs/learning.md, "
      .. "Baselines." },
  { "agents.pacml",
    [[agent = berth.agents.pacml { algorithm = "planner", betas = { "A" }, seed = 0, ... }]],
    [[A decider that learns how many pieces to cut each job into: agent:train(env, { steps =,
checkpoint =, resume =, progress = }), agent:decide(run), agent:save(path), agent:use(env).
"planner" is ours, env:planner as an agent; "dqn" and "ppo", with preset = "published" and
train(env, { traces = { beta = "A" } }), are PAC-ML's own. On the command line: berth train pacml.
docs/learning.md, PAC-ML.]] },
  { "agents.tag",
    [[agent = berth.agents.tag { size = "small", seed = 0 }; berth.agents.tag.trained()]],
    [[Says which action is likely for an op group of a deployment: a graph network over op groups
and device groups. trained() is the one that comes with berth; agent:train { minutes = 25 } or
berth train tag makes one. agent:prior(d) for d:search, agent:strategy(d, action): a whole one.
docs/learning.md, Agents: TAG.]],
    [[print(berth.agents.tag { size = "tiny" })]] },
  { "agents.load", "agent = berth.agents.load(path)",
    "An agent that agent:save or a checkpoint wrote." },
  { "agents.ranks", [[ranks = require "berth.agents.ranks".world()]],
    [[The processes of this mpirun, for agent:train(tasks, { ranks = ranks }): ranks.rank,
ranks.size, ranks:numbers(list), ranks:add_up(arrays), ranks:broadcast(text or array, root).
ranks:run(f, ...) calls f(ranks, ...) and stops all when one fails; ranks:finish() ends MPI. On
the command line: mpirun -n 4 berth train ...]] },
  { "mpi", [[mpi = require "berth.mpi"]],
    [[Open MPI, where it was there at build time: mpi.init(), mpi.rank() from 1, mpi.size(),
mpi.sum(array or numbers), mpi.add_up(arrays), mpi.broadcast(array or string, root),
mpi.barrier(), mpi.finalize(). berth.agents.ranks is on top of it.]] },
  { "agent:train", "report = agent:train(tasks, options)",
    [[Teaches the agent: stage I by imitation, II from the simulator, III from `objective`. help
"agents.tasks" and help "agents.train" list the options. stages: { { stage = "I", episodes = 80 },
... }. report.tasks[i]: best, placement, greedy, searched; report.interrupted if it was.]] },
  { "agent:place", "placement = agent:place(cost, { samples = 0, seed = 0, judge = })",
    "What berth.place(g, t, agent, options) calls. samples: the best of so many drawn, and of the "
      .. "likeliest." },
  { "agent:save", "agent:save(path)",
    "One file, whole or not at all: for berth.agents.load and --placer agent:FILE." },

  { "rng", "r = berth.rng(seed, stream)",
    "Random numbers, the same everywhere: r:uniform(), r:below(n), r:normal(), r:shuffle(array)." },
  { "rng:uniform", "r:uniform()", "In [0, 1)." },
  { "rng:below", "r:below(n)", "A whole number from 1 to n." },
  { "rng:normal", "r:normal()", "Mean 0, deviation 1." },
  { "rng:shuffle", "r:shuffle(array)", "In place." },
  { "quantity", [[berth.quantity("5 us", "seconds")]],
    "A number in base units; units: seconds, bytes, bytes/s, flop, flop/s." },
  { "experiment", "e = berth.experiment { name =, grid = {...}, seeds = 3, run = f, path = }",
    [[Runs f(trial) -> table for each point of a grid with each seed, a line of the file for each;
it resumes after a kill. e.rows; e:summary { fields = {...} } has means and confidence intervals.
docs/experiments.md.]],
    "e = berth.experiment { name = 'x', seeds = 2, run = function(t) return { y = t.seed } end }" },
  { "format", [[berth.format(value, "seconds")]], "Three digits with a unit: 41.2 ms." },
  { "kind", "berth.kind(x)", "Class of an object of the library, such as \"graph\" or \"result\"; "
    .. "else the Lua type." },
  { "hooks", "before = berth.hooks { interrupt = f, progress = f }",
    [[Functions that are called while long work runs: interrupt() -> true stops it (it returns nil,
"interrupted", "interrupted"); progress(what, done) is given what runs and the share done, 0 to 1.
One that is not given is removed. Returns the former hooks.]],
    [[berth.hooks { progress = function(what, done) print(what, done) end }]] },
  { "catch_interrupts", "was = berth.catch_interrupts(true)",
    [[Ctrl-C stops what runs instead of ending the process; false: as before. The prompt does this
by itself.]] },
  { "memory", "berth.memory()", "Bytes that the library holds now, and at most so far." },
  { "repl", "berth.repl()", "Starts the interactive prompt." },
  { "help", "help(x)", [[About a function, a method (help(g.op)), an object, a module, or a word:
help "policy".]] },
  { "version", "berth.version", "The version of the library." },

  { "policy", "berth.place(g, t, { name =, device = function(op, est, plan, eft) return d end })",
    [[A placer of your own. Fields, all optional: name, ready ("assigned", "finished"), fit
("append", "insertion"), choose ("op", "pair", "device"), prepare(plan, cost) -> priorities,
select(op, plan) -> priority, device(op, est, plan, eft) -> device, score(op, est, plan, eft) ->
one number per device, least wins. est[d], eft[d]: earliest start and finish on device d, s.]],
    [[p = berth.place(g, t, { name = "last", device = function(op, est) return #est end })]] },
  { "plan", "function(op, est, plan, eft) ... end, of a policy",
    [[What a policy's functions see of the plan so far; it is only there while the policy runs.]],
    [[p = berth.place(g, t, function(op, est, plan) return plan.now == 0 and 1 or #est end)]] },
  { "plan:device_of", "plan:device_of(op)", "Device of an op that is placed already, or nil." },
  { "plan:start", "plan:start(op)", "Planned start, s." },
  { "plan:finish", "plan:finish(op)", "Planned finish, s." },
  { "plan:free_at", "plan:free_at(d)", "When device d has done its last op, s." },
  { "plan:last", "plan:last(d)", "The op that was placed last on device d, or nil." },
  { "plan:memory", "plan:memory(d)", "Bytes held on device d." },
}
