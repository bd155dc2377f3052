-- Readers, writers, reports and figures, experiments: texts by their hash.
local berth = require "berth"
local graphs = require "graphs"

local function read(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read "*a"
  f:close()
  os.remove(path)
  return text
end

-- The text that `write` puts into a file.
local function written(write, ending)
  local path = os.tmpname()
  os.remove(path)
  path = path .. (ending or "")
  assert(write(path))
  return (read(path):gsub(path:gsub("%p", "%%%0"), "FILE"))
end

local function formats(add)
  for _, case in ipairs(graphs.cases) do
    local g, t = case[2], case[3]
    for _, format in ipairs { "berth", "graphml", "dot" } do
      add(("write %s %s"):format(format, case[1]), function()
        local devices = {}
        for i = 1, #g do devices[i] = i % #t + 1 end
        local text = g:to_string(format, format ~= "berth" and { placement = devices } or nil)
        return { #text }, text
      end)
    end
    for _, format in ipairs { "berth", "graphml", "dot" } do
      add(("round trip %s %s"):format(format, case[1]), function()
        local text = g:to_string(format)
        local again, message, code = berth.parse(text)
        if not again then return nil, message, code end
        return { again:to_string(format) == text and "same" or "other", #again, again.n_tensors }, again
      end)
    end
    add("round trip all " .. case[1], function()
      local p = berth.placement({ 1, 2, 1 }, { sequence = { 1, 2, 3 }, placer = "hand", estimate = "41 ms" })
      local small = assert(berth.graph { ops = { { name = "a" }, { name = "b" }, { name = "c" } }, edges = { { 1, 2, 3 } } })
      local text = berth.to_string { graph = small, topology = t, placement = p }
      local a, b, c = assert(berth.parse(text))
      return { berth.to_string { graph = a, topology = b, placement = c } == text and "same" or "other", #text }, text
    end)
  end
  add("formats", function() return { #berth.formats() }, { berth.formats() } end)
  for _, text in ipairs { "{", '{"ops": 3}', "<graphml/>", "" } do
    add("refused text " .. (text == "" and "empty" or text), function() return berth.parse(text) end)
  end
end

local function jsonl(text) return { #text }, text end

local function traces(add)
  add("load trace philly", function()
    local path = os.tmpname()
    local f = assert(io.open(path, "w"))
    f:write("job_id,submit_s,duration_s,num_gpus,vc\na,5,100,2,x\nb,1,50,1,y\nc,9,20,4,x\n")
    f:close()
    local jobs, about = assert(berth.load_trace(path))
    os.remove(path)
    return { about.format, about.jobs, about.sorted }, jobs
  end)
  add("load trace columns", function()
    local path = os.tmpname()
    local f = assert(io.open(path, "w"))
    f:write("when,long,wide\n1,10,2\n3,wrong,1\n4,5,1\n")
    f:close()
    local columns = { arrival = "when", work = "long", gpus = "wide" }
    local jobs, about = assert(berth.load_trace(path, { columns = columns, skip = true }))
    os.remove(path)
    return { about.jobs, about.left_out }, jobs
  end)
end

local function reports(add)
  local g, t = graphs.cases[3][2], graphs.cases[3][3]
  local p = assert(berth.place(g, t, "heft", { links = "duplex" }))
  local r = assert(berth.simulate(g, t, p, { links = "duplex" }))
  for _, kind in ipairs { "gantt", "memory", "links", "graph" } do
    add("figure " .. kind, function() return jsonl(assert(berth.figure(kind, { result = r }))) end)
  end
  add("figure placers", function()
    return jsonl(assert(berth.figure("placers", { result = r, compare = berth.compare(g, t, { "single", "etf" }) })))
  end)
  add("report", function()
    local b = berth.bounds(g, t, { thorough = true })
    return jsonl(written(function(path)
      return berth.report(path, { result = r, placement = p, compare = berth.compare(g, t, { "single", "heft",
        "m-etf" }), bounds = b })
    end, ".html"))
  end)
  add("report collectives", function()
    local wide = graphs.reduced { "allreduce", "broadcast" }
    local s = berth.simulate(wide, graphs.mesh, { 1, 2, 3, 1, 1, 2, 3, 2 }, { links = "fair" })
    return jsonl(written(function(path) return berth.report(path, { result = s, title = "sums" }) end, ".html"))
  end)
  add("chrome trace", function() return jsonl(r:trace()) end)
  add("printed", function() return { 1 }, { tostring(g), tostring(t), tostring(p), tostring(r) } end)
end

local function experiments(add)
  add("experiment", function()
    local e = assert(berth.experiment { name = "answers", grid = { load = { 0.1, 0.4 }, way = { "a", "b" } }, seeds = 5,
      run = function(trial)
        if trial.seed == 3 and trial.way == "b" then return nil, "no", "infeasible" end
        return { blocked = berth.rng(trial.seed):uniform() * trial.load, way = trial.way }
      end })
    local rows, s = {}, e:summary { level = 0.9 }
    for i, row in ipairs(e.rows) do rows[i] = { row.parameters, row.seed, row.result, row.error, row.code } end
    local f = s[1].fields.blocked
    return { e.trials, e.failed, f.mean, f.half }, rows
  end)
end

return function(add)
  formats(add)
  traces(add)
  reports(add)
  experiments(add)
end
