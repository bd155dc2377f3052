--- berth cluster pacml with several seeds or distributions: means, and the published table.
local berth = require "berth"
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local metrics = require "berth.pacml.metrics"
local options = require "berth.base.options"
local runs = require "berth.cli.runs"

local study = {}

-- A mean, with half the width of its 95 % interval.
local function cell(field)
  if not field then return "-" end
  return decimals(field.mean, 4) .. (field.half and " +- " .. decimals(field.half, 4) or "")
end

-- Blocking rates: a row per decider, a column per distribution.
local function blocking(setup, points)
  local rows = { { "blocking rate" } }
  for b, name in ipairs(setup.betas) do rows[1][b + 1] = "beta " .. name end
  for i, one in ipairs(setup.deciders) do
    rows[i + 1] = { one[1] }
    for b, name in ipairs(setup.betas) do
      local fields = points[name][one[1]].fields
      rows[i + 1][b + 1] = cell(fields.blocking_rate)
    end
  end
  return rows
end

-- Rows with the published blocking rates.
local function add_published(setup, rows)
  for _, name in ipairs { "para-max", "para-min", "random", "pac-ml" } do
    local row = { "published " .. name }
    for b, beta in ipairs(setup.betas) do
      row[b + 1] = core.sprintf("%.4f", berth.pacml.published[name][beta])
    end
    rows[#rows + 1] = row
  end
end

local FIELDS = { "blocking_rate", "completion_s", "speedup", "pieces", "servers", "jobs_running",
  "utilisation", "throughput_bytes_per_s" }

-- A row per distribution and decider, a column per field.
local function means(setup, points)
  local rows = { { "decider", "beta", "runs" } }
  for _, name in ipairs(FIELDS) do table.insert(rows[1], name) end
  for _, beta in ipairs(setup.betas) do
    for _, one in ipairs(setup.deciders) do
      local point = points[beta][one[1]]
      local row = { one[1], beta, ("%.0f"):format(point.n) }
      for _, name in ipairs(FIELDS) do
        local field = point.fields[name]
        row[#row + 1] = field
          and (name == "blocking_rate" and cell(field) or core.number_text(field.mean, 5)) or "-"
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

-- Points of a summary as points[beta][decider].
local function by_name(summary)
  local out = {}
  for _, point in ipairs(summary) do
    local beta, decider = point.parameters.beta, point.parameters.decider
    out[beta] = out[beta] or {}
    out[beta][decider] = point
  end
  return out
end

-- The document of several runs: a point per distribution and decider, with intervals of 95 %.
local function object_of(setup, points)
  local out = {}
  for _, beta in ipairs(setup.betas) do
    for _, one in ipairs(setup.deciders) do
      local point = points[beta][one[1]]
      local members = { { "decider", one[1] }, { "beta", beta }, { "runs", point.n },
        { "failed", point.failed } }
      for _, metric in ipairs(metrics) do
        members[#members + 1] = { metric[2], runs.interval(point.fields[metric[2]]) }
      end
      out[#out + 1] = json.object(members)
    end
  end
  return schema.document "cluster pacml, several runs" {
    { "level", 0.95 }, { "first_seed", setup.seed }, { "seeds", setup.seeds },
    { "points", out } }
end

local function name_of(at) return ("%s, beta %s"):format(at.decider, at.beta) end

local function blocking_of(result) return decimals(result.blocking_rate, 4) .. " blocked" end

-- Rows, and which columns are aligned to the left.
local function table_of(setup, points, given)
  if not given.table then return means(setup, points), { true, true } end
  local rows = blocking(setup, points)
  add_published(setup, rows)
  return rows, { true }
end

--- @tparam table setup env, betas, deciders ({ name, decider }), seed, seeds, horizon, trace
-- @treturn number exit code
function study.run(setup, given, write, complain)
  local opts = runs.study(given, setup.seed, setup.seeds, complain, name_of, blocking_of)
  local e = fail.need(berth.pacml.study(setup.env, options.merge(opts, { deciders = setup.deciders,
    betas = setup.betas, trace = setup.trace, horizon = setup.horizon })))
  local points = by_name(e:summary())
  local rows, left = table_of(setup, points, given)
  return runs.finish(e, { json = given.json and object_of(setup, points), rows = rows, left = left,
    write = write, complain = complain }, name_of)
end

return study
