/* The interior-point solver of the favourite-child LP, on problems given directly: values against
 * hand, publication and an independent LP solver; certificates are checked by code of their own. */
#include "extern/cjson_internal.h"
#include "place_lp_interior_help.h"
#include <glpk.h>

/* ---- independent answers ---- */

static void add_row(glp_prob *lp, int kind, double bound, int n, const int *at,
                    const double *value) {
  int row = glp_add_rows(lp, 1);
  glp_set_row_bnds(lp, row, kind, bound, bound);
  glp_set_mat_row(lp, row, n, at, value);
}

/* Columns: 1..n start times, n + 1 makespan, then y. */
static void add_times(glp_prob *lp, const berth_i_lp_problem *q) {
  for (int32_t i = 0; i < q->n; i++) {
    const int at[] = { 0, q->n + 1, i + 1 };
    const double value[] = { 0, 1, -1 };
    add_row(lp, GLP_LO, q->p[i], 2, at, value);
  }
  for (int32_t e = 0; e < q->m; e++) {
    const int at[] = { 0, q->head[e] + 1, q->tail[e] + 1, q->n + 2 + e };
    const double value[] = { 0, 1, -1, q->c[e] };
    add_row(lp, GLP_LO, q->p[q->tail[e]] + q->c[e], 3, at, value);
  }
}

static void add_matching(glp_prob *lp, const berth_i_lp_problem *q, const int32_t *end_of) {
  int *at = malloc(sizeof *at * (size_t)(q->m + 2));
  double *value = malloc(sizeof *value * (size_t)(q->m + 2));
  for (int32_t i = 0; i < q->n; i++) {
    int k = 0;
    for (int32_t e = 0; e < q->m; e++) {
      if (end_of[e] != i) continue;
      at[++k] = q->n + 2 + e;
      value[k] = 1;
    }
    if (k > 0) add_row(lp, GLP_UP, 1, k, at, value);
  }
  RELEASE(at, value);
}

static double optimum(const berth_i_lp_problem *q) {
  glp_prob *lp = glp_create_prob();
  glp_add_cols(lp, q->n + 1 + q->m);
  for (int k = 1; k <= q->n + 1 + q->m; k++) glp_set_col_bnds(lp, k, GLP_LO, 0, 0);
  glp_set_obj_coef(lp, q->n + 1, 1);
  add_times(lp, q);
  add_matching(lp, q, q->tail);
  add_matching(lp, q, q->head);
  glp_smcp options;
  glp_init_smcp(&options);
  options.msg_lev = GLP_MSG_OFF;
  options.meth = GLP_DUALP;
  CHECK(glp_simplex(lp, &options) == 0 && glp_get_status(lp) == GLP_OPT);
  double value = glp_get_obj_val(lp);
  glp_delete_prob(lp);
  return value;
}

static void compare(lp_draft *d, double gap) {
  berth_i_lp_problem q;
  CHECK_OK(make_problem(d->n, d->p, d->m, d->edge, &q));
  double want = optimum(&q);
  double got = solve(&q, gap);
  CHECK_NEAR(got, want, 1e-7 * want + gap * want);
  free_problem(&q);
}

/* ---- values ---- */

typedef struct golden_case {
  int32_t n, m;
  double p[9];
  lp_edge edge[12];
  double value;
} golden_case;

static lp_draft draft;

TEST("published small cases: 8, 12.5, 18.2, 25.667") {
  static const golden_case cases[] = {
    { 6,
      6,
      { 1, 3, 3, 3, 1, 1 },
      { { 0, 1, 1 }, { 0, 3, 1 }, { 1, 2, 1 }, { 2, 5, 1 }, { 3, 4, 1 }, { 4, 5, 1 } },
      8 },
    { 4, 3, { 5, 4, 7, 4 }, { { 0, 2, 1 }, { 1, 2, 3 }, { 1, 3, 1 } }, 12.5 },
    { 6, 4, { 9, 9, 8, 5, 6, 4 }, { { 0, 2, 2 }, { 1, 2, 3 }, { 1, 3, 1 }, { 4, 5, 3 } }, 18.2 },
    { 9,
      12,
      { 6, 7, 9, 8, 10, 6, 6, 10, 6 },
      { { 0, 2, 1 },
        { 0, 3, 5 },
        { 0, 4, 2 },
        { 1, 2, 1 },
        { 1, 3, 1 },
        { 1, 4, 1 },
        { 2, 5, 5 },
        { 2, 6, 3 },
        { 3, 5, 4 },
        { 3, 6, 1 },
        { 3, 7, 5 },
        { 4, 8, 1 } },
      77.0 / 3 },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const golden_case *g = &cases[k];
    draft = (lp_draft){ .n = g->n, .m = g->m };
    memcpy(draft.p, g->p, sizeof g->p);
    memcpy(draft.edge, g->edge, sizeof g->edge);
    CHECK_NEAR(value_of(&draft, 1e-10), g->value, 1e-8);
  }
}

