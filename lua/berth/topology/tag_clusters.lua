--- Clusters of the study of TAG, and its two random generators: docs/deploy.md. Facts of the
-- published code, restated: groups of equal GPUs, bandwidths in MB/s as printed there, memory that
-- is usable.
-- @module berth.deploy.clusters
local core = require "berth.core"
local options = require "berth.base.options"

local clusters = {}

local MB, GiB = 1e6, 2 ^ 30

local V100, GTX1080Ti, P100 = "V100", "GTX1080Ti", "P100"

-- Options of a cluster: its own, and those of all.
local function declare(name, own)
  options.declare("deploy.clusters." .. name, options.join(own,
    options.rows("topology.groups", "links latency"), {
      options.merge(options.by_key("topology.mesh").overhead, { default = "10 us" }),
      { key = "efficiency", type = "number or array", default = "0.85",
        text = "share of the data sheets' peaks; or { of the arithmetic, of the memory's "
          .. "bandwidth }" },
    }))
end

-- The card of a preset, by its data sheet.
local function sheet(preset) return core.topology_mesh(1, { preset = preset }):device(1) end

local function positive(fn, key, value)
  local fits = type(value) == "number" and value > 0 and value < math.huge
  options.refuse(not fits, "%s: %s: %s must be a number above 0", fn, key, tostring(value))
  return value
end

-- Share of the data sheets' peaks that the ops of training reach: one V100 then trains ResNet-101
-- in FP32 at 235 images/s, as published (200 to 250).
local EFFICIENCY = 0.85

-- Of the arithmetic, and of the memory's bandwidth.
local function efficiencies(fn, given)
  if given == nil then given = EFFICIENCY end
  if type(given) ~= "table" then
    positive(fn, "efficiency", given)
    return given, given
  end
  return positive(fn, "efficiency[1]", given[1]), positive(fn, "efficiency[2]", given[2])
end

-- groups: { preset, count, memory in GiB, MB/s inside, machines =, rack = }; between: rows of MB/s
local function cluster(fn, groups, between, o)
  local arithmetic, memory = efficiencies(fn, o.efficiency)
  local list = {}
  local ports = o.links == nil or o.links == "nic" or o.links == "tree"
  for i, g in ipairs(groups) do
    local rate = sheet(g[1])
    list[i] = {
      preset = g[1], count = g[2], memory = g[3] * GiB, bandwidth = g[4] * MB, overhead = o.overhead
      or "10 us",
      flops = rate.flops * arithmetic, memory_bandwidth = rate.memory_bandwidth * memory,
      machines = ports and g.machines or nil, rack = o.links == "tree" and g.rack or nil,
    }
  end
  local rows = {}
  for i, row in ipairs(between) do
    rows[i] = {}
    for j, x in ipairs(row) do rows[i][j] = x * MB end
  end
  return core.topology_groups { groups = list, between = rows, links = o.links,
    latency = o.latency or "12 us" }
end

local function uniform(n, x)
  local rows = {}
  for i = 1, n do
    rows[i] = {}
    for j = 1, n do rows[i][j] = x end
  end
  return rows
end

declare("testbed", {
  { key = "machines", type = "flag", default = "false",
    text = "network cards for each of the 7 machines, not for each group" },
})

--- The testbed: 16 GPUs, three groups.
-- @tparam[opt] table o as declared above
-- @treturn topology
-- @usage t = berth.deploy.clusters.testbed { links = "tag" }
function clusters.testbed(o)
  local fn = "berth.deploy.clusters.testbed"
  o = options.read(fn, "deploy.clusters.testbed", o)
  options.refuse(o.machines and o.links ~= nil and o.links ~= "nic" and o.links ~= "tree",
    '%s: machines: is for links = "nic" or "tree"', fn)
  return cluster(fn, {
    { V100, 4, 30, 8000 },
    { GTX1080Ti, 8, 9, 3000, machines = o.machines and 4 or nil },
    { P100, 4, 10, 3000, machines = o.machines and 2 or nil },
  }, uniform(3, 2810), o)
end

local FIXED = {
  six_gpu = {
    { { V100, 2, 12, 8000 }, { V100, 2, 12, 8000 }, { GTX1080Ti, 2, 8, 8000 } },
    { { 5000, 2180, 5000 }, { 2180, 5000, 5000 }, { 5000, 5000, 5000 } },
  },
  sfb_pair = { { { V100, 1, 30, 8000 }, { V100, 1, 30, 8000 } }, uniform(2, 2810) },
  sfb_trio = { { { GTX1080Ti, 1, 10, 3000 }, { P100, 2, 9, 3000 } }, uniform(2, 2810) },
  simulator_check_pair = { { { GTX1080Ti, 2, 12, 3000 }, { P100, 2, 10, 3000 } },
    uniform(2, 2810) },
}

for name, spec in pairs(FIXED) do
  declare(name, {})
  clusters[name] = function(o)
    local fn = "berth.deploy.clusters." .. name
    return cluster(fn, spec[1], spec[2], options.check(fn, o, "deploy.clusters." .. name))
  end
end

-- ---- random clusters ----------------------------------------------------------------------------

