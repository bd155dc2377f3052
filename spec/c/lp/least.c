/* With least times the value is below every schedule: against the best of all schedules of small
 * graphs on unlike devices. */
#include "must.h"

enum { OPS = 6, DEVICES = 4, TENSORS = 16, GRAPHS = 2000 };

typedef struct small {
  int32_t n, devices, tensors;
  double p[OPS][DEVICES];                  /* INFINITY: cannot run */
  int32_t pin[OPS];
  int32_t producer[TENSORS];
  uint8_t reads[TENSORS][OPS];
  double bytes[TENSORS];
  double latency[DEVICES][DEVICES], rate[DEVICES][DEVICES]; /* latency INFINITY: no way */
} small;

static double crossing(const small *k, int32_t tensor, int32_t a, int32_t b) {
  if (a == b) return 0;
  return isinf(k->latency[a][b]) ? INFINITY : k->latency[a][b] + k->bytes[tensor] / k->rate[a][b];
}

static void random_devices(small *k, berth_rng *rng) {
  int alike = berth_rng_below(rng, 3) == 0;
  double size = berth_rng_below(rng, 3) ? 1 : 4; /* c > p now and then */
  for (int32_t a = 0; a < k->devices; a++)
    for (int32_t b = 0; b < k->devices; b++) {
      k->latency[a][b] = alike ? size / 2 : size * berth_rng_uniform(rng);
      k->rate[a][b] = alike ? 1 / size : (0.5 + berth_rng_uniform(rng)) / size;
      if (!alike && berth_rng_below(rng, 8) == 0) k->latency[a][b] = INFINITY;
    }
}

static void random_small(small *k, berth_rng *rng) {
  int like = berth_rng_below(rng, 2), zeros = berth_rng_below(rng, 2),
      density = 1 + berth_rng_below(rng, 3);
  memset(k, 0, sizeof *k);
  k->devices = 2 + berth_rng_below(rng, 3);
  k->n = 1 + berth_rng_below(rng, k->devices == 2 ? 6 : k->devices == 3 ? 6 : 5);
  random_devices(k, rng);
  for (int32_t i = 0; i < k->n; i++) {
    double p = zeros && berth_rng_below(rng, 4) == 0 ? 0 : 0.1 + berth_rng_uniform(rng);
    int32_t always = berth_rng_below(rng, k->devices);
    for (int32_t d = 0; d < k->devices; d++) {
      k->p[i][d] = like ? p : p * (0.5 + berth_rng_uniform(rng));
      if (d != always && berth_rng_below(rng, 8) == 0) k->p[i][d] = INFINITY;
    }
    k->pin[i] = berth_rng_below(rng, 8) == 0 ? always : BERTH_NONE;
    for (int32_t t = 0; t < 2 && i < k->n - 1; t++) {
      int32_t at = k->tensors, any = 0;
      for (int32_t j = i + 1; j < k->n; j++)
        any += k->reads[at][j] = berth_rng_below(rng, 1 + density) == 0;
      k->producer[at] = i;
      k->bytes[at] = berth_rng_below(rng, 6) == 0 ? 0 : berth_rng_uniform(rng);
      if (any) k->tensors++;
      else memset(k->reads[at], 0, sizeof k->reads[at]);
    }
  }
}

/* ---- all schedules ---- */

typedef struct search {
  const small *k;
  int32_t device[OPS];
  double end[OPS], free_at[DEVICES], best;
} search;

/* INFINITY: a producer is not there yet, or there is no way. */
static double ready(const search *s, int32_t op, int32_t d) {
  double at = 0;
  for (int32_t t = 0; t < s->k->tensors; t++) {
    int32_t from = s->k->producer[t];
    if (!s->k->reads[t][op]) continue;
    if (s->device[from] == BERTH_NONE) return INFINITY;
    at = fmax(at, s->end[from] + crossing(s->k, t, s->device[from], d));
  }
  return at;
}

static void extend(search *s, int32_t placed, double last) {
  if (last >= s->best) return;
  if (placed == s->k->n) {
    s->best = last;
    return;
  }
  for (int32_t op = 0; op < s->k->n; op++) {
    if (s->device[op] != BERTH_NONE) continue;
    for (int32_t d = 0; d < s->k->devices; d++) {
      double before = s->free_at[d];
      if (isinf(s->k->p[op][d]) || (s->k->pin[op] != BERTH_NONE && s->k->pin[op] != d)) continue;
      double at;
      if (isinf(at = ready(s, op, d))) continue;
      s->device[op] = d;
      s->end[op] = s->free_at[d] = fmax(at, before) + s->k->p[op][d];
      extend(s, placed + 1, fmax(last, s->end[op]));
      s->device[op] = BERTH_NONE;
      s->free_at[d] = before;
    }
  }
}

