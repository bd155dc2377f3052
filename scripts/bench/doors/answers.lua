-- Compares what berth.load counts in models of ONNX with expected.csv: a row for each model and
-- binding of its free dimensions. Columns that are empty in a row are not compared.
local align = require "berth.base.align"
local berth = require "berth"
local json = require "berth.base.json_writer"

local dir, as_json = arg[1], arg[2] == "--json"
assert(dir and (as_json or not arg[2]), "usage: scripts/bench/doors_answers DIR [--json]")

-- The list of lines of a CSV file without quotes, and its header.
local function read_csv(path)
  local file = io.open(path)
  if not file then return nil end
  local header, rows
  for line in file:lines() do
    local cells = {}
    for cell in (line:gsub("\r$", "") .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell end
    if header then
      local row = {}
      for i, name in ipairs(header) do row[name] = cells[i] or "" end
      rows[#rows + 1] = row
    else
      header, rows = cells, {}
    end
  end
  file:close()
  return rows, header
end

local function whole(x) return ("%.0f"):format(x) end

local function shape_of(output)
  local sizes = {}
  if not output.shape then return "?" end
  for i, size in ipairs(output.shape) do sizes[i] = whole(size) end
  return table.concat(sizes, "x")
end

local function list(outputs, text)
  local out = {}
  for i, each in ipairs(outputs) do out[i] = text(each) end
  return table.concat(out, ";")
end

local COLUMNS = {
  opset = "opset", nodes = "nodes", uses = "uses", pairs = "pairs", live_ops = "ops",
  live_pairs = "op_pairs", initializers = "initializers", init_elements = "initializer_elements",
  init_float_elements = "parameters", init_bytes = "initializer_bytes",
  flop_matrix = "matrix_flop", torch_flop_matrix = "matrix_flop", flop_all = "flop",
  activation_bytes = "activation_bytes", unknown = "unknown_outputs",
}

-- What berth says in a column; nil: nothing.
local function answer(facts, column)
  if column == "outputs" then return list(facts.outputs, shape_of) end
  if column == "dtypes" then
    return list(facts.outputs, function(each) return whole(each.dtype) end)
  end
  return COLUMNS[column] and whole(facts[COLUMNS[column]])
end

local function bindings(text)
  local out = {}
  for name, value in text:gmatch "(%S+)=(%d+)" do out[name] = tonumber(value) end
  return out
end

-- ---- rows ----

local rows, header = read_csv(dir .. "/onnx/expected.csv")
assert(rows, dir .. "/onnx/expected.csv cannot be read")
local per, differ, refused = {}, {}, {}
for _, row in ipairs(rows) do
  local facts, label = {}, row.bind ~= "" and row.file .. " " .. row.bind or row.file
  local graph, message = berth.load(dir .. "/onnx/" .. row.file,
    { format = "onnx", bind = bindings(row.bind), facts = facts })
  if not graph then refused[#refused + 1] = { file = label, message = message } end
  for _, column in ipairs(header) do
    local got = graph and answer(facts, column)
    if got and row[column] ~= "" then
      local count = per[column] or { rows = 0, equal = 0 }
      per[column] = count
      count.rows = count.rows + 1
      if got == row[column] then count.equal = count.equal + 1
      else
        differ[#differ + 1] = { file = label, column = column, expected = row[column], got = got }
      end
    end
  end
end

-- ---- what comes out ----

local columns = {}
for _, column in ipairs(header) do
  local count = per[column]
  if count then
    columns[#columns + 1] = { column = column, rows = count.rows, equal = count.equal }
  end
end

local function object(each, keys)
  local members = {}
  for i, key in ipairs(keys) do members[i] = { key, each[key] } end
  return json.object(members)
end

local function objects(each, ...)
  local out = {}
  for i, one in ipairs(each) do out[i] = object(one, { ... }) end
  return out
end

if as_json then
  print(json.encode(json.object { { "rows", #rows },
    { "columns", objects(columns, "column", "rows", "equal") },
    { "differing", objects(differ, "file", "column", "expected", "got") },
    { "refused", objects(refused, "file", "message") } }))
  return
end
local lines = { { "column", "rows", "equal" } }
for _, each in ipairs(columns) do
  lines[#lines + 1] = { each.column, whole(each.rows), whole(each.equal) }
end
print(("onnx: %d rows, %d refused"):format(#rows, #refused))
for _, line in ipairs(align.lines(lines, { true })) do print(line) end
for _, each in ipairs(differ) do
  print(("%s: %s is %s, expected %s"):format(each.file, each.column, each.got, each.expected))
end
for _, each in ipairs(refused) do print(each.message) end
