--- Tables of the documentation, generated from descriptors. A table is between two comments:
--   <!-- table: placers -->, <!-- table: formats -->, <!-- table: schedulers -->,
--   <!-- table: boards -->, <!-- table: rates -->, <!-- table: machines -->,
--   <!-- table: generators -->,
--   <!-- table: values OPTION -->, <!-- table: options FUNCTION -->,
--   <!-- table: choices FUNCTION -->,
--   <!-- end of table -->
-- After FUNCTION an option key may follow: the table begins with it.
require "berth.help" -- loads what declares options
local core = require "berth.core"
local described = require("berth.base.options").described
local formats = require "berth.io.formats"
local gang = require "berth.cluster.gang"
local markdown = require "markdown"
local readers_of = require("berth.cli.options").readers
local rules = require "berth.help.rules"

local tables = {}

local make = {}

-- What `add(cells...)` of `fill(add)` was called with, as a table below these headings.
local function rows_of(head, fill)
  local rows = {}
  fill(function(...) rows[#rows + 1] = { ... } end)
  return markdown.table(head, rows)
end

local function code(text) return ("`%s`"):format(text) end

function make.placers()
  return rows_of({ "placer, variant", "rule", "source", "use", "weakness" }, function(add)
    for _, p in ipairs(rules.placers) do
      local name = code(p.name) .. (p.variant == "" and "" or ", " .. code(p.variant))
      add(name, p.rule, p.source, p.good, p.weak)
    end
  end)
end

function make.formats()
  return rows_of({ "format", "what it is", "read", "saved", "endings" }, function(add)
    for _, name in ipairs(formats.names) do
      local f = formats.by_name[name]
      add(code(name), f.text, table.concat(f.loads or {}, ", "),
        table.concat(f.saves or {}, ", "), formats.endings { name })
    end
  end)
end

-- A figure of a data sheet: 0 is none.
local function figure(x, unit) return x > 0 and core.sprintf("%.4g", x / unit) or "-" end

local function sheets(head, row)
  return rows_of(head, function(add)
    for _, name in ipairs(core.device_presets()) do add(code(name), row(core.device_sheet(name))) end
  end)
end

-- Boards, and what each figure is from.
function make.boards()
  return sheets({ "preset", "board", "source" }, function(s) return s.board, s.source end)
end

function make.rates()
  return sheets({ "preset", "FP64", "FP32", "TF32", "BF16", "FP16", "FP8", "FP4", "SMs" },
    function(s)
      local fp32 = s.fp32 == 0 and "as TF32" or figure(s.fp32, 1e12)
      return figure(s.fp64, 1e12), fp32, figure(s.tf32, 1e12), figure(s.bf16, 1e12),
        figure(s.fp16, 1e12), figure(s.fp8, 1e12), figure(s.fp4, 1e12), figure(s.sms, 1)
    end)
end

function make.machines()
  return sheets({ "preset", "GB", "GiB usable", "GB/s", "GPUs", "domain", "link GB/s", "NICs",
      "NIC Gbit/s" },
    function(s)
      return figure(s.memory, 1e9), figure(s.usable, 2 ^ 30), figure(s.memory_bandwidth, 1e9),
        figure(s.gpus, 1), figure(s.domain, 1), figure(s.link, 1e9), figure(s.nics, 1),
        figure(s.nic, 1e9 / 8)
    end)
end

function make.schedulers()
  return rows_of({ "scheduler", "order, and who runs", "options", "source" }, function(add)
    for _, name in ipairs(gang.in_order) do
      local keys = {}
      for _, o in ipairs(described "cluster.simulate") do
        if o.readers and o.readers[name] then keys[#keys + 1] = code(o.key) end
      end
      add(code(name), gang.text(name), table.concat(keys, ", "), gang.source(name) or "")
    end
  end)
end

function make.generators()
  return rows_of({ "generator", "chunks", "map", "rule", "source" }, function(add)
    for _, g in ipairs(core.schedule_generators()) do
      add(code(g.name), g.chunks == 0 and "2 or more chunks" or g.chunks == 1 and "1 chunk" or "2 chunks",
        g.chunks == 1 and "" or code(g.map), g.text, g.source)
    end
  end)
end

function make.values(option)
  return rows_of({ code(option), "" }, function(add)
    for _, v in ipairs(rules.values) do
      if v.option == option then add(code(v.name), v.rule) end
    end
  end)
end

local function range(o)
  if o.choices then
    local names = {}
    for i, choice in ipairs(o.choices) do names[i] = code(choice.name) end
    return table.concat(names, ", ")
  end
  if not o.low and not o.high and not o.above then return "" end
  if o.low == -math.huge then return o.high and "at most " .. core.number_text(o.high) or "" end
  local low = (o.off and "false, or " or "")
    .. (o.above and "above %s" or "from %s"):format(core.number_text(o.low or 0))
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

-- One item for each option: its type, default and legal values in brackets, then what it decides.
function make.options(name, from)
  local out = {}
  for _, o in ipairs(from_key(name, from)) do
    local readers, legal = readers_of(name, o.key), range(o)
    local only = readers and table.concat(readers, ", ") or o.only
    local default = o.default:match("^none; (.*)") or o.default ~= "" and "default " .. o.default
    local facts = o.type .. (legal == "" and "" or (o.choices and ": " or " ") .. legal)
      .. (default and "; " .. default or "")
    local text = ("%s (%s): %s%s"):format(code(o.key), facts, o.text,
      only and " (" .. only .. ")" or "")
    for _, line in ipairs(markdown.wrap(text, "- ", "  ")) do out[#out + 1] = line end
  end
  return out
end

function make.choices(name, from)
  return rows_of({ "option, choice", "" }, function(add)
    for _, o in ipairs(from_key(name, from)) do
      for _, choice in ipairs(o.choices or {}) do
        add(code(o.key) .. ", " .. code(choice.name), choice.text)
      end
    end
  end)
end

--- The text with its tables regenerated, and their number.
function tables.renew(text)
  local pattern = "(<!%-%- table: (%S+) ?(%S*) ?(%S*) %-%->\n\n?).-(\n?<!%-%- end of table %-%->)"
  return text:gsub(pattern, function(head, kind, what, from, tail)
    return head:gsub("\n+$", "\n\n") .. table.concat(make[kind](what, from), "\n") .. "\n\n"
      .. tail:gsub("^\n+", "")
  end)
end

return tables
