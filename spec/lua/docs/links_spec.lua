-- Relative links of all Markdown files lead to files and headings; lines end before column 101.
local markdown = dofile "scripts/tools/markdown.lua"
local shell = require "support.shell"

local function paths_of(command)
  local list = {}
  for path in shell.capture(command):gmatch("[^\n]+") do list[#list + 1] = path end
  return list
end

local files = paths_of("find . -name '*.md' -not -path './build*' -not -path './.git/*'"
  .. " | sed 's,^./,,' | LC_ALL=C sort")

-- The lines of a text outside fenced blocks, without spans of code.
local function prose(text)
  local out, fenced = {}, false
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local fence = line:find("^%s*```")
    if fence then fenced = not fenced end
    out[#out + 1] = (fence or fenced) and "" or line
  end
  return out
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- The anchors of a file.
local anchors_of = {}
local function anchors(path)
  if not anchors_of[path] then
    local headings, set = {}, {}
    for _, line in ipairs(prose(shell.read(path))) do
      headings[#headings + 1] = line:match("^#+%s+(.-)%s*$")
    end
    for _, name in ipairs(markdown.anchors(headings)) do set[name] = true end
    anchors_of[path] = set
  end
  return anchors_of[path]
end

-- "a/b" and "../c.md": "a/c.md".
local function joined(folder, path)
  local parts = {}
  for part in (folder .. "/" .. path):gmatch("[^/]+") do
    if part == ".." then
      if not table.remove(parts) then return nil end
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

-- What is wrong with a link of a file; nil if nothing is.
local function fault(from, target)
  if target:find("^%a[%w+.-]*:") then return nil end
  local path, anchor = target:match("^([^#]*)#?(.*)$")
  local at = path == "" and from or joined(from:match("^(.*)/") or "", path)
  if not at or not exists(at) then return "no file " .. path end
  if anchor ~= "" and not anchors(at)[anchor] then
    return ("no heading #%s in %s"):format(anchor, at)
  end
end

local function faults(path, text)
  local found = {}
  for n, line in ipairs(prose(text)) do
    for target in line:gsub("`[^`]*`", ""):gmatch("%]%(([^)%s]+)%)") do
      local why = fault(path, target)
      if why then found[#found + 1] = ("%s:%d: %s"):format(path, n, why) end
    end
  end
  return found
end

describe("the links of the documents", function()
  it("lead to files and headings", function()
    local found = {}
    for _, path in ipairs(files) do
      for _, each in ipairs(faults(path, shell.read(path))) do found[#found + 1] = each end
    end
    assert.same({}, found)
  end)

  it("are found, with what is wrong", function()
    local text = "# A b\n\n[x](#a-b) [y](#c) [z](http://x) `[q](none)` [f](docs/none.md) "
      .. "[g](../up)\n```text\n[h](none)\n```\n[i](Makefile) [j](docs/lua.md#none)\n"
    anchors_of["HERE.md"] = { ["a-b"] = true }
    local exist = exists
    exists = function(path) return path == "HERE.md" or exist(path) end
    local found = faults("HERE.md", text)
    exists = exist
    assert.same({ "HERE.md:3: no heading #c in HERE.md", "HERE.md:3: no file docs/none.md",
      "HERE.md:3: no file ../up", "HERE.md:7: no heading #none in docs/lua.md" }, found)
  end)
end)

describe("the lines of the documents", function()
  it("have at most 100 columns", function()
    local found = {}
    for _, path in ipairs(files) do
      local n = 0
      for line in io.lines(path) do
        n = n + 1
        local length = markdown.length(line)
        if length > 100 then found[#found + 1] = ("%s:%d: %d columns"):format(path, n, length) end
      end
    end
    assert.same({}, found)
  end)
end)
