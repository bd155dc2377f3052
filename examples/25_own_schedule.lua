-- A schedule of one's own in ten lines: a word for each stage. This one is 1F1B that lets gradients
-- of weights wait for a bubble, as many as there are stages before this one.
local berth = require "berth"

local function patient(p, stage)
  local word, ahead, waiting = {}, p.stages - stage, 0
  for j = 1, p.microbatches + ahead do
    if j <= p.microbatches then word[#word + 1] = "F" end
    if j > ahead then word[#word + 1], waiting = "B", waiting + 1 end
    if waiting >= stage then word[#word + 1], waiting = "W", waiting - 1 end
  end
  for _ = 1, waiting do word[#word + 1] = "W" end
  return word
end

local pipeline = { stages = 4, microbatches = 8, costs = { 1, 1, 1 }, memory = 4 }
local own = assert(berth.schedule.make(patient, pipeline))
print(own)
io.write(own:to_string "csv")
print(berth.schedule.compare({ patient, "1f1b", "zb-h1", "zb-h2" }, pipeline))

-- A word that cannot run says where it waits.
print(berth.schedule.make(function(_, stage)
  return stage == 1 and { "F", "BW", "F", "BW" } or { "F", "F", "BW", "BW" }
end, { stages = 2, microbatches = 2 }))
