--- What answers call devices, options and op groups, and the tables that they print.
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local percent = require "berth.base.percent"
local align = require "berth.base.align"
local scale = require "berth.report.scale"

local words = {}

words.options = { ps = "parameter server", allreduce = "AllReduce", split = "model parallel",
  duplicate = "all of it on each" }

words.shares = { even = "even shares", speed = "shares by speed" }

--- As an integer, if it is one.
function words.whole(x)
  return x == math.floor(x) and math.abs(x) < 2 ^ 53 and math.floor(x) or x
end

words.baselines = {
  dp = "DP-NCCL", ["dp-speed"] = "DP-NCCL, shares by speed", ["dp-ps"] = "DP, parameter servers",
  ["dp-ps-speed"] = "DP, parameter servers, by speed", ["model-parallel"] = "model parallel",
  single = "one device", heterog = "as HeteroG chooses", chain = "chain cut by memory",
  uniform = "best uniform", placement = "as berth.place places",
}

function words.baseline(name) return words.baselines[name] or name end

function words.seconds(x) return x and core.format(x, "seconds") or "-" end

--- Parts of bytes are rounded up.
function words.bytes(x)
  if not x then return "-" end
  return x == math.huge and "none" or core.format(x < 1000 and math.ceil(x) or x, "bytes")
end

--- How many times y x is; what is equal is it once, though both be 0.
function words.ratio(x, y) return x == y and 1 or x / y end

--- How many times: "1.85", "3e+12"; "-" of no time.
function words.times(x)
  if x ~= x or x == math.huge then return "-" end
  return x < 1e6 and decimals(x, 2) or core.number_text(x, 3)
end

--- How much more: "+3.1 %", "-0.2 %".
function words.more(x)
  if x ~= x or x == math.huge then return "never" end
  return (x < 0 and "" or "+") .. percent(x)
end

--- "1 op", "12 ops"
words.count = scale.count

--- Names of the devices of a topology, as figures and tables show them.
function words.names(topology)
  local names = {}
  for device in topology:devices() do
    names[device.id] = device.name ~= "" and device.name or ("device %.0f"):format(device.id)
  end
  return names
end

