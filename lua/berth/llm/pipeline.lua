--- The picture of a step's pipeline: a lane for one GPU of each stage, its passes by kind with the
-- numbers of micro-batches, and below it when it sends, gathers and reduces.
--
-- Where the whole step has too many passes to be read, two panels of one scale show its beginning,
-- up to the first backward pass of all stages, and its end, from the last forward pass of a stage
-- on. A pass narrower than a pixel joins the column of its pixel, and where boxes are many they
-- share a path per colour and have no tips, so that the size of the file is bounded.
local columns = require "berth.report.columns"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local CLASS = { forward = "c1", backward = "c4", input = "c3", weight = "c2", optimizer = "c5",
  reduce = "c6", gather = "c6" }
local LEGEND = { { "c1", "forward" }, { "c4", "backward" }, { "c3", "backward, inputs" },
  { "c2", "backward, weights" }, { "c5", "optimiser" }, { "c6", "collective that nothing hides" } }
local SLOT, NARROW, WIDEST, MARGIN = 12, 3, 1600, 14
local MOST_PASSES, MOST_TIPS, MOST_SENDING, LEAST_WINDOW = 120, 2000, 32, 24

-- Heights of lane, strip and space for n stages, in px.
local function sizes(n)
  if n <= 12 then return 24, 6, 8 end
  if n <= 32 then return 15, 4, 4 end
  return 9, 3, 2
end

-- ---- what is drawn ------------------------------------------------------------------------------

