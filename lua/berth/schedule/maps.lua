--- Which stage has a chunk of the model, before there is a problem of the core.
local maps = {}

--- The stage of chunk c, both from 1.
function maps.stage_of(map, stages, c)
  local round, at = math.floor((c - 1) / stages), (c - 1) % stages
  if map ~= "interleaved" and round % 2 == 1 then at = stages - 1 - at end
  return at + 1
end

return maps
