/* What a search of deployments chooses from: actions, the strategies that they stand for, their
 * values, priors. */
#include "deploy_value_help.h"
#include "refusals.h"

enum { MOST_CHOICES = 2 * MOST_ACTIONS, PROBLEMS = 40 };

/* ---- the space, as the header has it ---- */

typedef struct action_space {
  berth_deploy *d;
  berth_deploy_search_options o;
  int32_t groups, actions, n, base[MOST_CHOICES]; /* n: with those that repeat ops */
} action_space;

static action_space space_of(berth_deploy *d, const berth_deploy_search_options *o) {
  action_space x;
  memset(&x, 0, sizeof x);
  x.d = d;
  x.o = *o;
  x.groups = berth_deploy_groups(d);
  const berth_action *a;
  x.n = x.actions = berth_deploy_actions(d, &a);
  const int32_t *list;
  for (int32_t k = 0; k < x.actions; k++) {
    x.base[k] = k;
    if (o->choose && o->sfb == BERTH_DEPLOY_SFB_LOCAL && a[k].option == BERTH_DEPLOY_ALLREDUCE
        && berth_deploy_set(d, a[k].set, &list) > 1)
      x.base[x.n++] = k;
  }
  return x;
}

static bool base_legal(const action_space *x, int32_t group, int32_t k) {
  return berth_deploy_legal(x->d)[group * x->actions + x->base[k]];
}

static void some_strategy(const action_space *x, int32_t *action) {
  for (int32_t g = 0; g < x->groups; g++)
    for (action[g] = 0; !base_legal(x, g, action[g]);) action[g]++;
}

/* The rule LOCAL repeats an op of the group, if it has the action. */
static bool repeats(const action_space *x, int32_t group, int32_t action) {
  int32_t all[MOST_GROUPS], ops = berth_graph_ops(berth_cost_graph(berth_deploy_cost(x->d)));
  bool any = false;
  some_strategy(x, all);
  all[group] = action;
  uint8_t duplicate[MOST_OPS];
  CHECK_OK(berth_deploy_repeat(x->d, all, BERTH_DEPLOY_SFB_LOCAL, duplicate));
  for (int32_t i = 0; i < ops; i++)
    any = any || (berth_deploy_group(x->d)[i] == group && duplicate[i]);
  return any;
}

static bool is_legal(const action_space *x, int32_t group, int32_t k) {
  return base_legal(x, group, k) && (k < x->actions || repeats(x, group, x->base[k]));
}

static void draw_assignment(const action_space *x, berth_rng *r, int32_t *out) {
  for (int32_t g = 0; g < x->groups; g++)
    do out[g] = berth_rng_below(r, x->n);
    while (!is_legal(x, g, out[g]));
}

static berth_deploy *draw_problem(uint64_t seed, int32_t layers, int32_t groups, int32_t devices) {
  berth_rng r = seeded(seed, 3);
  deploy_setting s = draw_setting(&r);
  layer_row layer[6];
  draw_layers(&r, layers, layer);
  if (groups > 0) s.op_groups = groups;
  if (devices > 0) s.devices = devices;
  return problem(layers, layer, &s);
}

static berth_deploy_search_options options(berth_deploy_sfb rule, int choose) {
  berth_deploy_search_options o = berth_deploy_search_default(0);
  o.sfb = rule;
  o.choose = choose;
  return o;
}

/* ---- actions and strategies ---- */

TEST("each AllReduce once more with repeated ops, legal where the rule repeats any") {
  int32_t more = 0, fewer = 0;
  for (uint64_t seed = 0; seed < PROBLEMS; seed++)
    for (int32_t rule = 0; rule < 6; rule++) {
      berth_deploy *d = draw_problem(seed, 6, 0, 0);
      const berth_deploy_search_options o = options((berth_deploy_sfb)(rule % 3), rule / 3);
      const action_space x = space_of(d, &o);
      CHECK(berth_deploy_search_actions(d, &o) == x.n && (x.n > x.actions) == (rule == 4));
      int32_t a[MOST_GROUPS], action[MOST_GROUPS];
      uint8_t duplicate[MOST_OPS];
      for (int32_t g = 0; g < x.groups; g++)
        for (int32_t k = -1; k <= x.n; k++) {
          const bool fine = k >= 0 && k < x.n && is_legal(&x, g, k);
          some_strategy(&x, a);
          a[g] = k;
          /* these are simulated */
          if (x.n == x.actions && k > 0 && k < x.n && seed % 8 > 0) continue;
          CHECK_STATUS(berth_deploy_strategy(d, &o, a, action, duplicate),
                       fine ? BERTH_OK : BERTH_EINVAL);
          more += fine && k >= x.actions;
          fewer += !fine && k >= x.actions && k < x.n;
        }
      RELEASE(d);
    }
  CHECK(more > 0 && fewer > 0);
}

