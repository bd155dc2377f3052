/* Sufficient factor broadcasting as a minimum cut: which ops every replica repeats on gathered
 * inputs, so that their gradients need no AllReduce. TAG's integer program has costs of single ops
 * and terms w max(0, x_j - x_i) only, so a cut solves it (igraph), exactly, as capacities are whole
 * numbers. Source: Zhang et al., "Expediting Distributed DNN Training with Device Topology-Aware
 * Graph Deployment", IEEE TPDS 2023; costs: berth/deploy.h. */
#include "base/pool_internal.h"
#include "extern/igraph_internal.h"
#include <berth/deploy.h>

berth_sfb_problem berth_sfb_default(berth_sfb_cost cost) {
  return (berth_sfb_problem){ .cost = cost, .per_op = cost == BERTH_SFB_COMPAT ? 1e-6 : 0 };
}

static void set_defaults(void *out) {
  *(berth_sfb_problem *)out = berth_sfb_default(BERTH_SFB_PER_DEVICE);
}

static const berth_choice *const costs[] = {
  BERTH_I_CHOICE("per-device", "Seconds on one device."),
  BERTH_I_CHOICE("compat", "As published: work and traffic of all devices together."),
  NULL
};

const berth_option_table *berth_sfb_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION(berth_sfb_problem, cost, CHOICE), .choices = costs,
      .text = "what is made small" },
    { BERTH_I_OPTION(berth_sfb_problem, per_op, QUANTITY), .unit = BERTH_SECONDS,
      .fallback = "0; compat 1 us",
      .text = "time of each op that is repeated, besides its own" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("sfb", options, berth_sfb_problem, set_defaults);
}

/* ---- what is refused ---- */

static bool is_amount(double x) { return x >= 0 && !isinf(x); }

static berth_status check_op(berth_ctx *ctx, const berth_sfb_problem *p, int32_t op,
                             const char *what, int32_t k) {
  if (op >= 0 && op < p->ops) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "%s %d: there is no op %d among %d", what, (int)k, (int)op,
                      (int)p->ops);
}

static berth_status check_tensor(berth_ctx *ctx, const berth_sfb_problem *p, int32_t k) {
  berth_status st = check_op(ctx, p, p->producer[k], "tensor", k);
  if (st != BERTH_OK) return st;
  if (!is_amount(p->bytes[k]))
    return berth_i_fail(ctx, BERTH_EINVAL, "tensor %d has %g B: not a finite number of at least 0",
                        (int)k, p->bytes[k]);
  if (p->first[k + 1] < p->first[k] || (k == 0 && p->first[0] != 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "tensor %d: first does not rise from 0", (int)k);
  for (int32_t e = p->first[k]; e < p->first[k + 1] && st == BERTH_OK; e++)
    st = check_op(ctx, p, p->consumer[e], "tensor", k);
  return st;
}

static berth_status check_gradient(berth_ctx *ctx, const berth_sfb_problem *p, int32_t k) {
  double given = p->gradient_seconds ? p->gradient_seconds[k] : NAN;
  berth_status st = check_op(ctx, p, p->gradient_op[k], "gradient", k);
  if (st != BERTH_OK) return st;
  if (!is_amount(p->gradient_bytes[k]))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "gradient %d has %g B: not a finite number of at least 0", (int)k,
                        p->gradient_bytes[k]);
  if (isnan(given)) return BERTH_OK;
  if (p->cost == BERTH_SFB_COMPAT)
    return berth_i_fail(ctx, BERTH_EINVAL, "gradient %d: seconds require the cost per-device",
                        (int)k);
  if (!is_amount(given))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "gradient %d takes %g s: not a finite number of at least 0", (int)k, given);
  return BERTH_OK;
}

