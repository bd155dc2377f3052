--- berth place: decides which device runs each op, and simulates the answer.
local answer = require "berth.cli.answer"
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local models = require "berth.models"
local notes = require "berth.cli.notes"
local options = require "berth.cli.options"
local own_placer = require "berth.place.own_placer"
local placers = require "berth.cli.placers"
local portfolio = require "berth.place.portfolio"
local proved = require "berth.bound.proved"
local registry = require "berth.place.registry"
local shared = require "berth.base.options"

-- The descriptor is a copy: its text says which placer reads it.
local exact_nodes = options.changed("exact", "nodes", { kind = "count" })
exact_nodes.text = "for exact: " .. exact_nodes.text

local place = {
  name = "place", use = "place GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Decides which device runs each op, and simulates one step of the answer.\n"
    .. "--links, --memory, --param-multiple, --quantum and --seed hold for the placer and for the "
    .. "simulator;\n"
    .. "a published variant with links of its own plans with these.",
  notes = placers.notes .. "\n\n" .. inputs.notes,
  options = options.join(options.placing, {
    { name = "members", kind = "string", value = "A,B,C", names = registry.forms,
      text = "for portfolio: these placers, instead of the built-in list" },
    options.count("samples", "for agent:FILE: the best of N placements drawn, and of the likeliest "
      .. "one; default: the likeliest"),
    exact_nodes,
    options.flag("rows", "for portfolio: prints what each member reached, best first"),
    options.flag("thorough", "bounds as in berth bounds --thorough"),
  }, inputs.topology_options, options.shared, options.simulating, options.pricing, options.loading,
    answer.options, { options.json }),
}

-- Raises for options of the portfolio with another placer.
local function check_portfolio(given, placer)
  for _, name in ipairs { "members", "rows" } do
    fail.refuse(given[name] and placer ~= nil and placer ~= "portfolio",
      "--%s: is for the portfolio; berth compare puts placers beside each other", name)
  end
  options.check_thorough(given)
  if placer ~= nil and placer ~= "portfolio" then return end
  for _, option in ipairs(options.placing) do
    local key = option.name:gsub("-", "_")
    if given[option.name] ~= nil and key ~= "placer" and not portfolio.reads(key) then
      fail.usage("--%s is for --placer %s", option.name, table.concat(registry.takers(key), ", "))
    end
  end
end

-- Options of berth.place or berth.portfolio for this placer.
local function place_options(given, placer)
  local out = options.for_placing(given)
  if given.samples then
    if not own_placer.is(placer) then fail.usage("--samples: is for the placer agent:FILE") end
    out.samples, out.judge = given.samples, options.judge(given)
  end
  if given.members then out.members = placers.list("--members", given.members) end
  return placers.common_links(placer, out)
end

