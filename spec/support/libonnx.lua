--- Shapes of all tensors of ONNX models against those that libonnx infers.
local berth = require "berth"
local json = require "dkjson"
local shell = require "spec.support.shell"

local libonnx = {}

-- Debian's interpreter: another one in the path does not have its packages.
local PYTHON = "/usr/bin/python3"

function libonnx.installed()
  return shell.capture(PYTHON .. " -c 'import onnx' 2>&1; echo $?") == "0\n"
end

local function same(a, b)
  if #a ~= #b then return false end
  for i, n in ipairs(a) do
    if n ~= b[i] then return false end
  end
  return true
end

local function sizes_of(bind)
  local out = {}
  for name, n in pairs(bind or {}) do out[#out + 1] = ("%s=%d"):format(name, n) end
  table.sort(out)
  return table.concat(out, "\t")
end

-- Counts of one model, by its outputs, which are all of its tensors.
local function judge(path, model, known, count)
  local facts = {}
  local fine, why = berth.load(path, { facts = facts })
  if not fine then
    count.refused[#count.refused + 1] = model.path .. ": " .. why
    return
  end
  for _, output in ipairs(facts.outputs) do
    local theirs = known[output.name]
    local verdict = not theirs and (output.shape and "only_berth" or "neither")
      or not output.shape and "only_libonnx" or same(output.shape, theirs) and "equal" or "differ"
    count[verdict] = count[verdict] + 1
    if verdict == "differ" then
      count.differing[#count.differing + 1] = ("%s: %s: %s, libonnx %s"):format(model.path,
        output.name, table.concat(output.shape, "x"), table.concat(theirs, "x"))
    end
  end
end

--- Tensors of models: how many shapes are equal, differ, are known to one alone.
-- @tparam table models array of { path, bind }
-- @treturn table counts; differing, refused: lists of text; failed: models without shapes of libonnx
function libonnx.compare(models)
  local count = { equal = 0, differ = 0, only_berth = 0, only_libonnx = 0, neither = 0, failed = 0,
    differing = {}, refused = {} }
  local dir, lines = shell.capture("mktemp -d"):gsub("\n$", ""), {}
  for i, model in ipairs(models) do
    lines[i] = model.path .. (model.bind and next(model.bind) and "\t" .. sizes_of(model.bind) or "")
  end
  local requests = shell.file(".txt", table.concat(lines, "\n"))
  local out = shell.capture(("%s spec/support/libonnx.py %s < %s"):format(PYTHON, dir, requests))
  local i = 0
  for line in out:gmatch "[^\n]+" do
    i = i + 1
    local x = json.decode(line)
    if x.shapes then judge(("%s/%d.onnx"):format(dir, i), models[i], x.shapes, count)
    else count.failed = count.failed + 1 end
  end
  os.execute("rm -r " .. dir)
  assert(i == #models, "libonnx.py ended early")
  return count
end

return libonnx
