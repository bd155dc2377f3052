-- Runs every example in the present interpreter and compares what it prints with the .out file beside it. Prints TAP.
local list = assert(io.popen("ls examples/*.lua"))
local lua = os.getenv("BERTH_LUA") or arg[-1]
local count, failed = 0, 0

local function read(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

for path in list:lines() do
  count = count + 1
  local run = assert(io.popen(lua .. " " .. path .. " 2>&1"))
  local got = run:read("*a")
  run:close()
  local want = read((path:gsub("%.lua$", ".out")))
  local lines = select(2, read(path):gsub("\n", ""))
  local ok = got == want and lines < 60
  print(("%s %d - %s"):format(ok and "ok" or "not ok", count, path))
  if lines >= 60 then print("  # longer than 60 lines") end
  if got ~= want then
    failed = failed + 1
    print("  got:")
    print((got:gsub("[^\n]+", "  | %0")))
  end
end
list:close()
print("1.." .. count)
os.exit(failed == 0)
