/* graph:layout: x and y of each op in a layered drawing. Layers may be given, [ops] whole numbers
 * from 0; else the core takes the depth of each op. */
#include "graph_names.h"

BL_OPTIONS(layout,
  BL_OTHER("layer", "array", "the depth", "whole number of each op, which rises along edges"))

/* layout { layer = {...} }: arrays of x and y */
int bl_graph_layout(lua_State *L) {
  bl_where w = { "graph:layout", NULL, 0 };
  const berth_graph *g = bl_check_graph(L, 1, w.fn, "self");
  int32_t n = berth_graph_ops(g), *layer = NULL;
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, &w, bl_layout_tables);
  int32_t given;
  if (bl_get_array(L, t, &w, "layer", &given)) {
    const double *number = bl_to_numbers(L, -1, &w, "layer", n, "op");
    layer = bl_scratch(L, (size_t)n, sizeof *layer);
    for (int32_t k = 0; k < n; k++) {
      if (!(number[k] >= 0 && number[k] < INT32_MAX && number[k] == (double)(int32_t)number[k]))
        return bl_wrong(L, &w, "layer", "%f of op %d is not a whole number from 0", number[k],
                        (int)k + 1);
      layer[k] = (int32_t)number[k];
    }
  }
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  double *y = bl_scratch(L, (size_t)n, sizeof *y);
  berth_status st = berth_graph_layout(g, layer, x, y);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_numbers(L, n, x);
  bl_push_numbers(L, n, y);
  return 2;
}
