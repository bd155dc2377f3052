/* Strategies of deployment as decisions. */
#include "search_internal.h"
#include <berth/deploy_search.h>

enum { STEPS_ABOVE = 6 };

berth_deploy_search_options berth_deploy_search_default(int published) {
  berth_deploy_search_options o = { 0 };
  o.decide = berth_decide_default(published);
  o.prior = published ? BERTH_DEPLOY_PRIOR_UNIFORM : BERTH_DEPLOY_PRIOR_LOCAL;
  o.sfb = published ? BERTH_DEPLOY_SFB_NONE : BERTH_DEPLOY_SFB_LOCAL;
  o.fill = published ? BERTH_FILL_FIRST : BERTH_FILL_NEAREST;
  o.temperature = 0.3;
  o.steps = -1;
  return o;
}

/* What the decider's functions work on. */
typedef struct seam {
  berth_deploy *d;
  berth_deploy_search_options o;
  uint8_t *duplicate; /* [ops] */
  double *peak;       /* [devices] */
} seam;

/* ---- values ------------------------------------------------------------------------------------ */

static double excess_of(const seam *s, const berth_deploy_value *v) {
  const berth_deploy *d = s->d;
  double sum = 0;
  if (v->over == 0) return 0;
  for (int32_t k = 0; k < d->n_devices; k++) {
    const double memory = d->t->devices[k].memory;
    if (s->peak[k] > memory) sum += memory > 0 ? s->peak[k] / memory - 1 : 1;
  }
  return sum > 0 ? sum : 1e-9;
}

static berth_status value_one(seam *s, const int32_t *action, double *value, double *excess) {
  berth_deploy_value v;
  berth_status st = berth_deploy_evaluate_rule(s->d, action, s->o.sfb, s->duplicate, s->peak, &v);
  if (st == BERTH_EUNREACHABLE) {
    *value = INFINITY;
    return BERTH_OK;
  }
  if (st != BERTH_OK) return st;
  *value = v.seconds;
  *excess = excess_of(s, &v);
  return BERTH_OK;
}

static berth_status value(void *ud, int32_t k, const int32_t *assignment, double *out, double *excess) {
  seam *s = ud;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    st = value_one(s, assignment + (size_t)i * (size_t)s->d->n_groups, out + i, excess + i);
  return st;
}

/* ---- priors -------------------------------------------------------------------------------------- */

/* Seconds to weights; nothing fits: all alike. */
static void soften(int32_t n, double temperature, double *x) {
  double least = INFINITY;
  for (int32_t a = 0; a < n; a++) least = fmin(least, x[a]);
  for (int32_t a = 0; a < n; a++)
    x[a] = isinf(x[a]) ? 0 : least > 0 ? exp(-(x[a] - least) / (temperature * least)) : x[a] == least;
}

static berth_status local(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  seam *s = ud;
  const int32_t n = s->d->n_actions;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k && st == BERTH_OK; i++) {
    double *row = p + (size_t)i * (size_t)n;
    st = berth_deploy_local(s->d, leaf[i].assignment, leaf[i].decision, row);
    if (st == BERTH_OK) soften(n, s->o.temperature, row);
  }
  return st;
}

