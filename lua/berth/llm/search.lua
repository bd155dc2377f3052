--- The plan search: what is searched, the runner-ups with the reason why each is slower, and what
-- to change next.
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local options = require "berth.base.options"
local percent = require "berth.base.percent"

local FN = "berth.llm.plan"
local search = {}

-- ---- options ------------------------------------------------------------------------------------

-- Parts of the space whose values are names, and their numbers in C.
local NAMES, NUMBERS = { sequence_parallel = { "off", "on" } },
  { sequence_parallel = { off = 0, on = 1 } }
for _, o in ipairs(options.rows("llm.fill", "schedule recompute")) do
  NAMES[o.key], NUMBERS[o.key] = {}, {}
  for i, choice in ipairs(o.choices) do
    if choice.name ~= "auto" then
      table.insert(NAMES[o.key], choice.name)
      NUMBERS[o.key][choice.name] = i - 1
    end
  end
end

local OBJECTIVES = {
  { name = "step", text = "Least step time: most tokens a second of a GPU on this cluster." },
  { name = "memory", text = "Least memory of the fullest GPU." },
  { name = "gpus", text = "Fewest GPUs of the cluster that reach `time`." },
  { name = "cost", text = "Least GPU time of a token, on any part of the cluster." },
}

-- The core's rows, and those that only Lua has.
local function rows()
  local out = {}
  for i, o in ipairs(core.options "llm.search") do
    local row = options.merge(o, {})
    if NAMES[o.key] then row.type, row.low, row.high = "names", nil, nil end
    if o.key == "objective" then
      row.type, row.choices = "choice or function", OBJECTIVES
    end
    out[i] = row
  end
  out[#out + 1] = { key = "prior", type = "function", default = "by lower bound",
    text = "of a plan: larger ones are visited first, which decides what `calls` and `seconds` "
      .. "reach; nil, 0: not allowed" }
  out[#out + 1] = { key = "price", type = "number", default = "none",
    text = "of a GPU for an hour: the answer has the cost of a million tokens" }
  return out
end
options.declare("llm.plan", rows())

