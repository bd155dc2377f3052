-- Mistakes of a newcomer and what berth says to each: on the command line, and in Lua.
--
-- A row is what is typed, then parts of the message. SMALL, STG, BAD, EMPTY and TEXT stand for a
-- model and for files; `code` is the exit code, 2 if it is left out.
local berth = require "berth"
local shell = require "support.shell"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local compile = rawget(_G, "loadstring") or load
local SMALL = "model:rnnlm,batch=2,granularity=layer"

-- The words of a line; what is in '...' is one.
local function words_of(line)
  local out = {}
  local joined = line:gsub("'(.-)'", function(text) return (text:gsub(" ", "\1")) end)
  for word in joined:gmatch "%S+" do out[#out + 1] = (word:gsub("\1", " ")) end
  return out
end

describe("a newcomer on the command line", function()
  local files
  local devices = {}
  for i = 1, #berth.models.rnnlm { batch = 2, granularity = "layer" } do devices[i] = 3 end
  before_each(function()
    files = { SMALL = SMALL, STG = shell.file(".stg", "1\n0 0 0\n1 5 1 0\n2 0 1 1\n"),
      BAD = shell.file(".json", '{"berth": 1, "ops": [}'), EMPTY = shell.file(".json", ""),
      MINUTES = shell.file(".csv", "submitted,took_min,gpus\n0,5,1\n"),
      TEXT = shell.file(".txt", "hello\n"), DIGRAPH = shell.file(".dot", "digraph { a [seconds=2ms] }\n"),
      TABLE = shell.file(".csv", "op,seconds\na,1\n"),
      FAR = shell.file(".json", berth.placement(devices):to_string()),
      MACHINE = shell.file(".json", berth.topology.mesh(2):to_string()),
      KEYS = shell.file(".json", '{"berth":1,"graph":{"ops":[{"second":"2 ms"}]}}'),
      BARE = shell.file(".json", '{"berth":1,"graph":{"ops":[{"seconds":"2"}]}}') }
  end)
  after_each(shell.tidy)

  -- Names of files by what stands for them, and back.
  local function named(text)
    return (text:gsub("%u%u%u+", files))
  end

  local mistakes = {
    { "plase SMALL mesh:2", "no command plase (legal: ", "did you mean 'place'?" },
    { "help plce", "no command plce (legal: ", "did you mean 'place'?" },
    { "--placer heft place SMALL",
      "--placer comes before the command: berth COMMAND ... --placer" },
    { "place", "place: 0 arguments; usage: berth place GRAPH [TOPOLOGY] [options]" },
    { "place model:resnet51 mesh:2",
      'berth.models: no model "resnet51" (legal: ',
      "did you mean 'resnet50'?" },
    { "place model: mesh:2", '"model:": a name is needed, as in model:resnet50 (legal: ' },
    { "place resnet50 mesh:2",
      "resnet50: cannot be opened: No such file or directory",
      "resnet50 is a model: model:resnet50" },
    { "place 'model:rnnlm batch=4' mesh:2,preset=V100",
      '"model:rnnlm batch=4": options are separated by commas: model:rnnlm,batch=4' },
    { "place model:rnnlm batch=4 mesh:2,preset=V100",
      'place: 3 arguments ("batch=4": options of an argument are behind a comma, '
        .. "model:rnnlm,batch=4); usage: berth place GRAPH [TOPOLOGY] [options]" },
    { "place SMALL mesh:2 preset=V100",
      'place: 3 arguments ("preset=V100": options of an argument are behind a comma, '
        .. "mesh:2,preset=V100); usage: berth place GRAPH [TOPOLOGY] [options]" },
    { "place SMALL 'mesh:2 preset=V100'",
      '"mesh:2 preset=V100": options are separated by commas: mesh:2,preset=V100' },
    { "place mesh:2,preset=V100 SMALL",
      "mesh:2,preset=V100: cannot be opened: No such file or directory",
      "mesh is a topology: the graph comes first, then the topology" },
    { "place SMALL model:rnnlm",
      "model:rnnlm is a model: the graph comes first, then the topology" },
    { "place SMALL",
      "SMALL holds no topology: give one, a file or mesh:4 ring:8 star:4 pcie_tree:8 "
        .. "dgx1 fat_tree:4 torus:4x4 two_level:2x4" },
    { "place SMALL mesh:2",
      "SMALL is priced by FLOP and bytes, but device d0 has no rates: give the "
        .. "topology preset=NAME, as in mesh:4,preset=V100 (presets: P100 V100 A100 H100 "
        .. "GTX1080Ti T4 V100-32GB A100-40GB H100-PCIe H100-96GB H200 B200 B300 GB200 GB300 "
        .. "MI300X L40S RTX4090), or flops= and memory_bandwidth=" },
    { "place SMALL msh:4,preset=V100",
      "msh:4,preset=V100: cannot be opened: No such file or directory",
      "topologies are files or generators: mesh:4",
      "did you mean 'mesh'?" },
    { "place SMALL dgx2",
      "dgx2: cannot be opened: No such file or directory",
      "topologies are files or generators: mesh:4",
      "did you mean 'dgx1'?" },
    { "place SMALL mesh", 'topology "mesh": mesh needs its size, as in mesh:4' },
    { "place SMALL mesh:x",
      'topology "mesh:x": size "x": a whole number from 1 is needed, as in mesh:4' },
    { "place SMALL mesh:0", 'topology "mesh:0": size "0": a whole number from 1 is needed' },
    { "place SMALL mesh:4, preset=V100", "behind a comma, mesh:4,preset=V100)" },
    { "place SMALL mesh:2,preset=V100 links=duplex",
      'place: 3 arguments ("links=duplex": type --links duplex); usage: ' },
    { "place bert mesh:2", "bert is a model: model:bert (berth models lists all)" },
    { "place model:brt mesh:2", 'no model "brt" (legal: 35 names; ', "did you mean 'bert'?" },
    { "place MACHINE SMALL",
      "MACHINE holds a topology: GRAPH comes first, then TOPOLOGY" },
    { "MACHINE", "MACHINE is no command; try: berth check MACHINE" },
    { "place SMALL mesh:2,preset=V100 --variant code", "--variant is for --placer m-topo, " },
    { "place SMALL mesh:2,preset=V100 --device d0", "--device is for --placer single" },
    { "place SMALL mesh:2,preset=V100 --placer heft:foo=1",
      "--placer: heft: unknown option 'foo' (legal: variant, averages, links, memory, " },
    { "place SMALL mesh:2,preset=V100 --placers heft,cpop",
      "--placer: one placer is needed; several: berth compare --placers heft,cpop" },
    { "place SMALL mesh:2,preset=V100 --hepl", "did you mean '--help'?" },
    { "place SMALL mesh:2,preset=V100 --link", "did you mean '--links'?" },
    { "simulate SMALL mesh:2,preset=V100 --placement heft",
      "heft is a placer: berth place ... --placer heft --output p.json writes a placement" },
    { "simulate SMALL mesh:2,preset=V100 --placement FAR",
      "FAR places op 1 on device 3, the topology has d0 to d1, or 1 to 2" },
    { "placers hept", 'placers: no "hept" (legal: ', "did you mean 'heft'?" },
    { "check DIGRAPH", "DIGRAPH:1: this value needs quotes (2ms)" },
    { "check TABLE", "write a graph of your own as berth JSON (docs/guides/place-a-graph.md)" },
    { "check KEYS", 'graph.ops[0].second is an unknown key; did you mean "seconds"?' },
    { "check BARE", 'graph.ops[0].seconds: "2" has no unit; expected seconds, as in "5 us"' },
    { "place SMALL dgx1:4", 'topology "dgx1:4": dgx1 takes no size, as in dgx1' },
    { "place SMALL two_level:2",
      'topology "two_level:2": two_level needs two sizes, as in two_level:2x4' },
    { "place SMALL preset=V100",
      "preset=V100: an option of a model or a topology is part of its argument, behind "
        .. "a comma: mesh:4,preset=V100" },
    { "place SMALL mesh:2,preset=V101",
      'berth.topology.mesh: preset: no device preset "V101"; there are 18 names; '
        .. "docs/devices.md lists all; did you mean 'V100'?" },
    { "place SMALL mesh:2,preset=v100",
      'berth.topology.mesh: preset: no device preset "v100"; there are 18 names; '
        .. "docs/devices.md lists all; did you mean 'V100'?" },
    { "place SMALL mesh:2,bandwith=25GB/s",
      "berth.topology.mesh: unknown option 'bandwith' (legal: bandwidth, latency, "
        .. "preset, type, speed, flops, memory, memory_bandwidth, overhead; did you mean "
        .. "'bandwidth'?)" },
    { "place SMALL mesh:2,preset=V100,bandwidth=25Gbps",
      'topology "mesh:2,preset=V100,bandwidth=25Gbps": bandwidth: "25Gbps": the unit '
        .. '"Gbps" is unknown: type "25 Gbit/s"' },
    { "place SMALL mesh:2,preset=V100,bandwidth=25",
      'topology "mesh:2,preset=V100,bandwidth=25": bandwidth: "25" has no unit; write '
        .. "it as in 25GB/s" },
    { "place SMALL mesh:2,preset=V100,bandwidth=25GB",
      'topology "mesh:2,preset=V100,bandwidth=25GB": bandwidth: "25GB": the unit "GB" '
        .. 'is unknown: type "25 GB/s"' },
    { "place SMALL mesh:2,preset=V100,latency=5GB",
      'topology "mesh:2,preset=V100,latency=5GB": latency: "5GB": the unit "GB" is not '
        .. 'one of seconds, as in "5 us"' },
    { "place SMALL mesh:2,preset=V100,latency=5µs",
      'topology "mesh:2,preset=V100,latency=5µs": latency: "5µs": the unit "µs" is '
        .. 'unknown: type "5 us"' },
    { "place SMALL mesh:2,preset=V100,memory=16gb",
      'topology "mesh:2,preset=V100,memory=16gb": memory: "16gb": the unit "gb" is '
        .. 'unknown: type "16 GB"' },
    { "place SMALL mesh:2,speed=fast",
      'topology "mesh:2,speed=fast": speed: a number is needed, not "fast"' },
    { "place model:rnnlm,bach=4 mesh:2",
      "berth.models.rnnlm: unknown option 'bach' (legal: ",
      "did you mean 'batch'?" },
    { "place model:rnnlm,batch=0 mesh:2",
      "berth.models.rnnlm: option batch is 0; a whole number of at least 1 is needed" },
    { "place model:rnnlm,dtype=bf17 mesh:2",
      'berth.models.rnnlm: option dtype is "bf17"; legal: bytes per number (1, 2, 4, '
        .. "8), or bf16, fp16, fp32, fp64, tf32; did you mean 'bf16'?" },
    { "place model:rnnlm,batch mesh:2", 'model:rnnlm,batch: KEY=VALUE is needed, not "batch"' },
    { "place model:llama,size=7B mesh:2",
      'berth.models.llama: option size is "7B"; legal: 7b, 13b, 30b, 65b, 2-70b, 3-8b, '
        .. "3-70b; did you mean '7b'?" },
    { "place SMALL mesh:2,preset=V100 --placer heftt",
      '--placer: no "heftt" (legal: ',
      "did you mean 'heft'?" },
    { "place SMALL mesh:2,preset=V100 --placr heft",
      "place: no option --placr (legal: ",
      "did you mean '--placer'?" },
    { "place SMALL mesh:2,preset=V100 -placer heft",
      "place: no option -placer; options start with --: is --placer meant? See berth place --help" },
    { "place SMALL mesh:2,preset=V100 --placer",
      "--placer needs a value: PLACER, as in --placer single" },
    { "place SMALL mesh:2,preset=V100 --placer heft:textbok",
      '--placer: heft: "textbok" is neither KEY=VALUE nor a variant; it has no variants' },
    { "place SMALL mesh:2,preset=V100 --placer fuse",
      "berth.pipeline: stages: there is no placer among them" },
    { "place SMALL mesh:2,preset=V100 --placer heft+fuse",
      "berth.pipeline: stages[2]: 'fuse' is a transform: it must come before the placer" },
    { "place SMALL mesh:2,preset=V100 --links dupex",
      '--links: no "dupex" (legal: free, channel, duplex, pair, route, fair; did you '
        .. "mean 'duplex'?)" },
    { "place SMALL mesh:2,preset=V100 --dispatch blevl",
      '--dispatch: no "blevl" (legal: fifo, ', "did you mean 'blevel'?)" },
    { "place SMALL mesh:2,preset=V100 --seed x",
      '--seed: a whole number of at least 0 is needed, not "x"' },
    { "place SMALL mesh:2,preset=V100 --seed 1 --seed 2", "--seed is given twice" },
    { "place SMALL mesh:2,preset=V100 --seconds 10",
      '--seconds: "10" has no unit; write it as in 10s' },
    { "place SMALL mesh:2,preset=V100 --placer heft --device d1",
      "berth.place: option 'device' means nothing to heft, only to: single" },
    { "place SMALL mesh:2,preset=V100 --placer single --device d5",
      "berth.place: device: there is no device 'd5' (legal: d0, d1)" },
    { "place SMALL mesh:2,preset=V100 --placer single --device 3",
      "berth.place: device: there is no device 3 (ids are 1..2: d0 to d1)" },
    { "place SMALL mesh:2,preset=V100 --memory 16GB",
      '--memory: no "16GB" (legal: none, inference, training, total)' },
    { "place model:llama-7b,granularity=block,batch=1 mesh:2,preset=V100 --placer heft --memory training",
      "heft: cannot fit: ",
      "must be held by all 2 devices, with room for 32 GB",
      code = 1 },
    { "place SMALL mesh:2,preset=V100 --placer heft --rows",
      "--rows: is for the portfolio; berth compare puts placers beside each other" },
    { "place SMALL mesh:2 --topology mesh:4", "--topology: the topology is given already: mesh:2" },
    { "place BAD mesh:2", "BAD:1: not valid JSON here (})" },
    { "place EMPTY mesh:2", "EMPTY:1: the file is empty" },
    { "place TEXT mesh:2", "TEXT:1: not in a known format" },
    { "place / mesh:2", "/: cannot be read: it is a directory, not a file" },
    { "place nofile.json mesh:2", "nofile.json: cannot be opened: No such file or directory" },
    { "place TEXT mesh:2 --format stgg", '--format: no "stgg" (legal: ', "did you mean 'stg'?" },
    { "place STG --devices 0", '--devices: a whole number of at least 1 is needed, not "0"' },
    { "place SMALL mesh:2 --format stg", "SMALL: options of file formats do not apply to a model" },
    { "simulate SMALL mesh:2,preset=V100",
      "simulate: --placement is needed: a file, or single:DEVICE for all ops on one, "
        .. "as in --placement single:d0" },
    { "simulate SMALL mesh:2,preset=V100 --placement nofile.json",
      "nofile.json: cannot be opened: No such file or directory" },
    { "simulate SMALL mesh:2,preset=V100 --placement single:d2",
      "--placement single:d2: the topology has no device d2 (legal: d0 to d1, or 1 to 2)" },
    { "simulate SMALL mesh:2,preset=V100 --placement single:0",
      "--placement single:0: the topology has no device 0 (legal: d0 to d1, or 1 to 2; "
        .. "did you mean 'd0'?)" },
    { "simulate SMALL mesh:2,preset=V100 --placement BAD", "BAD:1: not valid JSON here (})" },
    { "compare SMALL mesh:2,preset=V100 --placers heft,etff",
      '--placers: no "etff" (legal: ',
      "did you mean 'etf'?" },
    { "convert SMALL out.xyz",
      "out.xyz: no format has the ending .xyz: name the format, or use one of these "
        .. "endings (berth: json; graphml: graphml; dot: dot gv)" },
    { "convert SMALL out.json --to dott",
      "--to: no \"dott\" (legal: berth, graphml, dot; did you mean 'dot'?)" },
    { "check nofile", "nofile: cannot be opened: No such file or directory" },
    { "check TEXT",
      "TEXT:1: not in a known format",
      "as a trace of jobs: TEXT: no trace that is known by its header (gavel, philly, "
        .. "pollux, tiresias): option columns, as in --columns "
        .. "arrival=COLUMN,work=COLUMN,gpus=COLUMN; "
        .. "its columns: hello" },
    { "train doplar SMALL",
      "train: no \"doplar\" (legal: doppler, placeto, gdp, pacml, tag; did you mean 'doppler'?)" },
    { "train doppler SMALL --topology mesh:2,preset=V100",
      "train: --save FILE is needed: where the agent goes" },
    { "train doppler SMALL --topology mesh:2,preset=V100 --episodes 1 --save a",
      "--episodes: 2 stages need at least an episode each" },
    { "train doppler SMALL --save a --stages IV",
      '--stages: "IV" is no stage; legal: I, II, III, each with episodes as in II:2000' },
    { "models resnet51", 'berth.models: no model "resnet51" (legal: ', "did you mean 'resnet50'?" },
    { "completion bsh", "completion: no \"bsh\" (legal: bash, zsh, fish; did you mean 'bash'?)" },
    { "check MINUTES", "as a trace of jobs: MINUTES: no trace that is known by its header" },
    { "check MINUTES --columns arrival=submitted,work=took_min",
      "MINUTES: no column for gpus: add gpus=COLUMN to columns, or gpus=1 if each job takes one "
        .. "(there are: submitted, took_min, gpus)" },
    { "cluster MINUTES --gpus 8 --columns arrival=submitted,work=took_min,gpus=gpus --json",
      "took_min is read in s; if it is in min: work=took_min:min in columns", code = 0 },
    { "cluster MINUTES --gpus 8 --columns arrival=submitted,runtime=took_min",
      "berth.load_trace: columns: unknown field 'runtime': it is called 'work' (legal: arrival, " },
    { "cluster trace.csv", "cluster: how many GPUs are there? --gpus N" },
    { "cluster nofile.csv --gpus 8", "nofile.csv: cannot be opened: No such file or directory" },
    { "cluster nofile.csv --gpus 8 --scheduler fifoo",
      '--scheduler: no "fifoo" (legal: ',
      "did you mean 'fifo'?" },
    { "deploy nofile.json mesh:2", "deploy: --batch is needed: samples in a step of nofile.json" },
    { "deploy SMALL mesh:2,preset=V100 --sets 1-9",
      '--sets: "1-9" is no device and no range of devices (d0 to d1, or 1 to 2)' },
    { "deploy SMALL mesh:2,preset=V100 --prior unifrm",
      '--prior: no "unifrm" (legal: local, uniform, trained, agent:FILE; did you mean '
        .. "'uniform'?)" },
    { "split SMALL dgx1,preset=V100",
      'split: tensor 1 takes 5e-10 s from device "d0" to device "d1", 2.5e-10 s from '
        .. 'device "d0" to device "d3": links of all pairs must be alike; berth place '
        .. "prices each link" },
    { "split SMALL mesh:2,preset=V100 --objective latncy",
      "--objective: no \"latncy\" (legal: max-load, latency; did you mean 'latency'?)" },
    { "report SMALL mesh:2,preset=V100", "report: --output is needed: the file that is written" },
    { "report SMALL mesh:2,preset=V100 --output a.svg",
      "--output a.svg: what is written is HTML: end the name in .html, or add --figure gantt for "
        .. "SVG" },
    { "report SMALL mesh:2,preset=V100 --output a.png --figure gantt",
      "--output a.png: what is written is SVG: end the name in .svg" },
    { "report SMALL mesh:2,preset=V100 --output a.svg --figure placers --placer heft",
      "--figure placers: nothing is compared: add --compare single,heft" },
    { "place SMALL mesh:2,preset=V100 --output a.csv",
      "--output a.csv: what is written is JSON: end the name in .json" },
    { "simulate SMALL mesh:2,preset=V100 --placement single:d0 --trace a.CSV",
      "--trace a.CSV: what is written is JSON: end the name in .json" },
    { "cluster MINUTES --gpus 8 --report a.svg",
      "--report a.svg: what is written is HTML: end the name in .html, or add --figure jobs for "
        .. "SVG" },
    { "cluster MINUTES --gpus 8 --csv a.json",
      "--csv a.json: what is written is CSV: end the name in .csv" },
    { "repair SMALL mesh:2,preset=V100",
      "repair: --placement is needed: a file, or single:DEVICE for all ops on one, as "
        .. "in --placement single:d0" },
  }
  for _, mistake in ipairs(mistakes) do
    it("types: berth " .. mistake[1], function()
      local exit, _, err = shell.run(unpack(words_of(named(mistake[1]))))
      for i = 2, #mistake do assert.matches(named(mistake[i]), err, 1, true) end
      assert.equal(mistake.code or 2, exit, err)
    end)
  end
end)

describe("a newcomer in Lua", function()
  local g = berth.models.rnnlm { batch = 2, granularity = "layer" }
  local t = berth.topology.mesh(2, { preset = "V100" })
  local p = assert(berth.place(g, t, "heft"))

  -- What is raised, or the message behind nil, or the text that comes.
  local function said(code)
    local ok, value, message = pcall(assert(compile("local berth, g, t, p = ... return " .. code)),
      berth, g, t, p)
    return tostring(ok and value == nil and message or value)
  end

  local mistakes = {
    { "berth.place(nil, t)",
      "berth.place: graph: expected a graph (or a cost), got nil: the call that loads "
        .. "or builds it failed, or was none; assert(berth.load(...)) raises with the reason" },
    { 'berth.place((berth.load("nofile.json")), t)',
      "berth.place: graph: expected a graph (or a cost), got nil: the call that loads "
        .. "or builds it failed, or was none; assert(berth.load(...)) raises with the reason" },
    { "berth.place(g)",
      "berth.place: topology: expected a topology, got nil: a topology comes after the "
        .. 'graph, as berth.topology.mesh(4, { preset = "V100" })' },
    { "berth.place(t, g)",
      "berth.place: graph: expected a graph (or a cost), got topology: the graph comes "
        .. "first, then the topology" },
    { 'berth.place(g, t, { links = "duplex" })',
      "berth.place: placer: got a table of options ('links'): they come after the "
        .. "placer, berth.place(g, t, nil, { links = ... })" },
    { 'berth.place(g, t, "heft", { link = "duplex" })',
      "berth.place: unknown option 'link' (legal: ",
      "did you mean 'links'?" },
    { 'berth.place(g, t, "heftt")',
      "berth.place: placer 'heftt' is unknown (legal: ",
      "did you mean 'heft'?" },
    { 'berth.place(g, t, "heft", "duplex")',
      'berth.place: options: expected a table as { links = "duplex" }, got string' },
    { 'berth.place(g, "mesh:4")',
      "berth.place: topology: expected a topology, got string: "
        .. 'berth.load_topology("FILE") or berth.topology.mesh(4, { preset = "V100" }) gives one' },
    { 'berth.place("model:rnnlm", t)',
      "berth.place: graph: expected a graph (or a cost), got string: "
        .. 'berth.load("FILE") or berth.models.build("NAME") gives one' },
    { "berth.topology.mseh(4)",
      "berth.topology has no 'mseh' (legal: dgx1, fat_tree, groups, mesh, pcie_tree, "
        .. "ring, star, torus, two_level; did you mean 'mesh'?)" },
    { "berth.topology.mesh()",
      "berth.topology.mesh: n: expected how many, a number as in berth.topology.mesh(4), got nil" },
    { 'berth.topology.mesh("4")',
      "berth.topology.mesh: n: expected how many, a number as in "
        .. "berth.topology.mesh(4), got string" },
    { 'berth.topology.mesh(4, { bandwidth = "25Gbps" })',
      'berth.topology.mesh: bandwidth: "25Gbps": the unit "Gbps" is unknown: type "25 Gbit/s"' },
    { "berth.topology.mesh { n = 4 }",
      "berth.topology.mesh: n: expected how many, a number as in berth.topology.mesh(4), got table" },
    { "berth.topology.mesh(0)", "berth.topology.mesh: n: 0 is out of range 1..1048576" },
    { "berth.simulate(g, t)",
      "berth.simulate: placement: expected a placement or an array of device ids, got "
        .. 'nil: berth.place(g, t) or berth.load_placement("FILE") gives one' },
    { "berth.simulate(g, t, {})",
      "berth.simulate: placement: places 0 ops, but the graph has 221" },
    { 'berth.simulate(g, t, "heft")',
      "berth.simulate: placement: expected a placement or an array of device ids, got "
        .. 'string: berth.place(g, t) or berth.load_placement("FILE") gives one' },
    { 'berth.simulate(g, t, p, { dispatch = "fif" })',
      "berth.simulate: dispatch: 'fif' is none of: fifo, ", "did you mean 'fifo'?" },
    { 'berth.simulate(g, t, p, { dispach = "fifo" })',
      "berth.simulate: unknown option 'dispach' (legal: ",
      "did you mean 'dispatch'?" },
    { "berth.simulate(g, t, p, { seed = 1.5 })",
      "berth.simulate: seed: expected a whole number, got 1.5" },
    { "berth.plce(g, t)", "berth has no 'plce'; did you mean 'place'?" },
    { "berth.models.resnet51 {}",
      "berth.models has no 'resnet51' (legal: ",
      "did you mean 'resnet50'?" },
    { "berth.models.resnet { dept = 50 }",
      "berth.models.resnet: unknown option 'dept' (legal: batch, classes, colocate, "
        .. "depth, dtype, granularity, image, optimizer, training, version; did you mean "
        .. "'depth'?)" },
    { "berth.models.resnet(50)",
      "berth.models.resnet: a table of options is needed, not a number" },
    { "berth.models.resnet { depth = 51 }",
      "berth.models.resnet: option depth is 51; legal: 18, 34, 50, 101, 152" },
    { 'berth.models("resnet")',
      'berth.models is a table: berth.models.build("resnet", { batch = 8 })' },
    { "berth.graph { ops = { { time = 1 } } }",
      "berth.graph: ops[1]: unknown field 'time' (legal: 16 names; did you mean 'seconds'?)" },
    { 'berth.topology.mesh(3, { bandwidth = "25" })',
      'berth.topology.mesh: bandwidth: "25" has no unit; expected bytes per second, as in' },
    { "berth.parse(t:to_string())",
      "text holds no graph but a topology; berth.load_topology and berth.parse_topology read it" },
    { "berth.graph { ops = { { flops = 1 } } }",
      "berth.graph: ops[1]: unknown field 'flops' (legal: ",
      "did you mean 'flop'?" },
    { "berth.graph {}", "berth.graph: ops: is missing" },
    { "berth.graph { ops = { { flop = 1 } }, edges = { { 1, 2 } } }",
      "berth.graph: edges[1].to: there is no op 2 (ids are 1..1)" },
    { "berth.graph { ops = { { flop = 1 } }, tensors = { { 1, 2 } } }",
      "berth.graph: tensors[1]: a number is no legal key here (legal: from, to, bytes, "
        .. "resident, batch, gradient, id)" },
    { 'berth.graph { ops = { { flop = 1 } }, dtype = "bf61" }',
      'berth.graph: dtype: no dtype "bf61" (legal: fp64, fp32, tf32, bf16, fp16; did '
        .. "you mean 'bf16'?)" },
    { "berth.place(berth.graph { ops = { { flop = 1 } } }, berth.topology.mesh(2))",
      'op 1: no time for device type "" (device "d0"): no profile, and no roofline '
        .. "from 1 FLOP and 0 B at 0 FLOP/s and 0 B/s (0: unknown): the device needs a "
        .. "preset, or flops and memory_bandwidth" },
    { 'berth.pipeline { "heft", "fuze" }',
      "berth.pipeline: stages[2]: 'fuze' is unknown (legal: ",
      "did you mean 'fuse'?" },
    { 'berth.compare(g, t, "heft")',
      'berth.compare: placers: expected an array as { "heft", "etf" }, got string' },
    { 'berth.compare(g, t, { "heftt" })',
      "berth.place: placer 'heftt' is unknown (legal: ",
      "did you mean 'heft'?" },
    { 'berth.quantity("25 Gbps", "bytes/s")',
      '"25 Gbps": the unit "Gbps" is unknown: type "25 Gbit/s"' },
    { 'berth.quantity("3 TFLOPS", "flop/s")',
      '"3 TFLOPS": the unit "TFLOPS" is unknown: type "3 TFLOP/s"' },
    { 'berth.quantity("5 msec", "seconds")', '"5 msec": the unit "msec" is unknown: type "5 ms"' },
    { 'berth.quantity("16 gb", "bytes")', '"16 gb": the unit "gb" is unknown: type "16 GB"' },
    { 'berth.quantity("25 GB", "bytes/s")', '"25 GB": the unit "GB" is unknown: type "25 GB/s"' },
    { 'berth.help("plce")', 'nothing under "plce"', "did you mean 'place'?" },
    { 'berth.agents.doppler { desgin = "x" }',
      "berth.agents.doppler: unknown option 'desgin' (legal: ",
      "did you mean 'design'?" },
    { "berth.deploy.plan(g, t)", "berth.deploy.plan: batch: is missing: samples in a step" },
    { "berth.deploy.plan(g, t, { btach = 2 })",
      "berth.deploy.plan: unknown option 'btach' (legal: ",
      "did you mean 'batch'?" },
    { 'berth.placers("heftt")',
      "berth.placers: placer 'heftt' is unknown (legal: ",
      "did you mean 'heft'?" },
    { "g:op(0)", "graph:op: op: there is no op 0 (ids are 1..221)" },
    { "t:device(3)", "topology:device: device: there is no device 3 (ids are 1..2: d0 to d1)" },
    { 't:device("gpu0")', "topology:device: device: there is no device 'gpu0' (legal: d0, d1)" },
    { 'g:save("x.xyz")',
      "x.xyz: no format has the ending .xyz: name the format, or use one of these "
        .. "endings (berth: json; graphml: graphml; dot: dot gv)" },
    { "g:opp(1)", "graph has no 'opp' (legal: ", "did you mean 'op'?" },
    { "g.n_op", "graph has no 'n_op' (legal: ", "did you mean 'n_ops'?" },
    { "berth.cluster.simulate()",
      "berth.cluster.simulate: scheduler: expected a name or a table of methods, got nil" },
    { 'berth.split(g, t, { objective = "latncy" })',
      "berth.split: objective: 'latncy' is none of: max-load, latency; did you mean 'latency'?" },
    { 'berth.place(g, t, "single", { device = "d7" })',
      "berth.place: device: there is no device 'd7' (legal: d0, d1)" },
    { 'berth.place(g, t, "single", { device = 0 })',
      "berth.place: device: there is no device 0 (ids are 1..2: d0 to d1)" },
    { 'berth.placement({ 1, 2, "d0" })',
      "berth.placement: devices[3]: expected a number, the id of a device (from 1: d0 "
        .. "has 1); got string" },
    { 'berth.simulate(g, t, { "d0", "d1" })',
      "berth.simulate: placement: places 2 ops, but the graph has 221" },
    { 'berth.placement("x.json")', "berth.placement: devices: expected an array, got string" },
    { 'berth.topology { devices = { { preset = "V100" } }, links = { { "d0", "d1" } } }',
      'berth.topology: links[1].to: there is no device or switch named "d1"' },
    { 'berth.models.llama { size = "7B" }',
      'berth.models.llama: option size is "7B"; legal: 7b, 13b, 30b, 65b, 2-70b, 3-8b, '
        .. "3-70b; did you mean '7b'?" },
    { "berth.simulate(t, g, p)",
      "berth.simulate: graph: expected a graph (or a cost), got topology: the graph "
        .. "comes first, then the topology" },
    { 'berth.place(g, t, "heft", { memory = "16GB" })',
      "berth.place: memory: '16GB' is none of: none, inference, training, total" },
    { 'berth.place(g, t, "heft", { calls = -1 })',
      "berth.place: option 'calls' means nothing to heft, only to: agent, anneal, local, brkga, portfolio" },
    { 'berth.place(g, t, "m-sct", { variant = "baechi" })',
      "berth.place: variant: m-sct has no variant 'baechi' (legal: baechi-tf, baechi-pt)" },
    { 'berth.load("x.json", { format = "mlir" })', "berth.load: format: 'mlir' is none of: " },
    { 'berth.bounds(g, t, { links = "fre" })',
      "berth.bounds: links: 'fre' is none of: free, channel, duplex, pair, route, "
        .. "fair; did you mean 'free'?" },
  }
  for _, mistake in ipairs(mistakes) do
    it("types: " .. mistake[1], function()
      local message = said(mistake[1])
      for i = 2, #mistake do assert.matches(mistake[i], message, 1, true) end
    end)
  end
end)