TEST("no op, one op, ops without edges, a time of nothing") {
  berth_rng rng = seeded(3, 0);
  draft = (lp_draft){ .n = 0 };
  CHECK_NEAR(value_of(&draft, 1e-9), 0, 0);
  draft = (lp_draft){ .n = 1, .p = { 4 } };
  CHECK_NEAR(value_of(&draft, 1e-9), 4, 0);
  draft = (lp_draft){ .n = 3, .p = { 4, 7, 5 } };
  CHECK_NEAR(value_of(&draft, 1e-9), 7, 0);
  draft = (lp_draft){ .n = 2, .m = 1, .edge = { { 0, 1, 0 } } };
  CHECK_NEAR(value_of(&draft, 1e-9), 0, 0);
  CASE("a chain pays for no transfer");
  draft = (lp_draft){ .n = 60 };
  for (int32_t k = 0; k < 60; k++) draft.p[k] = k % 7;
  for (int32_t k = 0; k < 59; k++) draft_edge(&draft, k, k + 1, 100);
  CHECK_NEAR(value_of(&draft, 1e-9), 174, 1e-6);
  CASE("two children share what one favourite saves: c/2 each");
  draft = (lp_draft){ .n = 3, .m = 2, .edge = { { 0, 1, 3 }, { 0, 2, 3 } } };
  CHECK_NEAR(value_of(&draft, 1e-10), 1.5, 1e-9);
  CASE("a fork of 200 like branches: 1 + c (1 - 1/200) + 1; of 1500 the same way");
  draft = (lp_draft){ .n = 201, .p = { 1 } };
  for (int32_t k = 1; k <= 200; k++) {
    draft.p[k] = 1;
    draft_edge(&draft, 0, k, 10);
  }
  CHECK_NEAR(value_of(&draft, 1e-9), 2 + 10 * (1 - 1 / 200.0), 1e-7);
  draft = (lp_draft){ .n = 1501 };
  for (int32_t k = 1; k <= 1500; k++) draft_edge(&draft, 0, k, 10);
  CHECK_NEAR(value_of(&draft, 1e-9), 10 * (1 - 1 / 1500.0), 1e-7);
  CASE("a fork and a join of 200 branches is what an independent solver says");
  draft_fork_join(&draft, &rng, 200);
  compare(&draft, 1e-8);
  CASE("a binary tree is, too");
  draft = (lp_draft){ .n = 255 };
  for (int32_t k = 0; k < draft.n; k++) {
    draft.p[k] = draw_p(&rng, EVEN);
    if (k > 0) draft_edge(&draft, (k - 1) / 2, k, draw_c(&rng, EVEN));
  }
  compare(&draft, 1e-8);
  CASE("and so are two parts that know nothing of each other, one of them slight");
  draft_random(&draft, &rng, 60, 10, 0.3, EVEN);
  for (int32_t k = 30; k < 60; k++) draft.p[k] *= 1e-3;
  for (int32_t k = draft.m - 1; k >= 0; k--) {
    if (draft.edge[k].tail < 30 && draft.edge[k].head >= 30) draft.edge[k] = draft.edge[--draft.m];
  }
  compare(&draft, 1e-8);
}

TEST("random graphs have the value of an independent solver, certified to 1e-8") {
  static const char *const name[] = {
    NULL,
    "with lognormal transfers too",
    "with transfers of ten times the ops too",
    "with times of zero too"
  };
  berth_rng rng = seeded(11, 0);
  for (int32_t taste = EVEN; taste <= GAPPY; taste++) {
    if (taste > EVEN) CASE(name[taste]);
    for (int32_t k = 0; k < 40; k++) {
      draft_random(&draft, &rng, 2 + berth_rng_below(&rng, 40), 1 + berth_rng_below(&rng, 12),
                   between(&rng, 0.05, 0.7), (edge_taste)taste);
      compare(&draft, 1e-8);
    }
    draft_layers(&draft, &rng, 8, 8, 3, (edge_taste)taste);
    compare(&draft, 1e-9);
  }
}

