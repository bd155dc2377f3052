-- berth check, the rates of presets, units, names of devices, and the manual page.
local berth = require "berth"
local man = require "berth.cli.man"
local rates = require "berth.topology.rates"
local shell = require "support.shell"

local run, ran, failed = shell.run, shell.ran, shell.failed
local SMALL = "model:rnnlm,batch=2,granularity=layer"

describe("berth check", function()
  after_each(shell.tidy)

  it("counts what is in a graph, a topology, a placement", function()
    local stg = shell.file(".stg", "2\n0 0 0\n1 5 1 0\n2 3 1 0\n3 0 2 1 2\n")
    local out = ran(run("check", stg))
    assert.matches(stg .. ": stg", out, 1, true)
    assert.matches("ops%s+4\n", out)
    assert.matches("sum of times%s+8\n", out) -- without a unit
    assert.matches("units%s+those of the file", out)
    out = ran(run("check", SMALL .. ",dtype=fp16"))
    assert.matches("dtype%s+fp16", out)
    assert.matches("units%s+s, bytes, FLOP", out)
    assert.matches("parameters%s+[%d.]+ MB", out)
    assert.matches("device types%s+4 V100", ran(run("check", "mesh:4,preset=V100")))
    local path = shell.path ".json"
    ran(run("place", SMALL, "mesh:2,preset=V100", "--placer", "heft", "--output", path))
    assert.matches("devices used%s+[12]\n", ran(run("check", path)))
  end)

  it("knows traces, plans, agents and problems", function()
    local trace = shell.file(".csv", "jobid,submitted_time,run_time,num_gpu\na,0,5,1\n")
    local _, out, err = run("check", trace)
    assert.matches("trace of jobs", out .. err, 1, true)
    local plan = shell.path ".json"
    ran(run("deploy", "tag:bert_small,batch=6", "tag:sfb_trio", "--calls", "3", "--reasons", "0",
      "--out", plan))
    assert.matches("plan of berth deploy", ran(run("check", plan)), 1, true)
    local agent = shell.path ".agent"
    ran(run("train", "gdp", SMALL, "--topology", "mesh:2,preset=V100", "--episodes", "4", "--batch",
      "2", "--save", agent))
    assert.matches("kind%s+gdp", ran(run("check", agent)))
    local problem = shell.path ".json"
    assert(berth.pdors.problem(berth.pdors.generate { jobs = 2, machines = 2, slots = 4,
      seed = 1 }):save(problem))
    assert.matches("problem of berth cluster pdors", ran(run("check", problem)), 1, true)
  end)

  it("says where a file is wrong", function()
    local bad = shell.file(".json", '{"berth": 1, "ops": [}')
    failed(2, bad .. ":1: not valid JSON", run("check", bad))
    failed(2, "as a trace of jobs:", run("check", shell.file(".txt", "hello\n")))
    for ending, text in pairs { [".json"] = '{"ops": ["a"]}', [".html"] = "<!DOCTYPE html>\n" } do
      local exit, out, err = run("check", shell.file(ending, text))
      assert.same({ 2, "" }, { exit, out })
      assert.matches("not in a known format", err, 1, true)
      assert.is_nil(err:find("trace of jobs", 1, true))
    end
  end)

  it("reads a table of jobs by its columns", function()
    local jobs = shell.file(".csv", "at,took,n\n0,2,1\n60,3,4\n")
    local out = ran(run("check", jobs, "--columns", "arrival=at,work=took:min,gpus=n"))
    assert.matches("trace (columns)", out, 1, true)
    assert.matches("most gpus of a job +4\n", out)
    failed(2, "no column for gpus", run("check", jobs, "--columns", "arrival=at,work=took"))
  end)
end)

