--- A run of the cluster in the Chrome trace format: a process for the cluster, a thread per server, counters. Times are us.
local json = require "berth.cli.json"

local CLUSTER, JOBS = 1, 2

local function event(members) return json.encode(json.object(members)) end

local function name(pid, tid, what, text)
  local members = { { "name", what }, { "ph", "M" }, { "pid", pid } }
  if tid then members[#members + 1] = { "tid", tid } end
  members[#members + 1] = { "args", json.object { { "name", text } } }
  return event(members)
end

local function heads(out, ramp)
  local o = ramp.options
  out[#out + 1] = name(CLUSTER, nil, "process_name", "servers")
  out[#out + 1] = name(JOBS, nil, "process_name", "arrivals")
  out[#out + 1] = name(JOBS, 0, "thread_name", "blocked")
  for s = 1, ramp.servers do
    local slot = math.fmod(s - 1, o.slots)
    local rack = math.fmod((s - 1 - slot) / o.slots, o.racks)
    local group = (s - 1 - slot - rack * o.slots) / (o.slots * o.racks)
    local text = ("server %.0f: group %.0f, rack %.0f, slot %.0f"):format(s, group + 1, rack + 1, slot + 1)
    out[#out + 1] = name(CLUSTER, s, "thread_name", text)
  end
end

local function told(row)
  return json.object { { "beta", row.beta }, { "deadline_s", row.deadline_s }, { "completion_s", row.completion_s },
    { "decision", row.decision }, { "pieces", row.pieces }, { "cause", row.cause } }
end

local function slices(out, row)
  local title = ("job %.0f, %s"):format(row.job, row.model)
  for _, s in ipairs(row.server_numbers) do
    out[#out + 1] = event { { "name", title }, { "cat", row.model }, { "ph", "X" }, { "ts", 1e6 * row.arrival_s },
      { "dur", 1e6 * row.completion_s }, { "pid", CLUSTER }, { "tid", s }, { "args", told(row) } }
  end
  if not row.accepted then
    out[#out + 1] = event { { "name", ("%s: %s"):format(title, row.cause) }, { "cat", row.cause }, { "ph", "i" },
      { "ts", 1e6 * row.arrival_s }, { "pid", JOBS }, { "tid", 0 }, { "s", "t" }, { "args", told(row) } }
  end
end

local function counters(out, rows)
  for _, row in ipairs(rows) do
    out[#out + 1] = event { { "name", "jobs running" }, { "ph", "C" }, { "ts", 1e6 * row.time_s }, { "pid", JOBS },
      { "args", json.object { { "jobs", row.running } } } }
    out[#out + 1] = event { { "name", "servers held" }, { "ph", "C" }, { "ts", 1e6 * row.time_s }, { "pid", JOBS },
      { "args", json.object { { "computing", row.servers_computing }, { "idle", row.servers_held - row.servers_computing } } } }
  end
end

--- @tparam table records of berth.pacml.play
-- @treturn string
return function(records)
  local out = {}
  heads(out, records.env.ramp)
  for _, row in ipairs(records) do slices(out, row) end
  counters(out, records:cluster())
  return '{"displayTimeUnit":"ms","traceEvents":[\n' .. table.concat(out, ",\n") .. "\n]}\n"
end
