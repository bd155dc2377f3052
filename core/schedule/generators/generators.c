/* The registry of generators: one row each. To add one is to write its function and its row. */
#include "generators_internal.h"

static const char ZERO_BUBBLE[] = "Qi, Wan, Huang, Lin, \"Zero Bubble Pipeline Parallelism\", "
                                  "2024";
static const char CONTROLLABLE[] = "Qi, Wan, Amar, Lin, \"Pipeline Parallelism with Controllable "
                                   "Memory\", 2024";
static const char DEEPSEEK[] = "DeepSeek-AI, \"DeepSeek-V3 Technical Report\", 2024";

typedef struct row {
  berth_schedule_generator about;
  berth_i_make_fn make;
} row;

#define ONE(name, text, source) { name, text, source, BERTH_MAP_INTERLEAVED, 1 }
#define MANY(name, text, source) { name, text, source, BERTH_MAP_INTERLEAVED, 0 }
#define V(name, text, source) { name, text, source, BERTH_MAP_ZIGZAG, 2 }

static const row rows[] = {
  { ONE("gpipe", "All forwards, then all backwards; memory for every micro-batch.",
        "Huang et al., \"GPipe\", 2019"), berth_i_make_gpipe },
  { ONE("1f1b", "Stage i of p starts with p - i - 1 forwards; then one forward and one backward in "
                "turn.",
        "Narayanan et al., \"Memory-Efficient Pipeline-Parallel DNN Training\", 2021"),
    berth_i_make_1f1b },
  { ONE("zb-h1", "1F1B whose stage i postpones up to i W's into its bubble; the same memory.",
        ZERO_BUBBLE), berth_i_make_zb_h1 },
  { ONE("zb-h2", "Twice as many forwards ahead, twice as many W's postponed; twice the memory.",
        ZERO_BUBBLE), berth_i_make_zb_h2 },
  { MANY("interleaved-1f1b", "1F1B over groups of p micro-batches, chunk by chunk.",
         "Narayanan et al., \"Efficient Large-Scale Language Model Training on GPU Clusters Using "
         "Megatron-LM\", 2021"), berth_i_make_interleaved },
  { MANY("looped-bfs", "All micro-batches through a chunk before the next; memory for all.",
         "Lamy-Poirier, \"Breadth-First Pipeline Parallelism\", 2023"), berth_i_make_bfs },
  { V("zb-v", "F's fill 1F1B's memory, then F and B of a chunk in turn; W's fill gaps, the best of "
              "28 ways.", ZERO_BUBBLE), berth_i_make_zb_v },
  { V("v-half", "A building block of six units whose F's go up, and B's come back, in two units; "
                "about half of 1F1B's memory.", CONTROLLABLE), berth_i_make_v_half },
  { V("v-min", "A building block of six units without waiting; about a third of 1F1B's memory.",
      CONTROLLABLE), berth_i_make_v_min },
  { { "dualpipe", "Two copies of the model, one down and one up the stages; F and B in one slot.",
      DEEPSEEK, BERTH_MAP_BIDIRECTIONAL, 2 }, berth_i_make_dualpipe },
  { V("dualpipev", "DualPipe cut in half: one copy of the model in a V.", DEEPSEEK),
    berth_i_make_dualpipev },
  { ONE("zb-1p", "Greedy, in 1F1B's memory: F's ahead by time, or lists; the best of 126.",
        ZERO_BUBBLE), berth_i_make_heuristic_1x },
  { ONE("zb-2p", "Greedy, in twice 1F1B's memory: F's ahead by time, or lists; the best of 126.",
        ZERO_BUBBLE), berth_i_make_heuristic_2x },
  { V("zb-v-greedy", "zb-v and list schedules on the V in 1F1B's memory, the best of 45.",
      ZERO_BUBBLE), berth_i_make_heuristic_1x },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const berth_schedule_generator *berth_schedule_generator_at(int32_t i) {
  return i >= 0 && i < N_ROWS ? &rows[i].about : NULL;
}

static const row *find(const char *name) {
  for (int32_t i = 0; name && i < N_ROWS; i++)
    if (strcmp(rows[i].about.name, name) == 0) return &rows[i];
  return NULL;
}

const berth_schedule_generator *berth_schedule_generator_find(const char *name) {
  const row *r = find(name);
  return r ? &r->about : NULL;
}

static berth_status unknown(berth_ctx *ctx, const char *name) {
  const char *names[N_ROWS];
  char legal[600];
  for (int32_t i = 0; i < N_ROWS; i++) names[i] = rows[i].about.name;
  berth_names_text(name, names, N_ROWS, NULL, legal, sizeof legal);
  return berth_i_fail(ctx, BERTH_EINVAL, "schedule: unknown generator '%s': %s",
                      name ? name : "", legal);
}

static berth_status check_shape(const berth_schedule_problem *p,
                                const berth_schedule_generator *g) {
  if (g->chunks == 0 ? p->v < 2 : p->v != g->chunks)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED,
                        "schedule: %s is for %d chunk%s a stage%s, the problem has %d", g->name,
                        g->chunks ? (int)g->chunks : 2, g->chunks == 1 ? "" : "s",
                        g->chunks ? "" : " or more", (int)p->v);
  if (p->v > 1 && p->o.map != g->map)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED,
                        "schedule: %s is for the map %s", g->name,
                        berth_i_map_choices[g->map]->name);
  return BERTH_OK;
}

static berth_status generate(const berth_schedule_problem *p, const row *r, berth_i_words *w) {
  berth_status st = check_shape(p, &r->about);
  return st == BERTH_OK ? r->make(p, w) : st;
}

berth_status berth_i_generate(const berth_schedule_problem *p, int32_t generator,
                              berth_i_words *w) {
  return generate(p, &rows[generator], w);
}

berth_status berth_schedule_make(berth_schedule_problem *p, const char *name,
                                 berth_schedule **out) {
  if (!p || !out) return BERTH_EINVAL;
  const row *r = find(name);
  if (!r) return unknown(p->ctx, name);
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  berth_i_words w;
  berth_status st = berth_i_words_make(p, &pool, &w);
  if (st == BERTH_OK) st = generate(p, r, &w);
  if (st == BERTH_OK) st = berth_i_schedule_of(p, &w, name, out);
  berth_i_pool_free(&pool);
  return st;
}
