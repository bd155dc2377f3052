--- berth placers: the placers, their variants and the options that each reads.
local align = require "berth.base.align"
local args = require "berth.cli.args"
local cli = require "berth.cli.options"
local json = require "berth.base.json_writer"
local names = require "berth.cli.names"
local options = require "berth.base.options"
local registry = require "berth.place.registry"
local schema = require "berth.base.schema"

local placers = {
  name = "placers", use = "placers [NAME] [options]", least = 0, most = 1,
  text = "Lists the placers, with their variants and when they are good; or one placer, with its "
    .. "rules and options.",
  options = { cli.json }, words = registry.names, files = false,
}

-- The options that this placer reads and others do not.
local function own_options(name)
  local out = {}
  for _, option in ipairs(options.described "place") do
    if registry.readers(option.key) and registry.reads(name, option.key) then
      out[#out + 1] = option
    end
  end
  return out
end

-- ---- text ---------------------------------------------------------------------------------------

local function list_lines()
  local rows = { { "placer", "variants", "good for" } }
  for i, name in ipairs(registry.names) do
    rows[i + 1] = { name, table.concat(registry.variants(name), " "),
      registry.by_name[name].variants[1].good or "" }
  end
  return align.lines(rows, { true, true, true })
end

-- { title, text } about one placer.
local function placer_rows(name)
  local rows = {}
  local function add(title, text) if text then rows[#rows + 1] = { title, text } end end
  for _, variant in ipairs(registry.by_name[name].variants) do
    add(variant.name == "" and name or name .. ":" .. variant.name, variant.rule)
    add("  good for", variant.good)
    add("  weak", variant.weak)
  end
  for _, option in ipairs(own_options(name)) do
    add("option " .. option.key, option.text)
  end
  return rows
end

-- ---- the command --------------------------------------------------------------------------------

local function variant_objects(placer)
  local list = {}
  for i, variant in ipairs(placer.variants) do
    list[i] = json.object(json.fields(variant, "name rule source good weak"))
  end
  return list
end

local function placer_object(name)
  local keys = {}
  for i, option in ipairs(own_options(name)) do keys[i] = option.key end
  return json.object { { "placer", name }, { "variants", variant_objects(registry.by_name[name]) },
    { "options", keys } }
end

--- @return exit code
function placers.run(positional, given, write)
  local name = positional[1]
  if name then names.check("placers", name, registry.names) end
  if given.json then
    local list = {}
    for i, each in ipairs(name and { name } or registry.names) do list[i] = placer_object(each) end
    write(json.encode(schema.document "placers" { { "placers", list } }))
    return 0
  end
  if not name then
    for _, line in ipairs(list_lines()) do write(line) end
    return 0
  end
  for _, row in ipairs(placer_rows(name)) do
    for i, line in ipairs(args.wrap(row[2], 74)) do
      write(("%-23s %s"):format(i == 1 and row[1] or "", line))
    end
  end
  return 0
end

return placers
