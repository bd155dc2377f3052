/* A complete assignment of units, with what each device holds of it. */
#include "pack_internal.h"
#include "base/sort_internal.h"

static size_t n_reads(const berth_i_stow *s) { return (size_t)s->cost->g->n_tensors * (size_t)s->devices; }

static bool alloc_stow(berth_i_stow *s) {
  size_t n = (size_t)s->n, d = (size_t)s->devices;
  return (s->base = berth_i_zalloc(s->ctx, d, sizeof *s->base)) != NULL
      && (s->limit = berth_i_alloc(s->ctx, d, sizeof *s->limit)) != NULL
      && (s->held = berth_i_zalloc(s->ctx, d, sizeof *s->held)) != NULL
      && (s->at = berth_i_zalloc(s->ctx, n, sizeof *s->at)) != NULL
      && (s->first = berth_i_alloc(s->ctx, d, sizeof *s->first)) != NULL
      && (s->next = berth_i_alloc(s->ctx, n, sizeof *s->next)) != NULL
      && (s->prev = berth_i_alloc(s->ctx, n, sizeof *s->prev)) != NULL
      && (s->order = berth_i_alloc(s->ctx, n, sizeof *s->order)) != NULL
      && (s->rank = berth_i_alloc(s->ctx, n, sizeof *s->rank)) != NULL
      && (s->top = berth_i_alloc(s->ctx, d, sizeof *s->top)) != NULL;
}

static bool alloc_reads(berth_i_stow *s) {
  size_t tensors = (size_t)s->cost->g->n_tensors;
  return (s->reads = berth_i_zalloc(s->ctx, n_reads(s), sizeof *s->reads)) != NULL
      && (s->touched = berth_i_alloc(s->ctx, tensors, sizeof *s->touched)) != NULL
      && (s->stamp = berth_i_zalloc(s->ctx, tensors, sizeof *s->stamp)) != NULL;
}

void berth_i_stow_release(berth_i_stow *s) {
  size_t n = (size_t)s->n, d = (size_t)s->devices, tensors;
  if (!s->ctx) return;
  tensors = (size_t)s->cost->g->n_tensors;
  berth_i_free(s->ctx, s->base, d, sizeof *s->base);
  berth_i_free(s->ctx, s->limit, d, sizeof *s->limit);
  berth_i_free(s->ctx, s->held, d, sizeof *s->held);
  berth_i_free(s->ctx, s->at, n, sizeof *s->at);
  berth_i_free(s->ctx, s->first, d, sizeof *s->first);
  berth_i_free(s->ctx, s->next, n, sizeof *s->next);
  berth_i_free(s->ctx, s->prev, n, sizeof *s->prev);
  berth_i_free(s->ctx, s->order, n, sizeof *s->order);
  berth_i_free(s->ctx, s->rank, n, sizeof *s->rank);
  berth_i_free(s->ctx, s->top, d, sizeof *s->top);
  berth_i_free(s->ctx, s->reads, n_reads(s), sizeof *s->reads);
  berth_i_free(s->ctx, s->touched, tensors, sizeof *s->touched);
  berth_i_free(s->ctx, s->stamp, tensors, sizeof *s->stamp);
}

/* ---- order by temporary bytes ---- */

static berth_status rank_temporaries(berth_i_stow *s) {
  int32_t i;
  berth_i_keyed *r = berth_i_alloc(s->ctx, (size_t)s->n, sizeof *r);
  if (!r) return berth_i_nomem(s->ctx);
  for (i = 0; i < s->n; i++) {
    r[i].key = s->temporary[i];
    r[i].id = i;
  }
  berth_i_sort_keyed_down(r, s->n);
  for (i = 0; i < s->n; i++) {
    s->order[i] = r[i].id;
    s->rank[r[i].id] = i;
  }
  berth_i_free(s->ctx, r, (size_t)s->n, sizeof *r);
  return BERTH_OK;
}

static bool has_cuts(const berth_cost *c) {
  int32_t i, j;
  if (c->uniform) return false;
  if (c->table) return true; /* a user's prices: any of them may be infinite */
  for (i = 0; i < c->n_devices; i++) {
    for (j = 0; j < c->n_devices; j++) {
      if (i != j && isinf(c->t->latency[berth_i_pair(c->t, i, j)])) return true;
    }
  }
  return false;
}

berth_status berth_i_stow_init(const berth_i_units *u, const double *limit, const double *size, const double *temporary,
                               double copy_share, berth_i_stow *s) {
  berth_status st;
  memset(s, 0, sizeof *s);
  s->ctx = u->cost->ctx;
  s->cost = u->cost;
  s->u = u;
  s->n = u->n;
  s->devices = u->cost->n_devices;
  s->size = size;
  s->temporary = temporary;
  s->copy_share = copy_share;
  s->cut = has_cuts(u->cost);
  if (alloc_stow(s) && (copy_share == 0 || alloc_reads(s))) {
    memcpy(s->limit, limit, (size_t)s->devices * sizeof *limit);
    st = rank_temporaries(s);
  } else {
    st = berth_i_nomem(s->ctx);
  }
  if (st != BERTH_OK) berth_i_stow_release(s);
  return st;
}