-- "F2.5" or "F2.5/3": kind of the pass, chunk, micro-batch.
local function parts_of(name)
  local out = {}
  for kind, chunk, batch in name:gmatch "([FBW])(%d+)%.(%d+)" do
    out[#out + 1] = { kind = kind, chunk = tonumber(chunk), batch = batch }
  end
  return out
end

-- The ops of a pass that follow one another are one box.
local function add_pass(lane, op, start, finish)
  local last, name = lane[#lane], op.name
  local slash = name:find("/", 1, true)
  if slash then name = name:sub(1, slash - 1) end
  if last and last.name == name and last.finish == start then last.finish = finish
  else lane[#lane + 1] = { name = name, kind = op.kind, start = start, finish = finish } end
end

-- Lanes of passes, and of communication beside them, by stage.
local function lanes_of(r)
  local lanes, beside = {}, {}
  local device, start, finish = r.device, r.start, r.finish
  for d = 1, #r.cost.topology do lanes[d], beside[d] = {}, { sends = {}, collectives = {} } end
  for op in r.cost.graph:ops() do
    local i = op.id
    local d = device[i]
    if op.communication then
      table.insert(beside[d].collectives, { start = start[i], finish = finish[i] })
    elseif finish[i] > start[i] then add_pass(lanes[d], op, start[i], finish[i]) end
  end
  for _, t in ipairs(#lanes <= MOST_SENDING and r.transfers or {}) do
    table.insert(beside[t.from].sends, t)
  end
  return lanes, beside
end

-- When all stages had their first backward pass; and when the first one begins its last forward.
local function ends_of(lanes)
  local warm, cool = 0, math.huge
  for _, lane in ipairs(lanes) do
    for _, pass in ipairs(lane) do
      if pass.kind ~= "forward" then
        warm = math.max(warm, pass.finish)
        break
      end
    end
    for i = #lane, 1, -1 do
      if lane[i].kind == "forward" or lane[i].kind == "overlapped" then
        cool = math.min(cool, lane[i].start)
        break
      end
    end
  end
  return warm, cool
end

local function most_passes(lanes)
  local most = 0
  for _, lane in ipairs(lanes) do most = math.max(most, #lane) end
  return most
end

-- The spans of time that are drawn, { from, to }: the whole step, or its beginning and its end.
local function windows_of(lanes, step)
  local n = most_passes(lanes)
  if n <= MOST_PASSES then return { { 0, step } } end
  local warm, cool = ends_of(lanes)
  local span = math.max(1.1 * warm, 1.1 * (step - cool), LEAST_WINDOW * step / n)
  if 2 * span >= step then return { { 0, step } } end
  return { { 0, span }, { step - span, step } }
end

-- How many passes the fullest lane has within a window, and all lanes within all.
local function passes_in(lanes, windows)
  local most, all = 0, 0
  for _, w in ipairs(windows) do
    for _, lane in ipairs(lanes) do
      local n = 0
      for _, pass in ipairs(lane) do
        if pass.finish > w[1] and pass.start < w[2] then n = n + 1 end
      end
      most, all = math.max(most, n), all + n
    end
  end
  return most, all
end

-- ---- boxes --------------------------------------------------------------------------------------

local function tip(pass)
  return ("%s (%s): %s to %s"):format(pass.name, pass.kind, scale.quantity(pass.start, "seconds"),
    scale.quantity(pass.finish, "seconds"))
end

-- Class of a part of a pass, or of what is no pass.
local function class_of(plan, pass, part)
  if not part then return CLASS[pass.kind] end
  if part.kind == "F" then return CLASS.forward end
  return part.kind == "W" and CLASS.weight or plan.split and CLASS.input or CLASS.backward
end

-- A rectangle of a path. Narrow ones that touch are one, where there are no tips.
local function add_block(plan, paths, class, x, y, w, h)
  local list = paths[class] or {}
  paths[class] = list
  local last = list[#list]
  local joins = last and last.y == y and last.h == h and x - last.x - last.w < 0.3
    and (class == "peak" or w < NARROW)
  if joins and not plan.tips then last.w = x + w - last.x
  else list[#list + 1] = { x = x, y = y, w = w, h = h } end
end

-- A box of one colour; a later chunk has a dark line at its top.
local function add_box(out, paths, plan, pass, part, x, w, y, h)
  local class, width = class_of(plan, pass, part), w - math.min(0.8, 0.1 * w)
  if plan.tips then out:rect(x, y, width, h, class, tip(pass))
  else add_block(plan, paths, class, x, y, w < NARROW and w or width, h) end
  if not part then return end
  if part.chunk >= plan.stages then
    add_block(plan, paths, "peak", x, y, width, h > 10 and 2 or 1)
    plan.later = true
  end
  if h > 10 and svg.width(part.batch, 10) + 1 <= w then
    paths.texts[#paths.texts + 1] = svg.text(x + width / 2, y + h / 2 + 4, part.batch,
      "mid in tiny")
  end
end

local function tenths(x) return math.floor(10 * x + 0.5) end

-- Tenths as texts in px, few of which differ: each is written once.
local function px_texts()
  return setmetatable({}, { __index = function(self, x)
    self[x] = scale.number(x / 10)
    return self[x]
  end })
end

-- The blocks of one class of a lane, in tenths of a pixel, each from where the last one ended: the
-- path is most of the file.
local function add_path(out, px, list, class)
  if not list then return end
  local pieces, cx, cy, up = {}, 0, 0, 1
  for i, b in ipairs(list) do
    local x, w, h = tenths(b.x), math.max(tenths(b.x + b.w) - tenths(b.x), 1), tenths(b.h)
    local y = tenths(b.y) + (up > 0 and 0 or h)
    pieces[i] = ("m%s %sh%sv%sh%s"):format(px[x - cx], px[y - cy], px[w], px[up * h], px[-w])
    cx, cy, up = x, y + up * h, -up
  end
  out:path(table.concat(pieces), class)
end

-- One lane in one window.
local function add_lane(out, plan, lane, w, y)
  local paths, row, narrow, at = { texts = {} }, {}, {}, plan.at
  for _, pass in ipairs(lane) do
    local x = at(math.max(pass.start, w[1]) - w[1])
    local width = at(math.min(pass.finish, w[2]) - w[1]) - x
    local parts = width > 0 and parts_of(pass.name) or {}
    local n = math.max(#parts, 1)
    for k = 1, width > 0 and n or 0 do
      local part, h = parts[k], plan.lane / n
      if width < 1 then columns.add(row, x, width / n, class_of(plan, pass, part))
      else add_box(out, paths, plan, pass, part, x, width, y + (k - 1) * h, h) end
    end
  end
  columns.draw(narrow, row, y, plan.lane, svg.LEFT, plan.right)
  for k = 1, 8 do
    local class = ("c%d"):format(k)
    add_path(out, plan.px, paths[class], class)
    if narrow[class] then out:path(table.concat(narrow[class]), class) end
  end
  add_path(out, plan.px, paths.peak, "peak")
  for _, text in ipairs(paths.texts) do out[#out + 1] = text end
end

-- Spans of time as blocks; neighbours that overlap are one.
local function add_strip(out, plan, spans, w, y, h, class)
  local pieces, from, to = {}, nil, nil
  local function flush()
    if from then pieces[#pieces + 1] = svg.block(from, y, math.max(to - from, 0.5), h) end
  end
  for _, span in ipairs(spans) do
    if span.finish > w[1] and span.start < w[2] and span.finish > span.start then
      local x = plan.at(math.max(span.start, w[1]) - w[1])
      local stop = plan.at(math.min(span.finish, w[2]) - w[1])
      if from and x <= to + 0.3 then to = math.max(to, stop)
      else
        flush()
        from, to = x, stop
      end
    end
  end
  flush()
  if #pieces > 0 then out:path(table.concat(pieces), class) end
end

-- ---- the whole ----------------------------------------------------------------------------------

local function add_panel(out, plan, lanes, beside, w, y)
  if #plan.windows > 1 then
    out:print(svg.LEFT, y + 10, w[1] == 0 and ("the first " .. scale.quantity(w[2], "seconds"))
      or ("the last %s, counted from %s on"):format(scale.quantity(w[2] - w[1], "seconds"),
      scale.quantity(w[1], "seconds")), "strong small")
    y = y + 18
  end
  local step = plan.lane + plan.strip + plan.space
  local bottom = y + #lanes * step
  for d = 1, #lanes do
    local top = y + (d - 1) * step
    out:rect(svg.LEFT, top, plan.right - svg.LEFT, plan.lane, "lane")
    if plan.lane > 10 or d % 4 == 1 then
      out:print(svg.LEFT - 8, top + plan.lane / 2 + 4, ("stage %d"):format(d), "end small")
    end
  end
  svg.axis(out, plan.at, w[2] - w[1], "seconds", y, bottom)
  for d, lane in ipairs(lanes) do
    add_lane(out, plan, lane, w, y)
    local below, strip = y + plan.lane + 0.5, (plan.strip - 1) / 2
    add_strip(out, plan, beside[d].sends, w, below, strip, "send")
    add_strip(out, plan, beside[d].collectives, w, below + strip, strip, "meet")
    y = y + step
  end
  return bottom + 26
end

-- Kinds that some lane has.
local function kinds_of(lanes)
  local used = {}
  for _, lane in ipairs(lanes) do
    for _, pass in ipairs(lane) do used[pass.kind] = true end
  end
  if used.overlapped then used.forward, used.backward = true, true end
  return used
end

local function legend_of(plan, used, beside)
  local has = { c1 = used.forward, c4 = used.backward and not plan.split,
    c3 = used.backward and plan.split, c2 = used.weight, c5 = used.optimizer,
    c6 = used.reduce or used.gather }
  local out = {}
  for _, entry in ipairs(LEGEND) do
    if has[entry[1]] then out[#out + 1] = entry end
  end
  if plan.later then out[#out + 1] = { "peak", "of a later chunk", "bar" } end
  local sends, collectives = false, false
  for _, b in ipairs(beside) do
    sends, collectives = sends or #b.sends > 0, collectives or #b.collectives > 0
  end
  if sends then out[#out + 1] = { "send", "sending to another stage", "bar" } end
  if collectives then out[#out + 1] = { "meet", "gather or reduction beside a pass", "bar" } end
  return out
end

local function describe(r, lanes)
  local parts = {}
  for d = 1, math.min(#lanes, 8) do
    parts[d] = ("stage %d is busy %s of the time"):format(d, scale.percent(r.busy[d] / r.makespan))
  end
  return ("The step takes %s; %s%s."):format(scale.quantity(r.makespan, "seconds"),
    table.concat(parts, ", "), #lanes > 8 and ", and so on" or "")
end

--- @tparam result r of berth.llm.simulate
-- @treturn table picture
return function(r)
  local lanes, beside = lanes_of(r)
  local used = kinds_of(lanes)
  local windows = windows_of(lanes, r.makespan)
  local most, all = passes_in(lanes, windows)
  local width = math.max(svg.WIDTH, math.min(WIDEST, svg.LEFT + MARGIN + SLOT * most))
  local lane, strip, space = sizes(#lanes)
  local plan = { windows = windows, lane = lane, strip = strip, space = space, split = used.weight,
    px = px_texts(), stages = #lanes, tips = all <= MOST_TIPS, right = width - MARGIN,
    at = scale.linear(windows[1][2], svg.LEFT, width - MARGIN) }
  local out = svg.picture { kind = "pipeline", width = width, text = describe(r, lanes),
    label = ("One GPU of %s over time"):format(#lanes == 1 and "the stage"
      or ("each of %d stages"):format(#lanes)) }
  local y = 10
  for _, w in ipairs(windows) do y = add_panel(out, plan, lanes, beside, w, y) end
  y = y + 10 + svg.legend(out, legend_of(plan, used, beside), svg.LEFT, plan.right, y + 10)
  out.height = svg.notes(out, svg.LEFT, y, { windows[2]
    and ("Not drawn: %s between, where passes follow one another alike."):format(
      scale.quantity(windows[2][1] - windows[1][2], "seconds")) })
  return out
end
