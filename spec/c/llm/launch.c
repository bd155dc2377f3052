/* Launch files in C: a plan with options that are given, exports, refusals, allocation failure. */
#include "refusals.h"

static const char script[] =
    "TP=2\n"
    "if [ -z \"$SEQ\" ]; then SEQ=$((64 * 2)); fi\n"
    "ARGS=(--num-layers 6 --hidden-size 64 --num-attention-heads 8 --vocab-size 1000 \\\n"
    "  \"--swiglu\" --tensor-model-parallel-size $TP --seq-length ${SEQ} --bf16 --strange 3)\n"
    "torchrun --nnodes 2 --nproc_per_node 4 x.py \"${ARGS[@]}\" \\\n"
    "  --pipeline-model-parallel-size 2 \\\n"
    "  --decoder-first-pipeline-num-layers 2 --recompute-modules mlp --micro-batch-size $UNKNOWN\n";
static const char toml[] =
    "[training]\nlocal_batch_size = 4\n[parallelism]\npipeline_parallel_degree = 2\n"
    "\"odd key\" = [1, { a = \"\\u00e9\" }]\n";
static const char json[] =
    "{\"train_batch_size\":32,\"zero_optimization\":{\"stage\":\"auto\"},"
    "\"bf16\":{\"enabled\":true}}";

static berth_status parse(const char *text, const char *format, berth_llm_launch **l) {
  return berth_llm_launch_parse(ctx, "dir/a.sh", text, strlen(text), format, l);
}

static uint64_t bit_of(const char *key) {
  const berth_option_table *t = berth_llm_plan_option_table();
  return (uint64_t)1 << (berth_option_find(t, key) - t->options);
}

TEST("options that are given stay; others are the file's, or its framework's") {
  berth_llm_launch *l = NULL;
  const char *source[64] = { NULL };
  uint64_t given = bit_of("seq");
  berth_llm_plan p = berth_llm_plan_default();
  p.seq = 32;
  CHECK_OK(parse(script, NULL, &l));
  berth_llm_launch_about a = berth_llm_launch_about_of(l);
  CHECK_TEXT(a.format, "megatron");
  CHECK(a.gpus == 8 && !a.no_model && berth_llm_launch_shapes(l)->hidden == 64);
  CHECK_OK(berth_llm_launch_plan(l, 0, 0, &p, &given, source));
  CHECK(p.seq == 32 && p.tp == 2 && p.pp == 2 && p.n_stages == 2 && p.stages[1] == 4);
  CHECK(p.zero == 0 && given & bit_of("zero") && !(given & bit_of("micro_batch")));
  const berth_option *o = berth_llm_plan_option_table()->options;
  for (int i = 0; o[i].key; i++)
    if (strcmp(o[i].key, "tp") == 0) CHECK_TEXT(source[i], "--tensor-model-parallel-size, line 4");
  const char *const *notes;
  CHECK(berth_llm_launch_notes(l, &notes) == 3);
  berth_llm *m = NULL;
  CHECK_OK(berth_llm_launch_model(l, &m));
  CHECK_TEXT(berth_llm_about_of(m)->name, "a.sh");
  berth_llm_launch_release(l);
  berth_llm_release(m);
}

TEST("an export lives alone, and formats have names") {
  berth_llm_exported *e = NULL;
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  berth_llm_shapes s = berth_llm_shapes_default();
  const char *const *notes;
  s.layers = 4;
  s.hidden = 64;
  s.heads = 4;
  s.vocab = 100;
  p.tp = 2;
  CHECK_OK(berth_llm_new(ctx, &s, &m));
  CHECK_OK(berth_llm_cluster_parse(ctx, "8xH100", &c));
  CHECK_STATUS(berth_llm_export(m, c, &p, "xml", &e), BERTH_EINVAL);
  CHECK_STATUS(berth_llm_export(m, c, &p, "fsdp", &e), BERTH_EUNSUPPORTED);
  CHECK(e == NULL);
  CHECK_OK(berth_llm_export(m, c, &p, "megatron", &e));
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  size_t len;
  const char *text = berth_llm_exported_text(e, &len);
  CHECK(strlen(text) == len && strstr(text, "\n--tensor-model-parallel-size 2\n"));
  CHECK(berth_llm_exported_notes(e, &notes) == 0);
  berth_llm_exported_release(e);
  CHECK_TEXT(berth_llm_format_at(0)->name, "megatron");
  CHECK(!berth_llm_format_at(-1) && !berth_llm_format_at(100));
}

TEST("refusals leave what they are given") {
  berth_llm_launch *l = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  uint64_t given = 0;
  CHECK_STATUS(parse(script, "slurm", &l), BERTH_EINVAL);
  CHECK_ERROR(parse("--seq-length x", NULL, &l), BERTH_EPARSE,
              "dir/a.sh:1: --seq-length x: is not a whole number");
  CHECK(l == NULL);
  CHECK_OK(parse("--bf16 --fp16", NULL, &l));
  CHECK_STATUS(berth_llm_launch_plan(l, 0, 0, &p, &given, NULL), BERTH_EPARSE);
  CHECK(given == 0);
  CHECK_STATUS(berth_llm_launch_plan(NULL, 0, 0, &p, &given, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_llm_launch_plan(l, -1, 0, &p, &given, NULL), BERTH_EINVAL);
  berth_llm_launch_release(l);
  CHECK_STATUS(berth_llm_launch_parse(NULL, "a", "", 0, NULL, &l), BERTH_EINVAL);
  CHECK_STATUS(berth_llm_export(NULL, NULL, NULL, NULL, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_llm_launch_model(NULL, NULL), BERTH_EINVAL);
}

/* ---- allocation failure ---- */

static berth_status read(const char *text) {
  berth_llm_launch *l = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  uint64_t given = 0;
  const char *source[64] = { NULL };
  berth_status st = parse(text, NULL, &l);
  if (st == BERTH_OK) st = berth_llm_launch_plan(l, 8, 6, &p, &given, source);
  const char *const *notes;
  if (st == BERTH_OK) CHECK(berth_llm_launch_notes(l, &notes) > 0);
  berth_llm_launch_release(l);
  return st;
}

static berth_status write(const berth_llm *m, const berth_llm_cluster *c, const char *format) {
  static const int32_t stages[] = { 1, 2, 2, 1 };
  berth_llm_exported *e = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  p.pp = strcmp(format, "fsdp") == 0 ? 1 : 4;
  p.framework = BERTH_LLM_TORCHTITAN;
  p.zero = 3;
  if (p.pp > 1) {
    p.stages = stages;
    p.n_stages = 4;
  }
  berth_status st = berth_llm_export(m, c, &p, format, &e);
  berth_llm_exported_release(e);
  return st;
}

static berth_status whole(void) {
  berth_llm_launch *l = NULL;
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  static const char *const formats[] = { "megatron", "bridge", "torchtitan", "fsdp", "slurm" };
  berth_status st = read(script);
  if (st == BERTH_OK) st = read(toml);
  if (st == BERTH_OK) st = read(json);
  if (st == BERTH_OK) st = parse(script, NULL, &l);
  if (st == BERTH_OK) st = berth_llm_launch_model(l, &m);
  if (st == BERTH_OK) st = berth_llm_cluster_parse(ctx, "8xH100", &c);
  for (int i = 0; i < 5 && st == BERTH_OK; i++) st = write(m, c, formats[i]);
  berth_llm_launch_release(l);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  return st;
}
TEST_REFUSALS(whole)
