-- A locale with a decimal comma changes nothing: what is printed, written and read under it is the
-- same as without. The locale is compiled into a temporary folder.
local shell = require "support.shell"

-- Prints all kinds of texts with numbers in them. With an argument under that locale.
local SCRIPT = [==[
if arg[1] then
  assert(os.setlocale(arg[1]), "no locale")
  assert(("%.1f"):format(0.5) ~= "0.5" or jit, "no comma")
end
local berth = require "berth"
local function show(...)
  for i = 1, select("#", ...) do print(tostring((select(i, ...)))) end
end
local g = berth.graph { name = "g", ops = { { name = "a", seconds = 1.5e-3, params = 1.25e3 },
  { name = "b", seconds = 2.25e-3, flop = 1.5 } }, edges = { { 1, 2, 8.5 } } }
local t = berth.topology.mesh(2, { bandwidth = 1e4, latency = "1.5 us", memory = "2.5 kB" })
local p = assert(berth.place(g, t, "m-sct"))
local r = berth.simulate(g, t, { 1, 2 }, { links = "fair", memory = "total" })
local path = os.tmpname()
local function file(...)
  assert(...)
  print((io.open(path):read "*a":gsub(path:gsub("%p", "%%%0"), "PATH")))
end
show(g, t, p, r, berth.bounds(g, t), berth.gaps(g, t), berth.compare(g, t, { "single", "heft" }))
show(select(2, berth.portfolio(g, t)), berth.exact(g, t))
for _, format in ipairs { "berth", "graphml", "dot" } do
  local text = g:to_string(format)
  print(text)
  if format ~= "dot" then print(assert(berth.parse(text)):op(1).seconds == 1.5e-3) end
end
print(t:to_string(), p:to_string(), r:trace())
file(berth.report(path, { result = r, placement = p, times = false,
  compare = berth.compare(g, t, { "single", "heft" }), bounds = berth.bounds(g, t) }))
for _, kind in ipairs { "gantt", "memory", "links", "graph" } do
  print(assert(berth.figure(kind, { result = r })))
end
print(berth.quantity("1.5 ms", "seconds") == 1.5e-3, berth.format(1.5e-3, "seconds"))
print(assert(berth.parse("0\n0 0.5 0\n1 1.25 1 0\n", { format = "stg" })):op(2).seconds == 1.25)
print(assert(berth.parse('{"tasks": [{"id": 1, "cost": 1.25e-1}], "edges": []}')):op(1).seconds == 0.125)
local jobs = { { arrival = 0.5, work = 2.5, gpus = 1 }, { arrival = 1.25, work = 1.5, gpus = 2 } }
local c = assert(berth.cluster.simulate(jobs, { machines = 1, capacity = 2 }, "srtf"))
show(c)
for _, save in ipairs { "save_csv", "save_jsonl", "save_trace" } do file(c[save](c, path)) end
local h = io.open(path, "w")
h:write "a,w,n\n0.5,1.25,1\n"
h:close()
local trace = assert(berth.load_trace(path, { columns = { arrival = "a", work = "w", gpus = "n" } }))
print(trace[1].arrival == 0.5, trace[1].work == 1.25)
local w = berth.pdors.problem(berth.pdors.generate("default",
  { seed = 1, jobs = 3, machines = 4, slots = 6 }))
show(w, berth.pdors.simulate(w, "pd-ors"))
file(w:save(path))
show(select(2, pcall(berth.place, g, t, "heft", { tau = -0.5 })))
show(select(2, pcall(berth.simulate, g, t, { 1, 2 }, { noise = -0.5 })))
show(select(2, pcall(berth.cluster.simulate, jobs, { machines = 1.5 }, "fifo")))
show(select(2, berth.parse '{"berth": 1, "graph": {"ops": [{"seconds": -0.5}]}}'))
show(select(2, berth.place(berth.graph { ops = { { seconds = 1.5e150 } } }, t, "heft")))
os.remove(path)
]==]

local function output(lua, folder, script, words)
  return shell.capture(("LOCPATH=%s %s %s %s 2>&1"):format(folder, lua, script, words))
end

describe("a locale with a decimal comma", function()
  local folder = shell.path ".locale"
  shell.capture("mkdir -p " .. folder)
  local made = shell.capture(("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1; echo $?")
    :format(folder)) == "0\n"
  local try = made and it
    or function(name) pending(name .. ": localedef cannot make de_DE.UTF-8", function() end) end

  try("changes neither texts nor files nor what is read", function()
    local lua = os.getenv "BERTH_LUA" or "lua5.4"
    local script = shell.file(".lua", SCRIPT)
    local plain, under = output(lua, folder, script, ""),
      output(lua, folder, script, "de_DE.UTF-8")
    assert.is_true(#plain > 20000, plain:sub(1, 2000))
    assert.is_nil(plain:find("traceback", 1, true), plain:sub(-2000))
    assert.is_nil(plain:find "\nfalse\n")
    local a, b = plain:gmatch "[^\n]*", under:gmatch "[^\n]*"
    for line in a do assert.equal(line, (b())) end
    shell.capture("rm -r " .. folder)
    shell.tidy()
  end)
end)
