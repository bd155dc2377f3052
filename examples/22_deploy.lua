-- Four fast GPUs in one machine and four slower ones in another: what does each part of VGG-19 want, why, and what would a faster
-- network between the machines change?
local berth = require "berth"

local g = berth.deploy.models.build("vgg19", { batch = 64 })

local function machines(bandwidth)
  return berth.topology.groups {
    groups = { { preset = "V100", count = 4, bandwidth = "8 GB/s" }, { preset = "P100", count = 4, bandwidth = "3 GB/s" } },
    between = bandwidth,
  }
end

local function told(bandwidth)
  local a = assert(berth.deploy.plan(g, machines(bandwidth), { batch = 64, op_groups = 20, evaluations = 200, reasons = 100 }))
  print(("\n%s between the machines: %s a step, %.2f x DP-NCCL, %.2f x the best uniform strategy"):format(bandwidth,
    berth.format(a.seconds, "seconds"), a.speedup, a.speedup_uniform))
  return a
end

local slow, fast = told "2.81 GB/s", told "25 GB/s"

print "\nthe heaviest op groups, and the one with most parameters, on the slow network:"
print(slow:table(4))
local most = 1
for i, group in ipairs(slow.groups) do
  if group.parameters > slow.groups[most].parameters then most = i end
end
local group = slow.groups[most]
print(("\n%s: %s of parameters, on %s, %.0f of its ops repeated instead of reducing gradients"):format(group.what,
  berth.format(group.parameters, "bytes"), group.where, #group.repeated))
for _, r in ipairs(group.reasons) do
  if r.change then print(("  %s: %+.1f %%"):format(r.what, 100 * r.change)) end
end
print(("\na network that is nine times as fast is worth %.2f x"):format(slow.seconds / fast.seconds))
