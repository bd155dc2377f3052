--- The documentation as HTML: the Markdown pages, a page for each public header, and a front page.
-- scripts/docs runs it, after ldoc.
local headers = require "headers"
local markdown = require "markdown"
local source = require "source"

local site = {}

local STYLE = [[<style>
body{max-width:54rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
pre{overflow-x:auto;background:#f1f3f6;padding:.6rem;font-size:13px;line-height:1.4}
code{font-size:90%}h3 code{font-size:100%}
table{border-collapse:collapse}td,th{border:1px solid #d4dae1;padding:.2rem .5rem;text-align:left}
dt{font-weight:600}dd{margin-left:1.5rem}
</style>]]

local entity = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

local function escape(text) return (text:gsub("[&<>]", entity)) end

local function page(title, body)
  return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title>\n%s'
    .. "</head><body>\n%s\n</body></html>\n"):format(escape(title), STYLE, body)
end

-- ---- headers ------------------------------------------------------------------------------------

-- Parts of a doc comment: the text, the parameters, and what is returned. A tag may follow another
-- on its line.
local function parts_of(doc)
  local text, params, returns, to = {}, {}, nil, nil
  local plain = doc:gsub("@param%s*\n%s*", "@param "):gsub("%s+(@param%s)", "\n%1"):gsub("%s+(@return%s)", "\n%1")
  for line in (plain .. "\n"):gmatch("(.-)\n") do
    local name, rest = line:match("^@param%s+(%S+)%s*(.*)")
    local result = line:match("^@return%s*(.*)")
    if name then
      to = { name = name, text = rest }
      params[#params + 1] = to
    elseif result then
      to = { text = returns and returns.text .. " " .. result or result }
      returns = to
    elseif line == "" then
      to = nil
      text[#text + 1] = ""
    elseif to then
      to.text = to.text .. " " .. line:match("^%s*(.*)")
    else
      text[#text + 1] = line
    end
  end
  return table.concat(text, "\n"):match("^%s*(.-)%s*$"), params, returns and returns.text
end

-- Paragraphs; lines that are indented keep their form.
local function prose(text)
  local out = {}
  for paragraph in (text .. "\n\n"):gmatch("(.-)\n\n+") do
    local tag = ("\n" .. paragraph):find("\n ") and "pre" or "p"
    if paragraph ~= "" then out[#out + 1] = ("<%s>%s</%s>"):format(tag, escape(paragraph), tag) end
  end
  return table.concat(out, "\n")
end

-- "---- nouns ----" on the first line is a heading.
local function section(doc)
  local line, rest = (doc .. "\n"):match("^%-%-+%s*(%w[^\n]*)\n(.*)$")
  if not line then return prose(doc) end
  return "<h2>" .. escape(line:match("^(.-)[%s%-*]*$")) .. "</h2>\n" .. prose(rest)
end

local function linked(text, at)
  return (escape(text):gsub("[%w_]+", function(word)
    return at[word] and ('<a href="%s.html#%s">%s</a>'):format(at[word], word, word)
  end))
end

local function entry(d, at)
  if d.kind == "text" then return section(d.doc) end
  local text, params, returns = parts_of(d.doc)
  local out = { ('<h3 id="%s"><code>%s</code></h3>'):format(d.name, d.name),
    "<pre>" .. linked(d.text, at) .. "</pre>", prose(text) }
  if #params > 0 then
    out[#out + 1] = "<dl>"
    for _, p in ipairs(params) do
      out[#out + 1] = ("<dt><code>%s</code></dt><dd>%s</dd>"):format(p.name, escape(p.text))
    end
    out[#out + 1] = "</dl>"
  end
  if returns then out[#out + 1] = "<p>Returns " .. escape(returns) .. "</p>" end
  return table.concat(out, "\n")
end

--- The page of a header.
-- @tparam string name such as "sim"
-- @tparam {table,...} list of headers.declarations
-- @tparam table at the header of each name that pages link to
function site.header(name, list, at)
  local out = { ('<p><a href="../index.html">berth</a></p>\n<h1>berth/%s.h</h1>'):format(name) }
  for _, d in ipairs(list) do out[#out + 1] = entry(d, at) end
  return page("berth/" .. name .. ".h", table.concat(out, "\n"))
end

-- The first sentence of a header's comment.
local function sentence_of(text)
  local flat = text:gsub("%s+", " ")
  return flat:match("^(.-%.) ") or flat
end

-- Writes the pages; gives { path, title, what } of each.
local function write_headers(out)
  local lists, at, found = {}, {}, {}
  local paths = source.lines "ls core/include/berth/*.h"
  for i, path in ipairs(paths) do
    lists[i] = headers.declarations(source.read(path))
    for _, d in ipairs(lists[i]) do
      if d.name then at[d.name] = at[d.name] or path:match("([%w_]+)%.h$") end
    end
  end
  for i, path in ipairs(paths) do
    local name = path:match("([%w_]+)%.h$")
    source.write(("%s/headers/%s.html"):format(out, name), site.header(name, lists[i], at))
    local about = lists[i][1] and lists[i][1].doc or ""
    found[i] = { path = ("headers/%s.html"):format(name), title = "berth/" .. name .. ".h",
      what = sentence_of(about) }
  end
  return found
end

-- ---- pages --------------------------------------------------------------------------------------

local function quote(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

-- "docs/a.md", "../b": "b".
local function joined(from, path)
  local parts = {}
  for part in ((from:match("^(.*/)") or "") .. path):gmatch("[^/]+") do
    if part == ".." then table.remove(parts) elseif part ~= "." then parts[#parts + 1] = part end
  end
  return table.concat(parts, "/")
end

--- HTML with links to Markdown turned into links to its pages; `copy` is called with other targets
-- in the tree.
function site.relink(html, path, copy)
  return (html:gsub('(%s)(%l+)="([^"]*)"', function(space, key, target)
    if (key ~= "href" and key ~= "src") or target:find("^%a[%w+.-]*:") or target:find("^#") then
      return nil
    end
    local file, anchor = target:match("^([^#]*)(.*)$")
    if file:find("%.md$") then file = file:gsub("%.md$", ".html") else copy(joined(path, file)) end
    return ('%s%s="%s%s"'):format(space, key, file, anchor)
  end))
end

-- The headings with the anchors that links have.
function site.anchored(html)
  local headings, k = {}, 0
  for text in html:gmatch("<h%d[^>]*>(.-)</h%d>") do
    headings[#headings + 1] = (text:gsub("<[^>]*>", ""):gsub("&%w+;", ""))
  end
  local names = markdown.anchors(headings)
  return (html:gsub("<h(%d)[^>]*>", function(level)
    k = k + 1
    return ('<h%s id="%s">'):format(level, names[k])
  end))
end

local function write_pages(out)
  local found, wanted = {}, {}
  for _, path in ipairs(source.lines "ls README.md CONTRIBUTING.md CHANGELOG.md; find docs -name '*.md' | LC_ALL=C sort") do
    local pipe = assert(io.popen("lowdown -Thtml --parse-no-metadata " .. quote(path)))
    local html = pipe:read("*a")
    pipe:close()
    local to = path:gsub("%.md$", ".html")
    os.execute("mkdir -p " .. quote(("%s/%s"):format(out, to):match("^(.*)/")))
    local title = source.read(path):match("^#%s+([^\n]*)") or path
    local function copy(file) wanted[file] = true end
    source.write(out .. "/" .. to, page(title, site.relink(site.anchored(html), path, copy)))
    found[#found + 1] = { path = to, title = title, what = path }
  end
  for file in pairs(wanted) do
    local folder = quote(out .. "/" .. (file:match("^(.*/)") or ""))
    os.execute(("mkdir -p %s && cp -r %s %s"):format(folder, quote(file), folder))
  end
  return found
end

-- ---- front page ---------------------------------------------------------------------------------

local function group(title, list, first, last)
  local out = { ("<h2>%s</h2>\n<ul>"):format(title) }
  for _, each in ipairs(list) do
    if not first or each.path:find(first) and not (last and each.path:find(last)) then
      out[#out + 1] = ('<li><a href="%s">%s</a>: %s</li>'):format(each.path, escape(each.title),
        escape(each.what))
    end
  end
  return table.concat(out, "\n") .. "\n</ul>"
end

--- Writes all pages but those of ldoc, which are in lua/, below a folder.
function site.write(out)
  os.execute("mkdir -p " .. quote(out .. "/headers"))
  local of_headers, pages = write_headers(out), write_pages(out)
  source.write(out .. "/index.html", page("berth", table.concat({
    "<h1>berth</h1>",
    group("Start here", pages, "^[^/]*$"),
    group("Guides", pages, "^docs/guides/"),
    group("Reference", pages, "^docs/[^/]*$"),
    '<p><a href="lua/index.html">Lua modules</a>, from their comments</p>',
    group("C headers", of_headers),
    group("Measured results", pages, "^docs/results/"),
  }, "\n")))
end

return site
