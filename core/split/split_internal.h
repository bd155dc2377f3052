/* Splits of a graph into contiguous parts, one per device (max-load or latency): the devices of
 * both sorts, the contracted graph, its ideals (downward-closed sets), the dynamic program over
 * them. */
#ifndef BERTH_SPLIT_INTERNAL_H
#define BERTH_SPLIT_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include <berth/split.h>

/* Devices by sort, each in the order of their ids. */
typedef struct berth_i_sorts {
  int32_t n_acc, n_cpu;
  int32_t *acc, *cpu;    /* [n_acc], [n_cpu] devices */
  uint8_t *is_cpu;       /* [devices] */
  double memory;         /* bytes of an accelerator */
} berth_i_sorts;
berth_status berth_i_sorts_make(const berth_cost *cost, const char *cpu, berth_i_pool *pool,
                                berth_i_sorts *s);
/** s between an accelerator and the host. */
static inline double berth_i_host_time(const berth_cost *c, int32_t tensor) {
  return c->n_devices < 2 ? 0 : berth_i_transfer_time(c, tensor, 0, 1);
}

/* Units in topological order of the forward graph. Nets: what must not cross, each a set of at
 * least two units with a price. */
typedef struct berth_i_split_model {
  berth_i_pool pool; /* of all arrays, those of the sorts, too */
  const berth_cost *cost;
  berth_i_sorts sorts;
  int32_t n_ops, n, n_nets, n_pins, n_edges;
  int32_t *unit;                    /* [n_ops] */
  double *acc, *cpu, *bytes;        /* [n] s, s, bytes; acc and cpu may be infinite */
  int32_t *net_at, *net;            /* [n_nets + 1], [n_pins] units */
  double *price;                    /* [n_nets] s */
  int32_t *of_at, *of;              /* [n + 1], [n_pins] nets of a unit */
  int32_t *pred_at, *pred;          /* [n + 1], [n_edges] */
  int32_t *succ_at, *succ;          /* [n + 1], [n_edges] */
} berth_i_split_model;
/** After a failure the pool is empty. */
berth_status berth_i_split_model_make(const berth_cost *cost, const char *cpu,
                                      berth_i_split_model *m);

/** CSR: rows [n + 1], items; `key` [m] rows, `item` [m]; the order within a row is that of the
 * input. */
berth_status berth_i_csr(berth_i_pool *pool, int32_t n, int32_t m, const int32_t *key,
                         const int32_t *item, int32_t **at, int32_t **items);
/** Numbers strong components in an order such that no edge leads to a higher number. O(n + m) */
berth_status berth_i_strong(berth_ctx *ctx, int32_t n, const int32_t *at, const int32_t *succ,
                            int32_t *component, int32_t *count);

/* Ideals by size, 0 the empty one, the last the whole if complete; a link adds one unit. */
typedef struct berth_i_ideals {
  berth_i_pool pool;
  int32_t n;
  size_t n_links, cap_links, cap_at;
  int32_t *at;       /* [n + 1] */
  int32_t *to, *add; /* [n_links] ideal, unit */
  bool complete;
  size_t cap_add;
} berth_i_ideals;
/** @param bytes limit of what is held at any time; beyond: BERTH_OK with complete false. After a
 *         failure the pool is empty */
berth_status berth_i_ideals_list(const berth_i_split_model *m, double bytes, berth_i_ideals *out);
/** Those of one topological order. */
berth_status berth_i_ideals_chain(const berth_i_split_model *m, const int32_t *order,
                                  berth_i_ideals *out);

/* One dynamic program over ideals. */
typedef struct berth_i_split_search {
  const berth_i_split_model *m;
  const berth_i_ideals *ideals;
  bool sum;          /* minimises the sum of the loads, else the largest */
  double limit;      /* in: only answers below it; out: that of the answer */
  double visits;     /* in: allowed; out: left */
  int32_t *device;   /* [units] out, if found */
  bool found;        /* out, like the next two: the caller clears them */
  bool stopped;      /* visits were used up */
  double evaluated;  /* pairs of ideals */
} berth_i_split_search;
/** @return BERTH_OK; BERTH_EINTERRUPT; BERTH_ENOMEM */
berth_status berth_i_split_dp(berth_i_split_search *s);
double berth_i_split_dp_bytes(const berth_i_split_model *m, int32_t ideals);
/** s; no contiguous split has a smaller max load. */
double berth_i_split_bound(const berth_i_split_model *m);

/** Moves and exchanges of units that lower the larger load of the two devices, from the busiest
 * one. */
berth_status berth_i_split_improve(const berth_i_split_model *m, int32_t *device);
berth_status berth_i_split_contiguous(const berth_i_split_model *m, const int32_t *device,
                                      bool *yes);

/** Latency: workspace to value many splits. */
berth_status berth_i_split_value(const berth_cost *cost, const berth_i_sorts *sorts,
                                 const int32_t *device, double *loads, berth_split_value *out);
/** Annealing from `device`, which then is the best: never worse than it was. */
berth_status berth_i_split_latency_search(const berth_i_split_model *m, int32_t *device,
                                          double visits);
/** Units of `order` from `from` on go to the first accelerator, the others to the first CPU. Both
 * must be there. */
void berth_i_split_core(const berth_i_split_model *m, const int32_t *order, int32_t from,
                        int32_t *device);
berth_status berth_i_split_latency_bound(const berth_i_split_model *m, double *bound);

/** A few topological orders; k = 0, 1, ...; false: no more. */
bool berth_i_split_order(const berth_i_split_model *m, int k, int32_t *order, int32_t *scratch);

#endif
