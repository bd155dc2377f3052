# berth. Targets: all (default), help, lib, module, test-programs, check, lint, bench, install, env,
# docs, clean.
# Variables: CC CFLAGS PREFIX DESTDIR LUA LUA_INCDIR BUILD V.
#
# LUA names the interpreter whose ABI the module is built for: lua5.4 (default), lua5.1 or luajit (both the 5.1 ABI). Each ABI
# has its own folder below $(BUILD), so that one tree serves all.

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BUILD   ?= build
LUA     ?= lua5.4
VERSION  = 0.1.0
SOVERSION = 0

PKG = pkg-config
# The interpreter tells its version, its name if it is not installed. The 5.1 module is built with PUC 5.1 headers: it then loads in
# lua5.1 and in LuaJIT.
LUA_IS := $(shell $(LUA) -e 'io.write((_VERSION:gsub(" ", "")))' 2>/dev/null || echo $(LUA))
LUA_PC = $(if $(findstring 5.4,$(LUA_IS)),lua5.4,lua5.1)
ifeq ($(findstring 5.4,$(LUA_IS))$(findstring 5.1,$(LUA_IS))$(findstring jit,$(LUA_IS)),)
  $(error LUA=$(LUA) is $(LUA_IS): berth is for Lua 5.4, Lua 5.1 and LuaJIT)
endif
LUA_FLAGS := $(if $(LUA_INCDIR),-I$(LUA_INCDIR),$(shell $(PKG) --cflags-only-I $(LUA_PC)))
ABI := $(shell printf '\043include <lua.h>\nberth_abi LUA_VERSION_NUM\n' | $(CC) -E -P $(LUA_FLAGS) - 2>/dev/null | sed -n 's/^berth_abi 5\([0-9]\)0*\([0-9]\)$$/lua5\2/p')
ABI := $(if $(ABI),$(ABI),$(subst .,,$(LUA_PC)))
LUA_VERSION = $(if $(filter lua54,$(ABI)),5.4,5.1)

WARN   = -Wall -Wextra -Wshadow -pedantic
BASE   = -std=c11 -D_POSIX_C_SOURCE=200809L -fPIC -ffp-contract=off -MMD -MP -Icore/include -Icore
JSON_C := $(shell $(PKG) --cflags libcjson)
LIBS_C := $(shell $(PKG) --cflags libcjson igraph expat zlib)
LIBS   := $(shell $(PKG) --libs libcjson igraph expat zlib) -lmetis -lcholmod -lglpk -lopenblas -lpthread -lm

