/* The portfolio: runs members (placers with options) on one problem, simulates each answer under
 * one judge, and returns the answer with the least makespan that keeps memory; of equal ones the
 * first.
 * Structure: entries (what runs) beside reports (what came out), both by member.
 * Invariant: a report is complete or BERTH_EINTERRUPT; the baselines run whatever the time limit,
 * so the answer is never worse than theirs. Threads: portfolio_run.c; one member:
 * portfolio_try.c. */
#include "portfolio_internal.h"
#include "sim/rows_internal.h"
#include <stdio.h>

/* ---- members ---- */

static void take_built_in(int32_t k, const berth_place_options *place, berth_i_entry *e) {
  const berth_i_placer *placer = NULL;
  const berth_i_member_row *m = berth_i_member_row_at(k, &placer);
  berth_place_options *o = &e->member.options;
  e->member.name = m->name;
  e->member.placer = placer->about.name;
  *o = *place;
  o->ties = m->ties;
  o->favourites = m->favourites;
  o->tau = m->tau;
  o->coarsen = m->coarsen;
  o->coarsen_ops = m->coarsen_ops;
  o->transfer_weight = m->weight > 0 ? m->weight : 1;
  e->matching = m->matching;
  if (m->matching == BERTH_I_MATCHING_NONE) o->gap = berth_place_default(NULL).gap;
}

/* The rows of the members for so many ops.  @param row [all] NULL: not wanted */
static int32_t list_built_in(int32_t n_ops, int32_t *row) {
  const berth_i_placer *placer;
  const berth_i_member_row *m;
  int32_t n = 0;
  for (int32_t k = 0; (m = berth_i_member_row_at(k, &placer)); k++) {
    if (n_ops > BERTH_I_LARGE && !m->any_size) continue;
    if (row) row[n] = k;
    n++;
  }
  return n;
}

static bool is(const berth_i_entry *e, const char *placer) {
  return !e->member.place && strcmp(e->member.placer, placer) == 0;
}

static const char *label(const berth_member *m) {
  const berth_policy *policy =
      m->placer && strcmp(m->placer, "policy") == 0 ? m->options.policy : NULL;
  if (m->name) return m->name;
  if (policy && policy->name) return policy->name;
  return m->placer ? m->placer : "own";
}

/* Options of what a member runs; the user's own function has none. */
static berth_status check_entry(berth_cost *cost, int32_t i, berth_i_entry *e) {
  if (e->member.place) return BERTH_OK;
  if (e->member.placer && strcmp(e->member.placer, "portfolio") == 0) {
    return berth_i_fail(cost->ctx, BERTH_EINVAL, "portfolio: member %d (%s): is a portfolio itself",
                        (int)i, label(&e->member));
  }
  berth_status st;
  if ((e->placer = berth_i_placer_find(e->member.placer)))
    st = berth_i_placer_check(cost, e->placer, &e->member.options);
  else st = berth_i_placer_unknown(cost->ctx, e->member.placer);
  if (st == BERTH_EINVAL)
    berth_i_prefix_error(cost->ctx, "portfolio: member %d (%s): ", (int)i, label(&e->member));
  return st;
}

static berth_status name_entry(berth_portfolio *p, int32_t i) {
  berth_i_entry *e = &p->entry[i];
  berth_member_report *r = &p->report[i];
  if (!(e->name = berth_i_pool_strdup(&p->pool, label(&e->member)))) return berth_i_nomem(p->ctx);
  e->baseline = is(e, "single") || is(e, "round-robin");
  /* METIS sets signal handlers while it runs */
  e->caller_only = e->member.place || is(e, "policy") || is(e, "metis");
  r->name = e->name;
  r->placer = e->member.place ? NULL : e->member.placer;
  r->options = e->member.place ? NULL : &e->member.options;
  r->status = BERTH_EINTERRUPT;
  r->message = e->text;
  r->makespan = r->seconds = NAN;
  r->why.op = r->why.device = BERTH_NONE;
  return BERTH_OK;
}

/* ---- options ---- */

