/* Memory under INFERENCE and TRAINING: which bytes are on which device at which planned time. A
 * tensor is held from its producer's start, a copy from its producer's end (a send may begin then);
 * both are freed after their last reader there, the last send, and the end of the backward twins
 * that the simulator waits for. Until all of these are planned a tensor counts as held for ever, so
 * the plan never relies on memory that may not be freed. O(inputs log n) an op, and O(devices) a
 * tensor that is freed. */
#include "engine_internal.h"

static double *last_use(const berth_plan *p, int32_t tensor) {
  return p->copies.pool + (size_t)p->copies.row[tensor] * (size_t)p->copies.width + p->devices;
}

static void raise_to(double *at, double value) {
  if (!(*at >= value)) *at = value; /* NaN: not used yet */
}

/* Within an instant the simulator frees before it allocates, but an op's start before its
 * own finish. */
static double end_of(const berth_plan *p, int32_t op) {
  double end = p->finish[op];
  return end > p->start[op] ? end : nextafter(end, INFINITY);
}

/* ---- what a tensor uses_left for ---- */

/* The backward one of two twins is the one that comes later in topological order. */
static berth_status mark_backward(berth_plan *p) {
  const berth_graph *g = p->g;
  if (p->setup->memory != BERTH_MEMORY_TRAINING || !g->twin) return BERTH_OK;
  uint8_t *backward;
  if (!(p->store.backward = backward = berth_i_pool_zalloc(&p->pool, (size_t)p->n, 1)))
    return berth_i_nomem(p->ctx);
  uint8_t *seen;
  if (!(seen = berth_i_zalloc(p->ctx, (size_t)p->n, 1))) return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->n; i++) {
    int32_t op = g->topo[i], twin = g->twin[op];
    seen[op] = 1;
    backward[op] = twin != BERTH_NONE && seen[twin];
  }
  berth_i_free(p->ctx, seen, (size_t)p->n, 1);
  return BERTH_OK;
}

static bool held_for_twin(const berth_plan *p, int32_t op) {
  int32_t twin = p->store.backward ? berth_i_twin(p->g, op) : BERTH_NONE;
  return twin != BERTH_NONE && p->store.backward[twin];
}

static void count_uses(berth_plan *p) {
  const berth_graph *g = p->g;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    p->store.uses_left[t] = g->use_at[t + 1] - g->use_at[t] + held_for_twin(p, g->producer[t]);
    for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++)
      p->store.uses_left[t] += held_for_twin(p, g->use[i]);
  }
}

berth_status berth_i_residency_init(berth_plan *p) {
  berth_i_store *s = &p->store;
  size_t tensors = (size_t)p->g->n_tensors;
  int32_t inputs = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (p->g->in_at[i + 1] - p->g->in_at[i] > inputs) inputs = p->g->in_at[i + 1] - p->g->in_at[i];
  }
  s->profile = berth_i_pool_alloc(&p->pool, (size_t)p->devices, sizeof *s->profile);
  s->uses_left = berth_i_pool_alloc(&p->pool, tensors, sizeof *s->uses_left);
  s->until = berth_i_pool_zalloc(&p->pool, tensors, sizeof *s->until);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->devices; i++) berth_i_profile_init(&s->profile[i]);
  st = berth_i_pool_grow(&p->pool, (void **)&s->scratch.at, &s->scratch.cap, (size_t)inputs,
                         sizeof *s->scratch.at);
  if (st != BERTH_OK) return st;
  if ((st = mark_backward(p)) != BERTH_OK) return st;
  count_uses(p);
  return BERTH_OK;
}

/* ---- does it fit? ---- */

/* New copies by the time from which they may be held. */
static void list_copies(berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t];
    if (p->device[u] == device
        || (p->copies.row[t] != BERTH_NONE && berth_i_has_copy(p, t, device)))
      continue;
    /* cannot fail: residency_init reserved the entries */
    berth_i_queue_push(&p->pool, &p->store.scratch, p->finish[u], berth_i_resident(g, t), t);
  }
}

static double new_copies(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i];
    if (p->device[g->producer[t]] != device
        && !(p->copies.row[t] != BERTH_NONE && berth_i_has_copy(p, t, device))) {
      sum += berth_i_resident(g, t);
    }
  }
  return sum;
}

