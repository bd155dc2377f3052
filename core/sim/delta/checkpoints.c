/* Copies of the state of the base at some ends of ops. A trial goes on from the last one before its
 * moves matter: before the first end of a producer of what moved, when it is decided what is sent
 * where. They are made when a trial passes through the base's part of its own run, so a base costs
 * what a run costs; what is accepted leaves those before it valid, under another placement. */
#include "checkpoints_internal.h"

enum { MOST = 32, LEAST_STEP = 4, WORTH_IT = 5 };

static const double BUDGET = 64e6; /* bytes */

/* Communication ops are run from the start: no copy holds theirs. */
bool berth_i_checkpoints_go(const berth_i_sim_plan *p) {
  return p->o.order == BERTH_ORDER_EVENT && p->n_ops >= WORTH_IT && p->n_async == 0 && p->tail
         && !(p->n_collectives > 0 && p->cost->collective);
}

static int32_t n_ends(const berth_i_sim_plan *p) { return p->n_ops + p->n_collectives; }

/* ---- life ---- */

/* Of one copy of the state, about. */
static double bytes_of(const berth_i_sim_plan *p) {
  double n = p->n_ops, m = p->n_edges, d = p->n_devices, links = p->cost->t->n_links;
  double bytes = n * (sizeof(berth_i_sim_op) + 3 * sizeof(berth_i_ready));
  if (!p->plain) bytes += 25 * m + (p->contended ? 8 * m + 40 * d * d + 32 * links : 8 * d * d);
  if (p->o.links == BERTH_LINKS_FAIR) bytes += 40 * m + 64 * d * d;
  if (p->o.memory != BERTH_MEMORY_NONE) bytes += 62 * m + 9 * n;
  return bytes;
}

static void set_steps(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  double room = BUDGET / bytes_of(p);
  int32_t most = room < 2 ? 2 : room < MOST ? (int32_t)room : MOST;
  c->step = n_ends(p) / (most + 1) + 1;
  if (c->step < LEAST_STEP) c->step = LEAST_STEP;
  c->n = (n_ends(p) - 1) / c->step;
}

