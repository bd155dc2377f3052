/* The space: all combinations of the parts that divide, each with a lower bound of its step.
 *
 * Loops from outside: tp, cp, ep, etp, micro_batch, sequence_parallel (a cell: layers have one
 * price), then pp (with dp), schedule with vp and layer split, recompute, zero.
 *
 * The bound: the passes of a cell's layers, summed by stage as the plan splits them, each layer at
 * the price of the fastest group of GPUs; in the order of the schedule a stage runs all passes of
 * its micro-batches one after another, behind the first passes of those before it. Data
 * parallelism, transfers between stages and the optimiser only add to that, and passes on slower
 * GPUs, too. So no plan is faster, by the closed form as on the event loop. */
#include "plans_internal.h"
#include "base/sort_internal.h"

enum { RECOMPUTES = 3 };

/* The prices of a cell: sums over the layers before each one. */
typedef struct prices {
  bool made[RECOMPUTES];
  double *forward[RECOMPUTES], *input[RECOMPUTES], *weight[RECOMPUTES]; /* [layers + 1] */
  double embedding[3], head[3];   /* forward, input, weight */
} prices;

typedef struct walk {
  berth_i_llm_space *s;
  const berth_llm_search_options *o;
  berth_llm_plan p;               /* of the loops; not filled */
  prices x;
  int32_t gpus, n_gpu_divisors, n_batch_divisors;
  int32_t *gpu_divisor, *batch_divisor;
  int32_t *at, *other;            /* [layers + 1] starts of places */
  double *f, *b, *lead;           /* [layers] of stages: forward, backward; lead: of a place */
} walk;

/* ---- the values of each part ---- */

static int32_t *divisors(berth_i_pool *pool, int32_t n, int32_t *count) {
  int32_t k = 0;
  for (int32_t d = 1; d <= n / d; d++)
    if (n % d == 0) k += d == n / d ? 1 : 2;
  int32_t *out = berth_i_pool_alloc(pool, (size_t)k, sizeof *out);
  *count = k;
  if (!out) return NULL;
  for (int32_t d = 1, low = 0, high = k; d <= n / d; d++)
    if (n % d == 0) out[low++] = d, out[--high] = n / d;
  return out;
}

/* The list that the caller gave, or another one. */
typedef struct values {
  const int32_t *x;
  int32_t n;
} values;

static values either(const int32_t *given, int32_t n, const int32_t *rest, int32_t n_rest) {
  return n > 0 ? (values){ given, n } : (values){ rest, n_rest };
}
#define GIVEN(o, part, rest, n_rest) either((o)->part, (o)->n_##part, rest, n_rest)

static bool has(const int32_t *list, int32_t n, int32_t x) {
  for (int32_t i = 0; i < n; i++)
    if (list[i] == x) return true;
  return n == 0;
}

static values schedules_of(const berth_llm_search_options *o) {
  static const int32_t usual[] = { BERTH_LLM_1F1B, BERTH_LLM_INTERLEAVED },
                       titan[] = { BERTH_LLM_1F1B, BERTH_LLM_INTERLEAVED, BERTH_LLM_ZB_V,
                                   BERTH_LLM_DUALPIPE_V };
  switch (o->plan.framework) {
  case BERTH_LLM_TORCHTITAN: return GIVEN(o, schedule, titan, 4);
  case BERTH_LLM_DEEPSPEED: return GIVEN(o, schedule, usual, 1);
  default: return GIVEN(o, schedule, usual, 2);
  }
}

/* torchtitan shards over cp, too, if it has it. */
static values zeros_of(const berth_llm_search_options *o, int32_t dp, int32_t cp) {
  static const int32_t usual[] = { 0, 1, 3 }, fsdp[] = { 0, 2, 3 };
  if (dp * cp == 1) return GIVEN(o, zero, usual, 1);
  if (!berth_i_llm_is_fsdp(&o->plan)) return GIVEN(o, zero, usual, 3);
  bool shards = cp > 1 && o->plan.framework == BERTH_LLM_TORCHTITAN;
  return shards ? GIVEN(o, zero, fsdp + 1, 2) : GIVEN(o, zero, fsdp, 3);
}

