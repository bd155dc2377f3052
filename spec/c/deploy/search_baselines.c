/* Searches of deployments that begin with strategies of others: baselines that the problem keeps,
 * starts, what exceeds memory. */
#include "deploy_value_help.h"
#include "refusals.h"

enum { LAYERS = 6, PROBLEMS = 12 };

/* memory: of each device, in parts of three times all weights; 0: any amount */
static berth_deploy *draw_problem(uint64_t seed, double memory) {
  double sum = 0;
  berth_rng r = seeded(seed, 3);
  deploy_setting s = draw_setting(&r);
  s.op_groups = 4;
  layer_row layer[LAYERS];
  draw_layers(&r, LAYERS, layer);
  for (int32_t l = 0; l < LAYERS; l++) sum += 3 * layer[l].weights;
  for (int32_t k = 0; k < s.devices && memory > 0; k++) s.memory[k] = memory * sum;
  return problem(LAYERS, layer, &s);
}

/* Strategies that a search with this rule can tell apart. */
static bool counts(const berth_deploy_list *l, int32_t k, berth_deploy_sfb rule) {
  return rule != BERTH_DEPLOY_SFB_NONE || berth_deploy_list_rule(l, k) == BERTH_DEPLOY_SFB_NONE;
}

static double best_baseline(const berth_deploy_list *l, berth_deploy_sfb rule) {
  double best = INFINITY;
  for (int32_t k = 0; k < berth_deploy_list_size(l); k++) {
    const berth_deploy_value *v = berth_deploy_list_value(l, k);
    if (counts(l, k, rule) && v->over == 0) best = fmin(best, v->seconds);
  }
  return best;
}

static berth_deploy_search_options with_baselines(berth_deploy_sfb rule, int choose) {
  berth_deploy_search_options o = berth_deploy_search_default(0);
  o.sfb = rule;
  o.choose = choose;
  o.baselines = 1;
  return o;
}

/* ---- kept ---- */

TEST("the problem keeps its baselines: the same again, without another simulation") {
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 0);
    berth_deploy_list *l[2];
    int64_t spent = berth_deploy_evaluations(d);
    l[0] = must_deploy_baselines(d);
    CHECK(berth_deploy_evaluations(d) > spent);
    spent = berth_deploy_evaluations(d);
    l[1] = must_deploy_baselines(d);
    CHECK(berth_deploy_evaluations(d) == spent);
    RELEASE(l[0]);
    RELEASE(d); /* the list holds it */
    CHECK_TEXT(berth_deploy_list_name(l[1], 0), "dp");
    CHECK(berth_deploy_list_name(l[1], berth_deploy_list_size(l[1])) == NULL);
    RELEASE(l[1]);
  }
}

/* Asks the problem that is at work: for its baselines, or for a search. */
typedef struct meddler {
  berth_deploy *d;
  int calls, asking;
} meddler;

static int meddle(void *ud) {
  meddler *x = ud;
  if (!x->d || x->asking || x->calls++ > 20) return 0;
  x->asking = 1;
  berth_deploy_list *l = must_deploy_baselines(x->d);
  RELEASE(l);
  berth_decider *s = must_deploy_decider(x->d, NULL);
  CHECK_OK(berth_decider_search(s, 5, 0));
  RELEASE(s);
  x->asking = 0;
  return 0;
}

TEST("hooks may ask the problem that is at work: the same values") {
  meddler x = { NULL, 0, 0 };
  const berth_hooks h = { NULL, NULL, NULL, meddle, NULL, &x };
  hooked(&h);
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d[2] = { draw_problem(seed, 0), draw_problem(seed, 0) };
    x = (meddler){ d[1], 0, 0 };
    berth_deploy_list *l[2];
    for (int k = 0; k < 2; k++) CHECK_OK(berth_deploy_baselines(d[k], &l[k]));
    CHECK(x.calls > 0 && berth_deploy_list_size(l[0]) == berth_deploy_list_size(l[1]));
    for (int32_t k = 0; k < berth_deploy_list_size(l[0]); k++)
      CHECK(berth_deploy_list_value(l[0], k)->seconds == berth_deploy_list_value(l[1], k)->seconds);
    x.d = NULL;
    for (int k = 0; k < 2; k++) RELEASE(l[k], d[k]);
  }
  hooked(NULL);
}

/* ---- searches that begin with them ---- */

static void check_begun(berth_deploy *d, const berth_deploy_list *l,
                        const berth_deploy_search_options *o) {
  const int64_t before = berth_deploy_evaluations(d);
  const double best = best_baseline(l, o->sfb);
  berth_decider *s = must_deploy_decider(d, o);
  CHECK(berth_deploy_evaluations(d) == before);
  CHECK_OK(berth_decider_search(s, 1, 0));
  CHECK(berth_deploy_evaluations(d) == before + 1);
  CHECK_OK(berth_decider_search(s, 19, 0));
  berth_decide_report r = must_decider_best(s, NULL);
  CHECK(berth_deploy_evaluations(d) == before + 20 && r.evaluations == 20);
  CHECK(r.start == best && r.value <= best);
}

TEST("baselines are known: not valued again, the best of them is the start, nothing found is "
     "worse") {
  for (uint64_t seed = 0; seed < PROBLEMS; seed++)
    for (int32_t k = 0; k < 3; k++) {
      berth_deploy *d = draw_problem(seed, 0);
      berth_deploy_search_options o =
          with_baselines(k == 2 ? BERTH_DEPLOY_SFB_LOCAL : BERTH_DEPLOY_SFB_NONE, k != 1);
      o.decide.method = (berth_decide_method)(seed % 4);
      berth_deploy_list *l = must_deploy_baselines(d);
      check_begun(d, l, &o);
      RELEASE(l, d);
    }
}

