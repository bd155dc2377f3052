/* Guarantees of the placers on this graph and these devices: facts are counted once, then each
 * theorem of bound.h gives a number, and the reasons why it does not apply.
 * O(ops + edges + devices^2), a few times over for the ratio of paths. */
#include "heads_tails_internal.h"
#include "base/sort_internal.h"
#include "sim/rows_internal.h"
#include <berth/bound.h>
#include <stdarg.h>
#include <stdio.h>

/* What the theorems require. */
typedef struct facts {
  const berth_guarantee_options *o;
  berth_cost *cost;
  int32_t n, closed;
  double work;        /* s */
  double rho;         /* max c / min op time */
  double path_rho;    /* the largest (sum of c) / (sum of op times) of any path */
  double rounded;     /* the longest path after rounding / the linear program's lower end */
  double *op, *cross; /* [ops], [tensors] s: the greatest of all pairs of devices */
  int64_t instant, pinned, grouped, picky; /* ops: without time, pinned, in groups of several, whose
                                              time depends on the device */
  int64_t doubled, uneven, cut;            /* pairs of ops; tensors; pairs of devices */
} facts;

/* ---- memory ---- */

/* All bytes that an op ever adds to its device; workspaces of ops of no length may add up, too. */
static double brought(const facts *f, int32_t op) {
  const berth_graph *g = f->cost->g;
  double bytes = berth_i_param(g, op) * f->o->param_multiple + berth_i_output_bytes(g, op)
                 + berth_i_input_bytes(g, op);
  return bytes + (berth_i_may_be_instant(f->cost, op) ? berth_i_workspace(g, op) : 0);
}

/* Devices that may refuse an op: the most whose remainders of limits, less the largest demand, sum
 * up to at most all bytes of the graph. The demand of an op that is refused: what it would add and
 * its workspace, or that of an op that is there. */
static berth_status count_closed(facts *f) {
  if (!berth_i_memory_counts(f->cost, f->o->memory)) return BERTH_OK;
  double all = 0, most = 0, workspace = 0, sum = 0;
  double *left = berth_i_alloc(f->cost->ctx, (size_t)f->n, sizeof *left);
  if (!left) return berth_i_nomem(f->cost->ctx);
  for (int32_t op = 0; op < f->cost->g->n_ops; op++) {
    double own = brought(f, op), scratch = berth_i_workspace(f->cost->g, op);
    all += own;
    most = fmax(most, own + scratch);
    workspace = fmax(workspace, scratch);
  }
  for (int32_t d = 0; d < f->n; d++)
    left[d] = fmax(0, f->cost->t->devices[d].memory - (most + workspace));
  berth_i_sort_numbers(left, f->n);
  while (f->closed < f->n && (sum += left[f->closed]) <= all * (1 + 1e-9)) f->closed++;
  berth_i_free(f->cost->ctx, left, (size_t)f->n, sizeof *left);
  return BERTH_OK;
}

/* ---- transfers ---- */

static bool is_read(const berth_graph *g, int32_t t) { return g->use_at[t] < g->use_at[t + 1]; }

static berth_status price_transfers(facts *f) {
  berth_i_pair_times least, most = { 0 };
  const berth_graph *g = f->cost->g;
  berth_status st = berth_i_pair_times_init(f->cost, NULL, false, &least);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_pair_times_init(f->cost, NULL, true, &most)) != BERTH_OK) goto done;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    f->cross[t] = is_read(g, t) ? berth_i_pair_time(&most, t) : 0;
    f->uneven += f->n > 1 && is_read(g, t) && berth_i_pair_time(&least, t) < f->cross[t];
  }
  berth_i_pool_free(&most.pool);
done:
  berth_i_pool_free(&least.pool);
  return st;
}

