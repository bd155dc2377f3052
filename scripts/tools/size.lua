-- See scripts/size.
local source = require "source"

local function count(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

local function row(tree, room, sum)
  local share = sum.comment / math.max(sum.code, 1)
  print(("%-8s %-12s %5d %7d %8d %7.2f"):format(tree, room, sum.files, sum.code, sum.comment, share))
end

local trees, order = {}, {}
local function sum_of(tree, room)
  if not trees[tree] then
    trees[tree] = { rooms = {} }
    order[#order + 1] = tree
  end
  local t = trees[tree]
  if not t[room] then
    t[room] = { files = 0, code = 0, comment = 0 }
    t.rooms[#t.rooms + 1] = room
  end
  return t[room]
end

for _, path in ipairs(source.files()) do
  local code, comment = source.kinds(source.read(path), source.language(path))
  local tree, room = source.room(path)
  for _, sum in ipairs { sum_of(tree, room), sum_of(tree, "all"), sum_of("total", "all") } do
    sum.files, sum.code, sum.comment = sum.files + 1, sum.code + count(code), sum.comment + count(comment)
  end
end

print("tree     room         files    code comments   share")
table.sort(order)
for _, tree in ipairs(order) do
  local t = trees[tree]
  table.sort(t.rooms)
  for _, room in ipairs(t.rooms) do
    if room ~= "all" then row(tree, room, t[room]) end
  end
  if tree ~= "total" then row(tree, "all", t.all) end
end
row("total", "all", trees.total.all)