static berth_status alloc_states(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  berth_status st = BERTH_OK;
  if (!(c->at = berth_i_pool_zalloc(&c->pool, (size_t)c->n, sizeof *c->at)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < c->n && st == BERTH_OK; i++) st = berth_i_sim_state_new(p, &c->at[i]);
  return st;
}

static berth_status alloc_lists(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  size_t n = (size_t)p->n_ops, ends = (size_t)n_ends(p);
  c->ended = berth_i_pool_alloc(&c->pool, ends, sizeof *c->ended);
  c->ended_now = berth_i_pool_alloc(&c->pool, ends, sizeof *c->ended_now);
  c->rank = berth_i_pool_alloc(&c->pool, ends, sizeof *c->rank);
  c->device = berth_i_pool_alloc(&c->pool, n, sizeof *c->device);
  c->watch.left = berth_i_pool_alloc(&c->pool, (size_t)p->n_devices, sizeof *c->watch.left);
  if (p->forward_of) c->backward_of = berth_i_pool_alloc(&c->pool, n, sizeof *c->backward_of);
  if (p->o.sequence) c->turn = berth_i_pool_alloc(&c->pool, n, sizeof *c->turn);
  return berth_i_pool_status(&c->pool);
}

static void fill_lists(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  for (int32_t i = 0; c->turn && i < p->n_ops; i++) c->turn[p->o.sequence[i]] = i;
  for (int32_t i = 0; c->backward_of && i < p->n_ops; i++) c->backward_of[i] = BERTH_NONE;
  for (int32_t i = 0; c->backward_of && i < p->n_ops; i++) {
    if (p->forward_of[i] != BERTH_NONE) c->backward_of[p->forward_of[i]] = i;
  }
}

berth_status berth_i_checkpoints_new(const berth_i_sim_plan *p, berth_i_checkpoints **out) {
  berth_i_checkpoints *c = berth_i_pool_object(p->ctx, sizeof *c);
  if (!c) return berth_i_nomem(p->ctx);
  *out = c;
  set_steps(p, c);
  berth_status st;
  if ((st = alloc_lists(p, c)) != BERTH_OK) return st;
  fill_lists(p, c);
  if ((st = berth_i_adapt_init(p, &c->pool, &c->adapt)) != BERTH_OK) return st;
  if ((st = berth_i_paths_init(p, &c->pool, &c->paths)) != BERTH_OK) return st;
  return alloc_states(p, c);
}

void berth_i_checkpoints_release(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  if (!c) return;
  for (int32_t i = 0; c->at && i < c->n; i++) berth_i_sim_state_release(p, c->at[i]);
  berth_i_pool_free(&c->pool);
}

/* ---- where moves begin to matter: the number of ends before ---- */

static void lower(int32_t *a, int32_t b) {
  if (b < *a) *a = b;
}

/* Of what has producers: their first end. Else the end of the last collective that it waits for. */
static int32_t first_word(const berth_i_sim_plan *p, const berth_i_checkpoints *c, int32_t op) {
  const berth_graph *g = p->cost->g;
  int32_t first = n_ends(p), last = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
    lower(&first, c->rank[g->producer[g->in[i]]]);
  if (g->in_at[op] < g->in_at[op + 1]) return first;
  for (int32_t i = g->after_at ? g->after_at[op] : 0; g->after_at && i < g->after_at[op + 1]; i++) {
    int32_t end = c->rank[p->n_ops + g->after[i]];
    if (end > last) last = end;
  }
  return last;
}

/* Memory: a backward twin may end before the op whose tensors wait for it. */
static void lower_to_twin(const berth_i_checkpoints *c, int32_t op, int32_t *place) {
  if (c->backward_of[op] != BERTH_NONE) lower(place, c->rank[c->backward_of[op]]);
}

static void lower_to_twins(const berth_i_sim_plan *p, const berth_i_checkpoints *c, int32_t op,
                           int32_t *place) {
  lower_to_twin(c, op, place);
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++)
    lower_to_twin(c, p->edge_to[e], place);
}

/* PLANNED: the end of the op after which it would be the device's turn to wait for this one. */
static int32_t turn_on(const berth_i_sim_plan *p, const berth_i_checkpoints *c, int32_t op,
                       int32_t device) {
  int32_t i = c->turn[op] - 1;
  while (i >= 0 && c->device[p->o.sequence[i]] != device) i--;
  return i < 0 ? 0 : c->rank[p->o.sequence[i]];
}

static int32_t matters(const berth_i_sim_plan *p, const berth_i_checkpoints *c, int32_t op,
                       int32_t from, int32_t to) {
  const berth_graph *g = p->cost->g;
  int32_t place = first_word(p, c, op);
  if (c->turn) {
    lower(&place, turn_on(p, c, op, from));
    lower(&place, turn_on(p, c, op, to));
  }
  if (!c->backward_of) return place;
  lower_to_twins(p, c, op, &place);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
    lower_to_twins(p, c, g->producer[g->in[i]], &place);
  return place;
}

static int32_t first_that_matters(const berth_i_sim_plan *p, const berth_i_checkpoints *c,
                                  const berth_i_moves *m) {
  int32_t place = n_ends(p);
  for (int32_t i = 0; i < m->n; i++)
    lower(&place, matters(p, c, m->op[i], m->before[i], m->device[m->op[i]]));
  return place;
}

/* ---- runs ---- */

/* Not before `from` ends: there the run is the base's. @return the state is there */
static bool take_up(const berth_i_sim_plan *p, berth_i_checkpoints *c, berth_i_sim_state *s,
                    const int32_t *device) {
  int32_t i = c->from / c->step;
  if (i > c->n_valid) i = c->n_valid;
  while (i > 0 && !berth_i_adapt_can(p, &c->adapt, c->at[i - 1], device)) i--;
  s->cut = false;
  s->limit = INFINITY;
  if (i > 0) return berth_i_adapt_state(p, &c->adapt, s, c->at[i - 1], device);
  if (!berth_i_sim_reset(p, s, device, p->o.seed)) return false;
  berth_i_sim_begin(p, s);
  return true;
}

