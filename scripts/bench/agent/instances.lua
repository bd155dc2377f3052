-- Writes the graphs and topologies that the shipped agent is trained on, and a list of them: file,
-- links, the step time of the portfolio without the agent, s. usage: instances.lua FOLDER SEED COUNT MOST_OPS
local berth = require "berth"
local draw = require "agent.draw"
local folder, seed, count, most = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
local list = assert(io.open(folder .. "/list", "w"))

-- Least step time of the built-in members but for the agent; nil: none keeps memory, or it is less
-- than 2 % above the bound, so that there is little to learn.
local function without_agent(g, t, links)
  local _, rows = berth.portfolio(g, t, { links = links, calls = 0 })
  if type(rows) ~= "table" or not rows.bound then return nil end
  local best = math.huge
  for _, row in ipairs(rows) do
    if row.makespan and not row.oom and row.placer ~= "agent" then
      best = math.min(best, row.makespan)
    end
  end
  return best > 1.02 * rows.bound and best < math.huge and best or nil
end

local k, written = 0, 0
while written < count do
  k = k + 1
  local g, t, links = draw.training(seed * 1000000 + k)
  if #g <= most then
    local seconds = without_agent(g, t, links)
    if seconds then
      written = written + 1
      local path = ("%s/%d.json"):format(folder, written)
      assert(berth.save(path, { graph = g, topology = t }))
      list:write(("%s %s %.17g\n"):format(path, links, seconds))
    end
  end
end
list:close()
