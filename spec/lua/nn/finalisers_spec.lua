-- berth.nn: finalisers may close any operand while memory is allocated for a result.
local berth = require "berth"
local finaliser = require "support.finaliser"
local runs = require "support.runs"
local shell = require "support.shell"
local nn = berth.nn
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function m(...) return nn.uniform(berth.rng(3), { ... }) end

-- Functions that make an object: f(x), a random array.
local function made(f, x) return function() return f(x) end end
local function array(...)
  local shape = { ... }
  return function() return nn.uniform(berth.rng(3), shape) end
end
local A, S, I = array(2, 3), made(nn.segments, { 2 }), made(nn.index, { 1, 2 })

-- Name, what makes the arguments (an array of functions, or a function), the operation; every
-- argument is closed in turn.
local operations = {
  { "relu", { A }, function(a) return a:relu() end },
  { "leaky_relu", { A }, function(a) return a:leaky_relu() end },
  { "log", { A }, function(a) return a:log() end },
  { "scale", { A }, function(a) return a:scale(2) end },
  { "+", { A, A }, function(a, b) return a + b end },
  { "1 + a", { A }, function(a) return 1 + a end },
  { "1 / a", { A }, function(a) return 1 / a end },
  { "-a", { A }, function(a) return -a end },
  { "maximum", { A, A }, function(a, b) return a:maximum(b) end },
  { "sum", { A }, function(a) return a:sum(1) end },
  { "max", { A }, function(a) return a:max() end },
  { "reshape", { A }, function(a) return a:reshape { 3, -1 } end },
  { "transpose", { A }, function(a) return a:transpose() end },
  { "slice", { A }, function(a) return a:slice(1, 2) end },
  { "matmul", { A, A }, function(a, b) return a:matmul(b, { transpose_b = true }) end },
  { "linear", { A, array(3, 2), array(2) }, function(a, b, c) return a:linear(b, c, "relu") end },
  { "grouped_matmul", { A, array(1, 3, 2), S },
    function(a, b, c) return a:grouped_matmul(c, b) end },
  { "grouped_matmul, a table", { A, array(1, 3, 2) },
    function(a, b) return a:grouped_matmul({ 2 }, b) end },
  { "gather", { A, I }, function(a, b) return a:gather(b) end },
  { "gather, a table", { A }, function(a) return a:gather { 1, 2 } end },
  { "gather_sum", { A, I, S }, function(a, b, c) return a:gather_sum(b, c) end },
  { "gather_mean, a table", { A, I }, function(a, b) return a:gather_mean(b, { 2 }) end },
  { "scatter", { A, I }, function(a, b) return a:scatter(b, 2) end },
  { "pick", { A, I }, function(a, b) return a:pick(b) end },
  { "path_sum", { A, made(nn.index, { 2, 0 }) }, function(a, b) return a:path_sum(b) end },
  { "running_sum", { A, S, I, made(nn.index, { 1, 1 }) },
    function(a, b, c, d) return a:running_sum(b, c, d, 1) end },
  { "running_sum, tables", { A, I },
    function(a, b) return a:running_sum({ 2 }, b, { 1, 1 }, 1) end },
  { "segment_sum", { A, S }, function(a, b) return a:segment_sum(b) end },
  { "segment_softmax", { A, S }, function(a, b) return a:segment_softmax(b) end },
  { "softmax", { A, A }, function(a, b) return a:softmax(b) end },
  { "log_softmax", { A, A }, function(a, b) return a:log_softmax(b) end },
  { "zscore", { A, S }, function(a, b) return a:zscore(b) end },
  { "layer_norm", { A, array(3), array(3) }, function(a, b, c) return a:layer_norm(b, c) end },
  { "concat", { A, A }, function(a, b) return nn.concat({ a, b }, 2) end },
  { "gru", { array(2, 1), array(2, 1), array(1, 3), array(1, 3), array(3), array(3) },
    function(a, b, c, d, e, f) return nn.gru(a, b, c, d, e, f) end },
  { "attention", { array(2, 2), array(2, 2), array(2, 2), array(2, 2) },
    function(a, b, c, d) return nn.attention(a, b, c, 1, d) end },
  { "mse", { A, A }, function(a, b) return nn.mse(a, b) end },
  { "huber", { A, A }, function(a, b) return nn.huber(a, b) end },
  { "cross_entropy", { A, I }, function(a, b) return nn.cross_entropy(a, b) end },
  { "copy", { A }, function(a) return a:copy() end },
  { "totable", { array(40, 3) }, function(a) return a:totable() end },
  { "flat", { array(40, 3) }, function(a) return a:flat() end },
  { "shape", { array(2, 3, 4) }, function(a) return a.shape end },
  { "tostring", { array(2, 3, 4) }, function(a) return tostring(a) end },
  { "add_rows", { A, A }, function(a, b) return a:add_rows({ 1, 2 }, b) end },
  { "index:totable", { made(nn.index, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }) },
    function(a) return a:totable() end },
  { "segments:lengths", { made(nn.segments, { 1, 2, 3, 4, 5, 6, 7 }) },
    function(a) return a:lengths() end },
  { "normal", { made(berth.rng, 1) }, function(a) return nn.normal(a, { 2, 3 }) end },
  { "uniform", { made(berth.rng, 1) }, function(a) return nn.uniform(a, { 2, 3 }) end },
}

