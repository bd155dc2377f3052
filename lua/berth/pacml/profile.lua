--- PipeDream's profiles as models of a RAMP cluster.
local core = require "berth.core"
local options = require "berth.base.options"

-- Ids of the ops, in the order of the node lines: the published simulator works through them so.
local function order_of(graph, path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message, "io" end
  local order = {}
  for line in file:lines() do
    local node = line:match("^node%d+")
    if node then order[#order + 1] = graph:find(node) end
  end
  file:close()
  return order
end

--- Reads a profile, adds its backward pass as published, and makes it a model whose ops are worked
-- through in the file's order.
-- @tparam ramp ramp the cluster
-- @tparam string path a file of PipeDream's format, not compressed
-- @treturn[1] model
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage model = assert(berth.pacml.profile(berth.ramp { compat = true }, "vgg16.txt"))
local function profile(ramp, path)
  options.expect(ramp, "ramp", "berth.pacml.profile: ramp")
  options.expect(path, "string", "berth.pacml.profile: path")
  local graph, message, code = core.load(path, { format = "pipedream", mirror = "pac-ml" },
    "berth.pacml.profile")
  if not graph then return nil, message, code end
  local order
  order, message, code = order_of(graph, path)
  if not order then return nil, message, code end
  if #order ~= graph.n_ops / 2 then
    return nil, ("%s: the lines of its nodes cannot be read: is it compressed?"):format(path),
      "invalid"
  end
  return ramp:model(graph, { order = order })
end

return profile
