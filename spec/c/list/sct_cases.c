/* m-SCT on the small cases of Baechi's study, with favourites of a simplex solver's vertex of the
 * published program. */
#include "must.h"
#include "sct_vertex.h"

enum { MOST = 16 };

typedef struct small_case {
  const char *name;
  int32_t n, m, devices;
  double p[MOST], memory[MOST]; /* of ops */
  int32_t src[MOST], dst[MOST];
  double c[MOST], limit, lp;
  int32_t favourites;           /* that the published vertex had */
  double makespan;              /* with that */
  const char *placed;
} small_case;

static const small_case cases[] = { { "A",
                                      6,
                                      6,
                                      2,
                                      { 1, 3, 3, 1, 3, 1 },
                                      { 1, 2, 2, 1, 1, 1 },
                                      { 0, 0, 1, 2, 4, 5 },
                                      { 1, 4, 2, 3, 5, 3 },
                                      { 1, 1, 1, 1, 1, 1 },
                                      4,
                                      8,
                                      4,
                                      9,
                                      "001110" },
                                    { "B",
                                      4,
                                      3,
                                      2,
                                      { 5, 4, 7, 4 },
                                      { 0 },
                                      { 0, 1, 1 },
                                      { 2, 2, 3 },
                                      { 1, 3, 1 },
                                      INFINITY,
                                      12.5,
                                      1,
                                      14,
                                      "0101" },
                                    { "C",
                                      6,
                                      4,
                                      2,
                                      { 9, 9, 8, 5, 6, 4 },
                                      { 0 },
                                      { 0, 1, 1, 4 },
                                      { 2, 2, 3, 5 },
                                      { 2, 3, 1, 3 },
                                      INFINITY,
                                      18.2,
                                      2,
                                      24,
                                      "011000" },
                                    { "D",
                                      9,
                                      12,
                                      3,
                                      { 6, 7, 9, 8, 10, 6, 6, 10, 6 },
                                      { 0 },
                                      { 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4 },
                                      { 2, 3, 4, 2, 3, 4, 5, 6, 5, 6, 7, 8 },
                                      { 1, 5, 2, 1, 1, 1, 5, 3, 4, 1, 5, 1 },
                                      INFINITY,
                                      25.0 + 2.0 / 3,
                                      5,
                                      30,
                                      "010211021" } };
enum { CASES = sizeof cases / sizeof *cases };

static berth_cost *make(const small_case *k) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < k->n; i++) {
    berth_op op = berth_op_default();
    op.seconds = &k->p[i];
    op.param_bytes = k->memory[i];
    must_add_op(b, &op);
  }
  for (int32_t e = 0; e < k->m; e++) {
    berth_tensor x = { k->src[e], k->c[e], 0, 0 };
    must_add_tensor(b, &x);
    CHECK_OK(berth_graph_builder_add_consumer(b, e, k->dst[e]));
  }
  berth_graph *g = must_graph(b);
  berth_topology *t = must_mesh(k->devices, k->limit, 1, 0);
  berth_cost *cost = must_cost_new(g, t, NULL);
  RELEASE(g, t);
  return cost;
}

static vertex_problem program(const small_case *k) {
  vertex_problem v = { k->n, k->m, k->p, k->c, k->src, k->dst };
  return v;
}

static berth_placement *place(berth_cost *cost, const char *variant, berth_favourites from,
                              const int32_t *child) {
  berth_place_options o = berth_place_default(NULL);
  o.variant = variant;
  o.favourites = from;
  o.favourite = child;
  if (variant[0]) o.quantum = 1;
  return must_place(cost, "m-sct", &o);
}

static const char *vector(const berth_placement *p, char *text) {
  int32_t i, n = berth_placement_ops(p);
  for (i = 0; i < n; i++) text[i] = (char)('0' + berth_placement_device(p)[i]);
  text[i] = 0;
  return text;
}

/* All matchings of the case, as favourites: does one of them give the published answer? */
typedef struct hunt {
  const small_case *k;
  berth_cost *cost;
  const char *variant;
  int32_t child[MOST];
  int taken[MOST], found;
  double best, worst, seen_at; /* seen_at: makespan with the published vector */
} hunt;

static void try_matching(hunt *h) {
  berth_placement *p = place(h->cost, h->variant, BERTH_FAVOURITES_GIVEN, h->child);
  if (!p) return;
  double makespan = berth_placement_estimate(p);
  h->best = fmin(h->best, makespan);
  h->worst = fmax(h->worst, makespan);
  char text[MOST + 1];
  if (strcmp(vector(p, text), h->k->placed) == 0) {
    h->found++;
    h->seen_at = makespan;
  }
}

