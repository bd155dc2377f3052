--- Layers: each adds its arrays to parameters under its name, and is a callable that prints one
-- line.
-- @module berth.nn.layers
local core = require "berth.core"
local options = require "berth.base.options"

local layers = {}

-- What follows nn.linear as a method; it does the others itself.
local after = { gelu = true, softplus = true }

local activations = {
  { name = "none", text = "x." }, { name = "relu", text = "The larger of x and 0." },
  { name = "leaky_relu", text = "x, below 0 times slope." },
  { name = "sigmoid", text = "1 / (1 + exp(-x))." }, { name = "tanh", text = "tanh x." },
  { name = "gelu", text = "x times the normal distribution at x." },
  { name = "softplus", text = "log(1 + exp x)." },
}
local function activation_row(key, default, text)
  return { key = key, type = "choice", default = default, text = text, choices = activations }
end
local slope_row = { key = "slope", type = "number", default = "0.01", low = -math.huge,
  high = math.huge, text = "of leaky_relu" }
local init_row = { key = "init", type = "name or table", default = "orthogonal",
  text = "start of the weights, as of parameters:add" }

options.declare("nn.linear", {
  activation_row("activation", "none", "what follows"), slope_row,
  { key = "bias", type = "flag", default = "true", text = "adds a bias" }, init_row,
})
options.declare("nn.mlp", {
  activation_row("activation", "relu", "between layers"),
  activation_row("last", "none", "after the last layer"), slope_row, init_row,
})

local function check_place(fn, p, name)
  options.refuse(core.kind(p) ~= "parameters", "%s: expected parameters, got %s", fn, core.kind(p))
  options.expect(name, "string", "%s: name", fn)
end

local function check_size(fn, what, n)
  if type(n) ~= "number" or n < 1 or n ~= math.floor(n) then
    local got = type(n) == "number" and core.sprintf("%.14g", n) or core.kind(n)
    options.fail("%s: %s: expected a whole number above 0, got %s", fn, what, got)
  end
  return n
end

-- A table that `call` makes callable; text is what it prints.
local function layer(self, text, call)
  return setmetatable(self, { __call = call, __tostring = function() return text end })
end

--- x [..., n_in] to activation(x w + b) [..., n_out].
-- @param p parameters: gets name.weight [n_in, n_out] and name.bias [n_out]
-- @tparam string name
-- @tparam int n_in
-- @tparam int n_out
-- @tparam[opt] table opts as declared above
-- @return callable x -> array
function layers.linear(p, name, n_in, n_out, opts)
  local fn = "berth.nn.linear"
  check_place(fn, p, name)
  local given = options.read(fn, "nn.linear", opts)
  local activation, slope = given.activation or "none", given.slope or 0.01
  local w = p:add(name .. ".weight",
    { check_size(fn, "n_in", n_in), check_size(fn, "n_out", n_out) }, given.init or "orthogonal")
  local b = given.bias ~= false and p:add(name .. ".bias", { n_out }, "zeros") or nil
  local kernel, method = after[activation] and "none" or activation,
    after[activation] and activation
  local function call(_, x)
    local out = x:linear(w, b, kernel, slope)
    if method then return out[method](out) end
    return out
  end
  local text = ("linear '%s': %d -> %d%s"):format(name, n_in, n_out,
    activation == "none" and "" or ", " .. activation)
  return layer({ weight = w, bias = b }, text, call)
end

--- Linear layers one after the other: name.1, name.2, ...
-- @param p parameters
-- @tparam string name
-- @tparam {int,...} sizes of what goes in, of what is between, and of what comes out
-- @tparam[opt] table opts as declared above
-- @return callable x -> array
function layers.mlp(p, name, sizes, opts)
  local fn = "berth.nn.mlp"
  check_place(fn, p, name)
  local given = options.read(fn, "nn.mlp", opts)
  options.refuse(type(sizes) ~= "table" or #sizes < 2,
    "%s: sizes: expected a table of at least 2 numbers", fn)
  local inner, last = given.activation or "relu", given.last or "none"
  local self, shown = {}, {}
  for i = 1, #sizes do
    shown[i] = ("%d"):format(check_size(fn, ("sizes[%d]"):format(i), sizes[i]))
  end
  for i = 1, #sizes - 1 do
    local activation = i < #sizes - 1 and inner or last
    self[i] = layers.linear(p, name .. "." .. ("%d"):format(i), sizes[i], sizes[i + 1],
      { activation = activation, slope = given.slope, init = given.init })
  end
  return layer(self, ("mlp '%s': %s, %s"):format(name, table.concat(shown, " -> "), inner),
    function(_, x)
    for i = 1, #self do x = self[i](x) end
    return x
  end)