local CARDS = { P100, GTX1080Ti, V100 }
local MEMORY = { [P100] = 10, [GTX1080Ti] = 9, [V100] = 14 }
local TRAINING_COUNTS, TEST_COUNTS = { 2, 3, 4, 6, 8 }, { 1, 2, 3, 4 }
local INSIDE, FAR, NEAR = { 8000, 20000 }, 2810, 5000

local function draw(rng, list) return list[rng:below(#list)] end

local function from_range(rng, low, high) return low * (high / low) ^ rng:uniform() end

local function memory_of(groups)
  local bytes = 0
  for _, g in ipairs(groups) do bytes = bytes + g[2] * g[3] * GiB end
  return bytes
end

local function count_of(groups)
  local n = 0
  for _, g in ipairs(groups) do n = n + g[2] end
  return n
end

-- At most four groups, up to 16 GPUs or more; earlier, if the model's size is given: once the
-- memory is twice its parameters.
local function training_groups(rng, parameter_bytes)
  local groups = {}
  while #groups < 4 and count_of(groups) < 16 do
    local card = draw(rng, CARDS)
    groups[#groups + 1] = { card, draw(rng, TRAINING_COUNTS), MEMORY[card], draw(rng, INSIDE) }
    local enough = parameter_bytes and #groups >= 2 and memory_of(groups) > 2 * parameter_bytes
    if enough and rng:uniform() < 0.5 then break end
  end
  return groups
end

-- Every group draws one of as many racks as there are groups; racks are numbered by their first
-- group.
local function training(rng, parameter_bytes)
  local groups, number, n = training_groups(rng, parameter_bytes), {}, 0
  for _, g in ipairs(groups) do
    local rack = rng:below(#groups)
    if not number[rack] then n = n + 1; number[rack] = n end
    g.rack = number[rack]
  end
  local between = uniform(#groups, FAR)
  for i, a in ipairs(groups) do
    for j, b in ipairs(groups) do
      if a.rack == b.rack then between[i][j] = NEAR end
    end
  end
  return groups, between
end

-- Groups are added until there are exactly 8 GPUs; all over again when there are more.
local function test_groups(rng, inside)
  local groups = {}
  while count_of(groups) ~= 8 do
    local card = draw(rng, CARDS)
    groups[#groups + 1] = { card, draw(rng, TEST_COUNTS), MEMORY[card], inside }
    if count_of(groups) > 8 then groups = {} end
  end
  return groups
end

local function test(rng)
  local inside, outside = draw(rng, INSIDE), draw(rng, { FAR, NEAR })
  local groups = test_groups(rng, inside)
  return groups, uniform(#groups, outside)
end

-- Two to six groups of one to four, bandwidths in MB/s of a wide range: a cluster of the test
-- generator hardly ever comes up.
local function mixed(rng)
  local inside, outside, groups = from_range(rng, 3000, 25000), from_range(rng, 1500, 8000), {}
  for i = 1, 1 + rng:below(5) do
    local card = draw(rng, CARDS)
    groups[i] = { card, draw(rng, TEST_COUNTS), MEMORY[card], inside }
  end
  return groups, uniform(#groups, outside)
end

local GENERATORS = { training = training, test = test, mixed = mixed }
local KINDS = { training = 1, test = 2, mixed = 3 }

declare("random", {
  { key = "kind", type = "choice", default = "training", text = "which generator", choices = {
    { name = "training", text = "As the study trains." },
    { name = "test", text = "As it tests: exactly 8 GPUs." },
    { name = "mixed",
      text = "Two to six groups of one to four GPUs, bandwidths from a range." } } },
  { key = "seed", type = "whole", default = "0", high = 2 ^ 53, text = "of the draws" },
  { key = "parameter_bytes", type = "number", default = "none", above = true,
    text = "kind training: stops earlier, once the memory is twice this" },
})

--- A random cluster, as the study trains ("training") or tests ("test": exactly 8 GPUs) on them;
-- "mixed" is neither: two to six groups of one to four GPUs, bandwidths from a range. Departs from
-- the code: the stop that depends on the model's size is made only where `parameter_bytes` gives
-- that.
-- @tparam table o as declared above
-- @treturn topology
-- @usage t = berth.deploy.clusters.random { kind = "test", seed = 7 }
function clusters.random(o)
  local fn = "berth.deploy.clusters.random"
  o = options.check(fn, o, "deploy.clusters.random")
  local kind = o.kind or "training"
  options.refuse(not KINDS[kind], '%s: kind: %s is none of: training, test, mixed', fn,
    tostring(kind))
  if o.parameter_bytes ~= nil then
    positive(fn, "parameter_bytes", o.parameter_bytes)
    if kind ~= "training" then options.fail('%s: parameter_bytes: is for kind = "training"', fn) end
  end
  local rng = core.rng(o.seed or 0, KINDS[kind])
  local groups, rows = GENERATORS[kind](rng, o.parameter_bytes)
  return cluster(fn, groups, rows, o)
end

--- Names of all, in a fixed order: berth.deploy.clusters[name](options).
-- @treturn table array of strings
function clusters.list()
  return { "testbed", "six_gpu", "sfb_pair", "sfb_trio", "simulator_check_pair", "random" }
end

return clusters
