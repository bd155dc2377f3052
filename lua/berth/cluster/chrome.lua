--- Timelines of clusters in the Chrome trace format, which Perfetto opens: events as those of
-- simulated steps (core/io/writers/trace.c), with the same members in the same order. Times are
-- given in s.
local json = require "berth.base.json"

local Trace = {}
Trace.__index = Trace

local function put(self, members)
  self[#self + 1] = (#self > 1 and ",\n" or "\n") .. json.object(members)
end

local function describe(self, what, process, row, name, index)
  put(self, { { "ph", "M" }, { "pid", process }, { "tid", row }, { "name", what .. "_name" },
    { "args", { name = name } } })
  put(self, { { "ph", "M" }, { "pid", process }, { "tid", row }, { "name", what .. "_sort_index" },
    { "args", { sort_index = index } } })
end

--- Processes and their rows are shown by their numbers.
-- @tparam integer process from 0
function Trace:process(process, name) describe(self, "process", process, 0, name, process) end

--- @tparam integer row from 1
function Trace:row(process, row, name) describe(self, "thread", process, row, name, row) end

--- Slices of one row must not overlap.
-- @tparam table args of the event; nil values are left out
function Trace:slice(process, row, name, kind, from, to, args)
  put(self, { { "ph", "X" }, { "pid", process }, { "tid", row }, { "name", name }, { "cat", kind },
    { "ts", from * 1e6 }, { "dur", to * 1e6 - from * 1e6 }, { "args", args } })
end

--- What takes no time.
function Trace:instant(process, row, name, kind, time, args)
  put(self, { { "ph", "i" }, { "pid", process }, { "tid", row }, { "name", name }, { "cat", kind },
    { "ts", time * 1e6 }, { "s", "t" }, { "args", args } })
end

--- @tparam table values by name, stacked
function Trace:counter(process, name, time, values)
  put(self, { { "ph", "C" }, { "pid", process }, { "tid", 0 }, { "name", name },
    { "ts", time * 1e6 }, { "args", values } })
end

--- @tparam table about { name, value }, in order: how it was made
-- @treturn table pieces of text
function Trace:finish(about)
  self[#self + 1] = ('\n], "otherData": %s}\n'):format(json.object(about))
  return self
end

--- The lane of each slice on its row: the first that is free. O(slices x lanes of a row).
-- @tparam table slices { row, from, to } in order of `from`; each gets its `lane`, from 1
-- @tparam integer rows
-- @treturn table lanes of each row, at least 1
local function lanes(slices, rows)
  local ends, count = {}, {}
  for r = 1, rows do ends[r], count[r] = {}, 1 end
  for _, x in ipairs(slices) do
    local until_then, lane = ends[x.row], 1
    while until_then[lane] and until_then[lane] > x.from do lane = lane + 1 end
    until_then[lane], x.lane = x.to, lane
    count[x.row] = math.max(count[x.row], lane)
  end
  return count
end

local function new()
  return setmetatable({ '{"displayTimeUnit": "ms", "traceEvents": [' }, Trace)
end

return { new = new, lanes = lanes }
