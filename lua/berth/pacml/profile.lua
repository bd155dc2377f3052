--- PipeDream's profiles as models of a RAMP cluster.
local core = require "berth.core"
local options = require "berth.base.options"

local FN = "berth.pacml.profile"

-- Ids of the ops, in the order of the node lines: the published simulator works through them so.
local function order_of(graph, text)
  local order = {}
  for line in text:gmatch "[^\n]+" do
    local node = line:match("^node%d+")
    if node then order[#order + 1] = graph:find(node) end
  end
  return order
end

--- Reads a profile, adds its backward pass as published, and makes it a model whose ops are worked
-- through in the file's order.
-- @tparam ramp ramp the cluster
-- @tparam string path a file of PipeDream's format
-- @treturn[1] model
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage model = assert(berth.pacml.profile(berth.ramp { compat = true }, "vgg16.txt"))
local function profile(ramp, path)
  options.expect(ramp, "ramp", "berth.pacml.profile: ramp")
  options.expect(path, "string", "berth.pacml.profile: path")
  local text, graph, message, code
  text, message, code = core.read(path, FN)
  if not text then return nil, message, code end
  graph, message, code = core.parse(text,
    { format = "pipedream", mirror = "pac-ml", name = path == "-" and "standard input" or path },
    FN)
  if not graph then return nil, message, code end
  return ramp:model(graph, { order = order_of(graph, text), batch = false })
end

return profile
