-- berth.nn: gradients, parameters and their files, layers, optimiser, schedules, memory.
local berth = require "berth"
local errors = require "support.errors"
local near = require "support.near"

local raised, raises = errors.raised, errors.raises
local nn = berth.nn

describe("a tape", function()
  local t, p, w, x

  before_each(function()
    t, p = nn.tape(), nn.parameters { seed = 1 }
    w = p:add("w", { 2 }, { "constant", 3 })
    x = nn.array { 1, 2 }
  end)

  it("remembers only what runs inside record, and gives what the function gives", function()
    local one, two, three = t:record(function(...) return (w * x):sum(), select("#", ...), nil end,
      nil, nil)
    assert.equal(9, one:item())
    assert.equal(2, two)
    assert.is_nil(three)
    assert.equal(2, #t)
    assert.equal("tape: 2 operations", tostring(t))
    local _ = w * x
    assert.equal(2, #t)
    t:record(function() return x * x end) -- nothing that is wanted
    assert.equal(2, #t)
  end)

  it("adds to the gradients of parameters, and is clear after", function()
    for i = 1, 2 do
      t:backward(t:record(function() return (w * w * x):sum() end))
      near({ 6 * i, 12 * i }, p:gradient "w")
      assert.equal(0, #t)
    end
    p:zero_gradients()
    near({ 0, 0 }, p:gradient "w")
  end)

  it("goes on where the last record ended", function()
    local y = t:record(function() return w * x end)
    local loss = t:record(function() return y:square():sum() end)
    t:backward(loss)
    near({ 2 * 3, 2 * 3 * 4 }, p:gradient "w")
  end)

  it("keeps gradients of watched arrays until the next walk", function()
    assert.equal(x, t:watch(x))
    t:backward(t:record(function() return (x * x * x):sum() end))
    near({ 3, 12 }, t:gradient(x))
    assert.is_nil(t:gradient(w))
    t:clear()
    assert.is_nil(t:gradient(x))
  end)

  it("is put back after another one, after an error, and for other coroutines", function()
    local other = nn.tape()
    t:record(function()
      assert.is_true(t.recording)
      other:record(function() return w * 2, w * 3 end)
      assert.is_false(other.recording)
      raises("inside", other.record, other, function() error "inside" end)
      local value = setmetatable({}, {})
      assert.equal(value, raised(other.record, other, function() error(value) end))
      assert.is_true(t.recording)
      return w * 4
    end)
    assert.is_false(t.recording)
    assert.equal(1, #t)
    assert.equal(2, #other)
    local co = coroutine.wrap(function()
      local ok = pcall(t.record, t, function() coroutine.yield(1) end)
      coroutine.yield(ok)
      local _ = w * 5
      return "end"
    end)
    assert.is_false(co()) -- no yield out of record
    assert.equal("end", co())
    assert.equal(1, #t)
  end)

  it("keeps its own account of an array that another tape watches", function()
    local other = nn.tape()
    local y, loss = t:record(function()
      local twice = w * 2
      return twice, ((twice + 1) * twice):sum()
    end)
    for _ = 1, 3 do other:watch(nn.zeros { 1 }) end
    other:watch(y)
    local square = other:record(function() return y:square():sum() end)
    t:backward(loss) -- d (2 w + 1) 2 w = 8 w + 2
    near({ 26, 26 }, p:gradient "w")
    other:backward(square)
    near({ 12, 12 }, other:gradient(y))
    near({ 26, 26 }, p:gradient "w")
  end)

  it("may be closed while it records", function()
    local y = t:record(function()
      t:close()
      collectgarbage()
      return (w * x):sum()
    end)
    assert.equal(9, y:item())
    assert.equal("tape: closed", tostring(t))
  end)

  it("raises for what is no loss", function()
    raises("support/errors.lua:", t.backward, t, nil)
    raises("tape:backward: loss: expected an array, got nil", t.backward, t)
    raises("backward: the loss has 2 numbers, not one", t.backward, t, x)
    raises("backward: nothing on this tape leads to the loss", t.backward, t, nn.zeros { 1 })
    raises("tape:record: f: expected a function, got nil", t.record, t)
  end)

  it("agrees with finite differences for a whole network", function()
    local rng, q = berth.rng(3), nn.parameters { seed = 5 }
    local inner, cell = nn.mlp(q, "inner", { 4, 6, 4 }, { activation = "tanh", last = "gelu" }),
      nn.gru_cell(q, "cell", 4, 4)
    local norm, see = nn.norm(q, "norm", 4), nn.self_attention(q, "see", 4, 2)
    local groups = q:add("groups", { 2, 4, 4 }, "xavier")
    local rows, s, next_row = nn.normal(rng, { 5, 4 }), nn.segments { 3, 2 },
      nn.index { 2, 3, 0, 5, 0 }
    local function f()
      local h = inner(rows)
      h = cell(h:gather { 2, 1, 0, 5, 4 }, h)
      h = see(norm(h)):grouped_matmul(s, groups) + h:path_sum(next_row):sigmoid()
      local scores = nn.concat({ h, h:zscore(s) }, 2):mean(2):segment_log_softmax(s)
      local chosen = h:log_softmax():pick({ 1, 2, 3, 4, 1 }):sum()
      return (scores * nn.array { 1, 2, 3, 4, 5 }):sum() + h:segment_max(s):softplus():mean()
        + chosen
    end
    t:backward(t:record(f))
    local gradient, values = q:flat "gradients", q:flat "values"
    local step, at = 4e-3, nn.uniform(rng, { 12 }, 1, q.size)
    local function with(k, value)
      values:set(value, k)
      q:set_flat("values", values)
      return f():item()
    end
    for i = 1, 12 do
      local k = math.floor(at:get(i))
      local was = values:get(k)
      local up, down = with(k, was + step), with(k, was - step)
      with(k, was)
      local slope = (up - down) / (2 * step)
      assert.near(slope, gradient:get(k), 0.01 * math.max(1, math.abs(slope)))
    end
  end)
end)

describe("parameters", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function network(seed)
    local p = nn.parameters { seed = seed }
    return p, nn.mlp(p, "net", { 2, 3, 1 })
  end

  it("are arrays with names", function()
    local p = network(1)
    assert.equal("parameters: 4 arrays, 13 numbers", tostring(p))
    assert.equal(4, #p)
    assert.equal(13, p.size)
    assert.same({ "net.1.weight", "net.1.bias", "net.2.weight", "net.2.bias" }, p:names())
    assert.same({ 2, 3 }, p["net.1.weight"].shape)
    assert.equal(p["net.1.weight"], p["net.1.weight"])
    assert.equal("parameters: 1 arrays, 20 k numbers", (function()
      local q = nn.parameters()
      q:add("w", { 200, 100 })
      return tostring(q)
    end)())
    raises("there is a parameter \"net.1.bias\" already", p.add, p, "net.1.bias", { 1 })
    raises("parameters:add: name: 'size' is a method or field of parameters", p.add, p, "size",
      { 1 })
    raises("parameters:add: init: 'ones' is none of: zeros, constant,", p.add, p, "x", { 1 },
      "ones")
    raises("parameters:add: init: 'normal' needs a number: { \"normal\", number }", p.add, p, "x",
      { 1 }, "normal")
    raises("parameters has no 'x'", function() return p.x end)
    raises("parameters:gradient: name: there is no parameter 'x'", p.gradient, p, "x")
  end)

  it("start as given, the same for the same seed", function()
    local p = nn.parameters { seed = 9 }
    near({ 0, 0 }, p:add("a", { 2 }))
    near({ 2, 2 }, p:add("b", { 2 }, { "constant", 2 }))
    local o = p:add("c", { 3, 2 }, "orthogonal")
    near({ 1, 0, 0, 1 }, o:matmul(o, { transpose_a = true }))
    assert.is_true(p:add("d", { 100 }, { "uniform", 0.1 }):abs():max():item() <= 0.1)
    assert.is_true(p:add("e", { 10, 20 }, { "xavier", 1 }):abs():max():item() <= math.sqrt(6 / 30))
    assert.near(0.5, math.sqrt(p:add("f", { 8, 500 }, "he"):square():mean():item()), 0.03)
    assert.same(network(3):flat("values"):flat(), network(3):flat("values"):flat())
    assert.not_same(network(3):flat("values"):flat(), network(4):flat("values"):flat())
  end)

  it("are read and written as one, and clipped", function()
    local p = nn.parameters()
    p:add("a", { 1 })
    p:add("b", { 1, 1 })
    p:set_flat("values", nn.array { 1, 2 })
    near({ 2 }, p.b)
    p:set_flat("gradients", nn.array { 3, 4 })
    near({ 3, 4 }, p:flat "gradients")
    assert.near(5, p:clip(1), 1e-6)
    near({ 0.6, 0.8 }, p:flat "gradients")
    assert.near(1, p:clip(2), 1e-6)
    raises("parameters:set_flat: array: has 3 numbers, expected 2", p.set_flat, p, "values",
      nn.zeros { 3 })
    raises("parameters:flat: which: 'both' is none of: values, gradients", p.flat, p, "both")
  end)

  it("go on from a file as if nothing had been", function()
    local x, y = nn.array { { 1, 2 }, { 3, 4 } }, nn.array { { 1 }, { -1 } }
    local function train(net, o, n)
      local t = nn.tape()
      for _ = 1, n do
        t:backward(t:record(function() return nn.mse(net(x), y) end))
        o:step()
      end
    end
    local p, net = network(1)
    local o = nn.adam(p, { rate = 0.01, clip = 1 })
    train(net, o, 5)
    assert.is_true(p:save(path, { adam = o, note = "five steps" }))
    train(net, o, 5)
    local q, again = network(2)
    local r = nn.adam(q, { rate = 0.01, clip = 1 })
    assert.equal("five steps", nn.read_note(path))
    assert.is_true(q:load(path, { adam = r }))
    assert.equal(5, r.steps)
    train(again, r, 5)
    assert.same(p:flat("values"):flat(), q:flat("values"):flat())
    assert.equal("adam: 10 steps, rate 0.01", tostring(r))
    raises("parameters:save: adam: is for other parameters", p.save, p, path, { adam = r })
  end)

  it("refuse files that are not theirs", function()
    local p = network(1)
    local none, message, code = p:load(path .. ".none")
    assert.is_nil(none)
    assert.equal("io", code)
    assert.is_truthy(message:find(path, 1, true))
    assert(io.open(path, "w")):close()
    none, message, code = p:load(path)
    assert.is_nil(none)
    assert.equal("string", type(message))
    assert.equal("parse", code)
    none, message, code = nn.read_note(path)
    assert.is_truthy(message:find(path, 1, true))
    assert.is_nil(none)
    assert.equal("parse", code)
    local q = nn.parameters()
    q:add("other", { 1 })
    assert.is_true(q:save(path))
    assert.equal("", nn.read_note(path))
    none = p:load(path)
    assert.is_nil(none)
  end)
end)

describe("adam", function()
  it("does the step of the paper", function()
    local p = nn.parameters()
    local w = p:add("w", { 1 }, { "constant", 1 })
    local o = nn.adam(p, { rate = 0.1, epsilon = 1e-12 })
    p:gradient("w"):fill(5)
    assert.near(5, o:step(), 1e-6)
    assert.near(0.9, w:item(), 1e-6) -- m / sqrt v = 1 at first
    assert.equal(0, p:gradient("w"):item())
    p:gradient("w"):fill(-5)
    o:step(0.2)
    -- m = 0.9 0.5 - 0.5 = -0.05 over 1 - 0.81; v = 25 (0.000999 + 0.001) over 1 - 0.998001
    assert.near(0.9 + 0.2 * 0.05 / 0.19 / 5, w:item(), 1e-5)
    assert.equal(2, o.steps)
    assert.equal(0.1, o.rate)
  end)

  it("refuses gradients that are not finite, and changes nothing", function()
    local p = nn.parameters()
    local w = p:add("w", { 1 }, { "constant", 1 })
    local o = nn.adam(p, { clip = 1 })
    p:gradient("w"):fill(math.huge)
    raises("w", o.step, o)
    assert.equal(1, w:item())
    assert.equal(0, o.steps)
    raises("berth.nn.adam: clip: expected a number above 0, got 0", nn.adam, p, { clip = 0 })
    raises("berth.nn.adam: unknown option 'lr'", nn.adam, p, { lr = 1 })
  end)
end)

describe("layers", function()
  it("have the shapes that they say, and print", function()
    local p, x = nn.parameters { seed = 2 }, nn.normal(berth.rng(1), { 5, 4 })
    local linear = nn.linear(p, "l", 4, 3, { activation = "relu" })
    assert.same({ 5, 3 }, linear(x).shape)
    assert.equal("linear 'l': 4 -> 3, relu", tostring(linear))
    local plain = nn.linear(p, "plain", 4, 3, { bias = false, init = { "constant", 1 } })
    assert.is_nil(plain.bias)
    near(x:sum(2):flat(), plain(x):slice(2, 1, 1), 1e-5)
    local bent = nn.linear(p, "bent", 4, 3, { activation = "gelu", init = { "constant", 1 } })
    near(plain(x):gelu():flat(), bent(x))
    local mlp = nn.mlp(p, "m", { 4, 8, 8, 2 }, { last = "tanh" })
    assert.same({ 5, 2 }, mlp(x).shape)
    assert.is_true(mlp(x * 100):abs():max():item() <= 1)
    assert.equal("mlp 'm': 4 -> 8 -> 8 -> 2, relu", tostring(mlp))
    local cell = nn.gru_cell(p, "g", 4, 6)
    assert.same({ 5, 6 }, cell(x, nn.zeros { 5, 6 }).shape)
    assert.equal("gru cell 'g': 4, 6 -> 6", tostring(cell))
    local norm = nn.norm(p, "n", 4)
    near({ 0, 0, 0, 0, 0 }, norm(x):mean(2))
    assert.equal("norm 'n': 4", tostring(norm))
    local heads, own = nn.multi_head(p, "h", 4, 2), nn.self_attention(p, "s", 4, 2)
    assert.same({ 2, 4 }, heads(x:slice(1, 1, 2), x, x).shape)
    assert.same({ 5, 4 }, own(x).shape)
    assert.equal("multi head 'h': 4 in 2 heads", tostring(heads))
    assert.equal("self attention 's': 4 in 2 heads", tostring(own))
    assert.is_truthy(pcall(own, x, nn.full({ 5, 5 }, 1)))
  end)

  it("say what is wrong at their caller", function()
    local p = nn.parameters()
    raises("support/errors.lua:", nn.linear, p, "x", 1, 0)
    raises("berth.nn.linear: n_out: expected a whole number above 0, got 0", nn.linear, p,
      "x", 1, 0)
    raises("berth.nn.linear: expected parameters, got table", nn.linear, {}, "x", 1, 1)
    raises("berth.nn.linear: activation: 'x' is none of", nn.linear, p, "x", 1, 1,
      { activation = "x" })
    raises("berth.nn.mlp: sizes[2]: expected a whole number above 0, got string", nn.mlp, p, "x",
      { 1, "a" })
    raises("berth.nn.multi_head: dim: 3 cannot be shared by 2 heads", nn.multi_head, p, "x", 3, 2)
    raises("berth.nn.mlp: unknown option 'slop'", nn.mlp, p, "x", { 1, 1 }, { slop = 1 })
  end)
end)

describe("schedules", function()
  local s = nn.schedule

  it("have these values", function()
    assert.equal(3, s.constant(3)(1000))
    local l = s.linear(1, 0.5, 10)
    assert.near(1, l(0), 1e-12)
    assert.near(0.75, l(5), 1e-12)
    assert.near(0.5, l(10), 1e-12)
    assert.near(0.5, l(11), 1e-12)
    local c = s.cosine(1, 0, 8)
    assert.near(1, c(0), 1e-12)
    assert.near(0.5 + math.sqrt(0.5) / 2, c(2), 1e-12)
    assert.near(0.5, c(4), 1e-12)
    assert.near(0, c(9), 1e-12)
    local w = s.linear(1, 0, 14, { warmup = 4 })
    for step, value in pairs { [0] = 0.25, 0.5, 0.75, 1, 1, 0.9 } do
      assert.near(value, w(step), 1e-12)
    end
    assert.near(0, w(14), 1e-12)
  end)

  it("print, and check", function()
    assert.equal("schedule: linear 1 to 0.5 in 10 steps, 2 of warmup",
      tostring(s.linear(1, 0.5, 10, { warmup = 2 })))
    assert.equal("schedule: constant 0.001", tostring(s.constant(1e-3)))
    raises("berth.nn.schedule.cosine: steps: expected a number, got nil", s.cosine, 1, 0)
    raises("berth.nn.schedule.linear: warmup: expected a whole number not below 0, got -1",
      s.linear, 1, 0, 5, { warmup = -1 })
  end)
end)

describe("memory", function()
  it("ends with what is closed or collected", function()
    collectgarbage()
    local before = berth.memory()
    local a = nn.zeros { 1000, 1000 }
    assert.is_true(berth.memory() - before >= 4e6)
    a:close()
    assert.is_true(berth.memory() - before < 1e5)
  end)
end)
