/* The table of placers, and what placers share that only choose devices. */
#ifndef BERTH_PLACE_INTERNAL_H
#define BERTH_PLACE_INTERNAL_H

#include "pack/packing_internal.h"
#include <berth/place.h>

/** One placer. name and variants as in berth_placers(). */
typedef struct berth_i_placer {
  const char *name;
  const char *const *variants; /* NULL-terminated, "" first */
  berth_status (*run)(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why);
  berth_status (*check)(berth_cost *cost, const berth_place_options *opts); /* of options all placers have checked; NULL: no more */
} berth_i_placer;

/* options.c */
/** What berth_place checks before it begins. variant may be NULL. */
berth_status berth_i_placer_check(berth_cost *cost, const berth_i_placer *p, const berth_place_options *opts);
berth_status berth_i_check_policy(berth_cost *cost, const berth_place_options *opts);
/** BERTH_EINVAL: there are only these names. */
berth_status berth_i_unknown(berth_ctx *ctx, const char *what, const char *name, const char *const *names);
/* placer.c */
/** berth_place, for one that has been found. */
berth_status berth_i_placer_run(berth_cost *cost, const berth_i_placer *p, const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why);
/* table.c */
/** Any but the portfolio; NULL: there is none of that name. */
const berth_i_placer *berth_i_placer_find(const char *name);

/* place/placers/baselines.c, place/placers/metis.c, place/placers/mtopo.c */
extern const berth_i_placer berth_i_placer_single, berth_i_placer_round_robin, berth_i_placer_random, berth_i_placer_metis,
    berth_i_placer_m_topo;
/* the list engine's */
extern const berth_i_placer berth_i_placer_m_etf, berth_i_placer_m_sct, berth_i_placer_etf, berth_i_placer_heft,
    berth_i_placer_cpop, berth_i_placer_peft, berth_i_placer_minmin, berth_i_placer_blevel, berth_i_placer_critical_path,
    berth_i_placer_policy;
/* place/placers/enumerative.c */
extern const berth_i_placer berth_i_placer_enumerative;
/* place/exact/exact.c, place/portfolio.c */
/* place/placers/anneal.c */
extern const berth_i_placer berth_i_placer_anneal, berth_i_placer_local, berth_i_placer_brkga;
extern const berth_i_placer berth_i_placer_exact, berth_i_placer_portfolio;

/* place/placers/coarse.c */
static inline bool berth_i_is_coarse(const berth_place_options *o) {
  return o->coarsen != BERTH_COARSEN_NONE || o->transfer_weight != 1;
}
/** Places sets of ops, or with weighed transfers, and carries the answer over. */
berth_status berth_i_run_coarse(berth_cost *cost, const berth_i_placer *p, const berth_place_options *o, berth_placement **out,
                                berth_obstacle *why);

/* ---- placers that only choose devices ---- */

/** Exchanges the devices of parts, where they have the same class and memory, until the transfers between parts take no less time
 *  in all. Nothing to do where all pairs of devices are alike, nor for prices from a user's table.
 *  @param part [units] part of each  @param device [parts] */
berth_status berth_i_map_parts(const berth_i_units *u, int32_t parts, const int32_t *part, int32_t *device);

/** A placer's own rule.  @param device [ops] out  @return BERTH_OK; BERTH_EINFEASIBLE, BERTH_EUNREACHABLE: it found nothing */
typedef berth_status (*berth_i_fill_fn)(const berth_i_units *u, const berth_place_options *opts, int32_t *device,
                                        berth_obstacle *why);
/** By the rule, with a plan that keeps memory: as long as it does not, the rule is asked again with that share of the outputs
 *  counted for good that was there at once, or more; then units move away from where memory runs out, at last all packings are
 *  tried, up to a number.
 *  @param sizing by what the units are sized  */
berth_status berth_i_place_devices(berth_cost *cost, const char *placer, berth_memory_policy sizing,
                                   const berth_place_options *opts, berth_i_fill_fn fill, berth_placement **out,
                                   berth_obstacle *why);

#endif
