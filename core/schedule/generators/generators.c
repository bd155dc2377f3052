/* The registry of generators: one row each. To add one is to write its function and its row. */
#include "generators_internal.h"

typedef struct row {
  berth_schedule_generator about;
  berth_status (*make)(berth_schedule_problem *p, berth_i_words *w);
} row;

static const row rows[] = {
  { { "gpipe", "All forwards, then all backwards; memory for every micro-batch.",
      "Huang et al., \"GPipe\", 2019", BERTH_MAP_INTERLEAVED, 1 },
    berth_i_make_gpipe },
  { { "1f1b", "Stage i of p starts with p - i - 1 forwards; then one forward and one backward in "
              "turn.",
      "Narayanan et al., \"Memory-Efficient Pipeline-Parallel DNN Training\", 2021",
      BERTH_MAP_INTERLEAVED, 1 },
    berth_i_make_1f1b },
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

berth_status berth_schedule_make(berth_schedule_problem *p, const char *name,
                                 berth_schedule **out) {
  if (!p || !out) return BERTH_EINVAL;
  const row *r = find(name);
  if (!r) return unknown(p->ctx, name);
  berth_status st = check_shape(p, &r->about);
  if (st != BERTH_OK) return st;
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  berth_i_words w;
  st = berth_i_words_make(p, &pool, &w);
  if (st == BERTH_OK) st = r->make(p, &w);
  if (st == BERTH_OK) st = berth_i_schedule_of(p, &w, name, out);
  berth_i_pool_free(&pool);
  return st;
}
