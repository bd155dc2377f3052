/* Actions as sequences of choices: a tree of places (a trie). Paths are sorted; where one parts
 * from the one before, it opens places. No path begins another, so each action ends at a leaf.
 * O(steps log actions). */
#include "decide_internal.h"

typedef struct paths {
  const int32_t *at, *step;
  int32_t n;
} paths;

static int32_t length(const paths *p, int32_t action) { return p->at[action + 1] - p->at[action]; }

/* In order of their choices; what begins another one first. */
static int compare(const paths *p, int32_t a, int32_t b) {
  const int32_t na = length(p, a), nb = length(p, b);
  for (int32_t i = 0; i < na && i < nb; i++) {
    const int32_t x = p->step[p->at[a] + i], y = p->step[p->at[b] + i];
    if (x != y) return x < y ? -1 : 1;
  }
  return (na > nb) - (na < nb);
}

/* Merge sort: stable, O(n log n) comparisons. */
static void sort(const paths *p, int32_t *order, int32_t n, int32_t *other) {
  const int32_t half = n / 2;
  int32_t i = 0, j = half;
  if (n < 2) return;
  sort(p, order, half, other);
  sort(p, order + half, n - half, other);
  for (int32_t k = 0; k < n; k++)
    other[k] =
        j == n || (i < half && compare(p, order[i], order[j]) <= 0) ? order[i++] : order[j++];
  memcpy(order, other, (size_t)n * sizeof *order);
}

static int32_t common(const paths *p, int32_t a, int32_t b) {
  int32_t i = 0;
  while (i < length(p, a) && i < length(p, b) && p->step[p->at[a] + i] == p->step[p->at[b] + i])
    i++;
  return i;
}

static berth_status check(berth_ctx *ctx, const paths *p, const int32_t *order) {
  for (int32_t k = 0; k < p->n; k++) {
    const int32_t a = order[k], b = k > 0 ? order[k - 1] : a;
    if (length(p, a) == 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "the path of action %d is empty", (int)a);
    if (k > 0 && common(p, a, b) == length(p, b))
      return berth_i_fail(ctx, BERTH_EINVAL, "the path of action %d begins with that of action %d",
                          (int)a, (int)b);
  }
  return BERTH_OK;
}

/* Sorted paths open places as they part from the one before; `way` holds those on the present
 * path. */
static void lay_out(const paths *p, berth_i_choices *c, int32_t *way) {
  c->n = 1;
  c->parent[0] = BERTH_NONE;
  c->low[0] = 0;
  way[0] = 0;
  for (int32_t k = 0; k < p->n; k++) {
    const int32_t a = c->order[k], steps = length(p, a);
    for (int32_t i = k > 0 ? common(p, a, c->order[k - 1]) : 0; i < steps; i++) {
      c->parent[c->n] = way[i];
      c->low[c->n] = k;
      way[i + 1] = c->n++;
    }
    for (int32_t i = 0; i <= steps; i++) c->high[way[i]] = k + 1;
    c->end[a] = way[steps];
  }
}

static void link_kids(berth_i_choices *c) {
  memset(c->kid_at, 0, ((size_t)c->n + 1) * sizeof *c->kid_at);
  for (int32_t i = 1; i < c->n; i++) c->kid_at[c->parent[i] + 1]++;
  for (int32_t i = 0; i < c->n; i++) c->kid_at[i + 1] += c->kid_at[i];
  for (int32_t i = 1; i < c->n; i++) c->kid[c->kid_at[c->parent[i]]++] = i;
  for (int32_t i = c->n; i > 0; i--) c->kid_at[i] = c->kid_at[i - 1];
  c->kid_at[0] = 0;
}

/* Without paths each action is one choice. */
berth_status berth_i_choices_make(berth_i_pool *pool, const berth_decisions *p,
                                  berth_i_choices *c) {
  const size_t actions = (size_t)p->n_actions,
               n = 1 + (size_t)(p->path_at ? p->path_at[p->n_actions] : p->n_actions);
  berth_i_pool scratch = berth_i_pool_empty(pool->ctx);
  int32_t *way = berth_i_pool_alloc(&scratch, n + 1, sizeof *way),
          *at = p->path_at ? NULL : berth_i_pool_alloc(&scratch, n + 1, sizeof *at);
  for (size_t i = 0; at && i <= n; i++) at[i] = (int32_t)i;
  const paths all = { at ? at : p->path_at, at ? at : p->path, p->n_actions };
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  c->kid_at = berth_i_pool_alloc(pool, n + 1, sizeof *c->kid_at);
  c->kid = berth_i_pool_alloc(pool, n, sizeof *c->kid);
  c->low = berth_i_pool_alloc(pool, n, sizeof *c->low);
  c->high = berth_i_pool_alloc(pool, n, sizeof *c->high);
  c->parent = berth_i_pool_alloc(pool, n, sizeof *c->parent);
  c->order = berth_i_pool_alloc(pool, actions, sizeof *c->order);
  c->end = berth_i_pool_alloc(pool, actions, sizeof *c->end);
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) goto done;
  for (int32_t a = 0; a < p->n_actions; a++) c->order[a] = a;
  sort(&all, c->order, all.n, way);
  if ((st = check(pool->ctx, &all, c->order)) != BERTH_OK) goto done;
  lay_out(&all, c, way);
  link_kids(c);
done:
  berth_i_pool_free(&scratch);
  return st;
}
