--- Options that several commands share, and their way into the library.
local proved = require "berth.bound.proved"

local options = {}

local LINKS = { "free", "channel", "duplex", "pair", "route", "fair" }
local MEMORY = { "none", "inference", "training", "total" }
local DISPATCH = { "fifo", "light-first", "blevel", "planned", "lifo", "random" }

--- How graph files are read.
options.loading = {
  { name = "format", kind = "string", value = "NAME", text = "format of the graph file; default: told from its contents" },
  { name = "forward-only", kind = "flag", text = "pipedream files: leave the backward pass out" },
  { name = "mirror", kind = "choice", value = "RULE", choices = { "physical", "pac-ml" },
    text = "pipedream files: how the backward pass is made; default physical" },
  { name = "file-bandwidth", kind = "bytes/s", value = "RATE",
    text = "dnn-partitioning files: turns transfer seconds into bytes, e.g. 16GB/s; wfformat: of the links between machines" },
  { name = "cpus", kind = "flag", text = "dnn-partitioning files: the topology has the CPUs, too" },
}

--- For placing and simulating alike.
options.shared = {
  { name = "links", kind = "choice", value = "RULE", choices = LINKS,
    text = "who shares what while tensors cross; default free" },
  { name = "memory", kind = "choice", value = "RULE", choices = MEMORY,
    text = "what stays in memory; default: training if any op has a twin, else inference" },
  { name = "param-multiple", kind = "number", value = "X",
    text = "parameter bytes count X times (gradients, optimiser); default 1" },
  { name = "quantum", kind = "seconds", value = "TIME", text = "rounds times to multiples, e.g. 1us; default: exact" },
  { name = "seed", kind = "whole", value = "N", text = "for random choices; default 0" },
}

--- For placing alone.
options.placing = {
  { name = "placer", kind = "string", value = "PLACER",
    text = "who places, see below; default: portfolio, the best of several; berth compare shows all" },
  { name = "variant", kind = "string", value = "NAME",
    text = "of the placer; m-topo, m-etf and m-sct have baechi-tf and baechi-pt, others have more: docs/placers.md" },
  { name = "averages", kind = "choice", value = "RULE", choices = { "textbook", "saga" },
    text = "mean times of heft, cpop, peft" },
  { name = "device", kind = "count", value = "N", text = "for single: on this device, from 1" },
  { name = "tries", kind = "count", value = "N", text = "for critical-path: best of N random ties; default 1" },
  { name = "seconds", kind = "seconds", value = "TIME",
    text = "for portfolio: no placer is begun when it has passed, e.g. 2s; for anneal, local, brkga, exact: budget" },
  { name = "threads", kind = "whole", value = "N", text = "for portfolio, anneal, brkga: default 0, one per core" },
  { name = "calls", kind = "count", value = "N", text = "for anneal, local, brkga: placements that are tried; default 2000" },
  { name = "restarts", kind = "count", value = "N", text = "for anneal: walks that share the budget; default: by the budget" },
  { name = "steepest", kind = "flag", text = "for local: the best of all moves each time, not the first that improves" },
  { name = "population", kind = "count", value = "N", text = "for brkga: placements in a generation; default 20 to 100" },
  { name = "elite", kind = "number", value = "X", text = "for brkga: part of a generation that stays; default 0.2" },
  { name = "mutants", kind = "number", value = "X", text = "for brkga: part of a generation that is new; default 0.15" },
  { name = "bias", kind = "number", value = "X", text = "for brkga: chance of a key to come from the elite parent; default 0.7" },
  { name = "ties", kind = "choice", value = "RULE", choices = { "level", "topological", "b-level" },
    text = "for m-etf and m-sct: of ops that could start equally early, which goes first" },
  { name = "coarsen", kind = "choice", value = "RULE", choices = { "none", "chains", "coplace", "fuse" },
    text = "sets of ops that are placed as one; not for the trivial placers; default none" },
  { name = "coarsen-ops", kind = "count", value = "N", text = "most ops in one set; default 16, chains of any length" },
  { name = "transfer-weight", kind = "number", value = "X",
    text = "the placer sees transfers that take X times their time; default 1" },
  { name = "favourites", kind = "choice", value = "FROM", choices = { "lp", "through", "none" },
    text = "for m-sct: where favourite children come from; default lp" },
  { name = "tau", kind = "number", value = "X",
    text = "for m-sct: favourites are the edges with 1 - y at most X, 0 to 1; default 0: a maximal matching" },
  { name = "gap", kind = "number", value = "X", text = "for m-sct: relative gap to which the program is solved; default 0.01" },
}

