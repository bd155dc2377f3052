/* Splits: options, the course of the search, the answer.
 * Max load: dynamic programs along topological orders give a start, the one over all ideals the
 * best contiguous split, in turn below thresholds between bound and start, so that most states are
 * cut off; then units move one by one. Latency: least sums of loads, one device, cores, annealing.
 * Source: Tarnawski et al. 2020 for the dynamic program (dp.c). */
#include "split_internal.h"

static const double SUM_VISITS = 1e6; /* pairs of ideals that are evaluated for the least sum of
                                         loads */
static const double THRESHOLDS[] = { 0.125, 0.25, 0.5 }; /* of the way from the bound up to the
                                                            start */

berth_split_options berth_split_default(void) {
  berth_split_options o = { BERTH_SPLIT_MAX_LOAD, "cpu", 1, 192.0 * 1024 * 1024, INFINITY };
  return o;
}

static void set_defaults(void *out) { *(berth_split_options *)out = berth_split_default(); }

static const berth_choice *const objectives[] = {
  BERTH_I_CHOICE("max-load", "The least largest load: throughput of a pipeline."),
  BERTH_I_CHOICE("latency", "The least time of one sample."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_split_options, name, kind)
enum { OF_MEASURE = 4 }; /* from this row on */

static const berth_option rows[] = {
  { FIELD(objective, CHOICE), .choices = objectives, .text = "what is minimised" },
  { FIELD(contiguous, FLAG),
    .text = "max-load: the best contiguous split; else units then move as long as that helps" },
  { FIELD(memory, QUANTITY), .unit = BERTH_BYTES, .high = INFINITY,
    .text = "memory that ideals and tables may take" },
  { FIELD(visits, NUMBER), .high = INFINITY, .fallback = "no limit",
    .text = "pairs of ideals that are evaluated at most" },
  { FIELD(cpu, OTHER), .takes = "string", .fallback = "cpu",
    .text = "devices of this type are CPUs" },
  { .key = NULL }
};

const berth_option_table *berth_split_option_table(void) {
  BERTH_I_OPTION_TABLE("split", rows, berth_split_options, set_defaults);
}

const berth_option_table *berth_split_measure_option_table(void) {
  BERTH_I_OPTION_TABLE("split measure", rows + OF_MEASURE, berth_split_options, set_defaults);
}

static berth_status check_options(berth_ctx *ctx, const berth_split_options *o) {
  if (!o->cpu)
    return berth_i_fail(ctx, BERTH_EINVAL, "option cpu is missing: the type of the CPUs");
  return berth_options_check(ctx, berth_split_option_table(), o);
}

berth_status berth_split_measure(berth_cost *cost, const int32_t *device,
                                 const berth_split_options *opts, double *loads,
                                 berth_split_value *out) {
  if (!cost) return BERTH_EINVAL;
  berth_split_options o = opts ? *opts : berth_split_default();
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  berth_status st = check_options(cost->ctx, &o);
  for (int32_t v = 0; v < cost->g->n_ops && st == BERTH_OK; v++)
    if (device[v] < 0 || device[v] >= cost->n_devices)
      st = berth_i_fail(cost->ctx, BERTH_EINVAL, "split: op %d is on device %d, of %d", (int)v,
                        (int)device[v], (int)cost->n_devices);
  berth_i_sorts sorts;
  if (st == BERTH_OK) st = berth_i_sorts_make(cost, o.cpu, &scratch, &sorts);
  if (st == BERTH_OK) st = berth_i_split_value(cost, &sorts, device, loads, out);
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- refusals ---- */

static berth_status check_pins(const berth_cost *c) {
  char text[96];
  for (int32_t v = 0; v < c->g->n_ops; v++)
    if (berth_i_pin(c->g, v) != BERTH_NONE)
      return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                          "split: op %d is pinned to %s: splits have no pins", (int)v,
                          berth_i_device_label(c->t, berth_i_pin(c->g, v), text, sizeof text));
  return BERTH_OK;
}

static int32_t first_op(const berth_i_split_model *m, int32_t unit) {
  int32_t v = 0;
  while (m->unit[v] != unit) v++;
  return v;
}

static berth_status does_not_fit(const berth_i_split_model *m, int32_t op, double needs, double has,
                            berth_obstacle *why) {
  *why =
      (berth_obstacle){ op, m->sorts.n_acc ? m->sorts.acc[0] : BERTH_NONE, fmax(0, needs - has) };
  if (op == BERTH_NONE)
    return berth_i_fail(m->cost->ctx, BERTH_EINFEASIBLE,
                        "split: all ops need %g bytes, the accelerators have %g in all", needs,
                        has);
  char label[64];
  return berth_i_fail(m->cost->ctx, BERTH_EINFEASIBLE,
                      "split: %s and what must be with it needs %g bytes, an accelerator has %g",
                      berth_i_op_label(m->cost->g, op, label, sizeof label), needs, has);
}

static berth_status check_memory(const berth_i_split_model *m, berth_obstacle *why) {
  double total = 0;
  char label[64];
  for (int32_t u = 0; u < m->n; u++) {
    if (isinf(m->acc[u]) && isinf(m->cpu[u])) {
      *why = (berth_obstacle){ first_op(m, u), BERTH_NONE, 0 };
      return berth_i_fail(m->cost->ctx, BERTH_EINFEASIBLE,
                          "split: %s and what must be with it can run together on no device",
                          berth_i_op_label(m->cost->g, first_op(m, u), label, sizeof label));
    }
    if (isinf(m->cpu[u]) && m->bytes[u] > m->sorts.memory)
      return does_not_fit(m, first_op(m, u), m->bytes[u], m->sorts.memory, why);
    if (isinf(m->cpu[u])) total += m->bytes[u];
  }
  if (total > m->sorts.memory * m->sorts.n_acc)
    return does_not_fit(m, BERTH_NONE, total, m->sorts.memory * m->sorts.n_acc, why);
  return BERTH_OK;
}

/* ---- the course ---- */

typedef struct course {
  berth_i_split_model m;
  berth_split_options o;
  berth_split_report report;
  int32_t *unit_device, *trial; /* [units] the best; scratch */
  int32_t *device;              /* [ops] */
  int32_t *order;               /* [3 * units] a topological order, and scratch */
  double best;                  /* of the objective; INFINITY: nothing yet */
  double visits;                /* left */
  bool stopped, interrupted;    /* no visits left, or by the hook; by the hook */
} course;

static berth_status expand(course *k, const int32_t *unit_device, berth_split_value *value) {
  for (int32_t v = 0; v < k->m.n_ops; v++) k->device[v] = unit_device[k->m.unit[v]];
  return berth_i_split_value(k->m.cost, &k->m.sorts, k->device, NULL, value);
}

static berth_status keep_if_better(course *k, const int32_t *unit_device) {
  berth_split_value value;
  berth_status st = expand(k, unit_device, &value);
  double x = k->o.objective == BERTH_SPLIT_LATENCY ? value.latency : value.max_load;
  if (st != BERTH_OK || value.over != BERTH_NONE || !(x < k->best)) return st;
  k->best = x;
  if (unit_device != k->unit_device)
    memcpy(k->unit_device, unit_device, (size_t)k->m.n * sizeof *unit_device);
  return BERTH_OK;
}

/* An interruption ends the search; the answer found so far is kept. */
static berth_status search(course *k, const berth_i_ideals *ideals, double limit, bool sum,
                           bool *none) {
  berth_i_split_search s = { .m = &k->m,
                             .ideals = ideals,
                             .sum = sum,
                             .limit = limit,
                             .visits = k->visits,
                             .device = k->trial };
  berth_status st = berth_i_split_dp(&s);
  k->report.visits += s.evaluated;
  k->visits = fmax(0, s.visits);
  if (st == BERTH_EINTERRUPT) k->interrupted = true;
  if (s.stopped || k->interrupted) k->stopped = true;
  *none = !s.found && !k->stopped;
  if (st != BERTH_OK && st != BERTH_EINTERRUPT) return st;
  return s.found ? keep_if_better(k, k->trial) : BERTH_OK;
}

static berth_status start(course *k, bool sum) {
  berth_status st = BERTH_OK;
  for (int i = 0;
       st == BERTH_OK && !k->stopped && berth_i_split_order(&k->m, i, k->order, k->order + k->m.n);
       i++) {
    berth_i_ideals chain;
    if ((st = berth_i_ideals_chain(&k->m, k->order, &chain)) != BERTH_OK) break;
    bool none;
    st = search(k, &chain, sum ? (double)INFINITY : k->best, sum, &none);
    berth_i_pool_free(&chain.pool);
  }
  return st;
}

/* Below each threshold in turn: an answer is the optimum; none raises the bound. */
static berth_status close_gap(course *k, const berth_i_ideals *ideals) {
  size_t n = isinf(k->best) ? 0 : sizeof THRESHOLDS / sizeof *THRESHOLDS;
  double low = k->report.bound, high = k->best;
  berth_status st = BERTH_OK;
  bool none = true;
  for (size_t i = 0; i <= n && none && st == BERTH_OK && !k->stopped; i++) {
    double limit = i < n ? low + (high - low) * THRESHOLDS[i] : high;
    st = search(k, ideals, limit, false, &none);
    if (none) k->report.bound = fmax(k->report.bound, limit);
  }
  if (st == BERTH_OK && !k->stopped) {
    k->report.proven = 1;
    k->report.bound = fmin(k->best, fmax(k->report.bound, k->best));
  }
  return st;
}

/* All contiguous splits, if their ideals fit: the best one, or the least sum of the loads. */
static berth_status over_ideals(course *k, bool sum) {
  berth_i_ideals ideals;
  double visits = k->visits, allowed = fmin(visits, SUM_VISITS);
  bool none;
  berth_status st = berth_i_ideals_list(&k->m, k->o.memory / 2, &ideals);
  if (st == BERTH_EINTERRUPT) {
    k->interrupted = k->stopped = true;
    return BERTH_OK;
  }
  if (st != BERTH_OK) return st;
  k->report.ideals = ideals.n;
  k->report.complete =
      ideals.complete && berth_i_split_dp_bytes(&k->m, ideals.n) <= k->o.memory / 2;
  if (k->report.complete && !sum) st = close_gap(k, &ideals);
  if (k->report.complete && sum) {
    k->visits = allowed;
    st = search(k, &ideals, INFINITY, true, &none);
    k->visits = fmax(0, visits - (allowed - k->visits));
  }
  if (sum) k->stopped = k->interrupted || k->visits == 0;
  berth_i_pool_free(&ideals.pool);
  return st;
}

static berth_status by_load(course *k) {
  k->report.bound = berth_i_split_bound(&k->m);
  berth_status st;
  if ((st = start(k, false)) != BERTH_OK) return st;
  if (!k->stopped && (st = over_ideals(k, false)) != BERTH_OK) return st;
  if (isinf(k->best)) return BERTH_OK;
  k->report.contiguous_load = k->best;
  if (k->o.contiguous) return BERTH_OK;
  memcpy(k->trial, k->unit_device, (size_t)k->m.n * sizeof *k->trial);
  if ((st = berth_i_split_improve(&k->m, k->trial)) != BERTH_OK) return st;
  return keep_if_better(k, k->trial);
}

/* Splits of training graphs often have no latency; one device always has. Then a core on one
 * accelerator, of up to CORES sizes along each order. */
static berth_status try_simple(course *k) {
  enum { CORES = 64 };
  const berth_i_sorts *sorts = &k->m.sorts;
  int32_t n = k->m.n;
  berth_status st = BERTH_OK;
  for (int cpu = 0; cpu < 2 && st == BERTH_OK; cpu++) {
    if ((cpu ? sorts->n_cpu : sorts->n_acc) == 0) continue;
    for (int32_t u = 0; u < n; u++) k->trial[u] = cpu ? sorts->cpu[0] : sorts->acc[0];
    st = keep_if_better(k, k->trial);
  }
  if (sorts->n_acc == 0 || sorts->n_cpu == 0) return st;
  for (int32_t i = 0; !k->stopped && berth_i_split_order(&k->m, i, k->order, k->order + n); i++) {
    for (int32_t j = 1; j < CORES && st == BERTH_OK; j++) {
      berth_i_split_core(&k->m, k->order, (int32_t)((int64_t)n * j / CORES), k->trial);
      st = keep_if_better(k, k->trial);
    }
  }
  return st;
}

static berth_status by_latency(course *k) {
  berth_status st = start(k, true);
  if (st == BERTH_OK && !k->stopped) st = over_ideals(k, true);
  if (st == BERTH_OK) st = try_simple(k);
  k->report.contiguous_load = NAN;
  if (st == BERTH_OK) st = berth_i_split_latency_bound(&k->m, &k->report.bound);
  if (st != BERTH_OK || isinf(k->best)) return st;
  memcpy(k->trial, k->unit_device, (size_t)k->m.n * sizeof *k->trial);
  if ((st = berth_i_split_latency_search(&k->m, k->trial, k->visits)) != BERTH_OK) return st;
  return keep_if_better(k, k->trial);
}

static berth_status nothing(course *k, berth_obstacle *why) {
  berth_ctx *ctx = k->m.cost->ctx;
  if (k->stopped)
    return berth_i_fail(ctx, BERTH_EINTERRUPT, "split: stopped before a split was found");
  *why = (berth_obstacle){ BERTH_NONE, BERTH_NONE, 0 };
  if (k->report.proven)
    return berth_i_fail(ctx, BERTH_EINFEASIBLE,
                        "split: no contiguous split of the %d units fits in %d accelerators of %g "
                        "bytes and %d CPUs", (int)k->m.n,
                        (int)k->m.sorts.n_acc, k->m.sorts.memory, (int)k->m.sorts.n_cpu);
  return berth_i_fail(ctx, BERTH_EINFEASIBLE,
                      "split: no split was found along the orders evaluated; %d accelerators of %g "
                      "bytes, %d CPUs",
                      (int)k->m.sorts.n_acc, k->m.sorts.memory, (int)k->m.sorts.n_cpu);
}

static berth_status answer(course *k, berth_placement **out, berth_obstacle *why) {
  bool yes = false;
  if (isinf(k->best)) return nothing(k, why);
  berth_status st;
  if ((st = expand(k, k->unit_device, &k->report.value)) != BERTH_OK) return st;
  if ((st = berth_i_split_contiguous(&k->m, k->unit_device, &yes)) != BERTH_OK) return st;
  k->report.contiguous = yes;
  return berth_placement_new(k->m.cost->ctx, k->m.n_ops, k->device, NULL, "split", k->best, out);
}

static berth_status run(course *k, berth_placement **out, berth_obstacle *why) {
  berth_i_pool *pool = &k->m.pool;
  size_t n = (size_t)k->m.n;
  berth_status st = check_memory(&k->m, why);
  if (st != BERTH_OK) return st;
  k->unit_device = berth_i_pool_alloc(pool, n, sizeof *k->unit_device);
  k->trial = berth_i_pool_alloc(pool, n, sizeof *k->trial);
  k->device = berth_i_pool_alloc(pool, (size_t)k->m.n_ops, sizeof *k->device);
  k->order = berth_i_pool_alloc(pool, 3 * n, sizeof *k->order);
  k->report.units = k->m.n;
  st = berth_i_pool_status(pool);
  if (st == BERTH_OK) st = k->o.objective == BERTH_SPLIT_LATENCY ? by_latency(k) : by_load(k);
  return st == BERTH_OK ? answer(k, out, why) : st;
}

berth_status berth_split_find(berth_cost *cost, const berth_split_options *opts,
                              berth_placement **out, berth_split_report *report,
                              berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  course k = { .o = opts ? *opts : berth_split_default(), .best = INFINITY };
  berth_status st = check_options(cost->ctx, &k.o);
  if (st != BERTH_OK || (st = check_pins(cost)) != BERTH_OK) return st;
  if ((st = berth_i_split_model_make(cost, k.o.cpu, &k.m)) != BERTH_OK) return st;
  k.visits = k.o.visits;
  berth_obstacle unread;
  st = run(&k, out, why ? why : &unread);
  if (st == BERTH_OK && report) *report = k.report;
  berth_i_pool_free(&k.m.pool);
  return st;
}
