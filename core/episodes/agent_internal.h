/* The shipped agent: a list scheduler whose choices are made by a trained network. Structure: what
 * does not change (berth_i_agent), one episode (agent_episode.c), the network (agent_network.c),
 * its weights (agent_weights.c, generated), and the search over episodes (agent.c).
 *
 * A device is scored by a sum of times (terms, s: earliest start, transfers, load, ...), the least
 * sum wins. The factor of each term is the sum of a base, of what a network with one hidden layer
 * makes of the state (context, ratios without units), and of a perturbation of the episode. So the
 * answer does not depend on units, and the sizes of graph and topology do not matter. */
#ifndef BERTH_AGENT_INTERNAL_H
#define BERTH_AGENT_INTERNAL_H

#include "placement/units_internal.h"
#include "search/search_internal.h"

enum {
  BERTH_I_TERMS = 14,    /* of a device's score */
  BERTH_I_ORDERS = 3,    /* of an op's priority */
  BERTH_I_FACTORS = BERTH_I_TERMS + BERTH_I_ORDERS,
  BERTH_I_CONTEXT = 24,  /* the last is 1 */
  BERTH_I_HIDDEN = 16,
  BERTH_I_GRAINS = 3,    /* sets of ops that one decision places: groups, units, lines */
  BERTH_I_HEADS = 3 * BERTH_I_GRAINS, /* by order, then grain */
  /* hidden layer [CONTEXT][HIDDEN], output layer [HIDDEN][TERMS], base [HEADS][FACTORS], spread
   * [FACTORS] */
  BERTH_I_AT_OUTPUT = BERTH_I_HIDDEN * BERTH_I_CONTEXT,
  BERTH_I_AT_BASE = BERTH_I_AT_OUTPUT + BERTH_I_TERMS * BERTH_I_HIDDEN,
  BERTH_I_AT_SPREAD = BERTH_I_AT_BASE + BERTH_I_HEADS * BERTH_I_FACTORS,
  BERTH_I_AGENT_WEIGHTS = BERTH_I_AT_SPREAD + BERTH_I_FACTORS
};

extern const float berth_i_agent_weights[BERTH_I_AGENT_WEIGHTS];

/** Which op is next, of all whose producers are placed: the first by priority. */
typedef enum berth_i_agent_order {
  BERTH_I_BY_START, /* that is of the earliest start at present */
  BERTH_I_BY_TIME,  /* only of those that are ready when the first device in use is free */
  BERTH_I_BY_LEVEL  /* that is of the end of the producers */
} berth_i_agent_order;

/** How an episode differs from others. */
typedef struct berth_i_agent_try {
  double shift[BERTH_I_FACTORS]; /* on the base of each factor, in spreads */
  int head;   /* which base, which grain, and which order */
  bool plain; /* without network and trained base: by earliest start; BY_LEVEL: finish */
} berth_i_agent_try;

/** What transfers wait for in a plan. */
typedef enum berth_i_agent_ports {
  BERTH_I_PORTS_NONE,
  BERTH_I_PORTS_PAIR,   /* the pair's one */
  BERTH_I_PORTS_ROUTE,  /* all links of the route */
  BERTH_I_PORTS_DEVICE  /* that out of the source and that into the destination */
} berth_i_agent_ports;

typedef struct berth_i_agent_grain {
  const berth_i_clumps *b;
  double *work;       /* [blocks * classes] s */
  double *permanent, *temporary; /* [blocks] bytes */
  int32_t *device;    /* [blocks] of the episode; BERTH_NONE: not decided; SPLIT: op by op */
} berth_i_agent_grain;

typedef struct berth_i_agent_ready {
  double key;
  int32_t at; /* position in topological order */
} berth_i_agent_ready;

typedef struct berth_i_agent {
  berth_i_pool pool;
  berth_cost *cost;
  berth_sim_options judge;
  berth_i_units u;
  berth_i_problem p;
  berth_sim *sim;
  bool counts_memory;
  int32_t n, n_devices;
  berth_i_agent_ports ports;
  const float *w;
  berth_i_agent_grain grain[BERTH_I_GRAINS];
  double *static_level, *b_level, *t_level;  /* [n] s: longest paths to a sink without and with
                                                transfers; from a source */
  double *in_seconds, *out_seconds;          /* [n] mean transfers */
  double *distance;                          /* [devices] mean time of a byte to the others, 1: mean
                                                of all */
  int32_t *place;                            /* [n] in topological order */
  double work, path, scale;                  /* s: all ops; longest path; the larger of path and
                                                work / devices */
  double graph_context[BERTH_I_CONTEXT];     /* what is the same in all states */
  /* the present episode */
  int g;
  berth_i_agent_order order;
  bool plain;
  double factor[BERTH_I_FACTORS];
  int32_t *device, *open, *members;          /* [n], [n] inputs that are not placed, [collectives]
                                                members that are not */
  int32_t *likely;                           /* [n] where an op would start first; BERTH_NONE: not
                                                computed */
  double *finish;                            /* [n] s */
  double *free_at, *load, *listed;           /* [devices] s */
  double *in_free, *out_free;                /* [ports] s, one array where they are one port; PAIR
                                                and ROUTE use the first */
  int32_t n_ports;                           /* devices; PAIR: pairs; ROUTE: links */
  double *held, *most;                       /* [devices] bytes: permanent, largest temporary */
  double *sent;                              /* [tensors * devices] s of arrival; negative: not
                                                sent */
  double *term;                              /* [devices * TERMS] */
  uint8_t *may, *used;                       /* [devices] some set is there */
  int32_t *stamp;                            /* [devices] */
  int32_t n_ready, n_later, stamps;
  berth_i_agent_ready *ready, *later;        /* [n] by priority; by time */
  double done;                               /* s of work that is placed */
  double planned;                            /* s: makespan of the plan */
  int32_t *chosen;                           /* [n] devices of the episode that is simulated */
} berth_i_agent;

/** x in parts of x + of: from 0 to 1. */
static inline double berth_i_agent_ratio(double x, double of) { return x > 0 ? x / (x + of) : 0; }

/** @param place links, memory, param_multiple, quantum of the simulation that evaluates
 *  @param share of the outputs, that counts as permanent at first
 *  @param why as in berth_place */
berth_status berth_i_agent_init(berth_cost *cost, const berth_place_options *place,
                                const float *weights, double share, berth_i_agent *a,
                                berth_obstacle *why);
void berth_i_agent_release(berth_i_agent *a);
/** The best of so many episodes, each simulated once.
 *  @param value s out; INFINITY: no episode kept memory and routes, and device is untouched */
berth_status berth_i_agent_search(berth_i_agent *a, int32_t calls, uint64_t seed, int32_t *device,
                                  double *value);

/** One episode into a->device.  @return false: some op fits nowhere */
bool berth_i_agent_episode(berth_i_agent *a, const berth_i_agent_try *t);
/** Factors of the terms in this state, without those of the episode. */
void berth_i_agent_network(const float *w, const double *context, double *out);

#endif