static void search(hunt *h, int32_t e) {
  if (e == h->k->m) {
    try_matching(h);
    return;
  }
  search(h, e + 1);
  if (h->child[h->k->src[e]] != BERTH_NONE || h->taken[h->k->dst[e]]) return;
  h->child[h->k->src[e]] = h->k->dst[e];
  h->taken[h->k->dst[e]] = 1;
  search(h, e + 1);
  h->child[h->k->src[e]] = BERTH_NONE;
  h->taken[h->k->dst[e]] = 0;
}

static hunt all_matchings(berth_cost *cost, const small_case *k, const char *variant) {
  hunt h = { 0 };
  h.k = k;
  h.cost = cost;
  h.variant = variant;
  h.best = INFINITY;
  for (int32_t i = 0; i < MOST; i++) h.child[i] = BERTH_NONE;
  search(&h, 0);
  return h;
}

TEST("some matching gives the published answer of each case") {
  for (int i = 0; i < CASES; i++) {
    const small_case *k = &cases[i];
    berth_cost *cost = make(k);
    hunt pt = all_matchings(cost, k, "baechi-pt"), tf = all_matchings(cost, k, "baechi-tf");
    if (!CHECK(pt.found > 0) || !CHECK(tf.found > 0)) printf("# case %s\n", k->name);
    CHECK_NEAR(pt.seen_at, k->makespan, 0);
    CHECK_NEAR(tf.seen_at, strcmp(k->name, "D") == 0 ? 40 : k->makespan, 0);
    printf("# %s: %d (parallel) and %d (queue) matchings give %s; makespans %g..%g, %g..%g\n",
           k->name, pt.found, tf.found, k->placed, pt.best, pt.worst, tf.best, tf.worst);
    RELEASE(cost);
  }
}

/* Does the vertex, rounded, give the published answer? */
static int gives(berth_cost *cost, const small_case *k, const double *x, const char *variant,
                 double makespan) {
  vertex_problem v = program(k);
  int32_t child[MOST], n = vertex_favourites(&v, x, 0.5, child);
  char text[MOST + 1];
  berth_placement *p = place(cost, variant, BERTH_FAVOURITES_GIVEN, child);
  int same = p && strcmp(vector(p, text), k->placed) == 0 && n == k->favourites;
  if (same) CHECK_NEAR(berth_placement_estimate(p), makespan, 0);
  RELEASE(p);
  return same;
}

/* The solver's own vertex, then such as are least by random weights. */
TEST("a simplex solver's vertex of the program has its value, as many favourites, and gives the "
     "published answer") {
  for (int i = 0; i < CASES; i++) {
    const small_case *k = &cases[i];
    berth_cost *cost = make(k);
    vertex_problem v = program(k);
    int parallel = 0, queue = 0;
    berth_rng rng = seeded(7, (uint64_t)i);
    double x[MOST], weight[MOST];
    int tries;
    for (tries = 0; tries < 60 && !(parallel && queue); tries++) {
      for (int32_t e = 0; e < k->m; e++) weight[e] = berth_rng_uniform(&rng) - 0.5;
      CHECK_NEAR(sct_vertex(&v, tries ? weight : NULL, x), k->lp, 1e-6);
      parallel |= gives(cost, k, x, "baechi-pt", k->makespan);
      queue |= gives(cost, k, x, "baechi-tf", strcmp(k->name, "D") == 0 ? 40 : k->makespan);
    }
    if (!CHECK(parallel && queue)) printf("# case %s\n", k->name);
    printf("# %s: after %d vertices\n", k->name, tries);
    RELEASE(cost);
  }
}

/* The best of all schedules is not what any of them finds; but neither is it far above the
 * program's value. */
TEST("our rule is no worse on them") {
  const double most[CASES] = { 9, 14, 24, 30 };
  for (int i = 0; i < CASES; i++) {
    berth_cost *cost = make(&cases[i]);
    for (int from = BERTH_FAVOURITES_LP; from <= BERTH_FAVOURITES_NONE; from++) {
      berth_placement *p = place(cost, "", (berth_favourites)from, NULL);
      if (p && !CHECK(berth_placement_estimate(p) <= most[i]))
        printf("# case %s, favourites %d\n", cases[i].name, from);
      if (p) printf("# %s, favourites %d: %g\n", cases[i].name, from, berth_placement_estimate(p));
      RELEASE(p);
    }
    RELEASE(cost);
  }
}
