--- Small models of jobs: a chain of two ops, its backward pass three times as long.
local berth = require "berth"
local profile_text = require "support.profile_text"

local small = {}

--- A model whose step takes 8 t on one server: ops of t, t, 3 t, 3 t; all ops hold 64 bytes,
-- dependencies carry 48.
function small.model(ramp, t)
  local g = assert(berth.graph { ops = { { seconds = t, params = 8 }, { seconds = t, params = 8 } },
    edges = { { 1, 2, 16 } } })
  return ramp:model((assert(g:mirror { ratio = 3 })))
end

--- Eight servers on which messages take no time worth mentioning: k pieces take 8 t / k.
function small.env(o)
  o = o or {}
  local ramp = berth.ramp { compat = o.compat, groups = 2, racks = 2, slots = 2, quantum = 0.01,
    time_scale = 1, latency = 0,
    io_latency = 0, bandwidth = o.bandwidth or 1e18, memory_rate = 1e30, flops = 1e30 }
  local models = {}
  for i, t in ipairs(o.times or { 1 }) do models[i] = small.model(ramp, t) end
  return assert(berth.pacml.env { models = models, steps = o.steps or 1, most = o.most or 8 })
end

--- The text of a PipeDream profile of such a chain, times in ms.
function small.profile(forward, backward)
  local function node(i) return { ("Linear(%d)"):format(i), forward, backward, 1e6, 2e6 } end
  return profile_text({ node(1), node(2) }, { { 1, 2 } })
end

return small
