--- Gantt chart: ops by device, transfers below their sender, the critical path, and where memory
-- ran out.
-- A row per device: a lane of ops, and a strip below it for sending, collectives and ops that are
-- communication, which run beside others. The width is
-- fixed, so that the size of the file must not depend on the number of ops: ops narrower than a
-- pixel column are summed up per column and drawn in the colour that takes most of it; narrow ones
-- share a path per colour; only ops of TIP_WIDTH and more, at most MOST_TIPS, are rectangles with a
-- tip.
local columns = require "berth.report.columns"
local facts = require "berth.report.facts"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST_ROWS, MOST_IDLE, MOST_ARROWS, MOST_JUMPS, MOST_TIPS, TIP_WIDTH = 64, 8, 40, 60, 2000, 3

-- Heights of lane, strip and space for n rows, in px.
local function sizes(n)
  if n <= 12 then return 24, 7, 10 end
  if n <= 32 then return 14, 5, 6 end
  return 9, 3, 4
end

-- Rows with their y, the scale from s to px, and how many devices are not drawn.
local function layout(f)
  local list, left_out, idle = facts.busiest(f, MOST_IDLE, MOST_ROWS)
  local lane, strip, space = sizes(#list)
  local rows, y = {}, 26
  for _, d in ipairs(list) do
    rows[d] = { y = y, columns = {}, sends = {}, collectives = {} }
    y = y + lane + strip + space
  end
  return { list = list, rows = rows, lane = lane, strip = strip, bottom = y, left_out = left_out,
    idle = idle, at = scale.linear(f.makespan, svg.LEFT, svg.RIGHT) }
end

-- Name, kind, device and times of op i.
local function tip(f, i)
  return ("%s (%s) on %s: %s to %s, %s"):format(f.name[i], f.group[i], f.devices[f.device[i]].name,
    scale.quantity(f.start[i], "seconds"), scale.quantity(f.finish[i], "seconds"),
    scale.quantity(f.finish[i] - f.start[i], "seconds"))
end

-- Appends a piece to the path of a colour.
local function add_block(paths, class, piece)
  local path = paths[class] or {}
  paths[class] = path
  path[#path + 1] = piece
end

-- A rectangle with a tip for op i, and its name where there is space for it.
local function add_wide(list, labels, f, i, x, w, y, lane)
  list[#list + 1] = svg.rect(x, y, w - math.min(0.8, 0.1 * w), lane, f.class[f.group[i]], tip(f, i))
  local text = lane >= 14 and w > 14 and svg.fit(f.name[i], w - 6, 11) or ""
  if #text > 5 or text == f.name[i] and text ~= "" then
    labels[#labels + 1] = svg.text(x + 3, y + lane / 2 + 5, text, "in")
  end
end

-- Ops above this width have a tip: TIP_WIDTH, or more if they would be too many.
local function tip_width(f, plan)
  local widths = {}
  for i, d in ipairs(f.device) do
    local w = plan.rows[d] and plan.at(f.finish[i]) - plan.at(f.start[i]) or 0
    if w >= TIP_WIDTH then widths[#widths + 1] = w end
  end
  if #widths <= MOST_TIPS then return TIP_WIDTH end
  table.sort(widths, function(a, b) return a > b end)
  return widths[MOST_TIPS + 1] * (1 + 1e-9)
end

-- Ops by width: rectangles, blocks of a path, columns; labels last, above all of them.
local function add_ops(out, f, plan)
  local paths, wide, labels, least = {}, {}, {}, tip_width(f, plan)
  for i, d in ipairs(f.device) do
    local row = not f.communication[i] and plan.rows[d] or nil
    local x = row and plan.at(f.start[i])
    local w = row and plan.at(f.finish[i]) - x or 0
    if w >= least then add_wide(wide, labels, f, i, x, w, row.y, plan.lane)
    elseif w >= 1 then
      add_block(paths, f.class[f.group[i]], svg.block(x, row.y, 0.9 * w, plan.lane))
    elseif w > 0 then columns.add(row.columns, x, w, f.class[f.group[i]]) end
  end
  for _, d in ipairs(plan.list) do
    local row = plan.rows[d]
    columns.draw(paths, row.columns, row.y, plan.lane, svg.LEFT, svg.RIGHT)
  end
  for k = 1, 8 do
    local path = paths[("c%d"):format(k)]
    if path then out:path(table.concat(path), ("c%d"):format(k)) end
  end
  for _, list in ipairs { wide, labels } do
    for _, piece in ipairs(list) do out[#out + 1] = piece end
  end
end

-- From column to column, in a row's `sends` or `collectives`.
local function count(changes, from, to)
  changes[from] = (changes[from] or 0) + 1
  changes[to + 1] = (changes[to + 1] or 0) - 1
end

-- Blocks where a sum of changes is above 0.
local function add_strip(pieces, changes, y, h)
  local depth, begin = 0, nil
  for x = math.floor(svg.LEFT), math.floor(svg.RIGHT) + 2 do
    depth = depth + (changes[x] or 0)
    if depth > 0 and not begin then begin = x end
    if depth == 0 and begin then
      pieces[#pieces + 1] = svg.block(begin, y, x - begin, h)
      begin = nil
    end
  end
end

-- A line with a tip at its end.
local function arrow(x1, y1, x2, y2)
  local side = y2 > y1 and -4 or 4
  local n = scale.number
  return svg.line(x1, y1, x2, y2 + side, "move")
    .. svg.path(("M%s %sl-3 %sh6z"):format(n(x2), n(y2), n(side * 1.3)), "tip")
end

-- One arrow per transfer, where they are few.
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

-- The strips of all rows as one path.
local function add_strips(out, plan, what, class)
  local pieces = {}
  for _, d in ipairs(plan.list) do
    add_strip(pieces, plan.rows[d][what], plan.rows[d].y + plan.lane + 1, plan.strip - 1)
  end
  if #pieces > 0 then out:path(table.concat(pieces), class) end
end

-- Kind, bytes, devices and times of a collective.
local function collective_tip(c)
  return ("%s of %s on %s: %s to %s, %s"):format(c.kind, scale.quantity(c.bytes, "bytes"),
    scale.count(#c.on, "device"),
    scale.quantity(c.start, "seconds"), scale.quantity(c.finish, "seconds"),
    scale.quantity(c.finish - c.start, "seconds"))
end

-- Ops that are communication, in the strip of their device.
local function add_communication(wide, f, plan)
  for i, d in ipairs(f.device) do
    local row = f.communication[i] and plan.rows[d]
    local x = row and plan.at(f.start[i])
    local to = row and plan.at(f.finish[i])
    if row and to - x >= TIP_WIDTH and #wide < MOST_TIPS then
      wide[#wide + 1] = svg.rect(x, row.y + plan.lane + 1, to - x, plan.strip - 1, "meet",
        tip(f, i))
    elseif row and to > x then count(row.collectives, math.floor(x), math.floor(to)) end
  end
end

-- What is wide enough to be pointed at has a tip.
local function add_collectives(out, f, plan)
  local wide = {}
  add_communication(wide, f, plan)
  for _, c in ipairs(f.collectives) do
    local x, to = plan.at(c.start), plan.at(c.finish)
    for _, d in ipairs(c.on) do
      local row = plan.rows[d]
      if row and to - x >= TIP_WIDTH and #wide < MOST_TIPS then
        wide[#wide + 1] = svg.rect(x, row.y + plan.lane + 1, to - x, plan.strip - 1, "meet",
          collective_tip(c))
      elseif row and to > x then count(row.collectives, math.floor(x), math.floor(to)) end
    end
  end
  add_strips(out, plan, "collectives", "meet")
  for _, piece in ipairs(wide) do out[#out + 1] = piece end
end

-- When each device sends.
local function add_transfers(out, f, plan)
  for _, t in ipairs(f.transfers) do
    local row = plan.rows[t.from]
    if row and t.finish > t.start then
      count(row.sends, math.floor(plan.at(t.start)), math.floor(plan.at(t.finish)))
    end
  end
  add_strips(out, plan, "sends", "send")
  if #f.transfers <= MOST_ARROWS and #plan.list <= 12 then add_arrows(out, f, plan) end
end

-- Each op of the path waits for the one before it, so spans come in order of time.
local function add_critical(out, f, plan)
  local pieces, jumps, open, last = {}, {}, nil, nil
  local function close()
    if open then
      pieces[#pieces + 1] = svg.block(open.x, open.y, math.max(open.to - open.x, 0.5), 4)
    end
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
  if #pieces > 0 then out:path(table.concat(pieces), "crit") end
end

-- A vertical line with a text beside it, to the left where there is no space to the right.
local function mark(out, x, top, bottom, text, class, words)
  out:line(x, top, x, bottom, class)
  local right = x + svg.width(text, 11) + 4 > svg.RIGHT
  out:print(right and x - 4 or x + 4, top + 8, text, words .. (right and " end" or ""))
end

-- Lanes with the names of their devices.
local function add_rows(out, f, plan)
  for _, d in ipairs(plan.list) do
    local row = plan.rows[d]
    out:rect(svg.LEFT, row.y, svg.RIGHT - svg.LEFT, plan.lane, "lane")
    out:print(svg.LEFT - 8, row.y + plan.lane / 2 + 4,
      svg.fit(f.devices[d].name, svg.LEFT - 14, 12), plan.lane < 12 and "end small" or "end")
  end
end

local function add_legend(out, f, plan)
  local entries = {}
  for i, entry in ipairs(f.legend) do entries[i] = entry end
  if #f.critical > 0 then entries[#entries + 1] = { "crit", "critical path", "bar" } end
  if #f.transfers > 0 then entries[#entries + 1] = { "send", "sending", "bar" } end
  if #f.collectives > 0 then entries[#entries + 1] = { "meet", "collective", "bar" } end
  return svg.legend(out, entries, svg.LEFT, svg.RIGHT, plan.bottom + 36)
end

local function add_mark(out, f, plan)
  local bound, oom = f.bound, f.result.oom
  if oom then
    local where = svg.fit(f.devices[oom.device].name, 150, 11)
    mark(out, plan.at(oom.time), 10, plan.bottom, "out of memory on " .. where, "limit",
      "small warn")
  elseif bound and bound <= f.makespan then
    mark(out, plan.at(bound), 10, plan.bottom, "bound " .. scale.quantity(bound, "seconds"),
      "bound", "small")
  end
end

-- The figure in words, for readers that cannot see it.
local function describe(f, plan)
  local parts = { "The step takes " .. scale.quantity(f.makespan, "seconds") }
  for k = 1, math.min(#plan.list, 8) do
    local d = plan.list[k]
    parts[#parts + 1] = ("%s runs %s and is busy %s of the time"):format(f.devices[d].name,
      scale.count(f.n_ops[d], "op"),
      scale.percent(f.makespan > 0 and f.result.busy[d] / f.makespan or 0))
  end
  if #plan.list > 8 then parts[#parts + 1] = "and so on" end
  return table.concat(parts, ", ") .. ". " .. scale.count(#f.critical, "op")
    .. " on the critical path."
end

-- Sentences below the figure: what is summed up or not drawn.
local function notes(f, plan)
  local short = 0
  for i in ipairs(f.device) do
    if plan.at(f.finish[i]) - plan.at(f.start[i]) < 1 then short = short + 1 end
  end
  return {
    short > 0 and f.makespan > 0 and ("%s shorter than %s: a column shows for how long it is busy, "
      .. "coloured by what takes most "
      .. "of that."):format(scale.count(short, "op"),
      scale.quantity(f.makespan / (svg.RIGHT - svg.LEFT), "seconds")),
    plan.idle > 0 and ("Not drawn: %s without any op."):format(scale.count(plan.idle, "device")),
    plan.left_out > 0 and ("Not drawn: %s that are less busy."):format(scale.count(plan.left_out,
      "device")),
  }
end

-- The picture. Devices come busiest first; those beyond MOST_ROWS are counted in a note.
return function(f)
  local plan = layout(f)
  local out = svg.picture { text = describe(f, plan),
    label = ("Gantt chart of %s on %s"):format(
    scale.count(#f.device, "op"), scale.count(#f.devices, "device")) }
  add_rows(out, f, plan)
  svg.axis(out, plan.at, f.makespan, "seconds", 24, plan.bottom,
    scale.quantity(f.makespan, "seconds"))
  add_ops(out, f, plan)
  add_transfers(out, f, plan)
  add_collectives(out, f, plan)
  add_critical(out, f, plan)
  add_mark(out, f, plan)
  out.height = svg.notes(out, svg.LEFT, plan.bottom + 38 + add_legend(out, f, plan), notes(f, plan))
  return out
end
