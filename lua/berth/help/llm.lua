--- Texts about berth.llm (docs/llm.md), in the form of topics.lua, which adds them to its list.
return {
  { "llm.model", [[m = berth.llm.model("config.json")]],
    [[A language model from a config.json, or by hand from a table of shapes: its layers by kind,
with the shape of each weight. nil, message, "unsupported": a field that changes shapes is not
understood. docs/llm.md lists the fields and shapes.]],
    "m = berth.llm.model { layers = 32, hidden = 4096, heads = 32, vocab = 32000 }" },
  { "llm.cluster", [[c = berth.llm.cluster("64xH100")]],
    [[GPUs in machines, by their data sheets: "64xH100", "2x8xA100-80GB" (machines of 8),
"8xA100+8xH100", a table of options, or a topology.]],
    [[c = berth.llm.cluster { gpu = "H100", gpus = 64, nic = "200 Gbit/s" }]] },
  { "llm_cluster:topology", "t = c:topology()",
    "The cluster as a topology: a switch in each machine, one between the machines." },
}
