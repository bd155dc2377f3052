-- What it costs to take a rule's favourite of several measured plans in place of the fastest one.
local berth = require "berth"

local regret = {}

-- ---- rules --------------------------------------------------------------------------------------

-- The first of a list by some keys, each from the largest down.
local function largest(...)
  local keys = { ... }
  return function(list)
    local best = list[1]
    for i = 2, #list do
      for _, key in ipairs(keys) do
        local a, b = list[i].plan[key] or 1, best.plan[key] or 1
        if a > b then best = list[i] end
        if a ~= b then break end
      end
    end
    return best
  end
end

local function estimated(form)
  return function(list)
    local best, least
    for _, row in ipairs(list) do
      local e = berth.llm.estimate(row.model, row.cluster, row.plan, { form = form })
      if e and (not least or e.step < least) then best, least = row, e.step end
    end
    return best
  end
end

--- Rules in order: name, choose(rows of a group) -> row.
function regret.rules(form)
  return {
    { name = "estimate", choose = estimated(form) },
    { name = "dp-first", choose = largest("dp", "tp", "micro_batch") },
    { name = "tp-first", choose = largest("tp", "dp", "micro_batch") },
  }
end

-- ---- groups -------------------------------------------------------------------------------------

local function key_of(row)
  local p, m, c = row.plan, row.model, row.cluster
  return table.concat({ m.layers, m.hidden, m.heads, p.seq, p.global_batch, c.gpus, c.gpu,
    p.framework or "" }, " ")
end

--- Rows that were measured, of one model, sequence, batch, cluster and framework, in order of the
-- first of each; those of fewer than `least` are left out. Measured twice: the first.
function regret.groups(rows, least)
  local groups, out = {}, {}
  for _, row in ipairs(rows) do
    local key = row.measured and key_of(row)
    if key and not groups[key] then
      groups[key] = {}
      out[#out + 1] = groups[key]
    end
    if key then table.insert(groups[key], row) end
  end
  local kept = {}
  for _, group in ipairs(out) do
    if #group >= least then kept[#kept + 1] = group end
  end
  return kept
end

local function fastest(group)
  local best = group[1]
  for i = 2, #group do
    if group[i].measured < best.measured then best = group[i] end
  end
  return best
end

--- By rule the loss of its favourite: name, mean, worst, exact (groups in which it is the fastest),
-- losses (of each group).
function regret.of(groups, rules)
  local out = {}
  for i, rule in ipairs(rules) do
    local sum, worst, exact, losses = 0, 0, 0, {}
    for k, group in ipairs(groups) do
      local loss = rule.choose(group).measured / fastest(group).measured - 1
      losses[k] = loss
      sum, worst = sum + loss, math.max(worst, loss)
      if loss == 0 then exact = exact + 1 end
    end
    out[i] = { name = rule.name, mean = sum / #groups, worst = worst, exact = exact,
      losses = losses }
  end
  return out
end

return regret
