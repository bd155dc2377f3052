--- Saved plans, applied again to the same graph and topology.
local core = require "berth.core"
local format = require "berth.deploy.json"
local json = require "berth.base.json"
local options = require "berth.base.options"
local schema = require "berth.base.schema"
local plan = require "berth.deploy.plan"
local words = require "berth.deploy.answer_words"

local FN = "berth.deploy.load"

options.declare("deploy.load", options.join(options.rows("deploy.plan", "batch"), {
  options.merge(options.by_key("deploy.plan").reasons, { default = "false" }),
}, options.rows("deploy.plan", "points analysis cost sim")))

local Refusal = {}

-- Ends loading: what is wrong in the file, and where.
local function refuse(path, where, text, ...)
  error(setmetatable({ ("%s: %s: %s"):format(path, where, text:format(...)) }, Refusal), 0)
end

local function shown(x)
  if type(x) == "number" then return core.sprintf("%.14g", x) end
  if type(x) == "string" then return ("%q"):format(#x > 40 and x:sub(1, 40) .. "..." or x) end
  return x == nil and "nothing" or type(x) == "table" and "a table" or tostring(x)
end

local function read(path)
  local text, message, code = core.read(path)
  if not text then return nil, message, code end
  local found, bad = json.decode(text, path)
  if found == nil then return nil, bad or path .. ": holds nothing", "parse" end
  return found
end

-- ---- the file against graph and topology --------------------------------------------------------

local function expect(path, where, x, kind)
  if type(x) ~= kind then
    refuse(path, where, "expected a %s, not %s", kind == "table" and "list or object" or kind,
      shown(x))
  end
  return x
end

local function same(path, where, x, here, what)
  if x ~= here then refuse(path, where, "%s, but the %s has %s", shown(x), what, shown(here)) end
end

local function check_head(path, file)
  if type(file) ~= "table" or file.format ~= format.FORMAT then
    refuse(path, "format", "%s, not %q", shown(type(file) == "table" and file.format or nil),
      format.FORMAT)
  end
  local number = file.schema or file.version or 0 -- version: in files of before
  if not schema.reads("deploy", number) then
    refuse(path, "schema", "%s, this reads %d", shown(number), schema.numbers.deploy)
  end
end

local function check_graph(path, file, graph)
  local about, names = expect(path, "graph", file.graph, "table"),
    expect(path, "op_names", file.op_names, "table")
  same(path, "graph.ops", about.ops, #graph, "graph")
  same(path, "graph.tensors", about.tensors, graph.n_tensors, "graph")
  same(path, "op_names", #names, #graph, "graph")
  for op in graph:ops() do
    same(path, ("op_names[%.0f]"):format(op.id), names[op.id], op.name or "", "graph")
  end
end

local function check_topology(path, file, topology)
  local names = expect(path, "topology.devices", expect(path, "topology", file.topology,
    "table").devices, "table")
  if #names ~= #topology then
    refuse(path, "topology.devices", "%.0f devices, but the topology has %.0f", #names, #topology)
  end
  for device in topology:devices() do
    same(path, ("topology.devices[%.0f]"):format(device.id), names[device.id], device.name,
      "topology")
  end
end

local function check_batch(path, file, opts)
  if opts.batch == nil or opts.batch == file.batch then return end
  refuse(path, "batch", "the plan is for a batch of %s, this is %s", shown(file.batch),
    shown(opts.batch))
end

local function check_points(path, file, opts)
  local saved = file.options.points
  if not saved then return end
  local given = opts.points or {}
  for i, batch in ipairs(saved) do
    local own = type(given[i]) == "table" and given[i].batch or nil
    if own ~= batch then
      refuse(path, ("options.points[%.0f]"):format(i),
        "batch %s, but %s: give the points that the plan was made with",
        shown(batch), own and "batch " .. shown(own) .. " is given" or "none is given")
    end
  end
end

local function same_list(a, b)
  if type(a) ~= "table" or #a ~= #b then return false end
  for i = 1, #b do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- The action that a group of the file has.
local function action_of(path, d, g, saved, sets, actions)
  local where, options_seen = ("groups[%.0f]"):format(g), {}
  local devices = expect(path, where .. ".devices", saved.devices, "table")
  local on = false
  for _, a in ipairs(d:legal(g)) do
    local x = actions[a]
    if same_list(devices, sets[x.set]) then
      on, options_seen[x.option] = true, true
      if x.option == saved.option and x.shares == saved.shares then return a end
    end
  end
  if not on then
    refuse(path, where .. ".devices",
      "these %.0f devices are no set of this problem: its device groups or sets are others",
      #devices)
  end
  if not options_seen[saved.option] then
    return refuse(path, where .. ".option", "no %s (legal there: %s)", shown(saved.option),
      table.concat(options.sorted_keys(options_seen), ", "))
  end
  if saved.shares == "speed" then
    refuse(path, where .. ".shares", "the plan has shares by speed on %s: these devices are alike "
      .. "here, or shares are even", words.devices(words.names(d.topology), devices))
  end
  return refuse(path, where .. ".shares", "no %s with option %s", shown(saved.shares), saved.option)
end

local function repeated_of(path, file, n)
  local out, last = {}, 0
  for i, op in ipairs(expect(path, "repeated_ops", file.repeated_ops, "table")) do
    local where = ("repeated_ops[%.0f]"):format(i)
    if type(op) ~= "number" or op ~= math.floor(op) or op < 1 or op > n then
      refuse(path, where, "%s is no op (1 to %.0f)", shown(op), n)
    end
    if op <= last then refuse(path, where, "%.0f is not above the one before it", op) end
    out[i], last = op, op
  end
  return out
end

local function strategy_of(path, d, file)
  local groups, saved, s = d:groups(), expect(path, "groups", file.groups, "table"), { action = {} }
  local sets, actions = d:sets(), d:actions()
  if #saved ~= #groups then
    refuse(path, "groups", "%.0f, but this problem has %.0f", #saved, #groups)
  end
  for g, group in ipairs(groups) do
    local one = expect(path, ("groups[%.0f]"):format(g), saved[g], "table")
    if not same_list(one.ops, group.ops) then
      refuse(path, ("groups[%.0f].ops"):format(g),
        "are not those of this problem's op group, which has %.0f", #group.ops)
    end
    s.action[g] = action_of(path, d, g, one, sets, actions)
  end
  s.duplicate = repeated_of(path, file, #d.graph)
  return s
end

-- ---- applying -----------------------------------------------------------------------------------

-- Of these the file's are kept, but for what is given.
local PARTS = { cost = true, sim = true }

local function given_of(path, file, opts)
  local given = { batch = expect(path, "batch", file.batch, "number"), physics = file.physics }
  for _, list in ipairs { format.problem_options, format.search_options } do
    for _, key in ipairs(list) do given[key] = file.options[key] end
  end
  given.calls = given.calls or file.options.evaluations -- its former name
  for _, key in ipairs(format.given_again) do
    local own, saved = opts[key], given[key]
    local both = PARTS[key] and type(own) == "table" and type(saved) == "table"
    given[key] = both and options.merge(saved, own) or own or saved
  end
  for _, key in ipairs(file.options.given_again or {}) do
    if given[key] == nil then
      refuse(path, "options.given_again", "%s is not in the file and has to be given", shown(key))
    end
  end
  return given
end

-- What raises for a caller's options is in the file here.
local function problem_of(path, graph, topology, given)
  local fine, d, message, code = pcall(plan.problem, graph, topology, given)
  if not fine then
    refuse(path, "options", "%s", (tostring(d):gsub("^.-berth%.deploy%.problem: ", "")))
  end
  if not d then return nil, ("%s: %s"):format(path, message), code end
  return d
end

local function apply(path, graph, topology, opts)
  local file, message, code = read(path)
  if file == nil then return nil, message, code end
  check_head(path, file)
  check_graph(path, file, graph)
  check_topology(path, file, topology)
  expect(path, "options", file.options, "table")
  expect(path, "batch", file.batch, "number")
  check_batch(path, file, opts)
  check_points(path, file, opts)
  local given = given_of(path, file, opts)
  local d, why, kind = problem_of(path, graph, topology, given)
  if not d then return nil, why, kind end
  given.reasons = opts.reasons
  return plan.judge(d, given, strategy_of(path, d, file), path)
end

local function checked(opts)
  local given = options.check(FN, opts, "deploy.load")
  if given.reasons == nil then return options.merge(given, { reasons = false }) end
  return given
end

--- A plan that a:save(path) or berth deploy --out wrote, simulated again on the same graph and
-- topology.
-- @tparam string path
-- @tparam graph g with as many ops and tensors, and names as there
-- @tparam topology t with devices of the same names
-- @tparam[opt] table opts batch (of the graph: a plan for another is refused), reasons (as of plan;
--  default false); points, analysis as the plan was made with, where the file cannot have them;
--  cost, sim: these go before the file's
-- @treturn[1] answer
-- @treturn[2] nil
-- @treturn[2] string message that names file, place and value
-- @treturn[2] string code "io", "parse", "invalid", "infeasible"
return function(path, graph, topology, opts)
  options.expect(path, "string", "%s: path", FN)
  options.expect(graph, "graph", "%s: graph", FN)
  options.expect(topology, "topology", "%s: topology", FN)
  local function after(fine, ...)
    if fine then return ... end
    local err = ...
    if getmetatable(err) ~= Refusal then error(err, 0) end
    return nil, err[1], "invalid"
  end
  return after(pcall(apply, path, graph, topology, checked(opts)))
end
