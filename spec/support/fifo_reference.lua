-- A naive simulator of DOPPLER's published rule, one event per edge: for random placements that have no recorded answer.
-- Costs as in a graph description (one tensor per producer); link of 1 byte/s. Returns the makespan.
local function insert_event(queue, event) -- kept sorted by (time, insertion)
  local at = #queue + 1
  while at > 1 and queue[at - 1].time > event.time do at = at - 1 end
  table.insert(queue, at, event)
end

return function(description, placement)
  local missing, out = {}, {}
  for i = 1, #description.ops do missing[i], out[i] = 0, {} end
  for _, t in ipairs(description.tensors) do
    for _, to in ipairs(t.to) do
      missing[to] = missing[to] + 1
      table.insert(out[t.from], { to = to, bytes = t.bytes })
    end
  end
  local queue, waiting, busy, now = {}, {}, {}, 0

  local function start(device)
    local op = table.remove(waiting[device], 1)
    busy[device] = op ~= nil
    if op then insert_event(queue, { time = now + description.ops[op].seconds, done = op }) end
  end
  local function ready(op)
    local device = placement[op]
    waiting[device] = waiting[device] or {}
    table.insert(waiting[device], op)
    if not busy[device] then start(device) end
  end

  for i = 1, #description.ops do
    if missing[i] == 0 then ready(i) end
  end
  while #queue > 0 do
    local event = table.remove(queue, 1)
    now = event.time
    if event.done then
      for _, edge in ipairs(out[event.done]) do
        local seconds = placement[edge.to] == placement[event.done] and 0 or edge.bytes
        insert_event(queue, { time = now + seconds, arrives = edge.to })
      end
      -- the device is free only after what arrives locally at this instant has joined its queue
      insert_event(queue, { time = now, free = placement[event.done] })
    elseif event.arrives then
      missing[event.arrives] = missing[event.arrives] - 1
      if missing[event.arrives] == 0 then ready(event.arrives) end
    else
      start(event.free)
    end
  end
  return now
end
