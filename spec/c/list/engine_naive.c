/* ETF, m-ETF, MinMin and HEFT against plain versions that look at every candidate, device, gap and
 * copy on each step; and the heaps of the engine against its own general way, reached by a policy
 * whose score it does not know. */
#include "place_engine_help.h"

/* ---- a plan without shortcuts ---- */

enum { MOST = 48, FEW = 5 };

typedef struct naive {
  const instance *x;
  berth_links links;
  int strict, insertion;
  int32_t n, devices, device[MOST];
  double start[MOST], finish[MOST], priority[MOST], busy[FEW * FEW + 2 * FEW];
  double held[FEW], workspace[FEW];
  char copied[MOST * 2][FEW];
  double arrival[MOST * 2][FEW];
} naive;

static void naive_begin(naive *v, const instance *x, const berth_place_options *o) {
  memset(v, 0, sizeof *v);
  v->x = x;
  v->links = o->links;
  v->strict = o->memory == BERTH_MEMORY_TOTAL;
  v->n = berth_graph_ops(x->g);
  v->devices = berth_topology_devices(x->t);
  for (int32_t i = 0; i < v->n; i++) v->device[i] = BERTH_NONE;
}

static double *channel(naive *v, int32_t src, int32_t dst, int in) {
  if (v->links == BERTH_LINKS_PAIR) return &v->busy[src * FEW + dst];
  return &v->busy[in && v->links == BERTH_LINKS_DUPLEX ? FEW + dst : in ? dst : src];
}

/* Brings the inputs of op to d; returns when all are there. */
static double fetch(naive *v, int32_t op, int32_t d) {
  const int32_t *in;
  int32_t k = berth_graph_inputs(v->x->g, op, &in);
  double ready = 0;
  for (int32_t i = 0; i < k; i++) {
    berth_tensor t = must_graph_tensor(v->x->g, in[i]);
    double at = v->finish[t.producer];
    if (v->device[t.producer] != d) {
      if (!v->copied[in[i]][d]) {
        double c = berth_cost_transfer(v->x->cost, in[i], v->device[t.producer], d);
        if (v->links != BERTH_LINKS_FREE) {
          double *out = channel(v, v->device[t.producer], d, 0),
                 *into = channel(v, v->device[t.producer], d, 1);
          at = fmax(at, fmax(*out, *into)) + c;
          *out = *into = at;
        } else {
          at += c;
        }
        v->copied[in[i]][d] = 1;
        v->arrival[in[i]][d] = at;
        v->held[d] += t.resident_bytes;
      }
      at = v->arrival[in[i]][d];
    }
    ready = fmax(ready, at);
  }
  return ready;
}

static int overlaps(const naive *v, int32_t d, double start, double finish) {
  for (int32_t i = 0; i < v->n; i++) {
    if (v->device[i] != d) continue;
    if (start < v->finish[i] && v->start[i] < finish) return 1;
    if (start == finish && v->start[i] < start && start < v->finish[i]) return 1;
    if (v->start[i] == v->finish[i] && start < v->start[i] && v->start[i] < finish) return 1;
  }
  return 0;
}

static double slot(const naive *v, int32_t d, double ready, double length) {
  double best = ready, end = 0;
  for (int32_t i = 0; i < v->n; i++) {
    if (v->device[i] == d) end = fmax(end, v->finish[i]);
  }
  if (!v->insertion) return fmax(ready, end);
  if (!overlaps(v, d, ready, ready + length)) return ready;
  best = fmax(ready, end);
  for (int32_t i = 0; i < v->n; i++) {
    double at = v->finish[i];
    if (v->device[i] == d && at >= ready && at < best && !overlaps(v, d, at, at + length))
      best = at;
  }
  return best;
}

static double put(naive *v, int32_t op, int32_t d) {
  const int32_t *outs;
  double length = berth_cost_op(v->x->cost, op, d), ready = fetch(v, op, d);
  int32_t k = berth_graph_outputs(v->x->g, op, &outs);
  v->start[op] = slot(v, d, ready, length);
  v->finish[op] = v->start[op] + length;
  v->device[op] = d;
  berth_op o = must_graph_op(v->x->g, op);
  v->held[d] += o.param_bytes;
  v->workspace[d] = fmax(v->workspace[d], o.workspace_bytes);
  for (int32_t i = 0; i < k; i++) {
    berth_tensor t = must_graph_tensor(v->x->g, outs[i]);
    v->held[d] += t.resident_bytes;
  }
  return v->start[op];
}

