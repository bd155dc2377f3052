-- Sums, broadcasts and training in many processes; skipped where Open MPI is not there.
local runs = require "support.runs"

local interpreter = rawget(_G, "jit") and "luajit" or _VERSION:gsub("Lua ", "lua")

local function there()
  if not pcall(require, "berth.mpi") then return false end
  local pipe = io.popen("command -v mpirun 2>/dev/null")
  local path = pipe:read("*l")
  pipe:close()
  return path ~= nil
end

local function is_root()
  local pipe = io.popen("id -u")
  local id = pipe:read("*l")
  pipe:close()
  return id == "0"
end

-- Within one machine: looking for networks takes as long as the tests.
local flags = "--mca pml ob1 --mca btl self,vader --oversubscribe" .. (is_root()
  and " --allow-run-as-root" or "")

-- Lines of the ranks, by rank; a rank that hangs is ended after ten minutes.
local function run(n, what)
  local pipe =
    io.popen(("timeout 600 mpirun %s -n %d %s spec/support/mpi_program.lua %s 2>/dev/null"):format(
    flags, n,
    interpreter, what))
  local out = {}
  for line in pipe:lines() do
    local rank, text = line:match("^(%d+): (.*)$")
    if rank then out[tonumber(rank)] = text end
  end
  pipe:close()
  return out
end

local function numbers(text)
  local out = {}
  for word in text:gmatch("%S+") do out[#out + 1] = tonumber(word) end
  return out
end

local function case(name, f)
  it(name, function()
    if not there() then return pending("Open MPI is not there: berth.mpi is not built") end
    f()
  end)
end

describe("berth.mpi", function()
  case("sums arrays and numbers, and broadcasts arrays and strings", function()
    local want = "2 4 9 3 0.20000000000000001 2 2 9"
    assert.same({ want, want }, run(2, "exchange"))
  end)

  case("deals a batch out without gaps", function()
    assert.same({ "0 4", "4 3" }, run(2, "share"))
    assert.same({ "0 7" }, run(1, "share"))
  end)

  case("trains in two processes as in one with the same total batch, to rounding", function()
    local one, two = numbers(run(1, "train")[1]), run(2, "train")
    assert.equal(two[1], two[2]) -- the ranks agree to the bit
    assert.equal(33, #one)
    for i, w in ipairs(numbers(two[1])) do assert.near(one[i], w, 1e-5) end
  end)

  case("trains agents in two processes as in one", function()
    for _, kind in ipairs { "doppler", "gdp" } do
      local one, two = numbers(run(1, kind)[1]), run(2, kind)
      assert.equal(two[1], two[2])
      local other = numbers(two[1])
      assert.equal(#one, #other)
      assert.is_true(#one > 40)
      -- Normalised features multiply rounding (2e-5 of the first gradient), and Adam that of small
      -- gradients.
      for i, w in ipairs(one) do assert.near(w, other[i], 2e-3 * math.max(1, math.abs(w))) end
    end
  end)

  case("adds arrays up in the order of ranks", function()
    local want = "2 6 0 0" -- ((1e8 + 1) - 1e8) + 2 in single precision; 1 + 1 + 2 + 2
    assert.same({ want, want }, run(2, "add_up"))
  end)

  -- Updates, best, greedy, losses of all updates, and every weight: the same bytes.
  for _, what in ipairs(runs({ "gdp3 3" },
    { "doppler2 2", "placeto2 2", "gdp3 3", "gdp4 4" })) do
    local program, n = what:match("(%w+) (%d)")
    case(("trains %s parts in %s processes as in one, to the byte"):format(program:gsub("%d",
      " %0"), n), function()
      local one, many = run(1, program)[1], run(tonumber(n), program)
      assert.truthy(one:find("^30 "), one)
      for rank = 1, tonumber(n) do assert.equal(one, many[rank]) end
    end)
  end

  case("goes on in two processes after an interrupt of one, to the bytes of one process in one go",
    function()
    local one, two = run(1, "resume")[1], run(2, "resume")
    assert.truthy(one:find("^interrupted 9 15 %d+$"), one)
    assert.same({ one, one }, two)
  end)

  case("reports to all ranks what one's objective or checkpoint has failed with", function()
    assert.same({ "rank 2: out of order", "out of order" }, run(2, "objective_raises"))
    assert.same({ "rank 2: no engine", "no engine" }, run(2, "objective_refuses"))
    local got = run(2, "checkpoint_fails")
    assert.truthy(got[1]:find("^/nowhere/at/all.part: cannot be written"), got[1])
    assert.equal("rank 1: " .. got[1], got[2])
  end)

  case("refuses parts that ranks cannot share, and checkpoints that are not of one update",
    function()
    local uneven, other = run(2, "uneven"), run(2, "other_checkpoint")
    for rank = 1, 2 do
      assert.truthy(uneven[rank]:find("parts: 3 of them cannot be split evenly over 2 ranks", 1,
        true), uneven[rank])
      assert.truthy(other[rank]:find("rank 1 resumes after 0 updates, rank 2 after 30: all must read one checkpoint", 1, true),
        other[rank])
    end
  end)

  case("reports to all ranks what one has failed with, and no rank hangs", function()
    assert.same({ "rank 2: rank two has had enough", "rank two has had enough" }, run(2, "fail"))
    assert.same({ "rank 2: too late", "too late" }, run(2, "fail_at_the_end"))
    assert.same({ "number 1", "number 2" }, run(2, "all_fail"))
  end)

  case("reports to all ranks that they are not at the same step", function()
    local got = run(2, "astray")
    assert.equal(got[1], got[2])
    assert.truthy(got[1]:find(
      "not at the same step: rank 1 has kind 2 of length 1, rank 2 kind 2 of length 2", 1, true))
  end)

  case("serves berth train: one rank writes and prints, all end with the same", function()
    local got = run(2, "command")
    assert.truthy(got[1]:find("^0 gdp: 3 episodes, 0 simulator calls; "), got[1])
    assert.equal("0 ", got[2])
    assert.same({ "2 berth: rank 2: no luck", "2 berth: no luck" }, run(2, "command_fails"))
  end)

  case("raises for a caller's mistakes", function()
    assert.equal("berth.mpi.sum: expected an array of berth.nn or a table of numbers, got number; "
      .. "berth.mpi.sum: numbers[2]: expected a number, got string; berth.mpi.broadcast: root: "
      .. "expected a rank of 1..1; "
      .. "berth.mpi.broadcast: expected an array of berth.nn or a string, got nil; "
      .. "berth.mpi.add_up: arrays: 1 to 1048576 of them; berth.mpi.add_up: arrays[2]: is not of "
      .. "the size of the first; "
      .. "berth.mpi.add_up: arrays[1]: expected an array of berth.nn", run(1, "mistakes")[1])
  end)

  case("says that it has not begun, without beginning", function()
    local mpi = require "berth.mpi"
    assert.is_false(mpi.running())
    assert.has_error(function() mpi.rank() end,
      "berth.mpi.rank: berth.mpi.init() comes first, and finalize() last")
    assert.is_true(mpi.finalize())
  end)
end)
