-- Every placer on 20 pairs of graph and topology, as the Markdown of docs/how-good.md.
-- usage: how_good.lua [--pairs 1,5,12] [--calls 2000] [--refine 50000] [--seed 1] [--date TEXT] [--yardstick TEXT] [--list]
-- Pairs that need files of ../shared (or $BERTH_SHARED) are left out, with a message, if those are not there.
package.path = "scripts/bench/?.lua;" .. package.path
local measure = require "how_good.measure"
local all = require "how_good.pairs"
local text = require "how_good.text"

local shared = os.getenv("BERTH_SHARED") or "../shared"

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

local function parse(words)
  local o = { calls = 2000, refine = 50000, seed = 1, tries = 1, date = os.date("!%Y-%m-%d"), yardstick = "not measured" }
  local i = 1
  o.command = "scripts/bench/how-good"
  while words[i] do
    local key, value = words[i]:match("^%-%-(%l+)$"), words[i + 1]
    if key == "list" then
      o.list = true
      i = i - 1
    elseif key == "pairs" or key == "date" or key == "yardstick" then
      o[key] = value or refuse("--%s: expected a value", key)
    elseif key == "calls" or key == "refine" or key == "seed" then
      o[key] = whole(key, value)
      if key ~= "seed" and o[key] < 1 then refuse("--%s: at least 1", key) end
    else
      refuse("%s: not an option (pairs, calls, refine, seed, date, yardstick, list)", words[i])
    end
    if key ~= "date" and key ~= "yardstick" and key ~= "list" then o.command = o.command .. (" --%s %s"):format(key, value) end
    i = i + 2
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
  if not pair.file then return pair.make(), pair.cluster() end
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
if o.list then
  for id, pair in ipairs(all) do print(("%2d  %s; %s; %s"):format(id, pair.graph, pair.devices, pair.links)) end
  return
end
local results, skipped = run(o)
if #results == 0 then refuse("no pair is left") end
o.skipped, o.interpreter = skipped, jit and jit.version:match("^%S+") or _VERSION -- luacheck: globals jit
io.write(text.document(results, o))
