--- Steps per second of jobs that run alone, by type of GPU and number of GPUs: CSV with
-- worker_type, job_type, scale_factor, steps_per_s, as Gavel's measurements are kept.
local core = require "berth.core"
local text = require "berth.cluster.traces_text"

local throughputs = {}

local HEAD = "worker_type,job_type,scale_factor,steps_per_s"

local function key_of(kind, gpus) return ("%s\n%.0f"):format(kind, gpus) end

--- @treturn table for throughputs.of; workers: names of types in order of the file
function throughputs.load(path, most_bytes)
  local whole, message, code = core.read(path, "berth.load_trace", { most_bytes = most_bytes })
  if not whole then return nil, message, code end
  whole, message = text.utf8(whole)
  if not whole then return nil, ("%s: %s"):format(path, message), "parse" end
  local rows, known, out = text.rows(whole, ","), {}, { by = {}, workers = {} }
  local _, head = rows()
  if table.concat(head or {}, ",") ~= HEAD then
    return nil, ("%s:1: expected the header %s"):format(path, HEAD), "parse"
  end
  for line, cells, why in rows do
    cells = cells or {}
    local gpus, rate = text.number(cells[3] or ""), text.number(cells[4] or "")
    if #cells ~= 4 or not gpus or not rate or rate < 0 or rate == math.huge then
      why = why or ("expected a type of GPU, a kind of job, a number of GPUs, steps per s, got %q")
        :format(table.concat(cells, ","))
      return nil, ("%s:%.0f: %s"):format(path, line, why), "parse"
    end
    local key = key_of(cells[2], gpus)
    if not known[cells[1]] then
      known[cells[1]] = true
      out.workers[#out.workers + 1] = cells[1]
    end
    out.by[key] = out.by[key] or {}
    if rate > 0 then out.by[key][cells[1]] = rate end
  end
  return out
end

--- Steps per s of a kind of job on so many GPUs, by type; nil: not measured.
function throughputs.of(t, kind, gpus) return t.by[key_of(kind, gpus)] end

return throughputs
