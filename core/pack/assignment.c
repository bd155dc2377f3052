/* A complete assignment of units, with what each device holds of it.
 * Structure: the units of a device are a doubly linked list; the largest temporary of a device is
 * found by rank in `order`; `reads` counts, where copies are charged, the ops on each device that
 * read a tensor. Invariant: held[d] is base, sizes and copies there, up to rounding.
 * A move is O(edges of the unit); finding the next temporary O(units) at worst. */
#include "pack_internal.h"
#include "base/sort_internal.h"

static size_t n_reads(const berth_i_assignment *s) {
  return (size_t)s->cost->g->n_tensors * (size_t)s->devices;
}

static berth_status alloc_arrays(berth_i_assignment *s, const double *limit) {
  berth_i_pool *pool = &s->pool;
  size_t n = (size_t)s->n, d = (size_t)s->devices, tensors = (size_t)s->cost->g->n_tensors;
  s->base = berth_i_pool_zalloc(pool, d, sizeof *s->base);
  s->limit = berth_i_pool_copy(pool, limit, d, sizeof *s->limit);
  s->held = berth_i_pool_zalloc(pool, d, sizeof *s->held);
  s->at = berth_i_pool_zalloc(pool, n, sizeof *s->at);
  s->first = berth_i_pool_alloc(pool, d, sizeof *s->first);
  s->next = berth_i_pool_alloc(pool, n, sizeof *s->next);
  s->prev = berth_i_pool_alloc(pool, n, sizeof *s->prev);
  s->order = berth_i_pool_alloc(pool, n, sizeof *s->order);
  s->rank = berth_i_pool_alloc(pool, n, sizeof *s->rank);
  s->top = berth_i_pool_alloc(pool, d, sizeof *s->top);
  if (s->copy_share > 0) {
    s->reads = berth_i_pool_zalloc(pool, n_reads(s), sizeof *s->reads);
    s->touched = berth_i_pool_alloc(pool, tensors, sizeof *s->touched);
    s->stamp = berth_i_pool_zalloc(pool, tensors, sizeof *s->stamp);
  }
  return berth_i_pool_status(pool);
}

/* ---- order by temporary bytes ---- */

static berth_status rank_temporaries(berth_i_assignment *s) {
  berth_i_keyed *r = berth_i_alloc(s->ctx, (size_t)s->n, sizeof *r);
  if (!r) return berth_i_nomem(s->ctx);
  for (int32_t i = 0; i < s->n; i++) {
    r[i].key = s->temporary[i];
    r[i].id = i;
  }
  berth_i_sort_keyed_down(r, s->n);
  for (int32_t i = 0; i < s->n; i++) {
    s->order[i] = r[i].id;
    s->rank[r[i].id] = i;
  }
  berth_i_free(s->ctx, r, (size_t)s->n, sizeof *r);
  return BERTH_OK;
}

/* With a user's prices any pair may have no route. */
static bool has_cuts(const berth_cost *c) {
  if (c->uniform) return false;
  return c->table
         || berth_i_any_infinite(c->t->latency, (size_t)c->n_devices * (size_t)c->n_devices);
}

berth_status berth_i_assignment_init(const berth_i_units *u,
                                     const double *limit, const double *size,
                                     const double *temporary, double copy_share,
                                     berth_i_assignment *s) {
  *s = (berth_i_assignment){ .pool = berth_i_pool_empty(u->cost->ctx),
                       .ctx = u->cost->ctx,
                       .cost = u->cost,
                       .u = u,
                       .n = u->n,
                       .devices = u->cost->n_devices,
                       .size = size,
                       .temporary = temporary,
                       .copy_share = copy_share,
                       .cut = has_cuts(u->cost) };
  berth_status st = alloc_arrays(s, limit);
  if (st == BERTH_OK) st = rank_temporaries(s);
  if (st != BERTH_OK) berth_i_pool_free(&s->pool);
  return st;
}

/* ---- copies ---- */

static int32_t *reads_of(const berth_i_assignment *s, int32_t tensor) {
  return s->reads + (size_t)tensor * (size_t)s->devices;
}

static int32_t home_of(const berth_i_assignment *s, int32_t tensor) {
  return s->at[s->u->of[s->cost->g->producer[tensor]]];
}

static void charge(berth_i_assignment *s, int32_t tensor, int32_t device, double sign) {
  if (reads_of(s, tensor)[device] == 0 || home_of(s, tensor) == device) return;
  s->held[device] += sign * s->copy_share * berth_i_resident(s->cost->g, tensor);
}

