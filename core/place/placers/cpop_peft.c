/* CPOP (Topcuoglu, Hariri, Wu 2002) and PEFT (Arabnejad, Barbosa 2014). */
#include "list/ranks_internal.h"
#include "place/place_internal.h"


/* ---- CPOP ---- */

typedef struct cpop {
  berth_average how;
  int32_t device;    /* of the critical path; BERTH_NONE: no device can run all of it */
  uint8_t *critical; /* [ops] */
} cpop;

/* SAGA adds the op's own time at mean speed, 1 / mean(1 / time), where the paper adds the
 * producer's mean time. */
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

/* Longest way from a member through a collective. O(members) */
static double way_through(const berth_plan *p, int32_t k, const double *met, const double *down) {
  const berth_collective *c = &p->g->collectives[k];
  double most = 0;
  for (int32_t i = 0; i < c->n_members; i++) most = fmax(most, down[c->members[i]]);
  return most + met[k];
}

static void saga_downward_rank(const berth_plan *p, const double *transfers, const double *met,
                               double *down) {
  const berth_graph *g = p->g;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t op = g->topo[i];
    down[op] = 0;
    for (int32_t j = g->after ? g->after_at[op] : 0; g->after && j < g->after_at[op + 1]; j++) {
      down[op] = fmax(down[op], way_through(p, g->after[j], met, down));
    }
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) {
      int32_t t = g->in[j];
      down[op] = fmax(down[op], down[g->producer[t]] + transfers[t]);
    }
    down[op] += own_time_at_mean_speed(p->cost, op);
  }
}

static berth_status downward_rank(const cpop *k, const berth_plan *p, const double *ops,
                                  const double *transfers, const double *met, double *down) {
  if (k->how == BERTH_AVERAGE_TEXTBOOK) return berth_i_t_level(p->g, ops, transfers, met, down);
  saga_downward_rank(p, transfers, met, down);
  return BERTH_OK;
}

static int32_t best_of(const double *priority, const int32_t *ops, int32_t n) {
  int32_t best = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    if (best == BERTH_NONE || priority[ops[i]] > priority[best]) best = ops[i];
  }
  return best;
}

static int32_t best_entry(const berth_plan *p, const double *priority) {
  int32_t best = BERTH_NONE;
  for (int32_t op = 0; op < p->n; op++) {
    if (p->g->in_at[op + 1] > p->g->in_at[op]
        || (p->g->after && p->g->after_at[op + 1] > p->g->after_at[op]))
      continue;
    if (best == BERTH_NONE || priority[op] > priority[best]) best = op;
  }
  return best;
}

