--- Sequences of decisions, with a value of one's own: docs/lua.md, "Searching decisions".
-- @module berth.decide
local core = require "berth.core"
local options = require "berth.base.options"

local fn = "berth.decide"

-- Names of actions and their ids, where actions is an array of names.
local function names_of(given)
  if type(given.actions) ~= "table" then return nil end
  local ids = {}
  for id, name in ipairs(given.actions) do
    options.expect(name, "name", "%s: actions[%d]", fn, id)
    if ids[name] then
      options.fail("%s: actions[%d]: '%s' is action %d already", fn, id, name, ids[name])
    end
    ids[name] = id
  end
  return given.actions, ids
end

local function translated(list, map, where)
  options.expect(list, "array", "%s: %s", fn, where)
  local out = {}
  for i, x in ipairs(list) do
    out[i] = map[x]
    options.refuse(out[i] == nil, "%s: %s[%d]: '%s' is no action", fn, where, i, tostring(x))
  end
  return out
end

local function translated_lists(lists, map, where)
  if type(lists) ~= "table" then return lists end
  local out = {}
  for i, list in ipairs(lists) do out[i] = translated(list, map, ("%s[%d]"):format(where, i)) end
  return out
end

-- The smallest key by its text that is no action; nil: there is none.
local function stray(map, ids)
  local least
  for name in pairs(map) do
    local text = tostring(name)
    if not ids[name] and (not least or text < least) then least = text end
  end
  return least
end

-- What replaces each action, by ids.
local function translated_map(map, names, ids)
  if type(map) ~= "table" then return map end
  local out, wrong = {}, stray(map, ids)
  if wrong then options.fail("%s: instead: '%s' is no action", fn, wrong) end
  for id, name in ipairs(names) do
    local other = map[name]
    options.refuse(other and not ids[other], "%s: instead.%s: '%s' is no action", fn, name,
      tostring(other))
    out[id] = other and ids[other]
  end
  return out
end

-- A function of the decision and the action as arrays of those it allows.
local function listed(legal, decisions, actions, names)
  if type(legal) ~= "function" then return legal end
  local out = {}
  for i = 1, decisions do
    out[i] = {}
    for a = 1, actions do
      if legal(i, names and names[a] or a) then out[i][#out[i] + 1] = a end
    end
  end
  return out
end

-- Functions that know names.
local function naming(given, names, ids)
  local out = {}
  local value, prior, fill = given.value, given.prior, given.fill
  if type(value) == "function" then
    function out.value(a) return value(translated(a, names, "assignment")) end
  end
  if type(prior) == "function" then
    function out.prior(leaves)
      for _, leaf in ipairs(leaves) do
        leaf.assignment = translated(leaf.assignment, names, "assignment")
      end
      return prior(leaves)
    end
  end
  if type(fill) == "function" then
    function out.fill(decided, a)
      return translated(fill(decided, translated(a, names, "assignment")), ids, "fill")
    end
  end
  return out
end

-- With numbers for actions; and the names, if there are any.
local function plain(given)
  options.expect(given, "table", "%s", fn)
  local names, ids = names_of(given)
  local changed = {}
  if names then
    changed = naming(given, names, ids)
    changed.actions = #names
    changed.starts = translated_lists(given.starts, ids, "starts")
    changed.instead = translated_map(given.instead, names, ids)
    changed.everywhere = given.everywhere and translated(given.everywhere, ids, "everywhere")
    if type(given.legal) == "table" then
      changed.legal = translated_lists(given.legal, ids, "legal")
    end
  end
  local actions = changed.actions or given.actions
  if type(given.legal) == "function" and type(given.decisions) == "number"
      and type(actions) == "number" then
    changed.legal = listed(given.legal, given.decisions, actions, names)
  end
  return options.merge(given, changed), names
end

local mt = { __name = "berth.decided" }

function mt.__tostring(r)
  local from = r.start and core.sprintf(", best start %.6g", r.start) or ""
  return core.sprintf("decided: %d decisions, value %.6g%s, %.0f evaluations%s", #r.assignment,
    r.value, from, r.evaluations, r.interrupted and ", interrupted" or "")
end

local function dressed(names, found, message, code)
  if not found then return nil, message, code end
  if names then found.assignment = translated(found.assignment, names, "assignment") end
  return setmetatable(found, mt)
end

local decide = {}

--- A search that can be continued, with its tree.
-- @tparam table problem as of berth.decide, but actions is a number
-- @treturn tree methods search, run, visits, node, advance, root, best
-- @usage t = berth.decide.tree { decisions = 3, actions = 2, value = function(a) return a[1] + a[2]
--  * a[3] end } t:run(20) print(t:visits()[1])
function decide.tree(problem)
  local given, names = plain(problem)
  if names then options.fail("berth.decide.tree: actions: expected a number, got a table") end
  return core.decision_tree(given)
end

--- The best assignment of actions to decisions that a search finds.
-- @tparam table problem decisions: number, in the order in which they are made; actions: number or
--  array of names; value: function(assignment) -> least is best[, excess above 0: not allowed, by
--  how much]; and options: prior(leaves) -> weights of the actions for each leaf { assignment,
--  decision, decided }; legal: for each decision an array of actions, or function(decision,
--  action); position: array, which decisions are near; fill: "nearest", "first", "start" or
--  function(decided, assignment) -> assignment; starts: array of assignments; start_values,
--  start_excess: what is known of them, false or nil where it is not; instead: for actions, what
--  replaces them where they are illegal; weight: of each decision, how often it is picked to be
--  changed; everywhere: array of the actions to be evaluated for all decisions; paths: for each
--  action an array of choices; method: "mcts", "tree", "anneal", "refine" or "published"; calls
--  (800), seconds, seed, batch and those of docs/lua.md
-- @treturn[1] table assignment, value, start (value of the best start), evaluations, repeats,
--  playouts, trace, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage r = berth.decide { decisions = 3, actions = { "left", "right" },
--   value = function(a) return a[1] == a[3] and 1 or 2 end }
local function search(_, problem)
  local given, names = plain(problem)
  return dressed(names, core.decide(given))
end

return setmetatable(decide, { __call = search })