static berth_status check(berth_ctx *ctx, const berth_sfb_problem *p) {
  berth_status st = BERTH_OK;
  if (p->ops < 0 || p->tensors < 0 || p->gradients < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d ops, %d tensors, %d gradients: none may be below 0",
                        (int)p->ops, (int)p->tensors, (int)p->gradients);
  if (p->cost != BERTH_SFB_PER_DEVICE && p->cost != BERTH_SFB_COMPAT)
    return berth_i_fail(ctx, BERTH_EINVAL, "there is no cost %d", (int)p->cost);
  if (!is_amount(p->per_op))
    return berth_i_fail(ctx, BERTH_EINVAL, "per_op is %g s: not a finite number of at least 0",
                        p->per_op);
  for (int32_t i = 0; i < p->ops; i++) {
    if (!is_amount(p->seconds[i]))
      return berth_i_fail(ctx, BERTH_EINVAL, "op %d takes %g s: not a finite number of at least 0",
                          (int)i, p->seconds[i]);
    if (p->replicas[i] < 1)
      return berth_i_fail(ctx, BERTH_EINVAL, "op %d has %d replicas", (int)i, (int)p->replicas[i]);
    if (!(p->bandwidth[i] > 0))
      return berth_i_fail(ctx, BERTH_EINVAL, "op %d has a bandwidth of %g B/s: not above 0", (int)i,
                          p->bandwidth[i]);
  }
  for (int32_t k = 0; k < p->tensors && st == BERTH_OK; k++) st = check_tensor(ctx, p, k);
  for (int32_t k = 0; k < p->gradients && st == BERTH_OK; k++) st = check_gradient(ctx, p, k);
  return st;
}

/* ---- prices ---- */

static double work_of(const berth_sfb_problem *p, int32_t i) {
  double m = p->replicas[i], times = p->cost == BERTH_SFB_COMPAT ? m - 1 : 1 - 1 / m;
  return times * p->seconds[i] + p->per_op;
}

/* Of a tensor once, or of each of its edges. */
static double gather_of(const berth_sfb_problem *p, int32_t k) {
  int32_t i = p->producer[k];
  double m = p->replicas[i], times = p->cost == BERTH_SFB_COMPAT ? m * (m - 1) : (m - 1) / m;
  return times * p->bytes[k] / p->bandwidth[i];
}

static double sync_of(const berth_sfb_problem *p, int32_t k) {
  int32_t i = p->gradient_op[k];
  double m = p->replicas[i], given = p->gradient_seconds ? p->gradient_seconds[k] : NAN;
  return isnan(given) ? 2 * (m - 1) / m * p->gradient_bytes[k] / p->bandwidth[i] : given;
}

static berth_sfb_value value_of(const berth_sfb_problem *p, const uint8_t *duplicated,
                                uint8_t *gathered, uint8_t *removed) {
  berth_sfb_value v = { 0, 0, 0, 0, 0, 0, 0 };
  for (int32_t i = 0; i < p->ops; i++) {
    if (!duplicated[i]) continue;
    v.work += work_of(p, i);
    v.duplicated++;
  }
  for (int32_t k = 0; k < p->tensors; k++) {
    int32_t n = 0; /* times that it is gathered */
    for (int32_t e = p->first[k]; e < p->first[k + 1] && !duplicated[p->producer[k]]; e++)
      n += duplicated[p->consumer[e]] != 0;
    if (p->cost != BERTH_SFB_COMPAT && n > 1) n = 1;
    v.gather += n * gather_of(p, k);
    v.gathered += n > 0;
    if (gathered) gathered[k] = n > 0;
  }
  for (int32_t k = 0; k < p->gradients; k++) {
    bool gone = duplicated[p->gradient_op[k]];
    if (gone) v.sync += sync_of(p, k);
    v.removed += gone;
    if (removed) removed[k] = gone;
  }
  v.total = v.work + v.gather - v.sync;
  return v;
}

berth_status berth_sfb_measure(berth_ctx *ctx, const berth_sfb_problem *p,
                               const uint8_t *duplicated, uint8_t *gathered, uint8_t *removed,
                               berth_sfb_value *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = check(ctx, p);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < p->ops; i++)
    if (duplicated[i] && p->barred && p->barred[i])
      return berth_i_fail(ctx, BERTH_EINVAL, "op %d is barred", (int)i);
  *out = value_of(p, duplicated, gathered, removed);
  return BERTH_OK;
}

/* ---- the cut ---- */

/* Nodes: ops, then tensors, then the source (not duplicated) and the target (duplicated). */
typedef struct net {
  berth_i_pool pool;
  int32_t source, target, n, arcs, most;
  int32_t *from, *to;
  double *capacity; /* INFINITY: never cut */
  double *price;    /* [ops] what duplicating costs, its gradients taken off */
  uint8_t *side;    /* [n] 1: with the target */
} net;

