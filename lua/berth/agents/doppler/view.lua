--- What does not change of an env while its episodes run.
-- @module berth.agents.doppler.view
local nn = require "berth.nn"
local encoder = require "berth.agents.doppler.encoder"

local view = {}

-- Candidates of all steps of an episode; about as many of any other.
local function candidates_of(env)
  local e, sum = env:episodes(1):start(0, 0), 0
  while not e.done do
    local ops, segments = e:candidates()
    local op = e:select(ops, segments, { 1 })
    sum = sum + #ops
    e:assign(op, e:choose(e:teacher_devices(op):log(), nil, { how = "greedy" }))
  end
  return sum
end

--- @tparam assignment env
-- @tparam string design
-- @treturn table x [ops, 5] normalised; scale (1 / mean op time); most (a cap of earliest starts);
--  paths; edges; candidates of all steps
function view.new(env, design)
  local raw = env:op_features()
  local mean = raw:slice(2, 1, 1):mean():item()
  local scale = mean > 0 and 1 / mean or 1
  local scaled = raw:scale(scale)
  local most = 2 * (scaled:slice(2, 1, 1):sum():item() + scaled:slice(2, 5, 5):sum():item()) + 1
  return { env = env, devices = env.devices, steps = env.steps, x = scaled:zscore(), scale = scale,
    most = nn.full({ 1 }, most), b_level = scaled:slice(2, 2, 2):reshape { -1 },
    b_next = env:b_next(), t_next = env:t_next(), edges = encoder.view(design, env, scale),
    restricted = env.restricted, rows = {}, candidates = candidates_of(env) }
end

--- n segments of as many rows as there are devices; kept for the next step.
function view.rows(self, n)
  local rows = self.rows[n]
  if not rows then
    local lengths = {}
    for i = 1, n do lengths[i] = self.devices end
    rows = nn.segments(lengths)
    self.rows[n] = rows
  end
  return rows
end

return view
