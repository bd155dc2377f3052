/* When inputs arrive: transfers under the links discipline, as estimates (berth_i_ready_at) and as
 * reservations (berth_i_fetch). Structure: a channel is one time until which it is taken.
 * Invariant: transfers are appended, never inserted, so an estimate can only grow. An estimate on
 * channels reserves and undoes. O(inputs) a device. */
#include "engine_internal.h"

/* ---- channels ---- */

static size_t most_inputs(const berth_graph *g) {
  int32_t most = 0;
  for (int32_t op = 0; op < g->n_ops; op++) {
    if (g->in_at[op + 1] - g->in_at[op] > most) most = g->in_at[op + 1] - g->in_at[op];
  }
  return (size_t)most;
}

static berth_status init_channels(berth_plan *p) {
  berth_i_channels *w = &p->channels;
  size_t d = (size_t)p->devices, inputs = most_inputs(p->g);
  size_t n = p->setup->links == BERTH_LINKS_PAIR     ? d * d
             : p->setup->links == BERTH_LINKS_DUPLEX ? 2 * d
                                                     : d;
  w->busy = berth_i_pool_zalloc(&p->pool, n, sizeof *w->busy);
  w->undo = berth_i_pool_alloc(&p->pool, 2 * inputs, sizeof *w->undo);
  w->sent = berth_i_pool_alloc(&p->pool, inputs, sizeof *w->sent);
  return berth_i_pool_status(&p->pool);
}

berth_status berth_i_arrivals_init(berth_plan *p) {
  bool limited = p->setup->links != BERTH_LINKS_FREE;
  berth_status st;
  if (limited && (st = init_channels(p)) != BERTH_OK) return st;
  if (limited || p->setup->rule == BERTH_I_RULE_STRICT || p->setup->rule == BERTH_I_RULE_PROFILE)
    return berth_i_copies_init(p);
  return BERTH_OK;
}

static double *channel_out(const berth_plan *p, int32_t src, int32_t dst) {
  size_t i = (size_t)src;
  if (p->setup->links == BERTH_LINKS_PAIR) i = i * (size_t)p->devices + (size_t)dst;
  return p->channels.busy + i;
}

static double *channel_in(const berth_plan *p, int32_t src, int32_t dst) {
  if (p->setup->links == BERTH_LINKS_PAIR) return channel_out(p, src, dst);
  return p->channels.busy + (p->setup->links == BERTH_LINKS_DUPLEX ? p->devices : 0) + dst;
}

static double later(double a, double b) { return a > b ? a : b; }

/* A transfer of `time`, not before `from`: when the sender and the receiver get free again, the
 * latter its arrival. */
static void windows(const berth_plan *p, double from, double time, double out, double in,
                    double *sent, double *arrived) {
  double start = later(from, out);
  if (p->setup->split_windows) {
    *sent = start + time;
    *arrived = later(start, in) + time;
  } else {
    *sent = *arrived = later(start, in) + time;
  }
}

static double send(const berth_plan *p, double from, double time, int32_t src, int32_t dst) {
  double *out = channel_out(p, src, dst), *in = channel_in(p, src, dst), sent, arrived;
  windows(p, from, time, *out, *in, &sent, &arrived);
  *out = sent;
  *in = arrived;
  return arrived;
}

/* ---- estimates ---- */

static void note(berth_i_channels *w, double *at) {
  w->undo[w->n_undo].at = at;
  w->undo[w->n_undo++].was = *at;
}

static void take_back(berth_i_channels *w) {
  while (w->n_undo > 0) {
    berth_i_undo u = w->undo[--w->n_undo];
    *u.at = u.was;
  }
}

static double arrival_of(const berth_plan *p, int32_t tensor, int32_t device) {
  return p->copies.pool[(size_t)p->copies.row[tensor] * (size_t)p->copies.width + (size_t)device];
}

/* As berth_i_fetch would do it now, then undone. */
static double try_fetch(berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double ready = berth_i_collectives_ready(p, op);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1] && !isinf(ready); i++) {
    int32_t t = g->in[i], u = g->producer[t], src = p->device[u];
    double at = p->finish[u];
    if (src != device && berth_i_has_copy(p, t, device)) {
      at = arrival_of(p, t, device);
    } else if (src != device) {
      double time = berth_i_plan_cross(p, t, src, device);
      note(&p->channels, channel_out(p, src, device));
      note(&p->channels, channel_in(p, src, device));
      at = isinf(time) ? time : send(p, at, time, src, device);
    }
    ready = later(ready, at);
  }
  take_back(&p->channels);
  return ready;
}

static bool producer_before(const berth_graph *g, int32_t op, int32_t i) {
  int32_t u = g->producer[g->in[i]];
  if (g->out_at[u + 1] - g->out_at[u] < 2) return false;
  for (int32_t j = g->in_at[op]; j < i; j++) {
    if (g->producer[g->in[j]] == u) return true;
  }
  return false;
}

