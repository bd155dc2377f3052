/* Episodes in lock-step: n placements of one graph are built at the same time, one op of each per
 * step, so that a network evaluates all of them in one batch. Structure: a state for each episode
 * (state.c), and a record of every step for learning (log.c). Invariant: a step is recorded before
 * any state changes, and nothing is recorded if memory is refused. */
#include "episodes_internal.h"

/* ---- making ---- */

static void alloc_episode(berth_episodes *e, berth_i_episode *s) {
  berth_i_pool *pool = &e->pool;
  size_t n = (size_t)e->a->n, k = (size_t)e->a->n_devices;
  s->unit_device = berth_i_pool_alloc(pool, (size_t)e->a->n_units, sizeof *s->unit_device);
  s->open = berth_i_pool_alloc(pool, n, sizeof *s->open);
  s->start = berth_i_pool_alloc(pool, n, sizeof *s->start);
  s->end = berth_i_pool_alloc(pool, n, sizeof *s->end);
  s->load = berth_i_pool_alloc(pool, k, sizeof *s->load);
  s->placed = berth_i_pool_alloc(pool, k, sizeof *s->placed);
  s->free_at = berth_i_pool_alloc(pool, k, sizeof *s->free_at);
  s->reserved = berth_i_pool_alloc(pool, k, sizeof *s->reserved);
  s->ready = berth_i_pool_alloc(pool, n, sizeof *s->ready);
  s->since = berth_i_pool_alloc(pool, n, sizeof *s->since);
  s->due = berth_i_pool_alloc(pool, n, sizeof *s->due);
}

static size_t rows_of(const berth_episodes *e) { return (size_t)e->n * (size_t)e->a->steps; }
static size_t answer_size(const berth_episodes *e) {
  return (size_t)e->n * (size_t)e->a->n_devices * (size_t)e->a->width;
}
static size_t all_answers(const berth_episodes *e) { return answer_size(e) * (size_t)e->a->steps; }

static berth_status alloc_arrays(berth_episodes *e) {
  size_t n = (size_t)e->n, ops = n * (size_t)e->a->n, rows = rows_of(e);
  e->placement = berth_i_pool_alloc(&e->pool, ops, sizeof *e->placement);
  e->first = berth_i_pool_alloc(&e->pool, n + 1, sizeof *e->first);
  e->list = berth_i_pool_alloc(&e->pool, ops, sizeof *e->list);
  e->legal = berth_i_pool_alloc(&e->pool, n, sizeof *e->legal);
  e->filled_for = berth_i_pool_alloc(&e->pool, n, sizeof *e->filled_for);
  e->answer = berth_i_pool_alloc(&e->pool, answer_size(e), sizeof *e->answer);
  e->op = berth_i_pool_alloc(&e->pool, rows, sizeof *e->op);
  e->to = berth_i_pool_alloc(&e->pool, rows, sizeof *e->to);
  e->chosen = berth_i_pool_alloc(&e->pool, rows, sizeof *e->chosen);
  e->history_first = berth_i_pool_alloc(&e->pool, rows + 1, sizeof *e->history_first);
  e->episode = berth_i_pool_zalloc(&e->pool, n, sizeof *e->episode);
  for (size_t i = 0; e->episode && i < n; i++) alloc_episode(e, &e->episode[i]);
  return berth_i_pool_status(&e->pool);
}

void berth_episodes_retain(berth_episodes *e) { e->refs++; }

void berth_episodes_release(berth_episodes *e) {
  if (!e || --e->refs > 0) return;
  berth_ctx *ctx = e->ctx;
  berth_i_pool_free(&e->log.pool);
  berth_assign_release(e->a);
  berth_i_pool_free(&e->pool);
  berth_ctx_release(ctx);
}

static bool too_large(const berth_assign *a, int32_t n) {
  double rows = (double)n * (double)(a->steps + 1);
  return rows * a->n_devices * a->width > INT32_MAX || (double)n * a->n > INT32_MAX;
}

berth_status berth_episodes_new(berth_assign *a, int32_t n, berth_episodes **out) {
  if (!a || !out) return BERTH_EINVAL;
  if (n < 1 || too_large(a, n)) {
    return berth_i_fail(a->ctx, BERTH_EINVAL,
                        "episodes: %d at once, of %d steps on %d devices: at least one, and fewer "
                        "numbers in all", (int)n,
                        (int)a->steps, (int)a->n_devices);
  }
  berth_episodes *e;
  if (!(e = berth_i_pool_object(a->ctx, sizeof *e))) return berth_i_nomem(a->ctx);
  e->ctx = a->ctx;
  e->refs = 1;
  e->a = a;
  e->n = n;
  berth_ctx_retain(e->ctx);
  berth_assign_retain(a);
  berth_status st;
  if ((st = alloc_arrays(e)) != BERTH_OK) {
    berth_episodes_release(e);
    return st;
  }
  for (int32_t i = 0; i < n; i++) e->episode[i].device = e->placement + (size_t)i * (size_t)a->n;
  berth_episodes_start(e, 0, 0);
  *out = e;
  return BERTH_OK;
}

