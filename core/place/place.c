/* The door to the placers. */
#include "place_internal.h"

static const berth_i_placer *find(const char *name) {
  return name && strcmp(name, berth_i_placer_portfolio.name) == 0 ? &berth_i_placer_portfolio : berth_i_placer_find(name);
}

const char *const *berth_placer_variants(const char *placer) {
  const berth_i_placer *p = find(placer);
  return p ? p->variants : NULL;
}

berth_status berth_place(berth_cost *cost, const char *placer, const berth_place_options *opts, berth_placement **out,
                         berth_obstacle *why) {
  berth_place_options o = opts ? *opts : berth_place_default(cost->g);
  const berth_i_placer *p = find(placer);
  if (!p) return berth_i_unknown(cost->ctx, "placer", placer, berth_placers());
  return berth_i_placer_run(cost, p, &o, out, why);
}
