--- What the pages of an estimate and of a plan search share: numbers, memory by stage, how it was
-- made.
local bars = require "berth.report.bars"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local html = require "berth.report.html"
local options = require "berth.base.options"
local percent = require "berth.base.percent"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local parts = {}

local function seconds(x) return scale.quantity(x, "seconds") end
local function bytes(x) return scale.quantity(x, "bytes") end

--- The heading: what is given, or model and GPUs.
-- @tparam table what with model and cluster
-- @tparam table given options of the page
function parts.title(what, given)
  return given.title or ("%s on %s"):format(what.model.name,
    scale.count(what.cluster.gpus, "GPU"))
end

--- @tparam table e of berth.llm.estimate
-- @tparam[opt] table more further tiles
function parts.tiles(e, more)
  local s = e.memory[e.memory.worst]
  return html.tiles(options.join({
    html.tile("step", seconds(e.step), ("%s to %s"):format(seconds(e.low), seconds(e.high))),
    html.tile("tokens/s of a GPU", estimate.grouped(e.tokens_per_gpu),
      estimate.grouped(e.tokens_per_second) .. " in all"),
    html.tile("MFU", percent(e.mfu), ("HFU %s, %s of a GPU"):format(percent(e.hfu),
      core.format(e.model_flops, "flop/s"))),
    html.tile("memory", percent(s.total / s.limit), ("%s of %s, stage %d"):format(bytes(s.total),
      bytes(s.limit), e.memory.worst)),
    html.tile("exposed communication", percent(e.exposed / e.step),
      seconds(e.hidden) .. " is hidden"),
    html.tile("bubble", percent(e.time.bubble / e.step), "of the stage with most work"),
  }, more or {}))
end

--- A sentence about memory that lacks or is nearly full; "" otherwise.
function parts.warning(memory)
  local s = memory[memory.worst]
  local text = s.total > s.limit and ("Stage %d lacks %s of memory."):format(memory.worst,
      bytes(s.total - s.limit))
    or s.total > 0.9 * s.limit and "Measured runs slow down above 90 % of the memory."
  return text and ('<p class="warning">%s</p>'):format(svg.escape(text)) or ""
end

-- ---- memory -------------------------------------------------------------------------------------

--- Bars by stage, against the limit.
function parts.memory_figure(memory)
  local rows, legend, seen = {}, {}, {}
  for i, s in ipairs(memory) do
    local row = { name = ("stage %d"):format(i), limit = s.limit, parts = {},
      strong = i == memory.worst, warn = s.total > s.limit,
      note = ("%s of %s, %s"):format(bytes(s.total), bytes(s.limit), percent(s.total / s.limit)) }
    for k, kind in ipairs(estimate.memory) do
      row.parts[k] = { value = s[kind], class = ("c%d"):format(k),
        tip = ("%s, stage %d: %s"):format(kind, i, bytes(s[kind])) }
      seen[kind] = seen[kind] or s[kind] > 0
    end
    rows[i] = row
  end
  for k, kind in ipairs(estimate.memory) do
    if seen[kind] then legend[#legend + 1] = { ("c%d"):format(k), kind } end
  end
  legend[#legend + 1] = { "limit", "limit", "line" }
  return bars.figure({ kind = "memory", label = "Memory of a GPU by stage and kind",
    text = tostring(memory) }, rows, "bytes", legend)
end

local function memory_table(memory)
  local rows = { options.join({ "stage", "layers", "total" }, estimate.memory) }
  for i, s in ipairs(memory) do
    local row = { ("%d"):format(i), ("%d"):format(s.layers),
      { bytes(s.total), s.total / s.limit } }
    for _, kind in ipairs(estimate.memory) do row[#row + 1] = bytes(s[kind]) end
    rows[i + 1] = row
  end
  return html.grid(rows)
end

function parts.memory_section(memory)
  return html.section("memory", "Memory", "Of a GPU, by stage and kind, against its limit.",
    html.figure(parts.memory_figure(memory)) .. memory_table(memory))
end

--- One GPU of each stage over time.
function parts.pipeline_section(figure)
  return html.section("pipeline", "Pipeline", "One GPU of each stage over time; numbers are "
    .. "micro-batches. What tensor, context and expert parallelism send is within the passes.",
    html.figure(figure, true))
end

-- ---- how it was made ----------------------------------------------------------------------------

local function value_text(o, x)
  if type(x) == "function" then return "a function" end
  if type(x) == "table" then
    local out = {}
    for i, one in ipairs(x) do out[i] = value_text(o, one) end
    return table.concat(out, ",")
  end
  if type(x) == "number" and (o.type == "bytes" or o.type == "seconds") then
    return scale.quantity(x, o.type)
  end
  return type(x) == "number" and core.sprintf("%.17g", x) or tostring(x)
end

--- "tp 8, pp 4, ..."
-- @tparam table list of descriptors of options
-- @tparam table values by key
-- @tparam[opt] table without set of keys that are left out
function parts.values_text(list, values, without)
  local out = {}
  for _, o in ipairs(list) do
    local left_out = without and without[o.key]
    if values[o.key] ~= nil and not left_out then
      out[#out + 1] = o.key .. " " .. value_text(o, values[o.key])
    end
  end
  return table.concat(out, ", ")
end

--- How an answer was made.
-- @tparam ?string command
-- @tparam table model
-- @tparam table cluster
-- @tparam table more further entries of html.list
-- @tparam ?table e an estimate, whose constants and factors it names
function parts.made(command, model, cluster, more, e)
  local list = { { "program", "berth " .. core.version } }
  if command then list[2] = { "command", command, code = true } end
  list[#list + 1] = { "model", tostring(model) }
  list[#list + 1] = { "cluster", tostring(cluster) }
  list = options.join(list, more)
  for _, k in ipairs(e and e.kernels or {}) do
    list[#list + 1] = { "kernels of " .. k.gpu, estimate.kernels_text(k) }
    list[#list + 1] = { "their rows", (k.source:gsub("\n", "; ")) }
  end
  if e then
    list[#list + 1] = { estimate.factors_name(e), estimate.factors_text(e) }
    list[#list + 1] = { "their rows", estimate.rows_text(e) }
  end
  return html.section("made", "How this was made", nil, html.list(list))
end

return parts
