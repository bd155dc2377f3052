/* CPOP and PEFT, as policies of the list engine: `prepare` is what the paper computes before it
 * places, `score` its choice of a device. Collectives count as edges from all members to all
 * consumers, with the price of berth_i_spread_prices.
 *
 * Sources: Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for
 * heterogeneous computing", 2002 (CPOP); Arabnejad, Barbosa, "List scheduling algorithm for
 * heterogeneous systems by an optimistic cost table", 2014 (PEFT). With averages = SAGA both follow
 * the published code of SAGA where it differs. */
#include "list/ranks_internal.h"
#include "place/place_internal.h"

/* ---- CPOP ---- */

typedef struct cpop {
  berth_average how;
  int32_t device;    /* of the critical path; BERTH_NONE: no device can run all of it */
  uint8_t *critical; /* [ops] */
} cpop;

/* 1 / mean(1 / time): SAGA adds it for the op itself where the paper adds the producer's mean
 * time. */
static double own_time_at_mean_speed(const berth_cost *cost, int32_t op) {
  double speed = 0;
  int32_t n = 0;
  for (int32_t d = 0; d < cost->n_devices; d++) {
    double time = berth_i_op_time(cost, op, d);
    if (isinf(time)) continue;
    if (time == 0) return 0;
    speed += 1 / time;
    n++;
  }
  return n / speed;
}

static void saga_downward_rank(const berth_plan *p, const double *transfers, const double *prices,
                               double *down) {
  const berth_graph *g = p->g;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t op = g->topo[i];
    down[op] = 0;
    for (int32_t j = g->after ? g->after_at[op] : 0; g->after && j < g->after_at[op + 1]; j++) {
      const berth_collective *c = &g->collectives[g->after[j]];
      double most = 0;
      for (int32_t k = 0; k < c->n_members; k++) most = fmax(most, down[c->members[k]]);
      down[op] = fmax(down[op], most + prices[g->after[j]]);
    }
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) {
      int32_t t = g->in[j];
      down[op] = fmax(down[op], down[g->producer[t]] + transfers[t]);
    }
    down[op] += own_time_at_mean_speed(p->cost, op);
  }
}

/* The first of equals. */
static int32_t best_of(const double *priority, const int32_t *ops, int32_t n) {
  int32_t best = n > 0 ? ops[0] : BERTH_NONE;
  for (int32_t i = 1; i < n; i++) {
    if (priority[ops[i]] > priority[best]) best = ops[i];
  }
  return best;
}

static int32_t better_of(const double *priority, int32_t a, int32_t b) {
  if (a == BERTH_NONE || b == BERTH_NONE) return a == BERTH_NONE ? b : a;
  if (priority[a] != priority[b]) return priority[a] > priority[b] ? a : b;
  return a < b ? a : b;
}

static int32_t best_entry(const berth_plan *p, const double *priority) {
  const berth_graph *g = p->g;
  int32_t best = BERTH_NONE;
  for (int32_t op = 0; op < p->n; op++) {
    if (g->in_at[op + 1] > g->in_at[op] || (g->after && g->after_at[op + 1] > g->after_at[op]))
      continue;
    best = better_of(priority, best, op);
  }
  return best;
}

static int32_t best_consumer(const berth_plan *p, const double *priority, int32_t op) {
  const berth_graph *g = p->g;
  int32_t best = BERTH_NONE;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    best = better_of(priority, best,
                     best_of(priority, g->use + g->use_at[t], g->use_at[t + 1] - g->use_at[t]));
  }
  for (int32_t i = g->wait ? g->wait_at[op] : 0; g->wait && i < g->wait_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->wait[i]];
    best = better_of(priority, best, best_of(priority, c->consumers, c->n_consumers));
  }
  return best;
}