TEST("where a rule holds for whole strategies three of them are valued again, and nothing found "
     "is worse than any") {
  int32_t repeated = 0;
  for (uint64_t seed = 0; seed < PROBLEMS; seed++)
    for (int32_t k = 0; k < 3; k++) {
      berth_deploy *d = draw_problem(seed, 0);
      const berth_deploy_search_options o =
          with_baselines(k ? BERTH_DEPLOY_SFB_CUT : BERTH_DEPLOY_SFB_LOCAL, k == 2);
      berth_deploy_list *l = must_deploy_baselines(d);
      berth_decider *s = must_deploy_decider(d, &o);
      CHECK_OK(berth_decider_search(s, 3, 0));
      berth_decide_report r = must_decider_best(s, NULL);
      CHECK(r.evaluations <= 3 && r.value <= best_baseline(l, BERTH_DEPLOY_SFB_NONE));
      if (k == 0) CHECK(r.value <= best_baseline(l, BERTH_DEPLOY_SFB_LOCAL));
      repeated +=
          best_baseline(l, BERTH_DEPLOY_SFB_LOCAL) < best_baseline(l, BERTH_DEPLOY_SFB_NONE);
      RELEASE(s, l, d);
    }
  CHECK(repeated > 0);
}

TEST("starts that are given are valued, the baselines besides") {
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 0);
    berth_deploy_search_options o = with_baselines(BERTH_DEPLOY_SFB_LOCAL, 1), plain = o;
    plain.baselines = 0;
    berth_decider *s = must_deploy_decider(d, &plain);
    CHECK_OK(berth_decider_search(s, 60, 0));
    int32_t start[MOST_GROUPS];
    berth_decide_report found = must_decider_best(s, start);
    RELEASE(s);
    o.n_starts = 1;
    o.start = start;
    s = must_deploy_decider(d, &o);
    memset(start, -1, sizeof start); /* copied */
    CHECK_OK(berth_decider_search(s, 1, 0));
    berth_decide_report r = must_decider_best(s, NULL);
    CHECK(r.evaluations == 1 && r.start <= found.value && r.value <= found.value);
    RELEASE(s, d);
  }
}

/* ---- memory ---- */

static void check_excess(berth_deploy *d, const int32_t *action) {
  const berth_topology *t = berth_cost_topology(berth_deploy_cost(d));
  double peak[MOST_DEVICES], excess = 0;
  const berth_deploy_value v = value_of(d, action, NULL, peak);
  for (int32_t k = 0; k < berth_topology_devices(t); k++) {
    berth_device device = must_topology_device(t, k);
    if (peak[k] > device.memory) excess += peak[k] / device.memory - 1;
  }
  CHECK_NEAR(v.excess, excess, 1e-9 * (1 + excess));
  CHECK((v.excess > 0) == (v.over > 0));
}

TEST("excess: what devices lack, in parts of their memory, added up") {
  int32_t over = 0;
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 0.4);
    berth_deploy_list *l = must_deploy_baselines(d);
    for (int32_t k = 0; k < berth_deploy_list_size(l); k++) {
      check_excess(d, berth_deploy_list_action(l, k));
      over += berth_deploy_list_value(l, k)->over;
    }
    RELEASE(l, d);
  }
  CHECK(over > 0);
}

TEST("where no baseline fits the search has not more excess than the one of least") {
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 0.02);
    const berth_deploy_search_options o = with_baselines(BERTH_DEPLOY_SFB_LOCAL, 1);
    berth_decide_report r = { 0, 0, 0, 0, 0, 0, 0 };
    double least = INFINITY;
    berth_deploy_list *l = must_deploy_baselines(d);
    for (int32_t k = 0; k < berth_deploy_list_size(l); k++)
      least = fmin(least, berth_deploy_list_value(l, k)->excess);
    berth_decider *s = must_deploy_decider(d, &o);
    CHECK_OK(berth_decider_search(s, 5, 0));
    CHECK_STATUS(berth_decider_best(s, NULL, &r), least > 0 ? BERTH_EINFEASIBLE : BERTH_OK);
    CHECK(r.excess <= least && (least == 0 || (isinf(r.start) && r.excess > 0)));
    RELEASE(s, l, d);
  }
}

/* ---- refusals ---- */

static berth_status work(void) {
  static const layer_row layer[] = { { 2e-3, 1e4, 4e6 }, { 2e-3, 1e4, 4e6 } };
  static const int32_t at[] = { 0, 2 }, devices[] = { 0, 1 };
  berth_deploy_search_options o = with_baselines(BERTH_DEPLOY_SFB_LOCAL, 1);
  deploy_setting s = setting(2, 8, 2);
  berth_graph *g = chain_of(2, layer);
  berth_deploy *d = NULL;
  berth_decider *search = NULL;
  s.o.n_sets = 1;
  s.o.set_at = at;
  s.o.set_device = devices;
  berth_status st = g ? problem_of(g, &s, &d) : BERTH_ENOMEM;
  TRY(st, berth_deploy_decider(d, &o, &search));
  TRY(st, berth_decider_search(search, 10, 0));
  RELEASE(search, d, g);
  return st;
}

TEST_REFUSALS(work)
