/* The portfolio: never worse than a member, judged as asked, clear when nothing fits. On threads:
 * place_portfolio_threads.c. */
#include "place/portfolio_internal.h"
#include "place_portfolio_help.h"

/* ---- against its members ---- */

static double total_params(const berth_graph *g) {
  double sum = 0;
  for (int32_t i = 0; i < berth_graph_ops(g); i++) {
    berth_op op;
    if (berth_graph_op(g, i, &op) == BERTH_OK) sum += op.param_bytes;
  }
  return sum;
}

static int refusals, overruns;

/* What a report says, made again by the member alone and the simulator alone. */
static void check_report_alone(berth_cost *c, const berth_member_report *r,
                               const berth_sim_options *judge) {
  berth_placement *p = NULL;
  berth_obstacle why = { BERTH_NONE, BERTH_NONE, 0 };
  berth_status st = berth_place(c, r->placer, r->options, &p, &why);
  if (!CHECK(st == r->status))
    printf("# %s: %d alone, %d in the portfolio: %s\n", r->name, st, r->status, r->message);
  refusals += st != BERTH_OK;
  overruns += r->oom;
  if (st != BERTH_OK) {
    if (strncmp(r->message, "portfolio: cannot fit", 21) == 0) return;
    CHECK(why.op == r->why.op && why.device == r->why.device && why.missing == r->why.missing);
    return;
  }
  if (!CHECK(r->placement && same_placement(p, r->placement)))
    printf("# %s: another placement alone\n", r->name);
  berth_result *run = must_simulate(c, berth_placement_device(p), judge);
  berth_oom oom;
  CHECK(berth_result_makespan(run) == r->makespan && berth_result_oom(run, &oom) == r->oom);
  if (r->oom) CHECK(r->why.op == oom.op && r->why.device == oom.device && r->why.missing > 0);
  RELEASE(p);
}

static void check_never_worse(berth_cost *c, const berth_portfolio_options *o, berth_links links) {
  berth_portfolio *p = NULL;
  berth_sim_options judge = berth_sim_default(berth_cost_graph(c));
  double least = INFINITY;
  int32_t first = BERTH_NONE;
  berth_status st = berth_portfolio_run(c, o, &p, NULL);
  judge.links = links;
  CHECK(st == BERTH_OK || st == BERTH_EINFEASIBLE);
  const berth_member_report *r;
  for (int32_t i = 0; (r = berth_portfolio_report(p, i)); i++) {
    check_report_alone(c, r, &judge);
    if (!r->placement || r->oom || r->makespan >= least) continue;
    least = r->makespan;
    first = i;
  }
  CHECK(berth_portfolio_winner(p) == first);
  CHECK((first == BERTH_NONE) == (st == BERTH_EINFEASIBLE));
  CHECK(berth_portfolio_best(p)
        == (first == BERTH_NONE ? NULL : berth_portfolio_report(p, first)->placement));
  RELEASE(p);
}

TEST("never worse than a member; every report is what the member gives alone") {
  static const double tight[] = { INFINITY, 4, 2.6, 2.2 }; /* memory, shares of the parameters */
  static const berth_links links[] = { BERTH_LINKS_FREE, BERTH_LINKS_CHANNEL, BERTH_LINKS_DUPLEX };
  for (uint64_t seed = 0; seed < (uint64_t)check_runs(6, 12); seed++) {
    instance probe = make(48, 3, INFINITY, seed);
    double share = total_params(probe.g) / 3;
    drop(&probe);
    instance m = make(48, 3, tight[seed % 4] * share, seed);
    berth_portfolio_options o = berth_portfolio_default(m.g);
    o.calls = 0;
    o.place.links = links[seed % 3];
    o.threads = 1 + (int32_t)(seed % 2);
    check_never_worse(m.c, &o, links[seed % 3]);
    drop(&m);
  }
  if (!CHECK(refusals > check_runs(3, 20) && overruns > 0))
    printf("# %d refusals, %d overruns\n", refusals, overruns);
}

