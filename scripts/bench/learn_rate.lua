-- Episodes per CPU second of a training, simulator included: stage I with a teacher at states of the policy's own, then stage II.
-- lua scripts/bench/learn_rate.lua FOLDER [AGENT [CELL [EPISODES]]]
--   FOLDER: that of the graph files. AGENT: placeto (default), gdp, doppler, design (DOPPLER's published networks, eight episodes
--   at once), preset (all as published, one by one). CELL: part of "chain D=4" that is wanted. EPISODES: of each stage (400), the
--   first batch not counted.
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local cells = require "learn.cells"

local folder, kind, wanted, episodes = arg[1], arg[2] or "placeto", arg[3] or "", tonumber(arg[4] or 400)
if not folder then
  io.stderr:write("usage: learn_rate.lua FOLDER [AGENT [CELL [EPISODES]]]\n")
  os.exit(2)
end

local makers = { placeto = berth.agents.placeto, gdp = berth.agents.gdp, doppler = berth.agents.doppler,
  design = function(o) return berth.agents.doppler { seed = o.seed, design = "published" } end,
  preset = function(o) return berth.agents.doppler { seed = o.seed, preset = "published" } end }
if not makers[kind] then
  io.stderr:write(("learn_rate.lua: no agent %s\n"):format(kind))
  os.exit(2)
end

-- Episodes per CPU second of each stage.
local function rates(cell)
  local first, last = {}, {}
  local function progress(now)
    last[now.stage] = { clock = os.clock(), episode = now.episode }
    first[now.stage] = first[now.stage] or last[now.stage]
  end
  local judge = { graph = cell.judge, preset = cells.judge.preset }
  assert(makers[kind] { seed = 1 }:train({ { graph = cell.graph, topology = cell.topology, judge = judge } }, {
    progress = progress, unit = kind == "preset" and cells.scale or nil,
    stages = { { stage = "I", episodes = episodes, teacher = "critical-path" },
      { stage = "II", episodes = episodes } } }))
  local out = {}
  for i, stage in ipairs { "I", "II" } do
    local from, to = first[stage], last[stage]
    out[i] = (to.episode - from.episode) / (to.clock - from.clock)
  end
  return out
end

for _, cell in ipairs(cells.all(folder, wanted)) do
  collectgarbage()
  local of = rates(cell)
  print(("%-16s %-8s %3d ops  stage I %7.1f  stage II %7.1f episodes per CPU second"):format(cell.label, kind, #cell.graph,
    of[1], of[2]))
end
