-- The simulator: links, dispatch, send, memory, order, presets, collectives, noise, details of a result, expansion, executor.
local berth = require "berth"
local graphs = require "graphs"

local function details(r)
  local peaks = {}
  for d = 1, #r.peak_memory do peaks[d] = { r:peak_ops(d), { r:memory_timeline(d) }, r.peak_time[d] } end
  return { r:to_table(), r:slack(), (r:critical_path()), peaks, r.overlap, r.communication, r.exposed, r:trace() }
end

local function figures(r)
  local peak, busy, bytes = 0, 0, 0
  for d = 1, #r.busy do peak, busy = math.max(peak, r.peak_memory[d]), busy + r.busy[d] end
  for k = 1, #r.links do bytes = bytes + r.links[k].bytes end
  return { r.makespan, peak, busy, bytes, r.bound or "-", r.oom and "oom" or "fits" }
end

local function simulated(g, t, p, options)
  return function()
    local r, message, code = berth.simulate(g, t, p, options)
    if not r then return nil, message, code end
    return figures(r), details(r)
  end
end

local function dealt(g, t, step)
  local out = {}
  for i = 1, #g do
    local op = g:op(i)
    out[i] = op.pin or ((op.group or i) * step) % #t + 1
  end
  return out
end

local variations = {
  {}, { links = "channel" }, { links = "duplex" }, { links = "pair" }, { links = "route" }, { links = "fair" },
  { links = "route", reserve = true }, { dispatch = "light-first" },
  { dispatch = "light-class" }, { dispatch = "blevel" }, { dispatch = "lifo" },
  { dispatch = "random", seed = 3 }, { send = "pull" }, { send = "pull", links = "duplex" }, { links = "fair", send = "pull" },
  { memory = "none" }, { memory = "inference", param_multiple = 3 }, { memory = "training" }, { memory = "total" },
  { order = "ready" }, { order = "task", links = "route", reserve = true }, { order = "ready", links = "channel",
    split_windows = true },
  { preempt = true, dispatch = "light-first" }, { preempt = true, dispatch = "blevel", links = "duplex" },
  { quantum = 0.25 }, { noise = 0.2, seed = 5 }, { noise = 0.2, seed = 5, links = "fair" },
  { preset = "doppler" }, { preset = "baechi-tf" }, { preset = "baechi-pt" }, { preset = "tag" },
    { preset = "doppler", links = "duplex" },
}

