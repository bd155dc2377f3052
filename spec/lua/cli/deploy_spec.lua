-- berth deploy: within this process, and as a process of its own.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"

local ran, read, path_of = shell.ran, shell.read, shell.path

local GRAPH, CLUSTER = "tag:bert_small,batch=6", "tag:sfb_trio"

local function run(...) return shell.run("deploy", ...) end
local function small(...) return run(GRAPH, CLUSTER, "--calls", "40", "--reasons", "10", ...) end

describe("berth deploy", function()
  teardown(function() shell.tidy() end)

  it("prints the answer: a line, op groups, baselines, memory", function()
    local exit, out, err = small("--rows", "3")
    assert.same({ 0, "" }, { exit, err })
    assert.matches(
      "^plan: 201 ops on 3 devices, batch 6, physical: step time %S+ %S+; "
      .. "%d+%.%d+ x DP%-NCCL", out)
    assert.matches("\ngroup  what +time +gradients  where +how +why\n +1  ", out)
    assert.matches("\nand %d+ lighter ones\n", out)
    assert.matches("\nbaseline +step time +x\n", out)
    assert.matches("\ndevice +peak memory +limit +part\nd0 ", out)
    local _, none = small("--rows", "0")
    assert.is_nil(none:find("\ngroup  what"))
  end)

  it("decides what the library decides", function()
    local exit, out = small("--seed", "3", "--method", "anneal", "--even", "--sfb", "none",
      "--op-groups", "8", "--json")
    local found = json.decode(out)
    local g = berth.deploy.models.build("bert_small", { batch = 6 })
    local a = assert(berth.deploy.plan(g, berth.deploy.clusters.sfb_trio(),
      { batch = 6, calls = 40, reasons = 10, seed = 3,
      method = "anneal", uneven = false, sfb = "none", op_groups = 8 }))
    assert.equal(0, exit)
    assert.equal(a.seconds, found.step_s)
    assert.equal(#a.groups, #found.groups)
    for i, group in ipairs(a.groups) do
      assert.same(group.devices, found.groups[i].devices)
      assert.equal(group.option, found.groups[i].option)
    end
  end)

  it("has the batch of the model by default", function()
    local function batch(graph, ...)
      local exit, out, err = run(graph, "mesh:2,preset=V100", "--calls", "1", "--reasons", "0",
        "--rows", "0", "--op-groups", "4", ...)
      assert.equal(0, exit, err)
      return out:match ", batch (%d+),"
    end
    assert.equal("32", batch "model:vgg11")
    assert.equal("8", batch "model:vgg11,batch=8")
    assert.equal("4", batch("model:vgg11", "--batch", "4"))
    assert.equal("120", batch "tag:vgg19")
  end)

  it("takes sets of devices and other batch sizes", function()
    local out = ran(small("--sets", "1/2-3/1,2", "--json"))
    for _, g in ipairs(json.decode(out).groups) do assert.is_true(#g.devices < 3) end
    out = ran(small("--device-groups", "1-3", "--json"))
    assert.same({ 1, 1, 1 }, json.decode(out).options.device_groups)
    out = ran(small("--points", "3,1", "--json"))
    assert.same({ 3, 1 }, json.decode(out).options.points)
  end)

  it("takes devices by number and by name, as tables print them", function()
    local sets = require "berth.cli.device_sets"
    local plain = berth.topology.mesh(5)
    local function named(...)
      local devices = {}
      for i, name in ipairs { ... } do devices[i] = { name = name } end
      return assert(berth.topology { devices = devices, links = {} })
    end
    assert.same({ { 1, 2, 3, 4 }, { 5 } }, sets("sets", "1-4/5", plain))
    assert.same({ { 1, 2, 3, 4 }, { 5, 1 } }, sets("sets", " d0-d3 / d4 , 1", plain))
    assert.same({ { 1 }, { 2, 1 } },
      sets("sets", "m0/gpu-1/m0/gpu-2,m0/gpu-1", named("m0/gpu-1", "m0/gpu-2")))
    assert.same({ { 2, 3 }, { 1, 2, 3 } }, sets("sets", "a-b-c/a-c", named("a", "a-b", "c")))
    assert.same({ { 3 }, { 1, 2 } }, sets("sets", "0/2-1", named("2", "1", "0")))
    local _, out = small("--sets", "d0/d1-d2", "--json")
    local _, same = small("--sets", "1/2-3", "--json")
    assert.equal(same, out)
    assert.matches("Devices are numbers from\n1, or names as tables print them",
      select(2, run "--help"))
  end)

  it("writes plan, compiled graph, placement, timeline and page", function()
    local plan, graph, placement = path_of ".json", path_of ".json", path_of ".json"
    local trace, page = path_of ".json", path_of ".html"
    local out = ran(small("--out", plan, "--compiled", graph, "--placement", placement, "--trace",
      trace, "--report", page))
    local saved = json.decode(read(plan))
    assert.equal("berth deploy plan", saved.format)
    local g, p = assert(berth.load(graph)), assert(berth.load_placement(placement))
    assert.equal(#g, #p)
    assert.is_true(#json.decode(read(trace)).traceEvents > #g)
    assert.truthy(read(page):find('<section id="groups">', 1, true))
    local _, step = shell.run("simulate", graph, CLUSTER, "--placement", placement, "--links",
      "route", "--dispatch", "planned", "--collective-algorithm", "auto", "--json")
    assert.near(saved.step_s, json.decode(step).makespan_s, 1e-9)
    local again, text = run(GRAPH, CLUSTER, "--plan", plan, "--rows", "0")
    assert.equal(0, again)
    assert.equal(out:match "^[^\n]+", text:match "^[^\n]+")
  end)

  it("judges a plan again, at the prices that are given", function()
    local plan = path_of ".json"
    assert.equal(0, (small("--out", plan, "--rows", "0", "--collective-bandwidth", "1")))
    local function seconds(...)
      local out = ran(run(GRAPH, CLUSTER, "--plan", plan, "--json", ...))
      return json.decode(out).step_s
    end
    assert.equal(json.decode(read(plan)).step_s, seconds())
    local x = json.decode(read(plan))
    local _, slower = run(GRAPH, CLUSTER, "--plan", plan, "--json", "--transfer-factor", "3")
    local rows = json.decode(slower).baselines
    for i, before in ipairs(x.baselines) do
      if before.name == "dp-ps" then assert.is_true(rows[i].step_s > before.step_s) end
    end
    local exit, _, err = run(GRAPH, CLUSTER, "--plan", plan, "--op-factor", "3")
    assert.equal(2, exit)
    assert.matches("%-%-op%-factor: the op groups of %-%-plan", err)
    exit, _, err = run("tag:bert_small,batch=12", CLUSTER, "--plan", plan)
    assert.equal(2, exit)
    assert.matches("batch: the plan is for a batch of 6, this is 12", err)
  end)

  it("is what agents of kind tag are for", function()
    local file = path_of ".agent"
    assert(berth.agents.tag({ size = "tiny", seed = 1 }):save(file))
    local exit, _, err = shell.run("place", GRAPH, CLUSTER, "--placer", "agent:" .. file)
    assert.equal(2, exit)
    local ok, message = pcall(berth.place, assert(berth.graph { ops = { { seconds = 1 } } }),
      berth.topology.mesh(2), berth.agents.tag { size = "tiny", seed = 1 })
    assert.is_false(ok)
    assert.matches("berth.place: placer: an agent of kind tag decides for op groups", message)
    assert.matches(
      "of kind tag: it decides for the op groups of a deployment, berth deploy %-%-prior agent:",
      err)
  end)

  it("ends with 1 where nothing fits, and says what stops it", function()
    local exit, out, err = run(GRAPH, "mesh:2,preset=V100,memory=100MB", "--calls", "40", "--json")
    assert.equal(1, exit)
    assert.matches('^berth: nothing fits: parameters of op 2 "embeddings.word" and its colocation '
      .. "group need %S+ GB, no device that can run it has more than 100 MB: %S+ GB are missing$", err)
    local found = json.decode(out)
    assert.equal("infeasible", found.code)
    assert.is_true(found.missing_bytes > 0 and found.device >= 1)
  end)

  it("ends with 2, and says what is wrong", function()
    local none = path_of ".json"
    for _, case in ipairs {
      { { "model:random", CLUSTER }, "deploy: %-%-batch is needed: samples in a step of "
        .. "model:random" },
      { { "model:nothing", CLUSTER }, 'no model "nothing"' },
      { { GRAPH, CLUSTER, "--batch", "7" },
        "%-%-batch 7: tag:bert_small,batch=6 is made for 6 samples" },
      { { "tag:bert_tiny", CLUSTER }, 'no model "bert_tiny" %(legal: .*bert_small' },
      { { GRAPH, "tag:moon" }, 'no cluster moon %(legal: ' },
      { { GRAPH, CLUSTER, "--sets", "1-9" },
        '%-%-sets: "1%-9" is no device and no range of devices %(d0 to d2, or 1 to 3%)' },
      { { GRAPH, CLUSTER, "--sets", "d0-d1/d7" },
        '%-%-sets: "d7" is no device and no range of devices' },
      { { GRAPH, CLUSTER, "--sets", "d2-d0" },
        '%-%-sets: "d2%-d0" is no device and no range of devices' },
      { { GRAPH, CLUSTER, "--sets", "1-2-3" }, '%-%-sets: "1%-2%-3" is no device' },
      { { GRAPH, CLUSTER, "--sets", "d0-d1,2" }, "%-%-sets: device d1 is twice in a set" },
      { { GRAPH, CLUSTER, "--sets", "1,/2" }, '%-%-sets: "1,/2" has an empty entry' },
      { { GRAPH, CLUSTER, "--device-groups", "1/1-3" },
        "%-%-device%-groups: device d0 is in two groups" },
      { { GRAPH, CLUSTER, "--device-groups", "1" }, "%-%-device%-groups: device d1 is in none" },
      { { GRAPH, CLUSTER, "--points", "x" }, '%-%-points: N or N=GRAPH is needed, not "x"' },
      { { GRAPH, CLUSTER, "--prior", "best" },
        '%-%-prior: no "best" %(legal: local, uniform, trained, agent:FILE%)' },
      { { GRAPH, CLUSTER, "--method", "magic" }, '%-%-method: no "magic" %(legal: mcts, tree' },
      { { GRAPH, CLUSTER, "--seconds", "3" }, '"3" has no unit' },
      { { GRAPH, CLUSTER, "--plan", none }, none:gsub("%p", "%%%0") },
      { { GRAPH, CLUSTER, "--plan", none, "--seed", "1" },
        "%-%-seed: %-%-plan %S+ decides already" },
    } do
      table.insert(case[1], 1, "deploy")
      local exit, out, err = shell.run_all(case[1])
      assert.same({ 2, "" }, { exit, out })
      assert.matches(case[2], err)
    end
  end)

  it("reports its options with units", function()
    local exit, out = run "--help"
    assert.equal(0, exit)
    for _, name in ipairs { "batch", "physics", "method", "seconds TIME", "out FILE", "report FILE",
      "plan FILE",
      "collective-bandwidth X" } do
      assert.truthy(out:find("--" .. name, 1, true), name)
    end
    assert.matches("default: the batch of the model", out)
  end)
end)

-- ---- processes ------------------------------------------------------------

local function is_there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local WORDS = "deploy tag:bert_small,batch=6 tag:sfb_trio --calls 40 --reasons 10 "

describe("berth deploy as a process", function()
  local try = shell.try(it, pending)

  try("passes exit codes on", function()
    local lua = os.getenv "BERTH_LUA" or ""
    assert.equal(0, (shell.process(lua, WORDS)))
    assert.equal(1, (shell.process(lua,
      "deploy tag:bert_small,batch=6 mesh:2,preset=V100,memory=100MB --calls 20")))
    assert.equal(2, (shell.process(lua, "deploy tag:bert_small")))
  end)

  try("prints the same bytes under both interpreters", function()
    if not (is_there(shell.build .. "/lua54/berth/core.so")
      and is_there(shell.build .. "/lua51/berth/core.so")) then
      return pending "only one of the two modules is built"
    end
    local exit, first = shell.process("lua5.4", WORDS .. "--json")
    if exit == 127 then return pending "no lua5.4" end
    local _, second = shell.process("luajit", WORDS .. "--json")
    assert.equal(0, exit)
    assert.is_true(first == second, second:sub(1, 200))
  end)

  try("keeps the best that it has when it is interrupted", function()
    local default = "env --default-signal=INT "
    local busy =
      " & . spec/support/until_busy.sh; until_busy $! 100; kill -INT $!; wait $!; echo exit $?"
    local words = "deploy tag:bert_small,batch=6 tag:sfb_trio --calls 100000000 --rows 0"
    local script = ("BERTH_BUILD=%s BERTH_LUA=%s scripts/berth %s 2>&1"):format(shell.build,
      os.getenv "BERTH_LUA" or "", words)
    local pipe = assert(io.popen(default .. "true 2>/dev/null || { echo exit; exit; }; " .. default
      .. script .. busy))
    local out = pipe:read "*a"
    pipe:close()
    if out:find "^exit" then return pending "env cannot reset SIGINT here" end
    assert.matches("^plan: 201 ops", out:gsub("^berth: [^\n]+\n", ""))
    assert.matches("berth: interrupted: the best of %d+ evaluations\n", out)
    assert.matches("exit 130\n$", out)
  end)
end)