static int32_t better_of(const double *priority, int32_t a, int32_t b) {
  if (a == BERTH_NONE || b == BERTH_NONE) return a == BERTH_NONE ? b : a;
  if (priority[a] != priority[b]) return priority[a] > priority[b] ? a : b;
  return a < b ? a : b;
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

/* Textbook: from the best entry op on, always the consumer of largest priority. */
static void walk_critical(const cpop *k, const berth_plan *p, const double *priority) {
  for (int32_t op = best_entry(p, priority); op != BERTH_NONE; op = best_consumer(p, priority, op))
    k->critical[op] = 1;
}

/* SAGA: all ops whose priority equals the entry's. */
static void mark_equal(const cpop *k, const berth_plan *p, const double *priority) {
  int32_t entry = best_entry(p, priority);
  for (int32_t op = 0; op < p->n; op++) {
    k->critical[op] = fabs(priority[op] - priority[entry]) <= 1e-9 * fabs(priority[entry]);
  }
}

static void choose_device(cpop *k, const berth_plan *p) {
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
}

static berth_status cpop_prepare(void *ud, const berth_plan *p, double *priority) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  cpop *k = ud;
  double *ops, *transfers, *met = NULL,
                           *down = berth_i_pool_alloc(&scratch, (size_t)p->n, sizeof *down);
  berth_status st = berth_i_means(p, k->how, &scratch, &ops, &transfers);
  if (p->n > 0) memset(k->critical, 0, (size_t)p->n);
  if (st == BERTH_OK) st = berth_i_spread_prices(p, &scratch, &met);
  if (st == BERTH_OK) st = berth_i_b_level(p->g, ops, transfers, met, priority);
  if (st == BERTH_OK) st = downward_rank(k, p, ops, transfers, met, down);
  for (int32_t op = 0; op < p->n && st == BERTH_OK; op++) priority[op] += down[op];
  if (st == BERTH_OK && p->n > 0) {
    (k->how == BERTH_AVERAGE_TEXTBOOK ? walk_critical : mark_equal)(k, p, priority);
    choose_device(k, p);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* Ops of the critical path keep to its device while it can take them; others go where they finish
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
  berth_policy policy = { .name = "cpop",
                          .fit = BERTH_FIT_INSERTION,
                          .prepare = cpop_prepare,
                          .score = cpop_score,
                          .ud = &k };
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

/* Best way to go on with consumer c from device d, over a tensor. */
static double go_on(const peft *k, const berth_plan *p, int32_t tensor, double mean, int32_t c,
                    int32_t d) {
  const double *row = k->table + (size_t)c * (size_t)p->devices;
  double least = INFINITY;
  for (int32_t e = 0; e < p->devices; e++) {
    double cross = e == d                         ? 0
                   : k->how == BERTH_AVERAGE_SAGA ? berth_i_transfer_time(p->cost, tensor, d, e)
                                                  : mean;
    double total = row[e] + berth_i_op_time(p->cost, c, e) + cross;
    if (total < least) least = total;
  }
  return least;
}

/* With one mean transfer time for all pairs the best remote device is the best of all: O(devices) a
 * consumer. */
static void extend_by_mean(const peft *k, const berth_plan *p, double mean, int32_t c,
                           double *row) {
  const double *next = k->table + (size_t)c * (size_t)p->devices;
  double least = INFINITY;
  for (int32_t d = 0; d < p->devices; d++)
    least = fmin(least, next[d] + berth_i_op_time(p->cost, c, d));
  for (int32_t d = 0; d < p->devices; d++)
    row[d] = fmax(row[d], fmin(least + mean, next[d] + berth_i_op_time(p->cost, c, d)));
}

static void extend(const peft *k, const berth_plan *p, int32_t tensor, double mean, int32_t c,
                   double *row) {
  if (k->how == BERTH_AVERAGE_TEXTBOOK) {
    extend_by_mean(k, p, mean, c, row);
    return;
  }
  for (int32_t d = 0; d < p->devices; d++) row[d] = fmax(row[d], go_on(k, p, tensor, mean, c, d));
}

/* Least that is left from the end of a collective, on the best device for each consumer. */
static double go_on_after(const peft *k, const berth_plan *p, const berth_collective *c) {
  double most = 0;
  for (int32_t i = 0; i < c->n_consumers; i++) {
    const double *row = k->table + (size_t)c->consumers[i] * (size_t)p->devices;
    double least = INFINITY;
    for (int32_t d = 0; d < p->devices; d++)
      least = fmin(least, row[d] + berth_i_op_time(p->cost, c->consumers[i], d));
    most = fmax(most, least);
  }
  return most;
}

/* @param met [collectives] negative: not asked for yet what is left from its start */
static void extend_by_collectives(const peft *k, const berth_plan *p, const double *prices,
                                  double *met, int32_t op, double *row) {
  const berth_graph *g = p->g;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    int32_t m = g->wait[i];
    if (met[m] < 0) met[m] = prices[m] + go_on_after(k, p, &g->collectives[m]);
    for (int32_t d = 0; d < p->devices; d++) row[d] = fmax(row[d], met[m]);
  }
}

/* O(edges x devices), for real transfer times O(edges x devices^2). @param met [collectives]
 * scratch */
static void fill_table(const peft *k, const berth_plan *p, const double *transfers,
                       const double *prices, double *met) {
  const berth_graph *g = p->g;
  for (int32_t i = 0; i < g->n_collectives; i++) met[i] = -1;
  for (int32_t i = p->n - 1; i >= 0; i--) {
    int32_t op = g->topo[i];
    double *row = k->table + (size_t)op * (size_t)p->devices;
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++) {
      int32_t t = g->out[j];
      for (int32_t l = g->use_at[t]; l < g->use_at[t + 1]; l++)
        extend(k, p, t, transfers[t], g->use[l], row);
    }
    if (g->wait) extend_by_collectives(k, p, prices, met, op, row);
  }
}

static double mean_row(const peft *k, const berth_plan *p, int32_t op) {
  const double *row = k->table + (size_t)op * (size_t)p->devices;
  double sum = 0;
  int32_t n = 0;
  for (int32_t d = 0; d < p->devices; d++) {
    if (isinf(row[d])) continue;
    sum += row[d];
    n++;
  }
  return n > 0 ? sum / n : INFINITY;
}

static berth_status peft_prepare(void *ud, const berth_plan *p, double *priority) {
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  const peft *k = ud;
  double *transfers = berth_i_pool_alloc(&scratch, (size_t)p->g->n_tensors, sizeof *transfers);
  double *met = berth_i_pool_alloc(&scratch, (size_t)p->g->n_collectives, sizeof *met);
  berth_status st = berth_i_pool_status(&scratch);
  double *prices;
  if (st == BERTH_OK) st = berth_i_spread_prices(p, &scratch, &prices);
  if (st == BERTH_OK) st = berth_cost_mean_transfers(p->cost, BERTH_AVERAGE_TEXTBOOK, transfers);
  if (st == BERTH_OK) {
    memset(k->table, 0, (size_t)p->n * (size_t)p->devices * sizeof *k->table);
    fill_table(k, p, transfers, prices, met);
    for (int32_t op = 0; op < p->n; op++) priority[op] = mean_row(k, p, op);
  }
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status peft_score(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake) {
  const peft *k = ud;
  const double *row = k->table + (size_t)op * (size_t)p->devices;
  (void)est, (void)wake;
  for (int32_t d = 0; d < p->devices; d++) score[d] = eft[d] + row[d];
  return BERTH_OK;
}

static berth_status run_peft(berth_cost *cost, const berth_place_options *opts,
                             berth_placement **out, berth_obstacle *why) {
  size_t n = (size_t)cost->g->n_ops * (size_t)cost->n_devices;
  peft k = { opts->averages, berth_i_alloc(cost->ctx, n, sizeof *k.table) };
  berth_policy policy = { .name = "peft",
                          .fit = BERTH_FIT_INSERTION,
                          .prepare = peft_prepare,
                          .score = peft_score,
                          .ud = &k };
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
      .weak = "The table knows no waiting and takes every consumer by itself." }) },
  .run = run_peft,
  .members = BERTH_I_MEMBERS(
    { .order = 150, .name = "peft" },
    { .order = 280, .name = "peft chains", .coarsen = BERTH_COARSEN_CHAINS }),
};
