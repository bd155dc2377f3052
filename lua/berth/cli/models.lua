--- berth models: the networks that are built in.
local json = require "berth.cli.json"
local options = require "berth.cli.options"
local text = require "berth.cli.text"
local zoo = require "berth.models"

local models = {
  name = "models", use = "models [NAME] [options]", least = 0, most = 1,
  text = "Lists the built-in models with their sizes for a batch of one, or the options of one model.",
  options = { options.json },
}

local function count(x)
  return string.format("%.2f M", x / 1e6)
end

local function rows_of(names)
  local rows = { { "model", "ops", "parameters", "forward GFLOP" } }
  for i, name in ipairs(names) do
    local _, about = zoo.describe(name, { batch = 1 })
    local gflop = string.format("%.2f", about.flop_forward / 1e9)
    rows[i + 1] = { name, string.format("%.0f", about.ops), count(about.parameters), gflop }
  end
  return rows
end

local function objects_of(names)
  local list = {}
  for i, name in ipairs(names) do
    local _, about = zoo.describe(name, { batch = 1 })
    list[i] = json.object { { "model", name }, { "ops", about.ops }, { "parameters", about.parameters },
      { "forward_flop", about.flop_forward } }
  end
  return list
end

function models.run(positional, given, write)
  local names = positional[1] and { positional[1] } or zoo.list()
  if given.json then
    write(json.encode(objects_of(names)))
    return 0
  end
  for _, line in ipairs(text.align(rows_of(names), { true })) do write(line) end
  if positional[1] then write("options: " .. table.concat(zoo.options(positional[1]), " ")) end
  return 0
end

return models
