-- Graphs of docs/how-good.md that are neither models nor files.
local berth = require "berth"
local graphs = {}

local WIDTH = 20

-- Layers of WIDTH ops, each reading one to three ops of the layer before; lognormal times, outputs of 0.1 to 10 MB.
function graphs.layered(ops)
  local rng, list, tensors = berth.rng(1), {}, {}
  for i = 1, ops or 500 do
    list[i] = { seconds = 1e-3 * math.exp(0.5 * rng:normal()), params = 1e6 }
    tensors[i] = { from = i, to = {}, bytes = math.floor(1e5 * 100 ^ rng:uniform()) }
    local layer = math.floor((i - 1) / WIDTH)
    local seen = {}
    for _ = 1, layer > 0 and rng:below(3) or 0 do
      local p = (layer - 1) * WIDTH + rng:below(WIDTH)
      if not seen[p] then table.insert(tensors[p].to, i) end
      seen[p] = true
    end
  end
  return assert(berth.graph { name = "layered", ops = list, tensors = tensors })
end

local TILE = 960 -- numbers on a side, of 8 bytes
local RATE = 5e12 -- FLOP/s of a device of speed 1 on its best kernel

-- Times of the four kernels: FLOP of a tile, and the share of the rate that each gets.
local KERNELS = {
  potrf = TILE ^ 3 / 3 / (0.1 * RATE), trsm = TILE ^ 3 / (0.5 * RATE), syrk = TILE ^ 3 / (0.7 * RATE), gemm = 2 * TILE ^ 3 / RATE,
}

--- A tiled Cholesky factorisation: every tile is written by a chain of kernels.
function graphs.cholesky(tiles)
  local n, ops, edges, last = tiles or 12, {}, {}, {}
  local function key(i, j) return i * 1000 + j end
  local function kernel(kind, i, j, reads)
    local id = #ops + 1
    ops[id] = { name = ("%s %d"):format(kind, id), kind = kind, seconds = KERNELS[kind] }
    reads[#reads + 1] = last[key(i, j)]
    for _, from in ipairs(reads) do edges[#edges + 1] = { from, id } end
    last[key(i, j)] = id
  end
  for k = 1, n do
    kernel("potrf", k, k, {})
    for i = k + 1, n do kernel("trsm", i, k, { last[key(k, k)] }) end
    for i = k + 1, n do
      kernel("syrk", i, i, { last[key(i, k)] })
      for j = k + 1, i - 1 do kernel("gemm", i, j, { last[key(i, k)], last[key(j, k)] }) end
    end
  end
  local to, tensors = {}, {}
  for id = 1, #ops do to[id] = {} end
  for _, edge in ipairs(edges) do table.insert(to[edge[1]], edge[2]) end
  for id = 1, #ops do tensors[id] = { from = id, to = to[id], bytes = 8 * TILE ^ 2 } end
  return assert(berth.graph { name = "cholesky", ops = ops, tensors = tensors })
end

--- Bytes of all parameters.
function graphs.parameters(g)
  local sum = 0
  for op in g:ops() do sum = sum + op.params end
  return sum
end

return graphs
