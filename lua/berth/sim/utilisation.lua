--- What links are used for: the time that a link itself needs for its bytes, and that in which
-- anything was under way on it. A transfer holds all links of its route for as long as its slowest
-- one takes: the fast ones are busy, and need little.
local utilisation = {}

local function use_of(link, used, id, makespan)
  local need = used.bytes > 0 and used.bytes / link.bandwidth or 0
  return { id = id, from = link.from, to = link.to, bandwidth = link.bandwidth, bytes = used.bytes,
    need = need, share = makespan > 0 and need / makespan or 0, busy = used.busy,
    most = used.peak_sharing }
end

--- The links that are used, those first that need most; ties: lowest id.
-- @treturn table array of { id, from, to, bandwidth, bytes, need (s: bytes / bandwidth), share (of
--  the step), busy (s), most (at once) }
function utilisation.of(topology, result)
  local list, makespan = {}, result.makespan
  for k, used in ipairs(result.links) do
    if used.bytes > 0 or used.busy > 0 then
      list[#list + 1] = use_of(topology:link(k), used, k, makespan)
    end
  end
  table.sort(list, function(a, b)
    if a.need ~= b.need then return a.need > b.need end
    return a.id < b.id
  end)
  return list
end

return utilisation