TEST("the built-in members, in their order; ties go to the first") {
  static const char *const names[] = { "single",
                                       "round-robin",
                                       "m-etf",
                                       "m-etf topological",
                                       "m-etf b-level",
                                       "m-sct through",
                                       "m-sct through topological",
                                       "m-sct",
                                       "m-sct topological",
                                       "m-sct b-level",
                                       "m-sct tau=0.5 topological",
                                       "m-sct tau=0.1 topological",
                                       "etf",
                                       "heft",
                                       "peft",
                                       "cpop",
                                       "blevel",
                                       "critical-path",
                                       "minmin",
                                       "m-topo",
                                       "metis",
                                       "m-etf b-level coplace",
                                       "m-sct b-level coplace",
                                       "critical-path coplace, transfers x2",
                                       "etf coplace, transfers x0.5",
                                       "heft coplace, transfers x2",
                                       "m-topo coplace",
                                       "peft chains",
                                       "etf fuse, transfers x0.5",
                                       "minmin fuse, transfers x0.5",
                                       "blevel fuse, transfers x0.5",
                                       "metis fuse",
                                       "blevel, transfers x0.5",
                                       "m-sct through, transfers x4",
                                       "agent",
                                       "exact" };
  instance m = make(1, 2, INFINITY, 1);
  berth_portfolio *p = must_portfolio_run(m.c, NULL);
  CHECK(berth_portfolio_members(p) == (int32_t)(sizeof names / sizeof *names));
  for (int32_t i = 0; i < berth_portfolio_members(p); i++)
    CHECK_TEXT(berth_portfolio_report(p, i)->name, names[i]);
  CHECK(berth_portfolio_winner(p) == 0 && isnan(berth_portfolio_report(p, 0)->seconds));
  CHECK(!berth_portfolio_report(p, -1) && !berth_portfolio_report(p, berth_portfolio_members(p)));
  RELEASE(p);
  berth_portfolio_release(NULL);
  RELEASE(m.c, m.g, m.t);
}

TEST("the placer \"portfolio\" is the run with defaults") {
  instance m = make(60, 3, INFINITY, 5);
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.place.links = BERTH_LINKS_DUPLEX;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  berth_placement *q = must_place(m.c, "portfolio", &o.place);
  CHECK(same_placement(q, berth_portfolio_best(p)));
  RELEASE(p);
  CHECK(berth_placement_device(q)[0] >= 0); /* outlives the run */
  RELEASE(m.c, m.g, m.t);
}

/* ---- the search ---- */

TEST("a search from the best answer is the last member, which its options repeat") {
  instance m = make(60, 3, INFINITY, 5);
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.place.links = BERTH_LINKS_DUPLEX;
  o.place.seed = 3;
  o.calls = 0;
  berth_portfolio *members = must_portfolio_run(m.c, &o);
  int32_t n = berth_portfolio_members(members), best = berth_portfolio_winner(members);
  o.calls = 300;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK(berth_portfolio_members(p) == n + 1 && berth_portfolio_winner(p) == n);
  const berth_member_report *r = berth_portfolio_report(p, n);
  CHECK_TEXT(r->name, "anneal");
  CHECK_TEXT(r->placer, "anneal");
  CHECK(r->makespan < berth_portfolio_report(p, best)->makespan);
  const berth_search_options *search = r->options->search;
  CHECK(search->calls == 300 && search->seconds == 0);
  CHECK(search->start == berth_placement_device(berth_portfolio_report(p, best)->placement));
  berth_placement *again = must_place(m.c, "anneal", r->options);
  CHECK(same_placement(again, r->placement));
  CHECK(berth_placement_estimate(again) == r->makespan);
  RELEASE(again, members, p);
  /* none: an order of the user's; members of the user's; one device, or one op */
  berth_sim_options planned = berth_sim_default(m.g);
  planned.dispatch = BERTH_DISPATCH_PLANNED;
  o.judge = &planned;
  p = must_portfolio_run(m.c, &o);
  CHECK(berth_portfolio_members(p) == n);
  RELEASE(p);
  berth_portfolio_options own = berth_portfolio_default(m.g);
  berth_member list[] = { { NULL, "single", o.place, NULL, NULL } };
  own.members = list;
  own.n_members = 1;
  p = must_portfolio_run(m.c, &own);
  CHECK(berth_portfolio_members(p) == 1);
  RELEASE(p);
  own.calls = 50;
  p = must_portfolio_run(m.c, &own);
  CHECK(berth_portfolio_members(p) == 2 && berth_portfolio_winner(p) == 1);
  RELEASE(p, m.c, m.g, m.t);
}

TEST("its calls by default, by the number of ops") {
  static const struct { int32_t ops, devices; int64_t calls; } cases[] = {
    { 1, 4, 0 }, { 2, 1, 0 }, { 2, 2, 8000 }, { 1000, 2, 8000 }, { 2000, 2, 4000 },
    { 10000, 2, 800 }, { 20000, 2, 200 }, { 100000, 2, 8 }
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    instance m = make(cases[i].ops, 2, INFINITY, 1);
    CHECK(berth_i_portfolio_calls(m.g, cases[i].devices) == cases[i].calls);
    drop(&m);
  }
}