/* Published: the tensors of one producer count as one transfer on the channels as they are now. */
static double blind_arrival(const berth_plan *p, int32_t op, int32_t first, int32_t device) {
  const berth_graph *g = p->g;
  int32_t u = g->producer[g->in[first]], src = p->device[u];
  bool alone = g->out_at[u + 1] - g->out_at[u] < 2;
  double ready = p->finish[u], time = 0;
  bool missing = false;
  for (int32_t i = first; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i];
    if (g->producer[t] == u && berth_i_has_copy(p, t, device))
      ready = later(ready, arrival_of(p, t, device));
    if (g->producer[t] == u && !berth_i_has_copy(p, t, device)) {
      time += berth_i_plan_cross(p, t, src, device);
      missing = true;
    }
    if (alone) break;
  }
  if (!missing || isinf(time)) return missing ? time : ready;
  double sent, arrived;
  windows(p, p->finish[u], time, *channel_out(p, src, device), *channel_in(p, src, device), &sent,
          &arrived);
  return later(ready, arrived);
}

static double blind_ready(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double ready = berth_i_collectives_ready(p, op);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t u = g->producer[g->in[i]];
    if (p->device[u] == device) {
      ready = later(ready, p->finish[u]);
    } else if (!producer_before(g, op, i)) {
      ready = later(ready, blind_arrival(p, op, i, device));
    }
  }
  return ready;
}

static double free_ready(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double ready = berth_i_collectives_ready(p, op);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t];
    ready = later(ready, p->finish[u] + berth_i_plan_cross(p, t, p->device[u], device));
  }
  return ready;
}

double berth_i_ready_at(berth_plan *p, int32_t op, int32_t device) {
  if (!berth_i_plan_contended(p)) return free_ready(p, op, device);
  return p->setup->blind_estimates ? blind_ready(p, op, device) : try_fetch(p, op, device);
}

/* All devices but the producer's alike: one transfer time for the row. */
static void uniform_row(const berth_plan *p, int32_t op, double *row) {
  const berth_graph *g = p->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t], src = p->device[u];
    double here = p->finish[u],
           there = here + berth_i_quantise_transfer(p->cost->uniform[t], p->setup->quantum);
    double kept = later(row[src], here);
    for (int32_t d = 0; d < p->devices; d++) row[d] = row[d] > there ? row[d] : there;
    row[src] = kept;
  }
}

void berth_i_ready_row(berth_plan *p, int32_t op, double *row) {
  if (!berth_i_plan_contended(p) && p->cost->uniform) {
    double from = berth_i_collectives_ready(p, op);
    for (int32_t d = 0; d < p->devices; d++) row[d] = from;
    uniform_row(p, op, row);
    return;
  }
  for (int32_t d = 0; d < p->devices; d++) row[d] = berth_i_ready_at(p, op, d);
}

/* ---- reservations ---- */

static berth_status send_copy(berth_plan *p, int32_t tensor, int32_t device, double *at) {
  int32_t u = p->g->producer[tensor], src = p->device[u];
  double time = berth_i_plan_cross(p, tensor, src, device);
  if (berth_i_plan_contended(p)) {
    *at = send(p, p->finish[u], time, src, device);
    p->channels.sent[p->channels.n_sent++] = tensor;
  } else {
    *at = p->finish[u] + time;
  }
  if (!p->copies.row) return BERTH_OK;
  double *row;
  if (!(row = berth_i_copy_row(p, tensor))) return berth_i_nomem(p->ctx);
  row[device] = *at;
  return berth_i_store_copy(p, tensor, device, p->finish[u]);
}

static void read_once(berth_plan *p, int32_t tensor) {
  if (!p->copies.row) return;
  if (--p->copies.left[tensor] == 0 && p->setup->rule != BERTH_I_RULE_PROFILE)
    berth_i_copy_drop(p, tensor);
}

berth_status berth_i_fetch(berth_plan *p, int32_t op, int32_t device, double *ready) {
  const berth_graph *g = p->g;
  *ready = berth_i_collectives_ready(p, op);
  p->channels.n_sent = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t];
    double at = p->finish[u];
    berth_status st;
    if (p->device[u] != device && p->copies.row && berth_i_has_copy(p, t, device)) {
      at = berth_i_plan_contended(p) ? arrival_of(p, t, device)
                                     : at + berth_i_plan_cross(p, t, p->device[u], device);
    } else if (p->device[u] != device && (st = send_copy(p, t, device, &at)) != BERTH_OK) {
      return st;
    }
    *ready = later(*ready, at);
    read_once(p, t);
  }
  return BERTH_OK;
}
