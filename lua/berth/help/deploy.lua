--- Texts about berth.deploy, in the form of topics.lua, which takes them in.
return {
  { "deploy", "deploy = berth.deploy",
    "Deployment of training graphs: sufficient factor broadcasting. docs/deploy.md. sfb, sfb_measure, tag_lines, batch_time." },
  { "deploy.sfb", [[a = berth.deploy.sfb { ops =, tensors =, gradients =, replicas =, bandwidth =, cost = "per-device" }]],
    [[Ops that every replica repeats for the full batch, so that their gradients need no AllReduce: a minimum cut. ops: { seconds,
replicas, bandwidth, barred }; tensors: { from, to = { ops }, bytes }, of the full batch; gradients: { op, bytes, seconds };
cost: "per-device" or "compat" (as published); per_op. a.duplicated, a.gathered, a.removed: ids of ops, tensors,
gradients; a.work, a.gather, a.sync, a.total in s.]],
    [[berth.deploy.sfb { ops = { { seconds = "40 us" } }, gradients = { { op = 1, bytes = "4 MiB" } }, replicas = 2 }]] },
  { "deploy.sfb_measure", "a = berth.deploy.sfb_measure(problem, ops)", "The same for given duplicated ops.",
    [[berth.deploy.sfb_measure({ ops = { { seconds = 1 } }, replicas = 2 }, { 1 })]] },
  { "deploy.tag_lines", [[lines = berth.deploy.tag_lines("2.81 GB/s")]],
    "TAG's four numbers of AllReduce times, scaled to the bandwidth of the slowest pair: collective_lines of a cost.",
    [[berth.deploy.tag_lines("5 GB/s")]] },
  { "deploy.batch_time", "s = berth.deploy.batch_time(batches, seconds, batch, { whole_us = false })",
    "Time at a batch size that was not profiled: the line through the two around it, or the nearest two; at least 0.",
    "berth.deploy.batch_time({ 60, 120 }, { 1e-3, 1.5e-3 }, 90)" },
}
