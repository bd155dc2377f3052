-- What docs/how-good.md says of itself.
local berth = require "berth"
local lineup = require "how_good.lineup"
local words = {}

local INTRODUCTION = [[
# How good is an answer?

What each placer makes of $pairs pairs of a graph and a topology: its step time over the best that any of them found, and over a
proved lower bound. Made by one command, which writes this file anew (a few CPU minutes):

    $command

berth $version, seed $seed. All but the last section is the same, byte by byte, at each run.$left

## How to read it

- *Step time*: what the simulator says of the placement on these devices with these links, ready ops first in, first out.
  *To the best*: over the shortest that anything in this document found on the pair. Bold: the shortest itself.
- *Reference*: the last row, $reference more calls from the best answer of all rows and seeds above. It gives the ratios their
  denominator, and is no placer to be compared: it starts from the others, so that it is never behind, and has $times times the
  calls of a search.
- *Calls*: simulations that a search may look at. Those of $calls calls have equal budgets; that of *portfolio + anneal* comes on
  top of the portfolio, which simulates each of its members once (some thirty). Other rows simulate nothing or little.
- *To the bound*: over the largest lower bound of `berth.bounds(g, t, { thorough = true, links = ... })` with the links of the
  pair, named in the table of the pairs. No schedule on these links that keeps memory is shorter, whatever the order of the ops
  (without preemption, and each op run once), so a step time is at most so many times the optimum. For other links it proves
  nothing, but where the links are `free`: those bounds hold for all. What is above 1 may be a placement that nobody found, a
  bound that is not sharp, the queue, or transfers in one another's way: a table below splits it where it is above $wide %.
- *Seeds*: the mean in the first column, least and most over seeds $first to $last; by pairs in a table below.
- *Other order*: the shortest step time of any of these placements, over the best, if devices take the shortest ready op first
  (`light-first`) or that of the longest remaining path (`blevel`) instead. Below 1: that much is the queue's; no placer looked
  for it. `-`: not shorter.
- *oom*: the placer answers, but the simulation runs out of memory. *Refused*: it has no answer. Why is told in a table below.
- Means are geometric: twice as long on one pair and half as long on another is 1. A placer that does not answer everywhere has
  its means over fewer pairs; compare in the column of the pairs that all answer, by which the table is sorted.
- Who is asked: *critical-path* draws its ties $tries times and keeps the best plan, as its paper does. *m-sct* has its
  defaults: favourites from the linear program, solved to 1 %, rounded to a maximal matching (`tau = 0`), ties by level. *exact*
  is left out: at these sizes it proves nothing, and answers with the best of its list schedules. So are published variants.
- With `free`, `pair`, `duplex` and `channel` the placers plan with these links. `route` and `fair` are for simulation: there they
  plan with `duplex`, while portfolio and searches judge by the true links. What links mean: [placers.md](placers.md).
- These are $pairs pairs, chosen to be unlike, not a sample of anything. On your own graph: `berth.compare(g, t)`.
]]

--- What stands before the tables.
-- @tparam int n pairs shown
-- @tparam table about command, seed, seeds, calls, refine, tries, skipped
-- @tparam number wide gap, as a ratio, from which it is split
function words.introduction(n, about, wide)
  local left = #about.skipped > 0
    and (" Left out, as their files are not there: pairs %s."):format(table.concat(about.skipped, ", ")) or ""
  local values = {
    pairs = tostring(n), command = about.command, version = berth.version, seed = tostring(about.seed), left = left,
    reference = lineup.thousands(about.refine), times = ("%.3g"):format(about.refine / about.calls),
    first = tostring(about.seed), last = tostring(about.seed + about.seeds - 1),
    calls = lineup.thousands(about.calls), tries = tostring(about.tries), wide = ("%.3g"):format(100 * (wide - 1)),
  }
  return (INTRODUCTION:gsub("%$(%a+)", values))
end

words.pairs = [[
The bounds, by what decides them (all of `berth.bounds`, [lua.md](lua.md)): *critical path* (op times alone), *transfers* (the
longest path with the transfers that no choice of devices spares), *lp* (each op keeps at most one consumer beside it for free),
*work* (the ops shared out to the devices at their best rates), *memory* (the same with what each device can hold), *serial
clusters* (edges that have no time to cross join ops, which one device then runs one after another), *intervals* (the same, and
what all devices must do within some interval), *link cut* (the same between parts of the devices that thin links join).

DOPPLER: the graphs of its repository, without unit and without memory, times perturbed by the rule of `spec/support/splitmix.lua`
so that no two are equal. Profiled ops: the dnn-partitioning graphs, with its groups. The others are built in: models priced by
the data sheets of the devices ([models](models.md), [devices](devices.md)), layers of 20 ops with lognormal times, a tiled
factorisation. Micro-batches: four passes forward and backward before one update; what shares parameters shares a device.
Replicas: a copy of the model in each machine, free within it; every gradient is all-reduced over both, priced as hierarchical.
]]

words.published = [[
Published values are those of a study of DOPPLER's graphs with the same perturbed times, first in, first out
([results.md](results.md)): the least step time that much longer searches found, and a bound for every schedule. For the other
pairs nothing comparable is published: measured steps, or other objectives.
]]

words.gaps = [[
`berth.gaps` of the best placement, where its gap is above $wide %; per cent of the bound. *Placement*: four more annealing
searches of $calls calls find one that is so much faster, first in, first out. *Queue rule*: and one that is faster still if
light ops pass heavy ones, or long paths short ones. *Open*: the rest, for which the bound or the searches are to blame; nobody
knows which.
]]

words.spread = [[
Step time over the best found, least and most over seeds $first to $last, of all that draw random numbers (the tables above have
seed $first). One number: they do not differ.
]]

--- A text with its values put in.
function words.with(text, values) return (text:gsub("%$(%a+)", values)) end

return words
