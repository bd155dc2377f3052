-- Errors of estimates against measurements, in %, and their lines.
--
-- A part: name; rows (how many there are); left (count by reason); samples (array of label,
-- estimate, measured); note (nil: none).
local json = require "berth.base.json_writer"

local errors = {}

function errors.part(name, rows) return { name = name, rows = rows, left = {}, samples = {} } end

function errors.leave(part, why, count) part.left[why] = (part.left[why] or 0) + (count or 1) end

function errors.add(part, label, estimate, measured)
  part.samples[#part.samples + 1] = { label = label, estimate = estimate, measured = measured }
end

--- Mean, 90th percentile and maximum of |estimate / measured - 1|, and the mean of that without
-- its absolute value; nil without samples.
function errors.summary(part)
  local n, sum, bias, all = #part.samples, 0, 0, {}
  if n == 0 then return nil end
  for i, s in ipairs(part.samples) do
    local e = 100 * (s.estimate / s.measured - 1)
    all[i] = math.abs(e)
    sum, bias = sum + all[i], bias + e
  end
  table.sort(all)
  return { mape = sum / n, p90 = all[math.ceil(0.9 * n)], max = all[n], bias = bias / n }
end

local function reasons_of(part)
  local out = {}
  for why in pairs(part.left) do out[#out + 1] = why end
  table.sort(out)
  return out
end

--- "FILE rows N used K mape X p90 Y max Z bias W", and a line for each reason of what is left out.
function errors.lines(part)
  local s, figures = errors.summary(part), "mape - p90 - max - bias -"
  if s then
    figures = ("mape %.2f p90 %.2f max %.2f bias %+.2f"):format(s.mape, s.p90, s.max, s.bias)
  end
  local note = part.note and (" (%s)"):format(part.note) or ""
  local out = { ("%s rows %d used %d %s%s"):format(part.name, part.rows, #part.samples, figures,
    note) }
  for _, why in ipairs(reasons_of(part)) do
    out[#out + 1] = ("  left out %d: %s"):format(part.left[why], why)
  end
  return out
end

--- Lines of the samples, in `unit`.
function errors.rows(part, unit, scale)
  local out = {}
  for i, s in ipairs(part.samples) do
    out[i] = ("  %-60s %10.4g %s, measured %10.4g, %+6.1f %%"):format(s.label, s.estimate / scale,
      unit, s.measured / scale, 100 * (s.estimate / s.measured - 1))
  end
  return out
end

function errors.document(part)
  local s, left = errors.summary(part) or {}, {}
  for i, why in ipairs(reasons_of(part)) do
    left[i] = json.object { { "reason", why }, { "rows", part.left[why] } }
  end
  return json.object { { "name", part.name }, { "rows", part.rows }, { "used", #part.samples },
    { "mape_percent", s.mape }, { "p90_percent", s.p90 }, { "max_percent", s.max },
    { "bias_percent", s.bias }, { "note", part.note }, { "left_out", left } }
end

return errors