TEST("the value scales with the unit of time") {
  static const double unit[] = { 1e-9, 1e9, 1e-150 };
  static lp_draft other;
  berth_rng rng = seeded(5, 0);
  draft_layers(&draft, &rng, 10, 8, 2, EVEN);
  double want = value_of(&draft, 1e-9);
  for (int32_t k = 0; k < 3; k++) {
    other = draft;
    for (int32_t i = 0; i < draft.n; i++) other.p[i] *= unit[k];
    for (int32_t i = 0; i < draft.m; i++) other.edge[i].c *= unit[k];
    CHECK_NEAR(value_of(&other, 1e-9) / unit[k], want, 1e-8 * want);
  }
  CASE("a gap of 1e-11 can be had on a layered graph; of 0 it stops where rounding begins");
  value_of(&draft, 1e-11);
  {
    berth_i_lp_problem q;
    CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
    berth_i_lp_point pt;
    CHECK_OK(berth_i_lp_point_init(ctx, &q, &pt));
    CHECK_OK(berth_i_lp_interior(&q, -1, 0, false, &pt));
    CHECK(pt.iterations < 100 && fabs(berth_i_lp_gap(&pt)) < 1e-12);
    berth_i_pool_free(&pt.pool);
    free_problem(&q);
  }
}

/* ---- the published operator graphs ---- */

static char *read_all(const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  if (!CHECK(f != NULL)) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *text = malloc((size_t)size + 1);
  *len = fread(text, 1, (size_t)size, f);
  text[*len] = 0;
  fclose(f);
  return text;
}

static double field(const berth_i_json_value *v, const char *key) {
  return berth_i_json_number(berth_i_json_get(v, key));
}

/* Op time max(1, trunc(1000 fpgaLatency)) us, transfer round(1000 cost) us. Edges may go against
 * the order of ids. */
static void draft_operators(lp_draft *d, const berth_i_json *doc) {
  const berth_i_json_value *root = berth_i_json_root(doc);
  enum { IDS = 2100 };
  int32_t rank[IDS] = { 0 }, there[IDS] = { 0 }, changed = 1, n = 0;
  *d = (lp_draft){ .n = 0 };
  for (const berth_i_json_value *v = berth_i_json_first(berth_i_json_get(root, "nodes")); v;
       v = berth_i_json_next(v), n++) {
    if (CHECK(field(v, "id") < IDS)) there[(int32_t)field(v, "id")] = 1;
  }
  for (const berth_i_json_value *v = berth_i_json_first(berth_i_json_get(root, "edges")); v;
       v = berth_i_json_next(v)) {
    draft_edge(d, (int32_t)field(v, "sourceId"), (int32_t)field(v, "destId"),
               round(1000 * field(v, "cost")));
  }
  int32_t k;
  while (changed) {
    for (changed = 0, k = 0; k < d->m; k++) {
      if (rank[d->edge[k].head] > rank[d->edge[k].tail]) continue;
      rank[d->edge[k].head] = rank[d->edge[k].tail] + 1;
      changed = 1;
    }
  }
  int32_t at[IDS];
  for (k = 0; d->n < n; k++) {
    for (int32_t i = 0; i < IDS; i++) {
      if (there[i] && rank[i] == k) at[i] = d->n++;
    }
  }
  for (k = 0; k < d->m; k++) {
    d->edge[k].tail = at[d->edge[k].tail];
    d->edge[k].head = at[d->edge[k].head];
  }
  for (const berth_i_json_value *v = berth_i_json_first(berth_i_json_get(root, "nodes")); v;
       v = berth_i_json_next(v)) {
    d->p[at[(int32_t)field(v, "id")]] = fmax(1, trunc(1000 * field(v, "fpgaLatency")));
  }
}

TEST("operator graphs of published networks to 1e-7") {
  static const struct {
    const char *name;
    double value;
  } graphs[] = { { "bert_l-3_training", 303333.763 }, { "bert_l-6_training", 343931.638 },
                 { "resnet50_training", 984615.574 }, { "bert_l-3_inference", 50507.669 },
                 { "bert_l-6_inference", 79835.669 }, { "bert_l-12_inference", 665213.691 },
                 { "resnet50_inference", 433005.333 } };
  if (!check_shared()) {
    SKIP("no test data");
    return;
  }
  size_t len;
  for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
    berth_i_json *doc = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/data/msr-fiddle/throughput-inputs/OperatorGraphs/%s.json",
             check_shared(), graphs[k].name);
    char *text;
    if (!(text = read_all(path, &len))) continue;
    CHECK_OK(berth_i_json_parse(ctx, path, text, len, &doc));
    draft_operators(&draft, doc);
    CHECK_NEAR(value_of(&draft, 1e-7), graphs[k].value, 1e-6 * graphs[k].value);
    berth_i_json_release(doc);
    free(text);
  }
}
