/* Strong components: Tarjan, "Depth-first search and linear graph algorithms", 1972, without
 * recursion. index 0: not seen; low: least index that is reached from there; `next`: the cursor
 * into succ; `path`: the way down; `open`: the stack of nodes without a component. O(n + m). */
#include "split_internal.h"

berth_status berth_i_strong(berth_ctx *ctx, int32_t n, const int32_t *at, const int32_t *succ,
                            int32_t *component, int32_t *count) {
  size_t k = (size_t)n;
  int32_t n_path = 0, n_open = 0, clock = 0, root = 0;
  int32_t *index = berth_i_zalloc(ctx, 5 * k, sizeof *index);
  if (!index) return berth_i_nomem(ctx);
  int32_t *low = index + k, *next = low + k, *path = next + k, *open = path + k;
  for (int32_t v = 0; v < n; v++) component[v] = BERTH_NONE;
  *count = 0;
  while (n_path > 0 || root < n) {
    int32_t v = n_path > 0 ? path[n_path - 1] : root++;
    if (n_path == 0 && index[v]) continue; /* no new root */
    if (!index[v]) { /* enter */
      index[v] = low[v] = ++clock;
      next[v] = at[v];
      open[n_open++] = v;
      if (n_path == 0) path[n_path++] = v;
    }
    if (next[v] < at[v + 1]) { /* down the next edge, or to a node that is open */
      int32_t w = succ[next[v]++];
      if (!index[w]) path[n_path++] = w;
      else if (component[w] == BERTH_NONE && index[w] < low[v]) low[v] = index[w];
      continue;
    }
    n_path--; /* leave: v is the root of a component, or lowers its parent */
    for (int32_t w = BERTH_NONE; low[v] == index[v] && w != v;) {
      w = open[--n_open];
      component[w] = *count;
      *count += w == v;
    }
    if (n_path > 0 && component[v] == BERTH_NONE && low[v] < low[path[n_path - 1]])
      low[path[n_path - 1]] = low[v];
  }
  berth_i_free(ctx, index, 5 * k, sizeof *index);
  return BERTH_OK;
}
