/* Episodes beside a plain version that replays all decisions from the start on each step; episodes
 * side by side and alone; refused allocations. */
#include "assign_help.h"
#include "refusals.h"

enum { MOST = 24, DEVICES = 4, WIDTH = 6 };

/* ---- random graphs ---- */

static void random_op(setup *s, berth_rng *rng, int32_t devices, int ties) {
  double x = ties ? berth_rng_below(rng, 5) * 0.25 : 4 * berth_rng_uniform(rng);
  berth_op op = berth_op_default();
  op.seconds = &x;
  if (berth_rng_below(rng, 6) == 0) op.flags = BERTH_OP_COMMUNICATION;
  if (berth_rng_below(rng, 8) == 0) op.pin = berth_rng_below(rng, devices);
  else if (berth_rng_below(rng, 4) == 0) op.group = berth_rng_below(rng, 3);
  must_add_op(s->b, &op);
}

static void random_case(setup *s, berth_rng *rng, int32_t devices) {
  int32_t n = 1 + berth_rng_below(rng, MOST), ties = berth_rng_below(rng, 2);
  setup_begin(s);
  for (int32_t i = 0; i < n; i++) random_op(s, rng, devices, ties);
  for (int32_t i = 0; i < n - 1; i++) {
    for (int32_t k = berth_rng_below(rng, 3); k > 0; k--) {
      int32_t t =
          setup_tensor(s, i, ties ? berth_rng_below(rng, 7) * 0.5 : 6 * berth_rng_uniform(rng));
      for (int32_t c = n - 1; c > i; c--) {
        if (berth_rng_below(rng, 5) == 0) setup_use(s, t, c);
      }
    }
  }
  if (devices > 2 && berth_rng_below(rng, 2)) setup_uneven(s, devices);
  else setup_mesh(s, devices, INFINITY);
}

static int32_t pin_of(const setup *s, int32_t op) {
  berth_op o = must_graph_op(s->g, op);
  return o.pin;
}

/* Some units of several ops, none of them pinned. */
static const int32_t *random_units(const setup *s, berth_rng *rng, int32_t *unit) {
  int32_t n = berth_graph_ops(s->g);
  if (berth_rng_below(rng, 2)) return NULL;
  for (int32_t i = 0; i < n; i++)
    unit[i] = pin_of(s, i) == BERTH_NONE ? berth_rng_below(rng, n) : n + i;
  return unit;
}

static berth_assign_options random_options(berth_rng *rng, const int32_t *unit) {
  berth_assign_options o = berth_assign_default();
  o.estimates = (berth_estimates)berth_rng_below(rng, 2);
  o.t_levels = (berth_t_levels)berth_rng_below(rng, 2);
  o.edge_costs = (berth_edge_costs)berth_rng_below(rng, 2);
  o.partners = berth_rng_below(rng, 2);
  o.unit = unit;
  o.contract = !unit && berth_rng_below(rng, 3) == 0;
  return o;
}

/* ---- the plain version ---- */

typedef struct naive {
  const setup *s;
  berth_assign_options o;
  int32_t n, devices, unit[MOST];
  uint8_t reads[MOST][MOST]; /* [v][u]: v reads something of u */
  double comp[MOST], comm[MOST], b[MOST], t[MOST];
  /* after so many decisions */
  int32_t device[MOST], unit_device[MOST], order[MOST], placed, since[MOST], stamps;
  double start[MOST], end[MOST];
} naive;

static int is_communication(const naive *v, int32_t op) {
  berth_op o = must_graph_op(v->s->g, op);
  return (o.flags & BERTH_OP_COMMUNICATION) != 0;
}
static double busy(const naive *v, int32_t op, int32_t d) {
  return is_communication(v, op) ? 0 : berth_cost_op(v->s->cost, op, d);
}

static void naive_edges(naive *v) {
  for (int32_t w = 0; w < v->n; w++) {
    const int32_t *in;
    for (int32_t i = berth_graph_inputs(v->s->g, w, &in) - 1; i >= 0; i--) {
      berth_tensor t = must_graph_tensor(v->s->g, in[i]);
      v->reads[w][t.producer] = 1;
    }
  }
}

