/* Language models in C: the same figures as in Lua, refusals, allocation failure, order of
 * release. */
#include "refusals.h"

static const char config[] =
    "{\"model_type\":\"qwen3_moe\",\"hidden_size\":64,\"num_hidden_layers\":6,"
    "\"num_attention_heads\":8,\"num_key_value_heads\":2,\"head_dim\":8,"
    "\"intermediate_size\":128,\"num_experts\":8,\"num_experts_per_tok\":2,"
    "\"moe_intermediate_size\":32,\"mlp_only_layers\":[0],\"vocab_size\":1000,"
    "\"sliding_window\":4,\"layer_types\":[\"full_attention\",\"sliding_attention\","
    "\"full_attention\",\"sliding_attention\",\"full_attention\",\"sliding_attention\"],"
    "\"quantization_config\":{\"bits\":4},\"limit\":Infinity}";

static berth_status parse(const char *text, berth_llm **m) {
  return berth_llm_parse(ctx, "dir/tiny/config.json", text, strlen(text), m);
}

static berth_llm_plan small_plan(void) {
  berth_llm_plan p = berth_llm_plan_default();
  p.tp = 2;
  p.pp = 2;
  p.ep = 4;
  p.seq = 16;
  return p;
}

TEST("a model's layers are of kinds, and its weights add up") {
  berth_llm *m = NULL;
  CHECK_OK(parse(config, &m));
  const berth_llm_about *a = berth_llm_about_of(m);
  const berth_llm_kind *k = berth_llm_kinds(m);
  CHECK_TEXT(a->name, "tiny");
  CHECK(a->layers == 6 && a->kinds == 3);
  const int32_t want[] = { 0, 1, 2, 1, 2, 1 };
  CHECK(memcmp(berth_llm_layers(m), want, sizeof want) == 0);
  CHECK(k[0].ffn == 128 && k[0].experts == 0 && k[1].window == 4 && k[2].window == 0);
  double attention = 2 * 64 * 64 + 2 * 64 * 16 + 16 + 128, moe = 64 * 8 + 8 * 3 * 64 * 32;
  CHECK_NEAR(k[0].parameters, attention + 3 * 64 * 128, 0);
  CHECK_NEAR(k[1].parameters, attention + moe, 0);
  CHECK_NEAR(k[1].active, attention + 64 * 8 + 2 * 3 * 64 * 32, 0);
  const char *const *notes;
  CHECK(berth_llm_notes(m, &notes) == 1);
  CHECK_TEXT(notes[0], "quantization_config: weights for training are bf16");
  berth_llm_release(m);
}

TEST("memory of a plan, for any order of release") {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_topology *t = NULL;
  berth_llm_plan p = small_plan();
  berth_llm_memory x[2];
  CHECK_OK(parse(config, &m));
  CHECK_OK(berth_llm_cluster_parse(ctx, "2x4xA100", &c));
  CHECK_OK(berth_llm_cluster_topology(c, &t));
  CHECK_OK(berth_llm_memory_of(m, c, &p, x));
  CHECK(p.dp == 0);
  CHECK_OK(berth_llm_plan_fill(m, c, &p));
  CHECK(p.dp == 2 && p.zero == 1);
  for (int s = 0; s < 2; s++) {
    CHECK(x[s].layers == 3 && x[s].total > x[s].runtime && x[s].limit == 81920.0 * 1048576);
    CHECK_NEAR(x[s].total, x[s].weights + x[s].gradients + x[s].optimizer + x[s].activations
               + x[s].working + x[s].logits + x[s].buffers + x[s].runtime, 1e-3);
  }
  berth_llm_cluster_release(c);
  CHECK_OK(berth_llm_cluster_of(t, &c));
  RELEASE(t);
  CHECK_OK(berth_llm_memory_of(m, c, &p, x));
  double stored = 0;
  CHECK_OK(berth_llm_layer_memory(m, &p, 1, &stored, NULL));
  CHECK(stored > 0);
  CHECK_STATUS(berth_llm_layer_memory(m, &p, 3, &stored, NULL), BERTH_EINVAL);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

TEST("refusals leave what they are given") {
  berth_llm *m = NULL;
  CHECK_STATUS(parse("[]", &m), BERTH_EPARSE);
  CHECK_STATUS(parse("{\"hidden_size\":}", &m), BERTH_EPARSE);
  CHECK_STATUS(parse("{\"ssm_state_size\":3}", &m), BERTH_EUNSUPPORTED);
  CHECK_ERROR(parse("{\"hidden_size\":4}", &m), BERTH_EPARSE,
              "dir/tiny/config.json:1: the document has no \"num_hidden_layers\"");
  CHECK(m == NULL);
}

/* ---- allocation failure ---- */

static berth_status whole(void) {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL, *d = NULL;
  berth_topology *t = NULL;
  berth_llm_plan p = small_plan();
  berth_llm_memory x[2];
  berth_status st = parse(config, &m);
  if (st == BERTH_OK) st = berth_llm_cluster_parse(ctx, "4xA100+4xH100", &c);
  if (st == BERTH_OK) st = berth_llm_cluster_topology(c, &t);
  if (st == BERTH_OK) st = berth_llm_cluster_of(t, &d);
  if (st == BERTH_OK) st = berth_llm_memory_of(m, d, &p, x);
  berth_topology_release(t);
  berth_llm_cluster_release(d);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  return st;
}
TEST_REFUSALS(whole)
