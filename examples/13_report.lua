-- A step as one HTML file for a browser: how large is it, and what does it contain?
local berth = require "berth"

local g = assert(berth.models.bert { size = "large", batch = 8, granularity = "layer" })
local t = berth.topology.mesh(4, { preset = "V100", bandwidth = "50 GB/s", latency = "5 us" })
local p, rows = berth.portfolio(g, t, { links = "duplex", members = { "single", "m-etf", "heft" } })
local r = assert(berth.simulate(g, t, p, { links = "duplex" }))
print("step time " .. berth.format(r.makespan, "seconds"))

local path = arg and arg[1] or os.tmpname()
assert(berth.report(path, { result = r, placement = p, rows = rows, bounds = berth.bounds(g, t) }))
local file = assert(io.open(path))
local page = file:read("*a")
file:close()
if not (arg and arg[1]) then os.remove(path) end

print(#page < 200e3 and "below 200 kB" or "above 200 kB")
for title in page:gmatch("<h2>(.-)</h2>") do print("section: " .. title) end
print(page:find("https?://", 1) == page:find("http://www.w3.org/2000/svg", 1, true) and "loads nothing")

local figure = assert(berth.figure("gantt", { result = r })) -- a separate file, for a paper or a slide
print(figure:match("^<svg") and figure:find("</svg>", 1, true) and "gantt as SVG")