local function named(options)
  local cells = {}
  for key, value in pairs(options) do cells[#cells + 1] = key .. "=" .. tostring(value) end
  table.sort(cells)
  return #cells > 0 and table.concat(cells, ",") or "default"
end

local function runs(add)
  for k = 1, 3 do
    local name, g, t = graphs.cases[k][1], graphs.cases[k][2], graphs.cases[k][3]
    for _, options in ipairs(variations) do
      if k == 2 or options.links or options.preset or options.memory then
        local own = {}
        for key, value in pairs(options) do own[key] = value end
        if k == 3 and own.quantum then own.quantum = 1e-4 end
        add(("simulate %s %s"):format(name, named(options)), simulated(g, t, dealt(g, t, 1), own))
      end
    end
  end
  local g, t = graphs.cases[2][2], graphs.cases[2][3]
  add("simulate planned", function()
    local p = assert(berth.place(g, t, "heft"))
    local r = assert(berth.simulate(g, t, p, { dispatch = "planned" }))
    return figures(r), details(r)
  end)
  local rank = {}
  for i = 1, #g do rank[i] = (i * 7) % 11 end
  add("simulate static", simulated(g, t, dealt(g, t, 1), { dispatch = "static", rank = rank }))
  add("simulate factors", simulated(g, t, dealt(g, t, 1), { cost = { op_factor = 1.5, transfer_factor = 0.5,
    whole_us = true } }))
  add("simulate functions", simulated(g, t, dealt(g, t, 1), { links = "duplex", cost = {
    op = function(op, device) return op / device end, transfer = function(k, a, b) return k + 0.1 * a + 0.01 * b end } }))
  add("simulate batch", function()
    local many = {}
    for step = 1, 6 do many[step] = dealt(g, t, step) end
    local makespans, peaks, ops = berth.simulate_batch(g, t, many, { threads = 2, links = "duplex" })
    local again = berth.simulator(g, t, { links = "duplex" })
    return makespans, { peaks, ops, again(many[1]), again(many[2]) }
  end)
  add("simulate communication ops", simulated(assert(berth.graph {
    ops = { { seconds = 1 }, { seconds = 3, communication = true }, { seconds = 2 }, { seconds = 1 } },
    edges = { { 1, 2, 0 }, { 1, 3, 40 }, { 2, 4, 30 } } }), graphs.mesh, { 1, 1, 2, 3 }, { links = "duplex" }))
end

local kinds = { "allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "barrier", "parameter-server" }

local function collectives(add)
  local g, t = graphs.reduced(kinds), graphs.mesh
  local p = dealt(g, t, 1)
  for _, links in ipairs { "free", "channel", "duplex", "pair", "route", "fair" } do
    add("collectives " .. links, simulated(g, t, p, { links = links }))
  end
  add("collectives queue", simulated(g, t, p, { collectives = "queue" }))
  add("collectives tag", simulated(g, t, p, { preset = "tag" }))
  add("collectives function", simulated(g, t, p, { cost = { collective = function(k,
    devices) return k + 0.1 * #devices end } }))
  for _, algorithm in ipairs { "ring", "tree", "double-tree", "halving", "hierarchical", "auto", "lines" } do
    add("collectives as " .. algorithm, function()
      local own = { collective_algorithm = algorithm, collective_bandwidth = 1.5 }
      if algorithm == "lines" then own.collective_lines, own.lines_bandwidth = berth.deploy.tag_lines("2.81 GB/s"), 90 end
      local cost, seconds = berth.cost(g, graphs.mixed, own), {}
      for k = 1, #kinds do seconds[k] = { cost:collective(k, { 2, 3, 4 }) } end
      return { seconds[1][1], seconds[4][1] }, seconds
    end)
  end
  for _, algorithm in ipairs { "ring", "tree", "halving", "hierarchical", "direct" } do
    add("expand " .. algorithm, function()
      local wide, devices, origins = berth.expand(g, t, p, { algorithm = algorithm, reduce_rate = 1000, segments = 3 })
      if not wide then return nil, devices, origins end
      local r = assert(berth.simulate(wide, t, devices, { links = "fair" }))
      return { #wide, r.makespan }, { wide, devices, origins }
    end)
  end
  for _, placer in ipairs { "m-etf", "heft", "m-topo" } do
    add("collectives placed by " .. placer, function()
      local q, message, code = berth.place(g, t, placer)
      if not q then return nil, message, code end
      return { q.estimate, berth.simulate(g, t, q).makespan }, q
    end)
  end
end

local function executed(add)
  local g, t = graphs.cases[2][2], graphs.cases[2][3]
  for _, mode in ipairs { "paced", "compute" } do
    add("execute " .. mode, function()
      local ex = assert(berth.executor(g, t, { mode = mode, seconds = 0.01, memory = "256 kB", seed = 3 }))
      local r = assert(ex:run(dealt(g, t, 1)))
      local out = { #r.transfers, r.wrong or "right" }
      local crossed = {}
      for k = 1, #r.transfers do
        local x = r.transfers[k]
        crossed[k] = ("%03.0f %.0f %.0f"):format(x.tensor, x.from, x.to)
      end
      table.sort(crossed)
      ex:close()
      return out, { r.checksums, r.device, crossed, ex.simulation }
    end)
  end
end

return function(add)
  runs(add)
  collectives(add)
  executed(add)
end
