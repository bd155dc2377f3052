-- Prints all answers; called by scripts/answers from the top of the source tree.
package.path = "scripts/answers.d/?.lua;" .. package.path
local lines = require "lines"

lines.all(print, os.getenv "ONLY")
