--- Files of a simulated cluster: CSV, JSON lines, Chrome traces. Lists of pieces of text, put together when they are written.
local json = require "berth.experiment.json"

local files = {}

--- @tparam table pieces texts
function files.save(path, pieces)
  local file, message = io.open(path, "wb")
  if not file then return nil, message, "io" end
  local written, why = file:write(table.concat(pieces))
  local closed, at_close = file:close()
  if written and closed then return true end
  return nil, ("%s: %s"):format(path, tostring(why or at_close)), "io"
end

-- ---- lines per job ---------------------------------------------------------------------------------

-- Name in files, name in records.
local COLUMNS = {
  { "job", "job" }, { "name", "name" }, { "kind", "kind" }, { "machines", "machines" }, { "gpus", "gpus" },
  { "arrival_s", "arrival" }, { "work", "work" }, { "deadline_s", "deadline" }, { "state", "state" }, { "start_s", "start" },
  { "finish_s", "finish" }, { "wait_s", "wait" }, { "jct_s", "jct" }, { "queued_s", "queued" }, { "ran_s", "ran" },
  { "late", "late" }, { "work_left", "left" }, { "held_machine_s", "held" }, { "pauses", "pauses" }, { "cause", "cause" },
}

local function is_plain(x)
  local kind = type(x)
  return kind == "string" or kind == "boolean" or kind == "number" and x == x and math.abs(x) < math.huge
end

local function cell(x)
  if not is_plain(x) then return "" end
  if type(x) ~= "string" then return json.encode(x) end
  if not x:find '[",\r\n]' then return x end
  return '"' .. x:gsub('"', '""') .. '"'
end

--- Each line ends with scheduler, seed, version and options (JSON), so that files can be put together. r.columns: instead of
-- those of gangs, { name in files, name in records }.
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
    if key == "time" or key == "mean_queued" or key:find "makespan$" or key:find "_jct$" or key:find "_wait$" then
      name = key .. "_s"
    end
    out[name] = x
  end
  return out
end

function files.jsonl(r)
  local about = { { "scheduler", r.scheduler }, { "seed", r.seed }, { "version", r.version }, { "options", r.options },
    { "jobs", #r.records }, { "summary", seconds_named(r.summary) } }
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

-- ---- traces ------------------------------------------------------------------------------------------

local CLUSTER, MACHINES = 0, 1 -- processes

-- The lane of each run on each of its machines: the first that is free. Runs are in order of their starts.
local function assign_lanes(r, over)
  local ends, lanes, list = {}, {}, {}
  for m = 1, r.machines do ends[m], lanes[m] = {}, 0 end
  for _, run in ipairs(r.runs) do
    local finish = run.finish or over
    for place, m in ipairs(run.machines) do
      local lane = 1
      while ends[m][lane] and ends[m][lane] > run.start do lane = lane + 1 end
      ends[m][lane], lanes[m] = finish, math.max(lanes[m], lane)
      list[#list + 1] = { run = run, machine = m, place = place, lane = lane, finish = finish }
    end
  end
  return list, lanes
end

local function event(out, members) out[#out + 1] = (#out > 1 and ",\n" or "\n") .. json.object(members) end

local function describe(out, what, process, row, args)
  event(out, { { "ph", "M" }, { "pid", process }, { "tid", row }, { "name", what }, { "args", args } })
end

-- Rows in the order of machines, a machine's lanes together.
local function put_rows(out, lanes)
  local first, row = {}, 0
  describe(out, "process_name", CLUSTER, 0, { name = "cluster" })
  describe(out, "process_sort_index", CLUSTER, 0, { sort_index = 0 })
  describe(out, "process_name", MACHINES, 0, { name = "machines" })
  describe(out, "process_sort_index", MACHINES, 0, { sort_index = 1 })
  for m = 1, #lanes do
    first[m] = row
    for lane = 1, math.max(1, lanes[m]) do
      row = row + 1
      local name = lane == 1 and ("machine %.0f"):format(m) or ("machine %.0f, %.0f"):format(m, lane)
      describe(out, "thread_name", MACHINES, row, { name = name })
      describe(out, "thread_sort_index", MACHINES, row, { sort_index = row })
    end
  end
  return first
end

local function put_run(out, r, x, row)
  local record = r.records[x.run.job]
  local start = x.run.start * 1e6
  local name = record.name or ("job %.0f"):format(record.job)
  event(out, { { "ph", "X" }, { "pid", MACHINES }, { "tid", row }, { "name", name },
    { "cat", record.kind ~= nil and tostring(record.kind) or "job" }, { "ts", start }, { "dur", x.finish * 1e6 - start },
    { "args", { job = record.job, arrival_s = record.arrival, work = record.work, machines = #x.run.machines,
      gpus = x.run.amounts and x.run.amounts[x.place] } } })
end

local function put_counter(out, name, time, key, x)
  event(out, { { "ph", "C" }, { "pid", CLUSTER }, { "tid", 0 }, { "name", name }, { "ts", time * 1e6 },
    { "args", { [key] = x } } })
end

function files.trace(r)
  local out = { '{"displayTimeUnit": "ms", "traceEvents": [' }
  local list, lanes = assign_lanes(r, r.summary.time)
  local first = put_rows(out, lanes)
  for _, x in ipairs(list) do put_run(out, r, x, first[x.machine] + x.lane) end
  for _, at in ipairs(r.counts) do
    put_counter(out, "idle machines", at.time, "machines", at.idle)
    if at.left then put_counter(out, "free GPUs", at.time, "GPUs", at.left) end
    put_counter(out, "waiting jobs", at.time, "jobs", at.waiting)
  end
  out[#out + 1] = ('\n], "otherData": %s}\n'):format(json.object {
    { "scheduler", r.scheduler }, { "seed", r.seed }, { "version", r.version }, { "options", r.options } })
  return out
end

return files
