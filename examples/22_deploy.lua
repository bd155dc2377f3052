-- Six GPUs in three machines, a batch of 6: which deployment is best for each part of VGG-19, why,
-- and what do repeated ops gain?
local berth = require "berth"

local g = berth.deploy.models.build("vgg19", { batch = 6 })
local cluster = berth.deploy.clusters.six_gpu() -- two V100, two V100, two GTX 1080 Ti; 2.2 to 5 GB/s between them

local function told(name, rule)
  local a = assert(berth.deploy.plan(g, cluster, { batch = 6, op_groups = 20, calls = 3000, reasons = 100, sfb = rule }))
  print(("%-20s %7s a step, %.2f x DP-NCCL, %.2f x the best uniform strategy"):format(name, berth.format(a.seconds, "seconds"),
    a.speedup, a.speedup_uniform))
  return a
end

local a = told("with repeated ops", "local")
local plain = told("without", "none")
print(("\nrepeating ops instead of reducing their gradients: worth %.2f x to the best uniform strategy, %.2f x to the plan\n")
  :format(plain:baseline("uniform").seconds / a:baseline("uniform").seconds, plain.seconds / a.seconds))
print(a:table(6))
print ""
print(a:baseline_table())

-- The op group with most parameters, and its alternatives.
local most = a.groups[1]
for _, group in ipairs(a.groups) do
  if group.parameters > most.parameters then most = group end
end
print(("\n%s, with %s of gradients, is on %s, %.0f of its ops repeated there:"):format(most.what,
  berth.format(most.gradient_bytes, "bytes"), most.where, #most.repeated))
for _, r in ipairs(most.reasons) do
  if r.change then print(("  %s: %+.1f %%"):format(r.what, 100 * r.change)) end
end