static values recomputes_of(const berth_llm_search_options *o) {
  static const int32_t all[] = { BERTH_LLM_RECOMPUTE_NONE, BERTH_LLM_FULL, BERTH_LLM_SELECTIVE };
  return GIVEN(o, recompute, all, o->plan.framework == BERTH_LLM_FSDP ? 2 : 3);
}

/* Megatron requires it for experts with tp, torchtitan has no tp without it. */
static values sequences_of(const berth_llm_search_options *o, const berth_llm_plan *p) {
  static const int32_t both[] = { 0, 1 };
  if (p->tp == 1 || p->framework == BERTH_LLM_DEEPSPEED)
    return GIVEN(o, sequence_parallel, both, 1);
  bool on = p->ep > 1 || p->framework == BERTH_LLM_TORCHTITAN;
  return on ? GIVEN(o, sequence_parallel, both + 1, 1) : GIVEN(o, sequence_parallel, both, 2);
}

/* FSDP is data parallelism alone. */
static values degrees(const walk *w, const int32_t *given, int32_t n, bool has) {
  bool alone = w->o->plan.framework == BERTH_LLM_FSDP || !has;
  return either(given, n, w->gpu_divisor, alone ? 1 : w->n_gpu_divisors);
}

/* ---- prices ---- */

static void lower(double out[3], const berth_i_llm_passes *x, bool first) {
  double t[3] = { berth_i_llm_sum(&x->forward), berth_i_llm_sum(&x->input),
                  berth_i_llm_sum(&x->weight) };
  for (int k = 0; k < 3; k++) out[k] = first ? t[k] : fmin(out[k], t[k]);
}

/* Each layer at the price of the group where it is least. */
static berth_status price(walk *w, int32_t recompute) {
  const berth_llm *m = w->s->m;
  const berth_llm_gpus *g;
  prices *x = &w->x;
  berth_llm_plan p = w->p;
  double kind[BERTH_I_LLM_KINDS][3];
  p.recompute = (berth_llm_recompute)recompute;
  p.zero = -1, p.reshard = BERTH_LLM_AUTO; /* prices do not depend on these */
  berth_status st = berth_llm_plan_fill(m, w->s->c, &p);
  int32_t n = berth_llm_cluster_groups(w->s->c, &g);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    berth_i_llm_prices at;
    berth_i_llm_passes pass;
    if ((st = berth_i_llm_prices_of(m->pool.ctx, m, &p, &g[i], &w->s->f, &at)) != BERTH_OK) break;
    bool again = recompute == BERTH_LLM_FULL && !p.recompute_layers;
    for (int32_t k = 0; k < m->about.kinds; k++) {
      berth_i_llm_price_layer(&at, k, again, &pass);
      lower(kind[k], &pass, i == 0);
    }
    berth_i_llm_price_embedding(&at, &pass);
    lower(x->embedding, &pass, i == 0);
    berth_i_llm_price_head(&at, &pass);
    lower(x->head, &pass, i == 0);
  }
  for (int32_t l = 0; l < m->about.layers && st == BERTH_OK; l++) {
    const double *t = kind[m->layer[l]];
    x->forward[recompute][l + 1] = x->forward[recompute][l] + t[0];
    x->input[recompute][l + 1] = x->input[recompute][l] + t[1];
    x->weight[recompute][l + 1] = x->weight[recompute][l] + t[2];
  }
  x->made[recompute] = true;
  return st;
}

/* ---- the bound ---- */

