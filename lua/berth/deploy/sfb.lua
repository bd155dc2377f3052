--- Sufficient factor broadcasting: ops that every replica repeats for the full batch, so that
-- gradients need no AllReduce.
local core = require "berth.core"

local mt = { __name = "berth.sfb" }

local function signed(x) return (x < 0 and "-" or "") .. core.format(math.abs(x), "seconds") end

function mt.__tostring(a)
  return ("sfb: %d ops duplicated, %d tensors gathered, %d gradients without AllReduce: %s (work "
    .. "%s, gathering %s, saved %s)")
    :format(#a.duplicated, #a.gathered, #a.removed, signed(a.total), signed(a.work),
      signed(a.gather), signed(a.sync))
end

local function dressed(found, message, code)
  if not found then return nil, message, code end
  return setmetatable(found, mt)
end

local sfb = {}

--- The best choice, of equally good ones that with the fewest ops.
-- @tparam table problem ops { seconds (of the full batch), replicas, bandwidth, barred }, tensors {
--  from, to = { ops }, bytes (of the full batch) }, gradients { op, bytes, seconds (of its
--  AllReduce, "per-device" only) }; replicas (1) and bandwidth (infinite) of ops that do not say;
--  cost: "per-device" or "compat"; per_op (s; 0, "compat": 1 us)
-- @treturn[1] table duplicated (ops), gathered (tensors), removed (gradients), work, gather, sync,
--  total (s)
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.deploy.sfb { ops = { { seconds = "40 us" } }, gradients = { { op = 1, bytes =
--  "4 MiB" } }, replicas = 2, bandwidth = "2.81 GB/s" })
function sfb.choose(problem) return dressed(core.sfb(problem)) end

--- What a given choice is worth.
-- @tparam table problem as above
-- @tparam table ops the duplicated ones
-- @treturn table as above
function sfb.measure(problem, ops) return dressed(core.sfb_measure(problem, ops)) end

return sfb