berth_portfolio_options berth_portfolio_default(const berth_graph *g) {
  berth_portfolio_options o = { 0 };
  o.place = berth_place_default(g);
  o.calls = BERTH_CALLS_BY_SIZE;
  return o;
}

static void set_defaults(void *out) {
  *(berth_portfolio_options *)out = berth_portfolio_default(NULL);
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_portfolio_options, name, kind)
#define OF_PLACE(name, kind) BERTH_I_OPTION_AT(berth_portfolio_options, place.name, #name, kind)

const berth_option_table *berth_portfolio_option_table(void) {
  static const berth_option options[] = {
    { OF_PLACE(averages, CHOICE), .choices = berth_i_average_choices,
      .text = "mean times that op ranks are made of" },
    BERTH_I_LINKS_ROW(berth_portfolio_options, place.links),
    BERTH_I_MEMORY_ROW(berth_portfolio_options, place.memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_portfolio_options, place.param_multiple),
    BERTH_I_QUANTUM_ROW(berth_portfolio_options, place.quantum),
    { OF_PLACE(tries, WHOLE), .low = 1, .text = "random ties: the best of so many tries" },
    { OF_PLACE(seed, SEED), .text = "of random choices" },
    { OF_PLACE(gap, NUMBER), .low = 1e-9 },
    { FIELD(members, OTHER), .takes = "array", .fallback = "the built-in ones",
      .text = "placers that run: names, { name, options }, policies, pipelines" },
    { FIELD(judge, OTHER), .takes = "table",
      .fallback = "links, memory, param_multiple and quantum of the call",
      .text = "options of the simulation that evaluates the answers" },
    { FIELD(threads, WHOLE), .high = 4096, .fallback = "one per core; one for a small graph",
      .text = "threads that share the work" },
    { FIELD(calls, LONG), .low = BERTH_CALLS_BY_SIZE, .fallback = "8000; above 1000 ops fewer",
      .text = "placements that a search from the best answer evaluates at most; 0: no search" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no limit",
      .text = "of members and search: then none is begun, and those that run are stopped; alone, "
              "it replaces the default of calls" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("portfolio", options, berth_portfolio_options, set_defaults);
}

static berth_status of_one_placer(berth_ctx *ctx, const char *what) {
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "portfolio: option %s: is of one placer; give it to a member", what);
}

static berth_status check_place(berth_ctx *ctx, const berth_place_options *o) {
  if (o->variant && *o->variant) return of_one_placer(ctx, "variant");
  if (o->policy) return of_one_placer(ctx, "policy");
  if (o->ties != BERTH_TIES_DEFAULT) return of_one_placer(ctx, "ties");
  if (o->favourites != BERTH_FAVOURITES_LP || o->favourite) return of_one_placer(ctx, "favourites");
  if (o->tau != 0) return of_one_placer(ctx, "tau");
  if (o->coarsen != BERTH_COARSEN_NONE || o->coarsen_ops != 0) return of_one_placer(ctx, "coarsen");
  if (o->transfer_weight != 1) return of_one_placer(ctx, "transfer_weight");
  if (o->search || o->search_report) return of_one_placer(ctx, "search");
  if (o->device != BERTH_NONE) return of_one_placer(ctx, "device");
  return BERTH_OK;
}

static berth_status check_run(berth_ctx *ctx, const berth_portfolio_options *o) {
  if (o->n_members < 0 || (o->n_members > 0 && !o->members)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "portfolio: option members: there are not %d",
                        (int)o->n_members);
  }
  berth_status st;
  if ((st = berth_options_check(ctx, berth_portfolio_option_table(), o)) != BERTH_OK) return st;
  if ((st = check_place(ctx, &o->place)) != BERTH_OK) return st;
  if (o->seconds == 0 || isinf(o->seconds) || berth_i_ctx_has_clock(ctx)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "portfolio: option seconds: %g s, but the context has no clock", o->seconds);
}

/* ---- life ---- */

