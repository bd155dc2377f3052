-- Models of libonnx-testdata by what is said of the shapes of their outputs; those that are not right
-- by the kind that stops them.
local testdata = require "spec.support.onnx_testdata"
assert(testdata.installed(), testdata.dir .. ": libonnx-testdata is not there")

local count, kinds, names = { right = 0, wrong = 0, unknown = 0, refused = 0 }, {}, {}
for _, dir in ipairs(testdata.models()) do
  local verdict, found = testdata.judge(dir)
  count[verdict] = count[verdict] + 1
  if verdict ~= "right" then
    local label = verdict .. " " .. found[#found]
    if not kinds[label] then names[#names + 1] = label end
    kinds[label] = (kinds[label] or 0) + 1
  end
end
table.sort(names)
print(("%d right, %d wrong, %d unknown, %d refused"):format(count.right, count.wrong,
  count.unknown, count.refused))
for _, label in ipairs(names) do print(("%3d %s"):format(kinds[label], label)) end
