--- What accepted jobs take at least: servers and seconds of each model for each decision, over the
-- forms of free blocks.
local choices = {}

local known = setmetatable({}, { __mode = "k" })

-- Marks of all servers but those of a box at the first one. Servers are numbered slot by slot, rack
-- by rack.
local function all_but(size, box)
  local busy = {}
  for c = 0, size.groups - 1 do
    for r = 0, size.racks - 1 do
      for s = 0, size.slots - 1 do
        busy[#busy + 1] = (c < box[1] and r < box[2] and s < box[3]) and 0 or 1
      end
    end
  end
  return busy
end

-- Boxes with room for so many pieces, and not for twice as many again.
local function boxes(size, pieces)
  local list = {}
  for a = 1, size.groups do
    for b = 1, size.racks do
      for c = 1, size.slots do
        local room = a * b * c
        if room >= pieces and room <= 2 * pieces then
          list[#list + 1] = all_but(size, { a, b, c })
        end
      end
    end
  end
  return list
end

-- Above so many servers blocks are only placed where they fit first: others differ in
-- what lies beside.
local FEW_SERVERS = 64

-- Forms of legal blocks of a x b servers, as they are searched.
local function add_forms(list, size, a, b)
  local m = math.floor(math.sqrt(a) + 0.5)
  if m * m == a and m <= size.groups and m <= size.racks and b <= size.slots then
    list[#list + 1] = { m, m, b }
  end
  if a <= size.groups and a <= size.racks and b <= size.slots then
    list[#list + 1], list[#list + 2] = { a, 1, b }, { a, b, 1 }
  end
end

-- docs/pacml.md, "Plans". A fourth entry: along the diagonal of groups and racks.
local function forms(size, k)
  local list = {}
  for b = 1, k do
    if math.fmod(k, b) == 0 then add_forms(list, size, k / b, b) end
  end
  if k <= size.groups then list[#list + 1] = { k, 1, 1 } end
  if k <= size.groups and k <= size.racks then list[#list + 1] = { k, k, 1, true } end
  local fitting = {}
  for _, form in ipairs(list) do
    if form[2] <= size.racks then fitting[#fitting + 1] = form end
  end
  return fitting
end

local function block_at(size, form, g, r, s)
  local servers = {}
  for c = 0, form[1] - 1 do
    for d = form[4] and c or 0, form[4] and c or form[2] - 1 do
      for e = 0, form[3] - 1 do
        servers[#servers + 1] = ((g + c) * size.racks + r + d) * size.slots + s + e + 1
      end
    end
  end
  return servers
end

local function blocks(size, k)
  local list, few = {}, size.groups * size.racks * size.slots <= FEW_SERVERS
  for _, form in ipairs(forms(size, k)) do
    for g = 0, few and size.groups - form[1] or 0 do
      for r = 0, few and size.racks - form[2] or 0 do
        for s = 0, few and size.slots - form[3] or 0 do
          list[#list + 1] = block_at(size, form, g, r, s)
        end
      end
    end
  end
  return list
end

-- Whatever block it gets, a job holds as many servers as its most cut op has pieces.
local function least(env, model, decision)
  local size, plan = env.ramp.options, env.ramp:plan(model, decision)
  if not plan.placed then return nil end
  local step, pieces = plan.step, plan.pieces
  local function try(opts)
    plan = env.ramp:plan(model, decision, opts)
    if plan.placed then step = math.min(step, plan.step) end
  end
  for _, busy in ipairs(boxes(size, pieces)) do try { busy = busy } end
  for _, block in ipairs(blocks(size, pieces)) do try { block = block } end
  return { pieces, env.steps * step }
end

local function decisions(most)
  local list = { 1 }
  for k = 2, most, 2 do list[#list + 1] = k end
  return list
end

--- @treturn table for each model an array of { servers, seconds, decision }; found once per env
function choices.of(env)
  if known[env] then return known[env] end
  local all = {}
  for i, model in ipairs(env.models) do
    all[i] = {}
    for _, decision in ipairs(decisions(env.most)) do
      local choice = least(env, model, decision)
      if choice then
        choice[3] = decision
        table.insert(all[i], choice)
      end
    end
  end
  known[env] = all
  return all
end

--- The choices of one job that meet its deadline, with room for rounding, and end by the horizon.
function choices.feasible(env, job, horizon)
  local list = {}
  for _, choice in ipairs(choices.of(env)[job.model]) do
    local seconds = choice[2]
    if seconds <= job.beta * env.sequential[job.model] * (1 + 1e-9)
        and job.arrival + seconds <= horizon * (1 + 1e-9) then
      list[#list + 1] = choice
    end
  end
  return list
end

return choices
