/* Guarantees of placers: by hand, and against what placers do on small random problems. */
#include "place/place_search.h"
#include "refusals.h"

enum { ETF, ETF_SECONDS, ETF_MEMORY, ETF_MEMORY_SECONDS, SCT_UNLIMITED, SCT, SCT_MEMORY };

static berth_guarantees proved(const problem *p, const berth_guarantee_options *o) {
  made m = problem_make(p);
  berth_guarantees k = { 0 };
  CHECK_OK(berth_guarantees_compute(m.c, o, &k));
  unmake(&m);
  return k;
}

/* ---- guarantees by hand ---- */

static berth_guarantee_options total(void) {
  berth_guarantee_options o = berth_guarantee_default(NULL);
  o.gap = 1e-9;
  return o;
}

TEST("rho 1, path rho 1/2 on 4 devices: 5/2 - 1/4, 7/3 - 1/3; unlimited 4/3") {
  berth_guarantee_options o = total();
  problem p;
  join_of(&p, 3, 4, 1);
  berth_guarantees k = proved(&p, &o);
  CHECK_NEAR(k.rho, 1, 0);
  CHECK_NEAR(k.path_rho, 0.5, 0);
  CHECK(k.devices == 4 && k.closed == 0 && isnan(k.achieved));
  CHECK_NEAR(k.of[ETF].ratio, 2.25, 1e-12);
  CHECK_NEAR(k.of[ETF_MEMORY].ratio, 2.25, 1e-12);
  CHECK_NEAR(k.of[SCT].ratio, 7.0 / 3 - 1.0 / 3, 1e-8);
  CHECK_NEAR(k.of[SCT_MEMORY].ratio, 2, 1e-8);
  CHECK_NEAR(k.of[SCT_UNLIMITED].ratio, 4.0 / 3, 1e-8);
  CHECK_NEAR(k.of[ETF_SECONDS].limit, 4.0 / 4 + 2 * 0.75 + 1, 1e-12);
  CHECK(isinf(k.of[ETF_SECONDS].ratio));
  for (int i = 0; i < BERTH_GUARANTEES; i++) CHECK(k.of[i].valid && !*k.of[i].why);

  CASE("another tau, a gap, a bound and a makespan");
  o.tau = 0.1, o.gap = 0.01, o.best = 2, o.makespan = 3;
  k = proved(&p, &o);
  CHECK_NEAR(k.of[SCT_UNLIMITED].ratio, 2 / 1.1 * 1.01, 1e-12);
  CHECK_NEAR(k.of[ETF_SECONDS].ratio, 1.75, 1e-12);
  CHECK_NEAR(k.achieved, 1.5, 1e-12);

  CASE("memory that may close one of three devices");
  join_of(&p, 4, 3, 1);
  o = total();
  for (int32_t i = 0; i < 5; i++) p.param[i] = 1;
  for (int32_t d = 0; d < 3; d++) p.memory[d] = 4; /* D = 5 < 2 (4 - 1) */
  k = proved(&p, &o);
  CHECK(k.closed == 1 && !k.of[ETF].valid && k.of[ETF_MEMORY].valid
        && k.of[ETF_MEMORY_SECONDS].valid);
  CHECK_NEAR(k.of[ETF_MEMORY].ratio, 3.0 / 2 + 1.5 - 0.5, 1e-12);
  CHECK_NEAR(k.of[ETF_MEMORY_SECONDS].limit, 5.0 / 2 + 2 * 0.5 + 1, 1e-12);
  CHECK(!k.of[SCT].valid && !k.of[SCT_MEMORY].valid && strstr(k.of[SCT_MEMORY].why, "favourites"));
  CHECK_NEAR(k.of[SCT_MEMORY].ratio, 1.5 + 0.5 * 4 / 3, 1e-8);
  CHECK(strstr(k.of[ETF].why, "memory may run short on 1 of 3 devices"));
  o.memory = BERTH_MEMORY_NONE;
  CHECK(proved(&p, &o).closed == 0);
  o.memory = BERTH_MEMORY_TOTAL, o.param_multiple = 3; /* an op fills 3 of 4: none is sure */
  k = proved(&p, &o);
  CHECK(k.closed == 3 && !k.of[ETF_MEMORY].valid && isinf(k.of[ETF_MEMORY].ratio)
        && isinf(k.of[ETF_MEMORY_SECONDS].limit));

  CASE("one device: transfers do not count");
  join_of(&p, 3, 1, 7);
  o = total();
  k = proved(&p, &o);
  CHECK(k.rho == 0 && k.of[ETF].valid && k.of[SCT].valid);
  CHECK_NEAR(k.of[ETF].ratio, 1, 1e-12);
  CHECK_NEAR(k.of[ETF_SECONDS].limit, 4, 1e-12);
}

