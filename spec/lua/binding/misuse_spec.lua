-- Every public function, and methods of every object that is easy to make, with wrong arguments:
-- the error is berth's own, never one of Lua's inside berth.
local berth = require "berth"
local core = require "berth.core"
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

for _, name in ipairs { "agents", "cluster", "decide", "deploy", "experiment", "models", "nn",
  "pacml", "pdors", "report", "execute", "figure" } do
  assert(berth[name])
end

local g = berth.graph { ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 1 } },
  edges = { { 1, 2, 1 } } }
local t = berth.topology.mesh(2)

-- A name of nothing; no file can be written under it.
local TEXT = "no/such/x"
local ARGUMENTS = { {}, { true }, { 5 }, { TEXT }, { g }, { {} }, { { true } }, { function() end },
  { g, true }, { g, 5 }, { g, {} }, { g, t }, { g, t, true }, { g, t, 5 }, { g, t, {} },
  { g, t, TEXT }, { g, t, { true } }, { g, t, { x = 1 } }, { { jobs = true } },
  { { jobs = { true } } }, { 1, 2 }, { 1, true }, { 1, {} }, { TEXT, true }, { TEXT, {} },
  { TEXT, 5 }, { {}, true }, { {}, 5 }, { {}, {} }, { { {} }, { {} } }, { true, true, true },
  { 5, 5, 5, 5 }, { {}, {}, {}, {} } }

local function sorted(x)
  local keys = {}
  for key in pairs(x) do
    if type(key) == "string" and key:sub(1, 2) ~= "__" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

-- Calls f with all of ARGUMENTS, behind what `first` makes. Returns how many errors there were.
local function misuse(name, f, first)
  local n = 0
  for _, given in ipairs(ARGUMENTS) do
    local ok, why
    if first then
      ok, why = pcall(f, first(), unpack(given))
    else
      ok, why = pcall(f, unpack(given))
    end
    if not ok then
      n = n + 1
      assert.equal("string", type(why), name)
      for _, sign in ipairs { "attempt to ", "bad argument", "lua/berth/" } do
        assert.is_nil(why:find(sign, 1, true), name .. ": " .. why)
      end
    end
  end
  return n
end

describe("errors of wrong arguments are berth's own", function()
  it("in every public function", function()
    -- not called: the prompt; a whole study, which needs no arguments; kind, which takes anything
    local seen, n = { [berth.repl] = true, [berth.kind] = true, [berth.pdors.study] = true }, 0
    local function walk(name, x)
      if seen[x] or type(x) ~= "table" and type(x) ~= "function" then return end
      seen[x] = true
      if type(x) == "function" then n = n + misuse(name, x) return end
      for _, key in ipairs(sorted(x)) do walk(name .. "." .. key, x[key]) end
      local meta = getmetatable(x)
      if type(meta) == "table" and rawget(meta, "__call") then n = n + misuse(name, x) end
    end
    walk("berth", berth)
    assert.is_true(n > 1000, n)
  end)

  local p = assert(berth.place(g, t, "etf"))
  local makers = {
    graph = function() return g end,
    topology = function() return t end,
    placement = function() return p end,
    result = function() return berth.simulate(g, t, p) end,
    comparison = function() return berth.compare(g, t, { "etf" }) end,
    bounds = function() return berth.bounds(g, t) end,
    rng = function() return berth.rng(1) end,
    cost = function() return berth.cost(g, t) end,
    pipeline = function() return berth.pipeline { "etf" } end,
    jobs = function() return berth.cluster.simulate({ { arrival = 0, work = 1 } }, 1, "fifo") end,
    agent = function() return berth.agents.gdp { devices = 2 } end,
    tape = function() return berth.nn.tape() end,
    parameters = function() return berth.nn.parameters { seed = 1 } end,
    array = function() return berth.nn.array { 1, 2 } end,
    executor = function() return berth.executor(g, t) end,
  }

  local methods_of = {}
  for _, class in ipairs(core.classes()) do methods_of[class.name] = class.methods end

  for _, name in ipairs(sorted(makers)) do
    it("in methods of " .. name, function()
      local make = makers[name]
      local x = make()
      local index, n = (getmetatable(x) or {}).__index, 0
      local names = {}
      for _, key in ipairs(methods_of[core.kind(x)] or {}) do names[key] = true end
      for _, from in pairs { x, type(index) == "table" and index or nil } do
        for _, key in ipairs(type(from) == "table" and sorted(from) or {}) do names[key] = true end
      end
      for _, key in ipairs(sorted(names)) do
        local f = x[key]
        if type(f) == "function" and key ~= "close" then
          n = n + misuse(name .. ":" .. key, f, make)
        end
      end
      assert.is_true(n >= 0)
    end)
  end
end)
