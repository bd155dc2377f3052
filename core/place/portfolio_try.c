/* One member of the portfolio on one thread: placing, judging, and the linear program that several
 * share. */
#include "portfolio_internal.h"
#include <stdio.h>

double berth_i_portfolio_now(const berth_i_run *r) {
  return r->hooks.clock ? r->hooks.clock(r->hooks.ud) : (double)NAN;
}

static bool time_is_up(const berth_i_run *r) {
  return !isinf(r->deadline) && berth_i_portfolio_now(r) >= r->deadline;
}

/* ---- the linear program ---- */

static berth_status solve(berth_i_worker *w) {
  static const double tau[BERTH_I_MATCHINGS] = { 0, 0.5, 0.1 };
  berth_i_run *r = w->run;
  berth_lp_options o = berth_lp_default();
  if (atomic_load(&r->stopped) || time_is_up(r))
    return berth_i_fail(w->ctx, BERTH_EINTERRUPT, "interrupted");
  o.gap = r->o->place.gap;
  berth_lp *lp;
  berth_status st;
  if ((st = berth_lp_solve(w->cost, &o, &lp)) != BERTH_OK) return st;
  for (int k = 0; k < BERTH_I_MATCHINGS && st == BERTH_OK; k++)
    st = berth_lp_favourites(lp, tau[k], r->favourite[k]);
  berth_lp_release(lp);
  return st;
}

void berth_i_portfolio_solve(berth_i_worker *w) {
  berth_i_run *r = w->run;
  w->untimed = false;
  berth_status st = solve(w);
  pthread_mutex_lock(&r->lock);
  r->lp_done = true;
  r->lp_status = st;
  if (st != BERTH_OK) snprintf(r->lp_text, sizeof r->lp_text, "%s", berth_errmsg(w->ctx));
  pthread_cond_broadcast(&r->solved);
  pthread_mutex_unlock(&r->lock);
}

/* The calling thread solves it before all that waits for it. */
static berth_status await_solution(berth_i_worker *w) {
  berth_i_run *r = w->run;
  pthread_mutex_lock(&r->lock);
  while (!r->lp_done) pthread_cond_wait(&r->solved, &r->lock);
  berth_status st = r->lp_status;
  pthread_mutex_unlock(&r->lock);
  if (st == BERTH_EINTERRUPT && !atomic_load(&r->hook_stopped)) w->timed_out = true;
  return st == BERTH_OK ? st : berth_i_fail(w->ctx, st, "%s", r->lp_text);
}

/* ---- placing ---- */

static berth_status check_own(berth_i_worker *w, const berth_placement *p) {
  if (!p) return berth_i_fail(w->ctx, BERTH_EINVAL, "there is no placement");
  if (p->ctx == w->ctx && p->n == w->cost->g->n_ops) return BERTH_OK;
  return berth_i_fail(w->ctx, BERTH_EINVAL,
                      "the placement is of %d ops, not %d, or of another context", (int)p->n,
                      (int)w->cost->g->n_ops);
}

static berth_status place_own(berth_i_worker *w, berth_i_entry *e, berth_placement **out,
                              berth_obstacle *why) {
  berth_i_fail(w->ctx, BERTH_OK, "%s", ""); /* an earlier message is not this member's reason */
  berth_status st = e->member.place(e->member.ud, w->cost, out, why, e->text, sizeof e->text);
  return st == BERTH_OK ? check_own(w, *out) : st;
}

static berth_status place(berth_i_worker *w, berth_i_entry *e, berth_placement **out,
                          berth_obstacle *why) {
  berth_place_options o = e->member.options;
  if (e->member.place) return place_own(w, e, out, why);
  if (e->matching != BERTH_I_MATCHING_NONE) {
    berth_status st;
    if ((st = await_solution(w)) != BERTH_OK) return st;
    o.favourites = BERTH_FAVOURITES_GIVEN;
    o.favourite = w->run->favourite[e->matching - 1];
    o.tau = 0;
    o.gap = berth_place_default(NULL).gap;
  }
  return berth_i_placer_run(w->cost, e->placer, &o, out, why);
}

