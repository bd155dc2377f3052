--- Several runs of an environment side by side, each over trace after trace.
-- @module berth.agents.pacml.actors
local options = require "berth.base.options"

local actors = {}
actors.__index = actors

local RECENT = 50 -- episodes whose blocking is reported

local function begin(self, i)
  local a = self[i]
  local trace = self.traces(self.next_episode)
  options.refuse(type(trace) ~= "table", "agent:train: traces(%d): expected a trace, got %s",
    self.next_episode, type(trace))
  a.episode, a.actions, a.blocked = self.next_episode, {}, 0
  a.run = self.env:run(trace)
  self.next_episode = self.next_episode + 1
  if a.run.done then options.fail("agent:train: traces(%d): a trace without jobs", a.episode) end
end

--- @param env environment
-- @tparam function traces episode (from 1) -> trace
-- @tparam int n
function actors.new(env, traces, n)
  local self = setmetatable({ env = env, traces = traces, next_episode = 1, recent = {},
    episodes = 0, steps = 0 }, actors)
  for i = 1, n do self[i] = {} end
  return self
end

--- Begins what has not begun.
function actors:start()
  for i = 1, #self do
    if not self[i].run then begin(self, i) end
  end
  return self
end

local function finish(self, a)
  local rate = a.blocked / #a.actions
  self.episodes = self.episodes + 1
  self.recent[#self.recent + 1] = rate
  if #self.recent > RECENT then table.remove(self.recent, 1) end
end

--- One decision; begins the next trace after the last job.
-- @tparam int i
-- @tparam int action legal for the run
-- @treturn boolean accepted
-- @treturn boolean done a new trace has begun
function actors:take(i, action)
  local a = self[i]
  local accepted = a.run:decide(action)
  a.actions[#a.actions + 1] = action
  if not accepted then a.blocked = a.blocked + 1 end
  self.steps = self.steps + 1
  if not a.run.done then return accepted, false end
  finish(self, a)
  begin(self, i)
  return accepted, true
end

--- Mean blocking of the last episodes; nil before the first has ended.
function actors:blocking()
  if #self.recent == 0 then return nil end
  local sum = 0
  for _, x in ipairs(self.recent) do sum = sum + x end
  return sum / #self.recent
end

--- What a checkpoint needs to go on.
function actors:state()
  local out = { next_episode = self.next_episode, episodes = self.episodes, steps = self.steps,
    recent = self.recent, runs = {} }
  for i = 1, #self do
    out.runs[i] = { episode = self[i].episode, actions = table.concat(self[i].actions, ",") }
  end
  return out
end

local function replay(self, a, kept)
  a.run, a.episode, a.actions, a.blocked = self.env:run(self.traces(kept.episode)), kept.episode,
    {}, 0
  for word in kept.actions:gmatch "%d+" do
    local action = tonumber(word)
    if a.run.done then
      options.fail("agent:train: traces(%d) gives fewer jobs than when the checkpoint was written",
        kept.episode)
    end
    a.actions[#a.actions + 1] = action
    if not a.run:decide(action) then a.blocked = a.blocked + 1 end
  end
end

--- Restores a state: by the same decisions on the same traces.
function actors:restore(state)
  self.next_episode, self.episodes, self.steps, self.recent = state.next_episode, state.episodes,
    state.steps, state.recent
  for i = 1, #self do replay(self, self[i], state.runs[i]) end
  return self
end

return actors