/* Tries it on a copy of everything. */
static double est(const naive *v, int32_t op, int32_t d) {
  static naive copy;
  copy = *v;
  if (isinf(berth_cost_op(v->x->cost, op, d))) return INFINITY;
  put(&copy, op, d);
  berth_device dev;
  berth_topology_device(v->x->t, d, &dev);
  return v->strict && copy.held[d] + copy.workspace[d] > dev.memory ? INFINITY : copy.start[op];
}

static int inputs_done(const naive *v, int32_t op, double by) {
  const int32_t *in;
  int32_t k = berth_graph_inputs(v->x->g, op, &in);
  for (int32_t i = 0; i < k; i++) {
    berth_tensor t = must_graph_tensor(v->x->g, in[i]);
    if (v->device[t.producer] == BERTH_NONE || v->finish[t.producer] > by) return 0;
  }
  return 1;
}

static double input_bytes(const naive *v, int32_t op, int32_t d) {
  const int32_t *in;
  int32_t k = berth_graph_inputs(v->x->g, op, &in);
  double sum = 0;
  for (int32_t i = 0; i < k; i++) {
    berth_tensor t = must_graph_tensor(v->x->g, in[i]);
    if (v->device[t.producer] == d) sum += t.bytes;
  }
  return sum;
}

/* ---- the four placers, as their definitions read ---- */

static void levels(naive *v, int with_transfers) {
  double ops[MOST];
  berth_cost_mean_ops(v->x->cost, ops);
  double transfers[MOST * 2];
  berth_cost_mean_transfers(v->x->cost, BERTH_AVERAGE_TEXTBOOK, transfers);
  berth_b_level(v->x->g, ops, with_transfers ? transfers : NULL, v->priority);
}

/* Least est (or eft) of all candidates and devices. @return 0: none fits */
static int place_pairs(naive *v, int by_eft, int near_inputs, int finished) {
  double now = 0;
  for (int32_t placed = 0; placed < v->n;) {
    int32_t best = BERTH_NONE, at = BERTH_NONE;
    double least = INFINITY, next = INFINITY;
    for (int32_t op = 0; op < v->n; op++) {
      if (v->device[op] != BERTH_NONE) {
        if (v->finish[op] > now) next = fmin(next, v->finish[op]);
        continue;
      }
      if (!inputs_done(v, op, finished ? now : INFINITY)) continue;
      for (int32_t d = 0; d < v->devices; d++) {
        double e = est(v, op, d), s = by_eft ? e + berth_cost_op(v->x->cost, op, d) : e;
        if (finished && e > now) {
          next = fmin(next, e);
          continue;
        }
        if (isinf(s) || s > least) continue;
        if (s == least && v->priority[op] < v->priority[best]) continue;
        if (s == least && op != best && v->priority[op] == v->priority[best]) continue;
        if (s == least && op == best
            && !(near_inputs && input_bytes(v, op, d) > input_bytes(v, op, at)))
          continue;
        least = s;
        best = op;
        at = d;
      }
    }
    if (best != BERTH_NONE) {
      put(v, best, at);
      placed++;
    } else if (finished && !isinf(next)) {
      now = next;
    } else {
      return 0;
    }
  }
  return 1;
}

static int place_by_rank(naive *v) {
  for (int32_t placed = 0; placed < v->n; placed++) {
    int32_t best = BERTH_NONE, at = BERTH_NONE;
    double least = INFINITY;
    for (int32_t op = 0; op < v->n; op++) {
      if (v->device[op] != BERTH_NONE || !inputs_done(v, op, INFINITY)) continue;
      if (best == BERTH_NONE || v->priority[op] > v->priority[best]) best = op;
    }
    for (int32_t d = 0; d < v->devices; d++) {
      double e = est(v, best, d) + berth_cost_op(v->x->cost, best, d);
      if (e < least) {
        least = e;
        at = d;
      }
    }
    if (at == BERTH_NONE) return 0;
    put(v, best, at);
  }
  return 1;
}

static int place_naively(naive *v, const char *placer) {
  v->insertion = strcmp(placer, "heft") == 0;
  if (strcmp(placer, "minmin") != 0) levels(v, v->insertion);
  if (v->insertion) return place_by_rank(v);
  return place_pairs(v, strcmp(placer, "minmin") == 0, strcmp(placer, "m-etf") == 0,
                     strcmp(placer, "m-etf") == 0);
}