/* As far as the run is the base's, and memory allows for copies of it. */
static void keep_states(const berth_i_sim_plan *p, berth_i_checkpoints *c, berth_i_sim_state *s) {
  while (c->n_valid < c->n && (c->n_valid + 1) * c->step <= c->from) {
    int32_t at = (c->n_valid + 1) * c->step;
    if (s->done < at) berth_i_sim_run_until(p, s, at);
    if (s->cut || s->done != at || !berth_i_adapt_can(p, &c->adapt, s, c->device)) return;
    if (!berth_i_adapt_state(p, &c->adapt, c->at[c->n_valid], s, c->device)) return;
    c->n_valid++;
  }
}

static bool has_started(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t op) {
  return s->ops[op].missing < 0 || (p->plain && s->dev[s->ops[op].device].op == op);
}

static void count_left(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                       const berth_i_sim_state *s) {
  for (int32_t i = 0; i < p->n_devices; i++) c->watch.left[i] = 0;
  for (int32_t i = 0; i < p->n_ops; i++) {
    if (!has_started(p, s, i)) c->watch.left[s->ops[i].device] += s->ops[i].work;
  }
}

static void set_limit(const berth_i_sim_plan *p, berth_i_checkpoints *c, berth_i_sim_state *s,
                      const berth_i_moves *m, double limit) {
  c->watch.tail = NULL;
  if (!(limit < INFINITY)) return;
  s->limit = limit;
  count_left(p, c, s);
  if (p->n_collectives > 0) berth_i_sim_collectives_tails(p, s);
  if (p->o.noise == 0) c->watch.tail = berth_i_paths_move(p, &c->paths, s, c->device, m);
}

/* @return it came to its end, or was cut short */
static bool go_on(const berth_i_sim_plan *p, berth_i_checkpoints *c, berth_i_sim_state *s) {
  s->watch = &c->watch;
  c->watch.ended = c->ended_now;
  keep_states(p, c, s);
  if (!s->cut) berth_i_sim_run_until(p, s, n_ends(p));
  s->watch = NULL;
  if (s->cut) return true;
  if (s->done < n_ends(p)) return false;
  if (s->memory) berth_i_memory_drain(p, s);
  return true;
}

static void take_ends(const berth_i_sim_plan *p, berth_i_checkpoints *c) {
  int32_t end = n_ends(p);
  for (int32_t i = c->from; i < end; i++) {
    c->ended[i] = c->ended_now[i];
    c->rank[c->ended[i]] = i;
  }
}

bool berth_i_checkpoints_base(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                              berth_i_sim_state *s, const int32_t *device, int64_t *ended) {
  c->n_valid = c->from = 0;
  c->paths.known = false;
  if (!take_up(p, c, s, device) || !go_on(p, c, s)) return false;
  *ended += s->done;
  memcpy(c->device, device, (size_t)p->n_ops * sizeof *device);
  take_ends(p, c);
  return true;
}

bool berth_i_checkpoints_try(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                             berth_i_sim_state *s, const berth_i_moves *m, double limit,
                             int64_t *ended) {
  c->from = first_that_matters(p, c, m);
  if (!take_up(p, c, s, m->device)) return false;
  int32_t done = s->done;
  set_limit(p, c, s, m, limit);
  bool whole = go_on(p, c, s);
  berth_i_paths_back(&c->paths);
  *ended += s->done - done;
  return whole;
}

void berth_i_checkpoints_accept(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                                const berth_i_sim_state *s, const berth_i_moves *m) {
  if (c->n_valid > c->from / c->step) c->n_valid = c->from / c->step;
  take_ends(p, c);
  for (int32_t i = 0; i < m->n; i++) c->device[m->op[i]] = m->device[m->op[i]];
  berth_i_paths_keep(p, &c->paths, s, m);
}
