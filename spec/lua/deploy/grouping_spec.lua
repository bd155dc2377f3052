-- Op groups of a deployment: base groups put together by METIS.
local berth = require "berth"

local function pair()
  return berth.deploy.clusters.sfb_pair()
end

-- Arrays of ops.
local function groups_of(g, o)
  local d = assert(berth.deploy.problem(g, pair(), { batch = 32, op_groups = o.op_groups, seed = o.seed, grouping = o.grouping }))
  local list = {}
  for k, group in ipairs(d:groups()) do list[k] = group.ops end
  return list
end

local function group_of_ops(groups)
  local of, n = {}, 0
  for k, ops in ipairs(groups) do
    for _, op in ipairs(ops) do
      assert.is_nil(of[op])
      of[op], n = k, n + 1
    end
  end
  return of, n
end

local function total(cost, topology, ops)
  local sum = 0
  for _, op in ipairs(ops) do
    for d = 1, #topology do sum = sum + cost:op(op, d) / #topology end
  end
  return sum
end

-- Every op once, whole base groups, heaviest first.
local function check(g, groups, most)
  local of, n = group_of_ops(groups)
  local base, seen, before = berth.deploy.analyse(g).base, {}, math.huge
  local t = pair()
  local cost = assert(berth.cost(g, t))
  assert.same(#g, n)
  assert.is_true(#groups <= most)
  for op = 1, #g do
    seen[base[op]] = seen[base[op]] or of[op]
    assert.same(seen[base[op]], of[op])
  end
  for _, ops in ipairs(groups) do
    local now = total(cost, t, ops)
    assert.is_true(now <= before * (1 + 1e-12))
    before = now
  end
end

-- Bytes between groups, each tensor once per group that reads it.
local function cut(g, of)
  local sum = 0
  for tensor in g:tensors() do
    local met = { [of[tensor.from]] = true }
    for _, to in ipairs(tensor.to) do
      if not met[of[to]] then sum = sum + tensor.bytes end
      met[of[to]] = true
    end
  end
  return sum
end

describe("op groups", function()
  for _, name in ipairs { "vgg16", "resnet18", "transformer", "bert-base" } do
    it("hold whole base groups, heaviest first: " .. name, function()
      local g = berth.models[name](name == "transformer" and { layers = 2 } or nil)
      for _, most in ipairs { 60, 40, 7, 1 } do check(g, groups_of(g, { op_groups = most }), most) end
      check(g, groups_of(g, {}), 60)
      check(g, groups_of(g, { grouping = "top-k", op_groups = 20 }), 20)
    end)
  end

  it("are the base groups where there are no more of these", function()
    local g = berth.models.vgg16()
    local base = berth.deploy.analyse(g).counts.base
    assert.is_true(base < 80)
    assert.same(base, #groups_of(g, { op_groups = 80 }))
    assert.same(base, #groups_of(g, { op_groups = base }))
  end)

  it("are the same again, and others with another seed", function()
    local g = berth.models.resnet50()
    local first = groups_of(g, { seed = 1 })
    assert.same(first, groups_of(g, { seed = 1 }))
    assert.is_true(#first >= 50)
    local others = 0
    for seed = 2, 5 do
      local of, now = group_of_ops(first), group_of_ops(groups_of(g, { seed = seed }))
      for op = 1, #g do
        if of[op] ~= now[op] then others = others + 1 end
      end
    end
    assert.is_true(others > 0)
  end)

  it("cut less than runs of base groups of the same number would", function()
    local g = berth.models["bert-base"]()
    local of = group_of_ops(groups_of(g, { op_groups = 40 }))
    local base, run = berth.deploy.analyse(g), {}
    for op = 1, #g do run[op] = math.floor((base.base[op] - 1) * 40 / base.counts.base) end
    assert.is_true(cut(g, of) < 0.8 * cut(g, run))
  end)
end)