/* The members of the options, or the built-in ones, checked; reports are empty. */
static berth_status make_portfolio(berth_cost *cost, const berth_portfolio_options *o,
                                   berth_portfolio **out) {
  bool given = o->n_members > 0;
  int32_t n = given ? o->n_members : list_built_in(cost->g->n_ops, NULL);
  berth_portfolio *p = berth_i_pool_object(cost->ctx, sizeof *p);
  if (!p) return berth_i_nomem(cost->ctx);
  p->ctx = cost->ctx;
  p->n = n;
  p->winner = BERTH_NONE;
  berth_ctx_retain(p->ctx);
  /* and one each for the exact search and for annealing */
  p->entry = berth_i_pool_zalloc(&p->pool, (size_t)n + 2, sizeof *p->entry);
  p->report = berth_i_pool_zalloc(&p->pool, (size_t)n + 2, sizeof *p->report);
  int32_t *row = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *row);
  berth_status st = berth_i_pool_status(&p->pool);
  if (st == BERTH_OK && !given) list_built_in(cost->g->n_ops, row);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    if (given) p->entry[i].member = o->members[i];
    else take_built_in(row[i], &o->place, &p->entry[i]);
    if ((st = check_entry(cost, i, &p->entry[i])) == BERTH_OK) st = name_entry(p, i);
  }
  if (st == BERTH_OK) *out = p;
  else berth_portfolio_release(p);
  return st;
}

void berth_portfolio_release(berth_portfolio *p) {
  if (!p) return;
  berth_ctx *ctx;
  ctx = p->ctx;
  for (int32_t i = 0; p->report && i < p->n; i++) berth_placement_release(p->report[i].placement);
  berth_i_pool_free(&p->pool);
  berth_ctx_release(ctx);
}

berth_placement *berth_portfolio_best(const berth_portfolio *p) {
  return p->winner == BERTH_NONE ? NULL : p->report[p->winner].placement;
}

int32_t berth_portfolio_winner(const berth_portfolio *p) { return p->winner; }

int32_t berth_portfolio_members(const berth_portfolio *p) { return p->n; }

const berth_member_report *berth_portfolio_report(const berth_portfolio *p, int32_t member) {
  return member >= 0 && member < p->n ? &p->report[member] : NULL;
}

/* ---- the exact search of a small graph ---- */

enum { PROOF_OPS = 16, PROOF_STEPS = 500000 };

static berth_exact_options proof_options(const berth_i_run *r) {
  berth_exact_options e = berth_exact_default(r->cost->g);
  e.place.memory = r->o->place.memory;
  e.place.param_multiple = r->o->place.param_multiple;
  e.place.seed = r->o->place.seed;
  e.nodes = 1 + PROOF_STEPS / (r->cost->g->n_edges + r->cost->g->n_ops * r->cost->n_devices + 1);
  return e;
}

/* @param holds out: memory does, by the judge */
static berth_status judge_proof(berth_i_run *r, berth_member_report *m, bool *holds) {
  berth_sim *sim;
  berth_sim_summary s;
  berth_status st = berth_sim_new(r->cost, &r->judge, &sim);
  if (st != BERTH_OK) return st;
  if ((st = berth_sim_run(sim, m->placement->device, &s)) == BERTH_OK) {
    m->makespan = s.makespan;
    *holds = s.oom_op == BERTH_NONE;
  }
  berth_sim_release(sim);
  return st;
}

static bool may_prove(const berth_i_run *r) {
  const berth_portfolio_options *o = r->o;
  return r->cost->g->n_ops <= PROOF_OPS && o->n_members == 0 && o->calls != 0 && !r->own_sequence
         && (isinf(r->deadline) || berth_i_portfolio_now(r) < r->deadline);
}

/* The exact search, within few steps, is one more member where it proves its answer: then
 * berth_place gives the same, whatever its budget. Its bound goes to the best answer. */
