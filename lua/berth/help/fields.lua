--- Fields of the library's objects, for completion and help; methods are in topics.lua.
return {
  graph = { "name", "n_collectives", "n_edges", "n_groups", "n_ops", "n_tensors", "types" },
  topology = { "n_devices", "n_links", "n_nodes", "name" },
  cost = { "graph", "model", "topology" },
  placement = { "estimate", "finish", "placer", "start" },
  result = { "bound", "bound_name", "busy", "cost", "device", "finish", "gap", "links", "makespan", "oom", "peak_memory",
    "peak_time", "start", "transfers" },
  plan = { "cost", "now" },
  rng = {},
}
