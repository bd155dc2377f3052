-- m-TOPO as published: devices in turn, each filled up to an equal share.
--
-- In topological order, whatever the devices really hold. Takes a case as support.sct_reference
-- does. Returns the device of every op, or nil if some are left.
local function number_of_readers(case)
  local left, children, seen = {}, {}, {}
  for i = 1, #case.ops do left[i], children[i] = 0, {} end
  for _, tensor in ipairs(case.tensors) do
    for _, to in ipairs(tensor.to) do
      if not seen[tensor.from .. ">" .. to] then
        seen[tensor.from .. ">" .. to] = true
        left[to] = left[to] + 1
        table.insert(children[tensor.from], to)
      end
    end
  end
  return left, children
end

local function topological_order(case)
  local left, children = number_of_readers(case)
  local order, head = {}, 1
  for i = 1, #case.ops do
    if left[i] == 0 then order[#order + 1] = i end
  end
  while head <= #order do
    for _, to in ipairs(children[order[head]]) do
      left[to] = left[to] - 1
      if left[to] == 0 then order[#order + 1] = to end
    end
    head = head + 1
  end
  return order
end

local function by_id(case)
  local order = {}
  for i = 1, #case.ops do order[i] = i end
  return order
end

local function stored(case, i)
  local sum = case.ops[i].persistent
  for _, tensor in ipairs(case.tensors) do
    if tensor.from == i then sum = sum + tensor.bytes end
  end
  return sum
end

-- The op, or all of its group that is not placed yet.
local function pulled(case, i, device)
  if not case.ops[i].group then return { i } end
  local members = {}
  for j, op in ipairs(case.ops) do
    if op.group == case.ops[i].group and not device[j] then members[#members + 1] = j end
  end
  return members
end

-- Sizes, and the test of what is pulled together against the cap.
local account = {}
account.tf = {
  order = topological_order,
  size = function(case, i) return stored(case, i) + case.ops[i].temporary end,
  fits = function(case, members, used, cap)
    local first = case.ops[members[1]]
    if not first.group then return used + account.tf.size(case, members[1]) <= cap end
    local temporary, persistent = 0, 0
    for _, i in ipairs(members) do
      temporary, persistent = math.max(temporary, case.ops[i].temporary),
        persistent + case.ops[i].persistent
    end
    return used + temporary + persistent < cap
  end,
}
account.pt = {
  order = by_id,
  size = stored,
  fits = function(case, members, used, cap)
    return used + stored(case, members[1]) + case.ops[members[1]].temporary <= cap
  end,
}

return function(case)
  local rule, n = account[case.account], #case.memory
  local sum, largest, device, at = 0, 0, {}, 1
  for i = 1, #case.ops do
    sum, largest = sum + rule.size(case, i), math.max(largest, rule.size(case, i))
  end
  local cap, order = math.floor(sum / n) + largest, rule.order(case)
  for d = 1, n do
    local used = 0
    while order[at] do
      local members = pulled(case, order[at], device)
      if not rule.fits(case, members, used, cap) then break end
      for _, i in ipairs(members) do
        device[i] = d
        used = used + rule.size(case, i)
      end
      while order[at] and device[order[at]] do at = at + 1 end
    end
  end
  if order[at] then return nil end
  return device
end
