--- Figures of values over time, a panel below the other.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local panels = {}

local PANEL, SPACE = 64, 14

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

local function panel(out, one, top, y, at)
  local high = scale.linear(top, y + PANEL, y)
  out[#out + 1] = svg.rect(svg.LEFT, y, svg.RIGHT - svg.LEFT, PANEL, "lane")
  for _, series in ipairs(one.series) do
    out[#out + 1] = svg.path(outline(series.values, one.width, at, high), series.class)
  end
  if one.line and one.line <= top then out[#out + 1] = svg.line(svg.LEFT, high(one.line), svg.RIGHT, high(one.line), "bound") end
  out[#out + 1] = svg.text(svg.LEFT - 8, y + 14, svg.fit(one.name, svg.LEFT - 14, 13), "end strong")
  out[#out + 1] = svg.text(svg.LEFT - 8, y + 31, one.note, "end small")
  out[#out + 1] = svg.text(svg.LEFT - 8, y + PANEL - 4, "0 to " .. scale.percent(top), "end small faint")
end

local function top_of(list, least)
  local top = least
  for _, one in ipairs(list) do
    for _, series in ipairs(one.series) do
      for _, x in ipairs(series.values) do top = math.max(top, x or 0) end
    end
  end
  return top
end

--- @tparam string kind of the figure, its id
-- @tparam string label
-- @tparam string words what it shows
-- @tparam table list panels: name, note, width (s of a value), series ({ values, class }: stepped areas, false values left out),
--  line (a value to mark)
-- @tparam table legend of svg.legend
-- @tparam number time s, of all
-- @tparam number least what the largest value of the axis is at least
function panels.figure(kind, label, words, list, legend, time, least)
  local out = { kind = kind, label = label, text = words, width = svg.WIDTH }
  local at, top = scale.linear(time, svg.LEFT, svg.RIGHT), top_of(list, least)
  local first = 8 + svg.legend(out, legend, svg.LEFT, svg.RIGHT, 14)
  local bottom = first + #list * (PANEL + SPACE) - SPACE
  for i, one in ipairs(list) do panel(out, one, top, first + (i - 1) * (PANEL + SPACE), at) end
  svg.axis(out, at, time, "seconds", first, bottom)
  out.height = bottom + 24
  return out
end

return panels
