-- The portfolio on the 24 inputs of the dnn-partitioning set.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/portfolio.lua [LINKS ...]
-- Ops and tensors as spec/support/operator_graph.lua maps them, with the accelerators of the file and their memory.
-- Prints, for each input and discipline, which member won, the best placer without options, the
-- single device, both bounds, and the gap to the thorough one; then how often each member won, and
-- the geometric mean over the best of those placers.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local shared = require "support.shared"
if not shared.present() then
  io.stderr:write("portfolio.lua: no " .. shared.dir .. ": its files are the inputs\n")
  os.exit(1)
end
local operator_graph = require "support.operator_graph"

local folders = { "latency-inputs/LayerGraphs", "latency-inputs/OperatorGraphs", "throughput-inputs/LayerGraphs",
  "throughput-inputs/OperatorGraphs" }

local function inputs()
  local out = {}
  for _, folder in ipairs(folders) do
    for _, name in ipairs(shared.list("data/msr-fiddle/" .. folder, "%.json$")) do
      out[#out + 1] = folder .. "/" .. name:gsub("%.json$", "")
    end
  end
  return out
end

local function label(path)
  local kind, level, name = path:match("^(%a+)%-inputs/(%a+)Graphs/(.*)$")
  return ("%s, %s, %s"):format(name:gsub("_", " "), level:lower(), kind)
end

local function ms(x) return x and ("%.4g"):format(1000 * x) or "-" end

local function percent(x) return ("%.1f %%"):format(100 * math.max(x, 0)) end

local totals = { rows = 0, worse = 0, single = 0, refused = 0, logs = 0 }
local wins, plain = {}, {}
for _, name in ipairs(berth.placers()) do plain[name] = true end

-- Of members that are placers as they are.
local function best_plain(rows)
  for _, row in ipairs(rows.best) do
    if plain[row.name] then return row end
  end
end

-- Is any member, or the single device, better than the portfolio's result?
local function check(rows)
  for _, row in ipairs(rows) do
    if row.makespan and not row.oom and row.makespan < rows.winner.makespan then totals.worse = totals.worse + 1 end
  end
end

local function line(path, links)
  local g, t = operator_graph(path)
  local from = os.clock()
  local p, rows, code = berth.portfolio(g, t, { links = links, calls = 0 })
  local cpu = os.clock() - from
  totals.rows = totals.rows + 1
  if not p then
    totals.refused = totals.refused + 1
    print(("| %s | %d / %d | %s | %s: %s |"):format(label(path), #g, #t, links, code, rows))
    return
  end
  check(rows)
  local won, single, bare = rows.winner, rows[1], best_plain(rows)
  wins[won.name] = (wins[won.name] or 0) + 1
  totals.logs = totals.logs + math.log(won.makespan / bare.makespan)
  if single.makespan and not single.oom and single.makespan == won.makespan then totals.single = totals.single + 1 end
  local tight = assert(berth.bounds(g, t, { thorough = true }))
  print(("| %s | %d / %d | %s | %s | %s | %s (%s) | %s | %s | %s (%s) | %s | %.3f |"):format(label(path), #g, #t, links, won.name,
    ms(won.makespan), ms(bare.makespan), bare.name, ms(single.makespan), ms(rows.bound), ms(tight.best), tight.name,
    percent(won.makespan / tight.best - 1), cpu))
end

local disciplines = #arg > 0 and arg or { "free", "channel", "duplex" }
print("| input | ops / devices | links | won by | step time, ms | best plain placer, ms | single device, ms | cheap bound, ms "
  .. "| thorough bound, ms | gap | CPU s |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for _, path in ipairs(inputs()) do
  for _, links in ipairs(disciplines) do line(path, links) end
end
print()
print(("%d runs: %d members better than the answer; %d times the single device is the answer; %d refused"):format(totals.rows,
  totals.worse, totals.single, totals.refused))
print(("step time over that of the best plain placer, geometric mean: %.4f"):format(
  math.exp(totals.logs / (totals.rows - totals.refused))))
local names = {}
for name in pairs(wins) do names[#names + 1] = name end
table.sort(names, function(a, b) return wins[a] == wins[b] and a < b or wins[a] > wins[b] end)
for i, name in ipairs(names) do names[i] = ("%s %d"):format(name, wins[name]) end
print("won by: " .. table.concat(names, ", "))
