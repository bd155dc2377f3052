-- TAG's network: sizes, arithmetic beside independent loops, gradients, symmetry.
local berth = require "berth"
local nn = berth.nn
local choices = require "berth.agents.tag.choices"
local network = require "berth.agents.tag.network"
local sizes = require "berth.agents.tag.sizes"
local tables = require "support.tag_tables"
local view = require "berth.agents.tag.view"

local little = { nodes = 4, edges = 3, heads = 2, layers = 2, costs = true, seed = 3 }

local function forward(net, problem, list, cases)
  local v = view.new(problem, list)
  return net:decode(net:encode(v), v,
    choices.new(problem, cases, v.copies, v.op_groups, net.sizes.costs))
end

-- Weights that are nowhere zero or one.
local function shaken(o)
  local net, rng = network.new(o), berth.rng(7)
  local flat = net.params:flat "values"
  net.params:set_flat("values", flat + nn.normal(rng, flat.shape):scale(0.2))
  return net
end

-- ---- loops ----------------------------------------------------------------

local function linear(p, name, x, fn)
  local w, b, out = p[name .. ".weight"]:totable(), p[name .. ".bias"]:totable(), {}
  for j = 1, #b do
    local sum = b[j]
    for i = 1, #x do sum = sum + x[i] * w[i][j] end
    out[j] = fn and fn(sum) or sum
  end
  return out
end

local function tanh(x) return 1 - 2 / (math.exp(2 * x) + 1) end

local function norm(p, name, x)
  local mean, square = 0, 0
  for i = 1, #x do mean = mean + x[i] / #x end
  for i = 1, #x do square = square + (x[i] - mean) ^ 2 / #x end
  local gain, bias, out = p[name .. ".gain"]:totable(), p[name .. ".bias"]:totable(), {}
  for i = 1, #x do out[i] = (x[i] - mean) / math.sqrt(square + 1e-5) * gain[i] + bias[i] end
  return out
end

local function join(...)
  local out = {}
  for _, part in ipairs { ... } do
    for i = 1, #part do out[#out + 1] = part[i] end
  end
  return out
end

local function product(x, w)
  local out = {}
  for j = 1, #w[1] do
    out[j] = 0
    for i = 1, #x do out[j] = out[j] + x[i] * w[i][j] end
  end
  return out
end

local function softmax(x)
  local out, sum = {}, 0
  for i = 1, #x do sum = sum + math.exp(x[i]) end
  for i = 1, #x do out[i] = math.exp(x[i]) / sum end
  return out
end

