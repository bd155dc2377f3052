-- Compares what berth reads with the expected.csv of the folders onnx and fx: models of ONNX, a row
-- for each model and binding of its free dimensions, and graphs that were exported from PyTorch.
-- Columns that are empty in a row are not compared. Then the same model by both ways.
local align = require "berth.base.align"
local berth = require "berth"
local csv = require "doors.csv"
local json = require "berth.base.json_writer"

local dir, as_json = arg[1], arg[2] == "--json"
assert(dir and (as_json or not arg[2]), "usage: scripts/bench/doors_answers DIR [--json]")

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

-- ---- models of ONNX ----

local ONNX = {
  opset = "opset", nodes = "nodes", uses = "uses", pairs = "pairs", live_ops = "ops",
  live_pairs = "op_pairs", initializers = "initializers", init_elements = "initializer_elements",
  init_float_elements = "parameters", init_bytes = "initializer_bytes",
  flop_matrix = "matrix_flop", torch_flop_matrix = "matrix_flop", flop_all = "flop",
  activation_bytes = "activation_bytes", unknown = "unknown_outputs",
  torch_params = "trained_parameters",
}

-- The exporter folds norms into the layers before them: PyTorch has more parameters than the file.
local function folded(row)
  return row.torch_params ~= "" and tonumber(row.torch_params) > tonumber(row.init_float_elements)
end

-- What berth says in a column; nil: nothing.
local function onnx_answer(read, column, row)
  if column == "torch_params" and folded(row) then return nil end
  if column == "outputs" then return list(read.facts.outputs, shape_of) end
  if column == "dtypes" then
    return list(read.facts.outputs, function(each) return whole(each.dtype) end)
  end
  return ONNX[column] and whole(read.facts[ONNX[column]])
end

local function bindings(text)
  local out = {}
  for name, value in text:gmatch "(%S+)=(%d+)" do out[name] = tonumber(value) end
  return out
end

local function onnx_read(path, row)
  local facts = {}
  local graph, message = berth.load(path, { format = "onnx", bind = bindings(row.bind),
    facts = facts })
  return graph and { graph = graph, facts = facts }, message
end

-- ---- graphs of torch.fx ----

local function sum_of_ops(key)
  return function(graph)
    local sum = 0
    for op in graph:ops() do sum = sum + op[key] end
    return sum
  end
end

local function tensor_bytes(graph)
  local sum = 0
  for t = 1, graph.n_tensors do sum = sum + graph:tensor(t).bytes end
  return sum
end

local FX = {
  ops = function(graph) return graph.n_ops end,
  tensors = function(graph) return graph.n_tensors end,
  edges = function(graph) return graph.n_edges end,
  param_and_buffer_bytes = sum_of_ops "params", flop_matrix = sum_of_ops "flop",
  tensor_bytes = tensor_bytes,
}

local function fx_answer(read, column) return FX[column] and whole(FX[column](read.graph)) end

local function fx_read(path)
  local graph, message = berth.load(path)
  return graph and { graph = graph }, message
end

-- ---- one folder ----

