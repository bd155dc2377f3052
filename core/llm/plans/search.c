/* The search: plans in order of their bounds; the best of all, of each split, of each kind, and the
 * front. A plan is valued in closed form unless it does not fit or no list can take it. */
#include "plans_internal.h"

/* WIDE: candidates for a finalist, since another split of the layers changes their order. */
enum { LISTS = 5, TURN = 256, WIDE = 8 };

struct berth_llm_search {
  berth_i_pool pool;
  int32_t refs;
  berth_llm_search_about about;
  berth_llm_found *found;
};

/* ---- lists of the best ---- */

typedef struct valued {
  const berth_i_llm_entry *e;
  double closed, memory, value;
} valued;

/* The best of those that belong to it, least value first; `split`: one of each split. */
typedef struct list {
  valued *at;
  int32_t n, most;
  bool split;
} list;

typedef struct search {
  berth_i_llm_space *s;
  const berth_llm_search_options *o;
  list list[LISTS];        /* in the order of the role bits */
  valued *front;           /* closed rises, memory falls */
  size_t n_front, cap_front;
  valued least;            /* memory of all that were tried */
  berth_llm_search_about about;
  berth_i_llm_valuer v;
} search;

static bool same_split(const berth_i_llm_space *s, const berth_i_llm_entry *a,
                       const berth_i_llm_entry *b) {
  const berth_i_llm_cell *x = &s->cell[a->cell], *y = &s->cell[b->cell];
  return a->pp == b->pp && x->tp == y->tp && x->cp == y->cp && x->ep == y->ep && x->etp == y->etp;
}

/* Whether a list takes the entry at all. */
static bool belongs(const berth_i_llm_space *s, int which, const berth_i_llm_entry *e) {
  const berth_i_llm_cell *x = &s->cell[e->cell];
  switch (1 << which) {
  case BERTH_LLM_BEST_NO_PP: return e->pp == 1;
  case BERTH_LLM_BEST_NO_TP: return x->tp == 1;
  case BERTH_LLM_BEST_ZERO_3: return e->zero == 3 && e->pp == 1 && x->tp == 1 && x->cp == 1;
  default: return true;
  }
}

static int32_t find_split(const berth_i_llm_space *s, const list *l, const berth_i_llm_entry *e) {
  for (int32_t i = 0; i < l->n && l->split; i++)
    if (same_split(s, l->at[i].e, e)) return i;
  return l->n;
}

/* A value has to be below it. */
static double limit_of(const berth_i_llm_space *s, const list *l, const berth_i_llm_entry *e) {
  int32_t at = find_split(s, l, e);
  if (at < l->n) return l->at[at].value;
  return l->n < l->most ? INFINITY : l->at[l->n - 1].value;
}

static bool useful(const search *x, const berth_i_llm_entry *e, double value) {
  for (int i = 0; i < LISTS; i++)
    if (belongs(x->s, i, e) && value < limit_of(x->s, &x->list[i], e)) return true;
  return false;
}

static void put(const berth_i_llm_space *s, list *l, const valued *v) {
  if (!(v->value < limit_of(s, l, v->e))) return;
  int32_t at = find_split(s, l, v->e);
  if (at == l->n && l->n < l->most) l->n++;
  if (at == l->most) at--;
  for (; at > 0 && l->at[at - 1].value > v->value; at--) l->at[at] = l->at[at - 1];
  l->at[at] = *v;
}

/* ---- the front ---- */

static bool beyond_front(const search *x, double closed, double memory) {
  for (size_t i = 0; i < x->n_front; i++)
    if (x->front[i].closed <= closed && x->front[i].memory <= memory) return true;
  return false;
}

static berth_status put_front(search *x, const valued *v) {
  size_t n = 0;
  if (beyond_front(x, v->closed, v->memory)) return BERTH_OK;
  for (size_t i = 0; i < x->n_front; i++) {
    const valued *y = &x->front[i];
    if (y->closed < v->closed || y->memory < v->memory) x->front[n++] = *y;
  }
  x->n_front = n;
  if (n == x->cap_front) {
    berth_status st = BERTH_I_POOL_GROW(&x->s->pool, x->front, x->cap_front, n + 1);
    if (st != BERTH_OK) return st;
  }
  for (; n > 0 && x->front[n - 1].closed > v->closed; n--) x->front[n] = x->front[n - 1];
  x->front[n] = *v;
  x->n_front++;
  return BERTH_OK;
}

/* ---- values ---- */

/* What the value of an entry cannot be below, without its closed form. */
static double least_value(const search *x, const berth_i_llm_entry *e, double memory) {
  if (x->o->value) return -INFINITY;
  return x->o->objective == BERTH_LLM_SMALLEST ? memory : e->bound;
}

