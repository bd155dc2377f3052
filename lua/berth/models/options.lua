--- Option tables of the models: defaults, and complaints that name the option and what is legal.
local sort = require "berth.base.sort"
local core = require "berth.core"
local berth_options = require "berth.base.options"

local options = {}

local DTYPES = { fp64 = 8, fp32 = 4, tf32 = 4, bf16 = 2, fp16 = 2 }

-- The arithmetic that a number of bytes stands for.
local NAMED = { [8] = "fp64", [4] = "fp32", [2] = "bf16" }

--- What every model takes.
local COMMON = {
  batch = { default = 32, kind = "count" },
  dtype = { default = 4, kind = "dtype" },
  training = { default = true, kind = "boolean" },
  optimizer = { default = "adam", kind = { "sgd", "momentum", "adam", "none" } },
  granularity = { default = "op", kind = { "op", "layer", "block" } },
  colocate = { default = "weights", kind = { "weights", "layer" } },
}

-- Option tables of models that take none of the common ones.
local alone = setmetatable({}, { __mode = "k" })

--- Marks the own options of a model as all that it takes.
function options.alone(spec)
  alone[spec] = true
  return spec
end

local function common(spec) return alone[spec] and {} or COMMON end

local function show(value)
  if type(value) == "string" then return string.format("%q", value) end
  if type(value) == "number" then return core.sprintf("%.14g", value) end
  return tostring(value)
end

--- Raises at the caller outside berth: "berth.models.bert: ...".
function options.fail(model, format, ...)
  berth_options.fail("berth.models.%s: %s", model, string.format(format, ...))
end

--- The same, if the condition holds.
function options.refuse(condition, ...)
  if condition then options.fail(...) end
end

local function complain(model, key, value, legal)
  options.fail(model, "option %s is %s; %s", key, show(value), legal)
end

local checks = {}

-- A float: products of sizes leave the range of 64-bit integers.
function checks.count(model, key, value, rule)
  local least = rule.least or 1
  local whole = type(value) == "number" and value >= least and value < 2 ^ 53
    and math.floor(value) == value
  if not whole then
    complain(model, key, value, string.format("a whole number of at least %d is needed%s", least,
      rule.because or ""))
  end
  return value + 0.0
end

function checks.boolean(model, key, value)
  if type(value) ~= "boolean" then complain(model, key, value, "true or false is needed") end
  return value
end

function checks.dtype(model, key, value)
  if DTYPES[value] then return DTYPES[value] end
  if value == 1 or value == 2 or value == 4 or value == 8 then return math.floor(value) end
  return complain(model, key, value, "legal: bytes per number (1, 2, 4, 8), or "
    .. berth_options.names_text(value, berth_options.sorted_keys(DTYPES)))
end

local function check_choice(model, key, value, choices)
  for _, choice in ipairs(choices) do
    if value == choice then return value end
  end
  local legal = {}
  for i, choice in ipairs(choices) do
    legal[i] = type(choice) == "string" and choice or show(choice)
  end
  return complain(model, key, value, "legal: " .. berth_options.names_text(value, legal))
end

local function check_one(model, key, value, rule)
  if type(rule.kind) == "table" then return check_choice(model, key, value, rule.kind) end
  return checks[rule.kind](model, key, value, rule)
end

local function sorted_keys(...)
  local keys = {}
  for _, t in ipairs { ... } do
    for key in pairs(t) do keys[#keys + 1] = key end
  end
  table.sort(keys, sort.before)
  return keys
end

--- Names of the options that a model takes, sorted.
function options.names(spec)
  local merged = {}
  for key in pairs(common(spec)) do merged[key] = true end
  for key in pairs(spec) do merged[key] = true end
  return sorted_keys(merged)
end

local LEGAL = {
  boolean = { true, false }, dtype = { 1, 2, 4, 8, "bf16", "fp16", "fp32", "fp64", "tf32" },
}

local function legal_of(rule)
  if rule.kind == "count" then return string.format("a whole number from %d", rule.least or 1) end
  return LEGAL[rule.kind] or rule.kind
end

--- What a model takes, by name: { name, default, by, legal }.
-- by: a text, what the default depends on; legal: an array, or a text.
-- @tparam table spec own options of the model
-- @tparam table preset values that stand instead of the defaults
function options.list(spec, preset)
  local out = {}
  for i, key in ipairs(options.names(spec)) do
    local rule = spec[key] or common(spec)[key]
    local default = preset[key]
    if default == nil then default = rule.default end
    if rule.kind == "dtype" then default = NAMED[default] or default end
    out[i] = { name = key, default = default, by = rule.by, legal = legal_of(rule) }
  end
  return out
end

function options.check_table(model, given)
  options.refuse(type(given) ~= "table", model, "a table of options is needed, not a %s",
    type(given))
end

--- The checked options of a model, defaults filled in.
-- @tparam string model for messages
-- @tparam table|nil given
-- @tparam table spec own options of the model: { name = { default =, by =, kind =, least =, because
--  = } }; they override the common ones
function options.read(model, given, spec)
  given = given or {}
  options.check_table(model, given)
  for _, key in ipairs(berth_options.sorted_keys(given)) do
    if not spec[key] and not common(spec)[key] then
      options.fail(model, "unknown option '%s' (legal: %s)", tostring(key),
        berth_options.names_text(key, options.names(spec), ("berth models %s"):format(model)))
    end
  end
  local out = {}
  for _, key in ipairs(options.names(spec)) do
    local rule = spec[key] or common(spec)[key]
    local value = given[key]
    if value == nil then value = rule.default end
    if value ~= nil then out[key] = check_one(model, key, value, rule) end
    if rule.kind == "dtype" then out.arithmetic = DTYPES[value] and value or NAMED[value] end
  end
  return out
end

return options
