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
  { "llm.plan", [[p = berth.llm.plan(model, "64xH100", { tp = 8, pp = 4 })]],
    [[A plan of training with all options, those not given filled by what a practitioner would
choose; p.filled has their names. Raises with the numbers for what does not fit together. model and
cluster may be objects, or what berth.llm.model and berth.llm.cluster take.]],
    [[p = berth.llm.plan("config.json", "64xH100", { tp = 8, pp = 4 })]] },
  { "llm.memory", [[r = berth.llm.memory(model, "64xH100", { tp = 8, pp = 4 })]],
    [[Bytes of a GPU by pipeline stage: r[s] has layers, in_flight, weights, gradients, optimizer,
activations, working, logits, buffers, runtime, total, limit; r.worst is a stage, r.fits whether all
fit, r.plan the plan. docs/llm.md says what each number means.]],
    [[print(berth.llm.memory("config.json", "64xH100", { tp = 8, pp = 4, seq = 8192 }))]] },
  { "llm.layer_memory", "stored, all = berth.llm.layer_memory(m, c, plan, kind)",
    [[Bytes of activations of a layer of m.kinds[kind] for one micro-batch on a GPU: stored from the
forward to the backward pass, and all at once.]] },
  { "llm.launch", [[l = berth.llm.launch("train.sh")]],
    [[What a framework is launched with: flags of Megatron-LM, as a text or in a shell script,
torchtitan's TOML, DeepSpeed's JSON, accelerate's JSON for FSDP. nil, message with file, line, flag,
value and reason. docs/launch.md says what is understood.]],
    [[plan = berth.llm.launch("train.sh"):plan({ tp = 4 }, 64)]] },
  { "llm_launch:plan", "plan, from = l:plan(opts, gpus, layers)",
    [[Options of berth.llm.plan: those of opts, then what the file says, then what its framework
does without the setting; the rest is open. from[key] says where each that is not of opts comes
from. gpus and layers are those of cluster and model, as far as the file does not have them. nil,
message for settings that contradict one another.]] },
  { "llm_launch:model", "m = l:model()",
    "The model of the file; nil, l.no_model where the file does not have all shapes." },
  { "llm.export", [[e = berth.llm.export(model, "64xH100", plan, "megatron")]],
    [[The file that launches a plan: e.text, e.notes (what the file does not have), e:save(path).
Formats: berth.llm.formats. nil, message: what the framework does not have.]],
    [[print(berth.llm.export("config.json", "64xH100", { tp = 8, pp = 4 }, "torchtitan"))]] },
  { "llm.formats", "list = berth.llm.formats()",
    "Kinds of launch files: array of { name, title, text, reads, writes }." },
}