/* For tables, too: a tensor that cannot cross somewhere. */
static void count_cut(facts *f) {
  const berth_graph *g = f->cost->g;
  for (int32_t a = 0; a < f->n; a++) {
    for (int32_t b = 0; b < f->n; b++) {
      bool cut = false;
      for (int32_t t = 0; t < g->n_tensors && !cut; t++) {
        cut = is_read(g, t) && isinf(berth_i_transfer_time(f->cost, t, a, b));
        if (!f->cost->table) break; /* the others need the same way */
      }
      f->cut += cut;
    }
  }
}

/* Pairs of ops with several tensors between them, and ops in groups of several.
 * @param stamp [ops] all BERTH_NONE  @param seen [groups] zero: members so far */
static void count_pairs(facts *f, int32_t *stamp, int32_t *seen) {
  const berth_graph *g = f->cost->g;
  for (int32_t op = 0; op < g->n_ops; op++) {
    int32_t k = berth_i_group(g, op);
    if (k != BERTH_NONE) f->grouped += ++seen[k] == 1 ? 0 : seen[k] == 2 ? 2 : 1;
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
      int32_t t = g->out[i];
      for (int32_t j = g->use_at[t]; f->cross[t] > 0 && j < g->use_at[t + 1]; j++) {
        f->doubled += stamp[g->use[j]] == op;
        stamp[g->use[j]] = op;
      }
    }
  }
}

/* ---- ops ---- */

static bool is_picky(const berth_cost *c, int32_t op) {
  const double *time = c->op + (size_t)op * (size_t)c->n_classes;
  int32_t k = 1;
  while (k < c->n_classes && time[k] == time[0]) k++;
  return k < c->n_classes;
}

static void read_ops(facts *f) {
  const berth_graph *g = f->cost->g;
  double least = INFINITY, most = 0;
  for (int32_t i = 0; i < g->n_ops; i++) {
    f->work += f->op[i];
    f->instant += f->op[i] == 0;
    f->pinned += berth_i_pin(g, i) != BERTH_NONE;
    f->picky += is_picky(f->cost, i);
    least = fmin(least, f->op[i]);
  }
  for (int32_t i = 0; i < g->n_tensors; i++) most = fmax(most, f->cross[i]);
  f->rho = most == 0 ? 0 : least == 0 ? INFINITY : most / least;
}

/* ---- the largest share of transfers on a path ---- */

typedef struct path_sums {
  double cross, work; /* s, of the path that ends with an op */
} path_sums;

static double path_value(path_sums s, double q) { return s.cross - q * s.work; }

/* Only there a path has transfers, but takes no time. */
static bool crosses_between_instant(const facts *f) {
  const berth_graph *g = f->cost->g;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    if (f->cross[t] == 0 || f->op[g->producer[t]] > 0) continue;
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
      if (f->op[g->use[j]] == 0) return true;
    }
  }
  return false;
}

/* Dinkelbach 1967: the ratio of the path of largest cross - q work is larger than q, or q is the
 * largest ratio. Superlinear. What is left at the end, 1e-13 of the longest transfers, is as small
 * beside the optimum. The best path to an op is the op alone, or one of its producers' and the op.
 * @param to [ops] scratch  @return INFINITY: no end */
static double largest_ratio(const facts *f, path_sums *to) {
  enum { MOST_ROUNDS = 60 };
  const berth_graph *g = f->cost->g;
  double q = 0;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    path_sums best = { 0, 0 };
    for (int32_t i = 0; i < g->n_ops; i++) {
      int32_t op = g->topo[i];
      to[op] = (path_sums){ 0, f->op[op] };
      for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
        path_sums s = to[g->producer[g->in[k]]];
        s.cross += f->cross[g->in[k]];
        s.work += f->op[op];
        if (path_value(s, q) > path_value(to[op], q)) to[op] = s;
      }
      if (path_value(to[op], q) > path_value(best, q)) best = to[op];
    }
    if (isinf(best.cross) || isinf(best.work)) break;
    if (!(path_value(best, q) > 1e-13 * best.cross)) return q;
    q = best.cross / best.work;
  }
  return INFINITY;
}