--- For simulating alone.
options.simulating = {
  { name = "preset", kind = "choice", value = "NAME", choices = { "doppler", "baechi-tf", "baechi-pt", "tag" },
    text = "rules of a published simulator; other options override it" },
  { name = "dispatch", kind = "choice", value = "RULE", choices = DISPATCH, text = "which ready op runs next; default fifo" },
  { name = "send", kind = "choice", value = "RULE", choices = { "push", "pull" },
    text = "tensors leave when made, or when wanted; default push" },
  { name = "order", kind = "choice", value = "RULE", choices = { "event", "ready", "task" },
    text = "order of events; default event" },
  { name = "collectives", kind = "choice", value = "RULE", choices = { "links", "queue" },
    text = "what collectives wait for; default links" },
  { name = "reserve", kind = "flag", text = "route: links are given out when a transfer is ready, idle or not" },
  { name = "split-windows", kind = "flag", text = "channel and duplex: sender and receiver are held one after the other" },
  { name = "preempt", kind = "flag", text = "a device drops its op for a better one" },
  { name = "noise", kind = "number", value = "SIGMA", text = "lognormal noise on every time; default 0" },
}

--- How ops and transfers are priced.
options.pricing = {
  { name = "op-factor", kind = "number", value = "X", text = "multiplies op times; default 1" },
  { name = "transfer-factor", kind = "number", value = "X", text = "multiplies transfer times; default 1" },
  { name = "free-control", kind = "flag", text = "tensors of no bytes cross in no time" },
  { name = "collective-bandwidth", kind = "number", value = "X",
    text = "collectives have X times the bandwidth of transfers; default 1" },
  { name = "collective-algorithm", kind = "choice", value = "RULE",
    choices = { "ring", "tree", "double-tree", "halving", "hierarchical", "auto" },
    text = "how collectives are carried out; auto: the fastest; default ring. Lines, and groups of devices: in Lua only" },
}

options.json = { name = "json", kind = "flag", text = "prints one JSON object; times in s, sizes in bytes" }

--- All given lists in one.
function options.join(...)
  local out = {}
  for _, list in ipairs { ... } do
    for _, option in ipairs(list) do out[#out + 1] = option end
  end
  return out
end

-- The given ones of `list` under the library's names.
local function pick(given, list, out)
  for _, option in ipairs(list) do
    if given[option.name] ~= nil then out[option.name:gsub("-", "_")] = given[option.name] end
  end
  return out
end

local function pick_named(given, names, out)
  for _, name in ipairs(names) do
    if given[name] ~= nil then out[name:gsub("-", "_")] = given[name] end
  end
  return out
end

local function priced(given, out)
  local cost = pick(given, options.pricing, {})
  if next(cost) then out.cost = cost end
  return out
end

function options.for_loading(given)
  local out = { format = given.format, mirror = given.mirror, bandwidth = given["file-bandwidth"], cpus = given.cpus }
  if given["forward-only"] then out.training = false end
  return out
end

--- Options of berth.cost.
function options.for_pricing(given)
  return pick(given, options.pricing, {})
end

-- Those that simulate.
local judged = { portfolio = true, anneal = true, ["local"] = true, brkga = true }

--- How an answer will be simulated, for placers that simulate.
function options.judge(given)
  local out = pick(given, options.simulating, pick(given, options.shared, {}))
  out.noise = nil -- which is not known beforehand
  return out
end

function options.for_placing(given)
  local out = pick(given, options.placing, pick(given, options.shared, {}))
  out.placer = nil
  if given.placer == nil or judged[given.placer] then out.judge = options.judge(given) end
  return priced(given, out)
end

--- Of berth.simulate; what was proved of the placement, when it was found with the same options, is part of its bound.
function options.for_simulating(given, placement)
  local out = priced(given, pick(given, options.simulating, pick(given, options.shared, {})))
  out.bound = placement and proved.option(placement, out, out) or nil
  return out
end

--- Of berth.repair.
function options.for_repair(given)
  return priced(given, pick_named(given, { "links", "memory", "param-multiple", "quantum" }, {}))
end

--- Of berth.bounds.
function options.for_bounds(given)
  local out = pick_named(given, { "links", "memory", "param-multiple", "thorough", "gap", "makespan" }, {})
  if given.links then out.place = { links = given.links } end
  return priced(given, out)
end

--- Of berth.gaps.
function options.for_gaps(given)
  return priced(given, pick_named(given, { "links", "memory", "param-multiple", "calls", "seed" }, {}))
end

return options
