--- The picture of a schedule: stages down, time right, F, B and W in three colours with their
-- micro-batches, bubbles in grey, memory under each stage.
--
-- A box narrower than a pixel joins the column of its pixel, which has the colour that takes most
-- of it, so that the size of the file is bounded.
local core = require "berth.core"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local picture = {}

options.declare("schedule:figure", {
  { key = "memory", type = "flag", default = "true", text = "memory under each stage" },
})

local CLASS = { F = "c1", B = "c3", W = "c2", BW = "c4" }
local ORDER = { "F", "B", "W", "BW" }
local TEXT = { F = "F, forward", B = "B, gradient of inputs", W = "W, gradient of weights",
  BW = "B and W as one" }
local LANE, MEMORY, SPACE, TOP = 22, 22, 8, 14
local SLOT, WIDEST = 15, 6000 -- px of an action, and of a picture
local MOST_BOXES = 4000

local function text_of(x) return core.sprintf("%.4g", x) end

-- The time that the picture ends at: of a deadlock, where it stops.
local function end_of(s)
  local most = 0
  for _, list in ipairs(s.list) do
    for _, a in ipairs(list) do most = math.max(most, a.finish or 0) end
  end
  for stage, extra in ipairs(s.problem.extra) do
    local last = s.list[stage][#s.list[stage]]
    if last and last.finish then most = math.max(most, last.finish + extra) end
  end
  return most
end

-- Whether the actions are few enough to have a box and a tip each.
local function is_fine(s)
  local n = 0
  for _, list in ipairs(s.list) do n = n + #list end
  return n <= MOST_BOXES
end

local function width_of(s)
  local most = 0
  for _, list in ipairs(s.list) do most = math.max(most, #list) end
  local fitting = math.min(WIDEST, svg.LEFT + 14 + SLOT * most)
  return is_fine(s) and math.max(svg.WIDTH, fitting) or svg.WIDTH
end

-- The number of a chunk on its stage.
local function place_of(problem, stage, chunk)
  for k, c in ipairs(problem.chunk[stage]) do
    if c == chunk then return k end
  end
end

-- ---- boxes --------------------------------------------------------------------------------------

local function tip(a)
  return ("%s: %s to %s"):format(object.action_name(a), scale.quantity(a.start, "seconds"),
    scale.quantity(a.finish, "seconds"))
end

-- One action; of a slot the F has the upper half and the B the lower one.
local function add_box(out, labels, a, x, w, y, h, later)
  out:rect(x, y, w - math.min(0.8, 0.1 * w), h, CLASS[a.kind], tip(a))
  if later then out:rect(x, y, w - math.min(0.8, 0.1 * w), 2, "peak") end
  local text = ("%.0f"):format(a.microbatch - 1)
  if svg.width(text, 10) <= w and h > 9 then
    labels[#labels + 1] = svg.text(x + w / 2 - 0.4, y + h / 2 + 4, text, "mid in tiny")
  end
end

-- Adds an action to the columns that it touches.
local function add_to_columns(columns, a, x, w)
  local k = math.floor(x)
  columns[k] = columns[k] or {}
  columns[k][a.kind] = (columns[k][a.kind] or 0) + w
end

local function add_columns(out, columns, y, right)
  local paths = { F = {}, B = {}, W = {}, BW = {} }
  for k = svg.LEFT, math.floor(right) do
    local best, sum = nil, 0
    for _, kind in ipairs(ORDER) do
      local w = columns[k] and columns[k][kind] or 0
      if w > (best and columns[k][best] or 0) then best = kind end
      sum = sum + w
    end
    if best then
      table.insert(paths[best], svg.block(k, y, math.min(1, math.max(sum, 0.3)), LANE))
    end
  end
  for _, kind in ipairs(ORDER) do
    if #paths[kind] > 0 then out:path(table.concat(paths[kind]), CLASS[kind]) end
  end
end

local function add_actions(out, s, stage, y, at, right)
  local fine, columns, labels, paths = is_fine(s), {}, {}, {}
  local list, i = s.list[stage], 1
  while i <= #list do
    local a, other = list[i], list[i].overlapped and list[i + 1] or nil
    if not a.start then break end
    local x, w = at(a.start), at(a.finish) - at(a.start)
    for k, one in ipairs { a, other } do
      local h = other and LANE / 2 or LANE
      local top = y + (k - 1) * h
      local later = place_of(s.problem, stage, one.chunk) > 1
      if w >= 1 and fine then add_box(out, labels, one, x, w, top, h, later)
      elseif w >= 1 then
        local path = paths[one.kind] or {}
        paths[one.kind] = path
        path[#path + 1] = svg.block(x, top, 0.9 * w, h)
      else add_to_columns(columns, one, x, w) end
    end
    i = i + (other and 2 or 1)
  end
  for _, kind in ipairs(ORDER) do
    if paths[kind] then out:path(table.concat(paths[kind]), CLASS[kind]) end
  end
  add_columns(out, columns, y, right)
  for _, text in ipairs(labels) do out[#out + 1] = text end
end

-- ---- memory -------------------------------------------------------------------------------------

-- { time, change } in order of time; what ends frees before what starts takes.
local function changes(s, stage)
  local p, out = s.problem, {}
  local function add(time, change) out[#out + 1] = { time, change, #out } end
  for _, a in ipairs(s.list[stage]) do
    local takes = p.activations[a.chunk]
    local freed = p.joined and 1 or p.freed
    if not a.start then break end
    if a.kind == "F" then add(a.start, takes)
    elseif a.kind == "B" then add(a.finish, -takes * freed)
    elseif a.kind == "W" then add(a.finish, -takes * (1 - freed))
    else add(a.finish, -takes) end
  end
  table.sort(out, function(x, y)
    if x[1] ~= y[1] then return x[1] < y[1] end
    if (x[2] < 0) ~= (y[2] < 0) then return x[2] < 0 end
    return x[3] < y[3]
  end)
  return out
end

-- A step per px at most: the largest and the last value of each.
local function outline(list, at, high, from, right)
  local n, held = scale.number, 0
  local out, column, top = { ("M%s %s"):format(n(svg.LEFT), n(high(from))) }, nil, from
  local function flush()
    if not column then return end
    out[#out + 1] = ("H%sV%s"):format(n(column), n(high(top)))
    local last = math.max(held, from)
    if last ~= top then out[#out + 1] = ("h.5V%s"):format(n(high(last))) end
  end
  for _, change in ipairs(list) do
    local x = math.floor(2 * at(change[1])) / 2
    if x ~= column then
      flush()
      column, top = x, from
    end
    held = held + change[2]
    if math.abs(held) < 1e-9 then held = 0 end
    top = math.max(top, held)
  end
  flush()
  out[#out + 1] = ("H%sV%sz"):format(n(right), n(high(from)))
  return table.concat(out)
end

-- The top of all memory strips: peaks, and limits that are near.
local function most_memory(s)
  local most = s.most
  for _, limit in ipairs(s.problem.memory) do
    if limit <= 2 * s.most then most = math.max(most, limit) end
  end
  return most > 0 and most * 1.05 or 1
end

local function add_memory(out, s, stage, y, at, most, right)
  local high = scale.linear(most, y + MEMORY, y)
  local list, limit = changes(s, stage), s.problem.memory[stage]
  out:rect(svg.LEFT, y, right - svg.LEFT, MEMORY, "lane")
  out:path(outline(list, at, high, 0, right), "area")
  if s.peak[stage] > limit * (1 + 1e-9) then
    out:path(outline(list, at, high, limit, right), "over")
  end
  if limit <= most then out:line(svg.LEFT, high(limit), right, high(limit), "limit") end
  local text = text_of(s.peak[stage])
    .. (limit < math.huge and " of " .. text_of(limit) or "")
  out:print(svg.LEFT - 8, y + MEMORY / 2 + 4, "peak " .. text, "end small faint")
end

-- ---- the whole ----------------------------------------------------------------------------------

local function legend(s, memory)
  local used, out = {}, {}
  for _, list in ipairs(s.list) do
    for _, a in ipairs(list) do used[a.kind] = true end
  end
  for _, kind in ipairs(ORDER) do
    if used[kind] then out[#out + 1] = { CLASS[kind], TEXT[kind] } end
  end
  out[#out + 1] = { "c8", "bubble" }
  if s.problem.chunks > 1 then out[#out + 1] = { "peak", "of a later chunk", "bar" } end
  if memory then out[#out + 1] = { "area", "memory" } end
  return out
end

--- The figure, for svg.document and html.figure.
-- @tparam schedule s
-- @tparam[opt] table opts memory
function picture.figure(s, opts)
  local given = options.read("schedule:figure", "schedule:figure", opts)
  local memory, most = given.memory ~= false, end_of(s)
  local width = width_of(s)
  local right = width - 14
  local at, top = scale.linear(most, svg.LEFT, right), most_memory(s)
  local out = svg.picture { kind = "schedule", width = width, label = "Pipeline schedule",
    text = tostring(s) }
  local y = TOP
  for stage = 1, s.problem.stages do
    out:rect(svg.LEFT, y, right - svg.LEFT, LANE, "c8")
    out:print(svg.LEFT - 8, y + LANE / 2 + 4, ("stage %.0f"):format(stage - 1), "end")
    add_actions(out, s, stage, y, at, right)
    y = y + LANE
    if memory then
      add_memory(out, s, stage, y + 2, at, top, right)
      y = y + 2 + MEMORY
    end
    y = y + SPACE
  end
  svg.axis(out, at, most, "seconds", y - SPACE, y - SPACE + 4)
  y = y + 26
  y = y + svg.legend(out, legend(s, memory), svg.LEFT, right, y)
  out.height = svg.notes(out, svg.LEFT, y + 4, { tostring(s) })
  return out
end

--- A whole SVG file.
function picture.file(s, opts) return svg.document(picture.figure(s, opts), true) end

return picture
