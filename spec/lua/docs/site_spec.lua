-- The HTML of the documentation: pages of headers, links and anchors (scripts/docs).
package.path = "scripts/tools/?.lua;" .. package.path
local headers = require "headers"
local site = require "docs_site"
local source = require "source"

local EXAMPLE = [[
/* A room. It is small. */
#ifndef X_H
#define X_H
extern "C" {
/** Kinds. */
typedef enum berth_kind { BERTH_A, /* first */ BERTH_B } berth_kind;

/* A section. */

/**
 * Adds a < b.
 *
 * @param a  one,
 *           s
 * @return BERTH_OK
 *
 * O(1).
 */
berth_status berth_add(double a, berth_kind k);
double berth_sum(void); /* so far */
typedef void (*berth_fn)(void *ud);
}
#endif
]]

describe("a page of a header", function()
  it("has a heading for each section, and tags that follow one another", function()
    local list = headers.declarations([[
/* ---- sums ---------- *
 * Of numbers. */

/** Adds.  @param a one  @param b two
 *  @return the sum */
double berth_add(double a, double b);
]])
    local html = site.header("x", list, {})
    assert.is_truthy(html:find("<h2>sums</h2>\n<p>Of numbers.</p>", 1, true), html)
    assert.is_truthy(html:find("<dt><code>b</code></dt><dd>two</dd>", 1, true), html)
    assert.is_truthy(html:find("<p>Returns the sum</p>", 1, true), html)
  end)
end)

describe("the declarations of a header", function()
  it("are found with their comments", function()
    local found = {}
    for i, d in ipairs(headers.declarations(EXAMPLE)) do
      found[i] = { d.kind, d.name or "", (d.doc:gsub("\n", "|")) }
    end
    assert.same({ { "text", "", "A room. It is small." }, { "type", "berth_kind", "Kinds." },
      { "text", "", "A section." }, { "function", "berth_add",
        "Adds a < b.||@param a  one,|          s|@return BERTH_OK||O(1)." },
      { "function", "berth_sum", "so far" }, { "type", "berth_fn", "" } }, found)
  end)

  it("are all functions of all headers", function()
    local count = 0
    for _, path in ipairs(source.lines "ls core/include/berth/*.h") do
      local text, names = source.read(path), {}
      for _, d in ipairs(headers.declarations(text)) do
        if d.kind == "function" then names[d.name] = true end
      end
      for name in text:gsub("/%*.-%*/", ""):gmatch("(berth_[%w_]+)%b();") do
        assert.is_true(names[name], path .. ": " .. name)
        count = count + 1
      end
    end
    assert.is_true(count > 600)
  end)
end)

describe("a page", function()
  it("of a header has signature, parameters and result", function()
    local html = site.header("x", headers.declarations(EXAMPLE), { berth_kind = "x" })
    for _, part in ipairs { '<h3 id="berth_add"><code>berth_add</code></h3>',
      'double a, <a href="x.html#berth_kind">berth_kind</a> k);', "<p>Adds a &lt; b.</p>",
      "<dt><code>a</code></dt><dd>one, s</dd>", "<p>Returns BERTH_OK</p>", "<p>O(1).</p>" } do
      assert.is_truthy(html:find(part, 1, true), part .. "\n" .. html)
    end
  end)

  it("has links to pages, and the anchors that they name", function()
    local copied = {}
    local html = site.relink('<a href="../a.md#b">x</a><img src="p/c.svg"><a href="http://d.md">',
      "docs/e.md", function(path) copied[#copied + 1] = path end)
    assert.equal('<a href="../a.html#b">x</a><img src="p/c.svg"><a href="http://d.md">', html)
    assert.same({ "docs/p/c.svg" }, copied)
    assert.equal('<h2 id="berthnn-x"><code>berth.nn</code> x</h2><h2 id="b-1">b-1</h2>',
      site.anchored('<h2 id="y"><code>berth.nn</code> x</h2><h2>b-1</h2>'))
  end)
end)