static berth_status own(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  seam *s = ud;
  return s->o.own(s->o.ud, k, leaf, p);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void release(void *ud) {
  seam *s = ud;
  berth_deploy *d = s->d;
  berth_i_free(d->ctx, s->duplicate, (size_t)d->n_ops, sizeof *s->duplicate);
  berth_i_free(d->ctx, s->peak, (size_t)d->n_devices, sizeof *s->peak);
  berth_i_free(d->ctx, s, 1, sizeof *s);
  berth_deploy_release(d);
}

static berth_status make_seam(berth_deploy *d, const berth_deploy_search_options *o, seam **out) {
  seam *s = berth_i_zalloc(d->ctx, 1, sizeof *s);
  if (!s) return berth_i_nomem(d->ctx);
  berth_deploy_retain(s->d = d);
  s->o = *o;
  s->duplicate = berth_i_zalloc(d->ctx, (size_t)d->n_ops, sizeof *s->duplicate);
  s->peak = berth_i_zalloc(d->ctx, (size_t)d->n_devices, sizeof *s->peak);
  if (!s->duplicate || !s->peak) {
    release(s);
    return berth_i_nomem(d->ctx);
  }
  *out = s;
  return BERTH_OK;
}

/* ---- the first start --------------------------------------------------------------------------------- */

/* All devices, this option, even shares: the more of this the better. */
static int32_t all_devices(const berth_deploy *d, berth_deploy_option option) {
  int32_t best = 0, best_mark = -1;
  for (int32_t a = 0; a < d->n_actions; a++) {
    const berth_action *x = &d->action[a];
    const int32_t size = berth_i_place_size(d, d->set_place[x->set]);
    const int32_t mark = 4 * size + 2 * (x->option == option) + (x->shares == BERTH_SHARES_EVEN);
    if (mark <= best_mark) continue;
    best = a;
    best_mark = mark;
  }
  return best;
}

static void on_all(const berth_deploy *d, berth_deploy_option option, int32_t *start) {
  const int32_t all = all_devices(d, option);
  for (int32_t i = 0; i < d->n_groups; i++) {
    const uint8_t *legal = d->legal + (size_t)i * (size_t)d->n_actions;
    start[i] = all;
    if (legal[all]) continue;
    for (start[i] = 0; start[i] < d->n_actions && !legal[start[i]];) start[i]++;
  }
}

static berth_status fits(seam *s, const int32_t *action, bool *yes) {
  double seconds = 0, excess = 0;
  berth_status st = value_one(s, action, &seconds, &excess);
  *yes = excess == 0 && !isinf(seconds);
  return st;
}

/* DP; if it does not fit, model parallel, too; if that does not either, the chain cut by memory. */
static berth_status set_starts(seam *s, int32_t *start, int32_t *n) {
  berth_deploy *d = s->d;
  bool yes = false;
  berth_status st;
  *n = 1;
  on_all(d, BERTH_DEPLOY_ALLREDUCE, start);
  if ((st = fits(s, start, &yes)) != BERTH_OK || yes) return st;
  start += d->n_groups;
  on_all(d, BERTH_DEPLOY_SPLIT, start);
  *n = 2;
  if ((st = fits(s, start, &yes)) != BERTH_OK || yes) return st;
  if ((st = berth_i_chain(d, start + d->n_groups, &yes)) == BERTH_OK && yes) *n = 3;
  return st;
}

/* ---- actions in steps ---------------------------------------------------------------------------------- */

static bool in_steps(const berth_deploy *d, const berth_deploy_search_options *o) {
  return o->steps < 0 ? d->n_device_groups > STEPS_ABOVE : o->steps > 0;
}

/* Which part of each device group is in the set: none, all, or some. */
static bool is_union(const berth_deploy *d, int32_t place, int32_t *count, const int32_t *all) {
  for (int32_t m = 0; m < d->n_device_groups; m++) count[m] = 0;
  for (int32_t k = 0; k < berth_i_place_size(d, place); k++) count[d->device_group[berth_i_place_devices(d, place)[k]]]++;
  for (int32_t m = 0; m < d->n_device_groups; m++) {
    if (count[m] > 0 && count[m] < all[m]) return false;
    count[m] = count[m] > 0;
  }
  return true;
}

/* 0, a choice for each device group; or 1, the set. Then option and shares. @return the number of choices */
static int32_t write_path(const berth_deploy *d, int32_t action, int32_t *count, const int32_t *all, int32_t *out) {
  const berth_action *x = &d->action[action];
  int32_t n = 0;
  if (is_union(d, d->set_place[x->set], count, all)) {
    out[n++] = 0;
    for (int32_t m = 0; m < d->n_device_groups; m++) out[n++] = count[m];
  } else {
    out[n++] = 1;
    out[n++] = x->set;
  }
  out[n++] = (int32_t)x->option;
  out[n++] = (int32_t)x->shares;
  return n;
}

typedef struct tables {
  double *position;       /* [groups] */
  double *weight;         /* [groups] */
  double *seam;           /* [2 * groups] */
  int32_t *rank;          /* [groups] */
  uint8_t *everywhere;    /* [actions] */
  int32_t *start;         /* [3 * groups] */
  int32_t *at, *path;     /* [actions + 1], [actions * most] */
  int32_t *count;         /* [2 * device groups] */
  size_t groups, actions, most, device_groups;
} tables;

static void write_paths(const berth_deploy *d, tables *t) {
  int32_t *all = t->count + d->n_device_groups;
  for (int32_t m = 0; m < d->n_device_groups; m++) all[m] = 0;
  for (int32_t k = 0; k < d->n_devices; k++) all[d->device_group[k]]++;
  t->at[0] = 0;
  for (int32_t a = 0; a < d->n_actions; a++) t->at[a + 1] = t->at[a] + write_path(d, a, t->count, all, t->path + t->at[a]);
}

static berth_status alloc_tables(const berth_deploy *d, tables *t) {
  t->groups = (size_t)d->n_groups;
  t->actions = (size_t)d->n_actions;
  t->device_groups = (size_t)d->n_device_groups;
  t->most = t->device_groups + 4;
  t->position = berth_i_alloc(d->ctx, t->groups, sizeof *t->position);
  t->weight = berth_i_alloc(d->ctx, t->groups, sizeof *t->weight);
  t->seam = berth_i_alloc(d->ctx, 2 * t->groups, sizeof *t->seam);
  t->rank = berth_i_alloc(d->ctx, t->groups, sizeof *t->rank);
  t->everywhere = berth_i_alloc(d->ctx, t->actions, 1);
  t->start = berth_i_alloc(d->ctx, 3 * t->groups, sizeof *t->start);
  t->at = berth_i_alloc(d->ctx, t->actions + 1, sizeof *t->at);
  t->path = berth_i_alloc(d->ctx, t->actions * t->most, sizeof *t->path);
  t->count = berth_i_alloc(d->ctx, 2 * t->device_groups, sizeof *t->count);
  return t->position && t->weight && t->seam && t->rank && t->everywhere &&
             t->start && t->at && t->path && t->count ? BERTH_OK : berth_i_nomem(d->ctx);
}

static void free_tables(const berth_deploy *d, tables *t) {
  berth_i_free(d->ctx, t->position, t->groups, sizeof *t->position);
  berth_i_free(d->ctx, t->weight, t->groups, sizeof *t->weight);
  berth_i_free(d->ctx, t->seam, 2 * t->groups, sizeof *t->seam);
  berth_i_free(d->ctx, t->rank, t->groups, sizeof *t->rank);
  berth_i_free(d->ctx, t->everywhere, t->actions, 1);
  berth_i_free(d->ctx, t->start, 3 * t->groups, sizeof *t->start);
  berth_i_free(d->ctx, t->at, t->actions + 1, sizeof *t->at);
  berth_i_free(d->ctx, t->path, t->actions * t->most, sizeof *t->path);
  berth_i_free(d->ctx, t->count, 2 * t->device_groups, sizeof *t->count);
}

/* ---- the decider ------------------------------------------------------------------------------------------ */

static berth_status check(berth_ctx *ctx, const berth_deploy_search_options *o) {
  if (!(o->temperature > 0) || isinf(o->temperature))
    return berth_i_fail(ctx, BERTH_EINVAL, "temperature is %g, expected a finite number above 0", o->temperature);
  if ((unsigned)o->prior > BERTH_DEPLOY_PRIOR_OWN || (o->prior == BERTH_DEPLOY_PRIOR_OWN && !o->own))
    return berth_i_fail(ctx, BERTH_EINVAL, "prior %d without a function", (int)o->prior);
  if (o->fill == BERTH_FILL_OWN) return berth_i_fail(ctx, BERTH_EINVAL, "fill: a function of one's own is not for deployments");
  return BERTH_OK;
}

static berth_status make(berth_deploy *d, const berth_deploy_search_options *o, tables *t, berth_decider **out) {
  berth_decisions p = { 0 };
  seam *s = NULL;
  berth_status st = berth_i_search_positions(d, t->position);
  if (st == BERTH_OK) st = make_seam(d, o, &s);
  if (st != BERTH_OK) return st;
  p.n_starts = o->n_starts;
  if (o->n_starts == 0 && (st = set_starts(s, t->start, &p.n_starts)) != BERTH_OK) {
    release(s);
    return st;
  }
  berth_i_search_weights(d, t->weight);
  berth_i_search_seams(d, t->position, t->rank, t->seam);
  berth_i_search_everywhere(d, t->everywhere);
  p.n = d->n_groups;
  p.n_actions = d->n_actions;
  p.legal = d->legal;
  p.position = t->position;
  p.weight = t->weight;
  p.seam = t->seam;
  p.everywhere = t->everywhere;
  p.start = o->n_starts > 0 ? o->start : t->start;
  p.fill = o->fill;
  p.value = value;
  p.prior = o->prior == BERTH_DEPLOY_PRIOR_LOCAL ? local : o->prior == BERTH_DEPLOY_PRIOR_OWN ? own : NULL;
  p.release = release;
  p.ud = s;
  if (in_steps(d, o)) {
    write_paths(d, t);
    p.path_at = t->at;
    p.path = t->path;
  }
  return berth_decider_new(d->ctx, &p, &o->decide, out);
}

berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts, berth_decider **out) {
  const berth_deploy_search_options o = opts ? *opts : berth_deploy_search_default(0);
  tables t = { 0 };
  berth_status st = check(d->ctx, &o);
  if (st != BERTH_OK) return st;
  if ((st = alloc_tables(d, &t)) == BERTH_OK) st = make(d, &o, &t, out);
  free_tables(d, &t);
  return st;
}
