-- One rank of spec/lua/agents/mpi_spec.lua: takes WHAT, writes "rank: what it got".
local berth = require "berth"
local ranks = require "berth.agents.ranks"
local nn = berth.nn

local programs = {}

function programs.exchange(r)
  local a = nn.array { 1, 2, 3 * r.rank }
  r:sum(a)
  local n = r:numbers { r.rank, 0.1 }
  local b = nn.full({ 2 }, r.rank)
  r:broadcast(b, 2)
  local text = r:broadcast(r.rank == 2 and ("x\0y"):rep(3) or "", 2)
  assert(r.mpi.barrier())
  return ("%g %g %g %g %.17g %g %g %d"):format(a:get(1), a:get(2), a:get(3), n[1], n[2], b:get(1),
    b:get(2), #text)
end

-- 1e8 + 1 is 1e8 in single precision, so the sum shows the order. Two million numbers go in more
-- than one block.
function programs.add_up(r)
  local a, b = nn.full({ 2000001 }, r.rank == 1 and 1e8 or -1e8), nn.full({ 2000001 }, r.rank)
  a:set(r.rank, 2000001)
  local sum = r:add_up { a, b }
  local wrong = 0
  for i = 1, sum.size - 1, 777 do wrong = wrong + (sum:get(i) == 2 and 0 or 1) end
  return ("%g %g %d %g"):format(sum:get(1), sum:get(2000001), wrong,
    r:add_up({ nn.zeros { 0 } }).size)
end

-- Least squares on twelve points, each rank its share of every batch; the weights after 30 steps.
function programs.train(r)
  local p = nn.parameters { seed = 3 }
  local net = nn.mlp(p, "net", { 2, 8, 1 }, { activation = "tanh" })
  local adam = nn.adam(p, { rate = 1e-2 })
  local before, count = r:share(12)
  local rows, goals = {}, {}
  for i = 1, count do
    local k = before + i
    rows[i], goals[i] = { k / 12, (k * 5) % 7 / 7 }, { (k * 3) % 5 / 5 }
  end
  local x, y = nn.array(rows), nn.array(goals)
  for _ = 1, 30 do
    local tape = nn.tape()
    tape:backward(tape:record(function() return (net(x) - y):square():sum():scale(1 / 12) end))
    p:set_flat("gradients", r:sum(p:flat("gradients")))
    adam:step()
  end
  local out = {}
  for i, w in ipairs(p:flat("values"):flat()) do out[i] = ("%.9g"):format(w) end
  return table.concat(out, " ")
end

-- A small agent by imitation, then by the simulator; what it has reached, then some of its weights.
local function taught(kind, options)
  return function(r)
    local g = assert(berth.models.einsum { program = "chain", layers = 2, shards = 4 })
    local t = berth.topology.mesh(2, { bandwidth = 1 })
    local a = berth.agents[kind](options)
    local done = assert(a:train({ { graph = g, topology = t } }, { ranks = r, batch = 6,
      stages = { { stage = "I", episodes = 12 }, { stage = "II", episodes = 36 } } }))
    -- not greedy: scores that nearly tie turn by rounding
    local out = { ("%.0f %.17g"):format(done.calls, done.tasks[1].best) }
    local weights = a.made.params:flat("values"):flat()
    -- a line is to stay one
    for i = 1, #weights, math.ceil(#weights / 60) do out[#out + 1] = ("%.9g"):format(weights[i]) end
    return table.concat(out, " ")
  end
end

-- A number that differs between lists of floats, in 31 bits.
local function digest(list)
  local h = 7
  for c in table.concat(list, " "):gmatch(".") do h = (h * 31 + c:byte()) % 2147483647 end
  return ("%.0f"):format(h)
end

local function weights_of(agent)
  local out = {}
  for i, w in ipairs(agent.made.params:flat("values"):flat()) do out[i] = ("%.9g"):format(w) end
  return out
end

local small = { doppler = { hidden = 8, inner = 8, rounds = 2, seed = 1 }, gdp = { seed = 1 },
  placeto = { seed = 1 } }

-- 10 updates of stage I and 20 of II, or what `more` says; mpirun -n 1 is a process that
-- sees no others.
local function train(r, kind, more)
  local g = assert(berth.models.einsum { program = "chain", layers = 2, shards = 4 })
  local a = berth.agents[kind](small[kind])
  local o = { ranks = r.size > 1 and r or nil, batch = 7 }
  o.stages = { { stage = "I", episodes = 70 }, { stage = "II", episodes = 140 } }
  for key, value in pairs(more) do o[key] = value end
  local done =
    assert(a:train({ { graph = g, topology = berth.topology.mesh(2, { bandwidth = 1 }) } }, o))
  return digest(weights_of(a)), done
end

local function in_parts(kind, parts)
  return function(r)
    local losses = {}
    local function progress(now) losses[#losses + 1] = ("%.17g"):format(now.loss) end
    local weights, done = train(r, kind, { parts = parts, progress = progress })
    return ("%.0f %.17g %.17g %s %s"):format(done.updates, done.tasks[1].best, done.tasks[1].greedy,
      digest(losses), weights)
  end
end

for _, kind in ipairs { "doppler", "gdp", "placeto" } do
  for parts = 2, 4 do programs[kind .. parts] = in_parts(kind, parts) end
end

-- A made-up cluster: seconds by a sum over the devices.
local function seconds(list)
  local out = {}
  for i, placement in ipairs(list) do
    out[i] = 0
    for op, device in ipairs(placement) do out[i] = out[i] + op * op * device end
  end
  return out
end

-- In one go, and in two with an interrupt of the last rank and a checkpoint between them.
function programs.resume(r)
  local path, calls = r:broadcast(r.rank == 1 and os.tmpname() or "", 1), 0
  if r.rank == 1 then os.remove(path) end
  local o = { parts = 2, objective = seconds }
  o.stages = { { stage = "I", episodes = 35 }, { stage = "III", episodes = 70 } }
  local straight = train(r, "doppler", o)
  o.checkpoint, o.every, o.resume = path, 1, true
  function o.objective(list)
    calls = calls + 1
    if calls == 5 and r.rank == r.size then error("interrupted", 0) end
    return seconds(list)
  end
  local _, cut = train(r, "doppler", o)
  r.over, r.stopped = false, false -- all of them have stopped at the same exchange
  o.objective = seconds
  local resumed, done = train(r, "doppler", o)
  r:numbers { 0 }
  if r.rank == 1 then os.remove(path) end
  return ("%s %.0f %.0f %s"):format(cut.interrupted, cut.updates, done.updates,
    straight == resumed and straight or "differ")
end

-- What an objective says on the second rank alone.
local function failing(objective)
  return function(r)
    return train(r, "gdp", { stages = { { stage = "III", episodes = 70 } },
      objective = r.rank == 2 and objective or seconds })
  end
end

programs.objective_raises = failing(function() error("out of order", 0) end)
programs.objective_refuses = failing(function() return nil, "no engine", "unsupported" end)
function programs.checkpoint_fails(r)
  return train(r, "gdp", { checkpoint = r.rank == 1 and "/nowhere/at/all" or nil })
end
function programs.other_checkpoint(r)
  local path = os.tmpname()
  os.remove(path)
  if r.rank == 2 then train({ size = 1 }, "gdp", { checkpoint = path }) end
  local ok, message = pcall(train, r, "gdp", { checkpoint = path, resume = true })
  os.remove(path)
  if not ok then error(message, 0) end
end
programs.uneven = in_parts("gdp", 3)

programs.doppler = taught("doppler", { hidden = 8, inner = 8, rounds = 2, seed = 1 })
programs.gdp = taught("gdp", { seed = 1 })

function programs.fail(r)
  for step = 1, 5 do
    if step == 3 and r.rank == 2 then error("rank two has had enough", 0) end
    r:numbers { step }
  end
end

function programs.fail_at_the_end(r)
  if r.rank == 2 then error("too late", 0) end
end

function programs.all_fail(r) error("number " .. ("%d"):format(r.rank), 0) end

function programs.astray(r) r:numbers(r.rank == 1 and { 1 } or { 1, 2 }) end

function programs.mistakes(r)
  local out = {}
  for i, wrong in ipairs { function() r.mpi.sum(7) end, function() r.mpi.sum { 1, "x" } end,
    function() r.mpi.broadcast("", 3) end, function() r.mpi.broadcast(nil) end,
      function() r.mpi.add_up {} end,
    function() r.mpi.add_up { nn.zeros { 1 }, nn.zeros { 2 } } end,
      function() r.mpi.add_up { 2 } end } do
    local _, message = pcall(wrong)
    out[i] = tostring(message):match("berth%.mpi.*")
  end
  return table.concat(out, "; ")
end

function programs.share(r) return ("%d %d"):format(r:share(7)) end

-- berth train with an agent that adds the ranks up, and may fail on one.
local function command(fails)
  local agent = {}
  function agent.train(_, _, opts)
    local r = opts.ranks
    if fails and r.rank == 2 then error("no luck", 0) end
    return { episodes = r:numbers({ r.rank })[1], calls = 0, tasks = { {} } }
  end
  function agent.save() return true end
  rawset(berth, "agents", { gdp = function() return agent end })
  local rank, out = os.getenv("OMPI_COMM_WORLD_RANK") + 1, {}
  local function say(line) out[#out + 1] = line end
  local exit = require("berth.cli.main").run({ "train", "gdp", "model:einsum", "--devices", "2",
    "--save", "a" },
    { write = say, complain = say })
  io.write(("%d: %d %s\n"):format(rank, exit, table.concat(out, "; ")))
  os.exit(0) -- another code would have mpirun end the other rank before it has written
end

if arg[1] == "command" or arg[1] == "command_fails" then command(arg[1] == "command_fails") end

local world = assert(ranks.world())
local _, got = pcall(world.run, world, programs[arg[1]])
io.write(("%d: %s\n"):format(world.rank, tostring(got)))
io.stdout:flush()
world:finish()
