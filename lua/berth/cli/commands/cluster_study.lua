--- berth cluster with several seeds or distributions: means, and the published table.
local berth = require "berth"
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local metrics = require "berth.pacml.metrics"
local align = require "berth.base.align"

local study = {}

local function cell(field)
  if not field then return "-" end
  return decimals(field.mean, 4) .. (field.half and " +- " .. decimals(field.half, 4) or "")
end

-- Blocking rates: a row per decider, a column per distribution.
local function blocking(asked, points)
  local rows = { { "blocking rate" } }
  for b, name in ipairs(asked.betas) do rows[1][b + 1] = "beta " .. name end
  for i, one in ipairs(asked.deciders) do
    rows[i + 1] = { one[1] }
    for b, name in ipairs(asked.betas) do
      local fields = points[name][one[1]].fields
      rows[i + 1][b + 1] = cell(fields.blocking_rate)
    end
  end
  return rows
end

local function add_published(asked, rows)
  for _, name in ipairs { "para-max", "para-min", "random", "pac-ml" } do
    local row = { "published " .. name }
    for b, beta in ipairs(asked.betas) do
      row[b + 1] = ("%.4f"):format(berth.pacml.published[name][beta])
    end
    rows[#rows + 1] = row
  end
end

local FIELDS = { "blocking_rate", "completion_s", "speedup", "pieces", "servers", "jobs_running",
  "utilisation", "throughput_bytes_per_s" }

local function means(asked, points)
  local rows = { { "decider", "beta", "runs" } }
  for _, name in ipairs(FIELDS) do table.insert(rows[1], name) end
  for _, beta in ipairs(asked.betas) do
    for _, one in ipairs(asked.deciders) do
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

local function by_name(summary)
  local out = {}
  for _, point in ipairs(summary) do
    local beta, decider = point.parameters.beta, point.parameters.decider
    out[beta] = out[beta] or {}
    out[beta][decider] = point
  end
  return out
end

local function interval(field)
  return field and json.object { { "mean", field.mean }, { "low", field.low },
    { "high", field.high } }
end

local function object_of(asked, points)
  local out = {}
  for _, beta in ipairs(asked.betas) do
    for _, one in ipairs(asked.deciders) do
      local point = points[beta][one[1]]
      local members = { { "decider", one[1] }, { "beta", beta }, { "runs", point.n },
        { "failed", point.failed } }
      for _, metric in ipairs(metrics) do
        local field = point.fields[metric[2]]
        members[#members + 1] = { metric[2], interval(field) }
      end
      out[#out + 1] = json.object(members)
    end
  end
  return schema.document "cluster pacml, several runs" {
    { "level", 0.95 }, { "first_seed", asked.seed }, { "seeds", asked.seeds },
    { "points", out } }
end

local function files(value)
  if not value then return nil end
  local out = {}
  for path in value:gmatch("[^,]+") do out[#out + 1] = path end
  return out
end

local function seeds(asked)
  local out = {}
  for i = 1, asked.seeds do out[i] = asked.seed + i - 1 end
  return out
end

local function progress(given, complain)
  if not given.progress then return nil end
  return function(done, all, row)
    complain(("%.0f of %.0f: %s, beta %s, seed %.0f: %s"):format(done, all, row.parameters.decider,
      row.parameters.beta, row.seed, row.error or decimals(row.result.blocking_rate, 4)
      .. " blocked"))
  end
end

local function table_of(asked, points, given)
  if not given.table then return means(asked, points), { true, true } end
  local rows = blocking(asked, points)
  add_published(asked, rows)
  return rows, { true }
end

--- @tparam table asked env, betas, deciders ({ name, decider }), seed, seeds, horizon, trace
-- @treturn number exit code
function study.run(asked, given, write, complain)
  local e = fail.need(berth.pacml.study(asked.env, { deciders = asked.deciders, betas = asked.betas,
    seeds = seeds(asked), trace = asked.trace, horizon = asked.horizon, path = given.path,
    shard = given.shard, also = files(given.also), progress = progress(given, complain) }))
  local points = by_name(e:summary())
  if given.json then
    write(json.encode(object_of(asked, points)))
  else
    for _, line in ipairs(align.lines(table_of(asked, points, given))) do write(line) end
    if #e.rows < e.trials then write(("%.0f of %.0f runs are done"):format(#e.rows, e.trials)) end
  end
  for _, row in ipairs(e.rows) do
    local at = row.parameters
    if row.error then
      complain(("%s, beta %s, seed %.0f: %s"):format(at.decider, at.beta, row.seed, row.error))
    end
  end
  return e.failed > 0 and fail.USAGE or 0
end

return study
