-- Files of graphs, topologies, placements and traces from Lua.
local berth = require "berth"
local errors = require "support.errors"
local profile_text = require "support.profile_text"
local shell = require "support.shell"
local refused, raises = errors.refused, errors.raises

local function toy()
  return assert(berth.graph {
    name = "toy", ops = { { name = "a", seconds = 0.1 }, { name = "b", seconds = 1 / 3 } },
    edges = { { 1, 2, 8 } },
  })
end

local function with_file(f)
  local path = os.tmpname()
  local ok, text = pcall(f, path)
  os.remove(path)
  if not ok then error(text, 0) end
end

describe("files", function()
  it("keep a graph exactly", function()
    with_file(function(path)
      local g = toy()
      assert.is_true(g:save(path))
      local again = assert(berth.load(path))
      assert.equal("toy", again.name)
      for i = 1, #g do assert.same(g:op(i), again:op(i)) end
      assert.same(g:tensor(1), again:tensor(1))
      assert.equal(g:to_string(), again:to_string())
    end)
  end)

  it("are saved in the format of their ending, packed or not", function()
    local g, known = toy(), "(berth: json; graphml: graphml; dot: dot gv)"
    for _, row in ipairs {
      { ".json", '{"berth"' }, { ".graphml", "<?xml" }, { ".GraphML", "<?xml" },
      { ".dot", "digraph" }, { ".gv", "digraph" }, { "", '{"berth"' }, { ".d/x", '{"berth"' },
      { ".gz", "\31\139" }, { ".json.gz", "\31\139" }, { ".graphml.gz", "\31\139" },
    } do
      local path = shell.path(row[1])
      if row[1] == ".d/x" then shell.capture("mkdir " .. path:sub(1, -3)) end
      assert(g:save(path))
      assert.equal(row[2], shell.read(path):sub(1, #row[2]), row[1])
      assert.equal(g:to_string(), assert(berth.load(path)):to_string(), row[1])
    end
    for _, ending in ipairs { ".gml", ".xml", ".txt", ".json.bz2", ".txt.gz" } do
      local path = shell.path(ending)
      errors.refused("invalid", known:gsub("%p", "%%%0"), g:save(path))
      assert.is_nil(io.open(path))
      assert(g:save(path, { format = "dot" }))
    end
    assert(g:save(shell.path ".dot", { placement = { 1, 1 } }))
    raises("requires another format", g.save, g, shell.path ".json", { placement = { 1, 1 } })
    local t = berth.topology.mesh(2, { bandwidth = 1 })
    for _, save in ipairs {
      function(path) return t:save(path) end, function(path) return berth.placement { 1 }:save(path) end,
      function(path) return berth.save(path, { graph = g, topology = t }) end,
    } do
      assert(save(shell.path ".json.gz"))
      assert(save(shell.path ".cluster"))
      refused("invalid", "format graphml, of this ending, cannot hold it", save(shell.path ".graphml"))
    end
    shell.tidy()
  end)

  it("note what was passed over", function()
    local text = [[{"tasks": [{"id": "a", "cost": 1}], "edges": [], "nodes": [{"id": "p"}, {"id": "q"}],
      "links": [{"a": "p", "b": "p", "bandwidth": 1}, {"a": "p", "b": "q", "bandwidth": 5}]}]]
    local notes, said = {}, "1 link of a node to itself is passed over"
    local path = shell.file(".json", text)
    assert(berth.load(path, { notes = notes }))
    assert(berth.parse_topology(text, { notes = notes, name = "x" }))
    assert.same({ path .. ": " .. said, "x: " .. said }, notes)
    raises("berth.load: notes: expected a table, got number", berth.load, path, { notes = 1 })
    local exit, _, err = shell.run("place", path, "--placer", "heft")
    assert.equal(0, exit)
    assert.equal(("berth: note: %s: %s"):format(path, said), err)
    shell.tidy()
  end)

  it("are not read with options that their format does not read", function()
    with_file(function(path)
      assert.is_true(toy():save(path))
      local readers = { cpus = "dnn-partitioning", file_bandwidth = "dnn-partitioning, wfformat",
        mirror = "pipedream",
        forward_only = "pipedream" }
      local given = { cpus = true, file_bandwidth = 1e9, mirror = "pac-ml", forward_only = false }
      for key, names in pairs(readers) do
        for _, f in ipairs { berth.load, berth.load_topology, berth.load_placement } do
          local g, why, code = f(path, { [key] = given[key] })
          assert.is_nil(g)
          assert.equal(("option %s: the format berth does not read it; read by: %s"):format(key,
            names), why)
          assert.equal("invalid", code)
        end
      end
      local g, why = berth.parse(toy():to_string(), { mirror = "physical" }) -- as by default
      assert.is_nil(g)
      assert.matches("^option mirror: the format berth", why)
      assert.truthy(berth.load(path, { format = "berth" }))
    end)
  end)

  it("keep a topology and a placement", function()
    with_file(function(path)
      local t = berth.topology.mesh(2,
        { bandwidth = "50 GB/s", latency = "5 us", memory = "16 GB" })
      assert.is_true(t:save(path))
      local again = assert(berth.load_topology(path))
      assert.same(t:device(2), again:device(2))
      assert.same(t:link(2), again:link(2))
      local p = assert(berth.place(toy(), t, "single", { device = 2 }))
      assert.is_true(p:save(path))
      assert.same({ 2, 2 }, assert(berth.load_placement(path)):devices())
    end)
  end)

  it("keep all parts in one", function()
    with_file(function(path)
      local g, t = toy(), berth.topology.mesh(2)
      assert.is_true(berth.save(path,
        { graph = g, topology = t, placement = berth.placement { 1, 2 } }))
      local g2, t2, p2 = berth.load(path)
      assert.same({ 2, 2, 2 }, { #g2, #t2, p2[2] })
      assert.equal(berth.to_string { graph = g, topology = t },
        berth.to_string { graph = g2, topology = t2 })
      raises("parts: there is nothing in it", berth.save, path, {})
      raises("unknown option 'grah'", berth.to_string, { grah = g })
    end)
  end)

  it("are parsed from texts, too", function()
    local g = toy()
    assert.equal(2, #assert(berth.parse(g:to_string())))
    assert.equal(3, #assert(berth.parse_topology(berth.topology.mesh(3):to_string())))
    assert.same({ 1, 2 },
      assert(berth.parse_placement(berth.placement({ 1, 2 }):to_string())):devices())
  end)

  it("say what they hold when it is something else", function()
    local g, text, code = berth.parse(berth.topology.mesh(2):to_string())
    assert.is_nil(g)
    assert.equal("text holds no graph but a topology; berth.load_topology and "
      .. "berth.parse_topology read it", text)
    assert.equal("invalid", code)
  end)

  it("are refused with place and code", function()
    refused("io", "/nonexistent/file.json", berth.load("/nonexistent/file.json"))
    refused("parse", "^bad.json:1",
      berth.parse("{ \"berth\": ", { name = "bad.json", format = "berth" }))
    assert.equal("io", (select(3, toy():save("/nonexistent/dir/x"))))
  end)

  it("know their options", function()
    raises("berth.load: unknown option 'fmt' (legal: format, ", berth.load, "x",
      { fmt = 1 })
    raises("format: 'onnz' is none of: 13 names; did you mean 'onnx'?", berth.load, "x",
      { format = "onnz" })
    raises("berth.load: path: expected a file name, got nil", berth.load)
    raises("berth.parse: text: expected a string, got table", berth.parse, {})
    raises("graph:save: path: expected a file name", function() toy():save() end)
    raises("format: 'png' is none of: berth, graphml, dot", function() toy():to_string("png") end)
    local read, write = berth.formats()
    assert.equal("berth", read[1])
    assert.same({ "berth", "graphml", "dot" }, write)
  end)

  it("show a placement", function()
    local g = toy()
    assert.matches("digraph", g:to_string("dot"))
    assert.is_true(#g:to_string("dot", { placement = { 1, 2 } }) > #g:to_string("dot"))
    assert.is_string(g:to_string("graphml", { placement = berth.placement { 1, 2 } }))
    raises("requires another format", g.to_string, g, "berth", { placement = { 1, 2 } })
    raises("placement: places 1 ops, but the graph has 2", g.to_string, g, "dot",
      { placement = berth.placement { 1 } })
    raises("placement: places 1 ops, but the graph has 2",
      g.to_string, g, "dot", { placement = { 1 } })
  end)

  it("hold a timeline", function()
    with_file(function(path)
      local r = assert(berth.simulate(toy(), berth.topology.mesh(2), { 1, 2 }))
      assert.is_true(r:save_trace(path))
      local text = shell.read(path)
      assert.equal(text, r:trace())
      assert.matches("traceEvents", text)
    end)
  end)

  it("mirror a profile in either way", function()
    local text = profile_text({ { "In()", 1, 2, 16, 8 }, { "A()", 1, 2, 32, 8 },
      { "B()", 1, 2, 64, 8 } }, { { 1, 2 }, { 1, 3 } })
    local physical, pacml = assert(berth.parse(text)),
      assert(berth.parse(text, { mirror = "pac-ml" }))
    -- node2, which no other op reads, and what node2 reads
    assert.same({ 2, 1 }, physical:predecessors(5))
    assert.equal(0, physical:op(6).params)
    assert.equal(8, pacml:op(6).params)
    assert.same({}, pacml:predecessors(5)) -- no join for the sink that is not the last op
    assert.same({ 3 }, pacml:predecessors(4))
    assert.equal(physical:to_string("berth"),
      assert(berth.parse(text, { mirror = "physical" })):to_string("berth"))
    local forward = assert(berth.parse(text, { forward_only = true }))
    local full = forward:mirror { seconds = { 2e-3, 2e-3, 2e-3 },
      join = "last", gradients = "output", activations = false, params = true }
    assert.equal(pacml:to_string("berth"), full:to_string("berth"))
    raises("mirror: 'x' is none of: physical, pac-ml", berth.parse, text, { mirror = "x" })
    raises("gradients: 'x' is none of: input, output", forward.mirror, forward, { gradients = "x" })
  end)

  it("speak of a cycle in the numbers of the file", function()
    local _, text, code = berth.parse("1\n0 0 0\n1 5 1 2\n2 0 1 1\n")
    assert.equal("cycle", code)
    assert.matches("op 1 %-> op 2 %-> op 1", text)
  end)

  it("tell STG with a comment inside from DOPPLER", function()
    assert.equal(3, #assert(berth.parse("1\n# comment\n0 0 0\n1 5 1 0\n2 0 1 1\n")))
  end)
end)
