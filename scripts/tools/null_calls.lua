-- Writes one C call for each object that a public function with a status takes: NULL in its place,
-- something else in all others. Objects are the opaque types of core/include/berth and pointers to
-- them that are set. spec/c/base/null_objects.c includes the calls.
-- usage: lua null_calls.lua HEADER... > FILE

-- May be NULL, by their headers.
local OPTIONAL = {
  berth_write_placement = { g = true, t = true },
  berth_nn_linear = { b = true },
  berth_nn_softmax = { mask = true },
  berth_nn_log_softmax = { mask = true },
  berth_nn_zscore = { s = true },
  berth_nn_layer_norm = { gain = true, bias = true },
  berth_nn_gru = { bx = true, bh = true },
  berth_nn_attention = { mask = true },
  berth_params_save = { adam = true },
  berth_params_load = { adam = true },
}

package.path = arg[0]:match("^(.*/)") .. "?.lua;" .. package.path
local declarations = require("headers").declarations
local read = require("source").read

local headers, is_opaque = {}, {}
for i, path in ipairs(arg) do
  local code = {}
  for _, d in ipairs(declarations(read(path))) do code[#code + 1] = d.code end
  headers[i] = table.concat(code, "\n")
  for tag, name in headers[i]:gmatch "typedef struct ([%w_]+) ([%w_]+);" do
    is_opaque[name] = not headers[i]:find("struct " .. tag .. "%s*{")
  end
end

-- { type, stars, name }, as in "const berth_graph *g".
local function parameter(text)
  local kind, stars, name = text:match "^%s*(.-)%s*(%**)([%w_]+)%s*$"
  return { kind = kind:gsub("^const ", ""), stars = stars, name = name }
end

local function parameters(text)
  local list = {}
  for one in text:gsub("%s+", " "):gmatch "[^,]+" do list[#list + 1] = parameter(one) end
  return list
end

local function takes_object(fn, p)
  local is_tape = p.kind == "berth_tape" and fn:find "^berth_nn_" -- without one it only computes
  return is_opaque[p.kind] and p.stars ~= "" and not is_tape and not (OPTIONAL[fn] or {})[p.name]
end

local function call(fn, list, without)
  local values = {}
  for i, p in ipairs(list) do
    values[i] = i == without and "NULL" or p.stars ~= "" and "any" or ("(%s){ 0 }"):format(p.kind)
  end
  print(("NULL_CALL(%s, %q, (%s))"):format(fn, list[without].name, table.concat(values, ", ")))
end

for _, text in ipairs(headers) do
  for fn, params in text:gmatch "berth_status%s+(berth_[%w_]+)(%b());" do
    local list = parameters(params:sub(2, -2))
    for i, p in ipairs(list) do
      if takes_object(fn, p) then call(fn, list, i) end
    end
  end
end