static void check_strategy(const action_space *x, const int32_t *assignment, const int32_t *action,
                           const uint8_t *duplicate) {
  const int32_t ops = berth_graph_ops(berth_cost_graph(berth_deploy_cost(x->d))),
                *group = berth_deploy_group(x->d);
  uint8_t all[MOST_OPS];
  CHECK_OK(berth_deploy_repeat(x->d, action, BERTH_DEPLOY_SFB_LOCAL, all));
  for (int32_t g = 0; g < x->groups; g++) CHECK(action[g] == x->base[assignment[g]]);
  for (int32_t i = 0; i < ops; i++)
    CHECK(duplicate[i] == (assignment[group[i]] >= x->actions ? all[i] : 0));
}

TEST("an assignment's strategy repeats what the rule says where it is chosen, and leads back to "
     "it") {
  int32_t repeated = 0;
  berth_rng r = seeded(4, 0);
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 6, 0, 0);
    const berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, 1);
    const action_space x = space_of(d, &o);
    for (int32_t k = 0; k < 30; k++) {
      int32_t a[MOST_GROUPS];
      draw_assignment(&x, &r, a);
      int32_t action[MOST_GROUPS];
      uint8_t duplicate[MOST_OPS];
      CHECK_OK(berth_deploy_strategy(d, &o, a, action, duplicate));
      check_strategy(&x, a, action, duplicate);
      int32_t back[MOST_GROUPS];
      CHECK_OK(berth_deploy_assignment(d, &o, action, duplicate, back));
      CHECK(memcmp(a, back, (size_t)x.groups * sizeof *a) == 0);
      for (int32_t g = 0; g < x.groups; g++) repeated += a[g] >= x.actions;
    }
    RELEASE(d);
  }
  CHECK(repeated > 100);
}

/* PS where it is illegal is the AllReduce of the same set and shares. */
static int32_t instead(const action_space *x, int32_t group, int32_t k) {
  const berth_action *a;
  int32_t b = 0;
  berth_deploy_actions(x->d, &a);
  if (base_legal(x, group, k)) return k;
  if (a[k].option != BERTH_DEPLOY_PS) return BERTH_NONE;
  while (b < x->actions
         && (a[b].set != a[k].set || a[b].option != BERTH_DEPLOY_ALLREDUCE
             || a[b].shares != a[k].shares))
    b++;
  return b < x->actions && base_legal(x, group, b) ? b : BERTH_NONE;
}

static void check_nearest(const action_space *x, berth_rng *r, const int32_t *action) {
  const int32_t ops = berth_graph_ops(berth_cost_graph(berth_deploy_cost(x->d)));
  uint8_t marked[MOST_GROUPS] = { 0 };
  int32_t extra[MOST_ACTIONS];
  for (int32_t k = x->actions; k < x->n; k++) extra[x->base[k]] = k;
  uint8_t duplicate[MOST_OPS];
  for (int32_t i = 0; i < ops; i++)
    if ((duplicate[i] = berth_rng_below(r, 5) == 0)) marked[berth_deploy_group(x->d)[i]] = 1;
  int32_t out[MOST_GROUPS];
  CHECK_OK(berth_deploy_assignment(x->d, &x->o, action, duplicate, out));
  int32_t none[MOST_GROUPS];
  CHECK_OK(berth_deploy_assignment(x->d, &x->o, action, NULL, none));
  for (int32_t g = 0; g < x->groups; g++) {
    const int32_t a = instead(x, g, action[g]);
    const berth_action *list;
    berth_deploy_actions(x->d, &list);
    const int32_t *devices;
    bool twice = marked[g] && list[a].option == BERTH_DEPLOY_ALLREDUCE
                 && berth_deploy_set(x->d, list[a].set, &devices) > 1 && repeats(x, g, a);
    CHECK(none[g] == a && out[g] == (twice ? extra[a] : a));
  }
}

TEST("strategies at random: what stands for illegal actions, all that the rule repeats or "
     "nothing") {
  int32_t moved = 0;
  berth_rng r = seeded(5, 0);
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    berth_deploy *d = draw_problem(seed, 6, 0, 0);
    const berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, 1);
    const action_space x = space_of(d, &o);
    for (int32_t k = 0; k < 30; k++) {
      int32_t a[MOST_GROUPS];
      for (int32_t g = 0; g < x.groups; g++) {
        do a[g] = berth_rng_below(&r, x.actions);
        while (instead(&x, g, a[g]) == BERTH_NONE);
        moved += !base_legal(&x, g, a[g]);
      }
      check_nearest(&x, &r, a);
    }
    RELEASE(d);
  }
  CHECK(moved > 0);
}

/* ---- values ---- */