static void touch(berth_i_assignment *s, int32_t tensor) {
  if (s->stamp[tensor] == s->epoch) return;
  s->stamp[tensor] = s->epoch;
  s->touched[s->n_touched++] = tensor;
}

static void touch_unit(berth_i_assignment *s, int32_t unit) {
  const berth_graph *g = s->cost->g;
  s->n_touched = 0;
  s->epoch++;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) touch(s, g->in[j]);
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++) touch(s, g->out[j]);
  }
}

static void charge_touched(berth_i_assignment *s, int32_t from, int32_t to, double sign) {
  for (int32_t i = 0; i < s->n_touched; i++) {
    charge(s, s->touched[i], from, sign);
    charge(s, s->touched[i], to, sign);
  }
}

static void count_reads(berth_i_assignment *s, int32_t unit, int32_t device, int32_t by) {
  const berth_graph *g = s->cost->g;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) reads_of(s, g->in[j])[device] += by;
  }
}

/* ---- moving ---- */

static void link_unit(berth_i_assignment *s, int32_t unit, int32_t device) {
  int32_t next = s->first[device];
  s->next[unit] = next;
  s->prev[unit] = BERTH_NONE;
  if (next != BERTH_NONE) s->prev[next] = unit;
  s->first[device] = unit;
  s->at[unit] = device;
  s->held[device] += s->size[unit];
  if (s->temporary[unit] > 0 && s->rank[unit] < s->top[device]) s->top[device] = s->rank[unit];
}

static void find_top(berth_i_assignment *s, int32_t device) {
  int32_t r = s->top[device] + 1;
  while (r < s->n && s->temporary[s->order[r]] > 0 && s->at[s->order[r]] != device) r++;
  s->top[device] = r < s->n && s->temporary[s->order[r]] > 0 ? r : s->n;
}

static void unlink_unit(berth_i_assignment *s, int32_t unit) {
  int32_t device = s->at[unit], next = s->next[unit], prev = s->prev[unit];
  if (next != BERTH_NONE) s->prev[next] = prev;
  if (prev != BERTH_NONE) s->next[prev] = next;
  else s->first[device] = next;
  s->held[device] -= s->size[unit];
  s->at[unit] = BERTH_NONE;
  if (s->top[device] == s->rank[unit]) find_top(s, device);
}

void berth_i_assignment_move(berth_i_assignment *s, int32_t unit, int32_t device) {
  int32_t from = s->at[unit];
  if (from == device) return;
  if (s->reads) {
    touch_unit(s, unit);
    charge_touched(s, from, device, -1);
    count_reads(s, unit, from, -1);
    count_reads(s, unit, device, 1);
  }
  unlink_unit(s, unit);
  link_unit(s, unit, device);
  if (s->reads) charge_touched(s, from, device, 1);
}

void berth_i_assignment_load(berth_i_assignment *s, const int32_t *at) {
  for (int32_t d = 0; d < s->devices; d++) {
    s->held[d] = s->base[d];
    s->first[d] = BERTH_NONE;
    s->top[d] = s->n;
  }
  for (int32_t i = s->n - 1; i >= 0; i--) link_unit(s, i, at[i]);
  if (!s->reads) return;
  memset(s->reads, 0, n_reads(s) * sizeof *s->reads);
  for (int32_t i = 0; i < s->n; i++) count_reads(s, i, s->at[i], 1);
  for (int32_t i = 0; i < s->cost->g->n_tensors; i++) {
    for (int32_t d = 0; d < s->devices; d++) charge(s, i, d, 1);
  }
}

/* ---- queries ---- */

static bool reaches(const berth_i_assignment *s, int32_t op, int32_t unit, int32_t device) {
  const berth_graph *g = s->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t from = s->u->of[g->producer[g->in[i]]];
    if (from != unit && isinf(berth_i_transfer_time(s->cost, g->in[i], s->at[from], device)))
      return false;
  }
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      int32_t to = s->u->of[g->use[j]];
      if (to != unit && isinf(berth_i_transfer_time(s->cost, g->out[i], device, s->at[to])))
        return false;
    }
  }
  return true;
}

bool berth_i_assignment_may(const berth_i_assignment *s, int32_t unit, int32_t device) {
  if (!berth_i_unit_can_run(s->u, unit, device)) return false;
  if (!s->cut) return true;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    if (!reaches(s, s->u->ops[i], unit, device)) return false;
  }
  return true;
}

double berth_i_assignment_overflow(const berth_i_assignment *s) {
  double sum = 0;
  for (int32_t d = 0; d < s->devices; d++) sum += fmax(0, berth_i_assignment_over(s, d));
  return sum;
}
