-- BERT-large from the zoo, forward, backward and update, without colocation groups, as a file.  lua scripts/bench/bert.lua PATH
local berth = require "berth"
local path = assert(arg[1], "usage: bert.lua PATH")
local described = berth.models.describe("bert-large", {})
for _, op in ipairs(described.ops) do op.group = nil end
assert(berth.save(path, { graph = assert(berth.graph(described)) }))
