--- The page about a plan search: the best plan, its pipeline and memory, the time of others by kind
-- and why they are slower, the front of step and memory, what to change next, the launch script.
local bars = require "berth.report.bars"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local html = require "berth.report.html"
local launch = require "berth.llm.launch"
local options = require "berth.base.options"
local page_parts = require "berth.llm.page_parts"
local percent = require "berth.base.percent"
local pipeline = require "berth.llm.pipeline"
local scale = require "berth.report.scale"
local search = require "berth.llm.search"
local svg = require "berth.report.svg"
local texts = require "berth.llm.plan_text"

local page_plans = { figures = {} }

-- Kinds of time that are shown as one, with their colour.
local GROUPS = {
  { "computation", "c1", { "products", "attention", "elementwise", "launch" } },
  { "tensor parallelism", "c2", { "tp" } }, { "context parallelism", "c5", { "cp" } },
  { "expert parallelism", "c4", { "ep" } }, { "between stages", "c7", { "p2p" } },
  { "data parallelism", "c6", { "dp" } }, { "optimiser", "c3", { "optimizer" } },
  { "bubble", "c8", { "bubble" } },
}
local NAMES_WIDTH, MOST_ROWS, SLOWEST = 230, 12, 3
local HEIGHT, TOP = 220, 16

local function seconds(x) return scale.quantity(x, "seconds") end
local function bytes(x) return scale.quantity(x, "bytes") end

