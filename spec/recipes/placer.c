/* Recipe: a placer; CONTRIBUTING.md says where it goes. This one cuts the ops, in the order of
 * their numbers, into one block for each device. It only chooses devices: berth_i_place_devices
 * keeps memory and plans. */
#include "place/place_internal.h"

static int32_t first_that_can(const berth_i_units *u, int32_t unit, int32_t from) {
  int32_t devices = u->cost->n_devices;
  for (int32_t k = 0; k < devices; k++) {
    if (berth_i_unit_can_run(u, unit, (from + k) % devices)) return (from + k) % devices;
  }
  return BERTH_NONE;
}

/* A unit is an op, or the ops of a colocation group. */
static berth_status fill_evenly(const berth_i_units *u, const berth_place_options *opts,
                                int32_t *device, berth_obstacle *why) {
  (void)opts;
  for (int32_t i = 0; i < u->n; i++) {
    int32_t d = first_that_can(u, i, (int32_t)((int64_t)i * u->cost->n_devices / u->n));
    int32_t op = u->ops[u->at[i]];
    if (d == BERTH_NONE) return berth_i_infeasible(u->cost, "even-blocks", op, BERTH_NONE, 0, why);
    for (int32_t k = u->at[i]; k < u->at[i + 1]; k++) device[u->ops[k]] = d;
  }
  return BERTH_OK;
}

static berth_status run_even_blocks(berth_cost *cost, const berth_place_options *opts,
                                    berth_placement **out, berth_obstacle *why) {
  return berth_i_place_devices(cost, "even-blocks", opts->memory, opts, fill_evenly, out, why);
}

const berth_i_placer berth_i_placer_even_blocks = {
  .about = { .name = "even-blocks",
             .variants = (const berth_placer_variant[]){
    { .name = "",
      .rule = "One block of ops for each device, in the order of their numbers.",
      .source = "a recipe",
      .good = "Graphs whose ops are numbered stage by stage.",
      .weak = "Knows neither times nor transfers." },
    { .name = NULL } } },
  .run = run_even_blocks,
};
