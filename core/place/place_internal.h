/* The table of placers: one descriptor each (berth_i_placer), from which names, help, checks of
 * options and the members of the portfolio are derived. And the functions that are shared by
 * placers which only choose devices. */
#ifndef BERTH_PLACE_INTERNAL_H
#define BERTH_PLACE_INTERNAL_H

#include "pack/packing_internal.h"
#include <berth/place.h>

/** Favourites that the one linear program gives to several members. */
typedef enum berth_i_matching {
  BERTH_I_MATCHING_NONE,
  BERTH_I_MATCHING_GREEDY,
  BERTH_I_MATCHING_HALF,
  BERTH_I_MATCHING_TENTH,
  BERTH_I_MATCHINGS = BERTH_I_MATCHING_TENTH
} berth_i_matching;

/** A member of the built-in portfolio: the placer with these options; 0 everywhere: its
 * defaults. */
typedef struct berth_i_member_row {
  int order;        /* place in the portfolio: of equal answers the first stays */
  const char *name; /* in reports */
  berth_ties ties;
  berth_favourites favourites;
  double tau;
  berth_i_matching matching;
  berth_coarsen coarsen;
  int32_t coarsen_ops;
  double weight;    /* transfer_weight; 0: 1 */
  bool any_size;    /* runs on graphs above BERTH_I_LARGE ops, too */
} berth_i_member_row;

/** Ops above which only the members for any size run: all would take more than 3 CPU s. */
enum { BERTH_I_LARGE = 10000 };

/** One placer: its description, its options and its functions. A new one is a file with its
 *  descriptor and a line of BERTH_I_PLACERS: spec/recipes/placer.c. */
typedef struct berth_i_placer {
  berth_placer about;
  berth_status (*run)(berth_cost *cost, const berth_place_options *opts, berth_placement **out,
                      berth_obstacle *why);
  /* after the common checks; NULL: none */
  berth_status (*check)(berth_cost *cost, const berth_place_options *opts);
  const berth_i_member_row *members; /* ended by a row without a name; NULL: in no portfolio */
} berth_i_placer;

/* Lists of a descriptor, with the row that ends each. */
#define BERTH_I_VARIANTS(...) (const berth_placer_variant[]){ __VA_ARGS__, { .name = NULL } }
#define BERTH_I_MEMBERS(...) (const berth_i_member_row[]){ __VA_ARGS__, { .name = NULL } }

/** All but the portfolio, which runs them, in the order of berth_placers(). */
#define BERTH_I_PLACERS(X)                                                                     \
  X(single)                                                                                    \
  X(round_robin) X(random) X(metis) X(m_topo) X(m_etf) X(m_sct) X(etf) X(heft) X(cpop) X(peft) \
      X(minmin) X(blevel) X(critical_path) X(enumerative) X(agent) X(exact) X(anneal) X(local) \
      X(brkga)

#define BERTH_I_DECLARE_PLACER(symbol) extern const berth_i_placer berth_i_placer_##symbol;
BERTH_I_PLACERS(BERTH_I_DECLARE_PLACER)
BERTH_I_DECLARE_PLACER(policy)
BERTH_I_DECLARE_PLACER(portfolio)

/* options.c */
/** What berth_place checks before it begins. variant may be NULL. */
berth_status berth_i_placer_check(berth_cost *cost, const berth_i_placer *p,
                                  const berth_place_options *opts);
berth_status berth_i_check_policy(berth_cost *cost, const berth_place_options *opts);
/* placer.c */
/** berth_place, for one that has been found. */
berth_status berth_i_placer_run(berth_cost *cost, const berth_i_placer *p,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why);
/* table.c */
/** Any but the portfolio; NULL: there is none of that name. */
const berth_i_placer *berth_i_placer_find(const char *name);
/** BERTH_EINVAL: there is no placer of that name; lists them. */
berth_status berth_i_placer_unknown(berth_ctx *ctx, const char *name);
/** The k-th member row of the built-in portfolio in its order, and its placer. @return NULL: there
 * are not so many */
const berth_i_member_row *berth_i_member_row_at(int32_t k, const berth_i_placer **placer);

/** The defaults, with links and memory of the call. */
static inline berth_place_options berth_i_plain_options(const berth_graph *g,
                                                        const berth_place_options *o) {
  berth_place_options plain = berth_place_default(g);
  plain.links = o->links;
  plain.memory = o->memory;
  plain.param_multiple = o->param_multiple;
  plain.quantum = o->quantum;
  return plain;
}

/* place/placers/coarse.c */
static inline bool berth_i_is_coarse(const berth_place_options *o) {
  return o->coarsen != BERTH_COARSEN_NONE || o->transfer_weight != 1;
}
/** Places sets of ops, or with weighed transfers, and carries the answer over. */
berth_status berth_i_run_coarse(berth_cost *cost, const berth_i_placer *p,
                                const berth_place_options *o, berth_placement **out,
                                berth_obstacle *why);

/* ---- placers that only choose devices ---- */

/** Exchanges the devices of parts, where they have the same class and memory, until the transfers
 *  between parts take no less time in all. Nothing to do where all pairs of devices are alike, nor
 *  for prices from a user's table.
 *  @param part [units] part of each  @param device [parts] */
berth_status berth_i_map_parts(const berth_i_units *u, int32_t parts, const int32_t *part,
                               int32_t *device);

/** A placer's own rule. @param device [ops] out @return BERTH_OK; BERTH_EINFEASIBLE,
 * BERTH_EUNREACHABLE: it found nothing */
typedef berth_status (*berth_i_fill_fn)(const berth_i_units *u, const berth_place_options *opts,
                                        int32_t *device, berth_obstacle *why);
/** By the rule, with a plan that keeps memory: as long as it does not, the rule is run again with
 *  that share of the outputs counted as permanent that was there at once, or more; then units move
 *  away from where memory runs out, at last all packings are evaluated, up to a number.
 *  @param sizing by what the units are sized  */
berth_status berth_i_place_devices(berth_cost *cost, const char *placer, berth_memory_policy sizing,
                                   const berth_place_options *opts, berth_i_fill_fn fill,
                                   berth_placement **out, berth_obstacle *why);

/* The variants of Baechi's published programs: fields of a berth_placer_variant, which the placer
 * completes. */
#define BERTH_I_BAECHI_TF(what) BERTH_I_BAECHI("baechi-tf", "TensorFlow", what)
#define BERTH_I_BAECHI_PT(what) BERTH_I_BAECHI("baechi-pt", "PyTorch", what)
#define BERTH_I_BAECHI(variant, program, what) \
  .name = variant, .rule = "As the published " program " program: " what, \
  .source = "Jeon et al. 2020, published code", \
  .good = "To reproduce its figures, with the preset " variant "."

#endif