/* ---- judging ---- */

/* Where memory runs out first, and what that device lacks at its peak. */
static berth_status measure_lack(berth_i_worker *w, const berth_sim_options *o,
                                 const int32_t *device, berth_obstacle *why) {
  berth_result *r;
  berth_status st = berth_simulate(w->cost, device, o, &r);
  if (st != BERTH_OK) return st;
  berth_oom oom;
  if (berth_result_oom(r, &oom)) {
    why->op = oom.op;
    why->device = oom.device;
    why->missing = berth_result_peak(r)[oom.device] - w->cost->t->devices[oom.device].memory;
  }
  berth_result_release(r);
  return BERTH_OK;
}

/* In the order of the answer itself the simulator is made anew: it holds the order. */
static berth_status choose_sim(berth_i_worker *w, const berth_placement *p, berth_sim_options *o) {
  if (w->run->own_sequence) {
    if (!p->sequence)
      return berth_i_fail(w->ctx, BERTH_EINVAL,
                          "the answer has no order of its own to be judged in");
    o->sequence = p->sequence;
    berth_sim_release(w->sim);
    w->sim = NULL;
  }
  return w->sim ? BERTH_OK : berth_sim_new(w->cost, o, &w->sim);
}

static berth_status judge(berth_i_worker *w, const berth_placement *p, berth_member_report *r) {
  berth_sim_options o = w->run->judge;
  berth_sim_summary s;
  berth_status st = choose_sim(w, p, &o);
  if (st == BERTH_OK) st = berth_sim_run(w->sim, p->device, &s);
  if (st == BERTH_OK && s.oom_op != BERTH_NONE) st = measure_lack(w, &o, p->device, &r->why);
  if (st != BERTH_OK) return st;
  r->makespan = s.makespan;
  r->oom = s.oom_op != BERTH_NONE;
  return BERTH_OK;
}

/* ---- both ---- */

static berth_status answer(berth_i_worker *w, int32_t member) {
  berth_i_entry *e = &w->run->p->entry[member];
  berth_member_report *r = &w->run->p->report[member];
  berth_placement *p = NULL;
  berth_status st = place(w, e, &p, &r->why);
  if (st == BERTH_OK) st = judge(w, p, r);
  if (st == BERTH_OK) r->placement = p;
  else berth_placement_release(p);
  return st;
}

/* A user's function that is stopped may return an error: that is reported as a time limit. */
static berth_status verdict(berth_i_worker *w, berth_i_entry *e, berth_status st) {
  if (w->timed_out && (st == BERTH_ECALLBACK || st == BERTH_EINTERRUPT)) {
    snprintf(e->text, sizeof e->text, "no time left");
    return BERTH_EINTERRUPT;
  }
  if (st == BERTH_OK) e->text[0] = 0;
  if (st != BERTH_OK && !e->text[0]) snprintf(e->text, sizeof e->text, "%s", berth_errmsg(w->ctx));
  if (st != BERTH_OK && !e->text[0]) snprintf(e->text, sizeof e->text, "%s", berth_status_name(st));
  return st;
}

void berth_i_portfolio_try(berth_i_worker *w, int32_t member) {
  berth_i_run *r = w->run;
  berth_i_entry *e = &r->p->entry[member];
  berth_member_report *report = &r->p->report[member];
  double begin = berth_i_portfolio_now(r);
  w->untimed = e->baseline;
  w->timed_out = !e->baseline && time_is_up(r);
  if (atomic_load(&r->stopped) || w->timed_out) {
    berth_i_fail(w->ctx, BERTH_EINTERRUPT, "interrupted");
    report->status = verdict(w, e, BERTH_EINTERRUPT);
  } else {
    report->status = verdict(w, e, answer(w, member));
    report->seconds = berth_i_portfolio_now(r) - begin;
  }
  if (report->status == BERTH_ENOMEM || report->status == BERTH_ECALLBACK)
    atomic_store(&r->stopped, true);
  atomic_fetch_add(&r->done, 1);
}
