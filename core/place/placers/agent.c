/* The placer "agent": the trained policy of episodes/agent_internal.h. Its answer is planned first
 * in, first out, and keeps memory as those of the placers that only choose devices do; where no
 * episode keeps it, units are packed for feasibility alone. */
#include "episodes/agent_internal.h"
#include "place/place_internal.h"

enum { MOST_CALLS = 50, MOST_OPS = 20000 };

static int32_t calls_of(const berth_place_options *opts) {
  return opts->search ? (int32_t)opts->search->calls : MOST_CALLS;
}

static berth_status check(berth_cost *cost, const berth_place_options *opts) {
  int64_t calls = opts->search ? opts->search->calls : MOST_CALLS;
  if (calls >= 1 && calls <= MOST_CALLS) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "option calls: %lld is not from 1 to %d (agent)",
                      (long long)calls, (int)MOST_CALLS);
}

static berth_status pack(const berth_i_units *u, const berth_place_options *opts, int32_t *device,
                         berth_obstacle *why) {
  berth_i_packing k;
  berth_status st = berth_i_packing_init(u, opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  st = berth_i_packing_find_feasible(&k, "agent", opts, why);
  berth_i_pool_free(&k.pool);
  return st;
}

/* Again with a larger share of the outputs as permanent, because memory ran out: one episode. */
static berth_status fill(const berth_i_units *u, const berth_place_options *opts, int32_t *device,
                         berth_obstacle *why) {
  berth_i_agent a;
  double value = INFINITY;
  const bool again = u->share > 0 && opts->memory != BERTH_MEMORY_TOTAL;
  berth_status st = berth_i_agent_init(u->cost, opts, berth_i_agent_weights, u->share, &a, why);
  if (st != BERTH_OK) return st;
  st = berth_i_agent_search(&a, again ? 1 : calls_of(opts), opts->seed, device, &value);
  berth_i_agent_release(&a);
  if (st != BERTH_OK || !isinf(value)) return st;
  return pack(u, opts, device, why);
}

static berth_status run(berth_cost *cost, const berth_place_options *opts, berth_placement **out,
                        berth_obstacle *why) {
  if (cost->g->n_ops > MOST_OPS) {
    return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                        "agent: the graph has %d ops, it places up to %d: coarsen it before",
                        (int)cost->g->n_ops, (int)MOST_OPS);
  }
  return berth_i_place_devices(cost, "agent", opts->memory, opts, fill, out, why);
}

const berth_i_placer berth_i_placer_agent = {
  .about = { .name = "agent", .reads = "calls", .calls = MOST_CALLS,
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "A trained policy: ops in order of priority, each set of ops on the device with the "
              "least sum of times, which a network weighs by the state. The best of `calls` "
              "simulations, first in, first out: one of the policy as trained, three of plain list "
              "rules, the others of perturbed policies, half of them around the best so far.",
      .source = "policies of op and device: Yao et al. 2026 (DOPPLER); search over perturbations: "
                "Chalumeau et al. 2023; both changed",
      .good = "Training steps on some devices, in tens of simulations.",
      .weak = "Takes as long as all other members of the portfolio; places up to 20,000 ops." }) },
  .run = run,
  .check = check,
  .members = BERTH_I_MEMBERS({ .order = 350, .name = "agent" }),
};