-- The best plan, those of other splits, the best of each kind: name, plan, estimate, loss, reason.
local function compared(r)
  local out = { { name = texts.split(r.best.plan), plan = r.best.plan, estimate = r.best, loss = 0,
    memory = r.best.memory[r.best.memory.worst].total, reason = "the best plan" } }
  for _, x in ipairs(r.others) do
    out[#out + 1] = options.merge(x, { name = texts.split(x.plan) })
  end
  for _, kind in ipairs(texts.kinds) do
    local x = r.kinds[kind[1]]
    if x and x ~= r.plans[1] then
      out[#out + 1] = options.merge(x, { name = kind[2] })
    end
  end
  return out
end

-- ---- time ---------------------------------------------------------------------------------------

local function time_of(e, group)
  local sum = 0
  for _, kind in ipairs(group[3]) do sum = sum + e.time[kind] end
  return sum
end

-- Groups in which some plan has time.
local function groups_of(rows)
  local out = {}
  for _, group in ipairs(GROUPS) do
    local most = 0
    for _, x in ipairs(rows) do most = math.max(most, time_of(x.estimate, group)) end
    if most > 0 then out[#out + 1] = group end
  end
  return out
end

function page_plans.figures.time(r)
  if not r.best then return nil end
  local list, rows, words, legend = compared(r), {}, {}, {}
  local groups = groups_of(list)
  for i, group in ipairs(groups) do legend[i] = { group[2], group[1] } end
  for i, x in ipairs(list) do
    local row = { name = x.name, strong = i == 1, parts = {},
      note = i == 1 and seconds(x.estimate.step)
        or ("%s, %s"):format(seconds(x.estimate.step), texts.signed(x.loss)) }
    for k, group in ipairs(groups) do
      local t = time_of(x.estimate, group)
      row.parts[k] = { value = t, class = group[2], tip = ("%s, %s: %s, %s"):format(x.name,
        group[1], seconds(t), percent(t / x.estimate.step)) }
    end
    rows[i], words[i] = row, ("%s %s"):format(x.name, row.note)
  end
  return bars.figure({ kind = "time", label = "Time of a step by kind, plan by plan",
    text = table.concat(words, "; "), left = NAMES_WIDTH }, rows, "seconds", legend)
end

local function reasons(r)
  local rows = { { "plan", "step", "against the best", "memory", "why" } }
  for i, x in ipairs(compared(r)) do
    local plan = texts.short(x.plan)
    if x.name ~= texts.split(x.plan) then plan = ("%s: %s"):format(x.name, plan) end
    rows[i + 1] = { plan, seconds(x.estimate.step), i == 1 and "-" or texts.signed(x.loss),
      bytes(x.memory), x.reason }
  end
  return html.grid(rows, { true, [5] = true })
end

local function numbers(r)
  local list = compared(r)
  local groups, rows = groups_of(list), { { "plan" } }
  for k, group in ipairs(groups) do rows[1][k + 1] = group[1] end
  for i, x in ipairs(list) do
    rows[i + 1] = { x.name }
    for k, group in ipairs(groups) do rows[i + 1][k + 1] = seconds(time_of(x.estimate, group)) end
  end
  return ("<details><summary>The same in numbers</summary>%s</details>"):format(html.grid(rows))
end

-- ---- step and memory ----------------------------------------------------------------------------

local function front_point(out, x, at, high, class, words)
  out:dot(at(x.memory), high(x.closed), class, ("%s%s, %s: %s"):format(words, bytes(x.memory),
    seconds(x.closed), texts.short(x.plan)))
end

-- Lines at round times, and at the limit of the memory if it is within the picture.
local function front_axes(out, at, high, top, most, limit)
  local bottom = TOP + HEIGHT
  out:rect(svg.LEFT, TOP, svg.RIGHT - svg.LEFT, HEIGHT, "lane")
  svg.axis(out, at, most, "bytes", TOP, bottom)
  local values, text_of = scale.labelled(top, "seconds", 5)
  for _, value in ipairs(values) do
    out:line(svg.LEFT, high(value), svg.RIGHT, high(value), "rule")
    out:print(svg.LEFT - 8, high(value) + 4, text_of(value), "end small faint")
  end
  if limit <= most then out:line(at(limit), TOP, at(limit), bottom, "limit") end
end

-- What the memory's axis ends at: the limit, or where plans need far less, a little above them.
local function front_extent(r)
  local limit, most = 0, 0
  for _, g in ipairs(r.cluster.groups) do limit = math.max(limit, g.memory) end
  for _, x in ipairs(r.front) do most = math.max(most, x.memory) end
  return most < 0.5 * limit and 1.2 * most or limit, limit
end

--- Less memory costs time: the least step within each memory.
function page_plans.figures.front(r)
  local list = r.front or {}
  if #list == 0 then return nil end
  local extent, limit = front_extent(r)
  local top = math.min(SLOWEST * list[1].closed, 1.1 * list[#list].closed)
  local at = scale.linear(extent, svg.LEFT, svg.RIGHT)
  local high = scale.linear(top, TOP + HEIGHT, TOP)
  local out = svg.picture { kind = "front", label = "Least step by memory of a GPU",
    text = ("%s: from %s in %s to %s in %s"):format(scale.count(#list, "plan"),
      bytes(list[1].memory), seconds(list[1].closed), bytes(list[#list].memory),
      seconds(list[#list].closed)) }
  front_axes(out, at, high, top, extent, limit)
  local path, drawn = { ("M%s %s"):format(scale.number(at(extent)),
    scale.number(high(list[1].closed))) }, 0
  for i, x in ipairs(list) do
    if x.closed > top then break end
    path[i + 1] = ("V%sH%s"):format(scale.number(high(x.closed)), scale.number(at(x.memory)))
    drawn = i
  end
  out:path(table.concat(path), "near")
  for i = 1, drawn do front_point(out, list[i], at, high, "c1", "") end
  local best = r.best and r.plans[1]
  if best then
    local on_loop = { memory = best.memory, closed = r.best.step, plan = r.best.plan }
    front_point(out, on_loop, at, high, "peak", "the best, ")
  end
  local y = TOP + HEIGHT + 40
  y = y + svg.legend(out, { { "c1", "best in closed form", "dot" },
    { "peak", "the answer, on the event loop", "dot" },
    limit <= extent and { "limit", "memory of a GPU", "line" } or nil }, svg.LEFT, svg.RIGHT, y)
  out.height = svg.notes(out, svg.LEFT, y, { #list > drawn
    and ("Not drawn: %s of more than %s."):format(scale.count(#list - drawn, "plan"),
      seconds(top)) })
  return out
end

local function front_section(r)
  local rows, least = { { "memory", "step", "against the least", "plan" } }, r.front[1].closed
  for i, x in ipairs(r.front) do
    rows[i + 1] = { bytes(x.memory), seconds(x.closed), texts.signed(x.closed / least - 1),
      texts.short(x.plan) }
  end
  local grid = html.grid(rows, { [4] = true })
  if #r.front > MOST_ROWS then
    grid = ("<details><summary>The same in numbers</summary>%s</details>"):format(grid)
  end
  return html.section("front", "Step and memory", "For each point no other plan has less memory "
    .. "and a shorter step, in closed form.", html.figure(page_plans.figures.front(r)) .. grid)
end

function page_plans.figures.memory(r)
  local memory = r.best and r.best.memory or r.least
  return memory and page_parts.memory_figure(memory)
end

-- ---- tables and lists ---------------------------------------------------------------------------

local function changes_section(list)
  local rows = { { "change", "step", "against now", "plan" } }
  for i, x in ipairs(list) do
    rows[i + 1] = { x.text, seconds(x.step), x.change and texts.signed(x.change) or "-",
      texts.short(x.plan) }
  end
  return html.section("changes", "What to change next", nil, html.grid(rows, { true, [4] = true }))
end

local function launch_section(r)
  local script, why = launch.export(r.model, r.cluster, r.best.plan, "slurm")
  if not script then
    return html.section("launch", "Launch", nil, "<p>" .. svg.escape(why) .. "</p>")
  end
  local notes = {}
  for i, note in ipairs(script.notes) do notes[i] = { "note", note } end
  return html.section("launch", "Launch", "The Slurm script that starts the best plan.",
    html.code(script.text) .. html.list(notes))
end

local function plan_words(p) return (tostring(p):gsub("^plan: ", "")) end

local function answer_section(r)
  local e = r.best
  local list = { { "plan", plan_words(e.plan) } }
  for _, line in ipairs { texts.layers(e) or "", texts.memory(e), texts.time(e), texts.bound(r),
      search.counts_text(r) } do
    local name, rest = line:match "^([%a ]-): (.*)$"
    if name then list[#list + 1] = { name, rest }
    elseif line ~= "" then list[#list + 1] = { "layers", line } end
  end
  if r.cost then
    list[#list + 1] = { "cost", core.sprintf("%.3g for a million tokens", r.cost) }
  end
  list[#list + 1] = { "fitted to", (estimate.rows_text(e):gsub("^fitted to: ", "")) }
  return html.section("answer", "The best plan", nil, html.list(list))
end

local function made(r, given)
  local asked = page_parts.values_text(options.join(options.described "llm.plan",
    options.described "llm.fill"), r.options)
  local more = { { "options", asked } }
  if r.best then
    more[2] = { "all of the plan", page_parts.values_text(options.described "llm.fill",
      r.best.plan) }
  end
  return page_parts.made(given.command, r.model, r.cluster, more, r.best)
end

-- ---- the page -----------------------------------------------------------------------------------

local function changes_of(r, given)
  return given.changes or require("berth.llm").changes(r)
end

-- Where no plan fits: what the one with least memory lacks.
local function without_plan(r, given)
  local sections, changes = {}, changes_of(r, given)
  if r.least then sections[1] = page_parts.memory_section(r.least) end
  if #changes > 0 then sections[#sections + 1] = changes_section(changes) end
  sections[#sections + 1] = made(r, given)
  return html.page(page_parts.title(r, given), "no plan fits",
    ('<p class="warning">%s</p>%s<p>%s</p>'):format(svg.escape(search.lack_text(r):match "^[^\n]*"),
      r.least and ("<p>least memory: %s</p>"):format(svg.escape(plan_words(r.least.plan))) or "",
      svg.escape(search.counts_text(r))), sections)
end

--- The page.
-- @tparam table r of berth.llm.plan
-- @tparam ?result result of the best plan
-- @tparam table given options of the page
-- @treturn string
function page_plans.page(r, result, given)
  local e = r.best
  if not e then return without_plan(r, given) end
  local changes = changes_of(r, given)
  local sections = {
    answer_section(r),
    html.section("time", "Time by kind", "Of the stage with most work; why others are worse is in "
      .. "the table.", html.figure(page_plans.figures.time(r)) .. reasons(r) .. numbers(r)),
    page_parts.pipeline_section(pipeline(result)),
    page_parts.memory_section(e.memory),
  }
  if #r.front > 0 then sections[#sections + 1] = front_section(r) end
  if #changes > 0 then sections[#sections + 1] = changes_section(changes) end
  sections[#sections + 1] = launch_section(r)
  sections[#sections + 1] = made(r, given)
  return html.page(page_parts.title(r, given), tostring(e.plan),
    page_parts.warning(e.memory) .. page_parts.tiles(e, {
      html.tile("over the bound", percent(r.gap), "no plan is faster than " .. seconds(r.bound)) }),
    sections)
end

return page_plans
