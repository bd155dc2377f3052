/* A decision from one end to the other. */
#include "ramp_internal.h"

static berth_status check(berth_ramp_planner *p, const berth_ramp_model *m, int32_t most) {
  berth_ctx *ctx = p->ramp->ctx;
  if (m->ramp != p->ramp)
    return berth_i_fail(ctx, BERTH_EINVAL, "ramp: the model was made for another cluster");
  if (most < 1 || (most > 1 && most % 2 != 0))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "ramp: most pieces: expected 1 or an even number, got %d", (int)most);
  return BERTH_OK;
}

/* A job that is placed: what it holds, and, if asked, what a step of it takes. */
static berth_status evaluate_placed(berth_ramp_planner *p, const berth_ramp_model *m, int look,
                            int32_t *servers, berth_ramp_outcome *o) {
  berth_status st = BERTH_OK;
  p->n_seats = 0;
  for (int32_t s = 0; s < p->ramp->servers; s++)
    if (p->mine[s]) p->seat[p->n_seats++] = s;
  o->n_servers = p->n_seats;
  if (look) st = berth_i_ramp_schedule(p, m, o);
  if (look && st == BERTH_OK) st = berth_i_ramp_look(p, m, o);
  for (int32_t i = 0; st == BERTH_OK && servers && i < p->n_seats; i++) servers[i] = p->seat[i];
  return st;
}

static berth_status plan(berth_ramp_planner *p, const berth_ramp_model *m, const uint8_t *busy,
                         int look, int32_t *servers, berth_ramp_outcome *out) {
  berth_ramp_outcome o = { .op = BERTH_NONE };
  berth_status st = berth_i_ramp_place(p, m, busy, &o);
  if (st != BERTH_OK) return st;
  if (o.cause == BERTH_RAMP_PLACED && (st = evaluate_placed(p, m, look, servers, &o)) != BERTH_OK)
    return st;
  *out = o;
  return BERTH_OK;
}

berth_status berth_ramp_plan(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                             const uint8_t *busy, int look, int32_t *servers,
                             berth_ramp_outcome *out) {
  berth_status st = check(p, m, most);
  if (st == BERTH_OK) st = berth_i_ramp_cut(p, m, most);
  return st == BERTH_OK ? plan(p, m, busy, look, servers, out) : st;
}

static berth_status check_block(const berth_ramp_planner *p, const berth_ramp_model *m, int32_t n,
                                const int32_t *block) {
  int32_t most = 1;
  for (int32_t i = 0; i < m->n; i++)
    if (p->pieces[m->forward[i]] > most) most = p->pieces[m->forward[i]];
  if (n != most)
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: a block of %d servers for ops with %d pieces", (int)n, (int)most);
  if (!berth_i_ramp_is_block(p->ramp, n, block))
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: %d servers from server %d on are no legal block", (int)n,
                        (int)block[0]);
  return BERTH_OK;
}

berth_status berth_ramp_plan_on(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                                const uint8_t *busy, int32_t n, const int32_t *block, int look,
                                int32_t *servers, berth_ramp_outcome *out) {
  berth_status st = check(p, m, most);
  if (st == BERTH_OK) st = berth_i_ramp_cut(p, m, most);
  if (st == BERTH_OK) st = check_block(p, m, n, block);
  if (st != BERTH_OK) return st;
  p->wish = block;
  p->n_wish = n;
  st = plan(p, m, busy, look, servers, out);
  p->n_wish = 0;
  return st;
}
