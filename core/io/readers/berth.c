/* The file of format "berth", version 1 (docs/formats.md): its version and its three parts. The
 * topology is read first, as pins in the graph and devices of the placement may be names of its
 * devices. */
#include "io/formats_internal.h"

/* A "graph" without "berth" is recognised, too: read_berth then reports the missing version. */
static berth_i_match match_berth(berth_i_value root) {
  if (berth_i_json_get(root, "berth")) return BERTH_I_MATCH_MARK;
  return berth_i_match_if(berth_i_json_get(root, "graph") != NULL, BERTH_I_MATCH_SHAPE);
}

static berth_status read_berth(const berth_i_source *src, const berth_i_json *doc,
                               berth_bundle *out) {
  static const char *const keys[] = { "berth", "graph", "topology", "placement" };
  berth_i_value f[4], root = berth_i_json_root(doc);
  berth_status st = berth_i_fields(doc, root, keys, 4, 0, true, f);
  int32_t version = 0;
  (void)src;
  if (st == BERTH_OK && !f[0])
    st = berth_i_json_fail(doc, root, "has no \"berth\": 1, the version of its format");
  if (st == BERTH_OK) st = berth_i_get_int(doc, f[0], 1, INT32_MAX, &version);
  if (st == BERTH_OK && version != 1)
    st = berth_i_json_fail(doc, f[0], ": version %d; this berth reads 1", (int)version);
  if (st == BERTH_OK && f[2]) st = berth_i_read_berth_topology(doc, f[2], &out->topology);
  if (st == BERTH_OK && f[1]) st = berth_i_read_berth_graph(doc, f[1], out->topology, &out->graph);
  if (st == BERTH_OK && f[3])
    st = berth_i_read_berth_placement(doc, f[3], out->graph, out->topology, &out->placement);
  return st;
}

enum { ALL = BERTH_HOLDS_GRAPH | BERTH_HOLDS_TOPOLOGY | BERTH_HOLDS_PLACEMENT };

const berth_i_format berth_i_format_berth = {
  .about = { .choice = { "berth", "JSON of this library, version 1. Loses nothing." },
             .loads = ALL, .saves = ALL, .endings = "json" },
  .match_json = match_berth, .read_json = read_berth, .write = berth_i_write_berth
};
