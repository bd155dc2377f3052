--- Settings that have a value in each of several presets, as rows of descriptors.
-- @module berth.agents.presets
local core = require "berth.core"
local options = require "berth.base.options"

local presets = {}

local function show(x)
  if type(x) == "table" then
    local out = {}
    for i, each in ipairs(x) do out[i] = show(each) end
    return ("{ %s }"):format(table.concat(out, ", "))
  end
  return type(x) == "number" and core.number_text(x) or tostring(x)
end

-- "{ 0.003, 0 }; stage II { 0.001, 0 }"
local function shown(row, name)
  local own, out = row.stages and row.stages[name] or {}, { show(row[name]) }
  for _, stage in ipairs(options.sorted_keys(own)) do
    out[#out + 1] = ("stage %s %s"):format(stage, show(own[stage]))
  end
  return table.concat(out, "; ")
end

--- Declares the rows, and fills in their defaults as text.
-- @tparam string name as for options.declare
-- @tparam table names of the presets; the first is the default
-- @tparam table rows of options.declare, each with its value by the name of the preset; stages: by
--  preset and stage the values that differ
-- @treturn table by preset a table of values
function presets.declare(name, names, rows)
  local values = {}
  for _, preset in ipairs(names) do values[preset] = {} end
  for _, row in ipairs(rows) do
    local first, texts = shown(row, names[1]), {}
    for i, preset in ipairs(names) do
      values[preset][row.key] = row[preset]
      local text = shown(row, preset)
      if i == 1 then
        texts[1] = text
      elseif text ~= first then
        texts[#texts + 1] = preset .. " " .. text
      end
    end
    row.default = row.default or table.concat(texts, "; ")
  end
  options.declare(name, rows)
  return values
end

return presets