static berth_status objective_of(const search *x, const berth_llm_plan *filled, valued *v) {
  berth_llm_found y = { .plan = *filled, .closed = v->closed, .step = (double)NAN,
                        .memory = v->memory };
  berth_status st = berth_i_llm_value_of(&x->v, &y);
  v->value = y.value;
  return st;
}

static berth_status visit(search *x, const berth_i_llm_entry *e) {
  valued v = { .e = e };
  double share;
  double most = x->o->time > 0 ? x->o->time : INFINITY;
  if (e->bound > most || (!x->o->front && !useful(x, e, least_value(x, e, 0)))) {
    x->about.bounded++;
    return BERTH_OK;
  }
  berth_llm_plan p = berth_i_llm_entry_plan(x->s, e);
  berth_status st = berth_llm_plan_fill(x->s->m, x->s->c, &p);
  if (berth_i_llm_refusal(st)) {
    x->about.refused++;
    return BERTH_OK;
  }
  if (st == BERTH_OK) st = berth_i_llm_value_memory(&x->v, &p, &v.memory, &share);
  if (st != BERTH_OK) return st;
  if (!x->least.e || v.memory < x->least.memory) x->least = v;
  if (share > x->o->fill) {
    x->about.unfit++;
    return BERTH_OK;
  }
  if (!useful(x, e, least_value(x, e, v.memory))
      && !(x->o->front && !beyond_front(x, e->bound, v.memory))) {
    x->about.bounded++;
    return BERTH_OK;
  }
  st = berth_i_llm_value_closed(&x->v, &p, &v.closed);
  if (berth_i_llm_refusal(st)) {
    x->about.failed++;
    return BERTH_OK;
  }
  if (st != BERTH_OK) return st;
  if ((st = objective_of(x, &p, &v)) != BERTH_OK) return st;
  if (isinf(v.value)) {
    x->about.excluded++;
    return BERTH_OK;
  }
  x->about.valued++;
  if (v.closed > most) return BERTH_OK;
  for (int i = 0; i < LISTS; i++)
    if (belongs(x->s, i, e)) put(x->s, &x->list[i], &v);
  return x->o->front ? put_front(x, &v) : BERTH_OK;
}

/* True: calls or seconds are used up, or there was an interrupt. */
static bool over(const search *x, size_t i, double started) {
  berth_ctx *ctx = x->s->m->pool.ctx;
  if (x->o->calls > 0 && x->about.valued >= x->o->calls) return true;
  if (i % TURN) return false;
  if (berth_i_interrupted(ctx) != BERTH_OK) return true;
  berth_i_progress(ctx, "plans", x->s->n ? (double)i / (double)x->s->n : 1);
  return x->o->seconds > 0 && berth_i_ctx_clock(ctx) - started >= x->o->seconds;
}

static berth_status visit_all(search *x, double started) {
  for (size_t i = 0; i < x->s->n; i++) {
    x->about.left = (int64_t)(x->s->n - i);
    if (over(x, i, started)) return BERTH_OK;
    berth_status st = visit(x, &x->s->entry[i]);
    if (st != BERTH_OK) return st;
  }
  x->about.left = 0;
  return BERTH_OK;
}

/* ---- what was found ---- */

static berth_status add_found(berth_llm_search *out, const search *x, const valued *v,
                              const berth_i_llm_entry **of, int32_t roles) {
  for (int32_t i = 0; i < out->about.n; i++)
    if (of[i] == v->e) {
      out->found[i].roles |= roles;
      return BERTH_OK;
    }
  berth_llm_found *y = &out->found[out->about.n];
  of[out->about.n++] = v->e;
  *y = (berth_llm_found){ .plan = berth_i_llm_entry_plan(x->s, v->e), .roles = roles,
                          .closed = v->closed, .step = (double)NAN, .memory = v->memory,
                          .value = v->value };
  return berth_llm_plan_fill(x->s->m, x->s->c, &y->plan);
}

static berth_status collect(search *x, berth_llm_search *out) {
  size_t most = x->n_front + 1;
  for (int i = 0; i < LISTS; i++) most += (size_t)x->list[i].n;
  out->found = berth_i_pool_alloc(&out->pool, most, sizeof *out->found);
  const berth_i_llm_entry **of = berth_i_pool_alloc(&x->s->pool, most, sizeof *of);
  if (!out->found || !of) return berth_i_nomem(x->s->m->pool.ctx);
  berth_status st = BERTH_OK;
  for (int i = 0; i < LISTS; i++)
    for (int32_t k = 0; k < x->list[i].n && st == BERTH_OK; k++)
      st = add_found(out, x, &x->list[i].at[k], of, 1 << i);
  for (size_t k = 0; k < x->n_front && st == BERTH_OK; k++)
    st = add_found(out, x, &x->front[k], of, BERTH_LLM_ON_FRONT);
  out->about.fits = out->about.n > 0;
  if (st != BERTH_OK || out->about.fits || !x->least.e) return st;
  if ((st = add_found(out, x, &x->least, of, 0)) != BERTH_OK) return st;
  st = berth_i_llm_value_closed(&x->v, &out->found[0].plan, &out->found[0].closed);
  return berth_i_llm_refusal(st) ? BERTH_OK : st;
}

