-- Pages about clusters: the numbers of the results, jobs on GPUs, sums over time, refusals.
local berth = require "berth"
local pages = require "support.pages"
local shell = require "support.shell"
local xml = require "support.xml"
local jobs = require "berth.report.cluster_jobs"

local ran, run, read = shell.ran, shell.run, shell.read

-- two GPUs: a takes both for 4 h, then b and c one each, 2 h and 6 h
local H = 3600
local TRACE = { { name = "a<1>", arrival = 0, work = 4 * H, gpus = 2 },
  { name = "b", arrival = H, work = 2 * H, gpus = 1 },
  { name = "c", arrival = 2 * H, work = 6 * H, gpus = 1 } }

local function results(...)
  local out = {}
  for i, name in ipairs { ... } do
    out[i] = assert(berth.cluster.simulate(TRACE, { machines = 1, capacity = 2 }, name))
  end
  return out
end

local has = pages.has

local function page_of(runs, opts) return pages.of(berth.cluster_report, runs, opts) end

describe("berth.cluster_report", function()
  teardown(function() shell.tidy() end)

  it("has the numbers of the results, in hours", function()
    local runs = results("fifo", "srtf")
    local page = page_of(runs, { title = "Two <runs>", command = "berth cluster x" })
    assert.equal(10 * H, runs[1].summary.makespan)
    -- a 4 h, b 1 h to 6 h, c 2 h to 10 h
    assert.equal((4 + 5 + 8) / 3 * H, runs[1].summary.mean_jct)
    local bound = runs[1].summary
    has(page, ("Lower bounds: mean %.3g h, makespan %.3g h."):format(bound.bound_jct / H,
      bound.bound_makespan / H))
    has(page, "Two &lt;runs&gt;", "3 jobs, 2 GPUs, 1 machine", "berth cluster x",
      '<td>fifo</td><td class="n">5.67 h</td><td class="n">5 h</td>', ">10 h</text>",
      "job 1 (a&lt;1&gt;): 2 GPUs on 1 machine, 0 s to 4 h",
      "job 3 (c): 1 GPU on 1 machine, 4 h to 10 h", "srtf")
    local pictures = 0
    for _, one in ipairs(xml.elements(page)) do
      if one.name == "svg" and one.attributes.role == "img" then pictures = pictures + 1 end
      assert.is_true(one.name ~= "script" and one.name ~= "link" and one.name ~= "img")
    end
    assert.equal(4, pictures)
    assert.equal(page, page_of(results("fifo", "srtf"),
      { title = "Two <runs>", command = "berth cluster x" }))
  end)

  it("writes one figure alone, as SVG", function()
    for _, kind in ipairs { "jobs", "usage", "queue" } do
      local text = page_of(results("fifo", "srtf"), { figure = kind })
      assert.equal("svg", xml.elements(text)[1].name)
    end
    has(page_of(results("fifo"), { figure = "queue" }), "Waiting jobs over time", "<style>")
    local path = shell.file(".csv", "submit,runtime,gpus\n0,60,1\n")
    local columns = "arrival=submit,work=runtime,gpus=gpus"
    local svg = shell.path ".svg"
    shell.keep_in_mind(svg)
    local out = ran(run("cluster", path, "--columns", columns, "--gpus", "2", "--report", svg,
      "--figure", "jobs"))
    has(out, "\nbounds: mean 60 s, makespan 60 s\n", "\nwritten: " .. svg)
    has(read(svg), "Jobs on GPUs: fifo")
    shell.failed(2, "--figure: --report FILE is needed", run("cluster", path, "--gpus", "2",
      "--figure", "jobs"))
  end)

  it("refuses a figure that nothing is drawn in", function()
    local r = berth.cluster.simulate({ { arrival = 0, work = 0 } }, 1, "fifo")
    local ok, message, code = berth.cluster_report(os.tmpname(), r, { figure = "usage" })
    assert.is_nil(ok)
    assert.equal("berth.cluster_report: figure: no job takes time", message)
    assert.equal("unsupported", code)
  end)

  it("draws a job on neighbouring GPUs as one block, none on a GPU that is taken", function()
    local out = jobs.figure(results("fifo")[1], 1, 10 * H)
    local found = {}
    for _, piece in ipairs(out) do
      local x, y, w, h, class = piece:match(
        '<rect x="(%S+)" y="(%S+)" width="(%S+)" height="(%S+)" class="(c%d)"')
      if x then found[#found + 1] = table.concat({ x, y, w, h, class }, " ") end
    end
    -- 682 px for 10 h; rows of 18 px from 8 px on
    assert.same({ "124 8 272.4 35.4 c1", "396.8 8 136 17.4 c2", "396.8 26 408.8 17.4 c3" }, found)
  end)

  it("sums GPUs over windows of time", function()
    local windows = jobs.windows(5)
    jobs.add(windows, 1, 6, 2, 10)
    assert.same({ 1, 2, 2, 0, 0 }, windows)
    jobs.add(windows, 9, 10, 1, 10)
    assert.same({ 1, 2, 2, 0, 0.5 }, windows)
  end)

  it("draws machines where GPUs are many, and counts those that run nothing", function()
    local r = assert(berth.cluster.simulate(TRACE, { machines = 40, capacity = 8 }, "fifo"))
    local out = jobs.figure(r, 1, 10 * H)
    local text = table.concat(out)
    has(text, "a row per machine", "Not drawn: 39 machines that run nothing.", "fill-opacity")
    assert.is_nil(text:find("<rect[^>]*c1"))
  end)

  it("takes results of methods, and jobs that never run", function()
    local r = assert(berth.cluster.simulate({ { arrival = 0, work = 5, machines = 1 },
      { arrival = 1, work = 5, machines = 2 } }, 2, { name = "first",
      arrival = function(_, _, j)
        if j == 1 then return { start = { { job = j, machines = { 1 }, rate = 1 } } } end
        return { refuse = { { job = j } } }
      end }))
    local page = page_of { r }
    has(page, "first", "refused", "5 s", "2 jobs, 2 GPUs, 2 machines")
    assert.is_nil(page:find("nan", 1, true))
  end)

  it("has the same bytes on every interpreter", function()
    local a, b, page = 1, 0, page_of(results("fifo", "las"))
    page = page:gsub(berth.version:gsub("%p", "%%%0"), "VERSION")
    for i = 1, #page do
      a = (a + page:byte(i)) % 65521
      b = (b + a) % 65521
    end
    assert.equal(176104938, b * 65536 + a)
  end)

  it("refuses what is no result", function()
    assert.has_error(function() berth.cluster_report("x.html", {}) end)
    assert.error_matches(function() berth.cluster_report("x.html", { 3 }) end,
      "expected a result of berth.cluster.simulate, got number")
    local other = assert(berth.cluster.simulate({ TRACE[1] }, { machines = 1, capacity = 2 },
      "fifo"))
    assert.error_matches(function()
      berth.cluster_report("x.html", { results("fifo")[1], other })
    end, "1 jobs, the first result has 3")
    assert.has_error(function() berth.cluster_report("x.html", results("fifo"), { colour = 1 }) end)
    local done, _, code = berth.cluster_report("/nowhere/x.html", results("fifo"))
    assert.is_nil(done)
    assert.equal("io", code)
  end)

  it("is what berth cluster --report writes, for several schedulers", function()
    local trace = shell.file(".csv", "arrival,work,gpus\n0,14400,2\n3600,7200,1\n")
    local page = shell.path()
    ran(run("cluster", trace, "--columns", "arrival=arrival,work=work,gpus=gpus", "--gpus", "2",
      "--scheduler", "fifo,srtf", "--report", page))
    local text = read(page)
    has(text, "berth cluster " .. trace, "--report " .. page:match "[^/]+$", "2 jobs, 2 GPUs",
      "Jobs on GPUs: fifo", "Jobs on GPUs: srtf")
    assert.is_nil(text:find(page, 1, true))
    local exit, _, err = run("cluster", "/nowhere.csv", "--gpus", "2", "--report", "/nowhere/x.html")
    assert.equal(2, exit)
    has(err, "--report: ", "/nowhere/x.html")
    local all = {}
    for _, name in ipairs(berth.cluster.schedulers) do
      if name ~= "gavel" and name ~= "optimus" and name ~= "pollux" then all[#all + 1] = name end
    end
    ran(run("cluster", trace, "--columns", "arrival=arrival,work=work,gpus=gpus", "--gpus", "2",
      "--scheduler", table.concat(all, ","), "--report", page))
    has(read(page), ("Jobs on GPUs: " .. all[#all]))
  end)
end)