static void denied(const problem *p, const berth_guarantee_options *o, int which, const char *why) {
  berth_guarantees k = proved(p, o);
  CHECK(!k.of[which].valid);
  if (!CHECK(strstr(k.of[which].why, why) != NULL)) printf("# \"%s\"\n", k.of[which].why);
}

TEST("why a guarantee does not hold") {
  berth_guarantee_options o = total();
  problem p;
  join_of(&p, 3, 4, 1);
  o.links = BERTH_LINKS_DUPLEX;
  denied(&p, &o, ETF_SECONDS, "links duplex");
  o = total();
  join_of(&p, 3, 4, 3);
  denied(&p, &o, SCT, "rho is 3, above 1");
  CHECK(proved(&p, &o).of[ETF].valid);
  join_of(&p, 3, 2, 1);
  denied(&p, &o, SCT_UNLIMITED, "fewer devices than ops");
  p.time[0][0] = p.time[0][1] = 0;
  denied(&p, &o, SCT, "1 op without time: rho is infinite");
  CHECK(isinf(proved(&p, &o).rho) && isinf(proved(&p, &o).of[SCT].ratio));
  CHECK(proved(&p, &o).of[ETF].valid && proved(&p, &o).of[ETF_SECONDS].valid);
  CHECK_NEAR(proved(&p, &o).path_rho, 1, 0); /* from the op without time into the join */
  CHECK_NEAR(proved(&p, &o).of[ETF].ratio, 2.5, 1e-12);
  p.time[3][0] = p.time[3][1] = 0;
  denied(&p, &o, ETF, "a transfer between ops without time: rho is infinite on a path");
  CHECK(isinf(proved(&p, &o).path_rho) && isinf(proved(&p, &o).of[ETF].ratio)
        && proved(&p, &o).of[ETF_SECONDS].valid);
  p.time[3][0] = p.time[3][1] = 1;
  p.time[0][0] = p.time[0][1] = 1, p.time[1][1] = 2;
  denied(&p, &o, ETF, "1 op whose time depends on the device");
  p.time[1][1] = 1, p.pin[2] = 1;
  denied(&p, &o, ETF_MEMORY_SECONDS, "1 op pinned");
  p.pin[2] = BERTH_NONE, p.group[0] = 0;
  CHECK(proved(&p, &o).of[ETF].valid); /* alone in it */
  p.group[1] = p.group[2] = 0;
  denied(&p, &o, ETF, "3 ops in colocation groups");
  p.group[0] = p.group[1] = p.group[2] = BERTH_NONE;
  problem_edges(&p, "0>3:1");
  denied(&p, &o, SCT, "1 pair of ops with several tensors");
  p.pin[1] = 1;
  o.links = BERTH_LINKS_PAIR;
  denied(&p, &o, SCT_UNLIMITED,
         "1 op pinned to a device; links pair: transfers wait for one another; 1 pair of ops with "
         "several tensors, whose times the program adds up; there are fewer devices than ops");
}

/* All paths of a small graph, one after another. */
static double path_rho_by_hand(const problem *p, int32_t op, double cross, double work) {
  double most = 0;
  work += p->time[op][0];
  if (cross > 0) most = work > 0 ? cross / work : INFINITY;
  for (int32_t e = 0; e < p->edges; e++) {
    if (p->src[e] == op)
      most = fmax(most, path_rho_by_hand(p, p->dst[e], cross + p->bytes[e] / p->bandwidth, work));
  }
  return most;
}

static void random_alike(problem *p, berth_rng *rng, int small);

