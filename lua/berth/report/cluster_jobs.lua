--- Jobs on GPUs over time. A row per GPU where there are at most MOST_GPUS, else a row per machine
-- (or for several) that is darker the more of it is in use. What is narrower than a pixel is drawn
-- once per row and column, so that the size of the file depends on the rows.
local colours = require "berth.report.colours"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local jobs = {}

local MOST_GPUS, MOST_ROWS, MOST_TIPS, TIP_WIDTH, LEVELS = 64, 60, 400, 5, 5
local HEIGHT = 360

--- GPUs of machine m (of its first resource; 1 where machines have no capacity).
function jobs.capacity(r, m)
  local c = r.options.capacity
  if type(c) ~= "table" then return c or 1 end
  return type(c[1]) == "table" and c[m][1] or c[1]
end

--- Sum of jobs.capacity over all machines.
function jobs.total(r)
  local sum = 0
  for m = 1, r.machines do sum = sum + jobs.capacity(r, m) end
  return sum
end

--- GPUs that a run has on the k-th of its machines; without amounts, all.
function jobs.amount(r, run, k)
  return run.amounts and run.amounts[k] or jobs.capacity(r, run.machines[k])
end

-- Whether GPUs are whole and few enough for a row each.
local function has_rows(r)
  if jobs.total(r) > MOST_GPUS then return false end
  for m = 1, r.machines do
    if jobs.capacity(r, m) % 1 ~= 0 then return false end
  end
  for _, run in ipairs(r.runs) do
    for k in ipairs(run.machines) do
      if jobs.amount(r, run, k) % 1 ~= 0 then return false end
    end
  end
  return true
end

-- ---- a row per GPU ------------------------------------------------------------------------------