/* The bytes that it adds come on top of at most what was ever there, and at least what stays. */
bool berth_i_residency_fits(berth_plan *p, int32_t op, int32_t device, double start) {
  const berth_i_profile *f = &p->store.profile[device];
  double limit = p->store.limit[device];
  if (isinf(limit)) return true;
  double own = p->store.held[device] + berth_i_store_demand(p, op).permanent
               + berth_i_collectives_bytes(p, op, device);
  own += berth_i_output_bytes(p->g, op) + berth_i_workspace(p->g, op);
  if (berth_i_excess(own + berth_i_profile_last(f), limit) > 0) return false;
  own += new_copies(p, op, device);
  if (berth_i_excess(own + berth_i_profile_highest(f), limit) <= 0) return true;
  return berth_i_excess(own + berth_i_profile_last(f), limit) <= 0
         && berth_i_residency_missing(p, op, device, start) <= 0;
}

double berth_i_residency_missing(berth_plan *p, int32_t op, int32_t device, double start) {
  const berth_i_profile *f = &p->store.profile[device];
  double more = 0, worst = berth_i_profile_most(f, 0);
  list_copies(p, op, device);
  while (p->store.scratch.n > 0) {
    berth_i_entry e = berth_i_queue_pop(&p->store.scratch);
    more += e.second;
    worst = fmax(worst, berth_i_profile_most(f, e.key) + more);
  }
  more += berth_i_output_bytes(p->g, op) + berth_i_workspace(p->g, op);
  worst = fmax(worst, berth_i_profile_most(f, start) + more);
  worst += p->store.held[device] + berth_i_store_demand(p, op).permanent
           + berth_i_collectives_bytes(p, op, device);
  return berth_i_excess(worst, p->store.limit[device]);
}

/* ---- charging ---- */

/* All uses are planned: it is freed on each device that holds it. */
static berth_status release_tensor(berth_plan *p, int32_t tensor) {
  const double *used = last_use(p, tensor);
  double bytes = berth_i_resident(p->g, tensor);
  for (int32_t d = 0; d < p->devices; d++) {
    if (isnan(used[d])) continue;
    berth_status st = berth_i_profile_add(&p->pool, &p->store.profile[d],
                                          fmax(used[d], p->store.until[tensor]), -bytes);
    if (st != BERTH_OK) return st;
  }
  p->store.released = true;
  berth_i_copy_drop(p, tensor);
  return BERTH_OK;
}

/* A twin may be placed before the producer. */
static berth_status use_planned(berth_plan *p, int32_t tensor) {
  bool produced = p->copies.row[tensor] != BERTH_NONE;
  return --p->store.uses_left[tensor] == 0 && produced ? release_tensor(p, tensor) : BERTH_OK;
}

static berth_status read_inputs(berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  int32_t device = p->device[op];
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], home = p->device[g->producer[t]];
    double *used = last_use(p, t);
    /* its arrival: the send is over by then */
    if (home != device) raise_to(&used[home], used[device - p->devices]);
    raise_to(&used[device], end_of(p, op));
    berth_status st;
    if ((st = use_planned(p, t)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status write_outputs(berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    if (!berth_i_copy_row(p, t)) return berth_i_nomem(p->ctx);
    raise_to(&last_use(p, t)[p->device[op]], end_of(p, op));
    berth_status st;
    /* no readers, or its twins were planned first */
    if (p->store.uses_left[t] == 0 && (st = release_tensor(p, t)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status release_twin(berth_plan *p, int32_t op, const int32_t *tensors, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    p->store.until[tensors[i]] = fmax(p->store.until[tensors[i]], end_of(p, op));
    berth_status st;
    if ((st = use_planned(p, tensors[i])) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status end_backward(berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  if (!p->store.backward || !p->store.backward[op]) return BERTH_OK;
  int32_t x = berth_i_twin(g, op);
  berth_status st;
  if ((st = release_twin(p, op, g->out + g->out_at[x], g->out_at[x + 1] - g->out_at[x]))
      != BERTH_OK)
    return st;
  return release_twin(p, op, g->in + g->in_at[x], g->in_at[x + 1] - g->in_at[x]);
}

berth_status berth_i_residency_charge(berth_plan *p, int32_t op) {
  int32_t device = p->device[op];
  berth_i_profile *f = &p->store.profile[device];
  double workspace = berth_i_workspace(p->g, op);
  p->store.held[device] +=
      berth_i_store_demand(p, op).permanent + berth_i_collectives_bytes(p, op, device);
  berth_status st;
  if ((st = berth_i_profile_add(&p->pool, f, p->start[op],
                                berth_i_output_bytes(p->g, op) + workspace))
      != BERTH_OK)
    return st;
  if ((st = berth_i_profile_add(&p->pool, f, end_of(p, op), -workspace)) != BERTH_OK) return st;
  if ((st = write_outputs(p, op)) != BERTH_OK) return st;
  if ((st = read_inputs(p, op)) != BERTH_OK) return st;
  return end_backward(p, op);
}
