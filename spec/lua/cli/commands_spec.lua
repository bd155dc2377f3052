-- Every command at work, through scripts/berth where the exit code of the process counts.
local berth = require "berth"
local shell = require "support.shell"
local terminal = require "support.terminal"

local failed, ran, read, run = shell.failed, shell.ran, shell.read, shell.run

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local GRAPH = "model:resnet18,batch=4,granularity=layer"
local TOPOLOGY = "mesh:2,preset=V100,bandwidth=10GB/s,latency=5us"

local files = {}
local function scratch(ending)
  local path = os.tmpname()
  os.remove(path)
  files[#files + 1] = path .. ending
  return path .. ending
end

-- The value of a number in a flat JSON text.
local function number(json, key)
  return tonumber(json:match('"' .. key .. '":([%d%.e+-]+)'))
end

describe("berth", function()
  after_each(function()
    for _, path in ipairs(files) do os.remove(path) end
    files = {}
  end)

  it("takes a number of devices, or a topology by name, wherever a topology may stand", function()
    local program = "model:einsum,program=ffnn,layers=1"
    for _, command in ipairs { "place", "simulate", "compare", "bounds", "split" } do
      local given = { place = "--placer=heft", compare = "--placers=single",
        simulate = "--placement=single:2", split = "--visits=1000" }
      local more = given[command] or "--json"
      local exit, _, err = run(command, program, "--devices", "2", more)
      assert.equal(0, exit, command .. ": " .. err)
      assert.equal(0, (run(command, program, "--topology", "mesh:2,bandwidth=1B/s", more)))
      exit, _, err = run(command, program, "mesh:2,bandwidth=1B/s", "--devices", "2", more)
      assert.equal(2, exit)
      assert.matches("the topology is given already", err)
    end
    local _, _, err = run("bounds", program)
    assert.matches("holds no topology.*or %-%-devices N", err)
  end)

  it("places, and simulates what it wrote to the same step time", function()
    local placement, trace, dot = scratch(".json"), scratch(".json"), scratch(".dot")
    local placed = ran(run("place", GRAPH, TOPOLOGY, "--placer", "heft", "--links", "duplex",
      "--json", "--output", placement, "--trace", trace, "--placed-graph", dot))
    assert.truthy(placed:find('"placer":"heft"', 1, true))
    assert.truthy(read(trace):find("traceEvents", 1, true))
    assert.truthy(read(dot):find("digraph", 1, true))
    local again, simulated = run("simulate", GRAPH, TOPOLOGY, "--placement", placement, "--links",
      "duplex", "--json")
    assert.equal(0, again)
    assert.is_not_nil(number(placed, "makespan_s"))
    assert.equal(number(placed, "makespan_s"), number(simulated, "makespan_s"))
  end)

  it("simulates collectives: a table of them as text, all of them as JSON", function()
    local graph, placement = scratch(".json"), scratch(".json")
    local g = assert(berth.graph {
      ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 2 },
        { name = "c", seconds = 1 } },
      collectives =
      { { kind = "allreduce", bytes = 10e9, members = { "a", "b" }, consumers = { "c" } } },
    })
    local t = assert(berth.topology.mesh(2))
    assert(g:save(graph))
    assert(berth.place(g, t, "round-robin"):save(placement))
    local function simulated(...)
      return run("simulate", graph, TOPOLOGY, "--placement", placement, ...)
    end
    local exit, text, complaint = simulated()
    assert.equal("", complaint)
    assert.equal(0, exit)
    assert.truthy(text:find("longest collectives +algorithm +devices +bytes +start +time"))
    assert.truthy(text:find("1 allreduce +ring +2 +10[%.0]* GB +2[%.0]* s +1[%.0]* s"))
    local _, json = simulated("--json", "--collective-algorithm", "tree")
    local first =
      '"collectives":[{"kind":"allreduce","algorithm":"tree","bytes":10000000000,"devices":[1,2],'
        .. '"start_s":2,'
    assert.truthy(json:find(first, 1, true))
  end)

  it("takes the best bound of a run everywhere, with its name", function()
    local graph = shell.file(".json", [[{"berth": 1, "graph": {
      "ops": [{"seconds": 1}, {"seconds": 3}, {"seconds": 2}, {"seconds": 2}, {"seconds": 1}],
      "tensors": [{"from": 0, "to": [1, 2, 3], "bytes": 1}, {"from": 1, "to": [4], "bytes": 1},
        {"from": 2, "to": [4], "bytes": 1}, {"from": 3, "to": [4], "bytes": 1}]}}]])
    local given = { graph, "mesh:2,bandwidth=1B/s", "--links", "duplex" }
    local function out(name, ...)
      return ran(run(name, given[1], given[2], given[3], given[4], ...))
    end
    -- 1, then 3 and 2 + 2 beside each other with a transfer in and out, or 4 more on one device
    local bound = out("place"):match "bound (%S+ s) %(gap 0.0 %%%)"
    assert.is_string(bound)
    assert.matches("\noptimal: the bound %(", out("place"))
    assert.matches("\nrules: links duplex, memory inference, dispatch fifo\n", out("place"))
    assert.matches("\nbound " .. bound .. " %(%a+", out("compare", "--placers", "single,portfolio"))
    assert.matches("\nbound +" .. bound .. " ", out("bounds", "--split", "--calls", "10"))
    local page = shell.path ".html"
    assert.matches("bound " .. bound .. " %(gap", out("report", "--thorough", "--output", page,
      "--compare", "single,exact"))
    assert.matches(" %(best%)</td><td class=\"n\">" .. bound .. "<", shell.read(page))
    assert.matches("; a larger one may be found by %-%-thorough or %-%-placer exact\n",
      out("place", "--placer", "round-robin"))
  end)

  it("puts variants, options and pipelines beside each other under common links", function()
    local text = ran(run("compare", GRAPH, TOPOLOGY, "--links", "duplex", "--placers",
      "m-sct:baechi-tf, m-sct:tau=0.1:gap=1e-3, coplace:max_ops=4+fuse+heft+repair, single",
      "--thorough"))
    local wanted = { "m%-sct baechi%-tf", "m%-sct tau=0%.1 gap=0%.001",
      "coplace max_ops=4 %-> fuse %-> heft %-> repair" }
    for _, name in ipairs(wanted) do
      assert.matches("\n" .. name .. " +[%d.]+ ms", text)
    end
  end)

  it("places by a pipeline, and by a published variant with the simulator's links", function()
    local text = ran(run("place", GRAPH, TOPOLOGY, "--placer", "coplace:max_ops=4+fuse+m-etf",
      "--links", "duplex"))
    assert.matches("%(coplace %-> fuse %-> m%-etf%)", text)
    local _, short = run("place", GRAPH, TOPOLOGY, "--placer", "m-etf:baechi-tf", "--links",
      "duplex", "--json")
    local done, long = run("place", GRAPH, TOPOLOGY, "--placer", "m-etf", "--variant", "baechi-tf",
      "--links", "duplex", "--json")
    assert.equal(0, done)
    assert.equal(number(short, "makespan_s"), number(long, "makespan_s"))
  end)

  it("shows the rows of the portfolio", function()
    local text = ran(run("place", GRAPH, TOPOLOGY, "--rows", "--members", "heft,m-sct:tau=0.5",
      "--thorough", "--links", "pair"))
    assert.matches("\nmember +step time +gap", text)
    assert.matches("\nm%-sct tau=0%.5 +[%d.]+ ms", text)
    assert.matches("\nbest: .*; bound [^\n]+$", text)
    local _, object = run("place", GRAPH, TOPOLOGY, "--rows", "--members", "heft,single", "--json")
    assert.matches('"rows":%[{"member":"[^"]+","makespan_s":[%d.e+-]+,"gap":', object)
    local no, refused, why = run("place", GRAPH, "mesh:2,preset=V100,memory=1kB", "--rows")
    assert.equal(1, no)
    assert.matches("\nm%-etf +%- +%- +infeasible\n", refused)
    assert.matches("^berth: portfolio: cannot fit: ", why)
  end)

  it("repairs a placement", function()
    local path, mended = scratch(".json"), scratch(".json")
    local small = "mesh:2,preset=V100,bandwidth=10GB/s,memory=200MB"
    assert.equal(0, (run("place", GRAPH, TOPOLOGY, "--placer", "single", "--output", path)))
    assert.equal(1, (run("simulate", GRAPH, small, "--placement", path, "--memory", "total")))
    local text = ran(run("repair", GRAPH, small, "--placement", path, "--memory", "total",
      "--output", mended))
    assert.matches("%(repair%)", text)
    assert.equal(0, (run("simulate", GRAPH, small, "--placement", mended, "--memory", "total")))
  end)

  it("agrees with the library", function()
    local _, json = run("place", GRAPH, TOPOLOGY, "--placer", "m-etf", "--json")
    local g = assert(berth.models.build("resnet18", { batch = 4, granularity = "layer" }))
    local t = berth.topology.mesh(2, { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" })
    local r = assert(berth.simulate(g, t, assert(berth.place(g, t, "m-etf"))))
    assert.equal(r.makespan, number(json, "makespan_s"))
    assert.equal(r.bound, number(json, "bound_s"))
  end)

  it("passes every option on", function()
    -- each changes the answer of a run that is sensitive to it
    local function step(...)
      local exit, json = run("simulate", GRAPH, TOPOLOGY, "--json", ...)
      assert.is_true(exit == 0 or exit == 1)
      return number(json, "makespan_s"), json
    end
    local placement = scratch(".json")
    assert.equal(0,
      (run("place", GRAPH, TOPOLOGY, "--placer", "round-robin", "--output", placement)))
    local base = step("--placement", placement)
    assert.is_true(step("--placement", placement, "--links", "channel") > base)
    assert.is_true(step("--placement", placement, "--transfer-factor", "3") > base)
    assert.is_true(step("--placement", placement, "--op-factor", "2") > base)
    assert.is_true(step("--placement", placement, "--quantum", "1ms") > base)
    assert.not_equal(step("--placement", placement, "--noise", "0.2"), base)
    local noisy, seeded = step("--placement", placement, "--noise", "0.2"),
      step("--placement", placement, "--noise", "0.2", "--seed", "5")
    assert.not_equal(noisy, seeded)
    assert.is_true(step("--placement", placement, "--send", "pull") >= base)
    assert.not_equal(step("--placement", placement, "--preset", "baechi-tf"), base)
    local _, none = step("--placement", placement, "--memory", "none")
    local _, total = step("--placement", placement, "--memory", "total")
    assert.not_equal(none:match('"peak_memory_bytes":%b[]'),
      total:match('"peak_memory_bytes":%b[]'))
  end)

  it("lists the ops of the critical chain", function()
    local out = ran(run("simulate", GRAPH, TOPOLOGY, "--placement", "single:2", "--critical", "3"))
    assert.truthy(out:find("\nop  ", 1, true))
    assert.equal(3, select(2, out:gsub("/backward", "")))
    assert.truthy(out:find("\nlayer[^\n]+ d1 "), out)
    local _, json = run("simulate", GRAPH, TOPOLOGY, "--placement", "single:2", "--critical", "3",
      "--json")
    assert.equal(3, select(2, json:match('"critical_ops":(%b[])'):gsub('"time_s"', "")))
  end)

  it("reports no peak when memory is not accounted for", function()
    local _, out = run("simulate", GRAPH, TOPOLOGY, "--placement", "single:1", "--memory", "none")
    assert.truthy(out:find("\nd0 [^\n]+ %- +16 GB"), out)
    local _, json = run("simulate", GRAPH, TOPOLOGY, "--placement", "single:1", "--memory", "none",
      "--json")
    assert.truthy(json:find('"memory":"none","peak_memory_bytes":null', 1, true), json)
    local _, rows = run("compare", GRAPH, TOPOLOGY, "--placers", "single", "--preset", "doppler")
    assert.truthy(rows:find("\nsingle [^\n]+ %-\n"), rows)
  end)

  it("names devices alike in all that it prints for people", function()
    local _, out = run("simulate", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placement",
      "single:1", "--critical", "1")
    assert.truthy(out:find("peak [%d.]+ MB on d0; out of memory on d0 at op %d+ \"layer"), out)
    assert.is_nil(out:find("device 1", 1, true), out)
  end)

  it("exits with 1 when nothing fits, naming the op", function()
    failed(1, " fit: ", run("place", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placer", "m-etf"))
  end)

  it("reports as JSON what does not fit", function()
    local exit, json, err = run("place", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placer",
      "single", "--json")
    assert.equal(1, exit)
    assert.equal("berth: " .. json:match('"error":"(.-[^\\])"'):gsub("\\", ""), err)
    local refusal =
      '^{"berth":"[%d.]+","schema":1,"error":".+","code":"infeasible","op":null,"device":null,'
        .. '"missing_bytes":%d+}$'
    assert.truthy(json:find(refusal), json)
    exit, json = run("bounds", GRAPH, "mesh:2,preset=V100,memory=50MB", "--memory", "total",
      "--json")
    assert.equal(1, exit)
    assert.truthy(json:find('"code":"infeasible"', 1, true), json)
    exit, json = run("compare", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placers", "single",
      "--json")
    assert.equal(1, exit)
    assert.truthy(json:find('"out_of_memory":null,"error":".+","code":"infeasible"'), json)
  end)

  it("exits with 1 from every command without a feasible answer", function()
    local tight, page = "mesh:2,preset=V100,memory=50MB", os.tmpname()
    for _, words in ipairs({ { "place" }, { "compare" }, { "bounds" },
      { "report", "--placement", "single:1", "--output", page },
      { "split" },
      { "repair", "--placement", "single:1" } }) do
      local command = table.remove(words, 1)
      if command ~= "split" then words[#words + 1], words[#words + 2] = "--memory", "total" end
      local exit, _, err = run(command, GRAPH, tight, unpack(words))
      assert.equal(1, exit, err)
    end
    os.remove(page)
  end)

  it("exits with 1 when memory runs out, telling where", function()
    local exit, out = run("simulate", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placement",
      "single:1")
    assert.equal(1, exit)
    assert.truthy(out:find("out of memory: op ", 1, true), out)
  end)

  it("compares placers, best first", function()
    local out = ran(run("compare", GRAPH, TOPOLOGY, "--placers", "round-robin,single"))
    assert.truthy(out:find("single.-\nround%-robin"), out)
    local _, json = run("compare", GRAPH, TOPOLOGY, "--placers", "round-robin,single", "--json")
    assert.truthy(json:find('"best":"single"', 1, true))
    assert.is_nil(json:find("placing_s", 1, true))
    assert.equal(json,
      (select(2, run("compare", GRAPH, TOPOLOGY, "--placers", "round-robin, single ,", "--json")))
      :gsub("round%-robin, single ,", "round-robin,single"))
    local _, timed = run("compare", GRAPH, TOPOLOGY, "--placers", "single", "--json", "--times")
    assert.truthy(timed:find("placing_s", 1, true))
    assert.equal(1,
      (run("compare", GRAPH, "mesh:2,preset=V100,memory=50MB", "--placers", "single")))
  end)

  it("reports bounds", function()
    local json = ran(run("bounds", GRAPH, TOPOLOGY, "--json"))
    assert.is_true(number(json, "bound_s") >= number(json, "critical_path_s"))
    assert.truthy(json:find('"bound_name":"%a[%a ]*"'))
    assert.equal(1, (run("bounds", GRAPH, "mesh:2,preset=V100,memory=50MB", "--memory", "total")))
  end)

  it("refuses options that the format of the input does not read", function()
    local path = scratch ".json"
    assert.equal(0, (run("convert", GRAPH, path)))
    local exit, text, err = run("convert", path, "-", "--forward-only")
    assert.same({ 2, "" }, { exit, text })
    assert.equal(
      "berth: option forward_only: the format berth does not read it; read by: pipedream", err)
    assert.equal(2, (run("place", path, TOPOLOGY, "--cpus")))
  end)

  it("converts there and back to the same bytes", function()
    local first, second = scratch(".json"), scratch(".json")
    assert.equal(0, (run("convert", GRAPH, first)))
    assert.equal(0, (run("convert", first, second)))
    assert.equal(read(first), read(second))
    local _, text = run("convert", first, "-")
    assert.equal(read(first):gsub("\n$", ""), (text:gsub("\n$", "")))
    local _, dot = run("convert", first, "-", "--to", "dot")
    assert.truthy(dot:find("digraph", 1, true))
  end)

  it("takes every generator", function()
    for _, spec in ipairs { "mesh:2", "ring:3", "star:3", "pcie_tree:4", "dgx1", "fat_tree:2",
      "torus:2x2", "two_level:2x2" } do
      local exit, _, err = run("bounds", GRAPH, spec .. ",preset=P100,bandwidth=10GB/s")
      assert.equal(0, exit, err)
    end
    assert.equal(0, (run("bounds", GRAPH, "pcie_tree:4,preset=P100,fan_out=2,up_bandwidth=8GB/s")))
    assert.equal(0, (run("bounds", GRAPH, "dgx1,preset=P100,pcie_bandwidth=8GB/s")))
  end)

  it("lists the models", function()
    local out = ran(run("models"))
    assert.truthy(out:find("resnet50 .- 25%.56 M"))
    local _, one = run("models", "bert-large")
    assert.truthy(one:find("\nsize +large +base large\n"), one)
    assert.truthy(one:find("\npositions +%(512, or seq if that is more%) +a whole number from 1\n"),
      one)
    local _, json = run("models", "vgg16", "--json")
    assert.equal(138357544, number(json, "parameters"))
    assert.truthy(json:find('{"name":"depth","default":16,"default_by":null,"legal":[11,13,16,19]}',
      1, true), json)
    local _, all = run("models", "--json")
    assert.truthy(all:find('^{"berth":"[^"]+","schema":1,"models":%[{"model":"resnet18"'), all)
  end)

  it("says the same twice", function()
    local function compare()
      return { run("compare", GRAPH, TOPOLOGY, "--placers", "random,anneal,brkga,portfolio") }
    end
    assert.same(compare(), compare())
    assert.same({ run("place", GRAPH, TOPOLOGY, "--json") },
      { run("place", GRAPH, TOPOLOGY, "--json") })
  end)
end)

local function process(words, input)
  local path = scratch("")
  shell.write(path, input or "")
  local exit, out = shell.process(os.getenv("BERTH_LUA") or "", words .. " < " .. path)
  os.remove(path)
  return exit, out
end

describe("scripts/berth", function()
  local try = shell.try(it, pending)

  try("finds the tree and passes exit codes on", function()
    assert.equal(0, (process("--version")))
    assert.equal(1,
      (process("place " .. GRAPH .. " mesh:2,preset=V100,memory=50MB --placer single")))
    assert.equal(2, (process("place")))
  end)

  try("keeps words with spaces together", function()
    local exit, out = process("bounds " .. GRAPH .. " 'mesh:2,preset=V100,bandwidth=10 GB/s'")
    assert.equal(0, exit, out)
  end)

  try("edits lines on a terminal, with completion and history", function()
    if not terminal.there() or not pcall(require, "berth.readline") then
      return pending "no script command, or built without line editing"
    end
    local history = scratch("")
    local out = terminal.typed("scripts/berth repl", {
      { "", "Ctrl-D." }, { "berth.fit_c\\t", "ollective" }, { "\\n", "<function>" },
      { "21 * 2\\n", "42" },
    }, string.format("TERM=xterm BERTH_HISTORY=%s BERTH_BUILD=%s BERTH_LUA=%s ", history,
      shell.build, os.getenv("BERTH_LUA") or ""))
    assert.truthy(out:find("help() lists what there is", 1, true), out)
    assert.truthy(out:find("42", 1, true), out)
    assert.truthy(read(history):find("berth.fit_collective\n21", 1, true), read(history))
  end)

  try("says when standard output cannot be written", function()
    local full = io.open("/dev/full", "w")
    if not full then return pending "no /dev/full" end
    full:close()
    for _, command in ipairs { "convert " .. GRAPH .. " -",
      "place " .. GRAPH .. " " .. TOPOLOGY .. " --json" } do
      local exit = process(command .. " > /dev/full")
      assert.equal(2, exit)
    end
  end)

  try("runs the prompt on a pipe", function()
    local exit, out = process("repl", "1 + 1\nberth.models.list()[3]\n")
    assert.equal(0, exit)
    assert.equal("2\n\"resnet50\"\n", out)
    assert.equal(2, (process("repl", "error 'no'\n")))
  end)

  it("says that the module is older than the Lua files", function()
    local fail = require "berth.cli.fail"
    local _, err = pcall(function() return require("berth.core").no_such_function() end)
    local exit, text = fail.describe(err)
    assert.equal(2, exit)
    assert.truthy(
      text:find("the built module has no 'no_such_function': it seems older than the Lua files", 1,
      true), text)
    _, err = pcall(function() return ({}).graph() end)
    assert.is_nil(select(2, fail.describe(err)):find("older", 1, true))
  end)
end)