-- The first `n` GPUs of a machine that are free, neighbours if there are so many beside each other.
local function free_gpus(ends, first, size, n, time)
  local free, in_row = {}, 0
  for g = first, first + size - 1 do
    if ends[g] <= time then
      free[#free + 1], in_row = g, in_row + 1
      if in_row == n then
        local out = {}
        for k = 1, n do out[k] = g - n + k end
        return out
      end
    else
      in_row = 0
    end
  end
  local out = {}
  for k = 1, n do out[k] = free[k] end
  return out
end

-- Blocks { job, run, gpu = first, n = neighbours, from, to }: runs in order of their start.
local function blocks_of(r, most)
  local first, ends, order, out, next_gpu = {}, {}, {}, {}, 1
  for m = 1, r.machines do
    first[m], next_gpu = next_gpu, next_gpu + jobs.capacity(r, m)
  end
  for g = 1, next_gpu - 1 do ends[g] = 0 end
  for i, run in ipairs(r.runs) do order[i] = { run = run, i = i } end
  table.sort(order, function(a, b)
    if a.run.start ~= b.run.start then return a.run.start < b.run.start end
    return a.i < b.i
  end)
  for _, one in ipairs(order) do
    local run = one.run
    local to = run.finish or most
    for k, m in ipairs(run.machines) do
      local list = free_gpus(ends, first[m], jobs.capacity(r, m), jobs.amount(r, run, k), run.start)
      local last
      for _, g in ipairs(list) do
        ends[g] = to
        if last and last.gpu + last.n == g then last.n = last.n + 1
        else
          last = { run = run, gpu = g, n = 1, from = run.start, to = to }
          out[#out + 1] = last
        end
      end
    end
  end
  return out, first
end

-- Number, name, GPUs and times of a run.
local function tip(r, run)
  local record, to = r.records[run.job], run.finish
  local name = record.name and record.name ~= "" and ("job %.0f (%s)"):format(run.job, record.name)
    or ("job %.0f"):format(run.job)
  local gpus = 0
  for k in ipairs(run.machines) do gpus = gpus + jobs.amount(r, run, k) end
  local size = scale.count(#run.machines, "machine")
  if run.amounts then
    size = ("%s %s on %s"):format(scale.number(gpus), gpus == 1 and "GPU" or "GPUs", size)
  end
  return ("%s: %s, %s to %s"):format(name, size, scale.duration(run.start),
    to and scale.duration(to) or "the end")
end

-- Blocks above this width have a tip: TIP_WIDTH, or more if they would be too many.
local function tip_width(blocks, at)
  local widths = {}
  for _, b in ipairs(blocks) do
    local w = at(b.to) - at(b.from)
    if w >= TIP_WIDTH then widths[#widths + 1] = w end
  end
  if #widths <= MOST_TIPS then return TIP_WIDTH end
  table.sort(widths, function(a, b) return a > b end)
  return widths[MOST_TIPS + 1] * (1 + 1e-9)
end

-- The widest blocks have tips; the others share a path per colour.
local function add_blocks(out, r, blocks, row, at, height)
  local paths, narrow, least = {}, {}, tip_width(blocks, at)
  for _, b in ipairs(blocks) do
    local x, class = at(b.from), colours.cyclic((b.run.job - 1) % 7 + 1)
    local w, h = at(b.to) - x, b.n * height
    if w >= least then
      out:rect(x, row(b.gpu), w - 0.4, h - 0.6, class, tip(r, b.run))
      local text = ("%.0f"):format(b.run.job)
      if h >= 12 and svg.width(text, 11) + 4 <= w then
        out:print(x + 3, row(b.gpu) + h / 2 + 4, text, "in")
      end
    else
      local key = ("%.0f %d %.0f"):format(b.gpu, math.floor(x), b.n)
      if w >= 1 or not narrow[key] then
        narrow[key] = true
        paths[class] = paths[class] or {}
        table.insert(paths[class], svg.block(x, row(b.gpu), math.max(0.9 * w, 0.4), h - 0.6))
      end
    end
  end
  for k = 1, 7 do
    local class = colours.cyclic(k)
    if paths[class] then out:path(table.concat(paths[class]), class) end
  end
end

-- Lanes of all GPUs; names of machines, or of GPUs if there is one machine.
local function add_lanes(out, r, first, row, height, gpus)
  local last = -1e9
  for g = 1, gpus do
    out:rect(svg.LEFT, row(g), svg.RIGHT - svg.LEFT, height - 0.6, "lane")
    if r.machines == 1 and row(g) - last >= 13 then
      last = row(g)
      out:print(svg.LEFT - 8, row(g) + height / 2 + 4, ("GPU %.0f"):format(g - 1), "end small")
    end
  end
  for m = 1, r.machines > 1 and r.machines or 0 do
    if row(first[m]) - last >= 13 then
      last = row(first[m])
      local name = r.options.types and r.options.types[m] or ("machine %.0f"):format(m)
      out:print(svg.LEFT - 8, last + 11, svg.fit(name, svg.LEFT - 14, 11), "end small")
    end
  end
end

local function gpu_rows(out, r, at, most)
  local gpus = jobs.total(r)
  local height = math.max(6, math.min(18, math.floor(HEIGHT / gpus)))
  local function row(g) return 8 + (g - 1) * height end
  local blocks, first = blocks_of(r, most)
  add_lanes(out, r, first, row, height, gpus)
  svg.axis(out, at, most, "seconds", 8, 8 + gpus * height)
  add_blocks(out, r, blocks, row, at, height)
  return 8 + gpus * height, { "A colour per job; colours repeat." }
end

-- ---- a row per machine --------------------------------------------------------------------------

-- The row of each machine that runs something, the number of rows, of machines in a row, and of
-- machines that run something.
local function rows_of_machines(r)
  local busy, row_of, n = {}, {}, 0
  for _, run in ipairs(r.runs) do
    for _, m in ipairs(run.machines) do busy[m] = true end
  end
  for m = 1, r.machines do n = n + (busy[m] and 1 or 0) end
  local each, k = math.max(1, math.ceil(n / MOST_ROWS)), 0
  for m = 1, r.machines do
    if busy[m] then
      row_of[m] = math.floor(k / each) + 1
      k = k + 1
    end
  end
  return row_of, math.max(1, math.ceil(n / each)), each, n
end

local function machine_rows(out, r, at, most)
  local row_of, n_rows, each, n_used = rows_of_machines(r)
  local columns, used, size = 341, {}, {}
  for k = 1, n_rows do
    used[k], size[k] = jobs.windows(columns), 0
  end
  for m = 1, r.machines do
    local k = row_of[m]
    if k then size[k] = size[k] + jobs.capacity(r, m) end
  end
  for _, run in ipairs(r.runs) do
    for k, m in ipairs(run.machines) do
      jobs.add(used[row_of[m]], run.start, run.finish or most, jobs.amount(r, run, k), most)
    end
  end
  local height, pieces = math.max(4, math.min(18, math.floor(HEIGHT / n_rows))), {}
  local step = most / columns
  for level = 1, LEVELS do pieces[level] = {} end
  out:rect(svg.LEFT, 8, svg.RIGHT - svg.LEFT, n_rows * height, "lane")
  svg.axis(out, at, most, "seconds", 8, 8 + n_rows * height)
  for k = 1, n_rows do
    for w, x in ipairs(used[k]) do
      local level = math.min(LEVELS, math.ceil(x / size[k] * LEVELS - 1e-9))
      if level > 0 then
        table.insert(pieces[level], svg.block(at((w - 1) * step), 8 + (k - 1) * height,
          at(w * step) - at((w - 1) * step), height - 0.4))
      end
    end
  end
  for level = 1, LEVELS do
    if #pieces[level] > 0 then
      out[#out + 1] = ('<path d="%s" class="area" fill-opacity="%s"/>')
        :format(table.concat(pieces[level]), scale.number(level / LEVELS))
    end
  end
  local label = each > 1 and ("%.0f machines a row"):format(each) or "a row per machine"
  out:print(svg.LEFT - 8, 20, label, "end small faint")
  return 8 + n_rows * height, { "The stronger the colour, the more of the machine is in use.",
    n_used < r.machines and ("Not drawn: %s that run nothing."):format(
      scale.count(r.machines - n_used, "machine")) }
end

-- ---- sums over windows --------------------------------------------------------------------------

--- n windows of time with 0 each.
function jobs.windows(n)
  local out = {}
  for w = 1, n do out[w] = 0 end
  return out
end

--- Adds `amount` from `from` to `to` to the means of the windows of 0..most.
function jobs.add(windows, from, to, amount, most)
  local n = #windows
  local a, b = from / most * n, math.min(to / most * n, n)
  for w = math.floor(a) + 1, math.min(math.ceil(b), n) do
    windows[w] = windows[w] + amount * math.max(0, math.min(b, w) - math.max(a, w - 1))
  end
end

--- The picture of one result.
-- @tparam result r of berth.cluster.simulate
-- @tparam number i of the result: its kind is "jobs" and this
-- @tparam number most s, the right end
function jobs.figure(r, i, most)
  local out = svg.picture { kind = ("jobs%d"):format(i), label = "Jobs on GPUs: " .. r.scheduler,
    text = ("%s of %s over %s, a row per GPU or machine."):format(scale.count(#r.runs, "run"),
      scale.count(#r.records, "job"), scale.duration(most)) }
  local at = scale.linear(most, svg.LEFT, svg.RIGHT)
  local bottom, notes = (has_rows(r) and gpu_rows or machine_rows)(out, r, at, most)
  out.height = svg.notes(out, svg.LEFT, bottom + 22, notes)
  return out
end

return jobs