-- JSON object of one member of a portfolio.
local function row_object(row)
  local members = { { "member", row.name }, { "makespan_s", row.makespan }, { "gap", row.gap },
    { "missing_memory_bytes", row.missing } }
  for _, member in ipairs(json.refusal(row.error, row.code, row.why)) do
    members[#members + 1] = member
  end
  return json.object(members)
end

-- JSON members about the members of a portfolio, best first.
local function row_members(rows)
  local list = {}
  for i, row in ipairs(rows.best) do list[i] = row_object(row) end
  return { { "rows_bound_s", rows.bound }, { "rows_bound_name", rows.bound_name },
    { "rows_bound_level", rows.bound_level },
    { "rows", list } }
end

-- exact:seconds=1s:nodes=1000 as the options of the command.
local function as_exact(given, placer)
  local own = type(placer) == "table" and placer[1] == "exact" and not berth.pipeline.is(placer)
    and placer[2]
  if not own then return given, placer end
  for key in pairs(own) do
    if key ~= "seconds" and key ~= "nodes" and key ~= "seed" then return given, placer end
  end
  return shared.merge(given, own), "exact"
end

-- Exact on free links: with a proof. Elsewhere the placer takes it from there, and does not read
-- --nodes.
local function proves(given, placer)
  if placer ~= "exact" then
    if given.nodes then fail.usage("--nodes: is for the placer exact") end
    return false
  end
  local free = (given.links or "free") == "free" and not given.quantum and not given.variant
  fail.refuse(not free and given.nodes,
    "--nodes: placer exact reads it on free links, without --quantum")
  return free
end

-- Says which plan of training is far faster than a step, or fits where no placement does.
local function suggest(graph, what)
  local hint = models.origin(graph) and berth.llm.hint(what())
  if hint then notes.add(hint.text) end
end

-- What placing returns; where nothing fits, a plan that does is said before the error.
local function needed(graph, topology, given, placement, message, code, ...)
  if not placement and code == "infeasible" then
    suggest(graph, function()
      return berth.cost(graph, topology, options.for_placing(given).cost)
    end)
  end
  return fail.need(placement, message, code, ...)
end

-- The placement of berth.exact, its proof, and a message if it was interrupted.
local function solve_exactly(graph, topology, given)
  local opts = options.for_placing(given)
  portfolio.check_read("exact", opts)
  local placement, proof = needed(graph, topology, given, berth.exact(graph, topology,
    { memory = opts.memory, param_multiple = opts.param_multiple,
    seed = opts.seed, nodes = given.nodes, seconds = given.seconds, cost = opts.cost }))
  return placement, proof, proof.interrupted and "interrupted: the best until then" or nil
end

-- JSON members of a proof; `proved`: the placement is optimal.
local function proof_members(proof)
  return { { "exact_bound_s", proof.bound }, { "proved", proof.proved }, { "nodes", proof.nodes },
    { "schedules", proof.schedules }, { "timed_out", proof.timed_out } }
end

-- The placement; the rows, with --rows; a message, if it was interrupted.
local function solve(graph, topology, given, placer, write)
  local opts = place_options(given, placer)
  if placer ~= nil and placer ~= "portfolio" then
    local placement, interrupted = needed(graph, topology, given,
      berth.place(graph, topology, placer, opts))
    return placement, nil, interrupted
  end
  opts.thorough = given.thorough
  local placement, rows, code, why, refused = berth.portfolio(graph, topology, opts)
  if not placement then
    if refused and given.rows and not given.json then write(tostring(refused)) end
    return needed(graph, topology, given, nil, rows, code, why)
  end
  return placement, rows, rows.interrupted
end

-- What is known beside the result's own bound: by the rows, or with --thorough by berth.bounds.
local function known_bound(given, graph, topology, rows)
  if rows then return { best = rows.bound, name = portfolio.bound_name(rows) } end
  if not given.thorough then return nil end
  local b = fail.need(berth.bounds(graph, topology, options.for_thorough(given)))
  return { best = b.best, name = ("%s, %s"):format(b.name, b.level) }
end

-- The result's bound is the best of what the run found.
local function simulate_options(given, placement, known)
  local out = options.for_simulating(given, placement)
  out.bound = proved.largest(out.bound, known)
  return out
end

-- What may give a larger bound than this run's.
local function tighter(given, graph, name)
  local out = {}
  if not given.thorough then out[1] = "--thorough" end
  if name ~= "exact" and #graph <= 64 and graph.n_collectives == 0 then
    out[#out + 1] = "--placer exact"
  end
  return out
end

-- The proof holds for the order that was found; another dispatch may take longer with the same
-- devices, and that is said, not hidden.
local function print_proof(write, proof, result)
  write(tostring(proof))
  if result.makespan > proof.makespan * (1 + 1e-9) and result.options.dispatch ~= "planned" then
    write(("its devices take longer with --dispatch %s: --dispatch planned keeps the order that "
      .. "was found")
      :format(result.options.dispatch))
  end
end

--- Places, simulates, writes and prints. An interrupted search still gives its best placement.
-- @return exit code: 0, 1 if the step runs out of memory, 130 after an interrupt
function place.run(positional, given, write, complain)
  answer.check(given)
  local placer = given.placer and placers.read("--placer", given.placer)
  check_portfolio(given, placer)
  local graph, topology = inputs.read(positional, given)
  local placement, rows, interrupted, proof
  local as_given, name = as_exact(given, placer)
  if proves(as_given, name) then
    placement, proof, interrupted = solve_exactly(graph, topology, as_given)
  else placement, rows, interrupted = solve(graph, topology, given, placer, write) end
  local result = fail.need(berth.simulate(graph, topology, placement,
    simulate_options(given, placement, known_bound(given, graph, topology, rows))))
  suggest(graph, function() return result end)
  local exit = answer.show(write, given, { document = "place",
    graph = graph, topology = topology, placement = placement, result = result,
    rows = rows, tighter = tighter(given, graph, name),
    members = given.rows and row_members(rows) or proof and proof_members(proof) })
  if proof and not given.json then print_proof(write, proof, result) end
  if given.rows and not given.json then
    write("")
    write(tostring(rows))
  end
  if not interrupted then return exit end
  complain(interrupted)
  return fail.INTERRUPTED
end

return place