static berth_status prove(berth_i_run *r) {
  berth_portfolio *p = r->p;
  berth_member_report *m = &p->report[p->n];
  if (!may_prove(r)) return BERTH_OK;
  berth_exact_options e = proof_options(r);
  p->entry[p->n].member = (berth_member){ .name = "exact", .placer = "exact", .options = e.place };
  berth_status st = name_entry(p, p->n);
  if (st != BERTH_OK) return st;
  double begin = berth_i_portfolio_now(r);
  berth_exact_summary s;
  bool holds = false;
  st = berth_exact(r->cost, &e, &m->placement, &s, NULL);
  /* with collectives, or where its plans run out of memory and the judge's do not */
  if (st == BERTH_EUNSUPPORTED || st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE)
    return BERTH_OK;
  if (st == BERTH_OK) st = judge_proof(r, m, &holds);
  m->status = st;
  m->seconds = berth_i_portfolio_now(r) - begin;
  if (st == BERTH_OK && holds && s.proved) {
    if (m->makespan < p->report[p->winner].makespan) p->winner = p->n;
    p->n++;
  } else {
    berth_placement_release(m->placement);
    m->placement = NULL;
  }
  if (st != BERTH_OK) return st;
  const berth_member_report *best = &p->report[p->winner];
  best->placement->bound = fmin(s.bound, best->makespan); /* but for rounding */
  return s.interrupted ? berth_i_fail(p->ctx, BERTH_EINTERRUPT, "interrupted") : BERTH_OK;
}

/* ---- the search from the best answer ---- */

int64_t berth_i_portfolio_calls(const berth_graph *g, int32_t n_devices) {
  const int64_t most = 8000, ops = g->n_ops, half = 10000;
  if (ops < 2 || n_devices < 2) return 0;
  if (ops <= 1000) return most;
  return ops <= half ? most * 1000 / ops : most * 1000 / ops * half / ops;
}

/* 0: none.  @param seconds out: that it may take; 0: no limit */
static int64_t calls_of_search(const berth_i_run *r, double *seconds) {
  const berth_portfolio_options *o = r->o;
  int64_t calls = o->calls;
  *seconds = isinf(r->deadline) ? 0 : r->deadline - berth_i_portfolio_now(r);
  if (r->p->winner == BERTH_NONE || r->own_sequence || *seconds < 0) return 0;
  if (calls == BERTH_CALLS_BY_SIZE && o->n_members > 0) return 0;
  if (calls == BERTH_CALLS_BY_SIZE && *seconds > 0) return INT64_MAX;
  return calls == BERTH_CALLS_BY_SIZE ? berth_i_portfolio_calls(r->cost->g, r->cost->n_devices)
                                      : calls;
}

/* Annealing from the best answer is one more member, after the others. What it cannot do (memory
 * must hold in any order, which the answer does not) leaves the answer as it is. */
static berth_status improve(berth_i_run *r) {
  berth_portfolio *p = r->p;
  berth_i_entry *e = &p->entry[p->n];
  berth_member_report *m = &p->report[p->n];
  berth_search_options *s = &e->search;
  berth_search_report found = { 0 };
  *s = berth_search_default();
  s->calls = calls_of_search(r, &s->seconds);
  if (s->calls == 0) return BERTH_OK;
  if (s->calls == INT64_MAX) s->calls = 0;
  s->judge = &r->judge;
  s->threads = r->o->threads;
  s->start = p->report[p->winner].placement->device;
  e->member = (berth_member){ .name = "anneal", .placer = "anneal", .options = r->o->place };
  e->member.options.gap = berth_place_default(NULL).gap;
  e->member.options.search = s;
  e->member.options.search_report = &found;
  berth_status st = check_entry(r->cost, p->n, e);
  if (st == BERTH_OK) st = name_entry(p, p->n);
  if (st != BERTH_OK) return st;
  double begin = berth_i_portfolio_now(r);
  st = berth_i_placer_run(r->cost, e->placer, &e->member.options, &m->placement, &m->why);
  e->member.options.search_report = NULL;
  s->judge = NULL; /* which is of this call */
  m->status = st;
  if (st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE) return BERTH_OK;
  if (st != BERTH_OK) return st;
  m->seconds = berth_i_portfolio_now(r) - begin;
  m->makespan = found.value;
  if (m->makespan < p->report[p->winner].makespan) p->winner = p->n;
  p->n++;
  return found.interrupted ? berth_i_fail(r->cost->ctx, BERTH_EINTERRUPT, "interrupted")
                           : BERTH_OK;
}

/* ---- running ---- */