static void compare(const instance *x, const char *placer, const berth_place_options *o) {
  static naive v;
  berth_placement *p = NULL;
  berth_status st = berth_place(x->cost, placer, o, &p, NULL);
  naive_begin(&v, x, o);
  if (!place_naively(&v, placer)) { /* the placer may still find a way by packing */
    RELEASE(p);
    return;
  }
  if (!CHECK_OK(st)) return;
  for (int32_t i = 0; i < v.n && !check_bad; i++) {
    if (berth_placement_device(p)[i] == v.device[i]
        && near(berth_placement_start(p)[i], v.start[i]))
      continue;
    CHECK(!"the same plan");
    printf("# %s, links %d: op %d on %d at %.17g, not on %d at %.17g\n", placer, (int)o->links,
           (int)i, (int)berth_placement_device(p)[i], berth_placement_start(p)[i], (int)v.device[i],
           v.start[i]);
  }
  RELEASE(p);
}

/* ---- the engine against itself ---- */

static berth_status score_est(void *ud, const berth_plan *p, int32_t op, const double *est_,
                              const double *eft, double *score, double *wake) {
  const int32_t *devices = ud;
  (void)p, (void)op, (void)eft, (void)wake;
  memcpy(score, est_, (size_t)*devices * sizeof *score);
  return BERTH_OK;
}
static berth_status score_eft(void *ud, const berth_plan *p, int32_t op, const double *est_,
                              const double *eft, double *score, double *wake) {
  (void)ud, (void)p, (void)op, (void)est_, (void)eft, (void)score, (void)wake;
  return BERTH_OK; /* eft is there on entry */
}
static berth_status static_level(void *ud, const berth_plan *p, double *priority) {
  (void)ud;
  double ops[MOST];
  berth_cost_mean_ops(berth_plan_cost(p), ops);
  return berth_b_level(berth_cost_graph(berth_plan_cost(p)), ops, NULL, priority);
}

static void same_as_policy(const instance *x, const char *placer, const berth_place_options *o) {
  int32_t devices = berth_topology_devices(x->t), n = berth_graph_ops(x->g);
  berth_policy policy = { .name = "wrapped", .choose = BERTH_CHOOSE_PAIR, .ud = &devices };
  berth_place_options own = *o;
  berth_placement *p = NULL, *q = NULL;
  policy.score = strcmp(placer, "minmin") == 0 ? score_eft : score_est;
  policy.prepare = strcmp(placer, "minmin") == 0 ? NULL : static_level;
  own.policy = &policy;
  if (berth_place(x->cost, "policy", &own, &q, NULL) != BERTH_OK) return;
  if (CHECK_OK(berth_place(x->cost, placer, o, &p, NULL))) {
    for (int32_t i = 0; i < n; i++) {
      CHECK(berth_placement_device(p)[i] == berth_placement_device(q)[i]);
      CHECK(near(berth_placement_start(p)[i], berth_placement_start(q)[i]));
    }
  }
  RELEASE(p, q);
}

/* ---- rounds ---- */

static void one_round(const instance *x, int what) {
  static const char *const placers[] = { "etf", "m-etf", "minmin", "heft" };
  berth_place_options o = berth_place_default(NULL);
  if (!(what & WITH_MEMORY)) o.memory = BERTH_MEMORY_NONE;
  for (int links = BERTH_LINKS_FREE; links <= BERTH_LINKS_PAIR; links++) {
    o.links = (berth_links)links;
    for (int i = 0; i < 4 && !check_bad; i++) compare(x, placers[i], &o);
    same_as_policy(x, "etf", &o);
    same_as_policy(x, "minmin", &o);
  }
}

static void many(int what, int rounds) {
  berth_rng rng = seeded(5, (uint64_t)what);
  instance x;
  for (int i = 0; i < rounds && !check_bad; i++) {
    if (!random_instance(&rng, what, 1 + berth_rng_below(&rng, 30),
                         1 + berth_rng_below(&rng, 4), &x))
      continue;
    one_round(&x, what);
    release_instance(&x);
    if (check_bad) printf("# round %d\n", i);
  }
}

TEST("plain graphs") { many(0, 20); }
TEST("two types of device, uneven links") { many(WITH_TYPES | WITH_UNEVEN, 20); }
TEST("ties") { many(WITH_TIES, 20); }
TEST("ties and uneven links") { many(WITH_TIES | WITH_UNEVEN | WITH_TYPES, 20); }
TEST("memory limits") { many(WITH_MEMORY, 20); }
