-- Can a small graph network learn the longest path of a graph? Its inputs are op times and edges
-- only. Question: how large is its error on unseen graphs, compared with that of the mean?
local berth = require "berth"
local nn = berth.nn

-- A random graph: op times of 1 to 9 s, edges to later ops.
local function add_graph(rng, batch)
  local n, first, ops, edges = 6 + rng:below(8), #batch.times, {}, {}
  for i = 1, n do
    ops[i] = { name = "op" .. i, seconds = rng:below(9) }
    batch.times[first + i] = { ops[i].seconds / 9 }
    local came = 0
    for j = math.max(1, i - 3), i - 1 do
      if rng:uniform() < 0.5 then
        came, edges[#edges + 1], batch.from[#batch.from + 1] = came + 1, { j, i, 0 }, first + j
      end
    end
    batch.coming[first + i] = came
  end
  local _, longest = assert(berth.graph { ops = ops, edges = edges }):critical_path()
  batch.ops[#batch.ops + 1], batch.longest[#batch.longest + 1] = n, { longest / 40 }
end

-- Many graphs as one, without edges between them.
local function graphs(seed, count)
  local rng, b = berth.rng(seed), { times = {}, from = {}, coming = {}, ops = {}, longest = {} }
  for _ = 1, count do add_graph(rng, b) end
  return { x = nn.array(b.times), from = nn.index(b.from), into = nn.segments(b.coming), ops = nn.segments(b.ops),
    y = nn.array(b.longest) }
end

local params = nn.parameters { seed = 1 }
local start = nn.linear(params, "start", 1, 16, { activation = "relu" })
local update = nn.mlp(params, "update", { 33, 16, 16 }, { last = "relu" })
local read = nn.linear(params, "read", 16, 1)

-- Every op gets the maximum of its producers' messages, eight times; the graph is the maximum of
-- its ops.
local function network(g)
  local h = start(g.x)
  for _ = 1, 8 do h = update(nn.concat({ g.x, h, h:gather(g.from):segment_max(g.into) }, 2)) end
  return read(h:segment_max(g.ops))
end

local seen, unseen = graphs(1, 60), graphs(2, 60)
local adam, tape, rate = nn.adam(params, { clip = 1 }), nn.tape(), nn.schedule.cosine(5e-3, 1e-4, 300)
for step = 0, 299 do
  tape:backward(tape:record(function() return nn.mse(network(seen), seen.y) end))
  adam:step(rate(step))
end

local function off(guess, g) return 100 * ((guess - g.y):abs():sum():item() / g.y:sum():item()) end
print(params)
print(("the mean: %.0f %% off"):format(off(seen.y:mean(), unseen)))
print(("network: %.0f %% off on graphs it has seen"):format(off(network(seen), seen)))
print(("network: %.0f %% off on others"):format(off(network(unseen), unseen)))
