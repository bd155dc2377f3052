--- A run of the cluster in the Chrome trace format: a row per server, one for what is blocked,
-- counters.
local chrome = require "berth.cluster.chrome"
local options = require "berth.base.options"

local JOBS, SERVERS, BLOCKED = 0, 1, 1 -- processes; the row of the first

local function put_rows(trace, ramp)
  local o = ramp.options
  trace:process(JOBS, "jobs")
  trace:row(JOBS, BLOCKED, "blocked")
  trace:process(SERVERS, "servers")
  for s = 1, ramp.servers do
    local slot = math.fmod(s - 1, o.slots)
    local rack = math.fmod((s - 1 - slot) / o.slots, o.racks)
    local group = (s - 1 - slot - rack * o.slots) / (o.slots * o.racks)
    trace:row(SERVERS, s, ("server %.0f: group %.0f, rack %.0f, slot %.0f"):format(s, group + 1,
      rack + 1, slot + 1))
  end
end

local function put_job(trace, row)
  local name = ("job %.0f, %s"):format(row.job, row.model)
  local args = { beta = row.beta, deadline_s = row.deadline_s, completion_s = row.completion_s,
    decision = row.decision, pieces = row.pieces, cause = row.cause }
  for _, s in ipairs(row.server_numbers) do
    trace:slice(SERVERS, s, name, row.model, row.arrival_s, row.end_s, args)
  end
  if not row.accepted then
    trace:instant(JOBS, BLOCKED, ("%s: %s"):format(name, row.cause), row.cause, row.arrival_s, args)
  end
end

--- @tparam table records of berth.pacml.simulate
-- @treturn table pieces of text
return function(records)
  local trace = chrome.new()
  put_rows(trace, records.env.ramp)
  for _, row in ipairs(records) do put_job(trace, row) end
  for _, row in ipairs(records:cluster()) do
    trace:counter(JOBS, "jobs running", row.time_s, { jobs = row.running })
    trace:counter(JOBS, "servers held", row.time_s, { computing = row.servers_computing,
      idle = row.servers_held - row.servers_computing })
  end
  local about = {}
  for i, key in ipairs(options.sorted_keys(records.about)) do
    about[i] = { key, records.about[key] }
  end
  return trace:finish(about)
end