static double best_schedule(const small *k) {
  search s = { k, { 0 }, { 0 }, { 0 }, INFINITY };
  for (int32_t i = 0; i < OPS; i++) s.device[i] = BERTH_NONE;
  extend(&s, 0, 0);
  return s.best;
}

/* ---- the same for berth ---- */

static berth_graph *graph_of(const small *k) {
  static const char *const types[] = { "t0", "t1", "t2", "t3" };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, k->devices, types));
  for (int32_t i = 0; i < k->n; i++) {
    berth_op op = berth_op_default();
    op.seconds = k->p[i];
    op.pin = k->pin[i];
    must_add_op(b, &op);
  }
  for (int32_t t = 0; t < k->tensors; t++) {
    berth_tensor tensor = { k->producer[t], k->bytes[t], -1, 0 };
    must_add_tensor(b, &tensor);
    for (int32_t i = 0; i < k->n; i++) {
      if (k->reads[t][i]) CHECK_OK(berth_graph_builder_add_consumer(b, t, i));
    }
  }
  return must_graph(b);
}

static berth_status priced_transfer(void *ud, int32_t tensor, int32_t src, int32_t dst,
                                    double *seconds) {
  *seconds = crossing(ud, tensor, src, dst);
  return BERTH_OK;
}

/* @param table prices by a function, in which a pair may have no way; else by links, where routes
 *        lead round gaps */
static berth_cost *cost_of(small *k, int table) {
  static const char *const types[] = { "t0", "t1", "t2", "t3" };
  berth_graph *g = graph_of(k);
  berth_cost_model model = { 0 };
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < k->devices; i++) {
    berth_device d = berth_device_default();
    d.type = types[i];
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < k->devices; i++)
    for (int32_t j = 0; j < k->devices; j++) {
      berth_link link = { k->rate[i][j], table ? 1 : k->latency[i][j] };
      if (i == j || (!table && isinf(k->latency[i][j]))) continue;
      CHECK_OK(berth_topology_builder_add_link(b, i, j, &link, NULL));
    }
  berth_topology *t = must_topology_builder_finish(b);
  model.transfer = priced_transfer;
  model.ud = k;
  berth_cost *cost = must_cost_new(g, t, table ? &model : NULL);
  RELEASE(b, t, g);
  return cost;
}

/* What the topology makes of the links. */
static void read_prices(small *k, berth_cost *cost) {
  const berth_topology *t = berth_cost_topology(cost);
  for (int32_t a = 0; a < k->devices; a++)
    for (int32_t b = 0; b < k->devices; b++) {
      berth_link l = { 1, INFINITY };
      if (a == b) continue;
      CHECK(berth_topology_path(t, a, b, &l) == BERTH_OK || isinf(l.latency));
      k->latency[a][b] = l.latency;
      k->rate[a][b] = l.bandwidth;
    }
}

static int check_one(berth_rng *rng) {
  static const berth_lp_method methods[] = { BERTH_LP_AUTO, BERTH_LP_ENTROPIC, BERTH_LP_INTERIOR };
  small k;
  double lower = 0;
  random_small(&k, rng);
  int table = berth_rng_below(rng, 2);
  berth_cost *cost = cost_of(&k, table);
  if (!table) read_prices(&k, cost);
  double best = best_schedule(&k);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    berth_lp_options o = { BERTH_LP_LEAST, methods[i], i == 1 ? 0.01 : 1e-7, 0 };
    berth_lp *lp = must_lp_solve(cost, &o);
    lower = berth_lp_get(lp)->lower;
    if (!CHECK(lower <= best * (1 + 1e-9)))
      printf("# %d ops on %d devices: %g > %g\n", (int)k.n, (int)k.devices, lower, best);
  }
  RELEASE(cost);
  return lower >= best * (1 - 1e-6) && k.n > 2;
}

TEST("with least times it is a lower bound: all schedules of 2000 small graphs on unlike devices") {
  int tight = 0;
  berth_rng rng = seeded(7, 0);
  for (int i = 0; i < GRAPHS; i++) tight += check_one(&rng);
  CASE("and often a tight one")
  if (!CHECK(tight > GRAPHS / 10)) printf("# %d of %d\n", tight, (int)GRAPHS);
}