/* Labels spread until nothing changes. */
static void naive_units(naive *v, const int32_t *unit, const int32_t *found) {
  for (int32_t round = 0; round < v->n; round++) {
    for (int32_t i = 0; i < v->n; i++) {
      for (int32_t k = 0; k < v->n; k++) {
        berth_op a = must_graph_op(v->s->g, i);
        berth_op b = must_graph_op(v->s->g, k);
        if ((a.group != BERTH_NONE && a.group == b.group) || (unit && unit[i] == unit[k])) {
          v->unit[i] = v->unit[k] = v->unit[i] < v->unit[k] ? v->unit[i] : v->unit[k];
        }
      }
    }
  }
  for (int32_t i = 0; i < v->n; i++) {
    for (int32_t k = 0; k < v->n; k++) {
      if (v->o.contract) v->unit[i] = found[i]; /* the searches' own */
      else CHECK((found[i] == found[k]) == (v->unit[i] == v->unit[k]));
    }
  }
}

/* Longest paths, by looking at all edges as often as there are ops. */
static void naive_levels(naive *v) {
  int code = v->o.t_levels == BERTH_T_LEVELS_CODE;
  for (int32_t round = 0; round <= v->n; round++) {
    for (int32_t x = 0; x < v->n; x++) {
      double down = -1, up = -1;
      for (int32_t y = 0; y < v->n; y++) {
        if (v->reads[y][x]) down = fmax(down, v->b[y]);
        if (v->reads[x][y]) up = fmax(up, code ? v->t[y] : v->t[y] + v->comp[y] + v->comm[y]);
      }
      v->b[x] = v->comp[x] + (down < 0 ? 0 : v->comm[x] + down);
      v->t[x] = code ? v->comp[x] + (up < 0 ? 0 : v->comm[x] + up) : fmax(up, 0);
    }
  }
}

static void naive_begin(naive *v, const setup *s, const berth_assign_options *o,
                        const int32_t *found) {
  memset(v, 0, sizeof *v);
  v->s = s;
  v->o = *o;
  v->n = berth_graph_ops(s->g);
  v->devices = berth_topology_devices(s->t);
  for (int32_t i = 0; i < v->n; i++) v->unit[i] = i;
  naive_edges(v);
  naive_units(v, o->unit, found);
  CHECK_OK(berth_cost_mean_ops(s->cost, v->comp));
  double mean[MOST * 4];
  CHECK_OK(berth_cost_mean_transfers(s->cost, BERTH_AVERAGE_TEXTBOOK, mean));
  for (int32_t k = 0; k < berth_graph_tensors(s->g) && v->devices > 1; k++) {
    berth_tensor t = must_graph_tensor(s->g, k);
    v->comm[t.producer] += mean[k];
  }
  naive_levels(v);
}

static int open(const naive *v, int32_t op) {
  int32_t u;
  for (u = 0; u < v->n && !(v->reads[op][u] && v->device[u] == BERTH_NONE); u++) {}
  return v->device[op] == BERTH_NONE && u == v->n;
}

static double naive_earliest(const naive *v, int32_t op, int32_t d) {
  double at = 0;
  for (int32_t i = 0; i < v->placed; i++) { /* the last one counts */
    int32_t u = v->order[i];
    if (v->device[u] == d && !is_communication(v, u) && !is_communication(v, op)) at = v->end[u];
  }
  const int32_t *in;
  for (int32_t i = berth_graph_inputs(v->s->g, op, &in) - 1; i >= 0; i--) {
    berth_tensor t = must_graph_tensor(v->s->g, in[i]);
    at = fmax(at, v->end[t.producer]
                      + berth_cost_transfer(v->s->cost, in[i], v->device[t.producer], d));
  }
  return at;
}

static void naive_put(naive *v, int32_t op) {
  int32_t d = v->unit_device[v->unit[op]];
  double at = 0;
  if (v->o.estimates == BERTH_ESTIMATES_EXACT) at = naive_earliest(v, op, d);
  else {
    for (int32_t i = 0; i < v->placed; i++)
      at += v->device[v->order[i]] == d ? busy(v, v->order[i], d) : 0;
  }
  v->start[op] = at;
  v->end[op] = at + berth_cost_op(v->s->cost, op, d);
  v->device[op] = d;
  v->order[v->placed++] = op;
}

/* Those that can follow now, in edge order: into the queue if their device is known. */
static int32_t follow(naive *v, int32_t op, int32_t *queue, int32_t n) {
  const int32_t *out, *use;
  int32_t k = berth_graph_outputs(v->s->g, op, &out);
  for (int32_t i = 0; i < k; i++) {
    int32_t m = berth_graph_consumers(v->s->g, out[i], &use);
    for (int32_t j = 0; j < m; j++) {
      if (v->since[use[j]] >= 0 || !open(v, use[j])) continue;
      v->since[use[j]] = v->stamps++;
      if (v->unit_device[v->unit[use[j]]] != BERTH_NONE) queue[n++] = use[j];
    }
  }
  return n;
}

