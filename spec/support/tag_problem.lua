-- Small training graphs for deployment with flags on tensors, and handles on the results.
local berth = require "berth"
local random_graph = require "support.random_graph"

local tag_problem = {}

--- One layer: 1 input, 2 forward, 3 gradient of the weights, 4 update. x goes to 2 and 3, y from 2
-- to 3, the gradient to 4.
--- @param o forward, backward, update (s); x, y, gradient (bytes)
function tag_problem.layer(o)
  return assert(berth.graph {
    ops = { { kind = "Placeholder", seconds = 0 }, { seconds = o.forward },
      { seconds = o.backward, backward = true },
      { seconds = o.update, update = true } },
    tensors = { { from = 1, to = { 2, 3 }, bytes = o.x, batch = true },
      { from = 2, to = 3, bytes = o.y, batch = true },
      { from = 3, to = 4, bytes = o.gradient, gradient = true } },
  })
end

--- Two layers: 1 input, 2 and 3 forward, 4 and 5 backward (of layers 2 and 1), 6 and 7 update (of
-- layers 2 and 1). Tensors: 1 input, 2 activation (2 -> 3, 5), 3 (3 -> 4), 4 gradient of the
-- activation (4 -> 5), 5 and 6 gradients of the weights.
--- @param o forward, backward, update (s, of each layer); activation, back, gradient, gradient2
-- (bytes); grouped: a colocation
---   group for each layer
function tag_problem.two_layers(o)
  local one, two = o.grouped and 1 or nil, o.grouped and 2 or nil
  return assert(berth.graph {
    ops = { { kind = "Placeholder", seconds = 0 }, { seconds = o.forward, group = one },
      { seconds = o.forward, group = two },
      { seconds = o.backward, backward = true, group = two },
      { seconds = o.backward, backward = true, group = one },
      { seconds = o.update, update = true, group = two },
      { seconds = o.update, update = true, group = one } },
    tensors = { { from = 1, to = 2, bytes = 4, batch = true },
      { from = 2, to = { 3, 5 }, bytes = o.activation, batch = true },
      { from = 3, to = 4, bytes = 4, batch = true },
      { from = 4, to = 5, bytes = o.back, batch = true },
      { from = 4, to = 6, bytes = o.gradient2 or o.gradient, gradient = true },
      { from = 5, to = 7, bytes = o.gradient, gradient = true } },
  })
end

--- Number of the action with that option on exactly these devices.
function tag_problem.action(d, devices, option, shares)
  local sets = d:sets()
  for i, action in ipairs(d:actions()) do
    if table.concat(sets[action.set], " ") == table.concat(devices, " ") and action.option == option
      and (not shares or action.shares == shares) then
      return i
    end
  end
  error("no action " .. option .. " on " .. table.concat(devices, " "))
end

--- The same action for every op group.
function tag_problem.uniform(d, devices, option, shares)
  local s = { action = {} }
  for group = 1, #d:groups() do s.action[group] = tag_problem.action(d, devices, option, shares) end
  return s
end

function tag_problem.run(c) return assert(berth.simulate(c.cost, c.placement, c.simulation)) end

--- How many ops of each part there are.
function tag_problem.parts(c)
  local count = {}
  for _, part in ipairs(c.part) do count[part] = (count[part] or 0) + 1 end
  return count
end

--- Bytes that change device by transfers, once for each device that they go to; of one original
-- tensor, or all.
function tag_problem.crossing(c, source)
  local sum, by_device = 0, {}
  for t in c.graph:tensors() do
    local seen = { [c.devices[t.from]] = true }
    for _, to in ipairs(t.to) do
      local device = c.devices[to]
      if not seen[device] and (not source or c.source[t.id] == source) then
        sum = sum + t.bytes
        by_device[device] = (by_device[device] or 0) + t.bytes
      end
      seen[device] = true
    end
  end
  return sum, by_device
end

--- Random chains of layers with forward, backward and update ops, and tensors that skip layers.
function tag_problem.random(seed)
  local below = random_graph.source(seed)
  local layers, batch = 1 + below(4), 4 + below(8)
  local ops, tensors = { { kind = "Placeholder", seconds = 0 } }, {}
  for i = 1, layers do
    ops[1 + i] = { seconds = below(90) * 1e-3, params = below(9) * 1e5,
      group = below(3) == 1 and i or nil }
  end
  local function send(from, to, bytes, flag)
    tensors[#tensors + 1] = { from = from, to = to, bytes = bytes, batch = flag == "batch",
      gradient = flag == "gradient" }
  end
  for i = layers, 1, -1 do
    local backward = #ops + 1
    ops[backward] = { seconds = below(90) * 1e-3, backward = true, twin = 1 + i,
      group = ops[1 + i].group }
    ops[backward + 1] = { seconds = below(9) * 1e-4, update = true, group = ops[1 + i].group }
    if i < layers then send(backward - 2, backward, batch * below(500) * 100, "batch") end
    send(1 + i, i < layers and { 2 + i, backward } or backward, batch * below(500) * 100, "batch")
    send(backward, backward + 1, below(90) * 1e4, "gradient")
    if i > 1 and below(3) == 1 then
      send(below(i - 1) + 1, 1 + i, batch * below(500) * 100, "batch")
    end
  end
  send(1, 2, batch * 100, "batch")
  return assert(berth.graph { ops = ops, tensors = tensors }), batch, layers
end

--- @param memory of each device, bytes; nil: no limit
function tag_problem.topology(seed, memory)
  local below = random_graph.source(seed + 1000)
  local devices, links, n = {}, {}, 1 + below(3)
  for i = 1, n do
    devices[i] = { name = "g" .. i, speed = below(3), memory = memory, memory_bandwidth = 4e9,
      machine = below(2) }
    for k = 1, i - 1 do
      links[#links + 1] = { "g" .. k, "g" .. i, bandwidth = below(20) * 1e8, latency = 12e-6 }
    end
  end
  return assert(berth.topology { devices = devices, links = links })
end

--- A random legal strategy. @param repeats also marks some gradient ops of op groups under
-- AllReduce as repeated
function tag_problem.strategy(d, seed, repeats)
  local below = random_graph.source(seed + 5000)
  local s, actions, group_of = { action = {}, duplicate = {} }, d:actions(), d:group_of()
  for group = 1, #d:groups() do
    local legal = d:legal(group)
    s.action[group] = legal[below(#legal)]
  end
  for op in d.graph:ops() do
    local option = actions[s.action[group_of[op.id]]].option
    if repeats and op.backward and option == "allreduce" and below(2) == 1 then
      table.insert(s.duplicate, op.id)
    end
  end
  return s
end

return tag_problem
