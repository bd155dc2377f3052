/* Launch files under libFuzzer: a plan of what was read, twice the same; where it fits a model and
 * GPUs, written in each format, and read again. All memory must come back. */
#include <berth/berth.h>
#include <stdlib.h>
#include <string.h>

static void demand(int ok) {
  if (!ok) abort();
}

/* With the number of stages, which DeepSpeed's JSON does not have, if pp is not 0. */
static berth_llm_plan plan_of(berth_llm_launch *l, int32_t gpus, int32_t layers, int32_t pp,
                              int *fine) {
  const berth_option_table *table = berth_llm_plan_option_table();
  berth_llm_plan p = berth_llm_plan_default();
  uint64_t given = pp ? (uint64_t)1 << (berth_option_find(table, "pp") - table->options) : 0;
  if (pp) p.pp = pp;
  *fine = berth_llm_launch_plan(l, gpus, layers, &p, &given, NULL) == BERTH_OK;
  return p;
}

/* Whether the text of an export is read, and gives a plan. */
static void read_again(berth_ctx *ctx, const berth_llm_exported *e, const char *format,
                       int32_t gpus, int32_t layers, int32_t pp) {
  size_t len;
  int fine;
  berth_llm_launch *again = NULL;
  const char *text = berth_llm_exported_text(e, &len);
  demand(berth_llm_launch_parse(ctx, "again", text, len, format, &again) == BERTH_OK);
  plan_of(again, gpus, layers, pp, &fine);
  demand(fine);
  berth_llm_launch_release(again);
}

static void export_all(berth_ctx *ctx, const berth_llm *m, const berth_llm_cluster *c,
                       const berth_llm_plan *p, int32_t layers) {
  const berth_llm_format *f;
  for (int32_t i = 0; (f = berth_llm_format_at(i)) != NULL; i++) {
    berth_llm_exported *e = NULL;
    if (!f->writes || berth_llm_export(m, c, p, f->name, &e) != BERTH_OK) continue;
    if (f->reads) read_again(ctx, e, f->name, berth_llm_cluster_size(c), layers, p->pp);
    berth_llm_exported_release(e);
  }
}

static void use(berth_ctx *ctx, berth_llm_launch *l, const berth_llm_cluster *c) {
  berth_llm_shapes s = berth_llm_shapes_default();
  berth_llm *m = NULL;
  int fine;
  s.layers = 8;
  s.hidden = s.ffn = 64;
  s.heads = 8;
  s.vocab = 100;
  if (berth_llm_launch_model(l, &m) != BERTH_OK)
    demand(berth_llm_new(ctx, &s, &m) == BERTH_OK);
  int32_t layers = berth_llm_about_of(m)->layers;
  berth_llm_plan p = plan_of(l, 16, layers, 0, &fine);
  if (fine && layers < 1000 && berth_llm_plan_fill(m, c, &p) == BERTH_OK)
    export_all(ctx, m, c, &p, layers);
  berth_llm_release(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  berth_ctx *ctx = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_launch *l = NULL;
  char *text = malloc(size + 1);
  demand(text != NULL);
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  demand(berth_ctx_new(NULL, &ctx) == BERTH_OK);
  demand(berth_llm_cluster_parse(ctx, "2x8xH100", &c) == BERTH_OK);
  size_t before = berth_ctx_memory(ctx);
  if (berth_llm_launch_parse(ctx, "input", text, size, NULL, &l) == BERTH_OK) use(ctx, l, c);
  else demand(berth_errmsg(ctx)[0] != 0);
  berth_llm_launch_release(l);
  demand(berth_ctx_memory(ctx) == before);
  berth_llm_cluster_release(c);
  berth_ctx_release(ctx);
  free(text);
  return 0;
}
