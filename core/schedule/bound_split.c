/* A lower bound of the step over all splits of a model's layers into the chunks of a pipeline.
 *
 * What bounds the step from one stage (bound.c) needs, of a split, no more than where the stage's
 * own chunks begin and end: the paths before and behind them are sums over the layers outside. So
 * the least over all splits of the largest bound of a stage is a path of cuts: with one chunk a
 * stage over the places of one cut, with two over pairs of places, in the V from the ends of the
 * model to its middle, interleaved from its begin and from each place that its second half may
 * begin at. Splits are sought below a step that begins near the work and grows until there is one:
 * a stage whose work alone exceeds it, or that leaves more than the others can do within it, is no
 * part of such a split. So few pairs of cuts are visited; when MOST_BOUNDS of a stage were, the
 * largest step below which there is no split is the answer.
 * Transfers take the least p2p of all places: a schedule of the true ones is one of these, too.
 * Of other maps the bound is by sums over stages and by the way of one micro-batch. */
#include "bound_internal.h"

enum { MOST_BOUNDS = 4000000 };

typedef struct splits {
  const berth_schedule_layers *l;
  berth_schedule_problem q;  /* the problem, with the chunks of the stage that is bounded */
  berth_i_ways w;            /* of q */
  berth_i_thing *x;
  double *sum[4];            /* [layers + 1] of F, B, W, memory of the first layers */
  double *lags;              /* [chunks] s of transfers before a chunk */
  double *behind;            /* [stages + 1] s of work that stages from s on can do in `most` */
  double *now, *next;        /* least largest bound of the stages so far, by cut or pair of cuts */
  double most;
  int64_t bounds;            /* of a stage, that were computed */
} splits;

static double work(const splits *k, int32_t from, int32_t to) {
  double all = 0;
  for (int32_t i = 0; i < 3; i++) all += k->sum[i][to] - k->sum[i][from];
  return k->q.m * all;
}

/* What a chunk without activations holds: problems require more than 0. */
static const double LEAST = 1e-9;

static void set_chunk(splits *k, int32_t c, int32_t from, int32_t to) {
  berth_schedule_problem *q = &k->q;
  int32_t n = k->l->n, last = q->n - 1;
  for (int32_t i = 0; i < 3; i++) q->time[i][c] = k->sum[i][to] - k->sum[i][from];
  double *back = k->sum[1], joined = q->o.joined ? 1 : 0;
  k->w.forward[c] = k->sum[0][from] + k->lags[c];
  k->w.backward[c] = back[n] - back[to] + joined * (k->sum[2][n] - k->sum[2][to])
                     + k->lags[last] - k->lags[c];
  if (q->o.joined) {
    q->time[1][c] += q->time[2][c];
    q->time[2][c] = 0;
  }
  q->adds[c] = fmax(k->sum[3][to] - k->sum[3][from], LEAST);
  q->frees[1][c] = q->o.joined ? q->adds[c] : q->o.freed * q->adds[c];
  q->frees[2][c] = q->adds[c] - q->frees[1][c];
}

/* Stage s with layers [a, b) in its first chunk and, of two, [c, d) in its second. An empty chunk
 * 0 stands for that of stage 0, whose W is at least none. */
static double stage_bound(splits *k, int32_t s, int32_t a, int32_t b, int32_t c, int32_t d) {
  const berth_schedule_problem *q = &k->q;
  k->bounds++;
  if (s > 0) set_chunk(k, 0, 0, 0);
  set_chunk(k, s, a, b);
  if (q->v == 2) set_chunk(k, q->chunk[2 * s + 1], c, d);
  for (int32_t i = 0; i < q->v; i++)
    if (berth_i_over(q->adds[q->chunk[s * q->v + i]], q->limit[s])) return INFINITY;
  return berth_i_bound_of_stage(&k->w, s, k->x);
}

static void clear(double *best, size_t n) {
  for (size_t i = 0; i < n; i++) best[i] = INFINITY;
}

static void lower(double *best, double x) { *best = fmin(*best, x); }

static void swap(splits *k) {
  double *t = k->now;
  k->now = k->next;
  k->next = t;
}

/* ---- one chunk a stage ---- */

/* now[i]: of splits whose stages so far have the first i layers. */
static berth_status one_chunk(splits *k, double *best) {
  int32_t n = k->l->n, p = k->q.p;
  clear(k->now, (size_t)n + 1);
  k->now[0] = 0;
  for (int32_t s = 0; s < p; s++, swap(k)) {
    clear(k->next, (size_t)n + 1);
    for (int32_t i = 0; i <= n; i++)
      for (int32_t j = i; j <= n && k->now[i] < k->most; j++) {
        if (work(k, i, j) + k->q.extra[s] >= k->most) break;
        if (work(k, j, n) > k->behind[s + 1]) continue;
        lower(&k->next[j], fmax(k->now[i], stage_bound(k, s, i, j, 0, 0)));
      }
  }
  *best = k->now[n];
  return BERTH_OK;
}

