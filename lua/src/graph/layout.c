/* Layered layout of a graph. */
#include "graph_names.h"

/* layout { layer = {...} }: arrays of x and y */
int bl_graph_layout(lua_State *L) {
  static const char *const keys[] = { "layer", NULL };
  bl_where w = { "graph:layout", NULL, 0 };
  const berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  int32_t given, k, n = berth_graph_ops(g), *layer = NULL;
  const double *number;
  double *x, *y;
  berth_status st;
  int t;
  lua_settop(L, 2);
  t = bl_options(L, 2, &w, keys);
  if (bl_get_array(L, t, &w, "layer", &given)) {
    number = bl_to_numbers(L, -1, &w, "layer", n, "op");
    layer = bl_scratch(L, (size_t)n, sizeof *layer);
    for (k = 0; k < n; k++) {
      if (!(number[k] >= 0 && number[k] < INT32_MAX && number[k] == (double)(int32_t)number[k]))
        return bl_wrong(L, &w, "layer", "%f of op %d is not a whole number from 0", number[k], (int)k + 1);
      layer[k] = (int32_t)number[k];
    }
  }
  x = bl_scratch(L, (size_t)n, sizeof *x);
  y = bl_scratch(L, (size_t)n, sizeof *y);
  st = berth_graph_layout(g, layer, x, y);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_numbers(L, n, x);
  bl_push_numbers(L, n, y);
  return 2;
}
