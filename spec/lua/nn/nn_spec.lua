-- berth.nn: arrays, indices and segments; values of every operation, by hand.
local berth = require "berth"
local near = require "support.near"
local raises = require("support.errors").raises

local nn = berth.nn

local a = nn.array { { 1, 2, 3 }, { 4, 5, 6 } }

describe("arrays", function()
  it("come from nested tables, or from flat ones with a shape", function()
    assert.same({ 2, 3 }, a.shape)
    assert.equal(2, a.rank)
    assert.equal(6, a.size)
    assert.equal(2, #a)
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, a:totable())
    assert.same({ { { 1 }, { 2 } }, { { 3 }, { 4 } } },
      nn.array({ 1, 2, 3, 4 }, { 2, 2, 1 }):totable())
    assert.same({ 0 }, nn.array({}).shape)
    assert.same({ 2, 0 }, nn.array({ {}, {} }).shape)
  end)

  it("are filled in other ways", function()
    near({ 0, 0 }, nn.zeros { 2 })
    near({ 2.5, 2.5 }, nn.full({ 2, 1 }, 2.5))
    local u = nn.uniform(berth.rng(1), { 1000 }, -2, 3)
    local low, high = -(-u):max():item(), u:max():item()
    assert.is_true(low >= -2 and low < -1.9 and high < 3 and high > 2.9)
    local n = nn.normal(berth.rng(1), { 4000 })
    assert.near(0, n:mean():item(), 0.05)
    assert.near(1, n:square():mean():item(), 0.07)
    local r = berth.rng(7)
    assert.near(r:uniform(), nn.uniform(berth.rng(7), { 1 }):item(), 1e-7)
  end)

  it("print one line", function()
    assert.equal("array 2 x 3: 1 2 3 4 5 6", tostring(a))
    assert.equal("array 9: 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 ...", tostring(nn.full({ 9 }, 0.5)))
    assert.equal("array 0", tostring(nn.zeros { 0 }))
    assert.equal("index of 3: 3 0 1", tostring(nn.index { 3, 0, 1 }))
    assert.equal("segments: 3 of 3 rows: 2 0 1", tostring(nn.segments { 2, 0, 1 }))
    local closed = nn.zeros { 1 }
    closed:close()
    closed:close()
    assert.equal("array: closed", tostring(closed))
    raises("array:relu: self: the array is closed", closed.relu, closed)
  end)

  it("are read and written number by number", function()
    local b = a:copy()
    assert.equal(6, b:get(2, 3))
    b:set(-1, 2, 3)
    assert.equal(-1, b:get(2, 3))
    assert.equal(6, a:get(2, 3))
    assert.equal(7, nn.full({ 1, 1 }, 7):item())
    near({ 9, 9, 9, 9, 9, 9 }, b:fill(9))
    near({ 1, 2, 3, 4, 5, 6 }, b:copy_from(a))
    local c = nn.zeros { 2, 2 }
    c:add_rows(nn.index { 2, 0, 2 }, nn.array { { 1, 2 }, { 8, 8 }, { 3, 4 } })
    c:add_rows({ 1 }, nn.array { { 1, 1 } }, -2)
    near({ -2, -2, 4, 6 }, c)
    c:set_rows({ 2, 0 }, nn.array { { 7, 8 }, { 9, 9 } }) -- 0: no row
    near({ -2, -2, 7, 8 }, c)
  end)

  it("tell what is wrong where", function()
    raises("support/errors.lua:", nn.array, { 1, {} })
    raises("berth.nn.array: data[2]: has 1 entries, expected 2", nn.array, { { 1, 2 }, { 3 } })
    raises("berth.nn.array: data[1][2]: expected a number, got string", nn.array, { { 1, "x" } })
    raises("berth.nn.array: data[2]: expected a table of 1, got number", nn.array, { { 1 }, 2 })
    raises("berth.nn.array: data: has 3 numbers, the shape 4", nn.array, { 1, 2, 3 }, { 2, 2 })
    raises("is nested more than 4 deep", nn.array, { { { { { 1 } } } } })
    raises("berth.nn.zeros: shape: has 5 extents, expected 1 to 4", nn.zeros, { 1, 1, 1, 1, 1 })
    raises("berth.nn.zeros: shape: -1 is out of range", nn.zeros, { -1 })
    raises("array:get: index: expected 2 (one per axis), got 1", a.get, a, 1)
    raises("array:get: index: 4 is out of range 1..3", a.get, a, 1, 4)
    raises("array:item: self: has 6 numbers, expected 1", a.item, a)
    raises("array:relu: self: expected an array, got nil", a.relu)
    raises("array has no 'rely' (legal: ",
      function() return a.rely end)
    raises("an array is read only: field 'x' cannot be set", function() a.x = 1 end)
    raises("array + array: right side: expected an array, got string",
      function() return a + "1" end)
    raises("array:sum: axis: 3 is out of range 1..2", a.sum, a, 3)
    raises("array:add_rows: index: there is no row 3 of 2", a.add_rows, a, { 3 }, nn.zeros { 1, 3 })
    raises("array:slice: from: 5 is out of range 1..4", a.slice, a, 2, 5)
    raises("array:linear: activation: 'swish' is none of: none, relu,", a.linear, a, nn.zeros { 3,
      1 }, nil, "swish")
    raises("array:matmul: unknown option 'transpose' (legal: transpose_a, transpose_b", a.matmul,
      a, a, { transpose = true })
    raises("2 x 3 and 2 x 3 do not match", a.matmul, a, a)
    raises("gather: there is no row 3 among 2", a.gather, a, { 3 })
    raises("pick: there is no column 4 among 3", a.pick, a, { 1, 4 })
    raises("running_sum: there is no bin 3 among 2", a.running_sum, a, { 1 }, { 1 }, { 3 }, 2)
    raises("berth.nn.concat: arrays[2]: expected an array, got number", nn.concat, { a, 1 })
    raises("berth.nn.index: ids[2]: -1 is out of range", nn.index, { 1, -1 })
    raises("berth.nn.index: ids[1]: expected a whole number, got 1.5", nn.index, { 1.5 })
    raises("berth.nn.segments: lengths: expected a table of numbers, got nil", nn.segments)
    raises("berth.nn.uniform: rng: expected a rng, got table", nn.uniform, { 2 })
  end)
end)

