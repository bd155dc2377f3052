--- Layers of sequence models: embeddings, attention by ops, feed-forward parts.
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local attention = {}

--- Rows of a table picked by token. o: vocab, width, weight (shared), deferred (one gradient op for
-- all that share it), rows: the gradient is a row and its number for each token, repeated ones too,
-- and not the whole table.
function attention.embedding(b, name, tokens, o)
  local length = tokens.shape[1]
  local n = b.batch * length * o.width
  return b:op {
    name = name, kind = "embedding", inputs = { tokens }, shape = { length, o.width }, flop = 0,
    grad_weight_flop = n, moved = tokens.elements + 2 * n, split = true, saves = { true },
    deferred = o.deferred, grad_rows = o.rows and n + tokens.elements or nil,
    enters_weight = { true }, weight = o.weight or b:weight(name, o.vocab * o.width),
  }
end

local function scores(b, q, k, o)
  return b:op {
    name = "scores", kind = "matmul", inputs = { q, k },
    shape = { o.heads, q.shape[1], k.shape[1] }, saves = { true, true },
    product = { m = q.shape[1], n = k.shape[1], k = o.head, copies = b.batch * o.heads },
  }
end

local function context(b, p, v, o)
  return b:op {
    name = "context", kind = "matmul", inputs = { p, v }, shape = { p.shape[2], o.heads * o.head },
    saves = { true, true },
    product = { m = p.shape[2], n = o.head, k = p.shape[3], copies = b.batch * o.heads },
  }
end

-- Flash attention has as many keys as queries. Its kernel leaves out what a causal mask hides.
local function flash(b, q, k, o, causal)
  if q.shape[1] ~= k.shape[1] then return nil end
  return { batch = b.batch, seq = q.shape[1], heads = o.heads, kv_heads = o.kv_heads,
    head_size = o.head, full = not causal }
end

-- One kernel that keeps no scores and computes them again on the way back: five products instead of
-- four.
local function fused(b, q, k, v, o, causal)
  local macs = 2 * b.batch * o.heads * q.shape[1] * k.shape[1] * o.head
  local softmax = layers.COST.softmax * b.batch * o.heads * q.shape[1] * k.shape[1]
  return b:op {
    name = "attention", kind = "attention", inputs = { q, k, v },
    shape = { q.shape[1], o.heads * o.head }, saves = { true, true, true }, saves_output = true,
    macs = macs, flop = 2 * macs + softmax, grad_flop = 5 * macs + 2 * softmax,
    attention = flash(b, q, k, o, causal),
  }
end

local function project(b, name, x, width, o)
  return layers.linear(b, name, x, { width = width, bias = o.bias })
end

local function rotate(b, name, x, o)
  if not o.rope then return x end
  return layers.elementwise(b, "rope", name, x, { inplace = true })
end

--- Attention of x over y, with its four projections. o: hidden, heads, kv_heads = heads, head =
-- hidden / heads, bias = true, rope = false, fused = false. causal: later tokens are masked.
function attention.attend(b, x, y, o, causal)
  o = { hidden = o.hidden, heads = o.heads, kv_heads = o.kv_heads or o.heads,
    head = o.hidden / o.heads, bias = o.bias, rope = o.rope, fused = o.fused }
  local q = rotate(b, "rope_q", project(b, "q", x, o.heads * o.head, o), o)
  local k = rotate(b, "rope_k", project(b, "k", y, o.kv_heads * o.head, o), o)
  local v = project(b, "v", y, o.kv_heads * o.head, o)
  local mixed
  if o.fused then
    mixed = fused(b, q, k, v, o, causal)
  else
    local p = layers.elementwise(b, "softmax", "softmax", scores(b, q, k, o),
      { inplace = true, saves_output = true })
    mixed = context(b, p, v, o)
  end
  return project(b, "out", mixed, o.hidden, o)
end

--- Two linear layers with an activation ("gelu" or "relu") between them.
function attention.feed_forward(b, x, o)
  local h = layers.linear(b, "ffn1", x, { width = o.ffn })
  if o.activation == "relu" then h = layers.relu(b, "relu", h)
  else h = layers.elementwise(b, "gelu", "gelu", h, { saves = { true } }) end
  return layers.linear(b, "ffn2", h, { width = o.hidden })
end

--- x + f(x), then a layer norm.
function attention.residual_norm(b, name, x, y)
  return layers.norm(b, "layer_norm", name .. "_norm", layers.add(b, name .. "_add", y, x))
end

--- What the option embedding_gradients may be. "rows" needs word tables that no layer product
-- shares: it would make a dense one.
attention.GRADIENTS = { default = "dense", kind = { "dense", "rows" } }

--- Refuses heads that do not divide the width.
function attention.check_heads(model, o)
  options.refuse(o.hidden % o.heads ~= 0, model, "hidden = %d is not a multiple of heads = %d",
    o.hidden, o.heads)
  options.refuse(o.kv_heads and o.heads % o.kv_heads ~= 0, model,
    "heads = %d is not a multiple of kv_heads = %d", o.heads, o.kv_heads)
end

return attention
