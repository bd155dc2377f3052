/* Rules of a relative of the enumerative optimizer: the einsummable runtime, its functions
 * alocate01 ("blocks") and alocate02 ("greedy"). They have bytes and a price of a byte in flops;
 * here all is seconds. Graphs have no blocks of data, only ops: what alocate01 deals out to the
 * devices in turn, the inputs, is everywhere and free. */
#include "enumerative_internal.h"

/* Of equal values the plan that adds least to all devices together, then the first. */
typedef struct plan {
  int32_t first, size, last; /* partials go to devices first .. first + size - 1 in turn; the
                                sum is made on last */
  double most, total;
} plan;

static double largest(const double *x, int32_t n) {
  double most = 0;
  for (int32_t i = 0; i < n; i++) most = fmax(most, x[i]);
  return most;
}

static bool better(const plan *a, const plan *b) {
  if (b->size == 0 || a->most != b->most) return b->size == 0 || a->most < b->most;
  return a->total < b->total;
}

/* ---- blocks: what is summed, and the sum ---- */

/* The one op that reads what op makes, and nothing else; BERTH_NONE. */
static int32_t only_reader(const berth_graph *g, int32_t op) {
  int32_t reader = BERTH_NONE;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      if (reader != BERTH_NONE && reader != g->use[j]) return BERTH_NONE;
      reader = g->use[j];
    }
  }
  return reader;
}

static bool stands_alone(const berth_i_spread *w, int32_t op) {
  int32_t unit = w->u->of[op];
  return w->u->at[unit + 1] - w->u->at[unit] == 1 && w->packing.device[op] == BERTH_NONE
         && w->u->pin[unit] == BERTH_NONE;
}

/* One tensor of the present meta-op, without a device, that only op reads. */
static bool is_partial(const berth_i_spread *w, int32_t src, int32_t op) {
  const berth_graph *g = w->u->cost->g;
  return w->listed[w->u->of[src]] && stands_alone(w, src)
         && g->out_at[src + 1] - g->out_at[src] == 1 && only_reader(g, src) == op;
}

/* All that op reads are such partial products, so it reads from no op twice. */
static bool sums_up(const berth_i_spread *w, int32_t op) {
  const berth_graph *g = w->u->cost->g;
  if (!stands_alone(w, op) || g->in_at[op + 1] - g->in_at[op] < 2) return false;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (!is_partial(w, g->producer[g->in[i]], op)) return false;
  }
  return true;
}

static int32_t sum_of(const berth_i_spread *w, int32_t unit) {
  int32_t op = w->u->ops[w->u->at[unit]];
  if (!stands_alone(w, op)) return BERTH_NONE;
  int32_t sum = only_reader(w->u->cost->g, op);
  return sum != BERTH_NONE && sums_up(w, sum) ? sum : BERTH_NONE;
}

/* ---- the price of a plan ---- */

static void add_unit(berth_i_spread *w, int32_t unit, int32_t device, plan *p) {
  double seconds = INFINITY;
  if (berth_i_unit_can_run(w->u, unit, device))
    seconds = berth_i_unit_time(w->u, unit, device) + berth_i_spread_moves(w, unit, device);
  w->trial[device] += seconds;
  p->total += seconds;
}

/* A partial sum that crosses is charged to both ends. */
static void add_crossing(berth_i_spread *w, int32_t tensor, int32_t src, int32_t dst, plan *p) {
  double seconds = berth_i_transfer_time(w->u->cost, tensor, src, dst);
  if (src == dst) return;
  w->trial[src] += seconds;
  w->trial[dst] += seconds;
  p->total += 2 * seconds;
}

static void price_sum(berth_i_spread *w, int32_t sum, plan *p) {
  const berth_graph *g = w->u->cost->g;
  memcpy(w->trial, w->busy, (size_t)w->u->cost->n_devices * sizeof *w->trial);
  p->total = 0;
  for (int32_t i = g->in_at[sum]; i < g->in_at[sum + 1]; i++) {
    int32_t at = p->first + (i - g->in_at[sum]) % p->size;
    add_unit(w, w->u->of[g->producer[g->in[i]]], at, p);
    add_crossing(w, g->in[i], at, p->last, p);
  }
  add_unit(w, w->u->of[sum], p->last, p);
  p->most = largest(w->trial, w->u->cost->n_devices);
}

static plan best_for_sum(berth_i_spread *w, int32_t sum) {
  int32_t inputs = w->u->cost->g->in_at[sum + 1] - w->u->cost->g->in_at[sum],
          devices = w->u->cost->n_devices;
  plan best = { 0 }, p = { 0 };
  for (p.size = 1; p.size <= devices && p.size <= inputs; p.size *= 2) {
    for (p.first = 0; p.first + p.size <= devices; p.first++) {
      for (p.last = p.first; p.last < p.first + p.size; p.last++) {
        price_sum(w, sum, &p);
        if (better(&p, &best)) best = p;
      }
    }
  }
  return best;
}

