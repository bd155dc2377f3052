-- Each JSON document that berth writes, and each object in it, has the fields and number that
-- docs/json.md says.
local berth = require "berth"
local json = require "dkjson"
local schema = require "berth.base.schema"
local shell = require "support.shell"
local small = require "support.small_jobs"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local GRAPH, TOPOLOGY = "model:resnet18,batch=4,granularity=layer",
  "mesh:2,preset=V100,bandwidth=10GB/s,latency=5us"

local function words(text)
  local out = {}
  for word in text:gmatch "%S+" do out[#out + 1] = word end
  return out
end

-- The items of the lists of the page, each on one line.
local function items()
  local text = ("\n" .. shell.read("docs/json.md")):gsub("\n  ", " ")
  return text:gmatch "\n(%- [^\n]+)"
end

-- Items of the page by document: number, always and sometimes (sets of fields).
local function page()
  local out = {}
  for item in items() do
    local name, number, fields = item:match "^%- `([^`]+)` %(schema (%d+)%): (.*)$"
    if name then
      local row = { schema = tonumber(number), always = {}, sometimes = {} }
      local always, sometimes = fields:match "^(.-); only sometimes: (.*)$"
      always, sometimes = always or fields, sometimes or ""
      for field in always:gmatch "`([%w_]+)`" do row.always[field] = true end
      for field in sometimes:gmatch "`([%w_]+)`" do row.sometimes[field] = true end
      out[name] = row
    end
  end
  return out
end

-- Fields of the objects in documents: by document and "field" or "field[]", a set.
local function inner()
  local out = {}
  for line in items() do
    local object, names, fields = line:match "^%- `([%w_]+%[?%]?)` of (`[^:]+`): (.*)$"
    for name in (names or ""):gmatch "`([^`]+)`" do
      local row = { line = line, fields = {} }
      for field in fields:gmatch "`([%w_]+)`" do row.fields[field] = true end
      out[name .. ": " .. object] = row
    end
  end
  return out
end

-- Their fields have names that the user gave, or are those of options.
local OPEN = { options = true, parameters = true, result = true }

-- Objects below a field of a document, and what docs/json.md calls them.
local function objects_at(field, x)
  if type(x) ~= "table" or x == json.null or OPEN[field] and #x == 0 then return {} end
  if getmetatable(x).__jsontype == "object" then return { x }, field end
  local out = {}
  for _, item in ipairs(x) do
    if type(item) == "table" and getmetatable(item).__jsontype == "object" then
      out[#out + 1] = item
    end
  end
  return out, field .. "[]"
end

-- By document: command lines, of which the first one has no field but those that are always there.
local function commands(files)
  local pdors = "cluster pdors --policy fifo --jobs 4 --machines 3 --slots 9 --json"
  local pacml = ("cluster pacml %s --jobs 5 --interarrival 900s --json"):format(files.profile)
  return {
    place = { { "place", GRAPH, TOPOLOGY, "--placer", "heft", "--json" },
      { "place", GRAPH, TOPOLOGY, "--rows", "--members", "heft,single", "--json" },
      { "place", GRAPH, TOPOLOGY, "--placer", "exact", "--nodes", "5", "--json" } },
    simulate = { { "simulate", GRAPH, TOPOLOGY, "--placement", "single:1", "--json" },
      { "simulate", GRAPH, TOPOLOGY, "--placement", "single:1", "--critical", "2", "--json" },
      { "simulate", files.graph, "mesh:1,memory=1MB", "--placement", "single:1", "--memory",
        "inference", "--json" } },
    compare = { { "compare", GRAPH, TOPOLOGY, "--placers", "heft,single", "--json" } },
    repair = { { "repair", GRAPH, TOPOLOGY, "--placement", "single:1", "--json" } },
    bounds = { { "bounds", GRAPH, TOPOLOGY, "--json" } },
    ["bounds --split"] = { { "bounds", GRAPH, TOPOLOGY, "--split", "--calls", "3", "--json" } },
    check = { { "check", GRAPH, "--json" } },
    split = { { "split", GRAPH, TOPOLOGY, "--json" } },
    schedule = { words "schedule zb-h1 --stages 2 --microbatches 4 --json",
      words "schedule --compare --stages 2 --microbatches 4 --json" },
    deploy = { words "deploy tag:bert_small,batch=6 tag:sfb_trio --calls 9 --reasons 0 --json" },
    ["llm model"] = { words(("llm model %s --json"):format(files.config)) },
    ["llm memory"] = { words(("llm memory %s --gpus 8xA100 --tp 2 --pp 2 --stages 1,1 --json")
      :format(files.config)),
      words(("llm memory --launch %s --gpus 8xA100 --stages 2 --json"):format(files.launch)) },
    ["llm estimate"] = { words(("llm estimate %s --gpus 8xA100 --tp 2 --pp 2 --stages 1,1 --json")
      :format(files.config)),
      words(("llm estimate %s --gpus 8xA100 --stages 2 --measured 1s --json"):format(files.config)),
      words(("llm estimate --launch %s --gpus 8xA100 --stages 2 --json"):format(files.launch)) },
    ["llm plan"] = {
      words(("llm plan %s --gpus 1xT4 --batch 8 --runtime 15GiB --json"):format(files.config)),
      words(("llm plan %s --gpus 8xA100 --batch 8 --seq 64 --time 1us --json"):format(files.config)),
      words(("llm plan %s --gpus 8xA100 --batch 8 --seq 64 --price 2 --json")
        :format(files.config)) },
    ["llm export"] = { words(("llm export --launch %s --gpus 8xA100 --format fsdp --json")
      :format(files.launch)), words(("llm export --launch %s --gpus 8xA100 --format fsdp --json "
      .. "--output %s"):format(files.launch, files.exported)) },
    models = { words "models --json" },
    placers = { words "placers --json", words "placers m-sct --json" },
    ["models NAME"] = { words "models vgg16 --json" },
    train = { { "train", "gdp", GRAPH, "--topology", TOPOLOGY, "--stages", "II:2", "--batch", "2",
      "--save", files.agent,
      "--json" } },
    ["train pacml"] =
      { words(("train pacml %s --jobs 5 --interarrival 900s --algorithm ppo --steps 8 "
      .. "--set fragment=2,actors=2,passes=1 --evaluate 2 --save %s --json"):format(files.profile,
        files.agent)) },
    ["train tag"] =
      { words((
      "train tag --size tiny --games 1 --set calls=20,states=1,groups=2,passes=1,op_groups=6,"
        .. "nodes=8,"
      .. "edges=4,layers=1 --save %s --json"):format(files.agent)) },
    cluster = { { "cluster", files.trace, "--gpus", "2", "--json" } },
    ["cluster pacml"] = { words(pacml) },
    ["cluster pacml, several runs"] = { words(pacml .. " --seeds 2") },
    ["cluster pdors"] = { words(pdors) },
    ["cluster pdors, several runs"] = { words(pdors .. " --seeds 2") },
    refusal = { { "place", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placer", "single",
      "--json" } },
  }
end

-- By document: what writes a file of it, and gives how many of its lines are such documents (nil:
-- one).
local written = {
  ["pdors problem"] = function(path)
    assert(berth.pdors.problem(berth.pdors.generate { jobs = 2, machines = 2,
      slots = 4 }):save(path))
  end,
  ["experiment line"] = function(path)
    local function run(trial)
      return trial.seed == 1 and { y = 1 } or nil, "no luck", "infeasible"
    end
    assert(berth.experiment { name = "x", run = run, seeds = 2, path = path })
    return 2
  end,
  ["records of a cluster"] = function(path)
    assert(berth.cluster.simulate({ { arrival = 0, work = 5, gpus = 1 } }, { machines = 1 },
      "fifo"):save_jsonl(path))
  end,
  ["schedule file"] = function(path)
    assert(berth.schedule.make("1f1b", { stages = 2, microbatches = 2 }):save(path,
      { format = "json" }))
  end,
  ["records of pacml"] = function(path, files)
    assert.equal(0, (shell.run("cluster", "pacml", files.profile, "--jobs", "5", "--jsonl", path)))
  end,
}

describe("JSON documents", function()
  local rows, objects, files, checked, noted = page(), inner(), {}, {}, {}

  setup(function()
    files.profile = shell.file("-a.txt", small.profile(100, 300))
    files.trace = shell.file(".csv",
      "job_id,submit_s,duration_s,num_gpus,vc\na,0,5,1,x\nb,1,5,2,x\n")
    files.config = shell.file(".json", '{"model_type":"llama","hidden_size":64,"vocab_size":100,'
      .. '"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":128,"sliding_window":8}')
    files.launch = shell.file(".txt", "--bf16 --num-layers 2 --hidden-size 64 --vocab-size 100\n"
      .. "--num-attention-heads 4 --swiglu --use-megatron-fsdp --recompute-modules mlp\n"
      .. "--data-parallel-sharding-strategy optim_grads_params\n")
    files.exported = shell.path ".json"
    files.agent, files.graph = shell.path ".agent", shell.path ".json"
    assert(berth.graph { ops = { { seconds = 1, params = 1e9 }, { seconds = 1 } },
      collectives = { { kind = "allreduce", bytes = 8, members = { 1, 2 } } } }:save(files.graph))
  end)

  teardown(function() shell.tidy() end)

  local function compare_objects(name, found)
    for field, x in pairs(found) do
      local list, path = objects_at(field, x)
      for i, object in ipairs(list) do
        local where, fields = name .. ": " .. path, {}
        for key in pairs(object) do fields[key] = true end
        local row = objects[where] or { fields = {} }
        assert.same(row.fields, fields, ("%s, %d"):format(where, i))
        noted[row.line] = true
      end
    end
  end

  -- All fields that are always there, and which ones besides are noted in `seen`.
  local function compare(name, text, seen)
    local row, found = assert(rows[name], name .. " is not in docs/json.md"),
      assert(json.decode(text, 1, json.null))
    assert.equal(schema.numbers[name], found.schema, name)
    assert.equal(row.schema, found.schema, name)
    for field in pairs(row.always) do
      assert.is_not_nil(found[field], ("%s: no %s"):format(name, field))
    end
    for field in pairs(found) do
      assert.is_true(row.always[field] or row.sometimes[field] or false,
        ("%s: %s is not in docs/json.md"):format(name, field))
      if row.sometimes[field] then seen[field] = true end
    end
    if name ~= "pdors problem" then compare_objects(name, found) end -- docs/pdors.md
    checked[name] = true
  end

  it("that commands print have the fields of docs/json.md", function()
    for name, lines in pairs(commands(files)) do
      local seen = {}
      for _, line in ipairs(lines) do
        local _, out, err = shell.run(unpack(line))
        compare(name, out ~= "" and out or error(name .. ": " .. err), seen)
      end
      assert.same(rows[name].sometimes, seen, name)
    end
  end)

  it("that are files have the fields of docs/json.md", function()
    for name, save in pairs(written) do
      local path, seen = shell.path ".jsonl", {}
      os.remove(path)
      local n = save(path, files) or 1
      for line in shell.read(path):gmatch "[^\n]+" do
        if n > 0 then compare(name, line, seen) end
        n = n - 1
      end
      assert.is_true(n <= 0, name)
      assert.same(rows[name].sometimes, seen, name)
    end
  end)

  it("are all there, and no others", function()
    for name in pairs(schema.numbers) do assert.is_true(checked[name], name) end
    for name in pairs(rows) do assert.is_not_nil(schema.numbers[name], name) end
    for where, row in pairs(objects) do assert.is_true(noted[row.line] or false, where) end
  end)
end)
