-- berth.nn: finalisers may close any operand while memory is allocated for a result.
local berth = require "berth"
local finaliser = require "support.finaliser"
local shell = require "support.shell"
local nn = berth.nn

local function m(...) return nn.uniform(berth.rng(3), { ... }) end
local function vector(n) return nn.uniform(berth.rng(4), { n }) end

-- What each operation is given; every object among them is closed in turn.
local operations = {
  { "relu", function() return { m(2, 3) } end, function(v) return v[1]:relu() end },
  { "leaky_relu", function() return { m(2, 3) } end, function(v) return v[1]:leaky_relu() end },
  { "log", function() return { m(2, 3) } end, function(v) return v[1]:log() end },
  { "scale", function() return { m(2, 3) } end, function(v) return v[1]:scale(2) end },
  { "+", function() return { m(2, 3), m(2, 3) } end, function(v) return v[1] + v[2] end },
  { "1 + a", function() return { m(2, 3) } end, function(v) return 1 + v[1] end },
  { "1 / a", function() return { m(2, 3) } end, function(v) return 1 / v[1] end },
  { "-a", function() return { m(2, 3) } end, function(v) return -v[1] end },
  { "maximum", function() return { m(2, 3), m(2, 3) } end,
    function(v) return v[1]:maximum(v[2]) end },
  { "sum", function() return { m(2, 3) } end, function(v) return v[1]:sum(1) end },
  { "max", function() return { m(2, 3) } end, function(v) return v[1]:max() end },
  { "reshape", function() return { m(2, 3) } end, function(v) return v[1]:reshape { 3, -1 } end },
  { "transpose", function() return { m(2, 3) } end, function(v) return v[1]:transpose() end },
  { "slice", function() return { m(2, 3) } end, function(v) return v[1]:slice(1, 2) end },
  { "matmul", function() return { m(2, 3), m(2, 3) } end,
    function(v) return v[1]:matmul(v[2], { transpose_b = true }) end },
  { "linear", function() return { m(2, 3), m(3, 2), vector(2) } end,
    function(v) return v[1]:linear(v[2], v[3], "relu") end },
  { "grouped_matmul", function() return { m(2, 3), m(1, 3, 2), nn.segments { 2 } } end,
    function(v) return v[1]:grouped_matmul(v[3], v[2]) end },
  { "grouped_matmul, a table", function() return { m(2, 3), m(1, 3, 2) } end,
    function(v) return v[1]:grouped_matmul({ 2 }, v[2]) end },
  { "gather", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return v[1]:gather(v[2]) end },
  { "gather, a table", function() return { m(2, 3) } end,
    function(v) return v[1]:gather { 1, 2 } end },
  { "gather_sum", function() return { m(2, 3), nn.index { 1, 2 }, nn.segments { 2 } } end,
    function(v) return v[1]:gather_sum(v[2], v[3]) end },
  { "gather_mean, a table", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return v[1]:gather_mean(v[2], { 2 }) end },
  { "scatter", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return v[1]:scatter(v[2], 2) end },
  { "pick", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return v[1]:pick(v[2]) end },
  { "path_sum", function() return { m(2, 3), nn.index { 2, 0 } } end,
    function(v) return v[1]:path_sum(v[2]) end },
  { "running_sum", function() return { m(2, 3), nn.segments { 2 }, nn.index { 1, 2 },
    nn.index { 1, 1 } } end,
    function(v) return v[1]:running_sum(v[2], v[3], v[4], 1) end },
  { "running_sum, tables", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return v[1]:running_sum({ 2 }, v[2], { 1, 1 }, 1) end },
  { "segment_sum", function() return { m(2, 3), nn.segments { 2 } } end,
    function(v) return v[1]:segment_sum(v[2]) end },
  { "segment_softmax", function() return { m(2, 3), nn.segments { 2 } } end,
    function(v) return v[1]:segment_softmax(v[2]) end },
  { "softmax", function() return { m(2, 3), m(2, 3) } end,
    function(v) return v[1]:softmax(v[2]) end },
  { "log_softmax", function() return { m(2, 3), m(2, 3) } end,
    function(v) return v[1]:log_softmax(v[2]) end },
  { "zscore", function() return { m(2, 3), nn.segments { 2 } } end,
    function(v) return v[1]:zscore(v[2]) end },
  { "layer_norm", function() return { m(2, 3), vector(3), vector(3) } end,
    function(v) return v[1]:layer_norm(v[2], v[3]) end },
  { "concat", function() return { m(2, 3), m(2, 3) } end,
    function(v) return nn.concat({ v[1], v[2] }, 2) end },
  { "gru", function() return { m(2, 1), m(2, 1), m(1, 3), m(1, 3), vector(3), vector(3) } end,
    function(v) return nn.gru(v[1], v[2], v[3], v[4], v[5], v[6]) end },
  { "attention", function() return { m(2, 2), m(2, 2), m(2, 2), m(2, 2) } end,
    function(v) return nn.attention(v[1], v[2], v[3], 1, v[4]) end },
  { "mse", function() return { m(2, 3), m(2, 3) } end, function(v) return nn.mse(v[1], v[2]) end },
  { "huber", function() return { m(2, 3), m(2, 3) } end,
    function(v) return nn.huber(v[1], v[2]) end },
  { "cross_entropy", function() return { m(2, 3), nn.index { 1, 2 } } end,
    function(v) return nn.cross_entropy(v[1], v[2]) end },
  { "copy", function() return { m(2, 3) } end, function(v) return v[1]:copy() end },
  { "totable", function() return { m(40, 3) } end, function(v) return v[1]:totable() end },
  { "flat", function() return { m(40, 3) } end, function(v) return v[1]:flat() end },
  { "shape", function() return { m(2, 3, 4) } end, function(v) return v[1].shape end },
  { "tostring", function() return { m(2, 3, 4) } end, function(v) return tostring(v[1]) end },
  { "add_rows", function() return { m(2, 3), m(2, 3) } end,
    function(v) return v[1]:add_rows({ 1, 2 }, v[2]) end },
  { "index:totable", function() return { nn.index { 1, 2, 3, 4, 5, 6, 7, 8, 9 } } end,
    function(v) return v[1]:totable() end },
  { "segments:lengths", function() return { nn.segments { 1, 2, 3, 4, 5, 6, 7 } } end,
    function(v) return v[1]:lengths() end },
  { "normal", function() return { berth.rng(1) } end,
    function(v) return nn.normal(v[1], { 2, 3 }) end },
  { "uniform", function() return { berth.rng(1) } end,
    function(v) return nn.uniform(v[1], { 2, 3 }) end },
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
  { "parameters[name]", function() return { parameters() } end,
    function(v) return v[1][names[3]] end },
  { "add", function() return { parameters() } end,
    function(v) return v[1]:add("another", { 2 }) end },
  { "names", function() return { parameters() } end, function(v) return v[1]:names() end },
  { "flat values", function() return { parameters() } end,
    function(v) return v[1]:flat "values" end },
  { "gradient", function() return { parameters() } end,
    function(v) return v[1]:gradient(names[2]) end },
  { "parameters, printed", function() return { parameters() } end,
    function(v) return tostring(v[1]) end },
  { "adam", function() return { parameters() } end,
    function(v) return nn.adam(v[1], { rate = 0.1 }) end },
  { "step", function()
    local p = parameters()
    return { nn.adam(p), p }
  end, function(v) return v[1]:step() end },
  { "tape:gradient", function()
    local a = m(2, 3)
    return { ended(nn.tape(), a), a }
  end, function(v) return v[1]:gradient(v[2]) end },
  { "tape:watch", function() return { nn.tape(), m(2, 3) } end,
    function(v) return v[1]:watch(v[2]) end },
  { "tape:backward", function()
    local p, tape = parameters(), nn.tape()
    return { tape, tape:record(function() return p[names[1]]:sum() end) }
  end, function(v) return v[1]:backward(v[2]) end },
}

local function closed(ok, value)
  if not ok then assert.matches("is closed", value) end
end

local function attack(operation)
  local hits, make, use = 0, operation[2], operation[3]
  for k = 1, #make() do
    hits = hits + finaliser.sweep(function()
      local v = make()
      return v, v[k]
    end, use, closed)
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
    for _ = 1, 20 do
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

  it("is told when it comes after all of berth, as the state closes", function()
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