static plan best_for_unit(berth_i_spread *w, int32_t unit) {
  plan best = { 0 }, p = { 0 };
  p.size = 1;
  for (p.first = 0; p.first < w->u->cost->n_devices; p.first++) {
    memcpy(w->trial, w->busy, (size_t)w->u->cost->n_devices * sizeof *w->trial);
    p.total = 0;
    add_unit(w, unit, p.first, &p);
    p.most = largest(w->trial, w->u->cost->n_devices);
    if (better(&p, &best)) best = p;
  }
  return best;
}

/* ---- putting ---- */

static bool put(berth_i_spread *w, int32_t unit, int32_t device) {
  double moves = berth_i_spread_moves(w, unit, device);
  if (!berth_i_spread_put(w, unit, device)) return berth_i_spread_cheapest(w, unit);
  w->busy[device] += berth_i_unit_time(w->u, unit, device) + moves;
  return true;
}

static bool put_sum(berth_i_spread *w, int32_t sum) {
  const berth_graph *g = w->u->cost->g;
  plan p = best_for_sum(w, sum);
  for (int32_t i = g->in_at[sum]; i < g->in_at[sum + 1]; i++) {
    int32_t src = g->producer[g->in[i]];
    if (!put(w, w->u->of[src], p.first + (i - g->in_at[sum]) % p.size)) return false;
    w->busy[w->packing.device[src]] +=
        berth_i_transfer_time(w->u->cost, g->in[i], w->packing.device[src], p.last);
  }
  return put(w, w->u->of[sum], p.last);
}

berth_status berth_i_spread_blocks(berth_i_spread *w) {
  /* an operator is balanced by itself */
  memset(w->busy, 0, (size_t)w->u->cost->n_devices * sizeof *w->busy);
  for (int32_t i = 0; i < w->n_units; i++) {
    int32_t unit = w->unit[i], sum = sum_of(w, unit);
    if (w->packing.device[w->u->ops[w->u->at[unit]]] != BERTH_NONE) continue;
    if (sum != BERTH_NONE ? !put_sum(w, sum) : !put(w, unit, best_for_unit(w, unit).first))
      return BERTH_EINFEASIBLE;
  }
  return BERTH_OK;
}

/* ---- greedy ---- */

/* What a unit reads is charged to both ends. */
static void charge_unit(const berth_i_spread *w, int32_t unit, int32_t device, double *busy,
                        double *total) {
  const berth_cost *c = w->u->cost;
  double seconds =
      berth_i_unit_can_run(w->u, unit, device) ? berth_i_unit_time(w->u, unit, device) : INFINITY;
  busy[device] += seconds;
  *total += seconds;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    int32_t op = w->u->ops[i];
    for (int32_t j = c->g->in_at[op]; j < c->g->in_at[op + 1]; j++) {
      int32_t t = c->g->in[j], src = w->packing.device[c->g->producer[t]];
      if (src == BERTH_NONE || src == device || berth_i_spread_is_copied(w, t, device)) continue;
      seconds = berth_i_transfer_time(c, t, src, device);
      busy[src] += seconds;
      busy[device] += seconds;
      *total += 2 * seconds;
    }
  }
}

static int32_t least_busy(berth_i_spread *w, int32_t unit) {
  plan best = { 0 }, p = { 0 };
  p.size = 1;
  for (p.first = 0; p.first < w->u->cost->n_devices; p.first++) {
    memcpy(w->trial, w->busy, (size_t)w->u->cost->n_devices * sizeof *w->trial);
    p.total = 0;
    charge_unit(w, unit, p.first, w->trial, &p.total);
    p.most = largest(w->trial, w->u->cost->n_devices);
    if (better(&p, &best)) best = p;
  }
  return best.first;
}

berth_status berth_i_spread_greedy(berth_i_spread *w) {
  for (int32_t i = 0; i < w->n_units; i++) {
    int32_t d = least_busy(w, w->unit[i]);
    double total = 0;
    memcpy(w->trial, w->busy, (size_t)w->u->cost->n_devices * sizeof *w->trial);
    charge_unit(w, w->unit[i], d, w->trial, &total);
    if (berth_i_spread_put(w, w->unit[i], d))
      memcpy(w->busy, w->trial, (size_t)w->u->cost->n_devices * sizeof *w->busy);
    else if (!berth_i_spread_cheapest(w, w->unit[i])) return BERTH_EINFEASIBLE;
  }
  return BERTH_OK;
}
