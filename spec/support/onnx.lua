--- Files of ONNX, written and taken apart field by field.
local onnx = {}

local function varint(x)
  local out = {}
  if x < 0 then -- ten bytes of two's complement; the numbers are small
    x = -x - 1
    for _ = 1, 9 do
      out[#out + 1] = string.char(255 - x % 128)
      x = math.floor(x / 128)
    end
    return table.concat(out) .. "\1"
  end
  while x >= 128 do
    out[#out + 1] = string.char(128 + x % 128)
    x = math.floor(x / 128)
  end
  return table.concat(out) .. string.char(x)
end

--- A field: a number as a varint, a string with its length.
function onnx.field(number, x)
  if type(x) == "number" then return varint(number * 8) .. varint(x) end
  return varint(number * 8 + 2) .. varint(#x) .. x
end
local field = onnx.field

local function fields(number, list)
  local out = {}
  for i, x in ipairs(list or {}) do out[i] = field(number, x) end
  return table.concat(out)
end

local SIZES = { [1] = 4, [2] = 1, [3] = 1, [6] = 4, [7] = 8, [9] = 1, [10] = 2 }

--- A tensor of zeros, or of whole numbers of 64 bits.
function onnx.tensor(name, dims, dtype, values)
  local n = 1
  for _, d in ipairs(dims) do n = n * d end
  local data = values and fields(7, values) or field(9, ("\0"):rep(n * SIZES[dtype]))
  return fields(1, dims) .. field(2, dtype) .. data .. field(8, name)
end

--- A tensor whose numbers are in another file, from a byte on.
function onnx.external(name, dims, dtype, path, offset)
  local n = SIZES[dtype]
  for _, d in ipairs(dims) do n = n * d end
  local entries = {}
  for i, each in ipairs { { "location", path }, { "offset", ("%.0f"):format(offset) },
    { "length", ("%.0f"):format(n) } } do
    entries[i] = field(1, each[1]) .. field(2, each[2])
  end
  return fields(1, dims) .. field(2, dtype) .. field(8, name) .. fields(13, entries) .. field(14, 1)
end

--- Name, dtype (nil: no type) and shape: numbers and names; false: a size that is not given.
function onnx.info(name, dtype, dims)
  local shape = {}
  if not dtype then return field(1, name) end
  for i, d in ipairs(dims or {}) do
    shape[i] = field(1, d and field(type(d) == "number" and 1 or 2, d) or "")
  end
  return field(1, name) .. field(2, field(1, field(1, dtype)
    .. (dims and field(2, table.concat(shape)) or "")))
end

local function attribute(name, x)
  local body = field(1, name)
  if type(x) == "number" then return body .. field(3, x) .. field(20, 2) end
  if type(x) == "string" then return body .. field(4, x) .. field(20, 3) end
  if x.graph then return body .. field(6, x.graph) .. field(20, 5) end
  if x.tensor then return body .. field(5, x.tensor) .. field(20, 4) end
  if x.refers then return body .. field(21, x.refers) .. field(20, 2) end
  return body .. fields(8, x) .. field(20, 7)
end

local function words(text)
  local out = {}
  for word in text:gmatch "%S+" do out[#out + 1] = word == "-" and "" or word end
  return out
end

--- "Conv x w -> y", attributes in the order of their names; "-" is an input that is left out.
function onnx.node(text, attributes, domain)
  local from, to = text:match "^(.-)%s*%->%s*(.-)$"
  local inputs, names, out = words(from), {}, {}
  local kind = table.remove(inputs, 1)
  for name in pairs(attributes or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = field(5, attribute(name, attributes[name])) end
  return fields(1, inputs) .. fields(2, words(to)) .. field(4, kind) .. table.concat(out)
    .. (domain and field(7, domain) or "")
end

--- A graph of { nodes, initializers, inputs, outputs, infos }, each a list of messages.
function onnx.graph(g)
  return fields(1, g.nodes) .. field(2, "g") .. fields(5, g.initializers) .. fields(11, g.inputs)
    .. fields(12, g.outputs) .. fields(13, g.infos)
end

--- A model of the same, with `opset` (13) and `functions`.
function onnx.model(g)
  return field(1, 8) .. field(7, onnx.graph(g)) .. field(8, field(1, "") .. field(2, g.opset or 13))
    .. fields(25, g.functions)
end

--- A function of a domain.
function onnx.func(domain, name, inputs, outputs, nodes)
  return field(1, name) .. fields(4, words(inputs)) .. fields(5, words(outputs)) .. fields(7, nodes)
    .. field(10, domain)
end

local function read_varint(text, at)
  local x, scale = 0, 1
  while true do
    local c = text:byte(at)
    x, at = x + c % 128 * scale, at + 1
    if c < 128 then return x, at end
    scale = scale * 128
  end
end

--- Its fields: { number, value }, a number or a string.
function onnx.parse(text)
  local out, at = {}, 1
  while at <= #text do
    local tag, x
    tag, at = read_varint(text, at)
    local wire = tag % 8
    if wire == 0 then
      x, at = read_varint(text, at)
    else
      local n = wire == 1 and 8 or 4
      if wire == 2 then n, at = read_varint(text, at) end
      x, at = text:sub(at, at + n - 1), at + n
    end
    out[#out + 1] = { math.floor(tag / 8), x, wire }
  end
  return out
end

--- What onnx.parse took apart, put together.
function onnx.join(list)
  local out = {}
  for i, each in ipairs(list) do
    if each[3] == 1 or each[3] == 5 then out[i] = varint(each[1] * 8 + each[3]) .. each[2]
    else out[i] = field(each[1], each[2]) end
  end
  return table.concat(out)
end

return onnx
