/* Strong components. */
#include "split_internal.h"

/* Tarjan's algorithm without recursion. low 0: not seen; `next` is the cursor into succ, `path` the
 * way down, `open` the stack. */
typedef struct strong {
  const int32_t *at, *succ;
  int32_t *low, *next, *path, *open, *component;
  int32_t n_path, n_open, clock, count;
} strong;

static void enter(strong *s, int32_t v) {
  s->low[v] = ++s->clock;
  s->next[v] = s->at[v];
  s->path[s->n_path++] = v;
  s->open[s->n_open++] = v;
}

static void leave(strong *s, int32_t v, int32_t index) {
  s->n_path--;
  if (s->low[v] == index) {
    int32_t w;
    do {
      w = s->open[--s->n_open];
      s->component[w] = s->count;
    } while (w != v);
    s->count++;
  }
  if (s->n_path && s->low[v] < s->low[s->path[s->n_path - 1]] && s->component[v] == BERTH_NONE)
    s->low[s->path[s->n_path - 1]] = s->low[v];
}

static void from(strong *s, int32_t *index, int32_t root) {
  enter(s, root);
  index[root] = s->clock;
  while (s->n_path) {
    int32_t v = s->path[s->n_path - 1];
    if (s->next[v] == s->at[v + 1]) {
      leave(s, v, index[v]);
      continue;
    }
    int32_t w = s->succ[s->next[v]++];
    if (!s->low[w]) {
      enter(s, w);
      index[w] = s->clock;
    } else if (s->component[w] == BERTH_NONE && index[w] < s->low[v]) {
      s->low[v] = index[w];
    }
  }
}

berth_status berth_i_strong(berth_ctx *ctx, int32_t n, const int32_t *at, const int32_t *succ,
                            int32_t *component, int32_t *count) {
  size_t k = (size_t)n;
  int32_t *block = berth_i_zalloc(ctx, 5 * k, sizeof *block);
  strong s = { at, succ, block, NULL, NULL, NULL, component, 0, 0, 0, 0 };
  if (!block) return berth_i_nomem(ctx);
  s.next = block + k;
  s.path = block + 2 * k;
  s.open = block + 3 * k;
  for (int32_t v = 0; v < n; v++) component[v] = BERTH_NONE;
  for (int32_t v = 0; v < n; v++)
    if (!s.low[v]) from(&s, block + 4 * k, v);
  *count = s.count;
  berth_i_free(ctx, block, 5 * k, sizeof *block);
  return BERTH_OK;
}
