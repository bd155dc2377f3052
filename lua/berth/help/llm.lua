--- Texts about berth.llm (docs/llm.md), in the form of topics.lua, which adds them to its list.
return {
  { "llm.model", [[m = berth.llm.model("config.json")]],
    [[A language model from a config.json, or by hand from a table of shapes: its layers by kind,
with the shape of each weight; or that of a graph of berth.models.llama or bert. nil, message,
"unsupported": a field that changes shapes is not understood. docs/llm.md lists the fields and
shapes.]],
    "m = berth.llm.model { layers = 32, hidden = 4096, heads = 32, vocab = 32000 }" },
  { "llm.cluster", [[c = berth.llm.cluster("64xH100")]],
    [[GPUs in machines, by their data sheets: "64xH100", "2x8xA100-80GB" (machines of 8),
"8xA100+8xH100", a table of options, or a topology.]],
    [[c = berth.llm.cluster { gpu = "H100", gpus = 64, nic = "200 Gbit/s" }]] },
  { "llm_cluster:topology", "t = c:topology()",
    "The cluster as a topology: a switch in each machine, one between the machines." },
  { "llm.plan", [[r = berth.llm.plan(model, "64xH100", { global_batch = 1024, seq = 8192 })]],
    [[The fastest plan that fits, by search over all splits that the options leave open: r.best is
its estimate, r.others slower splits with the reason of each, r.kinds the best of each kind, r.front
step against memory, r.bound what no plan is faster than; nothing fits: r.fits is false, r.least has
the least memory. Parts of a plan are fixed (tp = 8) or limited (tp = { 4, 8 }).]],
    [[r = berth.llm.plan("config.json", "64xH100", { global_batch = 1024, tp = 8 })]] },
  { "llm.changes", "list = berth.llm.changes(r)",
    [[What to change next: the step of the best plan with twice the network or links, and of the
best plan with twice the memory; each has text, step, change.]],
    [[for _, x in ipairs(berth.llm.changes(r)) do print(x.text, x.change) end]] },
  { "llm.hint", "h = berth.llm.hint(result)",
    [[Whether a plan of training is far faster (at most 0.7 of the step) than a placement of the
same model: h.text, h.command (of the shell), h.plan, h.step, h.ratio, h.answer; else nil. Of a
result, or of a cost and the step of a placement (nil: none fits). berth.place's p.hint is this.
Only graphs of berth.models.llama and bert that train in bf16 or fp16 have one.]],
    [[print(berth.llm.hint(berth.simulate(g, t, berth.place(g, t))))]] },
  { "llm.fill", [[p = berth.llm.fill(model, "64xH100", { tp = 8, pp = 4 })]],
    [[A plan of training with all options, those not given filled by what a practitioner would
choose; p.filled has their names. Raises with the numbers for what does not fit together. model and
cluster may be objects, or what berth.llm.model and berth.llm.cluster take.]],
    [[p = berth.llm.fill("config.json", "64xH100", { tp = 8, pp = 4 })]] },
  { "llm.memory", [[r = berth.llm.memory(model, "64xH100", { tp = 8, pp = 4 })]],
    [[Bytes of a GPU by pipeline stage: r[s] has layers, in_flight, weights, gradients, optimizer,
activations, working, logits, buffers, runtime, total, limit; r.worst is a stage, r.fits whether all
fit, r.plan the plan. docs/llm.md says what each number means.]],
    [[print(berth.llm.memory("config.json", "64xH100", { tp = 8, pp = 4, seq = 8192 }))]] },
  { "llm.estimate", [[e = berth.llm.estimate(model, "64xH100", { tp = 8, pp = 4 })]],
    [[The time of a step, s: e.step, e.low, e.high, e.tokens_per_second, e.mfu, e.hfu; e.time has s
by kind of the stage with most work, e.exposed and e.hidden communication; e.memory, e.plan,
e.kernels, e.factors; e.rows, e.error, e.worst say what the factors were fitted to. A fourth
argument has options: form, and factors of the user's own. docs/llm.md says what each number
means.]],
    [[print(berth.llm.estimate("config.json", "64xH100", { tp = 8, pp = 4, seq = 8192 }))]] },
  { "llm.explain", [[x = berth.llm.explain(e, "12.3 s")]],
    [[Which term most likely explains that a step was measured to take another time than estimated:
x[1] is the likeliest cause, with term, text, check, step, score, and change (a factor) or value (of
an option of the plan); x.within: the measured step is within the range.]],
    [[print(berth.llm.explain(e, 12.3))]] },
  { "llm.calibrate", "factors = berth.llm.calibrate(rows)",
    [[Factors that fit measured steps of one framework: rows are { model =, cluster =, plan =,
measured = s }; the answer is for { factors = factors } of berth.llm.estimate, and has error,
left_out, low, high.]] },
  { "llm.simulate", [[r = berth.llm.simulate(model, "64xH100", { tp = 8, pp = 4 })]],
    [[The step on the event loop, a result whose devices are one GPU of each stage: its makespan is
the estimated step.]],
    [[berth.llm.simulate("config.json", "64xH100", { tp = 8 }):save_trace("step.json")]] },
  { "llm.report", [[berth.llm.report("step.html", e, { measured = "12.3 s" })]],
    [[A page about an estimate, or about what berth.llm.plan returns: time by kind, pipeline, memory
by stage and kind, how it was made; of a search also why other plans are slower, step against
memory, what to change next, and the launch script.]],
    [[assert(berth.llm.report("step.html", e))]] },
  { "llm.layer_memory", "stored, all = berth.llm.layer_memory(m, c, plan, kind)",
    [[Bytes of activations of a layer of m.kinds[kind] for one micro-batch on a GPU: stored from the
forward to the backward pass, and all at once.]] },
  { "llm.launch", [[l = berth.llm.launch("train.sh")]],
    [[What a framework is launched with: flags of Megatron-LM, as a text or in a shell script,
torchtitan's TOML, DeepSpeed's JSON, accelerate's JSON for FSDP. nil, message with file, line, flag,
value and reason. docs/launch.md says what is understood.]],
    [[plan = berth.llm.launch("train.sh"):plan({ tp = 4 }, 64)]] },
  { "llm_launch:plan", "plan, from = l:plan(opts, gpus, layers)",
    [[Options of berth.llm.fill: those of opts, then what the file says, then what its framework
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
