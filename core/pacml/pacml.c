/* The environment of PAC-ML: models, decisions, and a table of placements that were simulated, as
 * a step of the same pieces on the same servers always takes as long (open addressing, at most half
 * full, by a hash of 128 bits). */
#include "pacml_internal.h"

static void drop(berth_pacml *p) {
  berth_ramp *r = p->ramp;
  for (int32_t i = 0; p->model && i < p->n; i++) berth_ramp_model_release(p->model[i]);
  berth_ramp_planner_release(p->planner);
  berth_i_free(r->ctx, p->known, p->n_slots, sizeof *p->known);
  berth_i_pool_free(&p->pool);
  berth_ramp_release(r);
}

void berth_pacml_retain(berth_pacml *p) { p->refs++; }
void berth_pacml_release(berth_pacml *p) {
  if (p && --p->refs == 0) drop(p);
}

static berth_status fill(berth_pacml *p, berth_ramp_model *const *models) {
  size_t decisions = (size_t)p->most + 1;
  p->model = berth_i_pool_zalloc(&p->pool, (size_t)p->n, sizeof *p->model);
  p->decisions = berth_i_pool_alloc(&p->pool, decisions, sizeof *p->decisions);
  p->legal = berth_i_pool_zalloc(&p->pool, decisions, sizeof *p->legal);
  if (berth_i_pool_status(&p->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t i = 0; i < p->n; i++) berth_ramp_model_retain(p->model[i] = models[i]);
  for (int32_t d = 0; d <= p->most; d++) {
    if (d > 1 && d % 2 == 1) continue;
    p->decisions[p->n_decisions++] = d;
    p->legal[d] = d == 0 || berth_ramp_legal(p->ramp, d);
  }
  return berth_ramp_planner_new(p->ramp, &p->planner);
}

berth_status berth_pacml_new(berth_ramp *r, int32_t n, berth_ramp_model *const *models,
                             int32_t steps, int32_t most, berth_pacml **out) {
  if (!r || !out) return BERTH_EINVAL;
  berth_status st;
  if (n < 1) return berth_i_fail(r->ctx, BERTH_EINVAL, "pacml: there are no models");
  if (steps < 1)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "pacml: steps: expected at least 1, got %d",
                        (int)steps);
  if (most < 1 || most > BERTH_I_RAMP_SERVERS)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "pacml: most: expected 1 to %d pieces, got %d",
                        (int)BERTH_I_RAMP_SERVERS, (int)most);
  for (int32_t i = 0; i < n; i++)
    if (models[i]->ramp != r)
      return berth_i_fail(r->ctx, BERTH_EINVAL, "pacml: model %d was made for another cluster",
                          (int)i + 1);
  berth_pacml *p;
  if (!(p = berth_i_pool_object(r->ctx, sizeof *p))) return berth_i_nomem(r->ctx);
  p->ramp = r;
  p->refs = 1;
  p->n = n;
  p->steps = steps;
  p->most = most;
  berth_ramp_retain(r);
  if ((st = fill(p, models)) == BERTH_OK) *out = p;
  else drop(p);
  return st;
}

int32_t berth_pacml_most(const berth_pacml *p) { return p->most; }

double berth_pacml_sequential(const berth_pacml *p, int32_t model) {
  return model >= 0 && model < p->n ? p->steps * p->model[model]->sequential : NAN;
}

const char *berth_pacml_cause_name(berth_pacml_cause cause) {
  switch (cause) {
    case BERTH_PACML_ACCEPTED: return "accepted";
    case BERTH_PACML_REJECTED: return "rejected";
    case BERTH_PACML_PLACEMENT: return "op_placement";
    case BERTH_PACML_LATE: return "jct";
  }
  return NULL;
}

/* ---- known placements ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

/* Two streams of one splitmix-like step each: 128 bits, so that two placements with one hash are
 * out of the question. */
static void hash_placement(const berth_ramp_planner *p, int32_t groups, int32_t model,
                           int32_t decision, uint64_t hash[2]) {
  uint64_t a = mix(1, (uint64_t)model), b = mix(0xD1B54A32D192ED03u, (uint64_t)decision);
  for (int32_t v = 0; v < groups; v++)
    a = mix(a, (uint64_t)p->where[v]), b = mix(b, (uint64_t)p->where[v] + 7);
  for (int32_t i = 0; i < p->n_homes; i++)
    a = mix(a, (uint64_t)p->home[i]), b = mix(b, (uint64_t)p->home[i] + 13);
  hash[0] = a;
  hash[1] = b | 1;
}

static berth_i_pacml_known *find(const berth_pacml *p, const uint64_t hash[2]) {
  size_t i = p->n_slots > 0 ? hash[0] & (p->n_slots - 1) : 0;
  if (p->n_slots == 0) return NULL;
  for (;; i = (i + 1) & (p->n_slots - 1)) {
    berth_i_pacml_known *k = &p->known[i];
    if (k->hash[1] == 0 || (k->hash[0] == hash[0] && k->hash[1] == hash[1])) return k;
  }
}

static berth_status grow(berth_pacml *p) {
  berth_i_pacml_known *old = p->known;
  size_t before = p->n_slots, n = before > 0 ? 2 * before : 64;
  if (2 * (p->n_known + 1) <= before) return BERTH_OK;
  berth_i_pacml_known *made;
  if (!(made = berth_i_zalloc(p->ramp->ctx, n, sizeof *made))) return berth_i_nomem(p->ramp->ctx);
  p->known = made;
  p->n_slots = n;
  for (size_t i = 0; i < before; i++)
    if (old[i].hash[1] != 0) *find(p, old[i].hash) = old[i];
  berth_i_free(p->ramp->ctx, old, before, sizeof *old);
  return BERTH_OK;
}

static berth_status look(berth_pacml *p, int32_t model, int32_t decision, berth_ramp_outcome *out) {
  const berth_ramp_model *m = p->model[model];
  berth_status st = grow(p);
  if (st != BERTH_OK) return st;
  uint64_t hash[2];
  hash_placement(p->planner, 2 * m->n, model, decision, hash);
  berth_i_pacml_known *known = find(p, hash);
  if (known->hash[1] == 0) {
    if ((st = berth_i_ramp_schedule(p->planner, m, out)) != BERTH_OK) return st;
    if ((st = berth_i_ramp_lookahead(p->planner, m, out)) != BERTH_OK) return st;
    known->hash[0] = hash[0];
    known->hash[1] = hash[1];
    known->outcome = *out;
    p->n_known++;
  }
  *out = known->outcome;
  return BERTH_OK;
}

berth_status berth_i_pacml_plan(berth_pacml *p, int32_t model, int32_t decision,
                                const uint8_t *busy, int32_t n, const int32_t *block,
                                int32_t *servers, berth_ramp_outcome *out) {
  berth_status st =
      n > 0 ? berth_ramp_plan_on(p->planner, p->model[model], decision, busy, n, block, 0, servers,
                                 out)
            : berth_ramp_plan(p->planner, p->model[model], decision, busy, 0, servers, out);
  int32_t held = out->n_servers;
  if (st != BERTH_OK || out->cause != BERTH_RAMP_PLACED) return st;
  st = look(p, model, decision, out);
  out->n_servers = held;
  return st;
}