static void check_found(berth_deploy *d, const berth_deploy_search_options *o) {
  berth_decider *s = must_deploy_decider(d, o);
  CHECK(berth_decider_actions(s) == berth_deploy_search_actions(d, o));
  CHECK_OK(berth_decider_search(s, 40, 0));
  int32_t a[MOST_GROUPS];
  berth_decide_report r = must_decider_best(s, a);
  int32_t action[MOST_GROUPS];
  uint8_t duplicate[MOST_OPS];
  CHECK_OK(berth_deploy_strategy(d, o, a, action, duplicate));
  berth_deploy_value v = value_of(d, action, duplicate, NULL);
  CHECK(v.seconds == r.value && v.over == 0 && r.value <= r.start);
}

TEST("what a search finds is worth what the simulation says, to the bit") {
  for (uint64_t seed = 0; seed < 12; seed++)
    for (int32_t k = 0; k < 8; k++) {
      berth_deploy *d = draw_problem(seed, 5, 0, 0);
      berth_deploy_search_options o = options((berth_deploy_sfb)(k % 3), k != 3);
      o.decide.method = (berth_decide_method)(seed % 4);
      o.steps = k % 2;
      o.baselines = k / 4;
      check_found(d, &o);
    }
}

/* ---- enumeration ---- */

static double seconds_of(const action_space *x, const int32_t *assignment, const uint8_t *all) {
  int32_t action[MOST_GROUPS];
  uint8_t duplicate[MOST_OPS];
  CHECK_OK(berth_deploy_strategy(x->d, &x->o, assignment, action, duplicate));
  return value_of(x->d, action, all ? all : duplicate, NULL).seconds;
}

/* The best of all; and of those that repeat all or none of what the rule says. */
static double least(const action_space *x, int64_t *count, double *all_or_none) {
  int32_t a[MOST_GROUPS] = { 0 }, i = 0;
  double best = *all_or_none = INFINITY;
  for (*count = 0; i >= 0;) {
    bool legal = true, plain = true;
    for (i = 0; i < x->groups; i++) legal = legal && is_legal(x, i, a[i]);
    for (i = 0; i < x->groups; i++) plain = plain && a[i] < x->actions;
    if (legal) {
      best = fmin(best, seconds_of(x, a, NULL));
      ++*count;
    }
    if (legal && plain) {
      uint8_t all[MOST_OPS];
      CHECK_OK(berth_deploy_repeat(x->d, a, BERTH_DEPLOY_SFB_LOCAL, all));
      *all_or_none = fmin(*all_or_none, fmin(seconds_of(x, a, NULL), seconds_of(x, a, all)));
    }
    for (i = x->groups - 1; i >= 0 && ++a[i] == x->n; i--) a[i] = 0;
  }
  return best;
}

/* @return by how much of all or none the best is better */
static double check_best(berth_deploy *d) {
  const berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, 1);
  const action_space x = space_of(d, &o);
  int64_t count;
  double all_or_none, best = least(&x, &count, &all_or_none);
  berth_decider *s = must_deploy_decider(d, &o);
  CHECK_OK(berth_decider_search(s, 2 * count, 0));
  berth_decide_report r = must_decider_best(s, NULL);
  CHECK(r.value == best && r.evaluations <= count && best <= all_or_none);
  RELEASE(s);
  return 1 - best / all_or_none;
}

TEST("small problems: the best of all, at least as good as all or none") {
  for (uint64_t seed = 0; seed < 15; seed++) {
    berth_deploy *d = draw_problem(seed, 3, 3, 2);
    check_best(d);
  }
}

/* The AllReduce of the last layer goes on beside the backward ops of the long one before it: to
 * repeat its op only costs time. That of the first has nothing beside it. By itself each pays. */
TEST("where it pays for one op group and not for another, some is better than all and none") {
  static const int32_t at[] = { 0, 4 }, devices[] = { 0, 1, 2, 3 };
  static const layer_row layer[] = { { 2e-3, 1e4, 4e6 }, { 40e-3, 1e4, 10 }, { 2e-3, 1e4, 1.2e7 } };
  deploy_setting s = setting(4, 16, 4);
  s.o.n_sets = 1;
  s.o.set_at = at;
  s.o.set_device = devices;
  berth_deploy *d;
  if (!(d = problem(3, layer, &s))) return;
  CHECK(check_best(d) > 0.01);
}

/* ---- a prior of one's own ---- */

typedef struct value_watch {
  berth_deploy *d;
  int32_t leaves, wrong, fail;
} value_watch;

