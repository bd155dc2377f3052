/* The planner and its arrays: a table of them by the kind of length (groups, edges, pieces, rows
 * ...), so that those of one kind grow together. They stay from one plan to the next and only
 * grow. */
#include "ramp_internal.h"

#define ARRAY(kind, name)                                       \
  {                                                             \
    BERTH_I_RAMP_OF_##kind, offsetof(berth_ramp_planner, name), \
        sizeof *((berth_ramp_planner *)0)->name                 \
  }

static const struct { berth_i_ramp_length kind; size_t offset, size;
} arrays[] = {ARRAY(GROUPS, pieces),      ARRAY(GROUPS, base),
              ARRAY(GROUPS, where),       ARRAY(GROUPS, held),
              ARRAY(GROUPS, priority),    ARRAY(GROUPS, set_time),
              ARRAY(SETS, waiting),       ARRAY(SETS, gathered),
              ARRAY(EDGES, size),         ARRAY(EDGES, klass),
              ARRAY(EDGES, sorted),       ARRAY(HOMES, home),
              ARRAY(SERVERS, free_bytes), ARRAY(SERVERS, taken),
              ARRAY(SERVERS, mine),       ARRAY(SERVERS, count),
              ARRAY(SERVERS, block),      ARRAY(SERVERS, own),
              ARRAY(SERVERS, ready),      ARRAY(SERVERS, flows),
              ARRAY(CHANNELS, reach),     ARRAY(PIECES, server),
              ARRAY(PIECES, group),       ARRAY(PIECES, need),
              ARRAY(PIECES, done),        ARRAY(PIECES, next),
              ARRAY(PIECES, first_row),   ARRAY(PIECES, left),
              ARRAY(ROWS, row),           ARRAY(ROWS, row_left),
              ARRAY(ROWS, row_next),      ARRAY(ROWS, source),
              ARRAY(ROWS, local),         ARRAY(ROWS, later),
              ARRAY(MASKS, mask)};
enum { N_ARRAYS = sizeof arrays / sizeof *arrays };

berth_status berth_i_ramp_reserve(berth_ramp_planner *p, berth_i_ramp_length kind, size_t need) {
  if (need <= p->cap[kind]) return BERTH_OK;
  for (size_t i = 0; i < N_ARRAYS; i++) {
    if (arrays[i].kind != kind) continue;
    void *at;
    memcpy(&at, (const char *)p + arrays[i].offset, sizeof at);
    if (!(at = berth_i_pool_realloc(&p->pool, at, p->cap[kind], need, arrays[i].size)))
      return berth_i_nomem(p->ramp->ctx);
    memcpy((char *)p + arrays[i].offset, &at, sizeof at);
  }
  p->cap[kind] = need;
  return BERTH_OK;
}

berth_status berth_ramp_planner_new(berth_ramp *r, berth_ramp_planner **out) {
  if (!r || !out) return BERTH_EINVAL;
  berth_ramp_planner *p = berth_i_pool_object(r->ctx, sizeof *p);
  if (!p) return berth_i_nomem(r->ctx);
  p->ramp = r;
  p->words = (r->servers + 63) / 64;
  berth_ramp_retain(r);
  berth_status st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_SERVERS, (size_t)r->servers);
  if (st == BERTH_OK)
    st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_CHANNELS, (size_t)r->servers * (size_t)p->words);
  if (st == BERTH_OK) *out = p;
  else berth_ramp_planner_release(p);
  return st;
}

void berth_ramp_planner_release(berth_ramp_planner *p) {
  if (!p) return;
  berth_ramp *r = p->ramp;
  berth_i_pool_free(&p->pool);
  berth_ramp_release(r);
}
