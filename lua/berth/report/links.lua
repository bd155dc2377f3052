--- Link use: bytes and busy share of each link, and how many transfers are under way.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST, ROW, FLIGHT = 32, 19, 56
local LEFT, RIGHT = 230, 630

local function used(f)
  local list = {}
  for k, link in ipairs(f.result.links) do
    if link.bytes > 0 or link.busy > 0 then list[#list + 1] = { id = k, bytes = link.bytes, busy = link.busy } end
  end
  table.sort(list, function(a, b)
    if a.busy ~= b.busy then return a.busy > b.busy end
    return a.id < b.id
  end)
  return list
end

-- Mean number of transfers under way in each column.
local function flight(f, at)
  local low, high = math.floor(svg.LEFT), math.floor(svg.RIGHT)
  local change, count, depth, top = {}, {}, 0, 0
  for _, t in ipairs(f.transfers) do
    if t.finish > t.start then
      local a, b = math.floor(at(t.start)), math.floor(at(t.finish))
      change[a] = (change[a] or 0) + 1
      change[b + 1] = (change[b + 1] or 0) - 1
    end
  end
  for x = low, high do
    depth = depth + (change[x] or 0)
    count[x], top = depth, math.max(top, depth)
  end
  return count, top
end

local function add_flight(out, f)
  local at, n = scale.linear(f.makespan, svg.LEFT, svg.RIGHT), scale.number
  local count, top = flight(f, at)
  if top == 0 then return 8 end
  local bottom = 20 + FLIGHT
  local high = scale.linear(top * 1.08, bottom, 20)
  out[#out + 1] = svg.rect(svg.LEFT, 20, svg.RIGHT - svg.LEFT, FLIGHT, "lane")
  local pieces = { ("M%s %s"):format(n(svg.LEFT), n(bottom)) }
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) do
    if count[x] ~= count[x - 1] then pieces[#pieces + 1] = ("H%sV%s"):format(n(x), n(high(count[x]))) end
  end
  pieces[#pieces + 1] = ("H%sV%sz"):format(n(svg.RIGHT), n(bottom))
  out[#out + 1] = svg.path(table.concat(pieces), "area")
  out[#out + 1] = svg.text(svg.LEFT - 8, 32, "under way", "end strong")
  out[#out + 1] = svg.text(svg.LEFT - 8, 48, ("most: %d"):format(top), "end small")
  svg.axis(out, at, f.makespan, "seconds", bottom, bottom + 4)
  return bottom + 44
end

local function add_link(out, f, entry, y)
  local link, share = f.topology:link(entry.id), f.makespan > 0 and entry.busy / f.makespan or 0
  out[#out + 1] = svg.text(LEFT - 8, y + 13, svg.fit(("%s → %s"):format(link.from, link.to), LEFT - 14, 12), "end")
  out[#out + 1] = svg.rect(LEFT, y + 3, RIGHT - LEFT, ROW - 7, "lane")
  out[#out + 1] = svg.rect(LEFT, y + 3, math.min(share, 1) * (RIGHT - LEFT), ROW - 7, "c1",
    ("%s to %s: busy %s"):format(link.from, link.to, scale.quantity(entry.busy, "seconds")))
  local words = ("%s, busy %s"):format(scale.quantity(entry.bytes, "bytes"), scale.percent(share))
  out[#out + 1] = svg.text(RIGHT + 8, y + 13, words, "small")
end

return function(f)
  local list = used(f)
  if #list == 0 then return nil, "no link was used" end
  local out = { width = svg.WIDTH, label = "Link use: bytes, share of the step that each link is busy, transfers under way" }
  local y = add_flight(out, f)
  for k = 1, math.min(#list, MOST) do
    add_link(out, f, list[k], y)
    y = y + ROW
  end
  if #list > MOST then
    local bytes = 0
    for k = MOST + 1, #list do bytes = bytes + list[k].bytes end
    out[#out + 1] = svg.text(LEFT, y + 14, ("%d links that are less busy carry %s together"):format(#list - MOST,
      scale.quantity(bytes, "bytes")), "small faint")
    y = y + ROW
  end
  out.height = y + 6
  return out
end