describe("indices and segments", function()
  it("are lists that do not change", function()
    local x, s = nn.index { 3, 1, 0 }, nn.segments { 2, 0, 1 }
    assert.equal(3, #x)
    assert.equal(3, x[1])
    assert.equal(0, x[3])
    assert.is_nil(x[4])
    assert.same({ 3, 1, 0 }, x:totable())
    assert.equal(3, #s)
    assert.equal(3, s.rows)
    assert.equal(2, s[1])
    assert.same({ 2, 0, 1 }, s:lengths())
    assert.equal("index", berth.kind(x))
    assert.equal("segments", berth.kind(s))
  end)
end)

describe("operations", function()
  local x = nn.array { -1, 0, 2 }

  it("do arithmetic, with numbers too, and repeat axes of 1", function()
    near({ 2, 4, 6, 8, 10, 12 }, a + a)
    near({ 11, 22, 33, 14, 25, 36 }, a + nn.array { 10, 20, 30 })
    near({ 0, 1, 2, 2, 3, 4 }, a - nn.array { { 1 }, { 2 } })
    near({ 1, 4, 9, 16, 25, 36 }, a * a)
    near({ 1, 1, 1, 1, 1, 1 }, a / a)
    near({ 0, 1, 3 }, x + 1)
    near({ 0, 1, 3 }, 1 + x)
    near({ -2, -1, 1 }, x - 1)
    near({ 2, 1, -1 }, 1 - x)
    near({ -2, 0, 4 }, 2 * x)
    near({ -0.5, 0, 1 }, x / 2)
    near({ 6, 3, 2, 1.5, 1.2, 1 }, 6 / a)
    near({ 1, 0, -2 }, -x)
    near({ 0, 3, 9 }, x:scale(3, 3))
    near({ 0, 0, 2 }, x:maximum(nn.zeros { 1 }))
    near({ -1, 0, 0 }, x:minimum(nn.zeros { 3 }))
  end)

  it("apply functions", function()
    local e = math.exp(1)
    near({ 0, 0, 2 }, x:relu())
    near({ -0.01, 0, 2 }, x:leaky_relu())
    near({ -0.2, 0, 2 }, x:leaky_relu(0.2))
    near({ 1 / (1 + e), 0.5, 1 / (1 + e ^ -2) }, x:sigmoid())
    near({ -0.76159416, 0, 0.96402758 }, x:tanh())
    near({ 1 / e, 1, e * e }, x:exp(), 1e-5)
    near({ math.log(0.5), math.log(0.5), math.log(2) }, x:log(0.5))
    near({ 1, math.sqrt(2), math.sqrt(3) }, a:slice(1, 1, 1):sqrt())
    near({ 1, 0, 4 }, x:square())
    near({ 1, 0, 2 }, x:abs())
    near({ math.log(1 + 1 / e), math.log(2), math.log(1 + e * e) }, x:softplus())
    near({ -0.15865525, 0, 1.9544997 }, x:gelu())
  end)

  it("multiply matrices", function()
    near({ 14, 32, 32, 77 }, a:matmul(a, { transpose_b = true }))
    near({ 17, 22, 27, 22, 29, 36, 27, 36, 45 }, a:matmul(a, { transpose_a = true }))
    near({ 6, 15 }, a:matmul(nn.full({ 3, 1 }, 1)))
    local w = nn.array { { 1, -1 }, { 0, 0 }, { 0, 0 } }
    near({ 1.5, -1.5, 4.5, -4.5 }, a:linear(w, nn.array { 0.5, -0.5 }))
    near({ 1, -0.1, 4, -0.4 }, a:linear(w, nil, "leaky_relu", 0.1))
    near({ 1, 0, 4, 0 }, a:linear(w, nil, "relu"))
    near({ 6, 30 },
      a:grouped_matmul({ 1, 1 }, nn.array { { { 1 }, { 1 }, { 1 } }, { { 2 }, { 2 }, { 2 } } }))
  end)

  it("shape", function()
    assert.same({ 3, 2 }, a:reshape({ -1, 2 }).shape)
    near({ 1, 4, 2, 5, 3, 6 }, a:transpose())
    near({ 2, 3, 5, 6 }, a:slice(2, 2, 3))
    near({ 4, 5, 6 }, a:slice(1, 2))
    assert.same({ 0, 3 }, a:slice(1, 2, 1).shape)
    near({ 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6 }, nn.concat { a, a })
    near({ 1, 2, 3, 1, 4, 5, 6, 4 }, nn.concat({ a, a:slice(2, 1, 1) }, 2))
  end)

  it("gather, scatter and pick", function()
    near({ 4, 5, 6, 0, 0, 0, 1, 2, 3 }, a:gather { 2, 0, 1 })
    near({ 0, 0, 0, 5, 7, 9 }, a:scatter({ 2, 2 }, 2))
    near({ 0, 0, 0, 4, 5, 6 }, a:scatter({ 0, 2 }, 2))
    near({ 3, 4 }, a:pick { 3, 1 })
    near({ 5, 7, 9, 0, 0, 0, 4, 5, 6 }, a:gather_sum({ 1, 2, 0, 2 }, { 2, 0, 2 }))
    near({ 2.5, 3.5, 4.5, 0, 0, 0, 2, 2.5, 3 }, a:gather_mean({ 1, 2, 0, 2 }, { 2, 0, 2 }))
    raises("gather reduce: there is no row 3 among 2", a.gather_sum, a, { 3 }, { 1 })
    raises("gather reduce: 2 ids in segments of 1 rows", a.gather_mean, a, { 1, 2 }, { 1 })
  end)

  it("reduce", function()
    near({ 21 }, a:sum())
    near({ 5, 7, 9 }, a:sum(1))
    near({ 2, 5 }, a:mean(2))
    near({ 6 }, a:max())
    near({ 3, 6 }, a:max(2))
    local s, b = nn.segments { 2, 0, 1 }, nn.array { { 1, 6 }, { 3, 2 }, { 5, 7 } }
    near({ 4, 8, 0, 0, 5, 7 }, b:segment_sum(s))
    near({ 2, 4, 0, 0, 5, 7 }, b:segment_mean(s))
    near({ 3, 6, 0, 0, 5, 7 }, b:segment_max(s))
    near({ 1, 6, 1, 6, 5, 7 }, b:segment_repeat(s))
  end)

  it("take empty arrays of any extents whose product can be counted", function()
    local none = nn.zeros { 0, 65536, 65536 }
    assert.equal(0, (none + none).size)
    raises("array: too many numbers", nn.zeros, { 0, 2147483647, 2147483647, 2147483647 })
    raises("array: too many numbers", nn.zeros, { 2147483647, 2147483647, 2147483647, 0 })
  end)

  it("normalise", function()
    local l = nn.array { { math.log(1), math.log(3) } }
    near({ 0.25, 0.75 }, l:softmax())
    near({ 0, 1 }, l:softmax(nn.array { 0, 1 }))
    near({ 0, 0 }, l:softmax(nn.zeros { 2 }))
    near({ math.log(0.25), math.log(0.75) }, l:log_softmax())
    assert.equal(-math.huge, l:log_softmax(nn.array { 0, 1 }):get(1, 1))
    local s, c = nn.segments { 2, 1 }, l:reshape { 2 }
    near({ 0.25, 0.75, 1 }, nn.concat({ c, nn.array { 5 } }):segment_softmax(s))
    near({ math.log(0.25), math.log(0.75), 0 },
      nn.concat({ c, nn.array { 5 } }):segment_log_softmax(s))
    near({ -1, -1, -1, 1, 1, 1 }, a:zscore(), 1e-5)
    near({ 0, 0, 0, 0, 0, 0 }, a:zscore { 1, 1 })
    local d = 1 / math.sqrt(2 / 3)
    near({ -d, 0, d, -d, 0, d }, a:layer_norm(), 1e-4)
    near({ 1 - 2 * d, 1, 1 + 2 * d },
      a:slice(1, 1, 1):layer_norm(nn.full({ 3 }, 2), nn.full({ 3 }, 1)), 1e-4)
  end)

  it("sum along paths and before steps", function()
    -- 1 -> 2 -> 4, 3 -> 4
    near({ 1 + 2 + 8, 2 + 8, 4 + 8, 8 },
      nn.array({ 1, 2, 4, 8 }):reshape({ 4, 1 }):path_sum { 2, 4, 4, 0 })
    raises("path_sum", function() nn.zeros({ 2, 1 }):path_sum { 2, 1 } end)
    -- two episodes: rows 1, 2 into bins 1, 2 and 2 into 1
    local r = nn.array { { 1 }, { 10 } }
    near({ 0, 0, 1, 0, 1, 10, 0, 0 }, r:running_sum({ 3, 1 }, { 1, 2, 0, 2 }, { 1, 2, 1, 1 }, 2))
  end)

  it("have losses, a gated unit and attention", function()
    local y = nn.array { 1, 0, 0 }
    near({ 8 / 3 }, nn.mse(x, y))
    near({ (1.5 + 0 + 1.5) / 3 }, nn.huber(x, y))
    near({ (2 + 0 + 2) / 3 }, nn.huber(x, y, 2))
    near({ math.log(2) }, nn.cross_entropy(nn.zeros { 2, 2 }, { 1, 2 }))
    -- all zeros: z = 1/2, n = 0
    local w, b = nn.zeros { 2, 3 }, nn.zeros { 3 }
    near({ 2 }, nn.gru(nn.zeros { 1, 2 }, nn.array { { 4 } }, w, w:slice(1, 1, 1), b, b))
    -- equal scores: the mean of the values that are seen
    local q, v = nn.zeros { 1, 2 }, nn.array { { 2, 4 }, { 4, 8 } }
    near({ 3, 6 }, nn.attention(q, nn.zeros { 2, 2 }, v, 2))
    near({ 4, 8 }, nn.attention(q, nn.zeros { 2, 2 }, v, 1, nn.array { { 0, 1 } }))
  end)
end)
