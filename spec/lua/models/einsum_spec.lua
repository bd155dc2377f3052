-- Random sharded einsum graphs.
local berth = require "berth"
local raised = require("support.errors").raised

local function producers(g)
  local from = {}
  for i = 1, #g do from[i] = {} end
  for tensor in g:tensors() do
    for _, w in ipairs(tensor.to) do table.insert(from[w], tensor.from) end
  end
  return from
end

-- Kind and work of every meta-op, checked to be one.
local function by_meta(g, about)
  local metas = {}
  for i = 1, #g do
    local op, m = g:op(i), about.meta[i]
    metas[m] = metas[m] or { kind = op.kind, seconds = op.seconds, ops = {} }
    assert.equal(metas[m].kind, op.kind)
    assert.equal(metas[m].seconds, op.seconds)
    table.insert(metas[m].ops, i)
  end
  assert.equal(about.metas, #metas)
  return metas
end

describe("berth.models.einsum", function()
  it("cuts a product into blocks, and sums where the contraction is cut", function()
    -- n = 64: 2 products of 16 shards each, all three axes halved and one of them twice; both sides
    -- are added.
    local g, about = assert(berth.models.einsum { program = "chain", layers = 2, width = 64 })
    local metas = by_meta(g, about)
    assert.equal(16, #metas[1].ops)
    assert.equal(64 ^ 3 / 16, metas[1].seconds)
    assert.equal("einsummable", metas[1].kind)
    local from = producers(g)
    for _, id in ipairs(metas[2].ops) do
      assert.equal("formation", g:op(id).kind)
      assert.equal(16, #metas[2].ops * #from[id]) -- every partial block is summed once
      assert.equal(64 ^ 2 / #metas[2].ops, g:op(id).seconds)
    end
  end)

  it("keeps the work of the program whatever the cut", function()
    local function einsum_work(shards)
      local g, about =
        assert(berth.models.einsum { program = "ffnn", shards = shards, width = 1024 })
      local sum = 0
      for i = 1, #g do sum = sum + (g:op(i).kind == "formation" and 0 or g:op(i).seconds) end
      assert.equal(about.ops, #g)
      return sum
    end
    local one = einsum_work(2)
    for _, shards in ipairs { 4, 8, 16 } do assert.near(1, einsum_work(shards) / one, 1e-12) end
  end)

  it("numbers ops in topological order, shards of a logical op in a run", function()
    for seed = 0, 5 do
      for _, program in ipairs { "chain", "ffnn", "transformer", "random" } do
        local g, about = assert(berth.models.einsum { program = program, seed = seed })
        for i, list in ipairs(producers(g)) do
          for _, u in ipairs(list) do assert.is_true(u < i) end
        end
        for _, meta in ipairs(by_meta(g, about)) do
          assert.equal(#meta.ops - 1, meta.ops[#meta.ops] - meta.ops[1])
          if meta.kind == "einsummable" then assert.is_true(#meta.ops >= 2 and #meta.ops <= 16) end
        end
      end
    end
  end)

  it("prices transfers by work, as the published files do, or by bytes", function()
    local function tensors(comm)
      local g = assert(berth.models.einsum { program = "chain", layers = 2, width = 64,
        comm = comm })
      return g, g:tensor(1)
    end
    local g, x = tensors("work")
    assert.equal(4 * g:op(x.from).seconds, x.bytes)
    g, x = tensors("bytes")
    assert.is_true(x.bytes < 4 * g:op(x.from).seconds)
  end)

  it("is the same for the same seed, and another for another", function()
    local function text(seed)
      return assert(berth.to_string { graph = assert(berth.models.einsum { seed = seed }) })
    end
    assert.equal(text(3), text(3))
    assert.not_equal(text(3), text(4))
  end)

  it("resembles the published graphs", function()
    local near = { chain = { 76, 24 }, ffnn = { 180, 16 }, transformer = { 182, 6 } }
    for program, want in pairs(near) do
      local g = assert(berth.models.einsum { program = program })
      assert.is_true(#g > want[1] / 2 and #g < want[1] * 2)
      local levels = assert(berth.bounds(g, berth.topology.mesh(4, { bandwidth = 1 })))
      assert.is_true(levels.best > 0)
    end
  end)

  it("takes its own options alone", function()
    local names = berth.models.options("einsum")
    assert.same({ "comm", "devices", "layers", "program", "seed", "shards", "width" }, names)
    for text, given in pairs { ["unknown option 'batch'"] = { batch = 4 },
      ["option shards is 12; a power of two"] = { shards = 12 },
      ["option program is \"loop\""] = { program = "loop" },
        ["option width is 8"] = { width = 8 } } do
      assert.matches(text, raised(berth.models.einsum, given), 1, true)
    end
  end)
end)
