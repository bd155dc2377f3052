-- The prose of docs/how-good.md.
local berth = require "berth"
local lineup = require "how_good.lineup"
local words = {}

local INTRODUCTION = [[
# How good is an answer?

The step time of the placements of each placer on $pairs pairs of a graph and a topology, over the
best that any of them found, and over a proved lower bound. One command regenerates this file (a few
CPU minutes):

    $command

berth $version, seed $seed. All but the last section has the same bytes at each run.$left

## How to read it

- *Step time*: of the simulation of the placement on these devices with these links, ready ops first
  in, first out. *To the best*: over the shortest found in this document on the pair. Bold: the
  shortest itself.
- *Reference*: the last row, $reference more calls from the best answer of all rows and seeds above.
  It is the denominator of the ratios, not a placer for comparison: it starts from the others, so
  that it is never worse, and has $times times the calls of a search.
- *Calls*: simulations that a search may run. Searches of $calls calls have equal budgets.
  *portfolio* is the default answer: its members, each simulated once (about thirty), then a search
  by its own default (up to 8,000); *members of the portfolio*: without that search. Other rows run
  no or few simulations.
- *To the bound*: over the largest lower bound of `berth.bounds(g, t, { thorough = true, links = ...
  })` with the links of the pair, named in the table of the pairs. No schedule on these links that
  fits memory is shorter, for any order of the ops (without preemption, and each op run once). So a
  step time is at most this ratio times the optimum. The bound does not hold for other links, except
  that bounds for `free` links hold for all. A ratio above 1 has four possible causes: a better
  placement exists, the bound is not tight, the queue, or contention of transfers. A table below
  splits it where it is above $wide %.
- *Seeds*: the mean in the first column, least and most over seeds $first to $last; by pairs in a
  table below.
- *Other order*: the shortest step time of any of these placements, over the best, if devices take
  the shortest ready op first (`light-first`) or that of the longest remaining path (`blevel`)
  instead. Below 1: the gain is due to the queue rule, which no placer searched. `-`: not shorter.
- *oom*: the placer returns a placement, but the simulation runs out of memory. *Refused*: it
  returns none. A table below has the reasons.
- Means are geometric: twice as long on one pair and half as long on another is 1. A placer without
  a placement on some pairs has its means over fewer pairs; compare in the column of the pairs that
  all answer, by which the table is sorted.
- Settings: *critical-path* draws its ties $tries times and keeps the best plan, as its paper does.
  *m-sct* has its defaults: favourites from the linear program, solved to 1 %, rounded to a maximal
  matching (`tau = 0`), ties by level. *exact* is omitted: at these sizes it proves nothing, and
  returns the best of its list schedules. Published variants are also omitted.
- With `free`, `pair`, `duplex` and `channel` the placers plan with these links. With `route` and
  `fair` they plan with `duplex`, while portfolio and searches judge by the true links.
  [placers.md](placers.md) defines the links.
- These are $pairs pairs, chosen to differ, not a random sample. On your own graph:
  `berth.compare(g, t)`.
]]

--- The text before the tables.
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
The bounds, by the constraint that decides them (all of `berth.bounds`, [lua.md](lua.md)): *critical
path* (op times alone), *transfers* (the longest path with the transfers that no choice of devices
avoids), *lp* (each op has at most one consumer on its device without a transfer), *work* (the ops
distributed over the devices at their best rates), *memory* (the same with the memory of each
device), *serial clusters* (edges that have no time to cross join ops, which one device then runs
one after another), *intervals* (the same, and the work of all devices within an interval), *link
cut* (the same between parts of the devices joined by slow links).

DOPPLER: the graphs of its repository, without unit and without memory, times perturbed by the rule
of `spec/support/splitmix.lua` so that no two are equal. Profiled ops: the dnn-partitioning graphs,
with its groups. The others are built in: models priced by the data sheets of the devices
([models](models.md), [devices](devices.md)), layers of 20 ops with lognormal times, a tiled
factorisation. Micro-batches: four passes forward and backward before one update; ops with common
parameters share a device. Replicas: a copy of the model in each machine, free within it; every
gradient is all-reduced over both, priced as hierarchical.
]]

words.published = [[
Published values are those of a study of DOPPLER's graphs with the same perturbed times, first in,
first out ([results](results/doppler.md)): the least step time found by much longer searches, and a
bound for every schedule. For the other pairs no comparable values are published: only measured
steps, or other objectives.
]]

words.gaps = [[
`berth.gaps` of the best placement, where its gap is above $wide %; per cent of the bound.
*Placement*: how much faster the best placement of four more annealing searches of $calls calls is,
first in, first out. *Queue rule*: how much faster still one is if light ops overtake heavy ones, or
long paths short ones. *Open*: the rest, due to the bound or the searches; which of the two is
unknown.
]]

words.spread = [[
Step time over the best found, least and most over seeds $first to $last, of all placers that draw random
numbers (the tables above have seed $first). A single number: the seeds do not differ.
]]

--- A text with its values inserted.
function words.with(text, values) return (text:gsub("%$(%a+)", values)) end

return words
