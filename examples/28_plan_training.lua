-- How should the training of an 8 B model be split over 16 GPUs, and what would help next?
local berth = require "berth"

local model = berth.llm.model { layers = 32, hidden = 4096, heads = 32, kv_heads = 8,
  ffn = 14336, vocab = 128256 }
local r = assert(berth.llm.plan(model, "16xH100", { global_batch = 128, seq = 8192 }))

print(r)
for _, x in ipairs(r.others) do
  print(("%+.1f %%  %s"):format(100 * x.loss, tostring(x.plan):match "^plan: ([^;]*)"))
  print("         " .. x.reason)
end
for _, x in ipairs(berth.llm.changes(r)) do
  print(("%.1f %%  %s"):format(100 * x.change, x.text))
end
if arg and arg[1] then assert(berth.llm.report(arg[1], r)) end -- the same as a page