/* O(edges + ops x devices) */
static berth_status cpop_prepare(void *ud, const berth_plan *p, double *priority) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  cpop *k = ud;
  bool textbook = k->how == BERTH_AVERAGE_TEXTBOOK;
  double *ops, *transfers, *prices, *down;
  berth_status st = BERTH_OK;
  if (p->n <= 0) return BERTH_OK;

  /* 1. Priority: upward plus downward rank, by mean times. */
  down = berth_i_pool_alloc(&scratch, (size_t)p->n, sizeof *down);
  if ((st = berth_i_means(p, k->how, &scratch, &ops, &transfers)) != BERTH_OK) goto done;
  if ((st = berth_i_spread_prices(p, &scratch, &prices)) != BERTH_OK) goto done;
  if ((st = berth_i_b_level(p->g, ops, transfers, prices, priority)) != BERTH_OK) goto done;
  if (textbook) st = berth_i_t_level(p->g, ops, transfers, prices, down);
  else saga_downward_rank(p, transfers, prices, down);
  if (st != BERTH_OK) goto done;
  for (int32_t op = 0; op < p->n; op++) priority[op] += down[op];

  /* 2. The critical path: from the best entry op on, always the consumer of largest priority; SAGA:
   * all ops whose priority equals that of the entry. */
  int32_t entry = best_entry(p, priority);
  for (int32_t op = 0; op < p->n; op++)
    k->critical[op] =
        !textbook && fabs(priority[op] - priority[entry]) <= 1e-9 * fabs(priority[entry]);
  for (int32_t op = entry; textbook && op != BERTH_NONE; op = best_consumer(p, priority, op))
    k->critical[op] = 1;

  /* 3. The device that runs all of it in the least time. */
  double least = INFINITY;
  k->device = BERTH_NONE;
  for (int32_t d = 0; d < p->devices; d++) {
    double total = 0;
    for (int32_t op = 0; op < p->n; op++) {
      if (k->critical[op])
        total += berth_i_plan_may(p, op, d) ? berth_i_op_time(p->cost, op, d) : INFINITY;
    }
    if (!(total < least)) continue;
    least = total;
    k->device = d;
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* Ops of the critical path keep to its device while it can take them; others run where they finish
 * first. */
static berth_status cpop_score(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake) {
  const cpop *k = ud;
  (void)eft, (void)wake;
  if (!k->critical[op] || k->device == BERTH_NONE || isinf(est[k->device])) return BERTH_OK;
  for (int32_t d = 0; d < p->devices; d++) {
    if (d != k->device) score[d] = INFINITY;
  }
  return BERTH_OK;
}

static berth_status run_cpop(berth_cost *cost, const berth_place_options *opts,
                             berth_placement **out, berth_obstacle *why) {
  size_t n = (size_t)cost->g->n_ops;
  cpop k = { opts->averages, BERTH_NONE, berth_i_zalloc(cost->ctx, n, 1) };
  berth_policy policy = { .name = "cpop", .fit = BERTH_FIT_INSERTION, .prepare = cpop_prepare,
                          .score = cpop_score, .ud = &k };
  berth_i_setup s = berth_i_setup_from("cpop", &policy, opts);
  if (!k.critical) return berth_i_nomem(cost->ctx);
  berth_status st = berth_i_list_place(cost, &s, opts, out, why);
  berth_i_free(cost->ctx, k.critical, n, 1);
  return st;
}

/* ---- PEFT ---- */

typedef struct peft {
  berth_average how;
  double *table; /* [ops * devices] optimistic cost: the least that is left to do after op has ended
                    on the device */
} peft;

static double *row_of(const peft *k, const berth_plan *p, int32_t op) {
  return k->table + (size_t)op * (size_t)p->devices;
}

/* Raises `row`, the optimistic cost of a producer, by its consumer c, which reads `tensor`. With
 * one mean transfer time for all pairs the best remote device is the best of all: O(devices); by
 * real times (SAGA) O(devices^2). */
static void raise_by_consumer(const peft *k, const berth_plan *p, int32_t tensor, double mean,
                              int32_t c, double *row) {
  const double *next = row_of(k, p, c);
  double anywhere = INFINITY;
  for (int32_t e = 0; e < p->devices; e++)
    anywhere = fmin(anywhere, next[e] + berth_i_op_time(p->cost, c, e));
  for (int32_t d = 0; d < p->devices; d++) {
    double least = fmin(anywhere + mean, next[d] + berth_i_op_time(p->cost, c, d));
    if (k->how == BERTH_AVERAGE_SAGA) {
      least = INFINITY;
      for (int32_t e = 0; e < p->devices; e++) {
        double cross = e == d ? 0 : berth_i_transfer_time(p->cost, tensor, d, e);
        least = fmin(least, next[e] + berth_i_op_time(p->cost, c, e) + cross);
      }
    }
    row[d] = fmax(row[d], least);
  }
}

/* Least that is left from the start of a collective, on the best device for each consumer. */
static double rest_of_collective(const peft *k, const berth_plan *p, const berth_collective *c,
                                 double price) {
  double most = 0;
  for (int32_t i = 0; i < c->n_consumers; i++) {
    const double *row = row_of(k, p, c->consumers[i]);
    double least = INFINITY;
    for (int32_t d = 0; d < p->devices; d++)
      least = fmin(least, row[d] + berth_i_op_time(p->cost, c->consumers[i], d));
    most = fmax(most, least);
  }
  return price + most;
}

/* The optimistic cost table, from the sinks up; the priority of an op is the mean of its row.
 * O(edges x devices), by real transfer times O(edges x devices^2). */
static berth_status peft_prepare(void *ud, const berth_plan *p, double *priority) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  const peft *k = ud;
  const berth_graph *g = p->g;
  double *transfers = berth_i_pool_alloc(&scratch, (size_t)g->n_tensors, sizeof *transfers);
  double *rest = berth_i_pool_alloc(&scratch, (size_t)g->n_collectives, sizeof *rest);
  double *prices;
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = berth_i_spread_prices(p, &scratch, &prices)) != BERTH_OK) goto done;
  if ((st = berth_cost_mean_transfers(p->cost, BERTH_AVERAGE_TEXTBOOK, transfers)) != BERTH_OK)
    goto done;
  memset(k->table, 0, (size_t)p->n * (size_t)p->devices * sizeof *k->table);
  for (int32_t i = 0; i < g->n_collectives; i++) rest[i] = -1; /* not computed yet */
  for (int32_t i = p->n - 1; i >= 0; i--) {
    int32_t op = g->topo[i], n = 0;
    double *row = row_of(k, p, op), sum = 0;
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++) {
      int32_t t = g->out[j];
      for (int32_t l = g->use_at[t]; l < g->use_at[t + 1]; l++)
        raise_by_consumer(k, p, t, transfers[t], g->use[l], row);
    }
    for (int32_t j = g->wait ? g->wait_at[op] : 0; g->wait && j < g->wait_at[op + 1]; j++) {
      int32_t m = g->wait[j];
      if (rest[m] < 0) rest[m] = rest_of_collective(k, p, &g->collectives[m], prices[m]);
      for (int32_t d = 0; d < p->devices; d++) row[d] = fmax(row[d], rest[m]);
    }
    for (int32_t d = 0; d < p->devices; d++) {
      if (isinf(row[d])) continue;
      sum += row[d];
      n++;
    }
    priority[op] = n > 0 ? sum / n : INFINITY;
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* Earliest finish plus the optimistic cost of what follows. */
static berth_status peft_score(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake) {
  const double *row = row_of(ud, p, op);
  (void)est, (void)wake;
  for (int32_t d = 0; d < p->devices; d++) score[d] = eft[d] + row[d];
  return BERTH_OK;
}

