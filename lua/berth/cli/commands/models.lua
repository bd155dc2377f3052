--- berth models: the networks that are built in.
local core = require "berth.core"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.cli.options"
local align = require "berth.base.align"
local zoo = require "berth.models"

local models = {
  name = "models", use = "models [NAME] [options]", least = 0, most = 1,
  text = "Lists the built-in models with their sizes for a batch of one; or one model, with its "
    .. "options.",
  options = { options.json }, words = zoo.list(), files = false,
}

-- Millions.
local function count(x)
  return core.sprintf("%.2f M", x / 1e6)
end

-- For a batch of one, where there are batches.
local function about_model(name)
  local batch
  for _, option in ipairs((zoo.options(name))) do
    batch = batch or option == "batch" and 1 or nil
  end
  local _, about = zoo.describe(name, { batch = batch })
  return about
end

-- Table of names, ops, parameters and GFLOP of the forward pass, for a batch of one.
local function rows_of(names)
  local rows = { { "model", "ops", "parameters", "forward GFLOP" } }
  for i, name in ipairs(names) do
    local about = about_model(name)
    local gflop = core.sprintf("%.2f", about.flop_forward / 1e9)
    rows[i + 1] = { name, string.format("%.0f", about.ops), count(about.parameters), gflop }
  end
  return rows
end

-- JSON members of one model, for a batch of one.
local function members_of(name)
  local about = about_model(name)
  return { { "model", name }, { "ops", about.ops }, { "parameters", about.parameters },
    { "forward_flop", about.flop_forward } }
end

-- ---- options of one model -----------------------------------------------------------------------

-- Numbers without the ".0" that Lua 5.4 appends to whole floats.
local function show(value)
  return type(value) == "number" and core.sprintf("%.14g", value) or tostring(value)
end

-- The kind of an option, or its legal values one after the other.
local function legal_text(legal)
  if type(legal) == "string" then return legal end
  local parts = {}
  for i, value in ipairs(legal) do parts[i] = show(value) end
  return table.concat(parts, " ")
end

-- Table of the options of a model: default and legal values.
local function option_rows(name)
  local rows, _, about = { { "option", "default", "legal" } }, zoo.options(name)
  for i, option in ipairs(about) do
    local default = option.default ~= nil and show(option.default) or "(" .. option.by .. ")"
    rows[i + 1] = { option.name, default, legal_text(option.legal) }
  end
  return rows
end

local function option_objects(name)
  local list, _, about = {}, zoo.options(name)
  for i, option in ipairs(about) do
    list[i] = json.object { { "name", option.name }, { "default", option.default },
      { "default_by", option.by }, { "legal", option.legal } }
  end
  return list
end

-- ---- the command --------------------------------------------------------------------------------

local function print_json(write, name)
  local members
  if name then
    members = members_of(name)
    members[#members + 1] = { "options", option_objects(name) }
  else
    members = { { "models", {} } }
    for i, each in ipairs(zoo.list()) do members[1][2][i] = json.object(members_of(each)) end
  end
  write(json.encode(schema.document(name and "models NAME" or "models")(members)))
end

local function print_lines(write, lines)
  for _, line in ipairs(lines) do write(line) end
end

function models.run(positional, given, write)
  local name = positional[1]
  if given.json then
    print_json(write, name)
    return 0
  end
  print_lines(write, align.lines(rows_of(name and { name } or zoo.list()), { true }))
  if name then
    write("")
    print_lines(write, align.lines(option_rows(name), { true, true, true }))
  end
  return 0
end

return models