TEST("members for any size alone above 10,000 ops") {
  instance m = make(10001, 2, INFINITY, 1);
  berth_portfolio_options o = berth_portfolio_default(m.g);
  static const char *const names[] = { "single", "round-robin", "m-etf topological",
                                       "heft", "m-etf b-level coplace" };
  o.calls = 0;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK(berth_portfolio_members(p) == (int32_t)(sizeof names / sizeof *names));
  for (int32_t i = 0; i < berth_portfolio_members(p); i++)
    CHECK_TEXT(berth_portfolio_report(p, i)->name, names[i]);
  RELEASE(p, m.c, m.g, m.t);
}

/* ---- the judge ---- */

TEST("the judge's options decide, each answer in its own order if the judge plans") {
  instance m = make(60, 3, INFINITY, 4);
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.calls = 0;
  berth_sim_options judge = berth_sim_default(m.g);
  berth_place_options plain = berth_place_default(m.g), code = plain;
  code.variant = "code"; /* has no order */
  berth_member list[] = { { NULL, "heft", plain, NULL, NULL },
                          { NULL, "critical-path", code, NULL, NULL },
                          { NULL, "etf", plain, NULL, NULL } };
  o.judge = &judge;
  o.members = list;
  o.n_members = 3;
  o.threads = 2;
  judge.links = BERTH_LINKS_CHANNEL;
  judge.dispatch = BERTH_DISPATCH_PLANNED;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK_STATUS(berth_portfolio_report(p, 1)->status, BERTH_EINVAL);
  CHECK_TEXT(berth_portfolio_report(p, 1)->message,
             "the answer has no order of its own to be judged in");
  berth_result *run;
  for (int32_t i = 0; i < 3; i += 2) {
    const berth_member_report *r = berth_portfolio_report(p, i);
    judge.sequence = berth_placement_sequence(r->placement);
    run = must_simulate(m.c, berth_placement_device(r->placement), &judge);
    CHECK(berth_result_makespan(run) == r->makespan);
  }
  RELEASE(p);
  judge.sequence = NULL;
  judge.dispatch = BERTH_DISPATCH_FIFO;
  judge.noise = -1;
  CHECK_STATUS(berth_portfolio_run(m.c, &o, &p, NULL), BERTH_EINVAL);
  CHECK(strncmp(berth_errmsg(ctx), "portfolio: judge: ", 18) == 0);
  RELEASE(m.c, m.g, m.t);
}

/* ---- members of the user's ---- */

typedef struct own_member {
  berth_status status;
  int32_t ops; /* of the placement that it gives; 0: none */
  const char *message;
} own_member;

static berth_status place_own(void *ud, berth_cost *cost, berth_placement **out,
                              berth_obstacle *why, char *message, size_t size) {
  static const int32_t device[100];
  const own_member *m = ud;
  (void)cost;
  CHECK(why->op == BERTH_NONE && why->device == BERTH_NONE && why->missing == 0 && !*message);
  if (m->message) snprintf(message, size, "%s", m->message);
  if (m->ops > 0) {
    CHECK_OK(berth_placement_new(ctx, m->ops, device, NULL, "own", NAN, out));
  }
  return m->status;
}

static void check_refusal(const instance *m, berth_member *list, const char *message) {
  berth_portfolio_options o = berth_portfolio_default(m->g);
  o.calls = 0;
  berth_portfolio *p = NULL;
  o.members = list;
  o.n_members = 2;
  if (!CHECK_OK(berth_portfolio_run(m->c, &o, &p, NULL))) return;
  CHECK(berth_portfolio_winner(p) == 1);
  CHECK_TEXT(berth_portfolio_report(p, 0)->message, message);
  CHECK(!berth_portfolio_report(p, 0)->placement);
  RELEASE(p);
}

TEST("a user's member: each way not to answer is told in its own words, not in those of who "
     "spoke before") {
  instance m = make(20, 2, INFINITY, 1);
  own_member own = { BERTH_OK, 0, NULL };
  berth_member list[] = { { "mine", NULL, berth_place_default(m.g), place_own, &own },
                          { NULL, "etf", berth_place_default(m.g), NULL, NULL } };
  check_refusal(&m, list, "there is no placement");
  own.ops = 19;
  check_refusal(&m, list, "the placement is of 19 ops, not 20, or of another context");
  own = (own_member){ BERTH_EINFEASIBLE, 0, NULL };
  check_refusal(&m, list, "infeasible");
  own = (own_member){ BERTH_EINVAL, 20, "not today" };
  check_refusal(&m, list, "not today");
  RELEASE(m.c, m.g, m.t);
}

