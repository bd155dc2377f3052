--- What commands about pacml read: profiles, the cluster, the jobs.
local args = require "berth.cli.args"
local berth = require "berth"
require "berth.pacml" -- declares its options
local fail = require "berth.cli.fail"
local options = require "berth.cli.options"

local inputs = { PROFILES = { "alexnet", "gnmt", "resnet18", "squeezenet1_0", "vgg16" } }

inputs.profiles_text = "PROFILE: files of PipeDream's format; or a folder that has the five published ones:\n"
  .. table.concat(inputs.PROFILES, ", ") .. "."

inputs.mode = { name = "mode", kind = "choice", value = "MODE", choices = { "compat", "exact" },
  text = "as the published simulator, or as it should be; default compat" }
inputs.ramp = { name = "ramp", kind = "string", value = "K=V,...",
  text = "the cluster: groups=4,racks=4,slots=2,bandwidth=1.6TB/s,..." }
inputs.most, inputs.steps = options.changed("pacml.env", "most"), options.changed("pacml.env", "steps")
inputs.beta = options.changed("pacml.trace", "beta", { kind = "string", value = "A,B,...", names = { "A", "B", "C", "D" },
  text = "A to D: distribution of the share of its sequential time that a job may take; default A" })
inputs.arrivals = options.changed("pacml.trace", "interarrival", { kind = "string", value = "TIME",
  text = "time between arrivals, or FROM..TO: uniform, e.g. 500s..1500s; default 1000s" })
inputs.copies = options.changed("pacml.trace", "copies")

--- Seconds, or { from, to }; nil for nil.
function inputs.interarrival(value)
  if not value then return nil end
  local function seconds(text) return args.quantity("--interarrival", text, "seconds") end
  local from, to = value:match("^(.-)%.%.(.+)$")
  if from then return { seconds(from), seconds(to) } end
  return seconds(value)
end

local function is_folder(path)
  local file = io.open(path, "rb")
  if not file then return false end
  local _, _, code = file:read(1)
  file:close()
  return code == 21 -- EISDIR
end

local function files_of(positional)
  local out = {}
  for i = 2, #positional do
    local path = positional[i]
    if is_folder(path) then
      for _, name in ipairs(inputs.PROFILES) do out[#out + 1] = ("%s/%s.txt"):format(path:gsub("/+$", ""), name) end
    else
      out[#out + 1] = path
    end
  end
  return out
end

local function ramp_of(given)
  local out = { compat = given.mode ~= "exact" }
  for part in (given.ramp or ""):gmatch("[^,]+") do
    local key, value = part:match("^%s*([%w_]+)%s*=%s*(.-)%s*$")
    if not key then fail.usage("--ramp: KEY=VALUE is needed, not %q", part) end
    if key == "compat" then fail.usage("--ramp: compat: --mode says that") end
    if out[key] ~= nil then fail.usage("--ramp: %s is given twice", key) end
    out[key] = tonumber(value) or value
  end
  return berth.ramp(out)
end

--- The environment of profiles (the first word is the kind) and of --mode, --ramp, --most.
-- @tparam table positional
-- @tparam table given
-- @tparam[opt] int steps training steps of a job
function inputs.env(positional, given, steps)
  local ramp, models, names = ramp_of(given), {}, {}
  for i, path in ipairs(files_of(positional)) do
    models[i] = fail.need(berth.pacml.profile(ramp, path))
    names[i] = path:match("([^/\\]+)$"):gsub("%.%w+$", "")
  end
  return fail.need(berth.pacml.env { models = models, names = names, steps = steps, most = given.most })
end

return inputs