static void drain(naive *v, int32_t *queue, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    naive_put(v, queue[i]);
    n = follow(v, queue[i], queue, n);
  }
}

static void replay(naive *v, int32_t decisions, const int32_t *op, const int32_t *device) {
  int32_t n = 0;
  v->placed = v->stamps = 0;
  for (int32_t i = 0; i < MOST; i++) v->device[i] = v->unit_device[i] = v->since[i] = BERTH_NONE;
  for (int32_t i = 0; i < v->n; i++) {
    if (pin_of(v->s, i) != BERTH_NONE) v->unit_device[v->unit[i]] = pin_of(v->s, i);
  }
  int32_t queue[MOST];
  for (int32_t i = 0; i < v->n; i++) {
    if (!open(v, i)) continue;
    v->since[i] = v->stamps++;
    if (v->unit_device[v->unit[i]] != BERTH_NONE) queue[n++] = i;
  }
  drain(v, queue, n);
  for (int32_t k = 0; k < decisions; k++) {
    n = 0;
    v->unit_device[v->unit[op[k]]] = device[k];
    queue[n++] = op[k];
    for (int32_t i = 0; i < v->n; i++) {
      if (i != op[k] && v->unit[i] == v->unit[op[k]] && open(v, i)) queue[n++] = i;
    }
    drain(v, queue, n);
  }
}

static void naive_devices(const naive *v, int32_t op, double *out) {
  for (int32_t d = 0; d < v->devices; d++, out += v->o.partners ? WIDTH : WIDTH - 1) {
    double reserved = 0, least = INFINITY;
    memset(out, 0, (v->o.partners ? WIDTH : WIDTH - 1) * sizeof *out);
    for (int32_t u = 0; u < v->n; u++) {
      if (v->unit_device[v->unit[u]] == d) out[0] += busy(v, u, d);
      if (v->unit_device[v->unit[u]] == d && v->device[u] == BERTH_NONE) reserved += busy(v, u, d);
      if (v->device[u] != d) continue;
      for (int32_t w = 0; v->o.partners && w < v->n; w++) {
        if (v->reads[w][op] && v->reads[w][u]) out[5] += berth_cost_op(v->s->cost, u, d);
      }
      if (!v->reads[op][u]) continue;
      out[1] += berth_cost_op(v->s->cost, u, d);
      least = fmin(least, v->start[u]);
      out[3] = fmax(out[3], v->end[u]);
    }
    out[2] = isinf(least) ? 0 : least;
    out[4] = naive_earliest(v, op, d) + (is_communication(v, op) ? 0 : reserved);
  }
}

/* ---- side by side ---- */

static void same_candidates(const naive *v, const int32_t *ops, int32_t n) {
  for (int32_t i = 0; i < v->n; i++) {
    if (!open(v, i)) continue;
    if (CHECK(n > 0 && *ops == i)) {
      ops++;
      n--;
    }
  }
  CHECK(n == 0);
}

static void same_marks(const naive *v, berth_episodes *e, const int32_t *ops, int32_t n) {
  uint8_t textbook[MOST];
  double most = 0;
  int32_t k = 0;
  CHECK_OK(berth_episodes_teacher_ops(e, BERTH_TEACHER_TEXTBOOK, textbook));
  uint8_t code[MOST];
  CHECK_OK(berth_episodes_teacher_ops(e, BERTH_TEACHER_CODE, code));
  for (int32_t i = 0; i < n; i++) most = fmax(most, v->b[ops[i]]);
  for (int32_t i = 0; i < n; i++) k += v->b[ops[i]] == most;
  for (int32_t i = 0; i < n; i++) {
    int32_t before = 0;
    for (int32_t j = 0; j < n; j++) before += v->since[ops[j]] < v->since[ops[i]];
    CHECK(textbook[i] == (v->b[ops[i]] == most));
    CHECK(code[i] == (before < k));
  }
}