TEST("the largest share of transfers on a path: against all paths") {
  berth_guarantee_options o = total();
  int infinite = 0, sharper = 0;
  berth_rng rng = seeded(5, 0);
  for (int i = 0; i < 400 && !check_bad; i++) {
    problem p;
    double most = 0;
    random_alike(&p, &rng, i % 2);
    for (int32_t op = 0; op < p.ops; op++) most = fmax(most, path_rho_by_hand(&p, op, 0, 0));
    berth_guarantees k = proved(&p, &o);
    CHECK(isinf(most) ? isinf(k.path_rho) : fabs(k.path_rho - most) <= 1e-12 * most);
    CHECK(k.path_rho <= k.rho);
    infinite += isinf(most);
    sharper += isinf(k.rho) && !isinf(most);
  }
  if (!CHECK(infinite > 10 && sharper > 10))
    printf("# %d infinite, %d sharper\n", infinite, sharper);
}

TEST("uneven links: the largest time counts; it is above that of the linear program") {
  berth_guarantee_options o = total();
  problem p;
  join_of(&p, 3, 1, 6);
  made m = problem_make(&p);
  berth_topology *t = must_topology_of_text("1:t0 1:t0 1:t0 0-1:6 0-2:3");
  berth_cost *c = must_cost_new(m.g, t, NULL);
  berth_guarantees k;
  CHECK_OK(berth_guarantees_compute(c, &o, &k));
  CHECK_NEAR(k.rho, 2, 0);
  CHECK(k.of[ETF].valid && !k.of[SCT].valid && strstr(k.of[SCT].why, "rho is 2"));
}

TEST("wrong options") {
  berth_guarantees k = { 0 };
  problem p;
  join_of(&p, 3, 2, 1);
  made m = problem_make(&p);
  k.devices = -7;
  for (int i = 0; i < 12; i++) {
    berth_guarantee_options o = berth_guarantee_default(m.g);
    if (i == 0) o.memory = (berth_memory_policy)9;
    if (i == 1) o.links = (berth_links)-1;
    if (i == 2 || i == 3) o.param_multiple = i == 2 ? -1 : INFINITY;
    if (i == 4 || i == 5) o.tau = i == 4 ? -0.1 : 1.1;
    if (i == 6) o.tau = NAN;
    if (i == 7 || i == 8) o.gap = i == 7 ? 0 : NAN;
    if (i == 9) o.best = -1;
    if (i > 9) o.makespan = i == 10 ? -1 : INFINITY;
    CHECK_STATUS(berth_guarantees_compute(m.c, &o, &k), BERTH_EINVAL);
    CHECK(strstr(berth_errmsg(ctx), "option ") == berth_errmsg(ctx) && k.devices == -7);
  }
}

/* ---- guarantees against what placers do ---- */

typedef struct tally {
  int placed, valid[BERTH_GUARANTEES];
  double worst[BERTH_GUARANTEES];
} tally;

static int has_placer(const char *name) { return berth_placer_find(name) != NULL; }

static int is_for(const berth_guarantee *k, const char *placer) {
  const char *at = strstr(k->placers, placer);
  size_t n = strlen(placer);
  while (at && !((at == k->placers || at[-1] == ' ') && (at[n] == ',' || !at[n])))
    at = strstr(at + 1, placer);
  return at != NULL;
}

static void check_placer(const made *m, const char *placer, const berth_place_options *o,
                         const berth_guarantees *k, double best, tally *sum) {
  berth_placement *p = NULL;
  berth_status st = berth_place(m->c, placer, o, &p, NULL);
  double makespan = p ? berth_placement_estimate(p) : INFINITY;
  for (int i = 0; i < BERTH_GUARANTEES; i++) {
    const berth_guarantee *q = &k->of[i];
    if (!q->valid || !is_for(q, placer)) continue;
    CHECK_OK(st);
    sum->valid[i]++;
    if (best > 0)
      sum->worst[i] =
          fmax(sum->worst[i], makespan / (isinf(q->limit) ? q->ratio * best : q->limit));
    if (CHECK(makespan <= q->limit * (1 + 1e-9)
              && (isinf(q->ratio) || makespan <= q->ratio * best * (1 + 1e-9))))
      continue;
    printf("# %s of %s: %g, but limit %g, ratio %g, optimum %g\n", q->name, placer, makespan,
           q->limit, q->ratio, best);
  }
  sum->placed += st == BERTH_OK;
  RELEASE(p);
}

