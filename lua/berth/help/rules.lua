--- What the choices are, by the core's descriptors: placers with their variants, and the values of
-- options. Nothing is repeated here: a new placer or value appears in the help with its own text.
local core = require "berth.core"
local gang = require "berth.cluster.gang"
local options = require "berth.base.options"

local rules = { placers = {}, values = {}, options = {} }

-- Each: name, variant ("": the plain form), rule, source, good (when to use it), weak (known
-- weakness).
for _, placer in ipairs(core.placers()) do
  for _, v in ipairs(placer.variants) do
    rules.placers[#rules.placers + 1] = {
      name = placer.name, variant = v.name, rule = v.rule, source = v.source or "", good = v.good,
      weak = v.weak,
    }
  end
end

-- Options with choices; of two functions that have the same one the first describes it.
for _, name in ipairs { "simulate", "place", "cost", "load", "cluster.simulate" } do
  for _, option in ipairs(options.described(name)) do
    if option.choices and not rules.options[option.key] then
      rules.options[option.key] = option.text:sub(1, 1):upper() .. option.text:sub(2) .. "."
      for _, choice in ipairs(option.choices) do
        rules.values[#rules.values + 1] = { option = option.key, name = choice.name,
          rule = choice.text }
      end
    end
  end
end

-- Gang schedulers, as values of the argument of berth.cluster.simulate.
rules.options.scheduler = "How gangs are served: the argument of berth.cluster.simulate."
for _, name in ipairs(gang.in_order) do
  rules.values[#rules.values + 1] = { option = "scheduler", name = name, rule = gang.text(name) }
end

return rules