/* An edge that is no favourite keeps x > tau of its time in the program, or, where it lost to one
 * with a larger y, at least 1/2. With rho above 1 the program need not be below the optimum:
 * no number is given. */
static double rounding(const facts *f) {
  double tau = f->o->tau > 0 ? fmin(f->o->tau, 0.5) : 0.5;
  if (f->rho > 1) return INFINITY;
  return (1 + f->rho) / (1 + tau * f->rho) * (1 + f->o->gap);
}

static berth_status gather(facts *f) {
  const berth_graph *g = f->cost->g;
  berth_i_pool scratch = berth_i_pool_empty(f->cost->ctx);
  int32_t *stamp = berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *stamp);
  int32_t *seen = berth_i_pool_zalloc(&scratch, (size_t)g->n_groups, sizeof *seen);
  path_sums *to = berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *to);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_cost_mean_ops(f->cost, f->op);
  if (st == BERTH_OK) st = price_transfers(f);
  if (st == BERTH_OK) st = count_closed(f);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < g->n_ops; i++) stamp[i] = BERTH_NONE;
  count_pairs(f, stamp, seen);
  count_cut(f);
  read_ops(f);
  f->rounded = rounding(f);
  /* on a path of k ops there are k - 1 transfers: the ratio is below max c / min op time */
  f->path_rho = f->rho;
  if (f->rho > 0 && f->cut == 0 && !crosses_between_instant(f))
    f->path_rho = fmin(f->rho, largest_ratio(f, to));
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- reasons ---- */

static const char *links_name(berth_links links) {
  static const char *const names[] = { "free", "channel", "duplex", "pair", "route", "fair" };
  return names[links];
}

/* One more reason; the text is cut off at the end of the buffer. */
static void deny(berth_guarantee *k, const char *format, ...) {
  size_t used = strlen(k->why);
  if (used > 0) used += (size_t)snprintf(k->why + used, sizeof k->why - used, "; ");
  if (used >= sizeof k->why) return;
  va_list args;
  va_start(args, format);
  berth_vsnprintf(k->why + used, sizeof k->why - used, format, args);
  va_end(args);
}

static void deny_count(berth_guarantee *k, int64_t n, const char *noun, const char *rest) {
  if (n > 0) deny(k, "%ld %s%s %s", (long)n, noun, n == 1 ? "" : "s", rest);
}

static int64_t count_communication(const berth_graph *g) {
  int64_t n = 0;
  for (int32_t i = 0; i < g->n_ops; i++) n += berth_i_is_communication(g, i);
  return n;
}

static void need_greedy(const facts *f, berth_guarantee *k) {
  deny_count(k, f->cost->g->n_collectives, "collective", "in the graph");
  deny_count(k, count_communication(f->cost->g), "communication op", "in the graph");
  deny_count(k, f->picky, "op", "whose time depends on the device");
  deny_count(k, f->pinned, "op", "pinned to a device");
  deny_count(k, f->grouped, "op", "in colocation groups");
  deny_count(k, f->cut, "pair", "of devices without a way between them");
  if (f->o->links != BERTH_LINKS_FREE)
    deny(k, "links %s: transfers wait for one another", links_name(f->o->links));
}

static void need_path_rho(const facts *f, berth_guarantee *k) {
  if (isinf(f->path_rho) && f->cut == 0)
    deny(k, "a transfer between ops without time: rho is infinite on a path");
}

static void need_all_open(const facts *f, berth_guarantee *k, const char *instead) {
  if (f->closed > 0)
    deny(k, "memory may run short on %d of %d devices%s", (int)f->closed, (int)f->n, instead);
}

static void need_one_open(const facts *f, berth_guarantee *k) {
  if (f->closed == f->n) need_all_open(f, k, ": none is sure to take every op");
}