CORE_SRC = $(sort $(wildcard core/*/*.c core/*/*/*.c))
CORE_OBJ = $(CORE_SRC:%.c=$(BUILD)/%.o)
LUA_SRC  = $(sort $(filter-out lua/src/base/readline.c lua/src/base/mpi.c,$(wildcard lua/src/*.c lua/src/*/*.c)))
LUA_OBJ  = $(LUA_SRC:lua/src/%.c=$(BUILD)/$(ABI)/obj/%.o)
HEADERS  = $(wildcard core/include/berth/*.h)
LIB_A    = $(BUILD)/libberth.a
LIB_SO   = $(BUILD)/libberth.so.$(SOVERSION)
MODULE   = $(BUILD)/$(ABI)/berth/core.so
# Line editing is optional.
EDIT    := $(shell $(PKG) --exists libedit && echo yes)
EDIT_C  := $(if $(EDIT),$(shell $(PKG) --cflags libedit))
READLINE = $(if $(EDIT),$(BUILD)/$(ABI)/berth/readline.so)
# So is Open MPI, for training in many processes.
MPI     := $(shell $(PKG) --exists ompi-c && echo yes)
MPI_MODULE = $(if $(MPI),$(BUILD)/$(ABI)/berth/mpi.so)
TEST_C   = $(sort $(wildcard spec/c/*/*.c))
C_FILES  = $(sort $(wildcard $(addsuffix /*.[ch],core/* core/*/* lua/src lua/src/* spec/c spec/c/* spec/fuzz examples/c)))
TEST_BIN = $(TEST_C:spec/c/%.c=$(BUILD)/spec/%)

# Commands are shown by one word and a file; V=1 shows them whole.
quiet = $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(V),,@$(if $(quiet),,echo "$(1) $(2)" && ))

# Linked into every product; CI sets it to the sanitizers.
SANITIZE ?=
# Of test programs: most of their time is in the library, which is compiled as above.
SPEC_CFLAGS   ?= $(CFLAGS)
SPEC_SANITIZE ?= $(SANITIZE)

all: $(LIB_A) $(LIB_SO) $(MODULE) $(READLINE) $(MPI_MODULE)
	$(if $(quiet),,@echo 'built; to use it in this shell: eval "$$(make -s env)"')
help:
	@echo 'make            the library and the module for LUA ($(LUA)), 1 to 3 minutes; -s: quiet'
	@echo 'make env        shell exports that put berth and the module of this tree on the paths'
	@echo 'make check      all tests; lint: luacheck, lengths of lines; bench: benchmarks'
	@echo 'make install    below PREFIX ($(PREFIX)); install-lib, install-lua: a part of it'
	@echo 'make docs       all pages as HTML; clean: deletes $(BUILD)'
lib: $(LIB_A) $(LIB_SO)
module: $(MODULE) $(READLINE) $(MPI_MODULE)

$(BUILD)/core/extern/%.o: core/extern/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(BASE) $(WARN) $(CFLAGS) $(SANITIZE) $(LIBS_C) -c $< -o $@
$(BUILD)/core/%.o: core/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(BASE) $(WARN) $(CFLAGS) $(SANITIZE) -c $< -o $@
$(BUILD)/$(ABI)/obj/%.o: lua/src/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(BASE) $(WARN) $(CFLAGS) $(SANITIZE) -Ilua/src $(LUA_FLAGS) $(EDIT_C) $(if $(filter %/base/mpi.o,$@),$(shell $(PKG) --cflags ompi-c)) -c $< -o $@

$(LIB_A): $(CORE_OBJ)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
# Only what a public header declares is exported.
$(BUILD)/exports.map: $(HEADERS)
	@mkdir -p $(@D)
	@{ echo '{ global:'; sed -n 's/.*\b\(berth_[a-z0-9_]*\)(.*/\1;/p' $(HEADERS) | grep -v _fn | sort -u; echo 'local: *; };'; } > $@
$(LIB_SO): $(CORE_OBJ) $(BUILD)/exports.map
	$(call say,LD,$@)$(CC) -shared $(SANITIZE) -Wl,-soname,$(@F) -Wl,--version-script,$(BUILD)/exports.map $(LDFLAGS) -o $@ $(CORE_OBJ) $(LIBS)
	@ln -sf $(@F) $(BUILD)/libberth.so
# The module carries the library in itself and is not linked to liblua. It stays loaded: a closing LuaJIT unloads modules before the
# last finalisers have run.
$(MODULE): $(LUA_OBJ) $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared -Wl,-z,nodelete $(SANITIZE) $(LIBFLAG) -o $@ $(LUA_OBJ) $(LIB_A) $(LIBS)
$(BUILD)/$(ABI)/berth/readline.so: $(BUILD)/$(ABI)/obj/base/readline.o
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared $(SANITIZE) $(LIBFLAG) -o $@ $< $(shell $(PKG) --libs libedit)
$(BUILD)/$(ABI)/berth/mpi.so: $(BUILD)/$(ABI)/obj/base/mpi.o
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared $(SANITIZE) $(LIBFLAG) -o $@ $< $(shell $(PKG) --libs ompi-c)

# Made anew every time: it holds PREFIX.
$(BUILD)/berth.pc: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: berth' \
	  'Description: places, partitions, simulates and schedules distributed machine-learning graphs' 'Version: $(VERSION)' \
	  'Libs: -L$${libdir} -lberth' 'Libs.private: $(LIBS)' \
	  'Cflags: -I$${includedir}' > $@

# ---- tests -----------------------------------------------------------------

$(BUILD)/null_calls.h: scripts/tools/null_calls.lua scripts/tools/headers.lua $(HEADERS)
	lua5.4 $< $(HEADERS) > $@
$(BUILD)/spec/base/null_objects: $(BUILD)/null_calls.h
$(BUILD)/spec/%: spec/c/%.c $(wildcard spec/c/*.h spec/c/*/*.h) $(LIB_A)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(filter-out -MMD -MP,$(BASE)) $(WARN) -Wno-unused-function $(SPEC_CFLAGS) $(SPEC_SANITIZE) -Ispec/c -I$(BUILD) $(JSON_C) -o $@ $< $(LIB_A) $(LIBS)
test-programs: $(TEST_BIN)
check: all
	$(MAKE) test-programs
	$(MAKE) LUA=$(if $(filter lua54,$(ABI)),lua5.1,lua5.4) module
	sh scripts/run-specs $(BUILD)
lint:
	@luacheck -q --formatter plain lua scripts examples spec
	@awk 'length > 100 { print FILENAME ":" FNR ": " length " columns, 100 at most"; n++ } END { exit n > 0 }' $(C_FILES)
bench: all
	$(MAKE) LUA=$(if $(filter lua54,$(ABI)),lua5.1,lua5.4) module
	scripts/bench/run

# ---- installation, environment, documentation --------------------------------

INST_LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)
INST_LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
INST_BINDIR ?= $(PREFIX)/bin
INST_MANDIR ?= $(PREFIX)/share/man
install-lib: lib $(BUILD)/berth.pc
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/berth
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/berth
	install -m 644 $(LIB_A) $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(LIB_SO) $(DESTDIR)$(PREFIX)/lib
	ln -sf $(notdir $(LIB_SO)) $(DESTDIR)$(PREFIX)/lib/libberth.so
	install -m 644 $(BUILD)/berth.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
install-lua: module
	install -d $(DESTDIR)$(INST_LIBDIR)/berth
	install -m 755 $(MODULE) $(READLINE) $(MPI_MODULE) $(DESTDIR)$(INST_LIBDIR)/berth
	for f in $$(cd lua && find berth -name '*.lua' -o -name '*.berth'); do install -D -m 644 "lua/$$f" "$(DESTDIR)$(INST_LUADIR)/$$f" || exit 1; done
install: install-lib install-lua
	install -D -m 755 scripts/berth $(DESTDIR)$(INST_BINDIR)/berth
	install -D -m 644 docs/berth.1 $(DESTDIR)$(INST_MANDIR)/man1/berth.1

libs:
	@echo '$(LIBS)'
# A folder of its own for the command: scripts has a test and a size, too.
env:
	@mkdir -p $(BUILD)/bin && ln -sf $(CURDIR)/scripts/berth $(BUILD)/bin/berth
	@echo 'export LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;"'
	@echo 'export LUA_CPATH="$(abspath $(BUILD))/$(ABI)/?.so;;"'
	@echo 'export BERTH_BUILD="$(abspath $(BUILD))"'
	@echo 'export PATH="$(abspath $(BUILD))/bin:$$PATH"'
docs:
	scripts/docs $(BUILD)/docs
clean:
	rm -rf $(BUILD)

-include $(CORE_OBJ:.o=.d) $(LUA_OBJ:.o=.d) $(BUILD)/$(ABI)/obj/base/mpi.d
FORCE:
.PHONY: FORCE all help lib module test-programs check lint bench install install-lib install-lua env libs docs clean