static void sum_stages(walk *w, int32_t recompute) {
  const berth_llm_plan *p = &w->p;
  const prices *x = &w->x;
  const double *f = x->forward[recompute], *in = x->input[recompute], *we = x->weight[recompute],
               launch = w->s->f.launch;
  int32_t n = p->pp * p->vp;
  for (int32_t s = 0; s < p->pp; s++) {
    double forward = 0, backward = 0;
    for (int32_t c = 0; c < p->vp; c++) {
      int32_t i = berth_i_llm_place(p, s, c), from = w->at[i], to = w->at[i + 1];
      double t = f[to] - f[from] + launch;
      backward += in[to] - in[from] + we[to] - we[from] + launch;
      if (i == 0) t += x->embedding[0], backward += x->embedding[1] + x->embedding[2];
      if (i == n - 1) t += x->head[0], backward += x->head[1] + x->head[2];
      if (c == 0) w->lead[s] = t;
      forward += t;
    }
    w->f[s] = forward;
    w->b[s] = backward;
  }
}

static double bound_1f1b(const walk *w, double m) {
  double before = 0, behind = 0, most = 0;
  int32_t pp = w->p.pp;
  for (int32_t s = 0; s < pp; s++) behind += w->f[s] + w->b[s];
  for (int32_t s = 0; s < pp; s++) {
    double f = w->f[s], b = w->b[s], trip = behind - f - b, warm = fmin(m, pp - s);
    most = fmax(most, before + fmax(m * (f + b), trip + (m - warm + 1) * f + m * b));
    before += f + b;
    behind = trip;
  }
  return most;
}

static double bound_of(walk *w, int32_t recompute) {
  const berth_llm_plan *p = &w->p;
  double m = p->global_batch / p->dp / p->micro_batch, all = 0, most = 0, lead = 0, f = 0, b = 0;
  sum_stages(w, recompute);
  if (p->schedule == BERTH_LLM_1F1B) return bound_1f1b(w, m);
  for (int32_t s = 0; s < p->pp; s++) {
    all += w->f[s] + w->b[s];
    f = fmax(f, w->f[s]);
    b = fmax(b, w->b[s]);
  }
  if (p->schedule == BERTH_LLM_GPIPE) return all + (m - 1) * (f + b);
  for (int32_t s = 0; s < p->pp; s++) {
    double work = w->f[s] + w->b[s];
    most = fmax(most, m * work + (p->schedule == BERTH_LLM_INTERLEAVED ? (all - work) / p->vp
                                                                        : lead));
    lead += w->lead[s];
  }
  return most;
}

/* The same of any split of the layers, after bound_of: the stage with most work has at least a
 * pp-th of all. With 1F1B stage s also waits for those before it, forward and backward: what all
 * stages can reach at once then has w_s = t / m (1 - 1/m)^s. */
static double bound_of_splits(const walk *w) {
  const berth_llm_plan *p = &w->p;
  double m = p->global_batch / p->dp / p->micro_batch, all = 0;
  for (int32_t s = 0; s < p->pp; s++) all += w->f[s] + w->b[s];
  switch (p->schedule) {
  case BERTH_LLM_1F1B: return all / -expm1(p->pp * log1p(-1 / m));
  case BERTH_LLM_GPIPE: return all + (m - 1) * all / p->pp;
  default: return m * all / p->pp;
  }
}

/* ---- the loops ---- */

static berth_status add_entries(walk *w, int32_t recompute, int layered) {
  berth_i_llm_space *s = w->s;
  const berth_llm_plan *p = &w->p;
  values zeros = zeros_of(w->o, p->dp, p->cp);
  if (!w->x.made[recompute]) {
    berth_status st = price(w, recompute);
    if (st != BERTH_OK) return st;
  }
  double bound = bound_of(w, recompute), any_split = fmin(bound, bound_of_splits(w));
  for (int32_t i = 0; i < zeros.n; i++) {
    if (p->framework == BERTH_LLM_DEEPSPEED && zeros.x[i] > 1 && p->pp > 1) {
      s->refused++;
      continue;
    }
    if (s->n == s->cap) {
      berth_status st = BERTH_I_POOL_GROW(&s->pool, s->entry, s->cap, s->n + 1);
      if (st != BERTH_OK) return st;
    }
    s->entry[s->n++] = (berth_i_llm_entry){
      .bound = bound, .any_split = any_split, .cell = (int32_t)s->n_cells - 1,
      .pp = p->pp, .vp = p->vp,
      .schedule = (uint8_t)p->schedule, .recompute = (uint8_t)recompute,
      .zero = (uint8_t)zeros.x[i], .layered = (uint8_t)layered
    };
  }
  return BERTH_OK;
}