/* ---- the whole ---- */

static berth_status open_search(search *x) {
  berth_i_pool *pool = &x->s->pool;
  int32_t n = WIDE * x->o->finalists, most[LISTS] = { n, n / 2, 1, 1, 1 };
  for (int i = 0; i < LISTS; i++) {
    x->list[i] = (list){ .at = berth_i_pool_alloc(pool, (size_t)most[i], sizeof(valued)),
                         .most = most[i], .split = 1 << i == BERTH_LLM_BEST_SPLIT };
  }
  x->v = (berth_i_llm_valuer){ x->s, x->o, berth_i_pool_alloc(pool, (size_t)x->s->m->about.layers,
                                                            sizeof *x->v.stage) };
  return berth_i_pool_status(pool);
}

static berth_status check(const berth_llm *m, const berth_llm_search_options *o) {
  berth_ctx *ctx = m->pool.ctx;
  berth_status st = berth_options_check(ctx, berth_llm_search_option_table(), o);
  if (st == BERTH_OK) st = berth_options_check(ctx, berth_llm_plan_option_table(), &o->plan);
  if (st == BERTH_OK) st = berth_options_check(ctx, berth_llm_estimate_option_table(),
                                               &o->estimate);
  if (st == BERTH_OK && o->plan.global_batch < 1)
    st = berth_i_fail(ctx, BERTH_EINVAL, "a search requires global_batch: sequences of a step");
  return st;
}

static berth_status search_space(search *x, berth_llm_search *out, double started) {
  berth_status st = open_search(x);
  x->about.refused = x->s->refused;
  if (st == BERTH_OK && !x->s->n)
    st = berth_i_fail(x->s->m->pool.ctx, BERTH_EINVAL, "none of %lld combinations divides the "
                      "GPUs, the model and the batch: %d GPUs, %d layers, global_batch %d, seq %d; "
                      "leave parts open, or change the batch", (long long)x->s->refused,
                      (int)berth_llm_cluster_size(x->s->c), (int)x->s->m->about.layers,
                      (int)x->o->plan.global_batch, (int)x->o->plan.seq);
  if (st == BERTH_OK) st = berth_i_llm_space_order(x->s, &x->about);
  x->about.left = (int64_t)x->s->n;
  if (st == BERTH_OK) st = visit_all(x, started);
  if (st == BERTH_EINTERRUPT) st = BERTH_OK;
  if (st != BERTH_OK) return st;
  x->about.best = x->list[0].n ? x->list[0].at[0].value : (double)NAN;
  out->about = x->about;
  if ((st = collect(x, out)) != BERTH_OK || !out->about.fits) return st;
  return berth_i_llm_run_finalists(&x->v, &out->pool, started, out->found, &out->about.n);
}

berth_status berth_llm_search_run(const berth_llm *m, const berth_llm_cluster *c,
                                  const berth_llm_search_options *opts, berth_llm_search **out) {
  if (!m || !c || !out) return BERTH_EINVAL;
  berth_ctx *ctx = m->pool.ctx;
  berth_llm_search_options o = opts ? *opts : berth_llm_search_default();
  berth_i_llm_space space;
  search x = { .s = &space, .o = &o };
  double started = berth_i_ctx_clock(ctx);
  berth_status st = check(m, &o);
  if (st != BERTH_OK) return st;
  berth_llm_search *made = berth_i_pool_object(ctx, sizeof *made);
  if (!made) return berth_i_nomem(ctx);
  made->refs = 1;
  st = berth_i_llm_space_make(m, c, &o, &space);
  if (st == BERTH_OK) st = search_space(&x, made, started);
  berth_i_pool_free(&space.pool);
  if (st == BERTH_OK) {
    *out = made;
    return BERTH_OK;
  }
  berth_i_pool_free(&made->pool);
  return st;
}

void berth_llm_search_retain(berth_llm_search *s) {
  if (s) s->refs++;
}

void berth_llm_search_release(berth_llm_search *s) {
  if (s && --s->refs == 0) berth_i_pool_free(&s->pool);
}

const berth_llm_search_about *berth_llm_search_about_of(const berth_llm_search *s) {
  return &s->about;
}

const berth_llm_found *berth_llm_search_plans(const berth_llm_search *s) { return s->found; }
