-- docs/how-good.md: its generator on two tiny pairs, and the pairs themselves.
package.path = "scripts/bench/?.lua;spec/?.lua;" .. package.path
local berth = require "berth"
local copies = require "how_good.copies"
local lineup = require "how_good.lineup"
local measure = require "how_good.measure"
local pairs_of_document = require "how_good.pairs"
local text = require "how_good.text"
local raised = require("support.errors").raised
local merged = require "support.merged"
local shell = require "support.shell"

local OPTIONS = { seed = 1, seeds = 2, calls = 30, refine = 1200, tries = 2 }

local function mesh(n, memory)
  return berth.topology.mesh(n, { bandwidth = "1 GB/s", latency = "1 ms", memory = memory })
end

-- Two chains that meet; each op has 1 MB of parameters.
local function fork()
  local ops = {}
  for i = 1, 7 do ops[i] = { seconds = 1e-3 * i, params = "1 MB" } end
  return assert(berth.graph { ops = ops,
    edges = { { 1, 2, 1e5 }, { 2, 3, 1e5 }, { 4, 5, 1e5 }, { 5, 6, 1e5 }, { 3, 7, 10 },
    { 6, 7, 10 } } })
end

local function results()
  local ample = { graph = "ample", devices = "2 alike", links = "free", memory = nil }
  local tight = { graph = "tight", devices = "N alike", links = "fair", memory = nil }
  local out = { measure.pair(ample, fork(), mesh(2), OPTIONS),
    measure.pair(tight, fork(), mesh(3, "4 MB"), OPTIONS) }
  out[1].id, out[2].id = 1, 2
  return out
end

local function about(fields)
  return merged({ command = "how-good", seed = 1, seeds = 2, calls = 30, refine = 1200, tries = 2,
    skipped = {}, date = "day",
    interpreter = "Lua", yardstick = "1 ns" }, fields)
end

-- The same with other fields.
local function varied(object, fields)
  local out = {}
  for key, value in pairs(object) do out[key] = value end
  for key, value in pairs(fields) do out[key] = value end
  return out
end

-- The document without its last section.
local function lasting(document) return (document:gsub("## Times of this run.*", "")) end

