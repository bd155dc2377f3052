--- Tables of the documentation, generated from descriptors. A table is between two comments:
--   <!-- table: placers -->, <!-- table: formats -->, <!-- table: schedulers -->, <!-- table: generators -->,
--   <!-- table: values OPTION -->,
--   <!-- table: options FUNCTION -->, <!-- table: choices FUNCTION -->      <!-- end of table -->
-- After FUNCTION an option key may follow: the table begins with it.
require "berth.help" -- loads what declares options
local core = require "berth.core"
local described = require("berth.base.options").described
local formats = require "berth.io.formats"
local gang = require "berth.cluster.gang"
local readers_of = require("berth.cli.options").readers
local rules = require "berth.help.rules"

local tables = {}

local make = {}

function make.placers()
  local out = { "| placer, variant | rule | source | use | known weakness |", "|---|---|---|---|---|" }
  for _, p in ipairs(rules.placers) do
    local name = p.variant == "" and ("`%s`"):format(p.name) or ("`%s`, `%s`"):format(p.name, p.variant)
    out[#out + 1] = ("| %s | %s | %s | %s | %s |"):format(name, p.rule, p.source, p.good, p.weak)
  end
  return out
end

function make.formats()
  local out = { "| format | what it is | read | saved | endings |", "|---|---|---|---|---|" }
  for _, name in ipairs(formats.names) do
    local f = formats.by_name[name]
    local cells = { "`" .. name .. "`", f.text, table.concat(f.loads or {}, ", "),
      table.concat(f.saves or {}, ", "), formats.endings { name } }
    out[#out + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return out
end

function make.schedulers()
  local out = { "| scheduler | order, and who runs | options | source |", "|---|---|---|---|" }
  for _, name in ipairs(gang.in_order) do
    local keys = {}
    for _, o in ipairs(described "cluster.simulate") do
      if o.readers and o.readers[name] then keys[#keys + 1] = "`" .. o.key .. "`" end
    end
    out[#out + 1] = ("| `%s` | %s | %s | %s |"):format(name, gang.text(name),
      table.concat(keys, ", "), gang.source(name) or "")
  end
  return out
end

function make.generators()
  local out = { "| generator | chunks | map | rule | source |", "|---|---|---|---|---|" }
  for _, g in ipairs(core.schedule_generators()) do
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s |"):format(g.name,
      g.chunks == 0 and "2 or more" or ("%.0f"):format(g.chunks),
      g.chunks == 1 and "" or "`" .. g.map .. "`", g.text, g.source)
  end
  return out
end

function make.values(option)
  local out = { ("| `%s` | |"):format(option), "|---|---|" }
  for _, v in ipairs(rules.values) do
    if v.option == option then out[#out + 1] = ("| `%s` | %s |"):format(v.name, v.rule) end
  end
  return out
end

local function range(o)
  if o.choices then
    local names = {}
    for i, choice in ipairs(o.choices) do names[i] = "`" .. choice.name .. "`" end
    return table.concat(names, ", ")
  end
  if not o.low and not o.high and not o.above then return "" end
  if o.low == -math.huge then return o.high and "at most " .. core.number_text(o.high) or "" end
  local low = (o.off and "false, or " or "") .. (o.above and "above %s" or "from %s"):format(core.number_text(o.low or 0))
  return o.high and o.high < math.huge and low .. " to " .. core.number_text(o.high) or low
end

-- The descriptors of a function, from that key on.
local function from_key(name, from)
  local out = {}
  for _, o in ipairs(assert(described(name), name)) do
    if #out > 0 or from == "" or o.key == from then out[#out + 1] = o end
  end
  return out
end

function make.options(name, from)
  local out = { "| option | type | default | legal | what it decides |", "|---|---|---|---|---|" }
  for _, o in ipairs(from_key(name, from)) do
    local readers = readers_of(name, o.key)
    local only = readers and table.concat(readers, ", ") or o.only
    only = only and " (" .. only .. ")" or ""
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s%s |"):format(o.key, o.type, o.default, range(o), o.text, only)
  end
  return out
end

function make.choices(name, from)
  local out = { "| option | choice | |", "|---|---|---|" }
  for _, o in ipairs(from_key(name, from)) do
    for _, choice in ipairs(o.choices or {}) do
      out[#out + 1] = ("| `%s` | `%s` | %s |"):format(o.key, choice.name, choice.text)
    end
  end
  return out
end

--- The text with its tables regenerated, and their number.
function tables.renew(text)
  local pattern = "(<!%-%- table: (%S+) ?(%S*) ?(%S*) %-%->\n\n?).-(\n?<!%-%- end of table %-%->)"
  return text:gsub(pattern, function(head, kind, what, from, tail)
    return head:gsub("\n+$", "\n\n") .. table.concat(make[kind](what, from), "\n") .. "\n\n" .. tail:gsub("^\n+", "")
  end)
end

return tables