/* ---- nothing fits ---- */

static void run_chains(double memory, const char *message, double missing) {
  berth_obstacle why = { 9, 9, 9 };
  berth_cost *c = must_cost_of_text(
      "1 1 1 1 1 1 1 1 0>4:10 1>5:10 2>6:10 3>7:10", 1, memory, 10);
  berth_portfolio *p;
  CHECK_STATUS(berth_portfolio_run(c, NULL, &p, &why), BERTH_EINFEASIBLE);
  CHECK(p && !berth_portfolio_best(p) && berth_portfolio_winner(p) == BERTH_NONE);
  CHECK_TEXT(berth_errmsg(ctx), message);
  CHECK(why.missing == missing && why.device == 0);
  RELEASE(p);
}

TEST("nothing fits: the proof, or what came closest, and what would help") {
  run_chains(
      5,
      "portfolio: cannot fit: op 0 does not fit: device \"d0\" comes closest, 5 B are missing",
      5);
  run_chains(
      25,
      "portfolio: no placement found: that of m-etf comes closest, but op 2 runs out of memory on "
      "device \"d0\": 15 B are missing; with dispatch = \"planned\" that of m-etf keeps memory",
      15);
}

/* ---- the door ---- */

static void refused(berth_cost *c, const berth_portfolio_options *o, const char *message) {
  berth_portfolio *p;
  CHECK_STATUS(berth_portfolio_run(c, o, &p, NULL), BERTH_EINVAL);
  CHECK(!p);
  CHECK_TEXT(berth_errmsg(ctx), message);
}

TEST("bad options are refused by name") {
  instance m = make(40, 3, INFINITY, 2);
  berth_portfolio_options good = berth_portfolio_default(m.g);
  good.calls = 0;
  berth_place_options plain = berth_place_default(m.g);
  berth_member list[] = { { "a", "etf", plain, NULL, NULL }, { "b", "heft", plain, NULL, NULL } };
  good.members = list;
#define REFUSED(change, message) o = good, change, refused(m.c, &o, message)
  berth_portfolio_options o;
  REFUSED(o.threads = -1, "option threads is -1 (0 to 4096)");
  REFUSED(o.seconds = NAN, "option seconds is nan (a number from 0)");
  REFUSED(o.seconds = -1, "option seconds is -1 (a number from 0)");
  REFUSED(o.seconds = 2, "portfolio: option seconds: 2 s, but the context has no clock");
  REFUSED(o.n_members = -1, "portfolio: option members: there are not -1");
  REFUSED(o.place.tau = 0.5, "portfolio: option tau: is of one placer; give it to a member");
  REFUSED(o.place.device = 1, "portfolio: option device: is of one placer; give it to a member");
  REFUSED(o.place.variant = "code",
          "portfolio: option variant: is of one placer; give it to a member");
  REFUSED(o.place.ties = BERTH_TIES_LEVEL,
          "portfolio: option ties: is of one placer; give it to a member");
  REFUSED(o.place.coarsen = BERTH_COARSEN_FUSE,
          "portfolio: option coarsen: is of one placer; give it to a member");
  REFUSED(o.place.transfer_weight = 2,
          "portfolio: option transfer_weight: is of one placer; give it to a member");
  REFUSED(o.place.favourites = BERTH_FAVOURITES_NONE,
          "portfolio: option favourites: is of one placer; give it to a member");
  REFUSED(o.place.gap = 0, "option gap is 0 (a finite number from 1e-09)");
  REFUSED(o.place.quantum = -1, "option quantum is -1 (a finite number from 0)");
  good.n_members = 2;
  list[1].options.tries = 0;
  REFUSED((void)0, "portfolio: member 1 (b): option tries is 0 (a finite number from 1)");
  list[1].placer = "portfolio";
  REFUSED((void)0, "portfolio: member 1 (b): is a portfolio itself");
  list[1].placer = "x";
  berth_portfolio *p;
  CHECK_STATUS(berth_portfolio_run(m.c, &good, &p, NULL), BERTH_EINVAL);
  CHECK(strncmp(berth_errmsg(ctx), "portfolio: member 1 (b): unknown placer \"x\"", 43) == 0);
#undef REFUSED
  drop(&m);
  CHECK(berth_ctx_memory(ctx) == 0);
}