static void need_small_transfers(const facts *f, berth_guarantee *k) {
  if (isinf(f->rho) && f->cut == 0)
    deny_count(k, f->instant, "op", "without time: rho is infinite");
  else if (!isinf(f->rho) && f->rho > 1) deny(k, "rho is %.4g, above 1", f->rho);
  deny_count(k, f->uneven, "tensor", "whose time depends on the pair of devices");
  deny_count(k, f->doubled, "pair", "of ops with several tensors, whose times the program adds up");
}

/* ---- the list ---- */

static berth_guarantee *begin(berth_guarantees *out, int *n, const char *name,
                              const char *placers) {
  berth_guarantee *k = &out->of[(*n)++];
  *k = (berth_guarantee){ name, placers, INFINITY, INFINITY, 0, "" };
  return k;
}

static double graham(double rho, double n, double open) { return n / open + 1 + rho - 1 / open; }

/* Longest chain of (1 - 1/open) p + c, plus the rest of the work.  @param scratch [2 ops] */
static berth_status greedy_seconds(const facts *f, double open, double *scratch, double *seconds) {
  const berth_graph *g = f->cost->g;
  double *level = scratch + g->n_ops, longest = 0;
  for (int32_t i = 0; i < g->n_ops; i++) scratch[i] = (1 - 1 / open) * f->op[i];
  berth_status st;
  if ((st = berth_b_level(g, scratch, f->cross, level)) != BERTH_OK) return st;
  for (int32_t i = 0; i < g->n_ops; i++) longest = fmax(longest, level[i]);
  *seconds = f->work / open + longest;
  return BERTH_OK;
}

static double quotient(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  return b > 0 ? a / b : a > 0 ? INFINITY : 1;
}

static void set_seconds(const facts *f, berth_guarantee *k, double seconds) {
  k->limit = seconds;
  k->ratio = isnan(f->o->best) ? INFINITY : quotient(seconds, f->o->best);
}

static berth_status list_greedy(const facts *f, double *scratch, berth_guarantees *out, int *n) {
  static const char *const placers = "m-etf, etf, m-sct";
  double open = f->n - f->closed;
  berth_guarantee *k = begin(out, n, "etf", placers);
  k->ratio = graham(f->path_rho, f->n, f->n);
  need_greedy(f, k), need_path_rho(f, k), need_all_open(f, k, "; see etf memory");
  k = begin(out, n, "etf seconds", placers);
  double seconds;
  berth_status st;
  if ((st = greedy_seconds(f, f->n, scratch, &seconds)) != BERTH_OK) return st;
  set_seconds(f, k, seconds);
  need_greedy(f, k), need_all_open(f, k, "; see etf memory seconds");
  k = begin(out, n, "etf memory", placers);
  if (open > 0) k->ratio = graham(f->path_rho, f->n, open);
  need_greedy(f, k), need_path_rho(f, k), need_one_open(f, k);
  k = begin(out, n, "etf memory seconds", placers);
  need_greedy(f, k), need_one_open(f, k);
  if (open == 0) return BERTH_OK;
  if ((st = greedy_seconds(f, open, scratch, &seconds)) != BERTH_OK) return st;
  set_seconds(f, k, seconds);
  return BERTH_OK;
}

static void list_favourites(const facts *f, berth_guarantees *out, int *n) {
  static const char *const placers = "m-sct";
  double open = f->n - f->closed;
  berth_guarantee *k = begin(out, n, "sct unlimited", placers);
  k->ratio = f->rounded;
  need_greedy(f, k), need_small_transfers(f, k);
  if (f->n < f->cost->g->n_ops) deny(k, "there are fewer devices than ops");
  need_all_open(f, k, "");
  k = begin(out, n, "sct", placers);
  k->ratio = 1 + (1 - 1.0 / f->n) * f->rounded;
  need_greedy(f, k), need_small_transfers(f, k), need_all_open(f, k, "; see etf memory");
  k = begin(out, n, "sct memory", placers);
  if (open > 0) k->ratio = f->n / open + (1 - 1 / open) * f->rounded;
  need_greedy(f, k), need_small_transfers(f, k),
      need_all_open(f, k, ", which turn favourites away; see etf memory");
}

