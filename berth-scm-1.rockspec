rockspec_format = "3.0"
package = "berth"
version = "scm-1"
source = { url = "git+file://." } -- "luarocks make" in a checkout needs none
description = {
  summary = "Places, partitions, simulates and schedules distributed machine-learning graphs",
  detailed = [[
An embeddable C toolkit with a Lua front end: placers with lower bounds beside every answer, a fast step simulator with
contention and memory, readers and writers for the field's formats, a model zoo.]],
  license = "MIT",
}
dependencies = { "lua >= 5.1, < 5.5" }
external_dependencies = {
  IGRAPH = { header = "igraph/igraph.h", library = "igraph" },
  CJSON = { header = "cjson/cJSON.h", library = "cjson" },
  METIS = { header = "metis.h", library = "metis" },
  CHOLMOD = { header = "suitesparse/cholmod.h", library = "cholmod" },
  GLPK = { header = "glpk.h", library = "glpk" },
  OPENBLAS = { library = "openblas" }, -- luarocks does not look where Debian has its header
  EXPAT = { header = "expat.h", library = "expat" },
  ZLIB = { header = "zlib.h", library = "z" },
}
build = {
  type = "make",
  build_target = "module",
  build_variables = {
    CFLAGS = "$(CFLAGS)",
    LIBFLAG = "$(LIBFLAG)",
    LUA_INCDIR = "$(LUA_INCDIR)",
  },
  install_target = "install-lua",
  install_variables = {
    LUA_INCDIR = "$(LUA_INCDIR)",
    INST_LIBDIR = "$(LIBDIR)",
    INST_LUADIR = "$(LUADIR)",
  },
  copy_directories = {},
  install = { bin = { berth = "scripts/berth" } },
}
test = { type = "command", command = "scripts/test" }