/* Whether both even splits are the same. */
static bool same_split(walk *w) {
  int32_t n = w->p.pp * w->p.vp;
  w->p.embedding_as_layer = 0;
  berth_i_llm_starts_into(w->s->m, &w->p, w->at);
  w->p.embedding_as_layer = 1;
  berth_i_llm_starts_into(w->s->m, &w->p, w->other);
  return memcmp(w->at, w->other, (size_t)(n + 1) * sizeof *w->at) == 0;
}

static berth_status at_split(walk *w, int layered) {
  values recomputes = recomputes_of(w->o);
  w->p.embedding_as_layer = layered;
  berth_i_llm_starts_into(w->s->m, &w->p, w->at);
  for (int32_t i = 0; i < recomputes.n; i++) {
    berth_status st = add_entries(w, recomputes.x[i], layered);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* Layers even over the chunks; with embedding and head as a layer each where that divides. */
static berth_status at_chunks(walk *w, int32_t vp) {
  const berth_llm_plan *p = &w->p, *given = &w->o->plan;
  int32_t layers = w->s->m->about.layers, n = p->pp * vp,
          batches = p->global_batch / p->dp / p->micro_batch;
  bool v = berth_i_llm_is_v(p), looped = p->schedule == BERTH_LLM_INTERLEAVED,
       listed = w->o->n_vp > 0, alike = layers % n == 0, layered = (layers + 2) % n == 0 && n > 1,
       few = p->framework == BERTH_LLM_TORCHTITAN && vp == 1 && batches < p->pp;
  if (few || n > layers || (v ? vp != 2 : looped ? vp < 2 : vp != 1)
      || (looped && batches % p->pp) || (given->stages && given->n_stages != n)) {
    w->s->refused++;
    return BERTH_OK;
  }
  w->p.vp = vp;
  berth_status st = BERTH_OK;
  bool even = !given->embedding_as_layer && (!looped || listed || alike || given->stages);
  if (even) st = at_split(w, 0);
  if (st == BERTH_OK && layered && !given->stages && !(even && same_split(w))) st = at_split(w, 1);
  return st;
}

static berth_status at_stages(walk *w) {
  values schedules = schedules_of(w->o);
  int32_t layers = w->s->m->about.layers;
  for (int32_t i = 0; i < schedules.n; i++) {
    w->p.schedule = (berth_llm_schedule)schedules.x[i];
    bool v = berth_i_llm_is_v(&w->p), looped = w->p.schedule == BERTH_LLM_INTERLEAVED;
    berth_status st = BERTH_OK;
    for (int32_t k = 0; k < w->o->n_vp && st == BERTH_OK; k++) st = at_chunks(w, w->o->vp[k]);
    if (w->o->n_vp) {
      if (st != BERTH_OK) return st;
      continue;
    }
    if (w->p.pp == 1 && (v || looped)) continue; /* the same as one chunk, launched more often */
    for (int32_t vp = looped || v ? 2 : 1; vp <= (looped ? layers / w->p.pp : v ? 2 : 1); vp++)
      if (!looped || layers % (w->p.pp * vp) == 0 || (layers + 2) % (w->p.pp * vp) == 0)
        if ((st = at_chunks(w, vp)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status at_cell(walk *w) {
  berth_i_llm_space *s = w->s;
  berth_llm_plan *p = &w->p;
  int32_t rest = w->gpus / p->tp / p->cp;
  values stages = degrees(w, w->o->pp, w->o->n_pp, true);
  bool opened = false;
  for (int32_t i = 0; i < stages.n; i++) {
    p->pp = stages.x[i];
    if (rest % p->pp || p->pp > s->m->about.layers) {
      s->refused++;
      continue;
    }
    p->dp = rest / p->pp;
    if (!has(w->o->dp, w->o->n_dp, p->dp) || p->global_batch % p->dp
        || p->global_batch / p->dp % p->micro_batch
        || (int64_t)p->tp * p->cp * p->dp % ((int64_t)p->ep * p->etp)) {
      s->refused++;
      continue;
    }
    if (!opened) {
      berth_status st = s->n_cells < s->cap_cells
                            ? BERTH_OK
                            : BERTH_I_POOL_GROW(&s->pool, s->cell, s->cap_cells, s->n_cells + 1);
      if (st != BERTH_OK) return st;
      s->cell[s->n_cells++] = (berth_i_llm_cell){
        p->tp, p->cp, p->ep, p->etp, p->micro_batch, p->sequence_parallel == BERTH_LLM_ON
      };
      memset(w->x.made, 0, sizeof w->x.made);
      opened = true;
    }
    berth_status st = at_stages(w);
    if (st != BERTH_OK) return st;
  }
  return berth_i_interrupted(s->m->pool.ctx);
}

static berth_status at_experts(walk *w) {
  berth_llm_plan *p = &w->p;
  values batches = GIVEN(w->o, micro_batch, w->batch_divisor, w->n_batch_divisors),
         sequences = sequences_of(w->o, p);
  berth_llm_plan one = *p;
  one.pp = one.vp = 1;
  bool shared = p->framework == BERTH_LLM_TORCHTITAN && p->tp > berth_i_llm_kv_heads(w->s->m);
  if (shared || berth_i_llm_check_model(w->s->m->pool.ctx, w->s->m, &one) != BERTH_OK) {
    w->s->refused++;
    return BERTH_OK;
  }
  for (int32_t i = 0; i < batches.n; i++)
    for (int32_t k = 0; k < sequences.n; k++) {
      bool on = sequences.x[k];
      p->micro_batch = batches.x[i];
      p->sequence_parallel = on ? BERTH_LLM_ON : BERTH_LLM_OFF;
      if (on && (p->tp == 1 || p->seq / p->cp % p->tp)) {
        w->s->refused++;
        continue;
      }
      berth_status st = at_cell(w);
      if (st != BERTH_OK) return st;
    }
  return BERTH_OK;
}

static berth_status at_tokens(walk *w) {
  berth_llm_plan *p = &w->p;
  bool experts = false;
  for (int32_t k = 0; k < w->s->m->about.kinds; k++)
    experts = experts || w->s->m->kind[k].experts > 0;
  int32_t one_tp[2] = { 1, p->tp };
  values eps = degrees(w, w->o->ep, w->o->n_ep, experts),
         etps = GIVEN(w->o, etp, one_tp, experts && p->tp > 1 ? 2 : 1);
  for (int32_t i = 0; i < eps.n; i++)
    for (int32_t k = 0; k < etps.n; k++) {
      p->ep = eps.x[i];
      p->etp = etps.x[k];
      berth_status st = at_experts(w);
      if (st != BERTH_OK) return st;
    }
  return BERTH_OK;
}

/* GPUs that fast links join, of the group that has fewest. */
static int32_t joined(const berth_llm_cluster *c) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(c, &g), least = INT32_MAX;
  for (int32_t i = 0; i < n; i++) {
    int32_t x = g[i].domain > g[i].per_machine ? g[i].domain : g[i].per_machine;
    if (x < least) least = x;
  }
  return least;
}

static berth_status at_all(walk *w) {
  bool deepspeed = w->p.framework == BERTH_LLM_DEEPSPEED;
  values tps = degrees(w, w->o->tp, w->o->n_tp, true),
         cps = degrees(w, w->o->cp, w->o->n_cp, !deepspeed);
  int32_t most = w->o->inside ? joined(w->s->c) : INT32_MAX;
  for (int32_t i = 0; i < tps.n; i++)
    for (int32_t k = 0; k < cps.n; k++) {
      w->p.tp = tps.x[i];
      w->p.cp = cps.x[k];
      if (w->p.tp > most || (int64_t)w->p.tp * w->p.cp > w->gpus
          || w->gpus % (w->p.tp * w->p.cp) || (w->p.cp > 1 && w->p.seq % (2 * w->p.cp))) {
        w->s->refused++;
        continue;
      }
      berth_status st = at_tokens(w);
      if (st != BERTH_OK) return st;
    }
  return BERTH_OK;
}

/* ---- the whole ---- */

BERTH_I_SORT(sort_entries, berth_i_llm_entry,
             BERTH_I_UP(bound) BERTH_I_UP(cell) BERTH_I_UP(pp) BERTH_I_UP(schedule) BERTH_I_UP(vp)
             BERTH_I_UP(layered) BERTH_I_UP(recompute) BERTH_I_UP(zero))

static berth_status open_walk(walk *w) {
  berth_i_pool *pool = &w->s->pool;
  size_t n = (size_t)w->s->m->about.layers + 1;
  w->gpus = berth_llm_cluster_size(w->s->c);
  w->gpu_divisor = divisors(pool, w->gpus, &w->n_gpu_divisors);
  w->batch_divisor = divisors(pool, w->p.global_batch, &w->n_batch_divisors);
  w->at = berth_i_pool_alloc(pool, n, sizeof *w->at);
  w->other = berth_i_pool_alloc(pool, n, sizeof *w->other);
  w->f = berth_i_pool_alloc(pool, 3 * n, sizeof *w->f);
  w->b = w->f ? w->f + n : NULL;
  w->lead = w->f ? w->f + 2 * n : NULL;
  for (int k = 0; k < RECOMPUTES; k++) {
    w->x.forward[k] = berth_i_pool_zalloc(pool, n, sizeof(double));
    w->x.input[k] = berth_i_pool_zalloc(pool, n, sizeof(double));
    w->x.weight[k] = berth_i_pool_zalloc(pool, n, sizeof(double));
  }
  return berth_i_pool_status(pool);
}

berth_status berth_i_llm_space_make(const berth_llm *m, const berth_llm_cluster *c,
                                    const berth_llm_search_options *o, berth_i_llm_space *out) {
  berth_llm_provenance about;
  *out = (berth_i_llm_space){ .m = m, .c = c, .o = o, .pool = berth_i_pool_empty(m->pool.ctx) };
  out->f = berth_i_llm_factors_for(&o->plan, &o->estimate, &about);
  walk w = { .s = out, .o = o, .p = o->plan };
  berth_status st = open_walk(&w);
  if (st == BERTH_OK) st = at_all(&w);
  if (st == BERTH_OK) sort_entries(out->entry, out->n);
  return st;
}

berth_llm_plan berth_i_llm_entry_plan(const berth_i_llm_space *s, const berth_i_llm_entry *e) {
  const berth_i_llm_cell *x = &s->cell[e->cell];
  berth_llm_plan p = s->o->plan;
  p.tp = x->tp, p.cp = x->cp, p.pp = e->pp, p.ep = x->ep, p.etp = x->etp, p.vp = e->vp;
  p.dp = berth_llm_cluster_size(s->c) / x->tp / x->cp / e->pp;
  p.micro_batch = x->micro_batch;
  p.sequence_parallel = x->sequence_parallel ? BERTH_LLM_ON : BERTH_LLM_OFF;
  p.schedule = (berth_llm_schedule)e->schedule;
  p.recompute = (berth_llm_recompute)e->recompute;
  p.zero = e->zero;
  p.embedding_as_layer = e->layered;
  return p;
}