/* ---- two chunks a stage ---- */

/* Stage s of the V, before which the stages have all layers but [i, j). */
static void extend_v(splits *k, int32_t s, int32_t i, int32_t j) {
  int32_t n = k->l->n, last = s == k->q.p - 1;
  double so_far = k->now[i * (n + 1) + j];
  for (int32_t b = i; b <= j; b++) {
    double down = work(k, i, b) + k->q.extra[s];
    if (down >= k->most) break;
    for (int32_t c = last ? b : j; c >= b; c--) {
      if (down + work(k, c, j) >= k->most) break;
      if (work(k, b, c) > k->behind[s + 1]) continue;
      lower(&k->next[b * (n + 1) + c], fmax(so_far, stage_bound(k, s, i, b, c, j)));
    }
  }
}

/* Interleaved, the second chunks from layer h on: before stage s the stages have [0, i), [h, j). */
static void extend_interleaved(splits *k, int32_t s, int32_t h, int32_t i, int32_t j) {
  int32_t n = k->l->n, last = s == k->q.p - 1;
  double so_far = k->now[i * (n + 1) + j];
  for (int32_t b = last ? h : i; b <= h; b++) {
    double down = work(k, i, b) + k->q.extra[s];
    if (down >= k->most) break;
    for (int32_t c = last ? n : j; c <= n; c++) {
      if (down + work(k, j, c) >= k->most) break;
      if (work(k, b, h) + work(k, c, n) > k->behind[s + 1]) continue;
      lower(&k->next[b * (n + 1) + c], fmax(so_far, stage_bound(k, s, i, b, j, c)));
    }
  }
}

/* Paths of pairs of cuts that begin at (0, h): in the V h is the end of the model. */
static berth_status two_chunks(splits *k, int32_t h, double *best) {
  bool v = k->q.o.map == BERTH_MAP_ZIGZAG;
  int32_t n = k->l->n, side = n + 1;
  size_t all = (size_t)side * (size_t)side;
  berth_status st = BERTH_OK;
  clear(k->now, all);
  k->now[h] = 0;
  for (int32_t s = 0; s < k->q.p && st == BERTH_OK; s++, swap(k)) {
    clear(k->next, all);
    for (int32_t i = 0; i <= h; i++)
      for (int32_t j = v ? i : h; j <= n && k->bounds < MOST_BOUNDS; j++) {
        if (!(k->now[i * side + j] < k->most)) continue;
        if (v) extend_v(k, s, i, j);
        else extend_interleaved(k, s, h, i, j);
      }
    st = berth_i_interrupted(k->q.ctx);
  }
  for (int32_t i = 0; v && i <= n; i++) lower(best, k->now[i * side + i]);
  if (!v) lower(best, k->now[h * side + n]);
  return st;
}

/* What a stage may take, and what the stages from one on can do. */
static void set_most(splits *k, double most) {
  k->most = most;
  for (int32_t s = k->q.p - 1; s >= 0; s--)
    k->behind[s] = k->behind[s + 1] + fmax(most - k->q.extra[s], 0);
}

/* The least largest bound of a stage, of splits in which it is below `most`; INFINITY: no such. */
static berth_status below(splits *k, double most, double *best) {
  int32_t n = k->l->n;
  berth_status st = BERTH_OK;
  *best = INFINITY;
  set_most(k, most);
  if (k->q.v == 1) return one_chunk(k, best);
  if (k->q.o.map == BERTH_MAP_ZIGZAG) return two_chunks(k, n, best);
  for (int32_t h = 0; h <= n && st == BERTH_OK; h++) {
    set_most(k, fmin(k->most, *best));
    st = two_chunks(k, h, best);
  }
  return st;
}

static berth_status by_cuts(splits *k, double from, double most, double *best) {
  *best = from;
  for (double gap = 0.01; *best < most; gap *= 2) {
    double step = fmin(most, from * (1 + gap)), found;
    berth_status st = below(k, step, &found);
    if (st != BERTH_OK) return st;
    if (k->bounds >= MOST_BOUNDS) break;
    *best = fmin(found, step);
    if (found < step) break;
  }
  return BERTH_OK;
}

/* ---- any map ---- */

/* The stages in the order of their first layer: before the k-th are k - 1 layers at least. */
static double heads(const splits *k) {
  const berth_schedule_problem *q = &k->q;
  double sum = 0;
  if (q->o.objective != BERTH_SCHEDULE_MAKESPAN || q->o.map == BERTH_MAP_BIDIRECTIONAL) return 0;
  for (int32_t s = 0; s < q->p; s++)
    sum += k->sum[0][s < k->l->n ? s : k->l->n] + k->lags[s];
  return sum;
}

