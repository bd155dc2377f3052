-- The command line in this process: parsing, help, and messages on bad usage.
local berth = require "berth"
local shell = require "support.shell"

local ran, run = shell.ran, shell.run

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local COMMANDS = { "place", "simulate", "compare", "bounds", "convert", "models", "repl" }
local SMALL = "model:resnet18,batch=1,granularity=block"

describe("berth: usage", function()
  it("lists its commands", function()
    local out = ran(run("--help"))
    for _, name in ipairs(COMMANDS) do
      assert.truthy(out:find("\n  " .. name .. " ", 1, true), name)
    end
    assert.equal(2, (run()))
  end)

  it("explains every command, with each of its options", function()
    for _, name in ipairs(COMMANDS) do
      local out = ran(run(name, "--help"))
      assert.truthy(out:find("usage: berth " .. name, 1, true))
      for _, option in ipairs(require("berth.cli.commands." .. name).options) do
        assert.truthy(out:find("--" .. option.name, 1, true), name .. " " .. option.name)
      end
      for line in out:gmatch("[^\n]+") do assert.is_true(#line <= 130, line) end
      assert.same({ run("help", name) }, { run(name, "--help") })
    end
  end)

  it("reports the version", function()
    local out = ran(run("--version"))
    assert.equal("berth " .. berth.version, out)
  end)

  local wrong = {
    { { "plce" }, "no command plce (legal: 18 names; berth --help lists all" },
    { { "place" }, "place: 0 arguments; usage: berth place GRAPH" },
    { { "place", "a", "b", "c" }, "place: 3 arguments" },
    { { "place", SMALL, "mesh:2", "--lnks", "free" }, "place: no option --lnks (legal: 63 names;" },
    { { "place", SMALL, "mesh:2", "-l" }, "place: no option -l; options start with --" },
    { { "place", SMALL, "mesh:2", "--links" }, "--links needs a value: NAME" },
    { { "place", SMALL, "mesh:2", "--links", "fast" },
      "--links: no \"fast\" (legal: free, channel, duplex, pair" },
    { { "place", SMALL, "mesh:2", "--seed", "1.5" },
      "--seed: a whole number of at least 0 is needed, not \"1.5\"" },
    { { "place", SMALL, "mesh:2", "--seed=1", "--seed=2" }, "--seed is given twice" },
    { { "place", SMALL, "mesh:2", "--json=1" }, "--json takes no value" },
    { { "place", SMALL, "mesh:2", "--noise", "nan" },
      "--noise: a number of at least 0 is needed, not \"nan\"" },
    { { "place", SMALL, "mesh:2", "--quantum", "1 parsec" }, "--quantum: \"1 parsec\"" },
    { { "place", SMALL }, SMALL .. " holds no topology" },
    { { "place", SMALL, "mesh:2" }, "device d0 has no rates: give the topology preset=NAME, as in mesh:4,preset=V100" },
    { { "place", "model:resnet51", "mesh:2" }, "no model \"resnet51\" (legal: 35 names;" },
    { { "place", "model:", "mesh:2" }, "a name is needed, as in model:resnet50" },
    { { "place", "model:resnet18,batch", "mesh:2" }, "KEY=VALUE is needed, not \"batch\"" },
    { { "place", "model:resnet18,batch=1,batch=2", "mesh:2" }, "batch is given twice" },
    { { "place", "model:resnet18,batch=none", "mesh:2" },
      "option batch is \"none\"; a whole number" },
    { { "place", SMALL, "torus:4x" },
      "size \"4x\": a whole number from 1 is needed, as in torus:4x4" },
    { { "place", SMALL, "mesh:two" },
      "size \"two\": a whole number from 1 is needed, as in mesh:4" },
    { { "place", SMALL, "mesh" }, "mesh needs its size, as in mesh:4" },
    { { "place", SMALL, "two_level:2" }, "two_level needs two sizes, as in two_level:2x4" },
    { { "place", SMALL, "torus" }, "torus needs its size, as in torus:4x4" },
    { { "place", SMALL, "dgx1:8" }, "dgx1 takes no size, as in dgx1" },
    { { "place", SMALL, "mesh:2,bandwidth=25" },
      "bandwidth: \"25\" has no unit; write it as in 25GB/s" },
    { { "place", SMALL, "mesh:2,latency=1e-6" },
      "latency: \"1e-6\" has no unit; write it as in 1e-6s" },
    { { "place", SMALL, "mesh:2,memory=16" }, "memory: \"16\" has no unit; write it as in 16GB" },
    { { "place", SMALL, "mesh:2", "--quantum", "1" },
      "--quantum: \"1\" has no unit; write it as in 1s" },
    { { "place", SMALL, "mesh:2", "--file-bandwidth", "16e9" },
      "--file-bandwidth: \"16e9\" has no unit" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "heft", "--variant", "x" },
      "heft has no variants" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "m-etf", "--variant", "x" },
      "m-etf has no variant 'x' (legal: baechi-tf, baechi-pt)" },
    { { "place", SMALL, "mesh:2,preset=V101" }, "no device preset \"V101\"; there are 18 names" },
    { { "place", SMALL, "mesh:2,speed=fast" }, "speed: a number is needed, not \"fast\"" },
    { { "place", SMALL, "mesh:2,preset=V100,width=3" }, "unknown option 'width'" },
    { { "place", SMALL, "nowhere.json" }, "topologies are files or generators: mesh:4" },
    { { "place", "nowhere.json", "mesh:2" }, "nowhere.json: cannot be opened" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "best" },
      "--placer: no \"best\" (legal: " },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "etf", "--tries", "3" },
      "option 'tries' means nothing to etf" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placed-graph", "x.png" },
      "must end in one of .graphml, .dot, .gv" },
    { { "place", SMALL, "mesh:2,preset=V100", "--format", "stg" },
      "options of file formats do not apply to a model" },
    { { "simulate", SMALL, "mesh:2,preset=V100" }, "--placement is needed" },
    { { "simulate", SMALL, "mesh:2,preset=V100", "--placement", "single:3" },
      "the topology has no device 3 (legal: d0 to d1, or 1 to 2)" },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "," },
      "at least one name is needed, as in heft,m-etf; there are" },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "heft:tau" },
      'heft: "tau" is neither KEY=VALUE nor a variant' },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "m-sct:x" },
      "variants: baechi-tf, baechi-pt" },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "heft:tau=0.1" },
      "option 'tau' means nothing to heft" },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "m-sct:tau=1:tau=1" },
      "m-sct: tau is given twice" },
    { { "compare", SMALL, "mesh:2,preset=V100", "--placers", "m-sct:baechi-tf:links=duplex" },
      "sets its own links" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "coplace+fuse" },
      "there is no placer among them" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "coplace:max_bytes=5+heft" },
      '"5" has no unit' },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "heft+coplace" },
      "is a transform: it must come before the placer" },
    { { "place", SMALL, "mesh:2,preset=V100", "--placer", "heft", "--rows" },
      "--rows: is for the portfolio" },
    { { "place", SMALL, "mesh:2,preset=V100", "--thorough", "--noise", "0.1" },
      "--thorough: no bound holds with --noise or --quantum" },
    { { "repair", SMALL, "mesh:2,preset=V100" }, "repair: --placement is needed" },
    { { "convert", SMALL, "x.txt" }, "x.txt: no format has the ending .txt: name the format" },
    { { "convert", SMALL, "-", "--topology", "x.json" }, "holds no topology" },
    { { "models", "resnet51" }, "no model \"resnet51\"" },
  }
  for _, case in ipairs(wrong) do
    it("refuses: berth " .. table.concat(case[1], " "), function()
      local exit, out, err = run(unpack(case[1]))
      assert.equal(2, exit, out)
      assert.equal("", out)
      assert.truthy(err:find(case[2], 1, true), err)
    end)
  end
end)
