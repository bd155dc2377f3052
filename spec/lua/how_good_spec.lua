-- docs/how-good.md: its generator on two tiny pairs, and the pairs themselves.
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local measure = require "how_good.measure"
local pairs_of_document = require "how_good.pairs"
local text = require "how_good.text"

local OPTIONS = { seed = 1, calls = 60, refine = 60, tries = 1 }

local function mesh(n, memory) return berth.topology.mesh(n, { bandwidth = "1 GB/s", latency = "1 ms", memory = memory }) end

-- Two chains that meet; each op has 1 MB of parameters.
local function fork()
  local ops = {}
  for i = 1, 7 do ops[i] = { seconds = 1e-3 * i, params = "1 MB" } end
  return assert(berth.graph { ops = ops, edges = { { 1, 2, 1e5 }, { 2, 3, 1e5 }, { 4, 5, 1e5 }, { 5, 6, 1e5 }, { 3, 7, 10 },
    { 6, 7, 10 } } })
end

local function results()
  local ample = { graph = "ample", devices = "2 alike", links = "free", memory = nil }
  local tight = { graph = "tight", devices = "N alike", links = "fair", memory = nil }
  local out = { measure.pair(ample, fork(), mesh(2), OPTIONS), measure.pair(tight, fork(), mesh(3, "4 MB"), OPTIONS) }
  out[1].id, out[2].id = 1, 2
  return out
end

local function about(fields)
  local out = { command = "how-good", seed = 1, calls = 60, refine = 60, skipped = {}, date = "day", interpreter = "Lua",
    yardstick = "1 ns" }
  for key, value in pairs(fields or {}) do out[key] = value end
  return out
end

-- The document without its last section.
local function lasting(document) return (document:gsub("## Times of this run.*", "")) end

