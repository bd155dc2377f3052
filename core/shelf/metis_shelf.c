#define _XOPEN_SOURCE 700 /* initstate, setstate */
#include "metis_shelf.h"
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* ---- METIS does not check its input ------------------------------------------------------ */

static berth_status bad(berth_ctx *ctx, const char *what) { return berth_i_fail(ctx, BERTH_EINVAL, "partition: %s", what); }

static berth_status check_offsets(berth_ctx *ctx, const berth_i_partition *p) {
  int32_t v;
  if (p->at[0] != 0) return bad(ctx, "offsets do not begin at 0");
  for (v = 0; v < p->n; v++) {
    if (p->at[v + 1] < p->at[v]) return bad(ctx, "offsets fall");
  }
  return BERTH_OK;
}

/* Taking vertices in order, and lists being sorted, the mirrors of an edge list come in order too: one cursor per vertex.
 * @param next [n] scratch */
static berth_status check_edges(berth_ctx *ctx, const berth_i_partition *p, int32_t *next) {
  int64_t sum = 0;
  int32_t v, i;
  for (v = 0; v < p->n; v++) next[v] = p->at[v];
  for (v = 0; v < p->n; v++) {
    for (i = p->at[v]; i < p->at[v + 1]; i++) {
      int32_t w = p->adjacent[i], j;
      if (w < 0 || w >= p->n || w == v) return bad(ctx, "a neighbour is out of range or the vertex itself");
      if (p->edge_weight[i] < 1) return bad(ctx, "an edge weight is below 1");
      sum += p->edge_weight[i];
      j = next[w]++;
      if (j >= p->at[w + 1] || p->adjacent[j] != v || p->edge_weight[j] != p->edge_weight[i]) {
        return bad(ctx, "an edge goes one way only, or neighbours are not in order");
      }
    }
  }
  return sum <= INT32_MAX ? BERTH_OK : bad(ctx, "edge weights are too large");
}

static berth_status check_weights(berth_ctx *ctx, const berth_i_partition *p) {
  int32_t c, v;
  for (c = 0; c < p->constraints; c++) {
    int64_t sum = 0;
    for (v = 0; v < p->n; v++) {
      int32_t w = p->weight[(size_t)v * (size_t)p->constraints + (size_t)c];
      if (w < 0) return bad(ctx, "a vertex weight is negative");
      sum += w;
    }
    if (sum > INT32_MAX) return bad(ctx, "vertex weights are too large");
    if (!(p->slack[c] > 1)) return bad(ctx, "a slack is not above 1");
  }
  return BERTH_OK;
}

static berth_status check_shares(berth_ctx *ctx, const berth_i_partition *p) {
  int32_t i;
  for (i = 0; i < p->parts * p->constraints; i++) {
    if (!(p->share[i] > 0 && p->share[i] <= 1)) return bad(ctx, "a share is not in (0, 1]");
  }
  return BERTH_OK;
}

static berth_status check(berth_ctx *ctx, const berth_i_partition *p) {
  berth_status st;
  int32_t *next;
  if (p->constraints < 1 || p->parts < 2 || p->parts > p->n) return bad(ctx, "2 to n parts, 1 constraint at least");
  if ((st = check_offsets(ctx, p)) != BERTH_OK) return st;
  if (!(next = berth_i_alloc(ctx, (size_t)p->n, sizeof *next))) return berth_i_nomem(ctx);
  st = check_edges(ctx, p, next);
  berth_i_free(ctx, next, (size_t)p->n, sizeof *next);
  if (st != BERTH_OK) return st;
  if ((st = check_weights(ctx, p)) != BERTH_OK) return st;
  return check_shares(ctx, p);
}

/* ---- the call ---------------------------------------------------------------------------- */

typedef struct copies {
  idx_t *at, *adjacent, *edge_weight, *weight, *part;
  real_t *share, *slack;
  size_t n, m, shares, constraints;
} copies;

static idx_t *copy_ids(berth_ctx *ctx, const int32_t *from, size_t n) {
  size_t i;
  idx_t *to = berth_i_alloc(ctx, n, sizeof *to);
  for (i = 0; to && i < n; i++) to[i] = (idx_t)from[i];
  return to;
}

