-- Published and third-party figures and berth's. usage: eval "$(make -s env)"; lua5.4
-- scripts/bench/published.lua
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"
local operator_graph = require "support.operator_graph"
if not shared.present() then
  io.stderr:write("published.lua: no " .. shared.dir .. ": its files hold the figures\n")
  os.exit(1)
end

local function line(...) print(string.format(...)) end

local function doppler()
  local exact, exact_given, worst, cases = 0, 0, 0, shared.json("reference/doppler_fifo.json")
  for _, case in ipairs(cases) do
    local g = assert(berth.load(shared.path("data/doppler/" .. case.graph)))
    local t = berth.topology.mesh(case.D, { bandwidth = 1 })
    local placement = {}
    for i, d in ipairs(case.assign) do placement[i] = d + 1 end
    local run = { preset = "doppler", bound = false }
    local perturbed = assert(berth.graph(splitmix.perturb(g)))
    if berth.simulate(perturbed, t, placement, run).makespan == case.makespan_perturbed then exact = exact + 1 end
    local given = berth.simulate(g, t, placement, run).makespan
    if given == case.makespan then exact_given = exact_given + 1 end
    worst = math.max(worst, math.abs(given / case.makespan - 1))
  end
  line("DOPPLER, perturbed costs: %d of %d makespans equal to the unit", exact, #cases)
  line("DOPPLER, costs as given:  %d of %d equal, largest difference %.2f %%", exact_given, #cases, 100 * worst)
end

local function baechi()
  local published = {
    { "bert_l-3_training", "414.3", "199.9", "121.0" }, { "bert_l-6_training", "597.4", "338.7", "190.1" },
    { "resnet50_training", "1730.0", "879.3", "729.9" }, { "bert_L-12_training", "3393.1", "2800.8", "-" },
  }
  line("%-20s %22s %22s %22s", "ms, ours (published)", "m-TOPO queue", "m-ETF queue", "m-ETF parallel, planned")
  for _, row in ipairs(published) do
    local g, t = operator_graph(row[1])
    local cells = {}
    for k, placer in ipairs { "m-topo", "m-etf" } do
      local p = assert(berth.place(g, t, placer, { variant = "baechi-tf" }))
      local ms = 1000 * berth.simulate(g, t, p, { preset = "baechi-tf", bound = false }).makespan
      cells[k] = ("%.1f (%s)"):format(ms, row[k + 1])
    end
    local p = assert(berth.place(g, t, "m-etf", { variant = "baechi-pt", quantum = 1e-6 }))
    cells[3] = ("%.1f (%s)"):format(1000 * p.estimate, row[4])
    line("%-20s %22s %22s %22s", row[1], cells[1], cells[2], cells[3])
  end
end

local function list_scheduling()
  local placers = { HEFT = "heft", CPOP = "cpop", PEFT = "peft", ETF = "etf", MinMin = "minmin" }
  local equal, rows = 0, shared.csv("data/saga_reference/textbook_makespans.csv")
  local shown = {}
  for _, row in ipairs(rows) do
    local g, t = assert(berth.load(shared.path("data/saga_reference/" .. row.instance .. ".json")))
    local got, want = assert(berth.place(g, t, placers[row.algorithm])).estimate, tonumber(row.makespan)
    if math.abs(got - want) <= 1e-6 * math.max(1, want) then equal = equal + 1 end
    shown[row.instance .. " " .. row.algorithm] = got
  end
  line("textbook makespans: %d of %d equal to 1e-6", equal, #rows)
  line("published: HEFT %g (80), CPOP %g (86) on topcuoglu10; HEFT %g (133), PEFT %g (122) on peft10", shown["topcuoglu10 HEFT"],
    shown["topcuoglu10 CPOP"], shown["peft10 HEFT"], shown["peft10 PEFT"])
end

local function stg()
  local hits, excess, same, rows = 0, 0, 0, shared.csv("data/stg/optimum.csv")
  local loaded = {}
  for _, row in ipairs(rows) do
    loaded[row.file] = loaded[row.file] or assert(berth.load(shared.path("data/stg/" .. row.file)))
    local t = berth.topology.mesh(tonumber(row.procs), { bandwidth = 1 })
    local got, best = assert(berth.place(loaded[row.file], t, "blevel")).estimate, tonumber(row.best_known)
    hits, excess = hits + (got == best and 1 or 0), excess + (got / best - 1)
    same = same + (got == tonumber(row.list_by_bottom_level) and 1 or 0)
  end
  line("STG by bottom level: %d of %d rows as recorded, %d at the best known, mean excess %.3f %%", same, #rows, hits,
    100 * excess / #rows)
end

doppler()
baechi()
list_scheduling()
stg()
