--- Policies by name: in C, behind the seam of berth/ps.h.
local core = require "berth.core"
local options = require "berth.base.options"
local problem = require "berth.pdors.problem"

local policies = {}

-- What the name decides of the options of the core.
local PRIMAL_DUAL = {
  ["pd-ors"] = { algorithm = "pd-ors" },
  ["pd-ors-published"] = { algorithm = "pd-ors", plans = "final" },
  oasis = { algorithm = "oasis" },
}

-- Those of the run; policies have others of their own: policies.options.
options.declare("pdors.simulate", {
  { key = "believes", type = "problem", default = "the one that is played", readers = PRIMAL_DUAL,
    only = "pd-ors, pd-ors-published, oasis", text = "the problem that is decided on" },
  { key = "seed", type = "whole", default = "0", text = "of the policy's draws" },
  { key = "certify", type = "whole or flag", default = "100",
    text = "steps of the bound on every schedule; 0: prices as they are; false: no bound" },
})

-- The options of a scheduler of the core, but for those that are the run's or follow from the
-- policy's name.
local function own_keys(name)
  local out = {}
  for _, key in ipairs(options.keys(name)) do
    if key ~= "algorithm" and key ~= "plans" and key ~= "backfill" and key ~= "seed" then
      out[#out + 1] = key
    end
  end
  return out
end

local PDORS = own_keys "pdors.scheduler"

-- What the policy gets: all but what is the run's.
local function chosen(fn, given, own)
  options.check(fn, given, options.join(
    options.keys("pdors.simulate", own == PDORS and "pd-ors" or nil), own))
  local out = options.merge(given)
  out.certify, out.believes = nil, nil
  return out
end

-- What the scheduler decides on, if that is another problem than the one that is played.
local function believed(fn, p, given)
  local q = given.believes
  if q == nil then return p end
  options.refuse(not problem.is(q), "%s: believes: expected a problem, got %s", fn, core.kind(q))
  if #q.jobs ~= #p.jobs or q.machines ~= p.machines or #q.resources ~= #p.resources
      or q.slots ~= p.slots then
    options.fail("%s: believes: %s; the one that is played: %s", fn, tostring(q), tostring(p))
  end
  return q
end

-- @treturn what `about` makes of the policy; or nil, message, code
local function play(run, about, policy, message, code)
  if not policy then return nil, message, code end
  local done
  done, message, code = run:play(policy)
  if not done then return nil, message, code end
  return about(policy)
end

local function primal_dual(settings)
  return function(fn, p, run, given)
    local o = options.merge(chosen(fn, given, PDORS), settings)
    return play(run,
      function(scheduler) return { core = scheduler, counts = scheduler:counts(), why = true } end,
      core.pdors(believed(fn, p, given).core, o))
  end
end

-- What each has of its own. Only fifo draws anything.
local FIFO = own_keys "pdors.fifo"
local SLOTTED = {
  fifo = FIFO, ["fifo-backfill"] = FIFO, drf = {}, dorm = own_keys "pdors.dorm",
  optimus = own_keys "pdors.optimus",
}

local function slotted(name)
  local kind = name == "fifo-backfill" and "fifo" or name
  return function(fn, p, run, given)
    local o = chosen(fn, given, SLOTTED[name])
    if kind ~= "fifo" then o.seed = nil end
    if kind == "fifo" then o.backfill = name == "fifo-backfill" end
    return play(run,
      function(policy) return { counts = name == "dorm" and policy:counts() or nil } end,
      core.ps_policy(p.core, kind, o))
  end
end

local players = {}
for name, settings in pairs(PRIMAL_DUAL) do players[name] = primal_dual(settings) end
for name in pairs(SLOTTED) do players[name] = slotted(name) end

policies.names = options.sorted_keys(players)

function policies.check(fn, name)
  if not players[name] then
    options.fail("%s: no policy '%s' (there are %s)", fn, name,
      options.names_text(name, policies.names))
  end
end

--- Names of the options that a policy has of its own.
-- @tparam string name one of berth.pdors.policies
-- @treturn table
function policies.options(name)
  policies.check("berth.pdors.options", name)
  return options.copy(SLOTTED[name] or PDORS)
end

--- Plays a run.
-- @treturn[1] table scheduler (name), core (of pd-ors and oasis), counts, why
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function policies.play(fn, p, run, name, given)
  policies.check(fn, name)
  local about, message, code = players[name](fn, p, run, given)
  if not about then return nil, message, code end
  about.scheduler = name
  return about
end

return policies
