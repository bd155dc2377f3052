/* Options of placers: descriptors and defaults. */
#include "placement_internal.h"
#include "sim/rows_internal.h"

#define C BERTH_I_CHOICE

static const berth_choice *const ties[] = {
  C("level", "The op of longest remaining path of op times. Default but for the published "
             "variants."),
  C("topological", "The op that comes first in topological order, as the published programs do."),
  C("b-level", "The op of longest remaining path of mean op times and mean transfers, as heft "
               "ranks."),
  NULL
};
static const berth_choice *const coarsenings[] = {
  C("none", "Every op by itself."),
  C("chains", "Chains: u and v, where v is all that follows u, and u all that v follows."),
  C("coplace", "An op with one consumer goes with it, heaviest edges first; then the connected "
               "ops of each set are fused."),
  C("fuse", "Connected ops, heaviest pairs first."),
  NULL
};
static const berth_choice *const favourites[] = {
  C("lp", "By the linear program of favourite children (berth.favourites), solved to gap, rounded "
          "with tau."),
  C("through", "A matching, greedily by the longest path through each edge; no program is solved."),
  C("none", "No op has one."),
  NULL
};

static void set_defaults(void *out) {
  *(berth_place_options *)out = berth_place_default(NULL);
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_place_options, name, kind)

const berth_option_table *berth_place_option_table(void) {
  static const berth_option options[] = {
    { FIELD(variant, OTHER), .takes = "name",
      .text = "a published form of the placer; berth.placers(name) lists them" },
    { FIELD(averages, CHOICE), .choices = berth_i_average_choices,
      .text = "mean times that op ranks are made of" },
    BERTH_I_LINKS_ROW(berth_place_options, links),
    BERTH_I_MEMORY_ROW(berth_place_options, memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_place_options, param_multiple),
    BERTH_I_QUANTUM_ROW(berth_place_options, quantum),
    { FIELD(device, OTHER), .takes = "device", .fallback = "the best that fits",
      .text = "all ops go to this device" },
    { FIELD(tries, WHOLE), .low = 1, .text = "random ties: the best of so many tries, as in 16" },
    { FIELD(coarsen, CHOICE), .choices = coarsenings,
      .text = "which sets of ops, of coarsen_ops at most, are placed as one" },
    { FIELD(coarsen_ops, WHOLE), .fallback = "16; chains of any length",
      .text = "most ops in one set" },
    { FIELD(transfer_weight, NUMBER), .above = 1,
      .text = "factor on transfer times while the placer chooses" },
    { FIELD(ties, CHOICE), .first = BERTH_TIES_LEVEL, .choices = ties,
      .fallback = "level; published variants: topological",
      .text = "of ops that could start equally early, which goes first" },
    { FIELD(favourites, OTHER), .takes = "choice or array", .choices = favourites, .fallback = "lp",
      .text = "where favourite children come from; also an array: child of each op, 0 or false for "
              "none" },
    { FIELD(tau, NUMBER), .high = 1,
      .fallback = "0, a maximal matching; baechi-tf 0.1, baechi-pt 0.5",
      .text = "an edge with x = 1 - y of at most tau is a favourite" },
    { FIELD(gap, NUMBER), .low = 1e-9,
      .text = "relative gap to which the linear program is solved" },
    { FIELD(seed, SEED), .text = "of random choices" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("place", options, berth_place_options, set_defaults);
}

berth_place_options berth_place_default(const berth_graph *g) {
  berth_place_options o = { 0 };
  o.variant = "";
  o.averages = BERTH_AVERAGE_TEXTBOOK;
  o.links = BERTH_LINKS_FREE;
  o.memory = g ? berth_sim_default(g).memory : BERTH_MEMORY_TOTAL;
  o.param_multiple = 1;
  o.device = BERTH_NONE;
  o.tries = 1;
  o.gap = 0.01;
  o.transfer_weight = 1;
  return o;
}

int berth_placer_reads(const berth_placer *p, const char *key) {
  size_t n = strlen(key);
  for (const char *at = p->reads; at; at = strchr(at, ' ')) {
    if (*at == ' ') at++;
    if (strncmp(at, key, n) == 0 && (at[n] == ' ' || at[n] == 0)) return 1;
  }
  return 0;
}