static void same_devices(const naive *v, berth_episodes *e, int32_t op) {
  double got[DEVICES * WIDTH], least = INFINITY;
  int32_t width = v->o.partners ? WIDTH : WIDTH - 1;
  CHECK_OK(berth_episodes_devices(e, &op, got));
  uint8_t best[DEVICES];
  CHECK_OK(berth_episodes_teacher_devices(e, &op, best));
  double want[DEVICES * WIDTH];
  naive_devices(v, op, want);
  for (int32_t i = 0; i < v->devices * width; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  for (int32_t d = 0; d < v->devices; d++) least = fmin(least, got[d * width + 4]);
  for (int32_t d = 0; d < v->devices; d++) CHECK(best[d] == (got[d * width + 4] == least));
}

static void same_features(const naive *v, const berth_assign *a) {
  const int32_t *src, *dst;
  const double *f = berth_assign_op_features(a), *seconds;
  int32_t m = berth_assign_edges(a, &src, &dst, &seconds), pairs = 0;
  for (int32_t x = 0; x < v->n; x++, f += 5) {
    double in = 0, out = 0;
    for (int32_t y = 0; y < v->n; y++) {
      in += v->reads[x][y] ? v->comm[y] : 0;
      out += v->reads[y][x] ? v->comm[x] : 0;
      pairs += v->reads[x][y];
    }
    check_doubles(f, (const double[]){ v->comp[x], v->b[x], v->t[x] }, 3, "levels");
    CHECK_NEAR(f[3], in, 1e-9);
    CHECK_NEAR(f[4], out, 1e-9);
  }
  CHECK(m == 2 * pairs);
  for (int32_t i = 0; i < m; i++) {
    int with = v->reads[dst[i]][src[i]];
    CHECK(with || v->reads[src[i]][dst[i]]);
    CHECK(i == 0 || dst[i - 1] < dst[i] || (dst[i - 1] == dst[i] && src[i - 1] < src[i]));
    CHECK(seconds[i]
          == v->comm[with || v->o.edge_costs == BERTH_EDGE_COSTS_CODE ? src[i] : dst[i]]);
  }
}

static void walk(naive *v, const episode_setup *x, berth_rng *rng) {
  int32_t op[MOST], device[MOST], steps = berth_assign_steps(x->a);
  for (int32_t step = 0; step <= steps; step++) {
    const int32_t *first, *ops;
    int32_t n = berth_episodes_candidates(x->e, &first, &ops);
    replay(v, step, op, device);
    check_ids(berth_episodes_placement(x->e), v->device, v->n, "placement");
    same_candidates(v, ops, n);
    if (step == steps) break;
    same_marks(v, x->e, ops, n);
    op[step] = ops[berth_rng_below(rng, n)];
    uint8_t may[DEVICES];
    CHECK_OK(berth_episodes_allowed(x->e, &op[step], may));
    do device[step] = berth_rng_below(rng, v->devices);
    while (!may[device[step]]);
    same_devices(v, x->e, op[step]);
    put(x->e, op[step], device[step]);
  }
  CHECK(v->placed == v->n);
}

static void as_the_plain_version(berth_rng *rng) {
  int32_t devices = 1 + berth_rng_below(rng, DEVICES);
  setup s;
  random_case(&s, rng, devices);
  int32_t unit[MOST];
  berth_assign_options o = random_options(rng, random_units(&s, rng, unit));
  episode_setup x = episodes_of(&s, &o, 1);
  naive v;
  naive_begin(&v, &s, &o, berth_assign_units(x.a));
  same_features(&v, x.a);
  for (int round = 0; round < 2; round++) {
    berth_episodes_start(x.e, 1, 0);
    walk(&v, &x, rng);
  }
  RELEASE(x.e, x.a);
}

/* ---- lock-step ---- */

/* Samples all decisions of all episodes. */
static void sampled(berth_episodes *e, const berth_assign *a, uint64_t seed, int64_t from) {
  int32_t n = berth_episodes_count(e),
          devices = berth_topology_devices(berth_cost_topology(berth_assign_cost(a)));
  berth_episodes_start(e, seed, from);
  int32_t op[8], device[8], at[9];
  float score[8 * MOST];
  double told[8 * DEVICES * WIDTH];
  uint8_t may[8 * DEVICES];
  while (berth_episodes_step(e) < berth_assign_steps(a)) {
    const int32_t *first, *ops;
    int32_t k = berth_episodes_candidates(e, &first, &ops);
    for (int32_t i = 0; i < k; i++) score[i] = 0.1f * (float)ops[i];
    CHECK_OK(berth_episodes_choose(e, first, score, BERTH_CHOICE_SAMPLE, 0.1, op));
    for (int32_t i = 0; i < n; i++) op[i] = ops[first[i] + op[i]];
    for (int32_t i = 0; i <= n; i++) at[i] = i * devices;
    CHECK_OK(berth_episodes_allowed(e, op, may));
    CHECK_OK(berth_episodes_devices(e, op, told));
    for (int32_t i = 0; i < n * devices; i++) score[i] = may[i] ? (float)(i % devices) : -INFINITY;
    CHECK_OK(berth_episodes_choose(e, at, score, BERTH_CHOICE_RANDOM_TIES, 0.5, device));
    CHECK_OK(berth_episodes_assign(e, op, device));
  }
}

/* Rows of `one`, of a single episode, are those of episode i in `all`. */
static void same_rows(const berth_episode_log *all, const berth_episode_log *one, int32_t i,
                      int32_t answer) {
  int32_t rows = one->n_rows, from = i * rows;
  check_ids(all->op + from, one->op, rows, "ops");
  check_ids(all->device + from, one->device, rows, "devices");
  check_ids(all->chosen + from, one->chosen, rows, "chosen");
  CHECK(all->first[from + rows] - all->first[from] == one->first[rows]);
  check_ids(all->candidates + all->first[from], one->candidates, one->first[rows], "candidates");
  if (CHECK((all->devices != NULL) == (one->devices != NULL)) && rows > 0) {
    CHECK(memcmp(all->devices + from * answer, one->devices,
                 (size_t)(rows * answer) * sizeof *one->devices)
          == 0);
  }
}

static void together_as_alone(berth_rng *rng) {
  enum { TOGETHER = 5 };
  int32_t devices = 1 + berth_rng_below(rng, DEVICES);
  setup s;
  random_case(&s, rng, devices);
  int32_t unit[MOST];
  berth_assign_options o = random_options(rng, random_units(&s, rng, unit));
  episode_setup x = episodes_of(&s, &o, TOGETHER);
  episode_setup alone = episodes_of(&s, &o, 1);
  sampled(x.e, x.a, 1, 100); /* leaves no trace */
  sampled(x.e, x.a, 7, 3);
  berth_episode_log all;
  CHECK_OK(berth_episodes_log(x.e, &all));
  berth_episode_log one;
  for (int32_t i = 0; i < TOGETHER; i++) {
    sampled(alone.e, alone.a, 7, 3 + i);
    if (CHECK_OK(berth_episodes_log(alone.e, &one))) {
      same_rows(&all, &one, i, devices * berth_assign_device_features(x.a));
    }
    check_ids(berth_episodes_placement(x.e) + i * berth_graph_ops(s.g),
              berth_episodes_placement(alone.e), berth_graph_ops(s.g), "placement");
  }
  RELEASE(x.e, x.a, alone.e, alone.a);
}

/* ---- refused allocations ---- */

static berth_status all_steps(berth_episodes *e, const berth_assign *a) {
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && berth_episodes_step(e) < berth_assign_steps(a)) {
    const int32_t *first, *ops;
    int32_t before = berth_episodes_step(e);
    berth_episodes_candidates(e, &first, &ops);
    int32_t op[2];
    op[0] = ops[first[0]];
    op[1] = ops[first[2] - 1];
    double told[2 * 2 * WIDTH];
    st = berth_episodes_devices(e, op, told);
    TRY(st, berth_episodes_assign(e, op, (const int32_t[]){ 0, 1 }));
    CHECK(berth_episodes_step(e) == before + (st == BERTH_OK));
  }
  return st;
}

