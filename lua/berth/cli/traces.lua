--- Traces of jobs on the command line: the option --columns.
local cli = require "berth.cli.options"
local lists = require "berth.cli.lists"
require "berth.cluster.traces" -- declares its options

local traces = {}

traces.columns = cli.changed("load_trace", "columns", { kind = "string", value = "K=V,..." })
traces.columns.text = traces.columns.text:gsub("; default.*", "")
  .. "; for example arrival=submitted,work=minutes:min,gpus=gpus"

--- Names of columns by field; nil: not given.
function traces.columns_of(given)
  return given.columns and lists.settings("--columns", given.columns, function(x) return x end)
end

return traces
