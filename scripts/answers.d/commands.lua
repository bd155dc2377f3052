-- What the command line prints, as text and as JSON, and the files that it writes.
local main = require "berth.cli.main"

local G, T = "model:gnmt,batch=4,seq=4,granularity=layer", "mesh:3,preset=V100,bandwidth=10GB/s,latency=5us"
local CHAIN, D = "model:einsum,program=chain,seed=1", "--devices=2"
local TAG = { "tag:vgg19,batch=6", "tag:sfb_trio", "--calls", "30", "--seed", "1" }

local commands = {
  { "place", G, T, "--placer", "heft", "--links", "duplex" }, { "place", G, T, "--members", "single,m-etf,heft", "--rows" },
  { "place", G, T, "--placer", "coplace:max_ops=8+fuse+heft+repair" }, { "place", CHAIN, D, "--placer", "critical-path" },
  { "simulate", G, T, "--placement", "single:2", "--critical", "5" }, { "simulate", G, T, "--placement", "single:1",
    "--preset", "baechi-tf" },
  { "compare", G, T, "--placers", "single,heft,etf,m-topo:baechi-tf", "--links", "duplex" },
  { "repair", G, T .. ",memory=150MB", "--placement", "single:1", "--memory", "total" },
  { "bounds", G, T }, { "bounds", G, T, "--links", "duplex", "--makespan", "60ms" },
  { "split", "model:vgg11,batch=2,granularity=layer", T }, { "split", "model:vgg11,batch=2,training=false", T,
    "--objective", "latency" },
  { "models", "bert" }, { "models", "einsum" },
  { "cluster", "pdors", "--jobs", "8", "--machines", "8", "--slots", "16", "--policy", "pd-ors,drf", "--seed", "1" },
  { "cluster", "pdors", "--jobs", "6", "--machines", "6", "--slots", "12", "--policy", "pd-ors,fifo", "--seeds", "2" },
  { "cluster", "TRACE", "--gpus", "8", "--scheduler", "fifo,srtf,las" },
  { "cluster", "pacml", "PROFILE", "--decider", "para-max,capped:4", "--beta", "C", "--jobs", "40", "--interarrival", "200s" },
  { "deploy", TAG[1], TAG[2], TAG[3], TAG[4], TAG[5], TAG[6] }, { "place", G, "mesh:2,preset=V100,memory=1MB" }, { "place", G },
}

local files = {
  TRACE = "job_id,submit_s,duration_s,num_gpus,vc\na,0,100,2,x\nb,1,50,1,y\nc,9,2000,4,x\nd,11,20,8,x\ne,15,20,1,y\n",
  PROFILE = [[
node1 -- Input -- forward_compute_time=0.0, backward_compute_time=0.0, activation_size=1000, parameter_size=0
node2 -- Conv2d(3, 8) -- forward_compute_time=20.0, backward_compute_time=40.0, activation_size=4e6, parameter_size=1e6
node3 -- Linear(8, 2) -- forward_compute_time=10.0, backward_compute_time=10.0, activation_size=1000, parameter_size=2e6
	node1 -- node2
	node2 -- node3
]],
}

local function spill(text)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  return path
end

-- Exit code and all that is printed; names of scratch files are no answer.
local function run(words)
  local argv, out, paths = {}, {}, {}
  for i, word in ipairs(words) do
    if files[word] then paths[word] = spill(files[word]) end
    if word == "OUT" then paths.OUT = os.tmpname() end
    argv[i] = paths[word] or word
  end
  local function note(line) out[#out + 1] = line end
  local exit = main.run(argv, { write = note, complain = note })
  local text, written = table.concat(out, "\n"), nil
  if paths.OUT then
    local f = assert(io.open(paths.OUT))
    written = f:read "*a"
    f:close()
  end
  for _, name in ipairs { "TRACE", "PROFILE", "OUT" } do
    local path = paths[name]
    if path then
      local escaped = path:gsub("%p", "%%%0")
      local base = path:match "[^/]*$":gsub("%p", "%%%0")
      text = text:gsub(escaped, name):gsub(base, name)
      written = written and written:gsub(escaped, name):gsub(base, name)
      os.remove(path)
    end
  end
  return { exit, #text, written and #written or 0 }, { text, written }
end

local writing = {
  { "models" },
  { "convert", "model:vgg11,batch=2,granularity=layer", "-" }, { "convert", CHAIN, "-" },
  { "report", G, T, "--placer", "heft", "--compare", "single,heft", "--output", "OUT" },
  { "report", G, T, "--placer", "etf", "--figure", "gantt", "--output", "OUT" },
  { "deploy", TAG[1], TAG[2], TAG[3], TAG[4], "--report", "OUT" }, { "deploy", TAG[1], TAG[2], TAG[3], TAG[4], "--out", "OUT" },
  { "place", G, T, "--placer", "heft", "--trace", "OUT" },
  { "cluster", "TRACE", "--gpus", "8", "--scheduler", "fifo,las", "--report", "OUT" },
  { "cluster", "pdors", "--jobs", "6", "--machines", "6", "--slots", "12", "--policy", "pd-ors,drf", "--report", "OUT" },
  { "cluster", "pacml", "PROFILE", "--decider", "para-max", "--beta", "D", "--jobs", "30", "--interarrival", "200s",
    "--output", "OUT" },
}

local short = { [G] = "gnmt", [T] = "mesh", [CHAIN] = "chain" }

local function named(words)
  local cells = { "berth" }
  for i, word in ipairs(words) do cells[i + 1] = short[word] or word end
  return table.concat(cells, " ")
end

return function(add)
  for _, words in ipairs(commands) do
    local name = named(words)
    add(name, function() return run(words) end)
    local more = {}
    for i, word in ipairs(words) do more[i] = word end
    more[#more + 1] = "--json"
    add(name .. " --json", function() return run(more) end)
  end
  for _, words in ipairs(writing) do
    add(named(words), function() return run(words) end)
  end
end
