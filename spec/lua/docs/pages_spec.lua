-- Pages that teach: how their blocks run, and what is noticed when a page is wrong.
local pages = dofile "scripts/tools/pages.lua"
local shell = require "support.shell"

local try = shell.try(it, pending)

local PAGE = [[
```text data.txt
one
two
```

![a picture](../pictures/made.svg)

```sh
n=2
cat data.txt | tail -1
cp data.txt made.svg
```

```text output
two
```

```sh
echo "n is $n"
```

```text output
n is 3
```
]]

describe("a page", function()
  local folder, tree

  setup(function()
    if not shell.build then return end
    local root = shell.capture("pwd"):gsub("%s+$", "")
    local build = shell.build:sub(1, 1) == "/" and shell.build or root .. "/" .. shell.build
    tree = { root = root, build = build, modules = build .. "/lua54",
      lua = os.getenv "BERTH_LUA" or "lua5.4" }
  end)
  before_each(function() folder = shell.capture("mktemp -d"):gsub("%s+$", "") end)
  after_each(function() os.execute("rm -r '" .. folder .. "'") end)

  try("runs its blocks in one folder and one shell", function()
    local results = pages.run(PAGE, tree, folder)
    assert.equal(2, #results)
    assert.same({ true, "two", "two", 9 },
      { results[1].ok, results[1].got, results[1].want, results[1].line })
    assert.same({ true, "n is 2", "n is 3" }, { results[2].ok, results[2].got, results[2].want })
    assert.equal("one\ntwo\n", shell.read(folder .. "/made.svg"))
    assert.same({ { path = "docs/pictures/made.svg", name = "made.svg" } }, pages.pictures(PAGE))
  end)

  try("is renewed with what its blocks print, and else stays as it is", function()
    local renewed = pages.renew(PAGE, pages.run(PAGE, tree, folder))
    assert.equal((PAGE:gsub("n is 3", "n is 2")), renewed)
  end)

  try("stops at the first block that fails", function()
    local text = "```sh\necho a\nfalse\necho b\n```\n\n```sh\necho c\n```\n"
    local results = pages.run(text, tree, folder)
    assert.same({ false, "a" }, { results[1].ok, results[1].got })
    assert.same({ false, "not run" }, { results[2].ok, results[2].got })
  end)

  try("must not have a file twice", function()
    local text = "```lua a.lua\nx = 1\n```\n\n```lua a.lua\nx = 2\n```\n"
    assert.error_matches(function() pages.run(text, tree, folder) end, "a.lua is there twice")
  end)

  try("begins with a shell that finds berth and its modules", function()
    local out = shell.capture(([[cd '%s' && eval "$(MAKEFLAGS= make -s -C '%s' env BUILD='%s')" &&
      berth --version && lua5.4 -e 'print(require("berth").version)']]):format(folder, tree.root,
      tree.build))
    local version = require("berth").version
    assert.equal(("berth %s\n%s\n"):format(version, version), out)
  end)
end)
