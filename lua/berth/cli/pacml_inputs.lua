--- What commands about pacml read: profiles, the cluster, the jobs.
local args = require "berth.cli.args"
local berth = require "berth"
require "berth.pacml" -- declares its options
local base = require "berth.base.options"
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local options = require "berth.cli.options"

local inputs = { PROFILES = { "alexnet", "gnmt", "resnet18", "squeezenet1_0", "vgg16" } }

inputs.profiles_text = "PROFILE: files of PipeDream's format; or a folder that has the five "
  .. "published ones:\n"
  .. table.concat(inputs.PROFILES, ", ") .. "."

inputs.mode = options.changed("ramp", "compat", { name = "mode", kind = "choice", value = "MODE",
  choices = { "compat", "exact" }, text = "as the published simulator, or by the published rules "
    .. "with real units; default compat" })

local keys = base.keys "ramp"
table.remove(keys, 1) -- compat, which --mode gives
inputs.ramp = { name = "ramp", kind = "string", value = "K=V,...",
  text = "the cluster, as berth.ramp: " .. table.concat(keys, ", ") }
inputs.most, inputs.steps = options.changed("pacml.env", "most"),
  options.changed("pacml.env", "steps")
inputs.beta = options.changed("pacml.trace", "beta", { kind = "string", value = "A,B,...",
  names = { "A", "B", "C", "D" }, text = "A to D: distribution of the share of its sequential time "
    .. "that a job may take; default A" })
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

-- Not by opening the path itself: that of a FIFO waits.
local function is_folder(path)
  local file = io.open(path .. "/.", "rb")
  if file then file:close() end
  return file ~= nil
end

-- Paths of the profiles: positional arguments from the second on, folders replaced by their five
-- files.
local function files_of(positional)
  local out = {}
  for i = 2, #positional do
    local path = positional[i]
    if is_folder(path) then
      for _, name in ipairs(inputs.PROFILES) do
        out[#out + 1] = ("%s/%s.txt"):format(path:gsub("/+$", ""), name)
      end
    else
      out[#out + 1] = path
    end
  end
  return out
end

-- The cluster of --ramp and --mode.
local function ramp_of(given)
  local out = lists.settings("--ramp", given.ramp, function(x) return tonumber(x) or x end)
  if out.compat ~= nil then fail.usage("--ramp: compat: use --mode") end
  out.compat = given.mode ~= "exact"
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
  return fail.need(berth.pacml.env { models = models, names = names, steps = steps,
    most = given.most })
end

return inputs
