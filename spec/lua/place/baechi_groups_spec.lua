-- Colocation: transforms that make groups or contract them, pipelines with them, adjusters, and groups under every placer.
local berth = require "berth"
local brute = require "support.brute_force"
local random_graph = require "support.random_graph"
local reference = require "support.transform_reference"
local runs = require "support.runs"

local function describe_graph(seed, more)
  local opts = { n = 3 + seed % 28, fan_in = 2 + seed % 3, memory = true, zero = 12 }
  if seed % 2 == 0 then opts.groups = 1 + seed % 6 end
  for k, v in pairs(more or {}) do opts[k] = v end
  return random_graph.describe(seed, opts)
end

local function graph_of(seed, more) return assert(berth.graph(describe_graph(seed, more))) end

local function none(faults, what) assert.equal("", table.concat(faults, "\n"), what) end

-- ---- groups ---------------------------------------------------------------------------------------------------------------

local function same_but_groups(g, h)
  assert.equal(#g, #h)
  for i = 1, #g do
    local a, b = g:op(i), h:op(i)
    a.group, b.group = nil, nil
    assert.same(a, b)
  end
  assert.equal(g.n_tensors, h.n_tensors)
  for k = 1, g.n_tensors do assert.same(g:tensor(k), h:tensor(k)) end
end

-- Parameters and outputs of each set, by its lowest op.
local function bytes_of(g, low)
  local bytes = {}
  for op in g:ops() do bytes[low[op.id]] = (bytes[low[op.id]] or 0) + op.params end
  for tensor in g:tensors() do bytes[low[tensor.from]] = bytes[low[tensor.from]] + tensor.resident end
  return bytes
end

describe("co-placement", function()
  it("without limits puts every op with one consumer to it, as a union-find does", function()
    for seed = 1, 40 do
      local g = graph_of(seed)
      for _, control in ipairs { true, false } do
        local h = assert(g:coplace { control = control })
        none(reference.group_faults(h, reference.coplaced(g, control)), ("seed %d, control %s"):format(seed, tostring(control)))
        same_but_groups(g, h)
      end
    end
  end)

  it("with limits joins no more than they allow, and all that they do", function()
    for seed = 1, 40 do
      local g, max_ops, max_bytes = graph_of(seed), 2 + seed % 4, 300 * (1 + seed % 7)
      local h = assert(g:coplace { max_ops = max_ops, max_bytes = max_bytes })
      local before_low, before = reference.groups_of(g).partition()
      local all = reference.coplaced(g, true)
      local low, size = reference.groups_of(h).partition()
      local bytes, what = bytes_of(g, low), "seed " .. seed
      local function too_large(ops, held) return ops > max_ops or held > max_bytes * (1 + 1e-12) end
      for i = 1, #g do
        assert.equal(low[before_low[i]], low[i], what .. ": a group is torn")
        assert.equal(all.find(low[i]), all.find(i), what .. ": joined without a rule")
        if too_large(size[low[i]], bytes[low[i]]) then
          assert.equal(before[before_low[i]], size[low[i]], what .. ": above a limit")
        end
        local consumers = g:successors(i)
        if #consumers == 1 and low[consumers[1]] ~= low[i] then
          local a, b = low[i], low[consumers[1]]
          assert.is_true(too_large(size[a] + size[b], bytes[a] + bytes[b]), what .. ": an edge was left out")
        end
      end
    end
  end)
end)

describe("names of frameworks", function()
  it("that appear together are one group", function()
    for seed = 1, 40 do
      local g, below, names = graph_of(seed), random_graph.source(seed + 3), {}
      for i = 1, #g do
        names[i] = {}
        for _ = 1, below(4) - 2 do
          local name = "n" .. below(#g)
          if names[i][1] ~= name then table.insert(names[i], name) end
        end
      end
      local h = assert(g:colocate { names = names })
      none(reference.group_faults(h, reference.colocated(g, names)), "seed " .. seed)
      same_but_groups(g, h)
    end
  end)
end)

-- ---- contraction ----------------------------------------------------------------------------------------------------------

local function one_group(a, b) return a.group ~= nil and a.group == b.group end
local function not_of_two_groups(a, b) return not (a.group and b.group and a.group ~= b.group) end

describe("fusion", function()
  for _, scope in ipairs { "groups", "all" } do
    for _, check in ipairs { "exact", "cheap" } do
      it(("loses nothing, closes no cycle: scope %s, check %s"):format(scope, check), function()
        local fused = 0
        for seed = 1, 30 do
          local g = graph_of(seed)
          if seed % 3 > 0 then g = assert(g:coplace { max_ops = 2 + seed % 9 }) end
          for _, inner in ipairs { "keep", "drop" } do
            local h, map = assert(g:fuse { scope = scope, check = check, inner = inner })
            none(reference.contraction_faults(g, h, map, inner == "keep"), ("seed %d, %s"):format(seed, inner))
            fused = fused + #g - #h
            if check == "exact" then
              local left = reference.contractible(h, scope == "groups" and one_group or not_of_two_groups)
              none(left, ("seed %d: could be one"):format(seed))
            end
          end
        end
        assert.is_true(fused > 20, "hardly anything was fused")
      end)
    end
  end

  it("keeps to its limits", function()
    for seed = 1, 30 do
      local g, max_ops, max_bytes = graph_of(seed), 2 + seed % 3, 500 * (1 + seed % 4)
      local h, map = assert(g:fuse { scope = "all", max_ops = max_ops, max_bytes = max_bytes })
      none(reference.contraction_faults(g, h, map, true), "seed " .. seed)
      local low, count, first = {}, {}, {}
      for i = 1, #g do
        first[map[i]] = first[map[i]] or i
        low[i] = first[map[i]]
        count[low[i]] = (count[low[i]] or 0) + 1
      end
      local bytes = bytes_of(g, low)
      for i, n in pairs(count) do
        assert.is_true(n == 1 or (n <= max_ops and bytes[i] <= max_bytes * (1 + 1e-12)), "seed " .. seed)
      end
    end
  end)

  it("of chains leaves none", function()
    for seed = 1, 40 do
      local g = graph_of(seed)
      local h, map = assert(g:chains())
      none(reference.contraction_faults(g, h, map, true), "seed " .. seed)
      none(reference.contractible(h, function(a, b)
        return not_of_two_groups(a, b) and #h:successors(a.id) == 1 and #h:predecessors(b.id) == 1
      end), ("seed %d: could be one"):format(seed))
    end
  end)
end)

-- ---- pipelines ------------------------------------------------------------------------------------------------------------

local function check_groups(description, placement, what)
  local home = {}
  for i, op in ipairs(description.ops) do
    if op.group then
      home[op.group] = home[op.group] or placement[i]
      assert.equal(home[op.group], placement[i], what .. ": group " .. op.group)
    end
  end
end

local function as_description(g)
  local description = { ops = {}, tensors = {} }
  for op in g:ops() do description.ops[op.id] = op end
  for tensor in g:tensors() do description.tensors[tensor.id] = tensor end
  return description
end

local lines = {
  { "coplace" }, { "fuse" }, { "coplace", "fuse" }, { "chains" }, { "coplace", "fuse", "chains" },
  { { "coplace", { max_ops = 4 } }, { "fuse", { scope = "all", max_ops = 5 } } },
}

local function title(line)
  local names = {}
  for i, stage in ipairs(line) do names[i] = type(stage) == "table" and stage[1] or stage end
  return table.concat(names, ", ")
end

local function pipeline_of(line, placer)
  local stages = {}
  for i, stage in ipairs(line) do stages[i] = stage end
  stages[#stages + 1] = placer
  return berth.pipeline(stages)
end

describe("a pipeline", function()
  for _, line in ipairs(lines) do
    it(("with %s keeps groups and tells the step time of the original graph"):format(title(line)), function()
      for seed = 1, 6 do
        local description = describe_graph(seed, { n = 24, groups = 4 })
        local g, t = assert(berth.graph(description)), berth.topology.mesh(3, { bandwidth = 100, latency = 0.2 })
        for _, placer in ipairs { "m-etf", "m-sct", "m-topo", "heft", "metis", "single" } do
          local p = assert(berth.place(g, t, pipeline_of(line, placer), { links = "duplex" }))
          local what = ("%s, seed %d"):format(placer, seed)
          assert.equal(#g, #p, what)
          check_groups(description, p, what)
          local makespan = assert(berth.simulate(g, t, p, { links = "duplex" })).makespan
          assert.near(makespan, p.estimate, 1e-12 * makespan, what)
        end
      end
    end)
  end

  it("that fuses groups puts each where its one op goes, and counts the same memory", function()
    for seed = 1, 20 do
      local description = describe_graph(seed, { n = 20, groups = 4 })
      local g, t = assert(berth.graph(description)), berth.topology.mesh(3, { bandwidth = 100 })
      local h, map = assert(g:fuse())
      for _, placer in ipairs { "m-etf", "m-topo" } do
        local small = assert(berth.place(h, t, placer, { memory = "total" }))
        local p = assert(berth.place(g, t, pipeline_of({ "fuse" }, placer), { memory = "total" }))
        for i = 1, #g do assert.equal(small[map[i]], p[i], ("%s, seed %d, op %d"):format(placer, seed, i)) end
        check_groups(description, p, placer)
        local fused, apart = brute.held(as_description(h), small:devices(), 3), brute.held(description, p:devices(), 3)
        for d = 1, 3 do assert.near(apart[d], fused[d], 1e-9 * math.max(1, apart[d]), ("%s, seed %d"):format(placer, seed)) end
      end
    end
  end)

  it("keeps memory on the original graph, or says that it does not", function()
    local kept = 0
    for seed = 1, 20 do
      local description = describe_graph(seed, { n = 18, groups = seed % 3 == 0 and 4 or nil })
      local g, total = assert(berth.graph(description)), 0
      for _, bytes in ipairs(brute.held(description, random_graph.placement(1, #g, 1), 1)) do total = total + bytes end
      local t = berth.topology.mesh(3, { bandwidth = 100, memory = total * (0.5 + seed % 4 * 0.1) })
      for _, policy in ipairs { "inference", "total" } do
        for _, line in ipairs { lines[2], lines[6] } do
          local p, message, code, why = berth.place(g, t, pipeline_of(line, "m-etf"), { memory = policy })
          if p then
            kept = kept + 1
            assert.is_nil(assert(berth.simulate(g, t, p, { memory = policy })).oom, ("%s, seed %d"):format(policy, seed))
          else
            assert.equal("infeasible", code, message)
            assert.is_truthy(why, message)
          end
        end
      end
    end
    assert.is_true(kept >= 40, ("only %d of 80 kept memory"):format(kept))
  end)
end)

describe("forward-only placement", function()
  it("brings every op to its twin's device, and the memory of training with it", function()
    for seed = 1, 16 do
      local forward = graph_of(seed, { n = 6 + seed % 10, groups = false })
      local g, origin = forward:mirror { params = seed % 2 == 0 }
      local h, map = assert(g:forward())
      assert.equal(#forward, #h)
      for i = 1, #g do assert.equal(map[origin[i]], map[i], "seed " .. seed) end
      local t = berth.topology.mesh(3, { bandwidth = 100 })
      for _, placer in ipairs { "m-etf", "m-sct", "m-topo" } do
        local p = assert(berth.place(g, t, berth.pipeline { "forward", placer }))
        for op in g:ops() do assert.equal(p[op.id], p[op.twin], ("%s, seed %d"):format(placer, seed)) end
      end
      local held, carried = 0, 0
      for op in g:ops() do held = held + op.params end
      for op in h:ops() do carried = carried + op.params end
      assert.near(held, carried, 1e-9 * math.max(1, held))
    end
  end)
end)

-- ---- adjusters ------------------------------------------------------------------------------------------------------------

local function demands(description)
  local demand = {}
  for i, op in ipairs(description.ops) do demand[i] = op.params + op.workspace end
  for _, tensor in ipairs(description.tensors) do
    demand[tensor.from] = demand[tensor.from] + (tensor.resident or tensor.bytes)
  end
  return demand
end

-- The device with the largest sum of weights of the members on it; ties: the one of the lowest member, or the lowest device.
local function heaviest(members, devices, weight, by_device)
  local sum, best = {}, nil
  for _, i in ipairs(members) do sum[devices[i]] = (sum[devices[i]] or 0) + weight(i) end
  local candidates = {}
  for _, i in ipairs(members) do candidates[#candidates + 1] = devices[i] end
  if by_device then table.sort(candidates) end
  for _, d in ipairs(candidates) do
    if not best or sum[d] > sum[best] * (1 + 1e-12) then best = d end
  end
  return best
end
local function of_largest(members, devices, weight)
  local best
  for _, i in ipairs(members) do
    if not best or weight(i) > weight(best) then best = i end
  end
  return devices[best]
end

local function wanted(by, description, members, devices)
  local demand = demands(description)
  local function bytes(i) return demand[i] end
  local function seconds(i) return description.ops[i].seconds end
  if by == "random" then return devices[members[1]] end
  if by == "memory" then return of_largest(members, devices, bytes) end
  if by == "time" then return of_largest(members, devices, seconds) end
  if by == "frequent" then return heaviest(members, devices, function() return 1 end, true) end
  if by == "memory_sum" then return heaviest(members, devices, bytes) end
  return heaviest(members, devices, seconds)
end

describe("adjusting", function()
  for _, by in ipairs { "random", "memory", "time", "frequent", "memory_sum", "time_sum" } do
    it(("by %s puts each group on the device that the rule says, and moves nothing else"):format(by), function()
      for seed = 1, 30 do
        local description = describe_graph(seed, { groups = 1 + seed % 5 })
        local g, t = assert(berth.graph(description)), berth.topology.mesh(3, { bandwidth = 100 })
        local devices, members = random_graph.placement(seed, #g, 3), {}
        local p = assert(berth.adjust(g, t, devices, { by = by }))
        for i, op in ipairs(description.ops) do
          if op.group then
            members[op.group] = members[op.group] or {}
            table.insert(members[op.group], i)
          else
            assert.equal(devices[i], p[i], "an op without group was moved")
          end
        end
        for group, list in pairs(members) do
          local want = wanted(by, description, list, devices)
          for _, i in ipairs(list) do assert.equal(want, p[i], ("seed %d, group %d"):format(seed, group)) end
        end
      end
    end)

    it(("by %s finds room where it is asked to, and never passes a limit"):format(by), function()
      local fitted = 0
      for seed = 1, 20 do
        local description = describe_graph(seed, { n = 20, groups = 5 })
        local g = assert(berth.graph(description))
        local all = brute.held(description, random_graph.placement(1, #g, 1), 1)[1]
        local t = berth.topology.mesh(3, { bandwidth = 100, memory = all * (0.45 + seed % 4 * 0.15) })
        local split = random_graph.placement(seed, #g, 3)
        local p, message, code = berth.adjust(g, t, split, { by = by, fit = true, memory = "total" })
        if p then
          fitted = fitted + 1
          check_groups(description, p, "seed " .. seed)
          for d, bytes in ipairs(brute.held(description, p:devices(), 3)) do
            assert.is_true(bytes <= t:device(d).memory * (1 + 1e-12), "seed " .. seed)
          end
        else
          assert.equal("infeasible", code, message)
        end
      end
      assert.is_true(fitted >= 8, ("fitted only %d of 20"):format(fitted))
    end)
  end
end)

-- ---- every placer ---------------------------------------------------------------------------------------------------------

describe("colocation groups", function()
  local members = { { "m-sct", { favourites = "through" } }, { "m-sct", { favourites = "none", ties = "topological" } } }
  for _, name in ipairs(berth.placers()) do
    if name ~= "policy" then
      members[#members + 1] = { name, {} }
      for _, variant in ipairs(berth.placers(name)) do members[#members + 1] = { name, { variant = variant } } end
    end
  end
  it("stay together under every placer and variant, memory ample or tight", function()
    local placed = 0
    for seed = 1, 12 do
      local description = describe_graph(seed, { n = 25, groups = 6 })
      local g = assert(berth.graph(description))
      local all = brute.held(description, random_graph.placement(1, #g, 1), 1)[1]
      for _, share in ipairs { math.huge, 0.8 } do
        local t = berth.topology.mesh(3, { bandwidth = 100, memory = share * all })
        for _, member in ipairs(members) do
          local skipped = member[1] == "exact" and seed > runs(3, 12) -- it takes seconds for the others
          local p = not skipped and berth.place(g, t, member[1], member[2])
          if p then
            placed = placed + 1
            check_groups(description, p, ("%s %s, seed %d"):format(member[1], member[2].variant or "", seed))
          else
            assert.is_true(skipped or share < math.huge)
          end
        end
      end
    end
    assert.is_true(placed >= 0.75 * 24 * #members, "hardly anything was placed")
  end)
end)