-- Rows of expected.csv with what was read, counts by column, and what differs; nil: no such file.
local function compare(name, read_file, answer)
  local rows, header = csv.read(("%s/%s/expected.csv"):format(dir, name))
  if not rows then return nil end
  local out = { name = name, rows = rows, columns = {}, differ = {}, refused = {}, passed = {} }
  for _, row in ipairs(rows) do
    local message
    row.label = row.bind and row.bind ~= "" and row.file .. " " .. row.bind or row.file
    row.read, message = read_file(("%s/%s/%s"):format(dir, name, row.file), row)
    if not row.read then out.refused[#out.refused + 1] = { file = row.label, message = message } end
  end
  for _, column in ipairs(header) do
    local count = { column = column, rows = 0, equal = 0 }
    for _, row in ipairs(rows) do
      local got = row.read and row[column] ~= "" and answer(row.read, column, row)
      if got then
        count.rows = count.rows + 1
        if got == row[column] then count.equal = count.equal + 1
        else
          out.differ[#out.differ + 1] = { file = row.label, column = column,
            expected = row[column], got = got }
        end
      end
    end
    if count.rows > 0 then out.columns[#out.columns + 1] = count
    elseif column ~= "file" and column ~= "bind" then out.passed[#out.passed + 1] = column end
  end
  return out
end

-- ---- the same model by both ways ----

-- Is each tensor that no op of the graph reads as large as an output of the row?
local function same_outputs(graph, row)
  local sizes = {}
  for _, output in ipairs(row.read.facts.outputs) do
    local n = output.shape and 4 or 0
    for _, size in ipairs(output.shape or {}) do n = n * size end
    sizes[n] = true
  end
  for t = 1, graph.n_tensors do
    local x = graph:tensor(t)
    if #x.to == 0 and not sizes[x.bytes] then return false end
  end
  return true
end

-- Rows of both folders of one model, in the first binding in which outputs are as large.
local function pairs_of(onnx, fx)
  local out = {}
  for _, row in ipairs(fx.rows) do
    local model, best = row.file:match "^[^.]+" .. ".onnx", nil
    for _, other in ipairs(onnx.rows) do
      local same = other.file == model and other.read and row.read
      if same and not best and same_outputs(row.read.graph, other) then best = other end
    end
    if best then
      local a, b = FX.flop_matrix(row.read.graph), best.read.facts.matrix_flop
      out[#out + 1] = { fx = row.file, onnx = best.label, fx_flop = a, onnx_flop = b,
        difference = math.abs(a - b) / math.max(a, 1) }
    end
  end
  return out
end

-- ---- what comes out ----

local folders = {}
folders[#folders + 1] = compare("onnx", onnx_read, onnx_answer)
folders[#folders + 1] = compare("fx", fx_read, fx_answer)
assert(#folders > 0, dir .. ": neither onnx/expected.csv nor fx/expected.csv can be read")
local both = #folders == 2 and pairs_of(folders[1], folders[2]) or {}

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
  local members = {}
  for i, folder in ipairs(folders) do
    members[i] = { folder.name, json.object { { "rows", #folder.rows },
      { "columns", objects(folder.columns, "column", "rows", "equal") },
      { "differing", objects(folder.differ, "file", "column", "expected", "got") },
      { "refused", objects(folder.refused, "file", "message") },
      { "passed_over", folder.passed } } }
  end
  members[#members + 1] = { "same_model", objects(both, "fx", "onnx", "fx_flop", "onnx_flop",
    "difference") }
  print(json.encode(json.object(members)))
  return
end

local function print_folder(folder)
  local lines, n_folded = { { "column", "rows", "equal" } }, 0
  for _, each in ipairs(folder.columns) do
    lines[#lines + 1] = { each.column, whole(each.rows), whole(each.equal) }
  end
  print(("%s: %d rows, %d refused"):format(folder.name, #folder.rows, #folder.refused))
  for _, line in ipairs(align.lines(lines, { true })) do print(line) end
  for _, each in ipairs(folder.differ) do
    print(("%s: %s is %s, expected %s"):format(each.file, each.column, each.got, each.expected))
  end
  for _, each in ipairs(folder.refused) do print(each.message) end
  for _, row in ipairs(folder.rows) do
    if folder.name == "onnx" and folded(row) then n_folded = n_folded + 1 end
  end
  if n_folded > 0 then
    print(("torch_params of %d rows not compared: the exporter folded norms"):format(n_folded))
  end
  if #folder.passed > 0 then
    print("no facts of berth, passed over: " .. table.concat(folder.passed, ", "))
  end
  print ""
end

for _, folder in ipairs(folders) do print_folder(folder) end
local lines, within = { { "fx", "onnx", "FLOP by fx", "by onnx", "difference" } }, 0
for _, each in ipairs(both) do
  if each.difference <= 0.01 then within = within + 1 end
  lines[#lines + 1] = { each.fx, each.onnx, whole(each.fx_flop), whole(each.onnx_flop),
    ("%.2f %%"):format(100 * each.difference) }
end
if #both > 0 then
  print(("the same model and sizes: %d pairs, %d within 1 %% of FLOP"):format(#both, within))
  for _, line in ipairs(align.lines(lines, { true, true })) do print(line) end
end