/* Small transfers or large ones, one in four with ops of no time. */
static void random_alike(problem *p, berth_rng *rng, int small) {
  int32_t none = berth_rng_below(rng, 4) == 0;
  problem_clear(p, 3 + berth_rng_below(rng, 4), 2 + berth_rng_below(rng, 2));
  p->bandwidth = 1;
  for (int32_t i = 0; i < p->ops; i++) {
    double t = (small ? 4 : 1) + berth_rng_below(rng, 5);
    if (!small && none && berth_rng_below(rng, 3) == 0) t = 0;
    for (int32_t d = 0; d < p->devices; d++) p->time[i][d] = t;
  }
  if (small) { /* one tensor a pair */
    for (int32_t i = 1; i < p->ops; i++) {
      for (int32_t d = 0; d < i; d++) {
        if (berth_rng_below(rng, 2) == 0) problem_edge(p, d, i, 1 + berth_rng_below(rng, 4));
      }
    }
  } else {
    add_edges(p, rng, 12);
  }
}

static void limit_memory(problem *p, berth_rng *rng) {
  double sum = 0;
  p->resident = berth_rng_below(rng, 2);
  for (int32_t i = 0; i < p->ops; i++) {
    sum += p->param[i] = 1 + berth_rng_below(rng, 3);
    p->workspace[i] = berth_rng_below(rng, 3) == 0;
  }
  for (int32_t i = 0; i < p->edges; i++) sum += p->resident ? 2 * p->bytes[i] : 0;
  for (int32_t i = 0; i < p->devices; i++)
    p->memory[i] = floor(sum * (0.5 + berth_rng_uniform(rng)));
}

static void check_all_placers(const problem *p, berth_memory_policy memory, tally *sum) {
  static const char *const placers[] = { "m-etf", "etf", "m-sct" };
  made m = problem_make(p);
  berth_guarantee_options o = berth_guarantee_default(m.g);
  berth_place_options po = berth_place_default(m.g);
  double best = optimum(p, 1);
  po.memory = o.memory = memory;
  o.best = thorough(p).best;
  CHECK(o.best <= best * (1 + 1e-9));
  berth_guarantees k;
  CHECK_OK(berth_guarantees_compute(m.c, &o, &k));
  for (int i = 0; i < 3; i++) {
    for (int ties = BERTH_TIES_LEVEL; ties <= (i == 1 ? BERTH_TIES_LEVEL : BERTH_TIES_TOPOLOGICAL);
         ties++) {
      po.ties = (berth_ties)ties;
      if (has_placer(placers[i])) check_placer(&m, placers[i], &po, &k, best, sum);
    }
  }
}

TEST("placers keep their guarantees, and place wherever the memory form holds") {
  tally sum = { 0 };
  berth_rng rng = seeded(23, 0);
  for (int i = 0; i < 600 && !check_bad; i++) {
    problem p;
    int limited = i % 3;
    random_alike(&p, &rng, i % 2);
    if (limited) limit_memory(&p, &rng);
    check_all_placers(&p, limited == 2 ? BERTH_MEMORY_INFERENCE : BERTH_MEMORY_TOTAL, &sum);
    if (check_bad) printf("# round %d\n", i);
  }
  for (int i = 0; i < SCT_UNLIMITED; i++) CHECK(sum.valid[i] > 300);
  CHECK(!has_placer("m-sct") || sum.valid[SCT] > 100);
  printf("# %d placed; makespan / limit at most:", sum.placed);
  for (int i = 0; i < BERTH_GUARANTEES; i++) printf(" %.3f (%d)", sum.worst[i], sum.valid[i]);
  printf("\n");
}

/* ---- refusals ---- */

static berth_status refuse_guarantees(void) {
  let_pass();
  problem p;
  join_of(&p, 4, 3, 1);
  p.memory[0] = 3, p.group[1] = p.group[2] = 0;
  made m = problem_make(&p);
  berth_guarantees k = { 0 };
  refuse_from_here();
  berth_status st = berth_guarantees_compute(m.c, NULL, &k);
  CHECK(st == BERTH_OK || k.devices == 0);
  return st;
}

TEST("refused allocations: no leak, no crash") { CHECK(refuse_bare(refuse_guarantees, 1) > 5); }