-- Runs of consecutive ids, { first, last }.
local function runs(list)
  local out = {}
  for _, d in ipairs(list) do
    local last = out[#out]
    if last and last[2] == d - 1 then last[2] = d else out[#out + 1] = { d, d } end
  end
  return out
end

--- Devices by name: "all 16 devices", "d0, d1", "d4 to d11", "d0 to d3, d12 to d15".
-- @tparam table names of all devices
-- @tparam table list ids, rising
function words.devices(names, list)
  if #list == #names and #names > 1 then return ("all %.0f devices"):format(#names) end
  local out = {}
  for _, run in ipairs(runs(list)) do
    local first, last = names[run[1]], names[run[2]]
    if run[1] == run[2] then out[#out + 1] = first
    elseif run[2] == run[1] + 1 then out[#out + 1] = first .. ", " .. last
    else out[#out + 1] = first .. " to " .. last end
  end
  return table.concat(out, ", ")
end

local MOST_RUNS = 3

-- 8, 8, 8, 4, 4 as "3 x 8, 2 x 4"; many different ones as "4 to 8".
local function counted(list)
  local out, from = {}, 1
  for i = 1, #list do
    if list[i + 1] ~= list[i] then
      local n = i - from + 1
      out[#out + 1] = n > 1 and ("%.0f x %.0f"):format(n, list[i]) or ("%.0f"):format(list[i])
      from = i + 1
    end
  end
  if #out <= MOST_RUNS then return table.concat(out, ", ") end
  local least, most = list[1], list[1]
  for _, n in ipairs(list) do least, most = math.min(least, n), math.max(most, n) end
  return ("%.0f to %.0f"):format(least, most)
end

--- Whether it is a way to sum gradients.
function words.is_sum(option) return option == "ps" or option == "allreduce" end

--- An option in words; where no gradient is summed it does not matter how.
function words.option(option, reduces)
  return words.is_sum(option) and not reduces and "replicas" or words.options[option]
end

--- How an op group is carried out, in a few words.
-- @tparam table g group of an answer
function words.how(g)
  if #g.devices == 1 then return "here alone" end
  local how = words.option(g.option, g.reduces)
  if g.samples and g.option ~= "split" and g.option ~= "duplicate" then
    how = ("%s, samples %s"):format(how, counted(g.samples))
  end
  if #g.repeated > 0 then
    how = ("%s, %s repeated (SFB)"):format(how, words.count(#g.repeated, "op"))
  end
  return how
end

--- "PS instead: +3.1 %"
function words.reason(r)
  if r.missing then
    return ("%s: %s short on %s"):format(r.what, words.bytes(r.missing), r.device_name)
  end
  return ("%s: %s"):format(r.what, words.more(r.change))
end

function words.reasons(g, most)
  local out = {}
  for i = 1, math.min(#g.reasons, most or #g.reasons) do out[i] = words.reason(g.reasons[i]) end
  return table.concat(out, "; ")
end

--- Reasons of several op groups as one text: how much longer at least and at most, and for how many
-- of them if not for all.
-- @tparam table groups of an answer
function words.reasons_of(groups)
  if #groups == 1 then return words.reasons(groups[1]) end
  local list, at = {}, {}
  for _, g in ipairs(groups) do
    for _, r in ipairs(g.reasons) do
      local key = r.what .. (r.missing and " short" or "")
      local same = at[key]
      if not same then
        same = { what = r.what, short = r.missing ~= nil, n = 0, low = math.huge,
          high = -math.huge }
        at[key], list[#list + 1] = same, same
      end
      local x = r.missing or r.change
      same.n, same.low, same.high = same.n + 1, math.min(same.low, x), math.max(same.high, x)
    end
  end
  for k, one in ipairs(list) do
    local text_of = one.short and words.bytes or words.more
    local low, high = text_of(one.low), text_of(one.high)
    list[k] = one.what .. ": " .. (low == high and low or low .. " to " .. high)
      .. (one.short and " short" or "") .. (one.n < #groups and (" (%.0f of them)"):format(one.n)
        or "")
  end
  return table.concat(list, "; ")
end

local function aligned(rows, left) return table.concat(align.lines(rows, left), "\n") end

--- @tparam answer a
-- @tparam[opt] number most groups, the heaviest
function words.groups(a, most)
  local rows, n = { { "group", "what", "time", "gradients", "where", "how", "why" } },
    math.min(most or #a.groups, #a.groups)
  for i = 1, n do
    local g = a.groups[i]
    rows[i + 1] = { ("%.0f"):format(i), g.what, words.seconds(g.seconds),
      words.bytes(g.gradient_bytes), g.where, words.how(g),
      words.reasons(g, 2) }
  end
  local lines = aligned(rows, { [2] = true, [5] = true, [6] = true, [7] = true })
  return n < #a.groups and ("%s\nand %.0f lighter ones"):format(lines, #a.groups - n) or lines
end

function words.note(row)
  if row.fits then return row.detail or "" end
  return ("as if it fitted: %s short on %s"):format(words.bytes(row.missing), row.device_name)
end

--- How many times as long as the plan a baseline takes; in parentheses if it cannot run.
function words.times_plan(row, a)
  local times = words.times(words.ratio(row.seconds, a.seconds))
  return row.fits and times or ("(%s)"):format(times)
end

local function baseline_cells(row, a)
  return { words.baseline(row.name), words.seconds(row.seconds), words.times_plan(row, a),
    words.note(row) }
end

--- Those that fit, fastest first, and then those that do not.
function words.baseline_table(a)
  local rows = { { "baseline", "step time", "x", "" }, { "this plan", words.seconds(a.seconds),
    "1.00", "" } }
  for _, fits in ipairs { true, false } do
    for _, row in ipairs(a.baselines) do
      if row.fits == fits then rows[#rows + 1] = baseline_cells(row, a) end
    end
  end
  return aligned(rows, { true, [4] = true })
end

function words.memory_table(a)
  local rows = { { "device", "peak memory", "limit", "part" } }
  for d, name in ipairs(a.device_names) do
    local limit = a.limits[d]
    rows[d + 1] = { name, words.bytes(a.peaks[d]), words.bytes(limit),
      limit < math.huge and limit > 0 and percent(a.peaks[d] / limit) or "-" }
  end
  return aligned(rows, { true })
end

-- The device that is fullest.
local function fullest(a)
  local best
  for d, limit in ipairs(a.limits) do
    local part = limit < math.huge and limit > 0 and a.peaks[d] / limit or 0
    if not best or part > best.part then best = { d = d, part = part } end
  end
  return best.d
end

local function bounded(a)
  local gap = a.gap and ", gap " .. percent(a.gap) or ""
  return ("bound %s (%s)%s"):format(words.seconds(a.bound), a.bound_name, gap)
end

-- "1.85 x DP-NCCL as if it fitted"
local function against_one(a, name, times, what)
  return ("%s x %s%s"):format(words.times(times), what,
    a:baseline(name).fits and "" or " as if it fitted")
end

local function against(a)
  local out = {}
  if a.speedup then out[1] = against_one(a, "dp", a.speedup, "DP-NCCL") end
  if a.speedup_uniform then
    out[#out + 1] = against_one(a, "uniform", a.speedup_uniform, "the best uniform strategy")
  end
  return table.concat(out, ", ")
end

--- "calibrated, collectives at 1.9 x bandwidth" where the factor is not given.
function words.physics(a)
  local cost = a.given.cost
  if a.physics ~= "calibrated" or a.given.priced or type(cost) == "table"
      and cost.collective_bandwidth then
    return a.physics
  end
  return a.physics .. ", collectives at 1.9 x bandwidth"
end

--- The line that an answer prints as.
function words.summary(a)
  local d = fullest(a)
  local parts = { ("step time %s"):format(words.seconds(a.seconds)), against(a) }
  if a.bound then parts[#parts + 1] = bounded(a) end
  parts[#parts + 1] = ("memory %s of %s on %s"):format(words.bytes(a.peaks[d]),
    words.bytes(a.limits[d]), a.device_names[d])
  for i = #parts, 1, -1 do
    if parts[i] == "" then table.remove(parts, i) end
  end
  return ("plan: %s on %s, batch %.0f, %s: %s"):format(words.count(a.n_ops, "op"),
    words.count(#a.device_names, "device"), a.batch, words.physics(a), table.concat(parts, "; "))
end

--- The line, and the notes below it.
function words.with_notes(a)
  local out = { words.summary(a) }
  for i, note in ipairs(a.notes) do out[i + 1] = "note: " .. note end
  return table.concat(out, "\n")
end

return words
