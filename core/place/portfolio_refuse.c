/* When no answer of the portfolio keeps memory: a proof that nothing can, else what came
 * closest. */
#include "portfolio_internal.h"
#include <stdio.h>

/* Bytes that a member lacked; 0: something else stopped it. */
static double lacks(const berth_member_report *m) {
  return m->oom || m->status == BERTH_EINFEASIBLE ? fmax(m->why.missing, 0) : 0;
}

/* Of those that lack the same, one that has an answer. */
static bool closer(const berth_member_report *a, const berth_member_report *b) {
  if (lacks(a) != lacks(b)) return lacks(a) < lacks(b);
  return a->oom && !b->oom;
}

static const berth_member_report *closest(const berth_portfolio *p) {
  const berth_member_report *best = NULL;
  for (int32_t i = 0; i < p->n; i++) {
    const berth_member_report *m = &p->report[i];
    if (lacks(m) > 0 && (!best || closer(m, best))) best = m;
  }
  return best;
}

static const berth_member_report *first_that_ran(const berth_portfolio *p) {
  for (int32_t i = 0; i < p->n; i++) {
    if (p->report[i].status != BERTH_EINTERRUPT) return &p->report[i];
  }
  return NULL;
}

/* A list placer keeps memory in its own order, which that of the judge need not follow. */
static berth_status holds_as_planned(const berth_i_run *r, const berth_member_report *m,
                                     bool *yes) {
  berth_sim_options o = r->judge;
  *yes = false;
  if (!m->oom || !m->placement->sequence) return BERTH_OK;
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = m->placement->sequence;
  o.rank = NULL;
  o.preempt = 0;
  berth_result *result;
  berth_status st;
  if ((st = berth_simulate(r->cost, m->placement->device, &o, &result)) != BERTH_OK) {
    return st == BERTH_ENOMEM || st == BERTH_EINTERRUPT ? st : BERTH_OK;
  }
  berth_oom oom;
  *yes = !berth_result_oom(result, &oom);
  berth_result_release(result);
  return BERTH_OK;
}

static berth_status write_hint(const berth_i_run *r, char *buf, size_t size) {
  berth_status st = BERTH_OK;
  bool yes = false;
  buf[0] = 0;
  for (int32_t i = 0; st == BERTH_OK && !yes && i < r->p->n; i++) {
    const berth_member_report *m = &r->p->report[i];
    if ((st = holds_as_planned(r, m, &yes)) == BERTH_OK && yes) {
      snprintf(buf, size, "; with dispatch = \"planned\" that of %.60s keeps memory", m->name);
    }
  }
  return st;
}

/* What the others would have found is not known. (A proof was sought before: where there is one,
 * that is the message.) */
static void write_time(const berth_portfolio *p, char *buf, size_t size) {
  int32_t late = 0, n = p->n;
  for (int32_t i = 0; i < n; i++) late += p->report[i].status == BERTH_EINTERRUPT;
  buf[0] = 0;
  if (late > 0)
    snprintf(buf, size, "no time left for %d of %d members, and not proved that nothing fits: ",
             (int)late, (int)n);
}

/* The member that came closest, with its own message. */
static berth_status say_refusal(berth_ctx *ctx, const berth_member_report *m, const char *late) {
  static const char none[] = "no placement found: ";
  const char *reason = strstr(m->message, none);
  if (m->status != BERTH_EINFEASIBLE && m->placer)
    return berth_i_fail(ctx, m->status, "portfolio: %s%s", late, m->message);
  if (m->status != BERTH_EINFEASIBLE)
    return berth_i_fail(ctx, m->status, "portfolio: %s%s: %s", late, m->name, m->message);
  return berth_i_fail(ctx, m->status, "portfolio: %sno placement found (closest: %s, %s)", late,
                      m->name, reason ? reason + strlen(none) : m->message);
}

static berth_status say_closest(const berth_i_run *r, const berth_member_report *m,
                                const char *late) {
  char hint[120];
  berth_status st = write_hint(r, hint, sizeof hint);
  if (st != BERTH_OK) return st;
  char op[160], device[160], bytes[32];
  return berth_i_fail(r->cost->ctx, BERTH_EINFEASIBLE,
                      "portfolio: %sno placement found: that of %s comes closest, but %s runs out "
                      "of memory on %s: %s are missing%s",
                      late, m->name, berth_i_op_label(r->cost->g, m->why.op, op, sizeof op),
                      berth_i_device_label(r->cost->t, m->why.device, device, sizeof device),
                      berth_quantity_format(m->why.missing, BERTH_BYTES, bytes, sizeof bytes),
                      hint);
}

berth_status berth_i_portfolio_refuse(const berth_i_run *r, berth_obstacle *why) {
  berth_ctx *ctx = r->cost->ctx;
  const berth_member_report *m = closest(r->p);
  berth_status st = BERTH_OK; /* for built-in members it is known that there is no proof */
  if (r->o->n_members > 0)
    st = berth_i_prove_infeasible(r->cost, "portfolio", r->judge.memory, r->judge.param_multiple,
                                  why);
  if (st != BERTH_OK) return st;
  if (!m) m = first_that_ran(r->p);
  if (!m)
    return berth_i_fail(ctx, BERTH_EINTERRUPT,
                        "portfolio: no time left before any member answered; not proved that "
                        "nothing fits");
  char late[100];
  write_time(r->p, late, sizeof late);
  *why = m->why;
  if (m->oom) return say_closest(r, m, late);
  return say_refusal(ctx, m, late);
}
