/* The public list of placers, in the order of BERTH_I_PLACERS, and berth_place. */
#include "place_internal.h"

#define ABOUT(symbol) &berth_i_placer_##symbol.about,
static const berth_placer *const placers[] = { BERTH_I_PLACERS(ABOUT) ABOUT(portfolio) ABOUT(policy)
                                                   NULL };

const berth_placer *const *berth_placers(void) { return placers; }

const berth_placer *berth_placer_find(const char *name) {
  for (const berth_placer *const *p = placers; name && *p; p++) {
    if (strcmp((*p)->name, name) == 0) return *p;
  }
  return NULL;
}

static const berth_i_placer *find(const char *name) {
  return name && strcmp(name, berth_i_placer_portfolio.about.name) == 0 ? &berth_i_placer_portfolio
                                                                        : berth_i_placer_find(name);
}

berth_status berth_place(berth_cost *cost, const char *placer, const berth_place_options *opts,
                         berth_placement **out, berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_place_options o = opts ? *opts : berth_place_default(cost->g);
  const berth_i_placer *p = find(placer);
  if (!p) return berth_i_placer_unknown(cost->ctx, placer);
  return berth_i_placer_run(cost, p, &o, out, why);
}