static berth_status list_all(const facts *f, double *scratch, berth_guarantees *out) {
  int n = 0;
  berth_status st = list_greedy(f, scratch, out, &n);
  if (st != BERTH_OK) return st;
  list_favourites(f, out, &n);
  for (int i = 0; i < n; i++) out->of[i].valid = !*out->of[i].why;
  out->rho = f->rho;
  out->path_rho = f->path_rho;
  out->devices = f->n;
  out->closed = f->closed;
  out->achieved = quotient(f->o->makespan, f->o->best);
  return BERTH_OK;
}

/* ---- the public function ---- */

berth_guarantee_options berth_guarantee_default(const berth_graph *g) {
  return (berth_guarantee_options){ .memory = berth_place_default(g).memory,
                                    .param_multiple = 1,
                                    .links = BERTH_LINKS_FREE,
                                    .gap = 0.01,
                                    .best = NAN,
                                    .makespan = NAN };
}

static void set_defaults(void *out) {
  *(berth_guarantee_options *)out = berth_guarantee_default(NULL);
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_guarantee_options, name, kind)

/* In Lua memory and param_multiple are those of the bounds; best and makespan, which may be NaN,
 * are tested apart. */
const berth_option_table *berth_guarantee_option_table(void) {
  static const berth_option options[] = {
    { FIELD(memory, CHOICE), .choices = berth_i_memory_choices },
    { FIELD(param_multiple, NUMBER) },
    BERTH_I_LINKS_ROW(berth_guarantee_options, links),
    { FIELD(tau, NUMBER), .high = 1,
      .text =
          "m-sct: an edge with x = 1 - y of at most tau is a favourite; 0: a maximal matching" },
    { FIELD(gap, NUMBER), .low = 1e-9,
      .text = "m-sct: relative gap to which the linear program is solved" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("guarantee", options, berth_guarantee_options, set_defaults);
}

static berth_status check_seconds(berth_ctx *ctx, const char *key, double x) {
  if (isnan(x) || (x >= 0 && !isinf(x))) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s is %g (a finite number from 0, or NaN)", key,
                      x);
}

static berth_status check_options(berth_ctx *ctx, const berth_guarantee_options *o) {
  berth_status st = berth_options_check(ctx, berth_guarantee_option_table(), o);
  if (st == BERTH_OK) st = check_seconds(ctx, "best", o->best);
  return st == BERTH_OK ? check_seconds(ctx, "makespan", o->makespan) : st;
}

berth_status berth_guarantees_compute(berth_cost *cost, const berth_guarantee_options *opts,
                                      berth_guarantees *out) {
  if (!cost) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(cost->ctx);
  berth_guarantee_options o = opts ? *opts : berth_guarantee_default(cost->g);
  size_t ops = (size_t)cost->g->n_ops, tensors = (size_t)cost->g->n_tensors;
  facts f = { .o = &o, .cost = cost, .n = cost->n_devices };
  berth_guarantees found = { 0 };
  berth_status st = check_options(cost->ctx, &o);
  if (st != BERTH_OK) return st;
  f.op = berth_i_pool_alloc(&pool, ops, sizeof *f.op);
  f.cross = berth_i_pool_alloc(&pool, tensors, sizeof *f.cross);
  double *scratch = berth_i_pool_alloc(&pool, 2 * ops, sizeof *scratch);
  if ((st = berth_i_pool_status(&pool)) != BERTH_OK) goto done;
  if ((st = gather(&f)) != BERTH_OK) goto done;
  if ((st = list_all(&f, scratch, &found)) == BERTH_OK) *out = found;
done:
  berth_i_pool_free(&pool);
  return st;
}
