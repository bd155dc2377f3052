--- Tensor programs for berth.models.einsum: chains of products, feed-forward training, transformer
-- blocks, random ones.
local programs = {}

local SAME = { cut = "same", label = "map" }

-- An elementwise op of matrices of the same shape, cut as its inputs are.
local function map(b, ...)
  local values = { ... }
  local text = ("ij,"):rep(#values):sub(1, -2) .. "->ij"
  return b:einsum(text, values, SAME)
end

local function matmul(b, x, w, how)
  return b:einsum("ik,kj->ij", { x, w }, how or { label = "matmul" })
end

-- Axes are cut so that some products are summed, as the published shardings are.
local function some_cut(b)
  return { label = "matmul", cut = b.rng:uniform() < 0.5 and "split" or "whole" }
end

--- Two products of chains, added.
function programs.chain(b, o)
  local n = o.width
  local first = matmul(b, b:input(n, n), b:input(n, n), { label = "matmul", cut = "split" })
  local second = matmul(b, b:input(n, n), b:input(n, n), { label = "matmul", cut = "split" })
  for _ = 3, o.layers do
    first = matmul(b, first, b:input(n, n), { label = "matmul", cut = "split" })
  end
  map(b, first, second)
end

-- A layer forward: the product, its bias, its activation.
local function forward(b, x, w, bias)
  local z = matmul(b, x, w, some_cut(b))
  return map(b, b:einsum("ij,j->ij", { z, bias }, SAME))
end

--- Feed-forward network: forward, then gradients and updates of every layer.
function programs.ffnn(b, o)
  local n = o.width
  local x, weights = { b:input(n, n) }, {}
  for l = 1, o.layers do
    weights[l] = b:input(n, l == o.layers and n / 8 or n)
    x[l + 1] = forward(b, x[l], weights[l], b:input(weights[l].extents[2]))
  end
  local goal = b:input(n, n / 8)
  local grad = map(b, x[o.layers + 1], goal)
  for l = o.layers, 1, -1 do
    local dw = b:einsum("ki,kj->ij", { x[l], grad }, some_cut(b))
    map(b, dw, weights[l])
    if l > 1 then grad = map(b, b:einsum("ik,jk->ij", { grad, weights[l] }, some_cut(b)), x[l]) end
  end
end

-- RMS norm: square, sum over a row, scale by the gain.
local function norm(b, x, gain)
  local total = b:einsum("ij->i", { map(b, x) }, { cut = "same", label = "reduce" })
  return b:einsum("ij,i,j->ij", { x, total, gain }, SAME)
end

-- Heads are an axis of their own: h heads of d.
local function project(b, x, heads, d)
  return b:einsum("ik,khd->hid", { x, b:input(x.extents[2], heads, d) }, some_cut(b))
end

-- Rotary positions: pairs of reals as complex numbers, times a factor of the position.
local function rotate(b, x)
  local c = b:einsum("hid->hid", { x }, { cut = "same", kind = "complexer", label = "complex" })
  c = b:einsum("hid,id->hid", { c, b:input(x.extents[2], x.extents[3]) }, SAME)
  return b:einsum("hid->hid", { c }, { cut = "same", kind = "complexer", label = "real" })
end

-- exp, sum over j, division; the maximum is not subtracted.
local function softmax(b, s)
  local e = b:einsum("hij->hij", { s }, SAME)
  local total = b:einsum("hij->hi", { e }, { cut = "same", label = "reduce" })
  return b:einsum("hij,hi->hij", { e, total }, SAME)
end

local function attention(b, x, heads, d)
  local q, k, v = rotate(b, project(b, x, heads, d)), rotate(b, project(b, x, heads, d)),
    project(b, x, heads, d)
  local scores = softmax(b, b:einsum("hid,hjd->hij", { q, k }, { cut = "whole", label = "scores" }))
  local mixed = b:einsum("hij,hjd->hid", { scores, v }, { cut = "whole", label = "mix" })
  return b:einsum("hid,hdj->ij", { mixed, b:input(heads, d, x.extents[2]) }, some_cut(b))
end

-- Gated: down(gate x * up x), with four times the width inside.
local function feed_forward(b, x)
  local n = x.extents[2]
  local gate, up = matmul(b, x, b:input(n, 4 * n), some_cut(b)),
    matmul(b, x, b:input(n, 4 * n), some_cut(b))
  return matmul(b, map(b, gate, up), b:input(4 * n, n), some_cut(b))
end

--- Blocks of attention and gated feed-forward.
function programs.transformer(b, o)
  local n = o.width
  local x, heads = b:input(n / 4, n), math.max(1, n / 128)
  for _ = 1, o.layers do
    x = map(b, attention(b, norm(b, x, b:input(n)), heads, n / heads), x)
    x = map(b, feed_forward(b, norm(b, x, b:input(n))), x)
  end
end

-- ---- random programs ----------------------------------------------------------------------------

-- An operand: of the last values, most likely one that no op has read.
local function pick(b, pool)
  local best
  for _ = 1, 2 do
    local v = pool[#pool - b.rng:below(math.min(#pool, 6)) + 1]
    if not best or (best.read and not v.read) then best = v end
  end
  best.read = true
  return best
end

local function any_width(b, o) return o.width / 2 ^ (b.rng:below(3) - 1) end

-- A second operand with `rows` rows: with probability 0.4 each of the values, latest first, else a
-- new input.
local function other(b, o, pool, rows)
  for i = #pool, 1, -1 do
    if pool[i].extents[1] == rows and b.rng:uniform() < 0.4 then
      pool[i].read = true
      return pool[i]
    end
  end
  return b:input(rows, any_width(b, o))
end

local steps = {}

function steps.product(b, o, pool)
  local x = pick(b, pool)
  return b:einsum("ik,kj->ij", { x, other(b, o, pool, x.extents[2]) }, some_cut(b))
end

function steps.transposed(b, o, pool)
  local x = pick(b, pool)
  return b:einsum("ki,kj->ij", { x, other(b, o, pool, x.extents[1]) }, some_cut(b))
end

function steps.map(b, _, pool) return map(b, pick(b, pool)) end

-- Sum with the latest value of the same shape, or with a new input.
function steps.join(b, _, pool)
  local x = pick(b, pool)
  for i = #pool, 1, -1 do
    local y = pool[i]
    if y ~= x and y.extents[1] == x.extents[1] and y.extents[2] == x.extents[2] then
      y.read = true
      return map(b, x, y)
    end
  end
  return map(b, x, b:input(x.extents[1], x.extents[2]))
end

function steps.normalise(b, _, pool)
  local x = pick(b, pool)
  return norm(b, x, b:input(x.extents[2]))
end

local CHOICES = { "product", "product", "product", "transposed", "map", "map", "join", "join",
  "normalise" }

--- `layers` random steps, each on values that are there; the shards of each are a power of two of
-- at most the option's.
function programs.random(b, o)
  local pool, most = {}, b.shards
  for _ = 1, 1 + b.rng:below(3) do
    pool[#pool + 1] = matmul(b, b:input(any_width(b, o), any_width(b, o)),
      b:input(o.width, any_width(b, o)), some_cut(b))
  end
  for _ = #pool + 1, o.layers do
    b.shards = math.max(2, most / 2 ^ (b.rng:below(3) - 1))
    pool[#pool + 1] = steps[CHOICES[b.rng:below(#CHOICES)]](b, o, pool)
  end
end

return programs