static berth_sim_options judge_of(const berth_cost *cost, const berth_portfolio_options *o) {
  berth_sim_options s = berth_sim_default(cost->g);
  if (o->judge) return *o->judge;
  s.links = o->place.links;
  s.memory = o->place.memory;
  s.param_multiple = o->place.param_multiple;
  s.quantum = o->place.quantum;
  return s;
}

berth_status berth_portfolio_run(berth_cost *cost, const berth_portfolio_options *opts,
                                 berth_portfolio **out, berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_portfolio_options o = opts ? *opts : berth_portfolio_default(cost->g);
  berth_obstacle own = { BERTH_NONE, BERTH_NONE, 0 };
  berth_i_run r = { .pool = berth_i_pool_empty(cost->ctx), .cost = cost, .o = &o,
                    .judge = judge_of(cost, &o) };
  *out = NULL;
  berth_status st;
  if ((st = check_run(cost->ctx, &o)) != BERTH_OK) return st;
  if ((st = berth_i_cost_check_range(cost)) != BERTH_OK) return st;
  if ((st = make_portfolio(cost, &o, &r.p)) != BERTH_OK) return st;
  berth_portfolio *p = r.p;
  /* 1. Where it is proved that nothing fits, the built-in members do not run: each would spend its
   *    own time to find nothing. */
  if (o.n_members == 0)
    st = berth_i_prove_infeasible(cost, "portfolio", r.judge.memory, r.judge.param_multiple, &own);
  bool reports = st == BERTH_EINFEASIBLE;
  for (int32_t i = 0; i < p->n && reports; i++) {
    p->report[i].status = st;
    p->report[i].why = own;
    snprintf(p->entry[i].text, sizeof p->entry[i].text, "%s", berth_errmsg(cost->ctx));
  }
  if (st == BERTH_OK) {
    /* 2. All members run, and each answer is simulated by the judge. */
    st = berth_i_portfolio_execute(&r);
    reports = st == BERTH_OK;
    /* 3. The least makespan that keeps memory; of equal ones the first. */
    for (int32_t i = 0; i < p->n; i++) {
      const berth_member_report *m = &p->report[i];
      if (m->placement && st == BERTH_EINTERRUPT) reports = true;
      if (!m->placement || m->oom) continue;
      if (p->winner == BERTH_NONE || m->makespan < p->report[p->winner].makespan) p->winner = i;
    }
    if (st == BERTH_OK && p->winner == BERTH_NONE) st = berth_i_portfolio_refuse(&r, &own);
    /* 4. A proof, if that takes little; then a search from the best. */
    if (st == BERTH_OK) st = prove(&r);
    if (st == BERTH_OK) st = improve(&r);
  }
  if (st == BERTH_EINFEASIBLE && why) *why = own;
  if (reports && st != BERTH_ENOMEM) *out = p;
  else berth_portfolio_release(p);
  return st;
}

/* ---- as a placer ---- */

static berth_status run(berth_cost *cost, const berth_place_options *opts, berth_placement **out,
                        berth_obstacle *why) {
  berth_portfolio_options o = berth_portfolio_default(cost->g);
  berth_portfolio *p = NULL;
  o.place = *opts;
  berth_status st = berth_portfolio_run(cost, &o, &p, why);
  if (st == BERTH_OK) {
    *out = berth_portfolio_best(p);
    berth_placement_retain(*out);
  }
  berth_portfolio_release(p);
  return st;
}

const berth_i_placer berth_i_placer_portfolio = {
  .about = { .name = "portfolio", .reads = "averages tries members calls seconds threads judge",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Runs the trivial ones, m-etf and m-sct with several sets of favourites and tie "
              "rules, and all others but random and the variants, some of them also on sets of "
              "ops (coarsen) or with weighed transfers (transfer_weight); simulates each answer, "
              "keeps the best, and anneals from it (`calls`); up to 16 ops exact runs, too, within "
              "few steps. The default.",
      .good = "Whenever about a CPU second for 1,000 ops does not matter.",
      .weak = "Above 10,000 ops fewer members run, and the search is short." }) },
  .run = run,
};
