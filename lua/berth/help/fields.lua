--- Fields of the library's objects, with their units: by class, arrays of { name, text }, for
-- completion and help. Methods are in topics.lua and objects.lua. A spec checks that every field of
-- a class is listed.
return {
  graph = {
    { "name", "text, or nil" },
    { "dtype", "arithmetic of its ops: fp64, fp32, tf32, bf16, fp16; \"\": unknown" },
    { "unitless", "true: times and sizes are in units of the file, and print without units" },
    { "n_collectives", "how many" },
    { "n_edges", "pairs of a tensor and one of its consumers" },
    { "n_groups", "the largest number of a colocation group" },
    { "n_ops", "how many; also #g" },
    { "n_tensors", "how many" },
    { "note", "a sentence on ops without times, FLOP and bytes, which take no time; nil: none" },
    { "types", "array: names of the device types that times are given for" },
  },
  topology = {
    { "n_devices", "how many; also #t" },
    { "n_links", "how many, each leading one way" },
    { "n_nodes", "devices and switches" },
    { "name", "text, or nil" },
  },
  cost = {
    { "graph", "what it prices" },
    { "model", "the table of options that it was made with, or nil" },
    { "topology", "on which it prices" },
  },
  array = {
    { "rank", "number of axes" },
    { "shape", "table of extents" },
    { "size", "how many numbers" },
  },
  index = {},
  segments = { { "rows", "how many, in all segments" } },
  tape = { { "recording", "true while it records" } },
  parameters = { { "size", "how many numbers; #p: how many arrays" } },
  adam = {
    { "rate", "of steps that are given none" },
    { "steps", "how many it has done" },
  },
  llm = {
    { "active", "parameters that a token uses" },
    { "hidden", "width of the residual stream" },
    { "kind_of", "array: the kind of each layer" },
    { "kinds", "array of layers that are alike: heads, ffn, experts, weights, parameters, ..." },
    { "layers", "how many" },
    { "name", "of the file" },
    { "notes", "array: what was left out or assumed" },
    { "parameters", "how many" },
    { "tied", "true: the head is the embedding" },
    { "type", "model_type of the file" },
    { "vocab", "tokens of the vocabulary" },
    { "weights", "array of weights outside the layers" },
  },
  llm_cluster = {
    { "gpus", "how many in all" },
    { "groups", "array of alike GPUs: name, count, per_machine, domain, memory, flops, "
      .. "memory_bandwidth, link, link_latency, nic, nic_latency" },
  },
  ramp = {
    { "compat", "true: as the published simulator has it" },
    { "options", "table of all options, with which berth.ramp makes the same again" },
    { "servers", "how many" },
  },
  ramp_model = {
    { "bytes", "bytes that all dependencies carry, uncut" },
    { "graph", "what it was made of" },
    { "memory", "bytes that all ops hold, forward and backward" },
    { "ramp", "the cluster it is for" },
    { "sequential", "s of one training step on one server" },
  },
  assignment = {
    { "cost", "the priced graph" },
    { "device_features", "columns of e:devices" },
    { "devices", "how many" },
    { "graph", "what is assigned" },
    { "ops", "how many" },
    { "restricted", "true: some op cannot have some device" },
    { "steps", "decisions of an episode" },
    { "topology", "to whose devices" },
  },
  episodes = {
    { "assignment", "what they are episodes of" },
    { "count", "how many, side by side" },
    { "done", "true: all steps are taken" },
    { "step", "steps that are taken" },
  },
  tries = {},
  tree = {},
  analysis = {
    { "base", "base[i]: base group of op i: those that must agree on being split" },
    { "batch", "batch[k]: true: tensor k can be cut along the batch" },
    { "counts", "table: how many there are of each" },
    { "from_input", "from_input[i]: true: op i is an input, or descends from one" },
    { "gradient", "gradient[k]: true: an update reads tensor k, which depends on the batch" },
    { "graph", "what was analysed" },
    { "role", "role[i]: \"compute\", \"input\", \"variable\", \"update\", \"scatter\", "
      .. "\"assign\"" },
    { "unknown", "kinds of ops from input that no rule is for" },
  },
  deploy = {
    { "analysis", "roles and batch rules of the ops" },
    { "batch", "samples in a step" },
    { "cost", "the priced graph" },
    { "graph", "of one step on one device" },
    { "physics", "which rules, prices and simulator hold" },
    { "topology", "on which it is deployed" },
  },
  cluster = {
    { "machines", "how many" },
    { "now", "s: time of the last event" },
    { "n_waiting", "jobs that wait, how many" },
    { "resources", "of a machine, how many" },
    { "slot", "s between slots; 0: there are none" },
  },
  pacml_run = {
    { "beta", "of the present job: share of its sequential time that it may take" },
    { "deadline", "of the present job, s after its arrival" },
    { "done", "true: all jobs are decided about" },
    { "free", "servers that are free, how many" },
    { "job", "number of the present job" },
    { "model", "of the present job, its number" },
    { "now", "s: arrival of the present job" },
    { "running", "jobs that run, how many" },
    { "sequential", "s of the present job on one server" },
    { "servers", "how many" },
  },
  pacml_planner = {
    { "inputs", "of the network, how many" },
    { "weights", "how many" },
  },
  scheduler = {},
  placement = {
    { "bound", "s: placer exact has proved that no schedule is shorter with this memory, without "
      .. "preemption; nil: of others" },
    { "estimate", "s: the placer's own makespan; nil: it made no plan" },
    { "finish", "finish[i], s: planned end of op i; nil without a plan" },
    { "links", "links that the plan is about: \"duplex\" of list placers that were given route or "
      .. "fair; nil without a plan" },
    { "note", "a sentence on ops without times, FLOP and bytes, which take no time; nil: none" },
    { "placer", "name of who made it, or nil" },
    { "start", "start[i], s: planned start of op i; nil without a plan" },
  },
  result = {
    { "bound", "s: no schedule is faster; nil with noise or quantum, which change the times that "
      .. "it is made of" },
    { "bound_name", "which bound that is: \"critical path\", \"work\", \"memory\"; nil without" },
    { "busy", "busy[d], s: how long device d computed" },
    { "collectives", "collectives[k]: { start (s), finish (s), seconds (as priced), bytes (per "
      .. "member), devices, last (member), "
      .. "algorithm } of collective k" },
    { "communication", "s: something was under way, a transfer or a collective; exposed + "
      .. "overlapped" },
    { "cost", "the priced graph that ran" },
    { "device", "device[i]: where op i ran" },
    { "exposed", "s of communication: no device computed" },
    { "finish", "finish[i], s: end of op i" },
    { "gap", "makespan / bound - 1, so 0.1 is 10 %; nil without a bound" },
    { "links", "links[k]: { bytes, busy (s), peak_sharing (most at once) } of link k of the "
      .. "topology" },
    { "makespan", "s: end of the last op or collective; the step time of a training graph" },
    { "memory", "the policy that was accounted for: \"none\", \"inference\", \"training\", "
      .. "\"total\"" },
    { "oom", "nil: memory held; else { op, device, time (s), shortfall (bytes) }: where it ran out "
      .. "first" },
    { "options", "what it ran with, defaults filled in: { links, dispatch, send, memory, ... }" },
    { "overlap", "overlap[d]: { communication, exposed, overlapped } (s): of what came to device "
      .. "d, while it idled, computed" },
    { "overlapped", "s of communication: some device computed" },
    { "peak_memory", "peak_memory[d], bytes: most that device d held" },
    { "peak_time", "peak_time[d], s: when that was" },
    { "start", "start[i], s: start of op i" },
    { "transfers", "array of { tensor, from, to, start (s), finish (s) }, by start" },
  },
  plan = {
    { "cost", "the priced graph that is being placed" },
    { "now", "s: the plan's present time; 0 unless ready = \"finished\"" },
  },
  rng = {},
  executor = {
    { "byte_scale", "bytes of a tensor here for a byte of the graph" },
    { "cost", "the priced graph that it runs" },
    { "scale", "real s for a s of the cost: ex.scale * makespan of the simulator is what a run "
      .. "should take" },
    { "simulation", "options of berth.simulate for the same links and dispatch" },
    { "threads", "how many, devices and copies" },
  },
  execution = {
    { "busy", "busy[d], s: from start to finish of the ops on device d" },
    { "checked", "were results compared with those of a run on one thread?" },
    { "checksums", "checksums[i]: of what op i made, 16 hex digits; empty if not checked" },
    { "cost", "the priced graph that was run" },
    { "device", "device[i]: where op i ran" },
    { "finish", "finish[i], s after the begin of the run" },
    { "makespan", "s: until the last op ended; of several runs the median" },
    { "start", "start[i], s after the begin of the run: when the device was given op i" },
    { "times", "makespans of all runs, s, in order" },
    { "transfers", "transfers[k]: { tensor, from, to, start (s), finish (s) }, by start" },
    { "turns", "turns[i]: { ready, start, finish }: in which decisions, numbered in order, op i "
      .. "was ready, started, ended" },
    { "wrong", "the first op whose result, or copy of it, is not that of the run on one thread; "
      .. "nil: all are right" },
  },
}
