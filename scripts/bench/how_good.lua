-- Every placer on 20 pairs of graph and topology, as the Markdown of docs/how-good.md; `--help`
-- prints the usage.
package.path = "scripts/bench/?.lua;scripts/tools/?.lua;spec/?.lua;" .. package.path
local lineup = require "how_good.lineup"
local markdown = require "markdown"
local measure = require "how_good.measure"
local all = require "how_good.pairs"
local text = require "how_good.text"

local shared = os.getenv("BERTH_SHARED") or "../shared"

local HELP = [[
usage: scripts/bench/how-good [options]
Every placer on 20 pairs of graph and topology. Without options it writes docs/how-good.md anew, with any it prints instead.

  --pairs LIST      only these, e.g. 1,5,12 (default: all)
  --calls N         simulations that each search may look at (2000)
  --refine N        those of the reference, from the best of all (20000)
  --tries N         of critical-path (50)
  --seed N          the first seed (1)
  --seeds N         so many from that on, for the spread (3)
  --date TEXT       of the run, instead of today's
  --yardstick TEXT  how fast the machine is; measured by scripts/bench/how-good
  --list            prints the pairs, and nothing else
  --help            prints this

Pairs whose files are not in ../shared ($BERTH_SHARED) are left out, with a message. Exit status: 2 if nothing could be done.
]]

local function say(...) io.stderr:write(("how-good: " .. (...) .. "\n"):format(select(2, ...))) end

local function refuse(...)
  say(...)
  os.exit(2)
end

local function whole(option, value)
  local n = tonumber(value)
  if not n or n < 0 or n % 1 ~= 0 then refuse("--%s: expected a whole number, got '%s'", option, tostring(value)) end
  return n
end

local function ids(list)
  local out = {}
  for word in list:gmatch("[^,]+") do
    local id = whole("pairs", word)
    if not all[id] then refuse("--pairs: %s: there are pairs 1 to %d", word, #all) end
    out[#out + 1] = id
  end
  if #out == 0 then refuse("--pairs: none in '%s'", list) end
  return out
end

local numbers = lineup.defaults
local texts = { pairs = true, date = true, yardstick = true }
local alone = { list = true, help = true }

local function value_of(key, value)
  if texts[key] then return value or refuse("--%s: expected a value", key) end
  local n = whole(key, value)
  if key ~= "seed" and n < 1 then refuse("--%s: at least 1", key) end
  return n
end

local function parse(words)
  local o = { date = os.date("!%Y-%m-%d"), yardstick = "not measured", command = "scripts/bench/how-good" }
  for key, value in pairs(numbers) do o[key] = value end
  local i = 1
  while words[i] do
    local key = words[i]:match("^%-%-(%l+)$")
    if alone[key] then
      o[key], i = true, i + 1
    elseif key and (texts[key] or numbers[key]) then
      o[key] = value_of(key, words[i + 1])
      if key ~= "date" and key ~= "yardstick" then o.command = o.command .. (" --%s %s"):format(key, words[i + 1]) end
      i = i + 2
    else
      refuse("%s: not an option; --help lists them", words[i])
    end
  end
  o.ids = ids(o.pairs or "1")
  if not o.pairs then
    for id in ipairs(all) do o.ids[id] = id end
  end
  return o
end

local function there(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- Graph and topology; nil: the file is not there.
local function build(pair)
  if not pair.file then
    local t = pair.cluster()
    return pair.make(t), t
  end
  local path = shared .. "/" .. pair.file
  if not there(path) then return nil end
  local g, t = pair.read(path)
  return assert(g, t), pair.cluster and pair.cluster() or t
end

local function run(o)
  local results, skipped = {}, {}
  for _, id in ipairs(o.ids) do
    local pair = all[id]
    local g, t = build(pair)
    if g then
      local from = os.clock()
      local result = measure.pair(pair, g, t, o)
      result.id = id
      results[#results + 1] = result
      say("%2d %s: best %.6g by %s, bound %.6g, %.1f CPU s", id, pair.graph, result.best.makespan, result.best.name,
        result.bound.best, os.clock() - from)
    else
      say("%2d %s: left out, no %s/%s", id, pair.graph, shared, pair.file)
      skipped[#skipped + 1] = id
    end
  end
  return results, skipped
end

local o = parse(arg)
if o.help then
  io.write(HELP)
  return
end
if o.list then
  for id, pair in ipairs(all) do print(("%2d  %s; %s; %s"):format(id, pair.graph, pair.devices, pair.links)) end
  return
end
local results, skipped = run(o)
if #results == 0 then refuse("no pair is left") end
o.skipped, o.interpreter = skipped, jit and jit.version:match("^%S+") or _VERSION -- luacheck: globals jit
io.write(markdown.narrow(text.document(results, o)))
