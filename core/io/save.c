/* Writing a graph in a format that is given by its name. Parts of other kinds have functions of
 * their own (writers/). */
#include "formats_internal.h"

berth_status berth_write_graph(berth_graph *g, const char *format, berth_text *out) {
  if (!g) return BERTH_EINVAL;
  return berth_write_placed(g, format, NULL, out);
}

berth_status berth_write_placed(berth_graph *g, const char *format, const int32_t *device,
                                berth_text *out) {
  if (!g) return BERTH_EINVAL;
  const berth_i_format *f = format ? berth_i_format_find(format) : NULL;
  for (int32_t k = 0; device && k < g->n_ops; k++) {
    if (device[k] >= 0) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "op %d: device %d is negative", (int)k,
                        (int)device[k]);
  }
  if (f && f->write) return f->write(g, device, out);
  char list[400];
  berth_i_format_list(berth_i_format_writes, list, sizeof list);
  return berth_i_fail(g->ctx, BERTH_EINVAL, "cannot write a graph as \"%.40s\": must be one of %s",
                      format ? format : "", list);
}
