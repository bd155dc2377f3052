--- Figures of values over time, a panel below the other.
local core = require "berth.core"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local panels = {}

local LEFT, HEAD, PANEL, SPACE = 56, 19, 72, 12

-- A stepped outline of values per window; false values are left out.
local function outline(values, width, at, high)
  local n = scale.number
  local pieces = { ("M%s %s"):format(n(at(0)), n(high(0))) }
  for w, x in ipairs(values) do
    pieces[#pieces + 1] = ("V%sH%s"):format(n(high(x or 0)), n(at(w * width)))
  end
  pieces[#pieces + 1] = ("V%sz"):format(n(high(0)))
  return table.concat(pieces)
end

local function percent(value) return core.sprintf("%.3g %%", 100 * value) end

-- Lines at round times and values, and the values.
local function ruled(out, top, y, high, time, at, text_of)
  for _, value in ipairs((scale.labelled(time, "seconds", 8))) do
    out:line(at(value), y, at(value), y + PANEL, "rule")
  end
  for _, value in ipairs(scale.ticks(top, 5)) do
    out:line(LEFT, high(value), svg.RIGHT, high(value), "rule")
    out:print(LEFT - 6, high(value) + 4, text_of(value), "end small faint")
  end
end

-- One panel: name and note, areas, rules, a line to mark.
local function panel(out, one, top, y, time, at, text_of)
  local name, low = svg.fit(one.name, 400, 13), y + HEAD
  local high = scale.linear(top, low + PANEL, low)
  out:print(LEFT, y + 13, name, "strong")
  out:print(LEFT + svg.width(name, 13) + 14, y + 13, one.note, "small")
  out:rect(LEFT, low, svg.RIGHT - LEFT, PANEL, "lane")
  for _, series in ipairs(one.series) do
    out:path(outline(series.values, one.width, at, high), series.class)
  end
  ruled(out, top, low, high, time, at, text_of)
  if one.line then
    out:line(LEFT, high(one.line), svg.RIGHT, high(one.line), "bound")
  end
end

-- The largest value of all panels, at least `least`.
local function top_of(list, least)
  local top = least
  for _, one in ipairs(list) do
    for _, series in ipairs(one.series) do
      for _, x in ipairs(series.values) do top = math.max(top, x or 0) end
    end
    top = math.max(top, one.line or 0)
  end
  return top
end

--- @tparam string kind of the figure, its id
-- @tparam string label
-- @tparam string words what it shows
-- @tparam table list panels: name, note, width (s of a value), series ({ values, class }: stepped
--  areas, false values left out), line (a value to mark)
-- @tparam table legend of svg.legend
-- @tparam number time s, of all
-- @tparam number least what the largest value of the axis is at least
-- @tparam[opt] function text_of how a value is written; default: as a percentage
function panels.figure(kind, label, words, list, legend, time, least, text_of)
  local out = svg.picture { kind = kind, label = label, text = words }
  local at, top = scale.linear(time, LEFT, svg.RIGHT), top_of(list, least)
  local first, step = 14 + svg.legend(out, legend, LEFT, svg.RIGHT, 14), HEAD + PANEL + SPACE
  local bottom = first + #list * step - SPACE
  for i, one in ipairs(list) do
    panel(out, one, top, first + (i - 1) * step, time, at, text_of or percent)
  end
  svg.axis(out, at, time, "seconds", bottom, bottom + 4)
  out.height = bottom + 24
  return out
end

return panels