static berth_status watch(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  value_watch *w = ud;
  const int32_t n = berth_deploy_actions(w->d, NULL), groups = berth_deploy_groups(w->d);
  const uint8_t *legal = berth_deploy_legal(w->d);
  for (int32_t j = 0; j < k; j++, w->leaves++) {
    for (int32_t g = 0; g < groups; g++) {
      const int32_t a = leaf[j].assignment[g];
      w->wrong += a < 0 || a >= n || !legal[g * n + a];
    }
    for (int32_t a = 0; a < n; a++) {
      w->wrong += p[j * n + a] != 0;
      p[j * n + a] = 1 + a % 3;
    }
  }
  return w->fail ? BERTH_ECALLBACK : BERTH_OK;
}

/* In steps: of actions whose choices were all met. */
static void check_halves(berth_decider *s, const action_space *x) {
  double weight[MOST_CHOICES] = { 0 }, sum = 0;
  for (int32_t k = 0; k < x->n; k++)
    if (base_legal(x, 0, k) && k < x->actions) sum += weight[k] = 1 + k % 3;
  for (int32_t k = x->actions; k < x->n; k++)
    if (is_legal(x, 0, k)) weight[k] = weight[x->base[k]] /= 2;
  for (int32_t k = 0; k < x->n; k++) {
    if (!is_legal(x, 0, k)) continue;
    berth_decide_node node;
    CHECK_OK(berth_decider_node(s, 1, &k, &node));
    if (!x->o.steps || node.visits > 0) CHECK_NEAR(node.prior, weight[k] / sum, 1e-12);
  }
}

TEST("a prior of one's own sees strategies; half of its weight is for repeated ops") {
  for (uint64_t seed = 0; seed < PROBLEMS; seed++)
    for (int32_t batch = 1; batch < 8; batch += 3) {
      berth_deploy *d = draw_problem(seed, 6, 0, 0);
      value_watch w = { d, 0, 0, 0 };
      berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, batch != 4);
      o.prior = BERTH_DEPLOY_PRIOR_OWN;
      o.own = watch;
      o.ud = &w;
      o.steps = seed % 2;
      o.decide.batch = batch;
      action_space x = space_of(d, &o);
      berth_decider *s = must_deploy_decider(d, &o);
      CHECK_OK(berth_decider_run(s, 20));
      check_halves(s, &x);
      CHECK_OK(berth_decider_search(s, 60, 0));
      CHECK(w.leaves > 0 && w.wrong == 0);
      RELEASE(s);
      w.fail = 1;
      s = must_deploy_decider(d, &o);
      CHECK_STATUS(berth_decider_search(s, 60, 0), BERTH_ECALLBACK);
      RELEASE(s, d);
    }
}

/* ---- refusals ---- */

TEST("a wrong assignment or strategy is reported") {
  const berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, 1);
  berth_deploy *d = draw_problem(2, 4, 3, 3);
  int32_t a[MOST_GROUPS] = { 0 };
  a[1] = berth_deploy_search_actions(d, &o);
  int32_t action[MOST_GROUPS];
  uint8_t duplicate[MOST_OPS];
  CHECK_SAYS(berth_deploy_strategy(d, &o, a, action, duplicate), BERTH_EINVAL,
             "op group 1: action");
  CHECK_STATUS(berth_deploy_assignment(d, &o, a, NULL, action), BERTH_EINVAL);
  a[1] = -1;
  CHECK_STATUS(berth_deploy_assignment(d, &o, a, NULL, action), BERTH_EINVAL);
}

static berth_status search_by(berth_deploy *d, berth_deploy_search_options o,
                              const int32_t *start) {
  value_watch w = { d, 0, 0, 0 };
  berth_decider *s = NULL;
  o.prior = BERTH_DEPLOY_PRIOR_OWN;
  o.own = watch;
  o.ud = &w;
  o.start = start;
  o.n_starts = 1;
  berth_status st = berth_deploy_decider(d, &o, &s);
  TRY(st, berth_decider_search(s, 10, 0));
  RELEASE(s);
  return st;
}

static berth_status work(void) {
  static const layer_row layer[] = { { 2e-3, 1e4, 4e6 }, { 2e-3, 1e4, 4e6 } };
  const berth_deploy_search_options o = options(BERTH_DEPLOY_SFB_LOCAL, 1);
  deploy_setting s = setting(2, 8, 2);
  berth_graph *g = chain_of(2, layer);
  berth_deploy *d = NULL;
  uint8_t all[MOST_OPS];
  berth_status st = g ? problem_of(g, &s, &d) : BERTH_ENOMEM;
  memset(all, 1, sizeof all);
  int32_t a[MOST_GROUPS], action[MOST_GROUPS];
  if (st == BERTH_OK) {
    uniform(d, find_action(d, 2, 0, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), action);
    st = berth_deploy_assignment(d, &o, action, all, a);
  }
  uint8_t duplicate[MOST_OPS];
  TRY(st, berth_deploy_strategy(d, &o, a, action, duplicate));
  TRY(st, search_by(d, o, a));
  RELEASE(d, g);
  return st;
}

TEST_REFUSALS(work)