static berth_status whole_job(const void *contracted) {
  const int contract = *(const int *)contracted;
  static const int32_t unit[] = { 0, 1, 1, 2 };
  berth_assign_options o = berth_assign_default();
  berth_cost *cost = NULL;
  berth_assign *a = NULL;
  berth_episodes *e = NULL;
  berth_status st =
      cost_of_text("10 20 30 5 0>1,2:40 1>3:80 2>3:120", 2, INFINITY, 1, &cost);
  o.partners = 1;
  o.contract = contract;
  o.unit = contract ? NULL : unit;
  TRY(st, berth_assign_new(cost, &o, &a));
  TRY(st, berth_episodes_new(a, 2, &e));
  berth_episode_log log;
  for (int round = 0; round < 2 && st == BERTH_OK; round++) {
    berth_episodes_start(e, 1, 0);
    if ((st = all_steps(e, a)) == BERTH_OK) st = berth_episodes_log(e, &log);
  }
  RELEASE(e, a, cost);
  return st;
}

TEST("as a version that replays all decisions") {
  berth_rng rng = seeded(5, 0);
  for (int i = 0; i < check_runs(1000, 4000); i++) as_the_plain_version(&rng);
}

TEST("episodes side by side are as each alone") {
  berth_rng rng = seeded(5, 0);
  for (int i = 0; i < check_runs(250, 1000); i++) together_as_alone(&rng);
}

TEST("refused allocations") {
  for (int contract = 0; contract < 2; contract++) {
    refuse_each(whole_job, &contract, 1, 0);
    refuse_each(whole_job, &contract, -1, 0);
  }
}
