-- The entries of docs/how-good.md, and their names: the placers, and annealing after them.
local berth = require "berth"
local lineup = {}

--- Proves nothing at these sizes, and takes most of the time.
lineup.left_out = { exact = true }

--- What docs/how-good.md is made with.
lineup.defaults = { calls = 2000, refine = 20000, tries = 50, seed = 1, seeds = 3 }

-- Entries that use the seed, and entries whose budget counts calls of the objective.
local seeded = { random = true, metis = true, ["critical-path"] = true, anneal = true, ["local"] = true, brkga = true,
  portfolio = true }
local counted = { anneal = true, ["local"] = true, brkga = true }

--- 50000 as 50,000.
function lineup.thousands(n)
  local text = ("%d"):format(n)
  return (text:reverse():gsub("(%d%d%d)(%d)", "%1,%2"):gsub("(%d%d%d)(%d)", "%1,%2"):reverse())
end

local function alone(placer, opts)
  local entry = { name = placer, placer = placer, seeded = seeded[placer] }
  if counted[placer] then
    entry.name, entry.calls = ("%s, %s calls"):format(placer, lineup.thousands(opts.calls)), opts.calls
  elseif placer == "critical-path" then
    entry.name, entry.tries = ("%s, best of %d"):format(placer, opts.tries), opts.tries
  end
  return entry
end

--- The rows, in their order; the last one starts from the best answer of all others.
-- @tparam table opts calls (of the searches), refine (of the reference), tries (of critical-path)
function lineup.rows(opts)
  local rows = {}
  for _, placer in ipairs(berth.placers()) do
    if not lineup.left_out[placer] then rows[#rows + 1] = alone(placer, opts) end
  end
  rows[#rows + 1] = { name = "members of the portfolio", placer = "portfolio", calls = 0, seeded = true }
  rows[#rows + 1] = { name = ("best of these + anneal, %s calls (reference)"):format(lineup.thousands(opts.refine)),
    placer = "anneal", calls = opts.refine, reference = true }
  return rows
end

return lineup