local function rows_of(document, heading)
  local rows = {}
  local section = document:match("\n## " .. heading .. "\n\n(.-)\n\n")
    or error("no section " .. heading)
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
      assert.equal(#berth.placers() + 1, #result.rows) -- without exact, with two that refine
      local best = 0
      for i, row in ipairs(result.rows) do
        assert.equal(measure.names(OPTIONS)[i], row.name)
        local to_best, to_bound = measure.ratios(result, row)
        assert.is_true(to_best ~= nil or row.error ~= nil or row.oom ~= nil)
        if to_best then
          assert.is_true(to_best >= 1 and to_bound >= to_best * (1 - 1e-12))
          best = best + (to_best == 1 and 1 or 0)
        end
      end
      assert.equal(1, (measure.ratios(result, result.rows[#result.rows])))
      assert.is_true(best >= 1)
    end
  end)

  it("says what the simulator says", function()
    for _, result in ipairs(found) do
      local t = result.id == 1 and mesh(2) or mesh(3, "4 MB")
      for _, row in ipairs(result.rows) do
        if row.placement then
          local r = berth.simulate(fork(), t, row.placement:devices(),
            { links = result.pair.links })
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
    for _, heading in ipairs { "Step time over the best found",
      "Step time over the lower bound" } do
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
      assert.equal(11, #rows[i])
      local best, answers, oom, refused = tonumber(rows[i][7]), tonumber(rows[i][9]),
        tonumber(rows[i][10]), tonumber(rows[i][11])
      assert.equal(2, answers + oom + refused)
      assert.is_true(best <= answers)
      if rows[i][1] == "single" then assert.same({ 1, 1 }, { answers, refused }) end
    end
    assert.is_truthy(rows[1][2]:match("on the 1 pairs that all answer"))
  end)

  it("has one reference, which comes last, and seeds of those that draw", function()
    local rows = rows_of(document, "The placers")
    assert.equal("best of these + anneal, 1,200 calls (reference)", rows[#rows][1])
    local seeded = {}
    for i = 2, #rows do
      if rows[i][3] ~= "-" then seeded[#seeded + 1] = rows[i][1] end
    end
    table.sort(seeded)
    assert.same({ "anneal, 30 calls", "brkga, 30 calls", "critical-path, best of 2",
      "local, 30 calls", "members of the portfolio", "metis", "portfolio", "random" }, seeded)
    local spread = rows_of(document, "Over seeds\n\nStep [^\n]*\n[^\n]*")
    assert.same({ "pair", "random", "metis" }, { spread[1][1], spread[1][2], spread[1][3] })
    assert.equal(3, #spread)
  end)

  it("counts the best over all seeds", function()
    for _, result in ipairs(found) do
      for i, runs in pairs(result.runs) do
        assert.equal(2, #runs)
        assert.equal(result.rows[i], runs[1])
        assert.same({ 1, 2 }, { runs[1].seed, runs[2].seed })
        for _, row in ipairs(runs) do
          local ratio = measure.ratios(result, row)
          assert.is_true(ratio == nil or ratio >= 1)
        end
      end
    end
  end)

  it("names the seed where no row of the tables is the best", function()
    local winner = { name = "anneal, 30 calls", seed = 2, makespan = 21e-3 }
    local one = varied(found[1], { best = winner, found = winner })
    local names = rows_of(text.document({ one }, about()), "The pairs")[2][7]
    assert.equal("anneal, 30 calls, seed 2", names)
    one.best = { makespan = 20e-3 }
    assert.equal("reference", rows_of(text.document({ one }, about()), "The pairs")[2][7])
  end)

  it("splits wide gaps, and those alone", function()
    assert.is_nil(found[1].gaps) -- the bound is reached
    local wide = varied(found[2],
      { gaps = { bound = 10, bound_name = "work", gap = 3, placement = 0, queue_rule = 1, open = 2,
      found = { rule = "blevel" } } })
    local section = text.document({ wide }, about()):match("\n## Whose the gap is\n(.-)\n## ")
    assert.is_truthy(section:find("| 2 | work | 30.0 % | 0.0 % | 10.0 % | blevel | 20.0 % |", 1,
      true), section)
    for _, result in ipairs(found) do
      assert.equal(result.best.makespan > 1.05 * result.bound.best, result.gaps ~= nil)
    end
  end)

  it("is beside published values, where there are some", function()
    assert.is_nil(document:find("Beside published values", 1, true))
    local pair = varied(found[1].pair,
      { published = { best = 11, bound = 10 }, unit = { name = "2 ms", seconds = 2e-3 } })
    local one = varied(found[1], { pair = pair })
    local section = text.document({ one }, about()):match("\n## Beside published values\n(.-)\n## ")
    local row =
      ("| 1 | 11.0000 | 11.0000 | 1.00000 | 10.0000 | %.4f |"):format(one.bound.best / 2e-3)
    assert.is_truthy(section:find(row, 1, true), section)
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
    local ok, message = pcall(measure.pair, { graph = "ample", links = "free" }, fork(), mesh(2),
      OPTIONS)
    berth.bounds = bounds
    assert.is_false(ok)
    assert.matches("^ample: bound .* is above", message)
  end)

  it("has twenty pairs, fourteen of which need no files", function()
    assert.equal(20, #pairs_of_document)
    local built = 0
    for _, pair in ipairs(pairs_of_document) do
      if not pair.file then
        built = built + 1
        local t = pair.cluster()
        assert.is_true(#t > 1)
        assert.is_true(#pair.make(t) > 50)
      end
    end
    assert.equal(14, built)
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

describe("copies of a training step", function()
  -- Forward and backward of two layers, which share devices with their updates.
  local function step()
    local function op(name, seconds, group, fields)
      fields.name, fields.seconds, fields.group = name, seconds, group
      return fields
    end
    return assert(berth.graph {
      ops = {
        op("f1", 1, 1, { params = 8, twin = "b1" }), op("f2", 1, 2, { params = 4, twin = "b2" }),
        op("b2", 2, 2, { twin = "f2", backward = true }),
          op("b1", 2, 1, { twin = "f1", backward = true }),
        op("u2", 3, 2, { params = 8, update = true }),
          op("u1", 3, 1, { params = 16, update = true }),
      },
      tensors = {
        { from = "f1", to = { "f2", "b1" }, bytes = 100 }, { from = "f2", to = "b2", bytes = 100 },
        { from = "b2", to = "b1", bytes = 100 },
        { from = "b2", to = "u2", bytes = 4, gradient = true },
        { from = "b1", to = "u1", bytes = 8, gradient = true },
      },
    })
  end

  it("micro-batches share parameters, groups and updates", function()
    local g = copies.micro_batches(step(), 3)
    assert.same({ 14, 15, 2 }, { #g, g.n_tensors, g.n_groups })
    local params = 0
    for op in g:ops() do params = params + op.params end
    assert.equal(8 + 4 + 8 + 16, params)
    assert.same({ 1, 2, 2, 1, "b1 2" },
      { g:op(5).group, g:op(6).group, g:op(7).group, g:op(8).group, g:op(g:op(5).twin).name })
    assert.same({ 3, 7, 11 }, g:predecessors(g:find("u2")))
    assert.same({ 6, 8 }, g:successors(5))
    local devices = {}
    for i = 1, 14 do devices[i] = 1 end
    assert.equal(3 * (1 + 1 + 2 + 2) + 3 + 3, berth.simulate(g, mesh(2), devices).makespan)
  end)

  it("replicas stay on their type, and reduce every gradient", function()
    local t = assert(berth.topology {
      devices = { { type = "left" }, { type = "left" }, { type = "right" } },
      links = { { 1, 2, bandwidth = 1e9 }, { 2, 3, bandwidth = 1e9 }, { 1, 3, bandwidth = 1e9 } },
    })
    local g = copies.data_parallel(step(), t)
    assert.same({ 12, 6, 2, 4 }, { #g, g.n_tensors, g.n_collectives, g.n_groups })
    assert.same({ "left", "right" }, g.types)
    assert.equal(math.huge, g:op(1).seconds[2])
    assert.equal(math.huge, g:op(7).seconds[1])
    assert.equal(g:op(1).seconds[1], g:op(7).seconds[2])
    assert.same({ 3, 4 }, { g:op(7).group, g:op(8).group })
    local reduced = g:collective(1)
    assert.same({ "allreduce", 4 }, { reduced.kind, reduced.bytes })
    assert.same({ { 3, 9 }, { 5, 11 } }, { reduced.members, reduced.consumers })
    local p = assert(berth.place(g, t, "m-etf"))
    for i = 1, 12 do assert.equal(i > 6, p[i] == 3) end
  end)

  it("refuses a graph whose updates do not come last", function()
    local g = berth.graph { ops = { { seconds = 1, update = true }, { seconds = 1 } } }
    assert.matches("an update before other ops$", raised(copies.micro_batches, g, 2))
  end)
end)

describe("the rows", function()
  it("say how many calls they may make", function()
    local names = {}
    for _, entry in ipairs(lineup.rows { calls = 2000, refine = 1234567, tries = 50 }) do
      names[entry.name] = entry
    end
    assert.is_nil(names.exact)
    assert.equal(2000, names["anneal, 2,000 calls"].calls)
    assert.equal(50, names["critical-path, best of 50"].tries)
    assert.equal(0, names["members of the portfolio"].calls)
    assert.is_true(names["best of these + anneal, 1,234,567 calls (reference)"].reference)
  end)

  it("write thousands", function()
    for n, shown in pairs { [1] = "1", [999] = "999", [1000] = "1,000", [50000] = "50,000",
      [1234567] = "1,234,567" } do
      assert.equal(shown, lineup.thousands(n))
    end
  end)
end)

describe("docs/how-good.md", function()
  local document = shell.read("docs/how-good.md")

  it("has all placers on all its pairs, of this version", function()
    assert.is_truthy(document:find("\nberth " .. berth.version .. ", seed ", 1, true))
    local n = #rows_of(document, "The pairs") - 1
    for _, heading in ipairs { "Step time over the best found",
      "Step time over the lower bound" } do
      -- the columns of a placer are in several tables
      local names, columns = {}, {}
      local section = document:match("\n## " .. heading .. "\n(.-)\n## ")
      for name, cells in section:gmatch("\n| ([^|]+) |([^\n]*)|") do
        if not columns[name] then names[#names + 1], columns[name] = name, 0 end
        for ratio in cells:gmatch("[^| *]+") do
          columns[name] = columns[name] + 1
          assert.is_true(name == "placer" or (tonumber(ratio) or 1) >= 1)
        end
      end
      local expected = measure.names(lineup.defaults)
      table.insert(expected, 1, "placer")
      expected[#expected] = "reference"
      assert.same(expected, names)
      for _, each in ipairs(names) do assert.equal(n, columns[each]) end
    end
  end)
end)

describe("its command", function()
  local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"

  local function run(options, environment)
    local paths = ("LUA_PATH='%s' LUA_CPATH='%s' "):format(package.path, package.cpath)
    local command = ("%s %s scripts/bench/how_good.lua %s 2>&1; echo exit $?"):format(
      environment or "", lua, options)
    local out = shell.capture(paths .. command)
    return out, tonumber(out:match("exit (%d+)\n$"))
  end

  local function refused(options, message)
    local out, status = run(options)
    assert.equal(2, status)
    assert.is_truthy(out:find(message, 1, true), out)
  end

  it("lists its pairs, and reports what is unknown", function()
    local out, status = run("--list")
    assert.equal(0, status)
    assert.matches("^ 1  ResNet%-50, training, .-\n 2  .*\n20  ", out)
    refused("--pairs 21", "--pairs: 21: there are pairs 1 to 20")
    refused("--pairs ,", "--pairs: none in ','")
    refused("--calls many", "--calls: expected a whole number, got 'many'")
    refused("--calls 0", "--calls: at least 1")
    refused("--seed", "--seed: expected a whole number, got 'nil'")
    refused("--speed 3", "--speed: not an option")
    refused("5", "5: not an option")
    refused("--seeds 0", "--seeds: at least 1")
  end)

  it("says how to call it", function()
    local out, status = run("--help")
    assert.equal(0, status)
    for _, option in ipairs { "pairs", "calls", "refine", "tries", "seed", "seeds", "date",
      "yardstick", "list", "help" } do
      assert.is_truthy(out:find("\n  --" .. option .. " ", 1, true), option)
    end
    for option, default in pairs(lineup.defaults) do
      assert.equal(("(%d)"):format(default),
        out:match("\n  %-%-" .. option .. " N[^\n]*(%(%d+%))\n"), option)
    end
    local pipe = assert(io.popen("scripts/bench/how-good --help 2>&1"))
    assert.equal(out:gsub("exit 0\n$", ""), pipe:read("*a"))
    pipe:close()
  end)

  it("writes one pair, with its own command", function()
    local out, status =
      run("--pairs 5 --calls 40 --refine 40 --tries 2 --seeds 1 --date today --yardstick slow")
    assert.equal(0, status)
    local command = "scripts/bench/how-good --pairs 5 --calls 40 --refine 40 --tries 2 --seeds 1"
    assert.is_truthy(out:find("\n    " .. command .. "\n", 1, true), out)
    assert.is_truthy(out:find("\ntoday, ", 1, true))
    assert.is_truthy(out:find("VGG-19, training, batch 64, layers", 1, true))
  end)

  it("leaves out what has no file", function()
    local out, status = run("--pairs 15", "BERTH_SHARED=spec/none")
    assert.equal(2, status)
    assert.is_truthy(out:find("15 DOPPLER chain mm: left out, no spec/none", 1, true), out)
    assert.is_truthy(out:find("no pair is left", 1, true))
  end)
end)
