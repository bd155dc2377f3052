-- Graphs and their transforms, topologies, costs and fits, the model zoo.
local berth = require "berth"
local graphs = require "graphs"

local transforms = {
  { "coplace", {} }, { "coplace", { max_ops = 3 } }, { "coplace", { max_bytes = 800 } }, { "coplace",
    { max_seconds = 12, control = false } },
  { "fuse", {} }, { "fuse", { scope = "all", max_ops = 4 } }, { "fuse", { scope = "all", check = "cheap", max_ops = 4 } },
  { "fuse", { scope = "all", inner = "drop", max_seconds = 9 } }, { "fuse", { scope = "all", split_twins = true,
    max_ops = 3 } },
  { "chains", {} }, { "chains", { max_ops = 2, inner = "drop" } }, { "forward", {} }, { "forward", { memory = "forward" } },
  { "colocate", { names = function(op) return op % 3 == 0 and { "a" .. op % 4, "b" .. op % 5 } or nil end } },
  { "mirror", { ratio = 1.5, join = "last", params = true } }, { "mirror", { gradients = "output", activations = false } },
}

local function named(options)
  local cells = {}
  for key, value in pairs(options) do cells[#cells + 1] = key .. "=" .. (type(value) == "function" and "f" or tostring(value)) end
  table.sort(cells)
  return table.concat(cells, ",")
end

local function graph_answers(add)
  for _, x in ipairs(transforms) do
    for k = 2, 3 do
      local case = graphs.cases[k]
      if (x[1] ~= "forward" or k == 3) and (x[1] ~= "mirror" or k == 2) then
        add(("%s %s %s"):format(x[1], named(x[2]), case[1]), function()
          local g, map, third = case[2][x[1]](case[2], x[2])
          if not g then return nil, map, third end
          return { #g, g.n_tensors, g.n_groups }, { g, map, third }
        end)
      end
    end
  end
  for k = 1, 3 do
    local g, t = graphs.cases[k][2], graphs.cases[k][3]
    add("levels " .. graphs.cases[k][1], function()
      local cost = berth.cost(g, t)
      local path, seconds = g:critical_path { cost = cost }
      local comps, n = g:components()
      local metas, m = g:meta_ops()
      return { seconds, #path, n, m }, { g:topo_order(), g:b_level { cost = cost }, g:t_level { cost = cost },
        g:slack(), g:depth(), path,
        comps, metas, g:descendants(3), g:ancestors(9), g:reachable(1, #g), { g:layout {} } }
    end)
    add("means " .. graphs.cases[k][1], function()
      local cost = berth.cost(g, t)
      return { cost:rho(), cost:mean_ops()[1], cost:mean_transfers("textbook")[1], cost:mean_transfers("saga")[1] },
        { cost:mean_ops(), cost:min_ops(), cost:mean_transfers "textbook", cost:mean_transfers "saga" }
    end)
  end
  add("graph cycle", function() return berth.graph { ops = { {}, {} }, edges = { { 1, 2, 0 }, { 2, 1, 0 } } } end)
end

local o = { bandwidth = "10 GB/s", latency = "3 us", preset = "A100" }
local shapes = {
  { "mesh", 4, o }, { "ring", 6, o }, { "star", 5, o }, { "pcie_tree", 8, { fan_out = 2, up_bandwidth = "4 GB/s",
    preset = "P100" } },
  { "dgx1", { preset = "V100", pcie_bandwidth = "8 GB/s" } }, { "fat_tree", 4, o }, { "torus", { 3, 4 }, o },
  { "two_level", 2, 3, { between_bandwidth = "1 GB/s", between_latency = "9 us", preset = "V100" } },
}
for _, links in ipairs { "tag", "heterog", "nic", "tree" } do
  shapes[#shapes + 1] = { "groups", { links = links, between = "2 GB/s", groups = {
    { preset = "V100", count = 2, bandwidth = "8 GB/s" }, { preset = "P100", count = 4, bandwidth = "3 GB/s",
      machines = (links == "nic" or links == "tree") and 2 or nil, rack = links == "tree" and 2 or nil } } } }
end

local function topology_answers(add)
  local function routes(t)
    local out, sum = {}, 0
    for a = 1, #t do
      for b = 1, #t do
        if a ~= b then
          out[#out + 1] = { t:route(a, b), { t:path(a, b) } }
          sum = sum + #t:route(a, b)
        end
      end
    end
    return { #t, t.n_links, t.n_nodes, sum }, { out, t }
  end
  for _, x in ipairs(shapes) do
    add(("topology %s%s"):format(x[1], x[1] == "groups" and " " .. x[2].links or ""), function()
      return routes(berth.topology[x[1]](x[2], x[3], x[4]))
    end)
  end
  add("topology mixed", function() return routes(graphs.mixed) end)
  for _, name in ipairs { "testbed", "six_gpu", "sfb_pair", "sfb_trio", "simulator_check_pair" } do
    add("cluster " .. name, function() return routes(berth.deploy.clusters[name]()) end)
  end
  for _, kind in ipairs { "training", "test", "mixed" } do
    add("cluster random " .. kind, function() return routes(berth.deploy.clusters.random { kind = kind, seed = 3 }) end)
  end
  add("device presets", function() return { #berth.device_presets() }, berth.device_presets() end)
end

local function fits(add)
  local rng, bytes, seconds, devices = berth.rng(7), {}, {}, {}
  for k = 10, 28 do
    bytes[#bytes + 1], devices[#devices + 1] = 2 ^ k, 2 + k % 3
    seconds[#seconds + 1] = (4e-6 + 2 ^ k / 12e9) * (1 + 0.05 * rng:uniform())
  end
  for _, relative in ipairs { false, true } do
    add("fit link relative=" .. tostring(relative), function()
      local fit = berth.fit_link(bytes, seconds, { relative = relative })
      return { fit.latency, fit.bandwidth, fit.r2 }
    end)
    add("fit collective relative=" .. tostring(relative), function()
      local fit = berth.fit_collective(bytes, devices, seconds, { relative = relative })
      return { fit.latency, fit.bandwidth, fit.r2 }
    end)
  end
  add("fit lines", function() return berth.fit_lines(bytes, seconds) end)
  add("tag lines", function() return berth.deploy.tag_lines "1.5 GB/s" end)
  add("batch time", function()
    return { berth.deploy.batch_time({ 10, 20 }, { 1, 3 }, 12.5), berth.deploy.batch_time({ 10, 20, 40 }, { 1, 3, 4 },
      70, { whole_us = true }) }
  end)
  add("rng", function()
    local r, list = berth.rng(5, 2), { 1, 2, 3, 4, 5, 6 }
    r:shuffle(list)
    return { r:uniform(), r:below(100), ("%.12g"):format(r:normal()) }, list
  end)
  add("quantities", function()
    local out = {}
    for _, x in ipairs { { "5 us", "seconds" }, { "16 GiB", "bytes" }, { "25 Gbit/s", "bytes/s" }, { "312 TFLOP/s",
      "flop/s" } } do
      out[#out + 1] = berth.quantity(x[1], x[2])
      out[#out + 1] = berth.format(out[#out], x[2]):gsub(" ", "_")
    end
    return out
  end)
end

local zoo = {
  { "resnet18", {} }, { "resnet50", { granularity = "layer", optimizer = "momentum" } }, { "resnet50", { version = 2,
    granularity = "block" } },
  { "vgg11", { training = false } }, { "inception_v3", { granularity = "block" } }, { "transformer", { layers = 2,
    granularity = "layer" } },
  { "bert-base", { granularity = "block", head = "pretraining" } },
  { "bert-base", { granularity = "layer", layers = 2, embedding_gradients = "rows" } },
  { "llama-7b", { layers = 2, seq = 64, attention = "fused" } }, { "gnmt", { batch = 4, seq = 5, colocate = "layer" } },
  { "rnnlm", { seq = 10, steps_per_op = 5, dtype = "bf16" } }, { "random", { seed = 4 } }, { "random", { seed = 5,
    family = "transformer" } },
  { "einsum", { program = "chain", seed = 1 } }, { "einsum", { program = "ffnn" } }, { "einsum", { program = "random",
    seed = 3 } },
}

local function models(add)
  for _, x in ipairs(zoo) do
    add(("model %s %s"):format(x[1], named(x[2])), function()
      local g, about = assert(berth.models.build(x[1], x[2]))
      return { #g, g.n_tensors, about.parameters or "-", about.flop or about.work or "-",
        about.activation_bytes or "-" }, { g, about }
    end)
  end
  for _, name in ipairs(berth.deploy.models.list()) do
    if not name:find "large" and name ~= "speed" then
      add("tag model " .. name, function()
        local g, about = berth.deploy.models.build(name)
        return { #g, g.n_tensors, about.parameters, about.gradient_bytes }, #g < 300 and g or about
      end)
    end
  end
  add("model options", function() return { #berth.models.list() }, { berth.models.list(), berth.models.options "bert" } end)
end

return function(add)
  graph_answers(add)
  topology_answers(add)
  fits(add)
  models(add)
end