local function rows_of(document, heading)
  local rows = {}
  local section = document:match("\n## " .. heading .. "\n\n(.-)\n\n") or error("no section " .. heading)
  for line in section:gmatch("[^\n]+") do
    local cells = {}
    for cell in line:gmatch("| ([^|]+) ") do cells[#cells + 1] = cell end
    if #cells > 0 then rows[#rows + 1] = cells end
  end
  return rows
end

describe("how good is an answer", function()
  local found = results()
  local document = text.document(found, about())

  it("has a row for every placer, and one that is the best", function()
    for _, result in ipairs(found) do
      assert.equal(#berth.placers() + 1, #result.rows)
      local best = 0
      for i, row in ipairs(result.rows) do
        assert.equal(measure.placers()[i], row.name)
        local to_best, to_bound = measure.ratios(result, row)
        assert.is_true(to_best ~= nil or row.error ~= nil or row.oom ~= nil)
        if to_best then
          assert.is_true(to_best >= 1 and to_bound >= to_best * (1 - 1e-12))
          best = best + (to_best == 1 and 1 or 0)
        end
      end
      assert.is_true(best >= 1)
    end
  end)

  it("says what the simulator says", function()
    for _, result in ipairs(found) do
      local t = result.id == 1 and mesh(2) or mesh(3, "4 MB")
      for _, row in ipairs(result.rows) do
        if row.placement then
          local r = berth.simulate(fork(), t, row.placement:devices(), { links = result.pair.links })
          assert.equal(r.makespan, row.makespan)
        end
      end
    end
  end)

  it("finds the optimum of the fork, and its bound", function()
    -- 4, 5, 6 take 15 ms in line and 7 more 7 ms; 1, 2, 3 take 6 ms beside them and cross in 1 ms
    assert.near(22e-3, found[1].best.makespan, 1e-12)
    assert.is_true(found[1].bound.best <= 22e-3 * (1 + 1e-12))
  end)

  it("shows who has no answer, and why", function()
    -- seven megabytes on one device of four
    local refused = rows_of(document, "Without an answer")
    assert.same({ "pair", "placer", "what it says" }, refused[1])
    local single
    for _, cells in ipairs(refused) do single = cells[2] == "single" and cells or single end
    assert.equal("2", single[1])
    assert.matches("^infeasible: single: ", single[3])
    local tables = rows_of(document, "Step time over the best found")
    assert.same({ "placer", "1", "2" }, tables[1])
    assert.equal("single", tables[2][1])
    assert.equal("refused", tables[2][3])
  end)

  it("has bold only where it is 1.000, and no ratio below", function()
    for _, heading in ipairs { "Step time over the best found", "Step time over the lower bound" } do
      local rows = rows_of(document, heading)
      assert.equal(#berth.placers() + 2, #rows)
      for i = 2, #rows do
        assert.equal(3, #rows[i])
        for k = 2, 3 do
          local shown = tonumber((rows[i][k]:gsub("%*", "")))
          if heading:match("best") and rows[i][k]:match("%*") then assert.equal(1, shown) end
          assert.is_true(shown == nil or shown >= 1)
        end
      end
    end
  end)

  it("counts as its tables show", function()
    local rows = rows_of(document, "The placers")
    assert.equal(#berth.placers() + 2, #rows)
    for i = 2, #rows do
      assert.equal(10, #rows[i])
      local best, answers, oom, refused = tonumber(rows[i][6]), tonumber(rows[i][8]), tonumber(rows[i][9]), tonumber(rows[i][10])
      assert.equal(2, answers + oom + refused)
      assert.is_true(best <= answers)
      if rows[i][1] == "single" then assert.same({ 1, 1 }, { answers, refused }) end
    end
    assert.is_truthy(rows[1][2]:match("on the 1 pairs that all answer"))
  end)

  it("is the same at each run but for the times", function()
    local again = text.document(results(), about { date = "another", yardstick = "2 ns" })
    assert.equal(lasting(document), lasting(again))
    assert.is_truthy(again:match("another, Lua; machine yardstick 2 ns"))
  end)

  it("names the pairs whose files are not there", function()
    local without = text.document(found, about { skipped = { 13, 14 } })
    assert.is_truthy(without:find("Left out, as their files are not there: pairs 13, 14.", 1, true))
    assert.is_nil(document:find("Left out", 1, true))
  end)

  it("refuses a bound above a step time", function()
    local bounds = berth.bounds
    berth.bounds = function(...)
      local b = bounds(...)
      return { best = 2 * b.best, name = b.name }
    end
    local ok, message = pcall(measure.pair, { graph = "ample", links = "free" }, fork(), mesh(2), OPTIONS)
    berth.bounds = bounds
    assert.is_false(ok)
    assert.matches("^ample: bound .* is above", message)
  end)

  it("has twenty pairs, twelve of which need no files", function()
    assert.equal(20, #pairs_of_document)
    local built = 0
    for _, pair in ipairs(pairs_of_document) do
      if not pair.file then
        built = built + 1
        assert.is_true(#pair.cluster() > 1)
      end
    end
    assert.equal(12, built)
  end)

  it("draws its own graphs the same every time, and prices all kernels", function()
    local graphs = require "how_good.graphs"
    assert.equal(graphs.layered(60):to_string("berth"), graphs.layered(60):to_string("berth"))
    -- 3 x 3 tiles: 3 potrf, 3 trsm, 3 syrk, 1 gemm
    local kinds = {}
    for op in graphs.cholesky(3):ops() do kinds[op.kind] = (kinds[op.kind] or 0) + 1 end
    assert.same({ potrf = 3, trsm = 3, syrk = 3, gemm = 1 }, kinds)
  end)
end)

describe("docs/how-good.md", function()
  local file = assert(io.open("docs/how-good.md"))
  local document = file:read("*a")
  file:close()

  it("has all placers on all its pairs, of this version", function()
    assert.is_truthy(document:find("\nberth " .. berth.version .. ", seed ", 1, true))
    local n = #rows_of(document, "The pairs") - 1
    for _, heading in ipairs { "Step time over the best found", "Step time over the lower bound" } do
      local rows, names = rows_of(document, heading), {}
      for i, cells in ipairs(rows) do
        assert.equal(n + 1, #cells)
        if i > 1 then names[i - 1] = cells[1] end
        for k = 2, #cells do assert.is_true((tonumber((cells[k]:gsub("%*", ""))) or 1) >= 1) end
      end
      assert.same(measure.placers(), names)
    end
  end)
end)

describe("its command", function()
  local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"

  local function run(options, environment)
    local command = ("LUA_PATH='%s' LUA_CPATH='%s' %s %s scripts/bench/how_good.lua %s 2>&1; echo exit $?"):format(package.path,
      package.cpath, environment or "", lua, options)
    local pipe = assert(io.popen(command))
    local out = pipe:read("*a")
    pipe:close()
    return out, tonumber(out:match("exit (%d+)\n$"))
  end

  local function refused(options, message)
    local out, status = run(options)
    assert.equal(2, status)
    assert.is_truthy(out:find(message, 1, true), out)
  end

  it("lists its pairs, and tells what it does not know", function()
    local out, status = run("--list")
    assert.equal(0, status)
    assert.matches("^ 1  ResNet%-50, training, .-\n 2  .*\n20  ", out)
    refused("--pairs 21", "--pairs: 21: there are pairs 1 to 20")
    refused("--pairs ,", "--pairs: none in ','")
    refused("--calls many", "--calls: expected a whole number, got 'many'")
    refused("--calls 0", "--calls: at least 1")
    refused("--seed", "--seed: expected a whole number, got 'nil'")
    refused("--speed 3", "--speed: not an option")
  end)

  it("writes one pair, with its own command", function()
    local out, status = run("--pairs 5 --calls 40 --refine 40 --date today --yardstick slow")
    assert.equal(0, status)
    assert.is_truthy(out:find("\n    scripts/bench/how-good --pairs 5 --calls 40 --refine 40\n", 1, true), out)
    assert.is_truthy(out:find("\ntoday, ", 1, true))
    assert.equal("VGG-19, training, batch 64, layers", rows_of(out, "The pairs")[2][2])
  end)

  it("leaves out what has no file", function()
    local out, status = run("--pairs 13", "BERTH_SHARED=spec/none")
    assert.equal(2, status)
    assert.is_truthy(out:find("13 DOPPLER chain mm: left out, no spec/none/data/doppler/gdp_chain_mm_112nodes.txt", 1, true), out)
    assert.is_truthy(out:find("no pair is left", 1, true))
  end)
end)