describe("the rate of a model on a preset", function()
  local function line(dtype, options, form)
    return rates.line(berth.models.rnnlm { batch = 2, granularity = "layer", dtype = dtype },
      berth.topology.mesh(2, options), form)
  end

  it("is that of its dtype, and the output says which one", function()
    assert.equal("roofline: 989 TFLOP/s (bf16 of preset H100)",
      line("bf16", { preset = "H100" }, "roofline"))
    assert.equal("roofline: 312 TFLOP/s (bf16 of preset A100)",
      line(2, { preset = "A100" }, "roofline"))
    assert.equal("roofline: 156 TFLOP/s (tf32 of preset A100, for fp32)",
      line("fp32", { preset = "A100" }))
    assert.equal("roofline: 15.7 TFLOP/s (fp32 of preset V100, which has no bf16)",
      line("bf16", { preset = "V100" }))
    assert.equal("roofline: 100 TFLOP/s (flops of device d0, whatever the dtype)",
      line("bf16", { preset = "V100", flops = "100 TFLOP/s" }))
    assert.equal("kernels: A100 bf16, peak 312 TFLOP/s, constants fitted to A100 bf16; "
      .. "73 of 221 ops by shape", line("bf16", { preset = "A100" }))
    assert.equal("kernels: V100 fp16, peak 125 TFLOP/s, constants of A100 bf16, not fitted to it; "
      .. "73 of 221 ops by shape", line("fp16", { preset = "V100" }, "kernels"))
    assert.is_nil(rates.line(berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(2)))
    assert.matches("roofline: 125 TFLOP/s (fp16 of preset V100)",
      ran(run("place", SMALL .. ",dtype=fp16", "mesh:2,preset=V100", "--placer", "heft")), 1, true)
  end)

  it("prices ops, of saved and of transformed graphs, too", function()
    local function time(dtype)
      local g = berth.graph { dtype = dtype, ops = { { flop = 312e12 } } }
      return berth.cost(g, berth.topology.mesh(1, { preset = "A100", overhead = 0 })):op(1, "d0")
    end
    assert.near(1, time "bf16", 1e-12)
    assert.near(2, time "fp32", 1e-12)
    assert.near(2, time(nil), 1e-12)
    local g = berth.models.rnnlm { batch = 2, granularity = "layer", dtype = "bf16" }
    assert.equal("bf16", berth.parse(g:to_string "berth").dtype)
    assert.equal("bf16", g:fuse().dtype)
    assert.equal("bf16", g:forward().dtype)
    assert.equal("fp32", berth.graph { dtype = "fp32", ops = { { flop = 1 } } }:mirror().dtype)
  end)
end)

describe("a graph without units", function()
  after_each(shell.tidy)

  it("prints bare numbers", function()
    local stg = shell.file(".stg", "2\n0 0 0\n1 5 1 0\n2 3 1 0\n3 0 2 1 2\n")
    local out = ran(run("place", stg, "--devices", "2", "--placer", "heft"))
    assert.matches("step time 5 on 2 devices, bound 5 ", out, 1, true)
    assert.matches("estimate 5 (heft)", out, 1, true)
    for _, command in ipairs { "bounds", "split", "compare", "simulate" } do
      out = ran(run(command, stg, "--devices", "2", command == "simulate" and "--placement=single:d0"
        or command == "compare" and "--placers=heft,etf" or nil))
      assert.is_nil(out:find "%d m?s%f[%A]", out)
    end
    local g = assert(berth.load(stg))
    assert.is_true(g.unitless and berth.parse(g:to_string "berth").unitless)
  end)
end)

describe("devices", function()
  it("are named in the same way on the command line, in Lua and in messages", function()
    local function placed(device)
      return ran(run("place", SMALL, "mesh:2,preset=V100", "--placer", "single", "--device", device))
    end
    assert.equal(placed "d1", placed "2")
    local function simulated(spec)
      return ran(run("simulate", SMALL, "mesh:2,preset=V100", "--placement", spec))
    end
    assert.equal(simulated "single:d1", simulated "single:2")
    local t = berth.topology.mesh(2)
    assert.same(t:device(2), t:device "d1")
  end)
end)

describe("berth split", function()
  it("explains links that are not alike, and what its words mean", function()
    failed(2, "links of all pairs must be alike; berth place prices each link",
      run("split", SMALL, "dgx1,preset=V100"))
    local help = ran(run("split", "--help"))
    for _, words in ipairs { '"latency infinite":', "no\ncontiguous split has a smaller",
      "On unlike links" } do
      assert.matches(words, help, 1, true)
    end
  end)
end)

describe("the manual page", function()
  it("is made from the descriptors (scripts/docs-tables makes it anew)", function()
    assert.equal(man.page(), shell.read "docs/berth.1")
  end)

  it("has every command and option, and macros that troff reads", function()
    local page, known = man.page(), { TH = true, SH = true, SS = true, TP = true, B = true,
      I = true, nf = true, fi = true }
    for line in page:gmatch "[^\n]+" do
      if line:find "^['.]" then assert.is_true(known[line:match "^%.(%u?%l?%u?%l?)"] or false, line) end
    end
    for _, name in ipairs(require("berth.cli.command_list").names) do
      assert.matches(".SS berth " .. name, page, 1, true)
    end
  end)

  it("reads without warnings", function()
    local warnings = shell.capture("command -v groff >/dev/null && groff -man -Tascii -wall "
      .. "docs/berth.1 2>&1 >/dev/null")
    assert.equal("", warnings)
  end)
end)
