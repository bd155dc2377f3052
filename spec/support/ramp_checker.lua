--- Whether the segments of a step of ramp_reference keep the rules of exact mode.
local checker = {}

local EPSILON = 1e-9

local function at_least(x, y, what)
  if x < y - EPSILON * math.max(1, math.abs(y)) then
    error(("%s: %.12g is below %.12g"):format(what, x, y), 3)
  end
end

-- No two segments of one key overlap. Segments are in the order of time.
local function one_at_a_time(segments, key, what)
  local last = {}
  for _, s in ipairs(segments) do
    local k = key(s)
    if k and s.to > s.from then
      at_least(s.from, last[k] or 0, what)
      last[k] = s.to
    end
  end
end

local function whole(segments, of, list, what)
  local sum = {}
  for _, s in ipairs(segments) do
    local x = s[of]
    if x then sum[x] = (sum[x] or 0) + s.to - s.from end
  end
  for _, x in ipairs(list) do
    local want = (of == "op" or x.flow) and x.time or 0
    if math.abs((sum[x] or 0) - want) > EPSILON * math.max(1, want) then
      error(what .. " does not run for its time", 3)
    end
  end
end

local function begins(segments, of)
  local first = {}
  for _, s in ipairs(segments) do
    if s[of] and not first[s[of]] then first[s[of]] = s.from end
  end
  return first
end

-- When all that a piece waits for has come.
local function ready_times(w)
  local ready = {}
  for _, op in ipairs(w.ops) do ready[op] = 0 end
  for _, d in ipairs(w.deps) do
    if not d.sync then ready[d.to] = math.max(ready[d.to], d.ended) end
  end
  return ready
end

-- A server runs whenever a piece on it is ready and not at its end.
local function never_idle(w, segments, ready)
  local busy, due = {}, {}
  for _, s in ipairs(segments) do
    if s.op and s.to > s.from then
      busy[s.op.server] = busy[s.op.server] or {}
      table.insert(busy[s.op.server], s)
    end
  end
  for _, op in ipairs(w.ops) do
    due[op.server] = due[op.server] or {}
    if op.time > 0 then table.insert(due[op.server], op) end
  end
  for server, list in pairs(due) do
    local now = 0
    local function idle(from, to)
      for _, op in ipairs(list) do
        if math.max(from, ready[op]) < math.min(to, op.ended) - EPSILON then
          error("server " .. server .. " idles", 4)
        end
      end
    end
    for _, s in ipairs(busy[server] or {}) do
      idle(now, s.from)
      now = s.to
    end
  end
end

local function critical_path(w)
  local into, done, longest = {}, {}, 0
  for _, d in ipairs(w.deps) do
    if not d.sync then
      into[d.to] = into[d.to] or {}
      table.insert(into[d.to], d)
    end
  end
  local function finish(op)
    if done[op] then return done[op] end
    local from = 0
    for _, d in ipairs(into[op] or {}) do
      from = math.max(from, finish(d.from) + (d.flow and d.time or 0))
    end
    done[op] = from + op.time
    return done[op]
  end
  for _, op in ipairs(w.ops) do longest = math.max(longest, finish(op)) end
  return longest
end

--- Raises if a rule is broken. r: what ramp_reference.plan gave
function checker.check(r)
  local w, segments = r.walk, r.segments
  local ready, work = ready_times(w), {}
  local began, sent = begins(segments, "op"), begins(segments, "dep")
  whole(segments, "op", w.ops, "an op")
  whole(segments, "dep", w.deps, "a transfer")
  one_at_a_time(segments, function(s) return s.op and s.op.server end,
    "one piece at a time on a server")
  one_at_a_time(segments,
    function(s) return s.dep and s.dep.from.server * 10000 + s.dep.to.server end,
    "one transfer at a time on a channel")
  for _, op in ipairs(w.ops) do
    at_least(began[op], ready[op], "a piece waits for all that is sent to it")
    work[op.server] = (work[op.server] or 0) + op.time
    at_least(r.step, op.ended, "a step lasts until its last op ends")
  end
  for _, d in ipairs(w.deps) do
    local from = sent[d] or d.ended
    at_least(from, d.from.ended, "a transfer waits for its producer")
    for _, other in ipairs(d.set and d.set.deps or {}) do
      at_least(from, other.from.ended, "a collective waits for all pieces")
    end
    at_least(r.step, d.ended, "a step lasts until its last transfer ends")
  end
  never_idle(w, segments, ready)
  at_least(r.step, critical_path(w), "a step takes no less than its critical path")
  for _, op in ipairs(w.ops) do
    at_least(r.step, work[op.server], "a step takes no less than the work of a server")
  end
end

return checker