/* ---- copies ---- */

static int32_t *reads_of(const berth_i_stow *s, int32_t tensor) { return s->reads + (size_t)tensor * (size_t)s->devices; }

static int32_t home_of(const berth_i_stow *s, int32_t tensor) { return s->at[s->u->of[s->cost->g->producer[tensor]]]; }

static void charge(berth_i_stow *s, int32_t tensor, int32_t device, double sign) {
  if (reads_of(s, tensor)[device] == 0 || home_of(s, tensor) == device) return;
  s->held[device] += sign * s->copy_share * berth_i_resident(s->cost->g, tensor);
}

static void touch(berth_i_stow *s, int32_t tensor) {
  if (s->stamp[tensor] == s->epoch) return;
  s->stamp[tensor] = s->epoch;
  s->touched[s->n_touched++] = tensor;
}

static void touch_unit(berth_i_stow *s, int32_t unit) {
  const berth_graph *g = s->cost->g;
  int32_t i, j;
  s->n_touched = 0;
  s->epoch++;
  for (i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (j = g->in_at[op]; j < g->in_at[op + 1]; j++) touch(s, g->in[j]);
    for (j = g->out_at[op]; j < g->out_at[op + 1]; j++) touch(s, g->out[j]);
  }
}

static void charge_touched(berth_i_stow *s, int32_t from, int32_t to, double sign) {
  int32_t i;
  for (i = 0; i < s->n_touched; i++) {
    charge(s, s->touched[i], from, sign);
    charge(s, s->touched[i], to, sign);
  }
}

static void count_reads(berth_i_stow *s, int32_t unit, int32_t device, int32_t by) {
  const berth_graph *g = s->cost->g;
  int32_t i, j;
  for (i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (j = g->in_at[op]; j < g->in_at[op + 1]; j++) reads_of(s, g->in[j])[device] += by;
  }
}

/* ---- moving ---- */

static void link_unit(berth_i_stow *s, int32_t unit, int32_t device) {
  int32_t next = s->first[device];
  s->next[unit] = next;
  s->prev[unit] = BERTH_NONE;
  if (next != BERTH_NONE) s->prev[next] = unit;
  s->first[device] = unit;
  s->at[unit] = device;
  s->held[device] += s->size[unit];
  if (s->temporary[unit] > 0 && s->rank[unit] < s->top[device]) s->top[device] = s->rank[unit];
}

static void find_top(berth_i_stow *s, int32_t device) {
  int32_t r = s->top[device] + 1;
  while (r < s->n && s->temporary[s->order[r]] > 0 && s->at[s->order[r]] != device) r++;
  s->top[device] = r < s->n && s->temporary[s->order[r]] > 0 ? r : s->n;
}

static void unlink_unit(berth_i_stow *s, int32_t unit) {
  int32_t device = s->at[unit], next = s->next[unit], prev = s->prev[unit];
  if (next != BERTH_NONE) s->prev[next] = prev;
  if (prev != BERTH_NONE) s->next[prev] = next;
  else s->first[device] = next;
  s->held[device] -= s->size[unit];
  s->at[unit] = BERTH_NONE;
  if (s->top[device] == s->rank[unit]) find_top(s, device);
}

void berth_i_stow_move(berth_i_stow *s, int32_t unit, int32_t device) {
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

void berth_i_stow_load(berth_i_stow *s, const int32_t *at) {
  int32_t i, d;
  for (d = 0; d < s->devices; d++) {
    s->held[d] = s->base[d];
    s->first[d] = BERTH_NONE;
    s->top[d] = s->n;
  }
  for (i = s->n - 1; i >= 0; i--) link_unit(s, i, at[i]);
  if (!s->reads) return;
  memset(s->reads, 0, n_reads(s) * sizeof *s->reads);
  for (i = 0; i < s->n; i++) count_reads(s, i, s->at[i], 1);
  for (i = 0; i < s->cost->g->n_tensors; i++) {
    for (d = 0; d < s->devices; d++) charge(s, i, d, 1);
  }
}

/* ---- asking ---- */

static bool reaches(const berth_i_stow *s, int32_t op, int32_t unit, int32_t device) {
  const berth_graph *g = s->cost->g;
  int32_t i, j;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t from = s->u->of[g->producer[g->in[i]]];
    if (from != unit && isinf(berth_i_transfer_time(s->cost, g->in[i], s->at[from], device))) return false;
  }
  for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    for (j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      int32_t to = s->u->of[g->use[j]];
      if (to != unit && isinf(berth_i_transfer_time(s->cost, g->out[i], device, s->at[to]))) return false;
    }
  }
  return true;
}

bool berth_i_stow_may(const berth_i_stow *s, int32_t unit, int32_t device) {
  int32_t i;
  if (!berth_i_unit_can_run(s->u, unit, device)) return false;
  if (!s->cut) return true;
  for (i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    if (!reaches(s, s->u->ops[i], unit, device)) return false;
  }
  return true;
}

double berth_i_stow_overflow(const berth_i_stow *s) {
  double sum = 0;
  int32_t d;
  for (d = 0; d < s->devices; d++) sum += fmax(0, berth_i_stow_over(s, d));
  return sum;
}