static real_t *copy_reals(berth_ctx *ctx, const double *from, size_t n) {
  size_t i;
  real_t *to = berth_i_alloc(ctx, n, sizeof *to);
  for (i = 0; to && i < n; i++) to[i] = (real_t)from[i];
  return to;
}

static berth_status copy_in(berth_ctx *ctx, const berth_i_partition *p, copies *c) {
  c->n = (size_t)p->n;
  c->m = (size_t)p->at[p->n];
  c->constraints = (size_t)p->constraints;
  c->shares = (size_t)p->parts * c->constraints;
  if (!(c->at = copy_ids(ctx, p->at, c->n + 1))) return berth_i_nomem(ctx);
  if (!(c->adjacent = copy_ids(ctx, p->adjacent, c->m))) return berth_i_nomem(ctx);
  if (!(c->edge_weight = copy_ids(ctx, p->edge_weight, c->m))) return berth_i_nomem(ctx);
  if (!(c->weight = copy_ids(ctx, p->weight, c->n * c->constraints))) return berth_i_nomem(ctx);
  if (!(c->part = berth_i_zalloc(ctx, c->n, sizeof *c->part))) return berth_i_nomem(ctx);
  if (!(c->share = copy_reals(ctx, p->share, c->shares))) return berth_i_nomem(ctx);
  if (!(c->slack = copy_reals(ctx, p->slack, c->constraints))) return berth_i_nomem(ctx);
  return BERTH_OK;
}

static void free_copies(berth_ctx *ctx, copies *c) {
  berth_i_free(ctx, c->at, c->n + 1, sizeof *c->at);
  berth_i_free(ctx, c->adjacent, c->m, sizeof *c->adjacent);
  berth_i_free(ctx, c->edge_weight, c->m, sizeof *c->edge_weight);
  berth_i_free(ctx, c->weight, c->n * c->constraints, sizeof *c->weight);
  berth_i_free(ctx, c->part, c->n, sizeof *c->part);
  berth_i_free(ctx, c->share, c->shares, sizeof *c->share);
  berth_i_free(ctx, c->slack, c->constraints, sizeof *c->slack);
}

/* METIS passes its seed to srand, where 0 and 1 mean the same. */
static idx_t fold_seed(uint64_t seed) {
  berth_rng rng;
  berth_rng_init(&rng, seed, 0);
  return (idx_t)(2 + berth_rng_below(&rng, INT32_MAX - 2));
}

static int call(const berth_i_partition *p, copies *c) {
  idx_t n = (idx_t)p->n, constraints = (idx_t)p->constraints, parts = (idx_t)p->parts, cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = fold_seed(p->seed);
  options[METIS_OPTION_NUMBERING] = 0;
  return METIS_PartGraphKway(&n, &constraints, c->at, c->adjacent, c->weight, NULL, c->edge_weight, &parts, c->share, c->slack,
                             options, &cut, c->part);
}

static int call_alone(const berth_i_partition *p, copies *c) {
  char state[128], *before; /* 128: the size of the state that rand() starts with, so that srand gives the usual numbers */
  int answer;
  pthread_mutex_lock(&one_at_a_time);
  before = initstate(1, state, sizeof state);
  answer = call(p, c);
  if (before) setstate(before);
  pthread_mutex_unlock(&one_at_a_time);
  return answer;
}

berth_status berth_i_metis_partition(berth_ctx *ctx, const berth_i_partition *p, int32_t *part) {
  copies c = { 0 };
  int32_t v, answer;
  berth_status st = check(ctx, p);
  if (st != BERTH_OK) return st;
  if ((st = copy_in(ctx, p, &c)) != BERTH_OK) goto done;
  answer = call_alone(p, &c);
  if (answer == METIS_ERROR_MEMORY) st = berth_i_nomem(ctx);
  else if (answer != METIS_OK) st = berth_i_fail(ctx, BERTH_EINVAL, "partition: METIS refused with code %d", (int)answer);
  for (v = 0; v < p->n && st == BERTH_OK; v++) part[v] = (int32_t)c.part[v];
done:
  free_copies(ctx, &c);
  return st;
}
