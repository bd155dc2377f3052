/* One reader under libFuzzer. What is accepted must be written and read again to the same bytes,
 * and all memory must come back. Define FORMAT (NULL: any, by the contents) before including
 * this, and FUZZ_OPTIONS(opts, size) if the format does not read those of the text formats. */
#ifndef BERTH_FUZZ_H
#define BERTH_FUZZ_H

#include <berth/berth.h>
#include <stdlib.h>
#include <string.h>

static void fuzz_demand(int ok) {
  if (!ok) abort();
}

static int fuzz_same(const berth_text *a, const berth_text *b) {
  return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* berth JSON of what was read, read again. */
static void fuzz_round_trip(berth_ctx *ctx, const berth_bundle *b) {
  berth_text first = { 0 }, second = { 0 };
  berth_bundle again = { 0 };
  if (!b->graph && !b->topology && !b->placement) return;
  fuzz_demand(berth_write_bundle(b, &first) == BERTH_OK);
  fuzz_demand(berth_parse(ctx, "again", first.data, first.len, NULL, &again) == BERTH_OK);
  fuzz_demand(berth_write_bundle(&again, &second) == BERTH_OK);
  fuzz_demand(fuzz_same(&first, &second));
  berth_text_release(&first);
  berth_text_release(&second);
  berth_bundle_release(&again);
}

/* Another format of it: as many ops, edges and collectives. */
static void fuzz_written(berth_ctx *ctx, berth_graph *g, const char *format) {
  berth_text text = { 0 };
  berth_bundle again = { 0 };
  fuzz_demand(berth_write_graph(g, format, &text) == BERTH_OK);
  fuzz_demand(berth_parse(ctx, "again", text.data, text.len, NULL, &again) == BERTH_OK);
  fuzz_demand(berth_graph_ops(again.graph) == berth_graph_ops(g)
              && berth_graph_edges(again.graph) == berth_graph_edges(g)
              && berth_graph_collectives(again.graph) ==
                  berth_graph_collectives(g));
  berth_text_release(&text);
  berth_bundle_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  berth_load_options opts = berth_load_default();
  berth_bundle b = { 0 };
  berth_ctx *ctx = NULL;
  size_t before;
  opts.format = FORMAT;
#ifdef FUZZ_OPTIONS
  FUZZ_OPTIONS(&opts, size);
#else
  opts.forward_only = (int)(size & 1);
  opts.cpus = (int)(size >> 1 & 1);
#endif
  fuzz_demand(berth_ctx_new(NULL, &ctx) == BERTH_OK);
  before = berth_ctx_memory(ctx);
  if (berth_parse(ctx, "input", (const char *)data, size, &opts, &b) == BERTH_OK) {
    fuzz_round_trip(ctx, &b);
    if (b.graph) fuzz_written(ctx, b.graph, "graphml");
    if (b.graph) fuzz_written(ctx, b.graph, "dot");
  } else {
    fuzz_demand(berth_errmsg(ctx)[0] != 0);
  }
  berth_bundle_release(&b);
  fuzz_demand(berth_ctx_memory(ctx) <= before + 4096); /* the error text may stay */
  berth_ctx_release(ctx);
  return 0;
}

#endif
