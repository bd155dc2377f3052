--- Texts about berth.llm (docs/llm.md), in the form of topics.lua, which adds them to its list.
return {
  { "llm.model", [[m = berth.llm.model("config.json")]],
    [[A language model from a config.json, or by hand from a table of shapes: its layers by kind,
with the shape of each weight. nil, message, "unsupported": a field that changes shapes is not
understood. docs/llm.md lists the fields and shapes.]],
    "m = berth.llm.model { layers = 32, hidden = 4096, heads = 32, vocab = 32000 }" },
}
