-- PyTorch's CSV and berth JSON of schedules: in, out, and checked by a reader of its own
-- (support.pipeline_csv).
local berth = require "berth"
local checker = require "support.pipeline_csv"
local shared = require "support.shared"
local shell = require "support.shell"
local schedule = berth.schedule

local FOLDER = "data/measured/schedules/"
local PYTORCH = {
  { file = "pytorch_dualpipev_4rank_10mb.csv", stages = 4, microbatches = 10, map = "zigzag" },
  { file = "pytorch_zb1p_2rank_2stagep_compute.csv", stages = 2, microbatches = 8,
    map = "interleaved" },
}

local function load(text, opts)
  local s, message, code, why = schedule.load(shell.file(".csv", text), opts)
  return s, message and (message:gsub("^[^:]*: ", "")), code, why
end

after_each(shell.tidy)

describe("schedules of all generators", function()
  local costs = { F = 1.5, B = 1.25, W = 0.75, p2p = 0.125 }
  for _, g in ipairs(schedule.generators()) do
    it("as CSV are what an independent reader checks: " .. g.name, function()
      local v = g.chunks == 0 and 2 or g.chunks
      local one = berth.schedule.make(g.name, { stages = 4, microbatches = 8, chunks = v,
        forward = 1.5, backward = 1.25, weight = 0.75, p2p = 0.125, activations = 1 })
      local text = one:to_string "csv"
      if one.problem.map ~= "bidirectional" then
        local found = checker.check(text, costs)
        assert.near(one.makespan, found.makespan, 1e-9)
        assert.near(one.span, found.span, 1e-9)
        for s, peak in ipairs(found.peaks) do assert.near(one.peak[s], peak, 1e-9) end
      end
      local again = assert(load(text, { forward = 1.5, backward = 1.25, weight = 0.75, p2p = 0.125,
        activations = 1 }))
      assert.equal(text, again:to_string "csv")
      assert.equal(one.step, again.step)
      assert.equal(one.problem.map, again.problem.map)
      local from_json = assert(schedule.load(shell.file(".json", one:to_string "json")))
      assert.equal(one:to_string "json", from_json:to_string "json")
    end)
  end
end)

describe("files of PyTorch", function()
  local it = shared.present() and it or pending
  for _, one in ipairs(PYTORCH) do
    it("are read, simulated and written: " .. one.file, function()
      local path = shared.path(FOLDER .. one.file)
      local s = assert(schedule.load(path, { costs = { 2, 2, 2 } }))
      assert.same({ one.stages, one.microbatches, one.map, 2 },
        { s.problem.stages, s.problem.microbatches, s.problem.map, s.problem.chunks })
      local found = checker.check(shell.read(path), { F = 1, B = 1, W = 1 })
      assert.near(found.makespan, s.step, 1e-12)
      assert.near(found.makespan, s:simulate().makespan, 1e-12)
      local out = shell.path ".csv"
      assert(s:save(out))
      assert.near(found.makespan, checker.check(shell.read(out), { F = 1, B = 1, W = 1 }).makespan,
        1e-12)
    end)
  end

  it("DualPipeV's is the generator's, byte for byte", function()
    local s = assert(schedule.make("dualpipev", { stages = 4, microbatches = 10 }))
    assert.equal(shell.read(shared.path(FOLDER .. PYTORCH[1].file)), s:to_string "csv")
  end)

  it("DualPipeV has (p - 1)(F&B + B - 3 W) of bubble", function()
    -- p pairs of chunks, B both gradients: 3 x (3 + 2 - 3) chunk units
    local s = assert(schedule.load(shared.path(FOLDER .. PYTORCH[1].file), { costs = { 2, 2, 2 } }))
    assert.near(10 * 6 + 3 * 2, s.step, 1e-12)
  end)

  it("have W of a B of its own: the B is then the gradient of inputs", function()
    local s = assert(load("0F0,0B0,0F1,0W0,0B1\n"))
    local kinds = {}
    for i, a in ipairs(s:actions(1)) do kinds[i] = a.kind end
    assert.same({ "F", "B", "F", "W", "BW" }, kinds)
  end)

  it("may have idle cells, spaces, a byte order mark and other line ends", function()
    local s = assert(load("\239\187\1910F0,, 0B0 ,\r\n,1F0,1B0\r\n\r\n"))
    assert.equal("0F0,0B0\n1F0,1B0\n", s:to_string "csv")
  end)
end)