/* All work and what stages wait for their first layer, shared by the stages; the stage with the
 * heaviest layer; one micro-batch, whose way begins and ends on stage 0. */
static double by_sums(const splits *k) {
  const berth_schedule_problem *q = &k->q;
  int32_t n = k->l->n;
  double extra = 0, least = INFINITY, layer = 0;
  for (int32_t s = 0; s < q->p; s++) {
    extra += q->extra[s];
    least = fmin(least, q->extra[s]);
  }
  for (int32_t i = 0; i < n; i++) layer = fmax(layer, work(k, i, i + 1));
  double best = (work(k, 0, n) + extra + heads(k)) / q->p;
  if (q->o.map == BERTH_MAP_BIDIRECTIONAL) return fmax(best, layer / 2 + least);
  double way = k->sum[0][n] + k->sum[1][n] + (q->o.joined ? k->sum[2][n] : 0);
  return fmax(fmax(best, layer + least), way + 2 * k->lags[q->n - 1] + q->extra[0]);
}

/* ---- the public function ---- */

static berth_status check(const berth_schedule_problem *p, const berth_schedule_layers *l) {
  const double *list[] = { l->forward, l->backward, l->weight, l->activations, &l->p2p };
  if (l->n < 1) return berth_i_fail(p->ctx, BERTH_EINVAL, "schedule: there are no layers");
  for (int32_t k = 0; k < 5; k++)
    for (int32_t i = 0; i < (k < 4 ? l->n : 1); i++)
      if (!(list[k][i] >= 0) || isinf(list[k][i]))
        return berth_i_fail(p->ctx, BERTH_EINVAL,
                            "schedule: layer%d: %g, expected a finite number from 0", (int)i,
                            list[k][i]);
  return BERTH_OK;
}

static void set_sums(splits *k) {
  const berth_schedule_layers *l = k->l;
  const berth_schedule_problem *q = &k->q;
  const double *list[] = { l->forward, l->backward, l->weight, l->activations };
  double share = berth_i_least_share(q);
  for (int32_t i = 0; i < 4; i++)
    for (int32_t j = 0; j < l->n; j++)
      k->sum[i][j + 1] = k->sum[i][j] + (i < 3 ? share : 1) * list[i][j]; /* as in bound.c */
  for (int32_t c = 1; c < q->n; c++)
    k->lags[c] = k->lags[c - 1] + (q->stage[c - 1] == q->stage[c] ? 0 : l->p2p);
  k->w.round = k->sum[0][l->n] + k->lags[q->n - 1];
}

static berth_status make(splits *k, const berth_schedule_problem *p, berth_i_pool *pool) {
  size_t n = (size_t)p->n, layers = (size_t)k->l->n + 1, pairs = p->v == 2 ? layers : 1;
  for (int32_t i = 0; i < 3; i++) {
    k->q.time[i] = berth_i_pool_zalloc(pool, n, sizeof **k->q.time);
    k->q.frees[i] = berth_i_pool_zalloc(pool, n, sizeof **k->q.frees);
  }
  for (int32_t i = 0; i < 4; i++)
    k->sum[i] = berth_i_pool_zalloc(pool, layers, sizeof **k->sum);
  k->q.adds = berth_i_pool_zalloc(pool, n, sizeof *k->q.adds);
  k->w.forward = berth_i_pool_zalloc(pool, n, sizeof *k->w.forward);
  k->w.backward = berth_i_pool_zalloc(pool, n, sizeof *k->w.backward);
  k->lags = berth_i_pool_zalloc(pool, n, sizeof *k->lags);
  k->behind = berth_i_pool_zalloc(pool, (size_t)p->p + 1, sizeof *k->behind);
  k->x = berth_i_pool_alloc(pool, 2 * (size_t)p->v, sizeof *k->x);
  k->now = berth_i_pool_alloc(pool, layers * pairs, sizeof *k->now);
  k->next = berth_i_pool_alloc(pool, layers * pairs, sizeof *k->next);
  return berth_i_pool_status(pool);
}

berth_status berth_schedule_bound_splits(const berth_schedule_problem *p,
                                         const berth_schedule_layers *layers, double most,
                                         double *out) {
  if (!p || !layers || !out) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  splits k = { .l = layers, .q = *p };
  double best = 0;
  k.w.p = &k.q;
  berth_status st = check(p, layers);
  if (st == BERTH_OK) st = make(&k, p, &pool);
  if (st == BERTH_OK) {
    set_sums(&k);
    best = by_sums(&k);
    if (p->v <= 2 && p->o.map != BERTH_MAP_BIDIRECTIONAL) st = by_cuts(&k, best, most, &best);
  }
  if (st == BERTH_OK) *out = fmin(best, most);
  berth_i_pool_free(&pool);
  return st;
}
