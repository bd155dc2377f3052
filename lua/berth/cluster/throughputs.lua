--- Steps per second of jobs that run alone, by type of GPU and number of GPUs: CSV with
-- worker_type, job_type, scale_factor, steps_per_s, as Gavel's measurements are kept.
local core = require "berth.core"
local text = require "berth.cluster.traces_text"

local throughputs = {}

local HEAD = "worker_type,job_type,scale_factor,steps_per_s"

local function key_of(kind, gpus) return ("%s\n%.0f"):format(kind, gpus) end

--- @treturn table for throughputs.of; workers: names of types in order of the file
function throughputs.load(path)
  local whole, message, code = core.read(path, "berth.load_trace")
  if not whole then return nil, message, code end
  local next_line, known, out = text.lines(whole), {}, { by = {}, workers = {} }
  if next_line() ~= HEAD then
    return nil, ("%s:1: expected the header %s"):format(path, HEAD), "parse"
  end
  for line, number in next_line do
    local cells = text.cells(line) or {}
    local gpus, rate = tonumber(cells[3]), tonumber(cells[4])
    if #cells ~= 4 or not gpus or not rate or rate < 0 or rate == math.huge then
      local message_of = "%s:%.0f: expected a type of GPU, a kind of job, a number of GPUs, steps "
        .. "per s, got %q"
      return nil, message_of:format(path, number, line), "parse"
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
