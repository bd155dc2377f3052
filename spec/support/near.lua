--- Checks that an array of berth.nn holds these numbers, row-major, to a tolerance.
local assert = require "luassert"

return function(expected, a, tolerance)
  local got = a:flat()
  assert.equal(#expected, #got)
  for i = 1, #expected do assert.near(expected[i], got[i], tolerance or 1e-6) end
end
