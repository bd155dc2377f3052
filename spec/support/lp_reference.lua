-- The linear program of favourite children on small graphs, by a plain dense tableau; and judges of what a solver claims. Shares
-- nothing with the library.
--
-- An instance is { p = { s per op }, edges = { { from, to, c } } }, each pair (from, to) once.
local lp = {}

local jit = rawget(_G, "jit")
if jit then jit.off(true, true) end -- thousands of traces, made and thrown away, would cost more than they save

--- From a description for berth.graph, on `devices` equal devices that tensors reach at `bandwidth` after `latency`.
function lp.instance(description, bandwidth, latency)
  local instance, at = { p = {}, edges = {} }, {}
  for i, op in ipairs(description.ops) do instance.p[i] = op.seconds end
  for _, tensor in ipairs(description.tensors) do
    for _, to in ipairs(tensor.to) do
      local key = tensor.from .. ">" .. to
      if not at[key] then
        at[key] = { from = tensor.from, to = to, c = 0 }
        table.insert(instance.edges, at[key])
      end
      at[key].c = at[key].c + (latency or 0) + tensor.bytes / bandwidth
    end
  end
  return instance
end

-- Ops so that every edge leads on.
local function order_of(instance)
  local left, order = {}, {}
  for i = 1, #instance.p do left[i] = 0 end
  for _, e in ipairs(instance.edges) do left[e.to] = left[e.to] + 1 end
  for i = 1, #instance.p do
    if left[i] == 0 then order[#order + 1] = i end
  end
  local head = 1
  while head <= #order do
    for _, e in ipairs(instance.edges) do
      if e.from == order[head] then
        left[e.to] = left[e.to] - 1
        if left[e.to] == 0 then order[#order + 1] = e.to end
      end
    end
    head = head + 1
  end
  return order
end

--- Longest path with lengths p + c (1 - y); y: array by edge, nil: no transfer costs anything.
function lp.longest_path(instance, y)
  local finish, longest = {}, 0
  for _, op in ipairs(order_of(instance)) do
    local start = 0
    for k, e in ipairs(instance.edges) do
      if e.to == op then start = math.max(start, finish[e.from] + (y and e.c * (1 - y[k]) or 0)) end
    end
    finish[op] = start + instance.p[op]
    longest = math.max(longest, finish[op])
  end
  return longest
end

--- Faults of y as a fractional matching.
function lp.matching_faults(instance, y)
  local out, into, faults = {}, {}, {}
  for k, e in ipairs(instance.edges) do
    if not (y[k] >= -1e-12 and y[k] <= 1 + 1e-9) then
      faults[#faults + 1] = ("y of %d > %d is %.17g"):format(e.from, e.to, y[k])
    end
    out[e.from], into[e.to] = (out[e.from] or 0) + y[k], (into[e.to] or 0) + y[k]
  end
  for i = 1, #instance.p do
    if (out[i] or 0) > 1 + 1e-9 then faults[#faults + 1] = ("out of %d: %.17g"):format(i, out[i]) end
    if (into[i] or 0) > 1 + 1e-9 then faults[#faults + 1] = ("into %d: %.17g"):format(i, into[i]) end
  end
  return faults
end

-- ---- simplex: max cost x, rows x <= right (not negative), x >= 0; Bland's rule ---------------------------------------------

local function pivot(rows, objective, r, c)
  local row, by = rows[r], rows[r][c]
  for j = 0, row.n do row[j] = row[j] / by end
  local function eliminate(other)
    local f = other[c]
    if f ~= 0 then
      for j = 0, row.n do other[j] = other[j] - f * row[j] end
    end
  end
  for i, other in ipairs(rows) do
    if i ~= r then eliminate(other) end
  end
  eliminate(objective)
end

local function entering(objective)
  for j = 1, objective.n do
    if objective[j] > 1e-9 then return j end
  end
end

local function leaving(rows, basis, c)
  local best, least
  for i, row in ipairs(rows) do
    if row[c] > 1e-9 then
      local ratio = row[0] / row[c]
      if not best or ratio < least - 1e-12 or (ratio <= least + 1e-12 and basis[i] < basis[best]) then best, least = i, ratio end
    end
  end
  return assert(best, "unbounded")
end

local function simplex(rows, objective)
  local basis = {}
  for i = 1, #rows do basis[i] = objective.n - #rows + i end
  while true do
    local c = entering(objective)
    if not c then return -objective[0] end
    local r = leaving(rows, basis, c)
    basis[r] = c
    pivot(rows, objective, r, c)
  end
end

--- The value, as that of the dual: flow f on edges and g out of every op, potentials u and v of the two sides of the matching,
-- of which the origin is feasible.
--   max sum (p + c) f + sum p g - sum u - sum v;  into an op <= out of it;  sum g <= 1;  c f <= u + v on every edge
function lp.value(instance)
  local n, m = #instance.p, #instance.edges
  local columns, n_rows = m + 3 * n, n + 1 + m
  local width = columns + n_rows
  local rows, objective = {}, { n = width }
  for j = 0, width do objective[j] = 0 end
  for i = 1, n_rows do
    rows[i] = { n = width }
    for j = 0, width do rows[i][j] = 0 end
    rows[i][columns + i] = 1
  end
  rows[n + 1][0] = 1
  for k, e in ipairs(instance.edges) do
    objective[k] = instance.p[e.from] + e.c
    rows[e.to][k], rows[e.from][k] = 1, -1
    rows[n + 1 + k][k] = e.c
    rows[n + 1 + k][m + n + e.from], rows[n + 1 + k][m + 2 * n + e.to] = -1, -1
  end
  for i = 1, n do
    objective[m + i], objective[m + n + i], objective[m + 2 * n + i] = instance.p[i], -1, -1
    rows[i][m + i], rows[n + 1][m + i] = -1, 1
  end
  return simplex(rows, objective)
end

-- ---- integral matchings --------------------------------------------------------------------------------------------------

-- Calls visit(y) for every matching, y in 0 and 1 by edge.
local function each_matching(instance, visit)
  local y, out, into = {}, {}, {}
  local function extend(k)
    local e = instance.edges[k]
    if not e then return visit(y) end
    y[k] = 0
    extend(k + 1)
    if not out[e.from] and not into[e.to] then
      y[k], out[e.from], into[e.to] = 1, true, true
      extend(k + 1)
      y[k], out[e.from], into[e.to] = 0, nil, nil
    end
  end
  extend(1)
end

--- Least longest path over all matchings: nothing of the linear program is above it.
function lp.best_matching(instance)
  local best = math.huge
  each_matching(instance, function(y) best = math.min(best, lp.longest_path(instance, y)) end)
  return best
end

--- Largest sum of weights of a matching, weights by edge. (Of fractional matchings as well: the pairs are bipartite.)
local function heaviest_matching(instance, weight)
  local best = 0
  each_matching(instance, function(y)
    local sum = 0
    for k = 1, #weight do sum = sum + weight[k] * y[k] end
    best = math.max(best, sum)
  end)
  return best
end

--- What a flow proves: no value is below it. Also how much flow begins anywhere, which must not pass 1.
function lp.proved_by(instance, flow)
  local out, into, weight, sum = {}, {}, {}, 0
  for k, e in ipairs(instance.edges) do
    out[e.from], into[e.to] = (out[e.from] or 0) + flow[k], (into[e.to] or 0) + flow[k]
    weight[k] = e.c * flow[k]
    sum = sum + weight[k]
  end
  local begun = 0
  for i = 1, #instance.p do
    local through = math.max(out[i] or 0, into[i] or 0)
    sum = sum + instance.p[i] * through
    begun = begun + math.max(0, (out[i] or 0) - (into[i] or 0))
  end
  return sum - heaviest_matching(instance, weight), begun
end

return lp
