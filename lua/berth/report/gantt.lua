--- Gantt chart: ops by device, transfers below their sender, the critical path, and where memory ran out.
-- What is narrower than a column is summed up in it, so that the size does not depend on the number of ops.
local facts = require "berth.report.facts"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST_ROWS, MOST_ARROWS, MOST_JUMPS, TIP_WIDTH = 64, 40, 60, 3

local function sizes(n)
  if n <= 12 then return 24, 7, 10 end
  if n <= 32 then return 14, 5, 6 end
  return 9, 3, 4
end

local function layout(f)
  local list, left_out = facts.most(f, f.result.busy, MOST_ROWS)
  local lane, strip, space = sizes(#list)
  local rows, y = {}, 26
  for _, d in ipairs(list) do
    rows[d] = { y = y, columns = {}, flight = {} }
    y = y + lane + strip + space
  end
  return { list = list, rows = rows, lane = lane, strip = strip, bottom = y, left_out = left_out,
    at = scale.linear(f.makespan, svg.LEFT, svg.RIGHT) }
end

local function tip(f, i)
  return ("%s (%s) on %s: %s to %s, %s"):format(f.name[i], f.group[i], f.devices[f.device[i]].name,
    scale.quantity(f.start[i], "seconds"), scale.quantity(f.finish[i], "seconds"),
    scale.quantity(f.finish[i] - f.start[i], "seconds"))
end

local function add_block(paths, class, piece)
  local path = paths[class] or {}
  paths[class] = path
  path[#path + 1] = piece
end

local function add_wide(out, labels, f, i, x, w, y, lane)
  out[#out + 1] = svg.rect(x, y, w, lane, f.class[f.group[i]] .. " box", tip(f, i))
  local text = lane >= 14 and w > 30 and svg.fit(f.name[i], w - 8, 11) or ""
  if #text > 4 or text == f.name[i] and text ~= "" then labels[#labels + 1] = svg.text(x + 4, y + lane / 2 + 4, text, "in") end
end

local function add_to_column(row, x, w, class)
  local k = math.floor(x)
  local column = row.columns[k] or { sum = 0 }
  row.columns[k] = column
  column[class] = (column[class] or 0) + w
  column.sum = column.sum + w
end

-- The class that takes most of a column; of equals the first.
local function main_class(column)
  local best = "c1"
  for k = 2, 8 do
    local class = ("c%d"):format(k)
    if (column[class] or 0) > (column[best] or 0) then best = class end
  end
  return best
end

local function add_columns(paths, row, lane)
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) + 1 do
    local column = row.columns[x]
    if column and column.sum > 0 then
      add_block(paths, main_class(column), svg.block(x, row.y, math.min(1, math.max(column.sum, 0.3)), lane))
    end
  end
end

local function add_ops(out, f, plan)
  local paths, wide, labels = {}, {}, {}
  for i, d in ipairs(f.device) do
    local row = plan.rows[d]
    local x = row and plan.at(f.start[i])
    local w = row and plan.at(f.finish[i]) - x or 0
    if w >= TIP_WIDTH then add_wide(wide, labels, f, i, x, w, row.y, plan.lane)
    elseif w >= 1 then add_block(paths, f.class[f.group[i]], svg.block(x, row.y, w, plan.lane))
    elseif w > 0 then add_to_column(row, x, w, f.class[f.group[i]]) end
  end
  for _, d in ipairs(plan.list) do add_columns(paths, plan.rows[d], plan.lane) end
  for k = 1, 8 do
    local path = paths[("c%d"):format(k)]
    if path then out[#out + 1] = svg.path(table.concat(path), ("c%d"):format(k)) end
  end
  for _, list in ipairs { wide, labels } do
    for _, piece in ipairs(list) do out[#out + 1] = piece end
  end
end

local function count_flight(row, from, to)
  row.flight[from] = (row.flight[from] or 0) + 1
  row.flight[to + 1] = (row.flight[to + 1] or 0) - 1
end

local function add_strip(pieces, row, y, h)
  local depth, begin = 0, nil
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) + 2 do
    depth = depth + (row.flight[x] or 0)
    if depth > 0 and not begin then begin = x end
    if depth == 0 and begin then
      pieces[#pieces + 1] = svg.block(begin, y, x - begin, h)
      begin = nil
    end
  end
end

local function arrow(x1, y1, x2, y2)
  local side = y2 > y1 and -4 or 4
  local n = scale.number
  return svg.line(x1, y1, x2, y2 + side, "move")
    .. svg.path(("M%s %sl-3 %sh6z"):format(n(x2), n(y2), n(side * 1.3)), "tip")
end

local function add_arrows(out, f, plan)
  for _, t in ipairs(f.transfers) do
    local from, to = plan.rows[t.from], plan.rows[t.to]
    if from and to then
      local down = to.y > from.y
      out[#out + 1] = arrow(plan.at(t.start), from.y + (down and plan.lane or 0), plan.at(t.finish),
        to.y + (down and 0 or plan.lane))
    end
  end
end

local function add_transfers(out, f, plan)
  for _, t in ipairs(f.transfers) do
    local row = plan.rows[t.from]
    if row and t.finish > t.start then count_flight(row, math.floor(plan.at(t.start)), math.floor(plan.at(t.finish))) end
  end
  local pieces = {}
  for _, d in ipairs(plan.list) do add_strip(pieces, plan.rows[d], plan.rows[d].y + plan.lane + 1, plan.strip - 1) end
  if #pieces > 0 then out[#out + 1] = svg.path(table.concat(pieces), "send") end
  if #f.transfers <= MOST_ARROWS and #plan.list <= 12 then add_arrows(out, f, plan) end
end

-- Each op of the path waits for the one before it, so spans come in order of time.
local function add_critical(out, f, plan)
  local pieces, jumps, open, last = {}, {}, nil, nil
  local function close()
    if open then pieces[#pieces + 1] = svg.block(open.x, open.y, math.max(open.to - open.x, 0.5), 4) end
  end
  for _, i in ipairs(f.critical) do
    local row = plan.rows[f.device[i]]
    if row then
      local x, to = plan.at(f.start[i]), plan.at(f.finish[i])
      if not open or open.y ~= row.y or x - open.to > 0.5 then
        if last and last.y ~= row.y then
          jumps[#jumps + 1] = svg.line(last.to, last.y + 2, x, row.y + 2, "jump")
        end
        close()
        open = { x = x, y = row.y, to = to }
      end
      open.to = math.max(open.to, to)
      last = open
    end
  end
  close()
  if #jumps <= MOST_JUMPS then
    for _, jump in ipairs(jumps) do out[#out + 1] = jump end
  end
  if #pieces > 0 then out[#out + 1] = svg.path(table.concat(pieces), "crit") end
end

local function mark(out, x, top, bottom, text, class, words)
  out[#out + 1] = svg.line(x, top, x, bottom, class)
  local right = x + svg.width(text, 11) + 4 > svg.RIGHT
  out[#out + 1] = svg.text(right and x - 4 or x + 4, top + 8, text, words .. (right and " end" or ""))
end

local function add_rows(out, f, plan)
  for _, d in ipairs(plan.list) do
    local row = plan.rows[d]
    out[#out + 1] = svg.rect(svg.LEFT, row.y, svg.RIGHT - svg.LEFT, plan.lane, "lane")
    out[#out + 1] = svg.text(svg.LEFT - 8, row.y + plan.lane / 2 + 4, svg.fit(f.devices[d].name, svg.LEFT - 14, 12),
      plan.lane < 12 and "end small" or "end")
  end
end

local function add_legend(out, f, plan)
  local entries = {}
  for i, entry in ipairs(f.legend) do entries[i] = entry end
  if #f.critical > 0 then entries[#entries + 1] = { "crit", "critical path" } end
  if #f.transfers > 0 then entries[#entries + 1] = { "send", "sending" } end
  return svg.legend(out, entries, svg.LEFT, svg.RIGHT, plan.bottom + 36)
end

return function(f)
  local plan = layout(f)
  local out = { width = svg.WIDTH, label = ("Gantt chart of %s on %s"):format(scale.count(#f.device, "op"),
    scale.count(#f.devices, "device")) }
  add_rows(out, f, plan)
  svg.axis(out, plan.at, f.makespan, "seconds", 24, plan.bottom)
  add_ops(out, f, plan)
  add_transfers(out, f, plan)
  add_critical(out, f, plan)
  local bound, oom = f.bound, f.result.oom
  if oom then
    local where = svg.fit(f.devices[oom.device].name, 150, 11)
    mark(out, plan.at(oom.time), 10, plan.bottom, "out of memory on " .. where, "limit", "small warn")
  elseif bound and bound <= f.makespan then
    mark(out, plan.at(bound), 10, plan.bottom, "bound " .. scale.quantity(bound, "seconds"), "bound", "small")
  end
  local height = plan.bottom + 36 + add_legend(out, f, plan)
  if plan.left_out > 0 then
    local words = ("%d devices that are less busy are not drawn"):format(plan.left_out)
    out[#out + 1] = svg.text(svg.LEFT, height + 12, words, "small faint")
    height = height + 18
  end
  out.height = height + 4
  return out
end
