/* The planner: its life and its arrays. */
#include "ramp_internal.h"

#define ARRAY(kind, name) { BERTH_I_RAMP_OF_##kind, offsetof(berth_ramp_planner, name), sizeof *((berth_ramp_planner *)0)->name }

static const struct { berth_i_ramp_length kind; size_t offset, size; } arrays[] = {
  ARRAY(GROUPS, pieces),   ARRAY(GROUPS, base),     ARRAY(GROUPS, where),    ARRAY(GROUPS, held),     ARRAY(GROUPS, priority),
  ARRAY(GROUPS, set_time), ARRAY(SETS, waiting),    ARRAY(SETS, met),        ARRAY(EDGES, size),      ARRAY(EDGES, klass),
  ARRAY(EDGES, sorted),    ARRAY(HOMES, home),      ARRAY(SERVERS, room),    ARRAY(SERVERS, taken),   ARRAY(SERVERS, mine),
  ARRAY(SERVERS, count),   ARRAY(SERVERS, block),   ARRAY(SERVERS, seat),    ARRAY(SERVERS, ready),   ARRAY(SERVERS, flows),
  ARRAY(CHANNELS, reach),  ARRAY(PIECES, server),   ARRAY(PIECES, group),    ARRAY(PIECES, need),     ARRAY(PIECES, done),
  ARRAY(PIECES, next),     ARRAY(PIECES, first_row), ARRAY(PIECES, left),     ARRAY(ROWS, row),        ARRAY(ROWS, row_left),
  ARRAY(ROWS, row_next),   ARRAY(ROWS, source),     ARRAY(ROWS, local),      ARRAY(ROWS, later),      ARRAY(MASKS, mask) };
enum { N_ARRAYS = sizeof arrays / sizeof *arrays };

static void *get(const berth_ramp_planner *p, size_t offset) {
  void *at;
  memcpy(&at, (const char *)p + offset, sizeof at);
  return at;
}

static void set(berth_ramp_planner *p, size_t offset, void *at) { memcpy((char *)p + offset, &at, sizeof at); }

static void drop_arrays(berth_ramp_planner *p, berth_i_ramp_length kind) {
  for (size_t i = 0; i < N_ARRAYS; i++) {
    if (arrays[i].kind != kind) continue;
    berth_i_free(p->ramp->ctx, get(p, arrays[i].offset), p->cap[kind], arrays[i].size);
    set(p, arrays[i].offset, NULL);
  }
  p->cap[kind] = 0;
}

berth_status berth_i_ramp_room(berth_ramp_planner *p, berth_i_ramp_length kind, size_t need) {
  if (need <= p->cap[kind]) return BERTH_OK;
  drop_arrays(p, kind);
  p->cap[kind] = need;
  for (size_t i = 0; i < N_ARRAYS; i++) {
    void *at = arrays[i].kind == kind ? berth_i_alloc(p->ramp->ctx, need, arrays[i].size) : NULL;
    if (arrays[i].kind != kind) continue;
    set(p, arrays[i].offset, at);
    if (at) continue;
    drop_arrays(p, kind);
    return berth_i_nomem(p->ramp->ctx);
  }
  return BERTH_OK;
}

berth_status berth_ramp_planner_new(berth_ramp *r, berth_ramp_planner **out) {
  berth_ramp_planner *p = berth_i_zalloc(r->ctx, 1, sizeof *p);
  berth_status st;
  if (!p) return berth_i_nomem(r->ctx);
  p->ramp = r;
  p->words = (r->servers + 63) / 64;
  berth_ramp_retain(r);
  st = berth_i_ramp_room(p, BERTH_I_RAMP_OF_SERVERS, (size_t)r->servers);
  if (st == BERTH_OK) st = berth_i_ramp_room(p, BERTH_I_RAMP_OF_CHANNELS, (size_t)r->servers * (size_t)p->words);
  if (st == BERTH_OK) *out = p;
  else berth_ramp_planner_release(p);
  return st;
}

void berth_ramp_planner_release(berth_ramp_planner *p) {
  berth_ramp *r;
  if (!p) return;
  r = p->ramp;
  for (int kind = 0; kind < BERTH_I_RAMP_LENGTHS; kind++) drop_arrays(p, (berth_i_ramp_length)kind);
  berth_i_free(r->ctx, p, 1, sizeof *p);
  berth_ramp_release(r);
}
