--- Link use: bytes and utilisation of each link, and how many transfers are under way.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local utilisation = require "berth.sim.utilisation"

-- Links that are drawn; height of a row and of the panel of transfers under way, px.
local MOST, ROW, FLIGHT = 32, 19, 56
local LEFT, RIGHT = 250, 600

-- Sorted starts and ends of all transfers and collectives, s.
local function ends_of(f)
  local starts, ends = {}, {}
  for _, t in ipairs(f.transfers) do
    if t.finish > t.start then
      starts[#starts + 1], ends[#ends + 1] = t.start, t.finish
    end
  end
  for _, c in ipairs(f.collectives) do
    if #c.on > 1 and c.finish > c.start then
      starts[#starts + 1], ends[#ends + 1] = c.start, c.finish
    end
  end
  table.sort(starts)
  table.sort(ends)
  return starts, ends
end

-- Largest number of transfers under way in each column; what ends at an instant goes before what
-- starts at it.
local function flight(f, at)
  local starts, ends = ends_of(f)
  local count, depth, top, i, j = {}, 0, 0, 1, 1
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) do
    local most = depth
    while starts[i] and math.floor(at(starts[i])) <= x or ends[j]
        and math.floor(at(ends[j])) <= x do
      if starts[i] and starts[i] < ends[j] then
        depth, i = depth + 1, i + 1
      else
        depth, j = depth - 1, j + 1
      end
      most = math.max(most, depth)
    end
    count[x], top = most, math.max(top, most)
  end
  return count, top
end

-- A stepped path of the counts.
local function outline(count, high, bottom)
  local n = scale.number
  local pieces = { ("M%s %s"):format(n(svg.LEFT), n(bottom)) }
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) do
    if count[x] ~= count[x - 1] then
      pieces[#pieces + 1] = ("H%sV%s"):format(n(x), n(high(count[x])))
    end
  end
  pieces[#pieces + 1] = ("H%sV%sz"):format(n(svg.RIGHT), n(bottom))
  return table.concat(pieces)
end

-- The panel of transfers under way; returns the y below it.
local function add_flight(out, f)
  local at = scale.linear(f.makespan, svg.LEFT, svg.RIGHT)
  local count, top = flight(f, at)
  if top == 0 then return 8 end
  local bottom = 8 + FLIGHT
  out:rect(svg.LEFT, 8, svg.RIGHT - svg.LEFT, FLIGHT, "lane")
  out:path(outline(count, scale.linear(top * 1.08, bottom, 8), bottom), "area")
  out:print(svg.LEFT - 8, 20, "under way", "end strong")
  out:print(svg.LEFT - 8, 36, ("%d at most"):format(top), "end small")
  svg.axis(out, at, f.makespan, "seconds", bottom, bottom + 4)
  return bottom + 44
end

-- "a → b", each cut to its part of the space.
local function name_of(link)
  local half = (LEFT - 14 - svg.width(" → ")) / 2
  local from, to = svg.width(link.from), svg.width(link.to)
  local a = svg.fit(link.from, math.max(half, 2 * half - to))
  local b = svg.fit(link.to, math.max(half, 2 * half - from))
  return a .. " → " .. b
end

-- Bytes, share of the step, and transfers at once where there were several.
local function words_of(entry)
  local words = ("%s, used %s"):format(scale.quantity(entry.bytes, "bytes"),
    scale.percent(entry.share))
  return entry.most > 1 and ("%s, %.0f at once"):format(words, entry.most) or words
end

-- A bar of the share of the step that the link needs.
local function add_link(out, entry, y)
  out:print(LEFT - 8, y + 13, name_of(entry), "end")
  out:rect(LEFT, y + 3, RIGHT - LEFT, ROW - 7, "lane")
  out:rect(LEFT, y + 3, math.min(entry.share, 1) * (RIGHT - LEFT), ROW - 7, "c1",
    ("%s to %s, %s: needs %s for its bytes, busy %s"):format(entry.from, entry.to,
      scale.quantity(entry.bandwidth, "bytes/s"),
      scale.quantity(entry.need, "seconds"), scale.quantity(entry.busy, "seconds")))
  out:print(RIGHT + 8, y + 13, words_of(entry), "small")
end

local function describe(list)
  local out = {}
  for k = 1, math.min(#list, 5) do
    out[k] = ("%s to %s carries %s"):format(list[k].from, list[k].to, words_of(list[k]))
  end
  return ("%s used. "):format(scale.count(#list, "link")) .. table.concat(out, "; ") .. "."
end

-- The note on links beyond MOST, or false.
local function rest(list)
  if #list <= MOST then return false end
  local bytes = 0
  for k = MOST + 1, #list do bytes = bytes + list[k].bytes end
  return ("Not drawn: %s that are less used and carry %s together.")
    :format(scale.count(#list - MOST, "link"),
    scale.quantity(bytes, "bytes"))
end

-- The picture, or nil and why there is none. Links come with the most used first.
return function(f)
  local list = utilisation.of(f.topology, f.result)
  if #list == 0 then return nil, "no link was used" end
  local out = svg.picture { text = describe(list),
    label = "Link use: bytes, share of the step that each link needs for them, transfers under "
      .. "way" }
  local y = add_flight(out, f)
  for k = 1, math.min(#list, MOST) do
    add_link(out, list[k], y)
    y = y + ROW
  end
  out.height = svg.notes(out, LEFT, y + 2, { rest(list) })
  return out
end
