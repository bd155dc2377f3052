/* The planner: its arrays, and a decision from one end to the other. */
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

static berth_status check(berth_ramp_planner *p, const berth_ramp_model *m, int32_t most) {
  berth_ctx *ctx = p->ramp->ctx;
  if (m->ramp != p->ramp) return berth_i_fail(ctx, BERTH_EINVAL, "ramp: the model was made for another cluster");
  if (most < 1 || (most > 1 && most % 2 != 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "ramp: most pieces: expected 1 or an even number, got %d", (int)most);
  return BERTH_OK;
}

static void list_servers(berth_ramp_planner *p) {
  p->n_seats = 0;
  for (int32_t s = 0; s < p->ramp->servers; s++)
    if (p->mine[s]) p->seat[p->n_seats++] = s;
}

/* A job that is placed: what it holds, and, if asked, what a step of it takes. */
static berth_status look_at(berth_ramp_planner *p, const berth_ramp_model *m, int look, int32_t *servers, berth_ramp_outcome *o) {
  berth_status st = BERTH_OK;
  list_servers(p);
  o->n_servers = p->n_seats;
  if (look) st = berth_i_ramp_schedule(p, m, o);
  if (look && st == BERTH_OK) st = berth_i_ramp_look(p, m, o);
  for (int32_t i = 0; st == BERTH_OK && servers && i < p->n_seats; i++) servers[i] = p->seat[i];
  return st;
}

static berth_status plan(berth_ramp_planner *p, const berth_ramp_model *m, const uint8_t *busy, int look, int32_t *servers,
                         berth_ramp_outcome *out) {
  berth_ramp_outcome o = { .op = BERTH_NONE };
  berth_status st = berth_i_ramp_place(p, m, busy, &o);
  if (st != BERTH_OK) return st;
  if (o.cause == BERTH_RAMP_PLACED && (st = look_at(p, m, look, servers, &o)) != BERTH_OK) return st;
  *out = o;
  return BERTH_OK;
}

berth_status berth_ramp_plan(berth_ramp_planner *p, berth_ramp_model *m, int32_t most, const uint8_t *busy, int look,
                             int32_t *servers, berth_ramp_outcome *out) {
  berth_status st = check(p, m, most);
  if (st == BERTH_OK) st = berth_i_ramp_cut(p, m, most);
  return st == BERTH_OK ? plan(p, m, busy, look, servers, out) : st;
}

static berth_status check_block(const berth_ramp_planner *p, const berth_ramp_model *m, int32_t n, const int32_t *block) {
  int32_t most = 1;
  for (int32_t i = 0; i < m->n; i++)
    if (p->pieces[m->forward[i]] > most) most = p->pieces[m->forward[i]];
  if (n != most)
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL, "ramp: a block of %d servers for ops with %d pieces", (int)n, (int)most);
  if (!berth_i_ramp_is_block(p->ramp, n, block))
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL, "ramp: %d servers from server %d on are no legal block", (int)n, (int)block[0]);
  return BERTH_OK;
}

berth_status berth_ramp_plan_on(berth_ramp_planner *p, berth_ramp_model *m, int32_t most, const uint8_t *busy, int32_t n,
                                const int32_t *block, int look, int32_t *servers, berth_ramp_outcome *out) {
  berth_status st = check(p, m, most);
  if (st == BERTH_OK) st = berth_i_ramp_cut(p, m, most);
  if (st == BERTH_OK) st = check_block(p, m, n, block);
  if (st != BERTH_OK) return st;
  p->wish = block;
  p->n_wish = n;
  st = plan(p, m, busy, look, servers, out);
  p->n_wish = 0;
  return st;
}