local function parameters()
  local p = nn.parameters { seed = 1 }
  for i = 1, 9 do p:add("weights of layer " .. i, { 2, 3 }, "he") end
  return p
end
local names = {}
for i = 1, 9 do names[i] = "weights of layer " .. i end

local function ended(tape, a)
  tape:watch(a)
  tape:backward(tape:record(function() return a:sum() end))
  return tape
end

local objects = {
  { "parameters[name]", { parameters }, function(a) return a[names[3]] end },
  { "add", { parameters }, function(a) return a:add("another", { 2 }) end },
  { "names", { parameters }, function(a) return a:names() end },
  { "flat values", { parameters }, function(a) return a:flat "values" end },
  { "gradient", { parameters }, function(a) return a:gradient(names[2]) end },
  { "parameters, printed", { parameters }, function(a) return tostring(a) end },
  { "adam", { parameters }, function(a) return nn.adam(a, { rate = 0.1 }) end },
  { "step", function()
    local p = parameters()
    return { nn.adam(p), p }
  end, function(a) return a:step() end },
  { "tape:gradient", function()
    local a = m(2, 3)
    return { ended(nn.tape(), a), a }
  end, function(a, b) return a:gradient(b) end },
  { "tape:watch", { nn.tape, A }, function(a, b) return a:watch(b) end },
  { "tape:backward", function()
    local p, tape = parameters(), nn.tape()
    return { tape, tape:record(function() return p[names[1]]:sum() end) }
  end, function(a, b) return a:backward(b) end },
}

local function closed(ok, value)
  if not ok then assert.matches("is closed", value) end
end

local function arguments(how)
  if type(how) == "function" then return how() end
  local out = {}
  for i, make in ipairs(how) do out[i] = make() end
  return out
end

local function attack(operation)
  local hits, how, use = 0, operation[2], operation[3]
  for k = 1, #arguments(how) do
    hits = hits + finaliser.sweep(function()
      local v = arguments(how)
      return v, v[k]
    end, function(v) return use(unpack(v)) end, closed)
  end
  return hits
end

describe("a finaliser that closes an argument", function()
  local hits = 0
  for _, list in ipairs { operations, objects } do
    for _, operation in ipairs(list) do
      it("does not harm: " .. operation[1], function() hits = hits + attack(operation) end)
    end
  end

  it("came while they ran, too", function() assert.is_true(hits > #operations) end)

  it("may also clear the tape, or add parameters", function()
    for _ = 1, runs(6, 20) do
      local a, p, tape = m(2, 3), parameters(), nn.tape()
      ended(tape, a)
      finaliser.sweep(function()
        return tape, { close = function()
          tape:clear()
          p:add("another" .. #p, { 50 })
        end }
      end, function()
        tape:gradient(a)
        return p:flat "values"
      end, closed)
    end
  end)

  it("gets a message when it comes after all of berth, as the state closes", function()
    local script, lua = os.tmpname(), os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
    local file = assert(io.open(script, "w"))
    file:write([[
      local function f()
        print(pcall(require("berth").nn.zeros, { 3 }))
        print(pcall(require("berth").graph, { ops = { { seconds = 1 } } }))
      end
      local make = rawget(_G, "newproxy")
      late = make and make(true) or setmetatable({}, { __gc = f })
      if make then getmetatable(late).__gc = f end
      nn = require("berth").nn
      kept = nn.tape():record(function() return nn.parameters():add("w", { 3 }):sum() end)]])
    file:close()
    local text = shell.capture(lua .. " " .. script)
    os.remove(script)
    assert.matches(
      "^false%s.*berth.nn: its Lua state is closing%s+false%s.*berth: its Lua state is closing%s*$",
      text)
  end)
end)
