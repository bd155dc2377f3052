-- Arrays and training (through BLAS: plain numbers to 5 digits), the assignment environment, agents.
local berth = require "berth"
local graphs = require "graphs"
local nn = berth.nn

local function sums(a) return { (a + 1):square():sum():item(), a:square():sum():item(), a:abs():max():item() } end

local function operations(add)
  local rng = berth.rng(1)
  local a, b = nn.normal(rng, { 6, 8 }), nn.normal(rng, { 8, 5 })
  local c, bias = nn.normal(rng, { 6, 8 }), nn.normal(rng, { 5 })
  local index, segments = nn.index { 3, 1, 0, 6, 2 }, nn.segments { 2, 0, 3, 1 }
  local cases = {
    matmul = function() return a:matmul(b) end, linear = function() return a:linear(b, bias, "tanh") end,
    transposed = function() return a:matmul(c, { transpose_b = true }) end, softmax = function() return a:softmax() end,
    log_softmax = function() return a:log_softmax() end, gelu = function() return a:gelu() end,
      softplus = function() return a:softplus() end,
    sigmoid = function() return a:sigmoid() end, log = function() return a:abs():log(0.01) end,
      sqrt = function() return a:abs():sqrt() end,
    broadcast = function() return a * c + 2 - c / 3 end, gather = function() return a:gather(index) end,
    scatter = function() return a:gather(nn.index { 1, 2, 3, 4, 5 }):scatter(index, 7) end,
    segment_sum = function() return a:segment_sum(segments) end, segment_max = function() return a:segment_max(segments) end,
    segment_mean = function() return a:segment_mean(segments) end,
      segment_softmax = function() return a:segment_softmax(segments) end,
    zscore = function() return a:zscore() end, concat = function() return nn.concat({ a, c }, 2):slice(2, 3, 9):transpose() end,
    attention = function() return nn.attention(a, c, c, 2) end, mean = function() return a:mean(1) end,
      max = function() return a:max(2) end,
    path_sum = function() return a:path_sum(nn.index { 2, 3, 0, 5, 6, 0 }) end,
    grouped = function() return a:grouped_matmul(segments, nn.normal(berth.rng(4), { 4, 8, 3 })) end,
    gru = function()
      local r = berth.rng(2)
      return nn.gru(a, c, nn.normal(r, { 8, 24 }), nn.normal(r, { 8, 24 }), nn.normal(r, { 24 }), nn.normal(r, { 24 }))
    end,
  }
  local names = {}
  for name in pairs(cases) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do add("~nn " .. name, function() return sums(cases[name]()) end, "%.5g") end
  add("~nn loss", function()
    return { nn.mse(a, c):item(), nn.huber(a, c, 0.5):item(), nn.cross_entropy(a, nn.index { 1, 2, 3, 4, 5, 6 }):item() }
  end, "%.5g")
  for _, optimiser in ipairs { "plain", "decay" } do
    add("~nn training " .. optimiser, function()
      local p = nn.parameters { seed = 1 }
      local f = nn.mlp(p, "f", { 8, 12, 5 }, { activation = "tanh" })
      local norm = nn.norm(p, "n", 5)
      local adam = nn.adam(p, { clip = 1, decay = optimiser == "decay" and 0.01 or 0 })
      local tape, rate, y = nn.tape(), nn.schedule.cosine(1e-2, 1e-3, 20), a:matmul(b):tanh()
      for step = 0, 19 do
        tape:backward(tape:record(function() return nn.mse(norm(f(a)), y) end))
        adam:step(rate(step))
      end
      return { p.size, nn.mse(norm(f(a)), y):item() }
    end, "%.4g")
  end
end

local tasks = { { graphs.cases[2][2], graphs.cases[2][3] },
  { (assert(berth.models.build("einsum", { program = "chain", seed = 1, width = 4096, devices = 2 }))),
    berth.topology.mesh(2, { bandwidth = 1 }) } }

local function assignment(add)
  for i, task in ipairs(tasks) do
    for _, options in ipairs { { estimates = "exact" }, { estimates = "load", t_levels = "textbook",
      edge_costs = "code" }, { contract = true } } do
      add(("~assignment %d %s"):format(i, options.estimates or "contract"), function()
        local x = assert(berth.assignment(task[1], task[2], options))
        local e, least = x:episodes(4):start(1, 0), math.huge
        local seen = 0
        while not e.done do
          local ops, segments = e:candidates()
          local op = e:select(ops, segments, e:choose(e:teacher_ops(), segments, { how = "random-ties" }))
          seen = seen + e:devices(op):sum():item()
          e:assign(op, e:choose(e:teacher_devices(op), nil, { how = "random-ties", epsilon = 0.2 }))
        end
        for _, makespan in ipairs(e:simulate()) do least = math.min(least, makespan) end
        return { x.steps, least, ("%.5g"):format(seen), ("%.5g"):format(x:op_features():sum():item()) }
      end)
    end
  end
end

local function agents(add)
  local g, t = tasks[2][1], tasks[2][2]
  for _, x in ipairs {
    { "doppler", { hidden = 8, inner = 8, rounds = 2, seed = 1 } }, { "doppler", { hidden = 8, inner = 8, rounds = 1,
      contract = true, seed = 2 } },
    { "doppler", { hidden = 8, inner = 8, rounds = 1, joint = true, seed = 3 } }, { "placeto", { rounds = 1,
      hidden = 8, seed = 1 } },
    { "gdp", { width = 16, heads = 2, seed = 1 } },
  } do
    local options = x[2]
    local name = ("~agent %s %s"):format(x[1], options.contract and "contract" or options.joint and "joint" or "plain")
    add(name, function()
      if x[1] ~= "doppler" then options.devices = nil end
      local agent = berth.agents[x[1]](options)
      local before = berth.simulate(g, t, assert(berth.place(g, t, agent))).makespan
      local report = assert(agent:train({ { graph = g, topology = t, judge = { preset = "doppler" } } },
        { stages = { { stage = "I", episodes = 16 }, { stage = "II", episodes = 16 } } }))
      return { before, report.episodes, report.calls, report.tasks[1].best, berth.simulate(g, t,
        report.tasks[1].placement).makespan }
    end)
  end
  add("~agent tag trained", function()
    local agent = berth.agents.tag.trained()
    local d = assert(berth.deploy.problem(berth.deploy.models.build("vgg19", { batch = 6 }), berth.deploy.clusters.sfb_trio(),
      { batch = 6, op_groups = 8, physics = "calibrated" }))
    local weights = agent:view(d).everywhere({ 1, 1, 1, 1, 1, 1, 1, 1 })
    local out = {}
    for i = 1, math.min(#weights, 6) do out[i] = ("%.4g"):format(weights[i]) end
    return out
  end)
  add("~agent tag prior", function()
    local agent = berth.agents.tag { size = "tiny", seed = 1 }
    local d = assert(berth.deploy.problem(berth.deploy.models.random { seed = 3, family = "mlp", layers = 4 },
      berth.deploy.clusters.sfb_trio(), { batch = 6, op_groups = 6 }))
    local r = assert(d:search { prior = agent:prior(d), calls = 30, seed = 1 })
    return { r.seconds, r.evaluations }
  end)
end

return function(add)
  operations(add)
  assignment(add)
  agents(add)
end
