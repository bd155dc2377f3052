-- Files that commands read and write: their size, FIFOs and devices, standard input and output,
-- Ctrl-C, full disks.
local shell = require "support.shell"
local ran, failed = shell.ran, shell.failed

local TWO = "1\n0 0 0\n1 5 1 0\n2 0 1 1\n" -- STG
local MESH = "mesh:2,bandwidth=1GB/s"
local try = shell.try(it, pending)

-- Ctrl-C again as long as the process lives: a job in the background ignores it until berth has
-- its handler.
local INTERRUPT = [[
interrupt() {
  (sleep 0.5; while kill -INT $1; do sleep 5; done) >/dev/null 2>&1 &
  again=$!
  wait $1
  exit_code=$?
  kill $again
  return $exit_code
}
]]

-- A script of the system shell, in which $B is berth, $F a FIFO and $G a graph: exit code, output.
local function script(text)
  local fifo, graph = shell.path(".fifo"), shell.file(".stg", TWO)
  local lua = os.getenv "BERTH_LUA" or "lua5.4"
  local file = shell.file(".sh", ("BERTH_BUILD=%s BERTH_LUA=%s; export BERTH_BUILD BERTH_LUA\n"
    .. "B=scripts/berth F=%s G=%s M=%s\nmkfifo $F\n%s%s\n"):format(shell.build, lua, fifo, graph,
    MESH, INTERRUPT, text))
  local out = shell.capture(("sh %s 2>&1; echo exit $?"):format(file))
  return tonumber(out:match "exit (%d+)\n$"), (out:gsub("exit %d+\n$", ""))
end

describe("files of commands", function()
  after_each(shell.tidy)

  it("are refused when they are larger than --most-bytes, also when unpacked", function()
    local plain = shell.file(".stg", TWO)
    local packed = shell.path ".stg.gz"
    shell.capture(("gzip -c %s > %s"):format(shell.file(".stg", TWO .. (" "):rep(9999)), packed))
    for _, path in ipairs { plain, packed } do
      ran(shell.run("convert", path, "-"))
      failed(2, path .. ": ", shell.run("convert", path, "-", "--most-bytes", "22B"))
    end
    failed(2, "holds more than 22 B (most_bytes)",
      shell.run("convert", plain, "-", "--most-bytes", "22B"))
    failed(2, "unpacks to more than 5 kB (most_bytes)",
      shell.run("convert", packed, "-", "--most-bytes", "5kB"))
    failed(2, "holds more than 20 B (most_bytes)", shell.run("cluster",
      shell.file(".csv", "submit_s,duration_s,num_gpus,vc\n"), "--gpus", "1", "--most-bytes", "20B"))
  end)

  it("are neither folders nor devices", function()
    for path, what in pairs { ["/tmp"] = "directory", ["/dev/zero"] = "device" } do
      local text = ("%s: cannot be read: it is a %s, not a file"):format(path, what)
      failed(2, text, shell.run("place", path, MESH))
      failed(2, text, shell.run("cluster", path, "--gpus", "1"))
      failed(2, text, shell.run("deploy", "model:resnet50,batch=8", MESH .. ",preset=V100",
        "--plan", path))
      failed(2, text, shell.run("cluster", "pdors", "--problem", path))
    end
  end)

  it("may begin with a dash, behind --", function()
    failed(2, "-none: cannot be opened", shell.run("convert", "--", "-none", "x.json"))
    failed(2, "pacml: cannot be opened", shell.run("cluster", "--gpus", "1", "--", "pacml"))
  end)

  it("are standard output once", function()
    local graph = shell.file(".stg", TWO)
    failed(2, "--json and --output: both on standard output",
      shell.run("place", graph, MESH, "--json", "--output", "-"))
    failed(2, "--output and --trace: both on standard output",
      shell.run("place", graph, MESH, "--trace", "-", "--output", "-"))
    failed(2, "--save: is a file with weights",
      shell.run("train", "placeto", graph, "--save", "-"))
  end)

  for _, row in ipairs {
    { "are standard input and output", 0, "^{\"berth\": 1,\n\"placement\"", "cat $G | $B place - $M --output - 2>/dev/null" },
    { "leave what is printed to standard error", 0, "^graph: 3 ops", "$B place $G $M --placer heft --output - 2>&1 >/dev/null" },
    { "are endless on standard input", 2, "standard input: holds more than 1 MB",
      "yes | $B place - $M --most-bytes 1MB" },
    { "are checked on standard input", 0, "ops%s+3\n", "gzip -c $G | $B check -" },
    { "are named as standard input", 2, "^berth: standard input: it is a schedule: write it",
      "echo 0F0,1F0 | $B check -" },
    { "are read from a FIFO", 0, "^graph: 3 ops", "(sleep 0.2; cat $G) > $F & $B place $F $M --placer heft" },
    { "are written to a FIFO", 0, "\"placement\"",
      "(sleep 0.2; exec cat $F) & $B place $G $M --output $F >/dev/null && wait" },
    { "are interrupted while a FIFO has no writer", 130, "^berth: interrupted\n$",
      "$B place $F $M & interrupt $!" },
    { "are interrupted while a FIFO has no reader", 130, "^berth: interrupted\n$",
      "$B place $G $M --output $F & interrupt $!" },
    { "are interrupted while a stream goes on", 130, "^berth: interrupted\n$",
      "yes > $F & w=$!; $B place $F $M --most-bytes 1TB & interrupt $!" },
    { "fail on a full disk", 2, "^berth: /dev/full: cannot be written: No space left",
      "$B place $G $M --output /dev/full" },
    { "fail on a full disk, as standard output", 2, "^berth: standard output: No space left",
      "$B place $G $M >/dev/full" },
    { "fail on a full disk, when they are standard output", 2, "berth: standard output: cannot be written: No space left",
        "$B place $G $M --output - 2>&1 >/dev/full" },
  } do
    try(row[1], function()
      local exit, out = script(row[4])
      assert.matches(row[3], out)
      assert.equal(row[2], exit, out)
    end)
  end

  it("hold finished runs: not a device", function()
    failed(2, "/dev/full: cannot be read: it is a device", shell.run("cluster", "pdors", "--path",
      "/dev/full", "--seeds", "2", "--jobs", "3", "--machines", "2"))
  end)
end)
