-- The table of rooms for spec/layers_spec.lua: a room may use only rooms on lower floors.
local floors = {}

-- Most source files that a folder may hold, sub-folders not counted.
floors.full = 25

-- Rooms of core/. Their bindings, specs and Lua modules have the same names.
floors.core = {
  base = 0,
  extern = 1,
  graph = 2, topology = 2, nn = 2,
  cost = 3,
  sim = 4,
  placement = 5, search = 5, decide = 5, cluster = 5,
  lp = 6, list = 6, split = 6, gang = 6, ps = 6, ramp = 6,
  pack = 7, episodes = 7, pdors = 7, pacml = 7,
  bound = 8,
  place = 9, schedule = 9,
  deploy = 11, llm = 11, exec = 11,
  speeds = 12, io = 12,
}

-- Rooms of lua/berth/ only. `berth` is its init.lua; berth.h is on this floor, too.
floors.lua = {
  experiment = 1,
  models = 3,
  report = 5,
  agents = 10, -- deploy uses them, and they use place
  help = 13,
  repl = 14,
  berth = 15,
  cli = 16,
}

-- Rooms of spec/lua/ only.
floors.specs = { bench = true, binding = true, docs = true }

-- C modules of Lua, which have no file below lua/berth/.
floors.modules = { ["berth.core"] = true, ["berth.readline"] = true, ["berth.mpi"] = true }

-- Parts of names of headers that core/extern alone may include, and of those that no file of core/
-- may.
floors.third_party = { "igraph", "metis", "glpk", "cholmod", "cblas", "cJSON", "expat", "yajl",
  "zlib" }
floors.lua_headers = { "lua.h", "lauxlib.h", "lualib.h", "luajit.h" }

-- Exceptions: `["core/a/x.c -> core/b/y.h"] = "reason"`. One that no longer occurs fails the spec.
floors.includes = {}
floors.symbols = {}
floors.requires = {}

-- Third-party headers outside core/extern: `["core/a/x.c includes zlib.h"] = "reason"`.
floors.headers = {}

-- Allowed circles within a room: `["core/a/x.c core/a/y.c"] = "reason"`, the files sorted by name.
-- There is none.
floors.symbol_circles = {}
floors.require_circles = {}

return floors