describe("a CSV with a mistake", function()
  local cases = {
    { "0F0,0X0\n", "row 1, cell 2: '0X0': expected {stage}{F, I, W or B}{micro-batch}" },
    { "0F0,,0SEND_F0\n", "row 1, cell 3: '0SEND_F0': communication is not read: export the "
      .. "schedule with computation alone" },
    { "0F0,0F0\n", "row 1, cell 2: '0F0': is there twice" },
    { "0F0,0F2\n", "row 1, cell 2: '0F2': micro-batches out of order: that of 1 is missing "
      .. "before it" },
    { "0B0,0F0\n", "row 1, cell 1: '0B0': comes before its F" },
    { "0F0,0W0,0I0\n", "row 1, cell 2: '0W0': comes before its gradient of inputs" },
    { "0F0,0I0\n", "row 1: stage 0 lacks the gradient of weights (W or B) of micro-batch 0" },
    { "0F0,0B0\n0F1,0B1\n", "row 2, cell 1: '0F1': stage 0 is on row 1 already" },
    { "0F0,0B0,1F0,1B0\n2F0,2B0\n", "row 2: 3 stages on 2 rows: not the same on each" },
    { "0F0,0B0\n2F0,2B0\n", "row 2: stage 1 is on no row" },
    { "0F0,3F0,0B0,3B0,1F0,1B0\n2F0,4F0,5F0,2B0,4B0,5B0\n",
      "row 1: stages are neither interleaved (c on row c mod 2) nor in a zigzag" },
    { "\n", "row 1: has no action" },
    { "0F0,1F0,(0F1;1F1)OVERLAP_F_B\n", "row 1, cell 3: '(0F1;1F1)OVERLAP_F_B': a slot is an F, "
      .. "and a B or I of another stage" },
    { "0F0,0B0,5F1,5B1\n1F0,1B0,4F1,4B1\n2F0,2B0,3F1,3B1\n",
      "row 1: two copies of a model need even numbers of rows (3) and micro-batches (2)" },
  }
  for _, case in ipairs(cases) do
    it("is named: " .. case[2], function()
      local s, message, code = load(case[1])
      assert.is_nil(s)
      assert.equal(case[2], message)
      assert.equal("parse", code)
    end)
  end

  it("in its dependencies is a deadlock at a cell", function()
    local s, message, code, why = load("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n")
    assert.is_nil(s)
    assert.equal("row 1, cell 2: '0B0': deadlock: stage0 waits for ever before BW0.0", message)
    assert.equal("infeasible", code)
    assert.equal("deadlock", why.outcome)
  end)

  it("in its memory is a cell over the limit", function()
    local s, message, code = load("0F0,0F1,0B0,0B1\n", { memory = 1.5 })
    assert.is_nil(s)
    assert.equal("row 1, cell 2: '0F1': memory: at F0.1 stage0 holds 2, the limit is 1.5", message)
    assert.equal("infeasible", code)
  end)

  it("anywhere is a message, not an error", function()
    local text = schedule.make("dualpipev", { stages = 2, microbatches = 4 }):to_string "csv"
    local json = schedule.make("zb-v", { stages = 2, microbatches = 2 }):to_string "json"
    local rng = berth.rng(1)
    for _, whole in ipairs { text, json } do
      local path = shell.path ".txt"
      for _ = 1, 300 do
        local at = rng:below(#whole)
        local letters = "0129FIWB,;()\n\"[]{}.-x"
        local k = rng:below(#letters)
        shell.write(path, whole:sub(1, at - 1) .. letters:sub(k, k) .. whole:sub(at + 1))
        local s, message = schedule.load(path)
        assert.truthy(s or type(message) == "string")
      end
    end
  end)

  it("or that does not exist: a message, too", function()
    local s, message, code = schedule.load "/no/such/file.csv"
    assert.is_nil(s)
    assert.matches("no/such/file", message)
    assert.equal("io", code)
  end)
end)
