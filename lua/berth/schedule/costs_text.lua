--- CSV of costs: a head, then a row for each stage, chunk or layer. Columns forward, backward,
-- weight, p2p, extra with a unit behind them (_s, _ms, _us), activations; rows of layers have kind
-- (E, t, m, L) or count.
local core = require "berth.core"

local text = {}

local UNITS = { s = 1, ms = 1e-3, us = 1e-6 }
local TIMES = { forward = true, backward = true, weight = true, p2p = true, extra = true }
local OTHERS = { kind = true, count = true, activations = true }

local function cells(line)
  local out = {}
  for cell in (line .. ","):gmatch "%s*([^,]-)%s*," do out[#out + 1] = cell end
  return out
end

-- [column] { key, factor }; nil and what is wrong.
local function head_of(line)
  local out = {}
  for i, cell in ipairs(cells(line)) do
    local key, unit = cell:match "^(.-)_(%a+)$"
    if OTHERS[cell] then out[i] = { cell, 1 }
    elseif TIMES[key] and UNITS[unit] then out[i] = { key, UNITS[unit] }
    else
      return nil, ("column %d: '%s' is none of: forward_s, backward_s, weight_s, p2p_s, extra_s "
        .. "(or _ms, _us), activations, kind, count"):format(i, cell)
    end
  end
  return out
end

local function row_of(head, line)
  local out, list = {}, cells(line)
  if #list ~= #head then return nil, ("%d cells, the head has %d"):format(#list, #head) end
  for i, cell in ipairs(list) do
    local key, factor = head[i][1], head[i][2]
    if key == "kind" then out.kind = cell
    elseif cell ~= "" then
      local x = tonumber(cell)
      if not x or x < 0 or x ~= x or x == math.huge then
        return nil, ("cell %d: '%s': expected a number from 0 (%s)"):format(i, cell, key)
      end
      out[key] = x * factor
    end
  end
  return out
end

-- Columns of rows of stages; those that no row has are left out.
local function columns(rows)
  local out = {}
  for _, key in ipairs { "forward", "backward", "weight", "p2p", "activations", "extra" } do
    local list, some = {}, false
    for i, row in ipairs(rows) do
      list[i], some = row[key] or 0, some or row[key] ~= nil
    end
    if some then out[key] = list end
  end
  if out.p2p then out.p2p[#rows] = nil end
  for _, key in ipairs { "forward", "backward", "weight" } do
    out[key] = out[key] or { 0 }
  end
  return out
end

--- @treturn[1] table costs by stage or chunk, or layers
-- @treturn[2] nil
-- @treturn[2] string message with file, line, cell
-- @treturn[2] string code
function text.read(path)
  local whole, message, code = core.read(path)
  if not whole then return nil, message, code end
  local head, rows, n = nil, {}, 0
  for line in (whole:gsub("^\239\187\191", ""):gsub("\r\n?", "\n") .. "\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    if line:find "%S" and not line:find "^#" then
      local found, why
      if head then found, why = row_of(head, line) else found, why = head_of(line) end
      if not found then return nil, ("%s: line %d: %s"):format(path, n, why), "parse" end
      if head then rows[#rows + 1] = found else head = found end
    end
  end
  if #rows == 0 then return nil, path .. ": has no rows", "parse" end
  for _, column in ipairs(head) do
    if column[1] == "kind" or column[1] == "count" then return { layers = rows } end
  end
  return columns(rows)
end

return text
