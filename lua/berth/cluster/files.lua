--- Files of a simulated cluster: CSV, JSON lines, Chrome traces. Lists of pieces of text, put
-- together when they are written.
local chrome = require "berth.cluster.chrome"
local json = require "berth.base.json"
local schema = require "berth.base.schema"

local files = {}

-- ---- lines per job ------------------------------------------------------------------------------

-- Name in files, name in records.
local COLUMNS = {
  { "job", "job" }, { "name", "name" }, { "kind", "kind" }, { "machines", "machines" },
  { "gpus", "gpus" }, { "arrival_s", "arrival" }, { "work", "work" }, { "deadline_s", "deadline" },
  { "state", "state" }, { "start_s", "start" }, { "finish_s", "finish" }, { "wait_s", "wait" },
  { "jct_s", "jct" }, { "queued_s", "queued" }, { "ran_s", "ran" }, { "late", "late" },
  { "work_left", "left" }, { "held_machine_s", "held" }, { "pauses", "pauses" },
  { "cause", "cause" },
}

local function is_plain(x)
  local kind = type(x)
  return kind == "string" or kind == "boolean" or kind == "number" and x == x
    and math.abs(x) < math.huge
end

local function cell(x)
  if not is_plain(x) then return "" end
  if type(x) ~= "string" then return json.encode(x) end
  if not x:find '[",\r\n]' then return x end
  return '"' .. x:gsub('"', '""') .. '"'
end

--- Each line ends with scheduler, seed, version and options (JSON), so that files can be put
-- together. r.columns: instead of those of gangs, { name in files, name in records }.
function files.csv(r)
  local head, out, columns = {}, {}, r.columns or COLUMNS
  for i, column in ipairs(columns) do head[i] = column[1] end
  out[1] = table.concat(head, ",") .. ",scheduler,seed,version,options\n"
  local tail = { cell(r.scheduler), cell(r.seed), cell(r.version), cell(json.encode(r.options)) }
  local ending = "," .. table.concat(tail, ",") .. "\n"
  for _, record in ipairs(r.records) do
    local line = {}
    for i, column in ipairs(columns) do line[i] = cell(record[column[2]]) end
    out[#out + 1] = table.concat(line, ",") .. ending
  end
  return out
end

local function seconds_named(summary)
  local out = {}
  for key, x in pairs(summary) do
    local name = key:gsub("^(.*)_seconds$", "%1_s")
    if key == "time" or key == "mean_queued" or key:find "makespan$" or key:find "_jct$"
        or key:find "_wait$" then
      name = key .. "_s"
    end
    out[name] = x
  end
  return out
end

function files.jsonl(r)
  local about = { { "schema", schema.numbers["records of a cluster"] },
    { "scheduler", r.scheduler }, { "seed", r.seed }, { "version", r.version },
    { "options", r.options }, { "jobs", #r.records }, { "summary", seconds_named(r.summary) } }
  local out = { json.object(about) .. "\n" }
  for _, record in ipairs(r.records) do
    local members = {}
    for i, column in ipairs(r.columns or COLUMNS) do
      local x = record[column[2]]
      members[i] = { column[1], is_plain(x) and x or nil }
    end
    out[#out + 1] = json.object(members) .. "\n"
  end
  return out
end

-- ---- traces -------------------------------------------------------------------------------------

local CLUSTER, MACHINES = 0, 1 -- processes

-- Each run on each of its machines, in order of the starts of runs.
local function slices_of(r)
  local list = {}
  for _, run in ipairs(r.runs) do
    for place, m in ipairs(run.machines) do
      list[#list + 1] = { run = run, row = m, place = place, from = run.start,
        to = run.finish or r.summary.time }
    end
  end
  return list
end

-- Rows in the order of machines, a machine's lanes together.
local function put_rows(trace, lanes)
  local first, row = {}, 0
  trace:process(CLUSTER, "cluster")
  trace:process(MACHINES, "machines")
  for m = 1, #lanes do
    first[m] = row
    for lane = 1, lanes[m] do
      row = row + 1
      trace:row(MACHINES, row,
        lane == 1 and ("machine %.0f"):format(m) or ("machine %.0f, %.0f"):format(m, lane))
    end
  end
  return first
end

local function put_slice(trace, r, x, row)
  local record = r.records[x.run.job]
  trace:slice(MACHINES, row, record.name or ("job %.0f"):format(record.job),
    record.kind ~= nil and tostring(record.kind) or "job", x.from, x.to,
    { job = record.job, arrival_s = record.arrival, work = record.work, machines = #x.run.machines,
      gpus = x.run.amounts and x.run.amounts[x.place] })
end

function files.trace(r)
  local trace, list = chrome.new(), slices_of(r)
  local first = put_rows(trace, chrome.lanes(list, r.machines))
  for _, x in ipairs(list) do put_slice(trace, r, x, first[x.row] + x.lane) end
  for _, at in ipairs(r.counts) do
    trace:counter(CLUSTER, "idle machines", at.time, { machines = at.idle })
    if at.left then trace:counter(CLUSTER, "free GPUs", at.time, { GPUs = at.left }) end
    trace:counter(CLUSTER, "waiting jobs", at.time, { jobs = at.waiting })
  end
  return trace:finish { { "scheduler", r.scheduler }, { "seed", r.seed }, { "version", r.version },
    { "options", r.options } }
end

return files