/* ---- stepping ---- */

static void list_candidates(berth_episodes *e) {
  e->first[0] = 0;
  for (int32_t i = 0; i < e->n; i++) {
    const berth_i_episode *s = &e->episode[i];
    if (s->n_ready > 0)
      memcpy(e->list + e->first[i], s->ready, (size_t)s->n_ready * sizeof *s->ready);
    e->first[i + 1] = e->first[i] + s->n_ready;
  }
}

void berth_episodes_start(berth_episodes *e, uint64_t seed, int64_t first) {
  e->step = 0;
  e->devices_filled = false;
  e->seen_all = true;
  e->history_first[0] = 0;
  for (int32_t i = 0; i < e->n; i++) {
    berth_rng_init(&e->episode[i].rng, seed, (uint64_t)first + (uint64_t)i);
    berth_i_episode_start(e->a, &e->episode[i]);
  }
  list_candidates(e);
}

int32_t berth_episodes_count(const berth_episodes *e) { return e->n; }
int32_t berth_episodes_step(const berth_episodes *e) { return e->step; }
const int32_t *berth_episodes_placement(const berth_episodes *e) { return e->placement; }

int32_t berth_episodes_candidates(const berth_episodes *e, const int32_t **first,
                                  const int32_t **ops) {
  *first = e->first;
  *ops = e->list;
  return e->first[e->n];
}

static berth_status check_devices(const berth_episodes *e, const int32_t *op,
                                  const int32_t *device) {
  for (int32_t i = 0; i < e->n; i++) {
    if (device[i] < 0 || device[i] >= e->a->n_devices) {
      return berth_i_fail(e->ctx, BERTH_EINVAL,
                          "episodes: device %d of episode %d is not among devices 0..%d",
                          (int)device[i], (int)i, (int)e->a->n_devices - 1);
    }
    if (!berth_i_may(e->a, op[i], device[i])) {
      return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: op %d cannot run on device %d",
                          (int)op[i], (int)device[i]);
    }
  }
  return BERTH_OK;
}

static int32_t position(const int32_t *list, int32_t op) {
  int32_t i = 0;
  while (list[i] != op) i++;
  return i;
}

/* Memory for what this step adds; nothing is recorded yet. */
static berth_status reserve(berth_episodes *e) {
  size_t done = (size_t)e->step * (size_t)e->n,
         need = (size_t)e->history_first[done] + (size_t)e->first[e->n];
  if (need > INT32_MAX)
    return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: more than %d candidates in all",
                        INT32_MAX);
  berth_status st;
  if ((st = berth_i_pool_grow(&e->pool, (void **)&e->history, &e->cap_history, need,
                              sizeof *e->history))
      != BERTH_OK)
    return st;
  if (e->devices_filled && e->seen_all && !e->seen
      && !(e->seen = berth_i_pool_alloc(&e->pool, all_answers(e), sizeof *e->seen)))
    return berth_i_pool_status(&e->pool);
  return BERTH_OK;
}

static void record(berth_episodes *e, const int32_t *op, const int32_t *device) {
  size_t done = (size_t)e->step * (size_t)e->n;
  int32_t *at = e->history_first + done;
  memcpy(e->history + at[0], e->list, (size_t)e->first[e->n] * sizeof *e->list);
  for (int32_t i = 0; i < e->n; i++) {
    at[i + 1] = at[0] + e->first[i + 1];
    e->op[done + (size_t)i] = op[i];
    e->to[done + (size_t)i] = device[i];
    e->chosen[done + (size_t)i] = position(e->list + e->first[i], op[i]);
  }
  e->seen_all = e->seen_all && e->devices_filled
                && memcmp(e->filled_for, op, (size_t)e->n * sizeof *op) == 0;
  if (e->seen_all)
    memcpy(e->seen + answer_size(e) * (size_t)e->step, e->answer,
           answer_size(e) * sizeof *e->answer);
}

berth_status berth_episodes_assign(berth_episodes *e, const int32_t *op, const int32_t *device) {
  if (!e) return BERTH_EINVAL;
  berth_status st;
  if ((st = berth_i_episodes_check(e, op)) != BERTH_OK) return st;
  if ((st = check_devices(e, op, device)) != BERTH_OK) return st;
  if ((st = reserve(e)) != BERTH_OK) return st;
  record(e, op, device);
  for (int32_t i = 0; i < e->n; i++) berth_i_episode_put(e->a, &e->episode[i], op[i], device[i]);
  e->step++;
  e->devices_filled = false;
  list_candidates(e);
  return BERTH_OK;
}