-- What node `at` receives along edges { from =, to =, x = }, one head after the other: W [h|e], as
-- it is written.
local function attend(p, name, o, sources, targets, at, edges)
  local w = p[name .. ".source"]:totable()
  for _, row in ipairs(p[name .. ".edge"]:totable()) do w[#w + 1] = row end
  local left, right = p[name .. ".left"]:totable(), p[name .. ".right"]:totable()
  local asked, out, coming = norm(p, name .. ".norm_target",
    product(targets[at], p[name .. ".target"]:totable())), {}, {}
  for _, e in ipairs(edges) do
    if e.to == at then coming[#coming + 1] = product(join(sources[e.from], e.x), w) end
  end
  for k = 0, o.heads - 1 do
    local logits = {}
    for i, message in ipairs(coming) do
      local sum = 0
      for j = k * o.nodes + 1, (k + 1) * o.nodes do
        sum = sum + left[j] * message[j] + right[j] * asked[j]
      end
      logits[i] = sum > 0 and sum or 0.2 * sum
    end
    local weights = softmax(logits)
    for j = k * o.nodes + 1, (k + 1) * o.nodes do
      out[j] = 0
      for i, message in ipairs(coming) do out[j] = out[j] + weights[i] * message[j] end
    end
  end
  return norm(p, name .. ".norm", out)
end

local function edge_list(p, name, from, to, raw)
  local out = {}
  from, to, raw = from:totable(), to:totable(), raw:totable()
  for i = 1, #from do
    out[i] = { from = from[i], to = to[i],
      x = norm(p, name .. ".norm", linear(p, name, raw[i], tanh)) }
  end
  return out
end

local function rows(p, name, raw)
  local out = {}
  for i, x in ipairs(raw:totable()) do
    out[i] = norm(p, name .. ".norm", linear(p, name, x, tanh))
  end
  return out
end

local incoming = { ops = { { "prev", "ops" }, { "succ", "ops" }, { "serve", "devices" } },
  devices = { { "link", "devices" }, { "place", "ops" } } }

local function next_layer(p, o, name, x, edges, fn)
  local out = { ops = {}, devices = {} }
  for _, where in ipairs { "ops", "devices" } do
    for at = 1, #x[where] do
      local mean = {}
      for _, kind in ipairs(incoming[where]) do
        local sums = attend(p, name .. "." .. kind[1], o, x[kind[2]], x[where], at, edges[kind[1]])
        for j = 1, #sums do mean[j] = (mean[j] or 0) + sums[j] / #incoming[where] end
      end
      local change, sum = linear(p, name .. "." .. where, mean, fn), {}
      for j = 1, #change do sum[j] = x[where][at][j] + change[j] end
      out[where][at] = sum
    end
  end
  return out
end

local function encode_by_loops(net, f)
  local p, o = net.params, net.sizes
  local x = { ops = rows(p, "ops", f.op), devices = rows(p, "devices", f.device) }
  local edges = { link = edge_list(p, "link", f.link_from, f.link_to, f.link),
    prev = edge_list(p, "prev", f.edge_to, f.edge_from, f.edge),
    succ = edge_list(p, "succ", f.edge_from, f.edge_to, f.edge),
    place = edge_list(p, "place", f.place_op, f.place_device, f.place),
    serve = edge_list(p, "serve", f.place_device, f.place_op, f.place) }
  for i = 1, o.layers do
    x = next_layer(p, o, "layer" .. i, x, edges, i < o.layers and tanh or nil)
  end
  return x
end

local option = { ps = 1, allreduce = 2, split = 3 }

local function decision_of(problem, one, a, best, with_costs)
  local action, out = problem.actions[a], { 0, 0, 0, 0, one.group and 0 or 1 }
  out[option[action.option]], out[4] = 1, action.shares == "speed" and 1 or 0
  if not with_costs then return out end
  local votes = 0
  for _, other in ipairs(one.action) do votes = votes + (other == a and 1 or 0) end
  local present = one.group and one.action[one.group] == a and 1 or 0
  return join(out, { math.log(one.costs[a] / best), (one.costs[a] - best) / one.unit, present,
    #problem.sets[action.set] / #problem.device_group, votes / #one.action })
end

-- Of the op group in question; of all: the mean, which the network has a say about if it reads
-- local costs.
local function op_vector(net, x, group)
  if group then return x.ops[group] end
  local mean = {}
  for _, one in ipairs(x.ops) do
    for j = 1, #one do mean[j] = (mean[j] or 0) + one[j] / #x.ops end
  end
  return net.sizes.costs and linear(net.params, "decoder.all", mean, tanh) or mean
end

local function set_vector(p, problem, x, set)
  local sum = {}
  for d = 1, #x.devices do
    local count = 0
    for _, device in ipairs(problem.sets[set]) do
      count = count + (problem.device_group[device] == d and 1 or 0)
    end
    local sums = join(x.devices[d], { count / problem.device_sizes[d] })
    local y = linear(p, "decoder.set", linear(p, "decoder.device", sums, tanh), tanh)
    for j = 1, #y do sum[j] = (sum[j] or 0) + y[j] / #x.devices end
  end
  return sum
end

local function decode_by_loops(net, problem, x, one)
  local p, logits, best = net.params, {}, math.huge
  for _, cost in ipairs(one.costs) do best = math.min(best, cost) end
  for a, action in ipairs(problem.actions) do
    if one.costs[a] < math.huge then
      local sums = decision_of(problem, one, a, best, net.sizes.costs)
      local joint = join(set_vector(p, problem, x, action.set), op_vector(net, x, one.group), sums)
      local y = linear(p, "decoder.score", linear(p, "decoder.joint", joint, tanh))[1]
      for i = 1, net.sizes.costs and 5 or 0 do
        y = y + sums[5 + i] * p["decoder.straight"]:get(i, 1)
      end
      logits[#logits + 1] = y
    end
  end
  local out = softmax(logits)
  for i = 1, #out do out[i] = math.log(out[i]) end
  return out
end

-- ---- what it must be ------------------------------------------------------

describe("TAG's network", function()
  it("has the published number of parameters, and 0.92 million at the small size", function()
    assert.equal("14.29", ("%.2f"):format(network.new(sizes.presets.published).params.size / 1e6))
    assert.equal("0.92", ("%.2f"):format(network.new(sizes.presets.small).params.size / 1e6))
  end)

  for _, with_costs in ipairs { true, false } do
    it("computes what loops compute, local costs " .. tostring(with_costs), function()
      local o = { nodes = 4, edges = 3, heads = 2, layers = 2, costs = with_costs, seed = 3 }
      local net, rng, problem = shaken(o), berth.rng(1), tables.problem(3)
      local f, cases = tables.features(rng, 4, 3), tables.cases(rng, problem, 4)
      -- one action for all
      cases[#cases + 1] = { copy = 1, action = cases[1].action, costs = cases[2].costs, unit = 3 }
      local got, at, x = forward(net, problem, { f }, cases):totable(), 0, encode_by_loops(net, f)
      for _, one in ipairs(cases) do
        for _, wanted in ipairs(decode_by_loops(net, problem, x, one)) do
          at = at + 1
          assert.near(wanted, got[at], 1e-4)
        end
      end
      assert.equal(#got, at)
    end)
  end

  it("answers a strategy alike alone and among others", function()
    local net, rng, problem = shaken(little), berth.rng(2), tables.problem(2)
    local list, cases, alone = {}, {}, {}
    for copy = 1, 3 do
      list[copy] = tables.features(rng, 5, 2)
      for _, one in ipairs(tables.cases(rng, problem, 5, copy)) do cases[#cases + 1] = one end
      cases[#cases + 1] = { copy = copy, action = cases[#cases].action, costs = cases[#cases].costs,
        unit = 3 }
    end
    local together = forward(net, problem, list, cases):totable()
    for copy = 1, 3 do
      local own = {}
      for i = 1, 6 do
        local one = cases[(copy - 1) * 6 + i]
        own[i] = { copy = 1, group = one.group, action = one.action, costs = one.costs,
          unit = one.unit }
      end
      for _, y in ipairs(forward(net, problem, { list[copy] }, own):totable()) do
        alone[#alone + 1] = y
      end
    end
    for i = 1, #alone do assert.near(alone[i], together[i], 1e-5) end
  end)

  it("has gradients that agree with finite differences", function()
    local net, rng, problem = shaken(little), berth.rng(4), tables.problem(2)
    local f, cases = tables.features(rng, 3, 2), tables.cases(rng, problem, 3)
    local function loss() return forward(net, problem, { f }, cases):square():mean() end
    local tape = nn.tape()
    tape:backward(tape:record(loss))
    local gradient, values = net.params:flat "gradients", net.params:flat "values"
    for k = 1, net.params.size, 17 do
      local x, h = values:get(k), 2e-2
      local function at(y)
        values:set(y, k)
        net.params:set_flat("values", values)
        return loss():item()
      end
      local slope = (8 * (at(x + h / 2) - at(x - h / 2)) - (at(x + h) - at(x - h))) / (6 * h)
      at(x)
      assert.near(slope, gradient:get(k), 0.02 * math.max(0.1, math.abs(slope)), "number " .. k)
    end
  end)
end)

-- ---- symmetry -------------------------------------------------------------

local function renamed(index, to)
  local out = index:totable()
  for i = 1, #out do out[i] = to[out[i]] end
  return nn.index(out)
end

-- Row i of the new table is row old[i].
local function reordered(array, old) return array:gather(nn.index(old)) end

local function inverse(old)
  local out = {}
  for i, k in ipairs(old) do out[k] = i end
  return out
end

describe("order", function()
  it("of op groups does not matter", function()
    local net, rng, problem, old = shaken(little), berth.rng(5), tables.problem(2), { 3, 1, 4, 2 }
    local f, cases, to = tables.features(rng, 4, 2), tables.cases(rng, problem, 4), inverse(old)
    local g, moved = {}, {}
    for key, x in pairs(f) do g[key] = x end
    g.op, g.place_op = reordered(f.op, old), renamed(f.place_op, to)
    g.edge_from, g.edge_to = renamed(f.edge_from, to), renamed(f.edge_to, to)
    for i, one in ipairs(cases) do
      local action = {}
      for k = 1, 4 do action[to[k]] = one.action[k] end
      moved[i] = { copy = 1, group = to[one.group], action = action, costs = one.costs,
        unit = one.unit }
    end
    local first = forward(net, problem, { f }, cases):totable()
    problem.structure, problem.lists = nil, {}
    local second = forward(net, problem, { g }, moved):totable()
    for i = 1, #first do assert.near(first[i], second[i], 1e-5) end
  end)

  it("of device groups does not matter", function()
    local net, rng, problem, old = shaken(little), berth.rng(6), tables.problem(3), { 2, 3, 1 }
    local f, cases, to = tables.features(rng, 4, 3), tables.cases(rng, problem, 4), inverse(old)
    local g, device_group = {}, {}
    for key, x in pairs(f) do g[key] = x end
    g.device, g.link_from, g.link_to = reordered(f.device, old), renamed(f.link_from, to),
      renamed(f.link_to, to)
    g.place_device = renamed(f.place_device, to)
    for d, k in ipairs(problem.device_group) do device_group[d] = to[k] end
    local other = view.problem(problem.sets, problem.actions, device_group)
    local first, second = forward(net, problem, { f }, cases):totable(),
      forward(net, other, { g }, cases):totable()
    for i = 1, #first do assert.near(first[i], second[i], 1e-5) end
  end)
end)