static berth_status run_peft(berth_cost *cost, const berth_place_options *opts,
                             berth_placement **out, berth_obstacle *why) {
  size_t n = (size_t)cost->g->n_ops * (size_t)cost->n_devices;
  peft k = { opts->averages, berth_i_alloc(cost->ctx, n, sizeof *k.table) };
  berth_policy policy = { .name = "peft", .fit = BERTH_FIT_INSERTION, .prepare = peft_prepare,
                          .score = peft_score, .ud = &k };
  berth_i_setup s = berth_i_setup_from("peft", &policy, opts);
  if (!k.table) return berth_i_nomem(cost->ctx);
  berth_status st = berth_i_list_place(cost, &s, opts, out, why);
  berth_i_free(cost->ctx, k.table, n, sizeof *k.table);
  return st;
}

const berth_i_placer berth_i_placer_cpop = {
  .about = { .name = "cpop", .reads = "averages coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "The critical path of mean times stays on the one device that runs it fastest; "
              "other ops go where they finish first.",
      .source = "Topcuoglu, Hariri, Wu 2002",
      .good = "One dominant chain.",
      .weak = "With several long chains that device becomes the bottleneck." }) },
  .run = run_cpop,
  .members = BERTH_I_MEMBERS({ .order = 160, .name = "cpop" }),
};
const berth_i_placer berth_i_placer_peft = {
  .about = { .name = "peft", .reads = "averages coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "As HEFT, but finish plus the optimistic cost of what follows decides, from a table "
              "of the least that is left to do.",
      .source = "Arabnejad, Barbosa 2014",
      .good = "Where a good finish now costs much later: dear transfers, unlike devices.",
      .weak = "The table ignores waiting and evaluates every consumer by itself." }) },
  .run = run_peft,
  .members = BERTH_I_MEMBERS(
    { .order = 150, .name = "peft" },
    { .order = 280, .name = "peft chains", .coarsen = BERTH_COARSEN_CHAINS }),
};