end

--- A gated recurrent unit: x [rows, n_in] and h [rows, n] to the next h. All starts uniform in +-1
-- / sqrt(n), as in PyTorch.
-- @param p parameters: gets name.wx [n_in, 3 n], name.wh [n, 3 n], name.bx and name.bh [3 n]
-- @tparam string name
-- @tparam int n_in
-- @tparam int n
-- @return callable x, h -> array
function layers.gru_cell(p, name, n_in, n)
  local fn = "berth.nn.gru_cell"
  check_place(fn, p, name)
  check_size(fn, "n_in", n_in)
  check_size(fn, "n", n)
  local start = { "uniform", 1 / math.sqrt(n) }
  local wx, wh = p:add(name .. ".wx", { n_in, 3 * n }, start), p:add(name .. ".wh", { n, 3 * n },
    start)
  local bx, bh = p:add(name .. ".bx", { 3 * n }, start), p:add(name .. ".bh", { 3 * n }, start)
  local gru = core.nn_gru
  return layer({ wx = wx, wh = wh, bx = bx, bh = bh }, ("gru cell '%s': %d, %d -> %d"):format(name,
    n_in, n, n),
    function(_, x, h) return gru(x, h, wx, wh, bx, bh) end)
end

--- Every row less its mean, by its deviation, times a gain, plus a bias.
-- @param p parameters: gets name.gain and name.bias [n]
-- @tparam string name
-- @tparam int n
-- @return callable x -> array
function layers.norm(p, name, n)
  check_place("berth.nn.norm", p, name)
  check_size("berth.nn.norm", "n", n)
  local gain, bias = p:add(name .. ".gain", { n }, { "constant", 1 }),
    p:add(name .. ".bias", { n }, "zeros")
  return layer({ gain = gain, bias = bias }, ("norm '%s': %d"):format(name, n),
    function(_, x) return x:layer_norm(gain, bias) end)
end

local function projections(fn, p, name, dim, heads)
  check_place(fn, p, name)
  check_size(fn, "dim", dim)
  check_size(fn, "heads", heads)
  options.refuse(dim % heads ~= 0, "%s: dim: %d cannot be shared by %d heads", fn, dim, heads)
  local self = {}
  for _, part in ipairs { "q", "k", "v", "out" } do
    self[part] = layers.linear(p, name .. "." .. part, dim, dim, { init = "xavier" })
  end
  return self
end

--- Attention in several heads, with projections before and after.
-- @param p parameters: gets linear layers name.q, name.k, name.v and name.out
-- @tparam string name
-- @tparam int dim
-- @tparam int heads a divisor of dim
-- @return callable q, k, v, mask -> array of q's shape; mask as in nn.attention
function layers.multi_head(p, name, dim, heads)
  local self = projections("berth.nn.multi_head", p, name, dim, heads)
  local attention = core.nn_attention
  return layer(self, ("multi head '%s': %d in %d heads"):format(name, dim, heads),
    function(_, q, k, v, mask)
      return self.out(attention(self.q(q), self.k(k), self.v(v), heads, mask))
    end)
end

--- The same of one array with itself.
-- @return callable x, mask -> array of x's shape
function layers.self_attention(p, name, dim, heads)
  local self = projections("berth.nn.self_attention", p, name, dim, heads)
  local attention = core.nn_attention
  return layer(self, ("self attention '%s': %d in %d heads"):format(name, dim, heads),
    function(_, x, mask)
      return self.out(attention(self.q(x), self.k(x), self.v(x), heads, mask))
    end)
end

return layers