static berth_status net_init(berth_ctx *ctx, const berth_sfb_problem *p, net *x) {
  int64_t edges = p->tensors > 0 ? p->first[p->tensors] : 0,
          nodes = (int64_t)p->ops + p->tensors + 2;
  int64_t most = (int64_t)p->ops + p->tensors + edges;
  *x = (net){ .pool = berth_i_pool_empty(ctx) };
  if (nodes > INT32_MAX || most > INT32_MAX)
    return berth_i_fail(ctx, BERTH_EINVAL, "too many ops, tensors and edges");
  x->n = (int32_t)nodes;
  x->most = (int32_t)most;
  x->source = x->n - 2;
  x->target = x->n - 1;
  x->from = berth_i_pool_alloc(&x->pool, (size_t)x->most, sizeof *x->from);
  x->to = berth_i_pool_alloc(&x->pool, (size_t)x->most, sizeof *x->to);
  x->capacity = berth_i_pool_alloc(&x->pool, (size_t)x->most, sizeof *x->capacity);
  x->price = berth_i_pool_zalloc(&x->pool, (size_t)p->ops, sizeof *x->price);
  x->side = berth_i_pool_zalloc(&x->pool, (size_t)x->n, sizeof *x->side);
  return berth_i_pool_status(&x->pool);
}

static void arc(net *x, int32_t from, int32_t to, double capacity) {
  if (capacity == 0 || from == to || to == x->source) return;
  x->from[x->arcs] = from;
  x->to[x->arcs] = to;
  x->capacity[x->arcs++] = capacity;
}

/* A barred op is the source itself. */
static int32_t node_of(const berth_sfb_problem *p, const net *x, int32_t i) {
  return p->barred && p->barred[i] ? x->source : i;
}

/* To whole numbers that add up to 2^50 at most, so that a flow is exact; what is never cut gets
 * more than all of these. */
static berth_status make_whole(berth_ctx *ctx, net *x) {
  double sum = 0;
  for (int32_t k = 0; k < x->arcs; k++)
    if (x->capacity[k] < INFINITY) sum += x->capacity[k];
  if (!isfinite(sum))
    return berth_i_fail(ctx, BERTH_EINVAL, "the costs are out of range: they add up to %g s", sum);
  int32_t exponent;
  frexp(sum, &exponent);
  for (int32_t k = 0; k < x->arcs; k++)
    x->capacity[k] =
        x->capacity[k] < INFINITY ? nearbyint(ldexp(x->capacity[k], 50 - exponent)) : ldexp(1, 52);
  return BERTH_OK;
}

berth_status berth_sfb_choose(berth_ctx *ctx, const berth_sfb_problem *p, uint8_t *duplicated,
                              uint8_t *gathered, uint8_t *removed, berth_sfb_value *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = check(ctx, p);
  if (st != BERTH_OK) return st;
  net x;
  if ((st = net_init(ctx, p, &x)) != BERTH_OK) goto done;
  /* net price of repeating each op: an arc from the source or to the target. */
  for (int32_t i = 0; i < p->ops; i++) x.price[i] = work_of(p, i);
  for (int32_t k = 0; k < p->gradients; k++) x.price[p->gradient_op[k]] -= sync_of(p, k);
  for (int32_t i = 0; i < p->ops; i++) {
    if (node_of(p, &x, i) == x.source) continue;
    if (x.price[i] > 0) arc(&x, x.source, i, x.price[i]);
    else arc(&x, i, x.target, -x.price[i]);
  }
  for (int32_t i = 0; i < p->ops && st == BERTH_OK; i++)
    if (!isfinite(x.price[i]))
      st = berth_i_fail(ctx, BERTH_EINVAL, "the costs are out of range: op %d costs %g s", (int)i,
                        x.price[i]);
  if (st != BERTH_OK) goto done;
  /* 2. Gathers: once for a tensor, or for each reader. */
  for (int32_t k = 0; k < p->tensors; k++) {
    bool each = p->cost == BERTH_SFB_COMPAT;
    double w = gather_of(p, k);
    int32_t node = p->ops + k, maker = node_of(p, &x, p->producer[k]);
    if (!isfinite(w)) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "the costs are out of range: tensor %d costs %g s",
                        (int)k, w);
      goto done;
    }
    if (!each) arc(&x, maker, node, w);
    for (int32_t e = p->first[k]; e < p->first[k + 1]; e++)
      arc(&x, each ? maker : node, node_of(p, &x, p->consumer[e]), each ? w : INFINITY);
  }
  /* 3. The cut; ops on the side of the target are repeated. */
  if ((st = make_whole(ctx, &x)) != BERTH_OK) goto done;
  st = berth_i_min_cut(ctx, x.n, x.arcs, x.from, x.to, x.capacity, x.source, x.target, x.side);
  if (st != BERTH_OK) goto done;
  memcpy(duplicated, x.side, (size_t)p->ops);
  *out = value_of(p, duplicated, gathered, removed);
done:
  berth_i_pool_free(&x.pool);
  return st;
}