-- One value, or a list without repetitions; of names their numbers.
local function list_of(key, x)
  local numbers, out, seen = NUMBERS[key], {}, {}
  for _, item in ipairs(type(x) == "table" and x or { x }) do
    local value = item
    if numbers then
      value = numbers[item]
      options.refuse(not value, "%s: %s: '%s' is none of: %s", FN, key, tostring(item),
        table.concat(NAMES[key], ", "))
    end
    if not seen[tostring(value)] then out[#out + 1] = value end
    seen[tostring(value)] = true
  end
  options.refuse(#out == 0, "%s: %s: the list is empty", FN, key)
  return out
end

-- The options apart: of the plan, of the search, of the estimate, functions.
local function apart(opts)
  local searched, planned, functions = {}, {}, { prior = opts.prior }
  local given = { factors = true, price = true, prior = true }
  local known = options.by_key "llm.plan"
  for key, x in pairs(opts) do
    local o = known[key]
    if o and (o.type == "numbers" or o.type == "names") then searched[key] = list_of(key, x)
    elseif o and not given[key] then searched[key] = x
    elseif not o and not given[key] then planned[key] = x
    end
  end
  if type(opts.objective) == "function" then functions.objective = opts.objective end
  if searched.objective ~= "memory" then searched.objective = nil end
  return planned, searched, estimate.options { factors = opts.factors }, functions
end

local function check(opts)
  local legal = options.join(options.keys "llm.plan", options.keys "llm.fill", { "factors" })
  options.check(FN, opts, legal)
  options.check_values(FN, "llm.plan", opts)
  if type(opts.objective) ~= "function" then
    options.check_choice(FN, "llm.plan", "objective", opts)
  end
  options.refuse(opts.objective == "gpus" and not opts.time, "%s: objective gpus requires time", FN)
end

-- ---- parts of a cluster -------------------------------------------------------------------------

--- The cluster with changes of what its data sheet and options say; nil: of a topology, or unlike
-- GPUs.
function search.changed(cluster, changes)
  local g = cluster.groups[1]
  if #cluster.groups > 1 or not core.device_sheet(g.name) then return nil end
  return core.llm_cluster_new(options.merge({ gpu = g.name, gpus = g.count, memory = g.memory,
    per_machine = g.per_machine, link = g.link, link_latency = g.link_latency, nics = 1,
    nic = g.nic, nic_latency = g.nic_latency }, changes))
end

-- Numbers of GPUs that divide those of a machine, then machines that divide all; the last is all.
local function sizes(cluster)
  local g, out = cluster.groups[1], {}
  local per = math.min(g.per_machine, g.count)
  for n = 1, per - 1 do
    if per % n == 0 then out[#out + 1] = n end
  end
  local machines = math.floor(g.count / per)
  for n = 1, machines do
    if machines % n == 0 then out[#out + 1] = n * per end
  end
  return out
end

-- ---- reasons ------------------------------------------------------------------------------------

local RANK = { none = 0, selective = 1, full = 2 }

local function crosses(e, n)
  local g = e.cluster.groups[1]
  return n > math.max(g.domain, g.per_machine) and " crosses machines" or ""
end

local CAUSES = {
  tp = function(e, p) return ("tp %d%s"):format(p.tp, crosses(e, p.tp)) end,
  cp = function(e, p) return ("cp %d%s"):format(p.cp, crosses(e, p.tp * p.cp)) end,
  ep = function(e, p) return ("ep %d%s"):format(p.ep, crosses(e, p.ep * p.etp)) end,
  p2p = function(_, p) return ("pp %d, vp %d"):format(p.pp, p.vp) end,
  dp = function(_, p) return ("dp %d, zero %d"):format(p.dp * p.cp, p.zero) end,
  optimizer = function(_, p) return ("dp %d, zero %d"):format(p.dp * p.cp, p.zero) end,
  bubble = function(_, p)
    local n = p.global_batch / p.dp / p.micro_batch
    return ("pp %d with %d micro-batch%s"):format(p.pp, n, n == 1 and "" or "es")
  end,
  work = function(e, p, best)
    if RANK[p.recompute] > RANK[best.recompute] then
      return ("recompute %s computes again"):format(p.recompute)
    end
    if #e.cluster.groups > 1 and p.pp == 1 and best.pp > 1 then
      return "slow GPUs have as much work as fast ones"
    end
    if p.pp > best.pp then return ("pp %d: the fullest stage has more work"):format(p.pp) end
    if p.tp == best.tp and p.cp == best.cp and p.micro_batch == best.micro_batch then
      return "the fullest stage has more work"
    end
    return ("tp %d, cp %d, micro_batch %d: slower kernels"):format(p.tp, p.cp, p.micro_batch)
  end,
}
local WORDS = { work = "computation", bubble = "bubble", optimizer = "optimiser" }
local WORK = { "products", "attention", "elementwise", "launch" }
local KINDS = { "tp", "cp", "ep", "p2p", "dp", "optimizer", "bubble" }

local function work_of(e)
  local sum = 0
  for _, kind in ipairs(WORK) do sum = sum + e.time[kind] end
  return sum
end

--- Why an estimated plan is slower than another one: the kind of time that grows most, in words.
function search.reason(e, best)
  local most, which = work_of(e) - work_of(best), "work"
  for _, kind in ipairs(KINDS) do
    local more = e.time[kind] - best.time[kind]
    if more > most then most, which = more, kind end
  end
  if most <= 0 then return "as fast" end
  local word = WORDS[which] or "exposed communication of " .. estimate.text[which]
  return ("%s: +%s %s"):format(CAUSES[which](e, e.plan, best.plan), percent(most / best.step), word)
end

-- ---- the answer ---------------------------------------------------------------------------------

local OTHERS = 5

local function split_key(p)
  return ("%d %d %d %d %d"):format(p.tp, p.cp, p.pp, p.ep, p.etp)
end

local function opts_of(plan)
  local out = options.merge(plan, {})
  out.filled = nil
  return out
end

-- Why a plan is worse than the best by the objective.
local function reason_of(x, r)
  if r.options.objective == "memory" then
    return ("+%s memory"):format(percent(x.memory / r.plans[1].memory - 1))
  end
  if x.loss < 0 then return "faster, but worse by the objective" end
  return search.reason(x.estimate, r.best)
end

-- The estimate of a found plan beside it, and why it is worse than the best.
local function explained(x, r, llm)
  x.estimate = llm.estimate(r.model, r.cluster, opts_of(x.plan), r.factors)
  x.loss = x.step / r.best.step - 1
  x.reason = reason_of(x, r)
  return x
end

local OF_KIND = {
  no_pp = function(p) return p.pp == 1 end,
  no_tp = function(p) return p.tp == 1 end,
  zero_3 = function(p) return p.zero == 3 and p.tp * p.cp * p.pp == 1 end,
}

-- The best plans of other splits, then the best of each kind.
local function compare(r, llm)
  local seen = { [split_key(r.plans[1].plan)] = true }
  r.others, r.kinds, r.front = {}, {}, {}
  for _, x in ipairs(r.plans) do
    local key = split_key(x.plan)
    if x.step and not seen[key] and #r.others < OTHERS and (x.roles.best or x.roles.split) then
      seen[key] = true
      r.others[#r.others + 1] = explained(x, r, llm)
    end
    if x.roles.front then r.front[#r.front + 1] = x end
    for kind, belongs in pairs(OF_KIND) do
      if x.step and not r.kinds[kind] and belongs(x.plan) then
        r.kinds[kind] = explained(x, r, llm)
      end
    end
  end
  table.sort(r.front, function(a, b) return a.closed < b.closed end)
end

local function total(r)
  return r.refused + r.excluded + r.unfit + r.bounded + r.valued + r.failed + r.left
end

local Search = { __name = "berth.llm_search" }

-- One search on one cluster.
local function on(m, c, opts, llm)
  local planned, searched, factors, functions = apart(opts)
  local r, message, code = core.llm_search(m, c, planned, searched, factors, functions)
  if not r then return nil, message, code end
  r.model, r.cluster, r.options, r.factors, r.total = m, c, opts, factors, total(r)
  for _, x in ipairs(r.plans) do llm.printed(x.plan) end
  if #r.plans == 0 then return setmetatable(r, Search) end
  local first = opts_of(r.plans[1].plan)
  if not r.fits then
    r.least = llm.memory(m, c, first)
    return setmetatable(r, Search)
  end
  r.best = llm.estimate(m, c, first, factors)
  r.plans[1].step = r.plans[1].step or r.best.step
  r.gap = r.best.step / r.bound - 1
  if opts.price then
    r.cost = opts.price / 3600 * c.gpus / r.best.tokens_per_second * 1e6
  end
  compare(r, llm)
  return setmetatable(r, Search)
end

-- GPU seconds of a token.
local function effort(r) return r.cluster.gpus / r.best.tokens_per_second end

-- Part by part of the cluster.
local function over_sizes(m, c, opts, llm)
  local best, last, why
  for _, n in ipairs(sizes(c)) do
    local part = n == c.gpus and c or search.changed(c, { gpus = n })
    options.refuse(not part, "%s: objective %s requires GPUs of one kind with a data sheet", FN,
      opts.objective)
    local fine, r, message, code = pcall(on, m, part, opts, llm)
    if fine and not r and code == "interrupt" then return nil, message, code end
    if not fine then why = r end
    if fine and r then
      last = r
      if r.fits and opts.objective == "gpus" and r.best.step <= opts.time then return r end
      if r.fits and opts.objective == "cost" and (not best or effort(r) < effort(best)) then
        best = r
      end
    end
  end
  if best then return best end
  if not last then error(why, 0) end
  return last
end

--- @see berth.llm.plan
function search.run(m, c, opts, llm)
  opts = opts or {}
  check(opts)
  if opts.time then
    opts = options.merge(opts, { time = options.seconds(FN .. ": time", opts.time) })
  end
  if opts.objective == "gpus" or opts.objective == "cost" then
    return over_sizes(m, c, opts, llm)
  end
  return on(m, c, opts, llm)
end

-- The stage of the plan with least memory, if it has too much.
local function memory_lacks(r)
  local worst = r.least and r.least[r.least.worst]
  return worst and worst.total > (r.options.fill or 0.9) * worst.limit and worst or nil
end

-- ---- what to change next ------------------------------------------------------------------------

local function gbit(x) return core.sprintf("%.0f Gbit/s", 8e-9 * x) end

local MULTIPLES = 4

-- The search on another cluster or with other options, with few finalists; nil: nothing fits.
local function again(r, cluster, changes, llm)
  local objective = r.options.objective
  local s = cluster and search.run(r.model, cluster, options.merge(r.options, { finalists = 4,
    front = false, objective = type(objective) == "function" and objective or "step" }, changes),
    llm)
  return s and s.fits and s.best or nil
end

-- The least multiple of the GPUs, by powers of two, on which a plan fits. Memory falls no faster
-- than the number of GPUs rises, so smaller ones are not tried.
local function more_gpus(r, worst, llm)
  local power = math.max(1, math.floor(math.log(worst.total / worst.limit) / math.log(2)))
  for k = power, power + MULTIPLES - 1 do
    local gpus = 2 ^ k * r.cluster.gpus
    local larger = search.changed(r.cluster, { gpus = gpus })
    local fine, e = pcall(again, r, larger, { finalists = 1 }, llm)
    if fine and e then return e, gpus end
  end
end

-- What lets a plan fit: a little more of the memory, or more GPUs.
local function to_fit(r, add, llm)
  local worst = memory_lacks(r)
  if not worst then return end
  if worst.total <= worst.limit then
    local fill = math.ceil(100 * worst.total / worst.limit) / 100
    add(core.sprintf("fill %.2f in place of %.2f", fill, r.options.fill or 0.9),
      again(r, r.cluster, { fill = fill }, llm))
  end
  local e, gpus = more_gpus(r, worst, llm)
  add(e and core.sprintf("%.0f GPUs in place of %.0f", gpus, r.cluster.gpus), e)
end

local function to_gain(r, add, llm)
  local c, g = r.cluster, r.cluster.groups[1]
  local function estimated(changes)
    local other = search.changed(c, changes)
    return other and llm.estimate(r.model, other, opts_of(r.plans[1].plan), r.factors)
  end
  if c.gpus > g.per_machine then
    add(("%s of network a GPU in place of %s"):format(gbit(2 * g.nic / g.per_machine),
      gbit(g.nic / g.per_machine)), estimated { nic = 2 * g.nic })
  end
  if c.gpus > 1 and g.link < math.huge then
    add(("%s within a machine in place of %s"):format(core.format(2 * g.link, "bytes/s"),
      core.format(g.link, "bytes/s")), estimated { link = 2 * g.link })
  end
end

--- The best plan with other links, and the best plan with more memory: array of text, step, change,
-- plan. Where none fits: what lets one fit, without change.
function search.changes(r, llm)
  options.refuse(not search.is(r), "berth.llm.changes: expected an answer of berth.llm.plan, "
    .. "got %s", type(r))
  local g, out = r.cluster.groups[1], {}
  local function add(text, e)
    if e then
      out[#out + 1] = { text = text, step = e.step, change = r.best and e.step / r.best.step - 1,
        plan = e.plan }
    end
  end
  if r.best then to_gain(r, add, llm) else to_fit(r, add, llm) end
  if r.best and r.options.objective == "memory" then return out end
  add(("%s of memory a GPU in place of %s"):format(core.format(2 * g.memory, "bytes"),
    core.format(g.memory, "bytes")), again(r, search.changed(r.cluster, { memory = 2 * g.memory }),
    {}, llm))
  return out
end

-- ---- text ---------------------------------------------------------------------------------------

local function seconds(x) return core.format(x, "seconds") end

--- "47,145 plans: 126 valued, ..."
function search.counts_text(r)
  local parts = {}
  for _, pair in ipairs { { "valued", "valued" }, { "bounded", "excluded by a bound" },
    { "unfit", "do not fit" }, { "refused", "do not divide" },
    { "excluded", "not allowed" }, { "failed", "without schedule" },
    { "left", "not reached" } } do
    if r[pair[1]] > 0 then
      parts[#parts + 1] = ("%s %s"):format(estimate.grouped(r[pair[1]]), pair[2])
    end
  end
  return ("searched: %s plans: %s"):format(estimate.grouped(r.total), table.concat(parts, ", "))
end

-- The plan with least memory and its stages; each may fit its GPUs, above `fill`.
local function least_text(least)
  return tostring(least.plan) .. "\n" .. tostring(least):gsub(", fits[^\n]*", "", 1)
end

--- What stops a model for which no plan fits. Without a best plan, bounds exclude by `time` alone.
function search.lack_text(r)
  local worst, time = memory_lacks(r), r.options.time
  if r.left > 0 then return "none of the plans that were reached fits" end
  if time and r.bound > time then
    return ("no plan takes at most %s: none is faster than %s"):format(seconds(time),
      seconds(r.bound))
  elseif time and (r.bounded > 0 or not worst) then
    return ("no plan that fits takes at most %s"):format(seconds(time))
  elseif not worst then
    return "no plan fits: the objective allows none"
  end
  return ("no plan fits: the least memory is %s of %s, and a plan may have %s of it\n%s"):format(
    core.format(worst.total, "bytes"), core.format(worst.limit, "bytes"),
    percent(r.options.fill or 0.9), least_text(r.least))
end

--- Whether r is of berth.llm.plan.
function search.is(r) return getmetatable(r) == Search end

function Search.__tostring(r)
  if not r.best then return search.lack_text(r) .. "\n" .. search.counts_text(r) end
  return ("%s\nstep: %s; no plan is faster than %s\n%s"):format(tostring(r.best.plan),
    seconds(r.best.step), seconds(r.bound), search.counts_text(r))
end

return search
