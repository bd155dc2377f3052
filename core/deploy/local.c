/* What each action of an op group would cost there: the time of its slowest device, what keeps its
 * variables in step, and transfers to neighbours, priced per byte between two spreads (a place and
 * a manner of being spread) by the busiest link of the routes. All three are kept once computed. */
#include "values_internal.h"

/* ---- one byte from spread to spread ---- */

/* A place of one device stands for a part of a group that is distributed. */
typedef struct way {
  berth_deploy *d;
  berth_i_values *v;
  bool cut;        /* the tensor is cut along the batch */
  double latency;
  bool apart;      /* some pair has no route */
} way;

static bool holds_all(berth_i_spread s, bool cut) { return !cut || s.manner == BERTH_I_BY_WHOLE; }

static berth_i_form form_of(berth_i_spread s) {
  return berth_i_form_of(s.place,
                         s.manner == BERTH_I_BY_SPEED ? BERTH_I_CUT_SPEED : BERTH_I_CUT_EVEN);
}

static bool is_in(const berth_deploy *d, int32_t place, int32_t device) {
  const int32_t *list = berth_i_place_devices(d, place);
  int32_t n = berth_i_place_size(d, place);
  for (int32_t k = 0; k < n; k++)
    if (list[k] == device) return true;
  return false;
}

static void send(way *w, int32_t src, int32_t dst, double bytes) {
  if (!berth_i_load_add(w->d, w->v, src, dst, bytes, &w->latency)) w->apart = true;
}

/* How much of a byte position k has, or needs. */
static double share_of(const way *w, berth_i_spread s, int32_t k) {
  if (holds_all(s, w->cut)) return 1;
  return (double)berth_i_form_samples(w->d, form_of(s), k) / w->d->batch;
}

static berth_status replicated(way *w, berth_i_spread a, berth_i_spread b, double *seconds) {
  const int32_t *src = berth_i_place_devices(w->d, a.place),
                *dst = berth_i_place_devices(w->d, b.place);
  int32_t n = berth_i_place_size(w->d, a.place), m = berth_i_place_size(w->d, b.place);
  berth_status st = BERTH_OK;
  if (holds_all(a, w->cut)) {
    /* A target that has a replica on its own device gets nothing; others get it from the first
     * replica. */
    for (int32_t k = 0; k < m; k++)
      if (!is_in(w->d, a.place, dst[k])) send(w, src[0], dst[k], share_of(w, b, k));
  } else if (holds_all(b, w->cut)) {
    for (int32_t i = 0; i < n; i++)
      for (int32_t k = 0; k < m; k++) send(w, src[i], dst[k], share_of(w, a, i));
  } else {
    const berth_i_moves *moves;
    st = berth_i_deploy_moves(w->d, form_of(a), form_of(b), &moves);
    for (int32_t k = 0; st == BERTH_OK && k < moves->n; k++) {
      const berth_i_move *x = &moves->move[k];
      send(w, src[x->src], dst[x->dst], (double)x->samples / w->d->batch);
    }
  }
  *seconds = berth_i_load_take(w->d, w->v);
  return st;
}

static berth_i_spread alone(const berth_deploy *d, berth_i_spread s, int32_t k) {
  return (berth_i_spread){ d->n_sets + berth_i_place_devices(d, s.place)[k], BERTH_I_BY_EVEN };
}

/* Dealt out: the mean over the devices that an op may be on, at each end. */
static berth_status mean_seconds(way *w, berth_i_spread a, berth_i_spread b, double *seconds) {
  bool by_a = a.manner == BERTH_I_BY_SPLIT, by_b = b.manner == BERTH_I_BY_SPLIT;
  int32_t n = by_a ? berth_i_place_size(w->d, a.place) : 1,
          m = by_b ? berth_i_place_size(w->d, b.place) : 1;
  double sum = 0, s = 0;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < m && st == BERTH_OK; k++, sum += s)
      st = replicated(w, by_a ? alone(w->d, a, i) : a, by_b ? alone(w->d, b, k) : b, &s);
  *seconds = sum / n / m;
  return st;
}

static berth_status rate_of(berth_deploy *d, berth_i_values *v, int32_t from, int32_t to,
                             const berth_i_rate **out) {
  way w = { d, v, true, 0, false };
  size_t n = (size_t)v->n_spreads * (size_t)v->n_spreads;
  berth_status st;
  if (!v->rate) {
    v->rate = berth_i_pool_alloc(&v->pool, n, sizeof *v->rate);
    if ((st = berth_i_pool_status(&v->pool)) != BERTH_OK) return st;
    for (size_t i = 0; i < n; i++) v->rate[i].cut = NAN;
  }
  berth_i_rate *r;
  *out = r = &v->rate[(size_t)from * (size_t)v->n_spreads + (size_t)to];
  if (!isnan(r->cut)) return BERTH_OK;
  double cut;
  if ((st = mean_seconds(&w, v->spread[from], v->spread[to], &cut)) != BERTH_OK) return st;
  w.cut = false;
  double whole;
  if ((st = mean_seconds(&w, v->spread[from], v->spread[to], &whole)) != BERTH_OK) return st;
  r->cut = w.apart ? INFINITY : (float)cut;
  r->whole = w.apart ? INFINITY : (float)whole;
  r->latency = (float)(w.latency * d->cost->transfer_factor);
  return BERTH_OK;
}

/* ---- what keeps the variables of an op group in step ---- */

static double by_allreduce(const berth_deploy *d, const berth_i_values *v, int32_t group,
                           int32_t place) {
  double sum = 0, bytes = 0;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++) {
    double more = berth_i_gradient_bytes(d, v->gradient[k], place);
    bool closes = d->o.bucket == BERTH_BUCKET_NONE
                  || (d->o.bucket == BERTH_BUCKET_BYTES && bytes + more > d->o.bucket_bytes);
    if (closes && bytes > 0) {
      sum += berth_i_allreduce_seconds(d, place, bytes);
      bytes = 0;
    }
    bytes += more;
  }
  return sum + berth_i_allreduce_seconds(d, place, bytes);
}

/* To the servers, or back. */
static double server_seconds(const berth_deploy *d, berth_i_values *v, int32_t group, int32_t place,
                             bool back, bool *apart) {
  const int32_t *list = berth_i_place_devices(d, place);
  int32_t n = berth_i_place_size(d, place);
  double latency = 0;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++) {
    int32_t update = BERTH_NONE; /* the first reader that is one */
    for (int32_t i = d->g->use_at[v->gradient[k]];
         i < d->g->use_at[v->gradient[k] + 1] && update == BERTH_NONE; i++)
      update = d->update_number[d->g->use[i]];
    int32_t server = list[update == BERTH_NONE ? 0 : update % n];
    double bytes = berth_i_gradient_bytes(d, v->gradient[k], place);
    for (int32_t i = 0; i < n; i++)
      if (!berth_i_load_add(d, v, back ? server : list[i], back ? list[i] : server, bytes,
                            &latency))
        *apart = true;
  }
  return berth_i_load_take(d, v) + latency * d->cost->transfer_factor;
}

/* What keeps variables in step, without repeated ops. */
static double group_sync(berth_deploy *d, berth_i_values *v, int32_t group, int32_t action) {
  int32_t place = berth_i_action_place(d, action);
  if (!berth_i_is_data_parallel(d, action)) return 0;
  double rows = berth_i_gather_seconds(d, place, v->rows[group]);
  if (d->action[action].option != BERTH_DEPLOY_PS) return rows + by_allreduce(d, v, group, place);
  bool apart = false;
  double to = server_seconds(d, v, group, place, false, &apart),
         back = server_seconds(d, v, group, place, true, &apart);
  return apart ? INFINITY : rows + (to + back);
}

/* ---- time of the slowest device ---- */

static double slowest_replica(const berth_deploy *d, int32_t group, berth_i_spread s) {
  int32_t n = berth_i_place_size(d, s.place);
  double most = 0;
  for (int32_t k = 0; k < n; k++) {
    berth_i_form f = berth_i_form_of(s.place, (berth_i_cut)s.manner);
    int32_t device = berth_i_place_devices(d, s.place)[k], samples = berth_i_form_samples(d, f, k);
    double t = 0;
    for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++)
      t += berth_i_deploy_seconds(d, d->group_op[i], device, samples);
    most = t > most ? t : most;
  }
  return most;
}

/* Dealt out: the longest way through the group with its transfers, or the device with most to
 * do. */
static berth_status dealt_out(berth_deploy *d, berth_i_values *v, int32_t group, int32_t place,
                              double *out) {
  const berth_graph *g = d->g;
  const int32_t *device = berth_i_place_devices(d, place), *part;
  int32_t n = berth_i_place_size(d, place), ops = berth_i_group_size(d, group);
  berth_status st = berth_i_deploy_dealt(d, group, n, &part);
  if (st != BERTH_OK) return st;
  double *end = berth_i_alloc(d->ctx, (size_t)ops, sizeof *end), /* of each op of the group */
      *load = berth_i_zalloc(d->ctx, (size_t)n, sizeof *load), most = 0;
  if (!end || !load) st = berth_i_nomem(d->ctx);
  for (int32_t i = 0; i < ops && st == BERTH_OK; i++) {
    int32_t op = v->in_order[d->group_at[group] + i], at = v->index[op], dst = device[part[at]];
    double t = berth_i_deploy_seconds(d, op, dst, d->batch), start = 0;
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
      int32_t from = g->producer[g->in[k]];
      if (d->group[from] != group) continue;
      int32_t src = device[part[v->index[from]]];
      double ready = end[v->index[from]];
      if (src != dst) ready += berth_i_transfer_time(d->cost, g->in[k], src, dst);
      start = ready > start ? ready : start;
    }
    end[at] = start + t;
    load[part[at]] += t;
    most = fmax(most, end[at]);
  }
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) most = fmax(most, load[k]);
  if (st == BERTH_OK) *out = most;
  berth_i_free(d->ctx, end, (size_t)ops, sizeof *end);
  berth_i_free(d->ctx, load, (size_t)n, sizeof *load);
  return st;
}

static berth_status group_seconds(berth_deploy *d, berth_i_values *v, int32_t group, int32_t action,
                                  double *out) {
  int32_t k = v->spread_of[action];
  double *kept = &v->seconds[(size_t)group * (size_t)v->n_spreads + (size_t)k];
  berth_status st = BERTH_OK;
  if (isnan(*kept)) {
    double t = 0;
    if (v->spread[k].manner == BERTH_I_BY_SPLIT)
      st = dealt_out(d, v, group, v->spread[k].place, &t);
    else t = slowest_replica(d, group, v->spread[k]);
    if (st == BERTH_OK) *kept = t;
  }
  *out = *kept;
  return st;
}

/* ---- memory ---- */

/* An op group on its own: no action is refused for what others hold. */
static bool holds_params(const berth_deploy *d, const berth_i_values *v, int32_t group,
                         int32_t action) {
  int32_t place = berth_i_action_place(d, action), n = berth_i_place_size(d, place);
  const int32_t *list = berth_i_place_devices(d, place);
  double bytes = v->params[group] * d->sim.param_multiple, memory = 0;
  bool parts = d->action[action].option == BERTH_DEPLOY_SPLIT && n > 1;
  if (d->sim.memory == BERTH_MEMORY_NONE) return true;
  for (int32_t k = 0; k < n; k++) {
    if (!parts && bytes > berth_i_memory_of(d, list[k])) return false;
    memory += berth_i_memory_of(d, list[k]);
  }
  return bytes <= memory;
}

/* ---- the sum ---- */

static berth_status sync_seconds(berth_deploy *d, berth_i_values *v, int32_t group, int32_t action,
                                 double *out) {
  double *kept = &v->sync[(size_t)group * (size_t)d->n_actions + (size_t)action];
  if (isnan(*kept)) {
    double sync = group_sync(d, v, group, action);
    if (sync > 0 && d->action[action].option == BERTH_DEPLOY_ALLREDUCE) {
      const berth_i_local_sfb *sfb = berth_i_local_sfb_of(d, v, group, action);
      if (!sfb) return BERTH_ENOMEM;
      sync -= sfb->saved;
    }
    *kept = sync > 0 ? sync : 0;
  }
  *out = *kept;
  return BERTH_OK;
}

static berth_status add_crossing(berth_deploy *d, berth_i_values *v, const berth_i_crossing *c,
                                 int32_t from, int32_t to, double *sum) {
  const berth_i_rate *r;
  berth_status st = rate_of(d, v, v->spread_of[from], v->spread_of[to], &r);
  if (st != BERTH_OK) return st;
  if (c->cut > 0) *sum += c->cut * (double)r->cut;
  if (c->whole > 0) *sum += c->whole * (double)r->whole;
  *sum += (double)r->latency;
  return BERTH_OK;
}

static berth_status local_seconds(berth_deploy *d, berth_i_values *v, const int32_t *action,
                                  int32_t group, int32_t with, double *out) {
  double work, sync, boundary = 0;
  *out = INFINITY;
  if (!berth_i_is_legal(d, group, with) || !holds_params(d, v, group, with)) return BERTH_OK;
  berth_status st;
  if ((st = group_seconds(d, v, group, with, &work)) != BERTH_OK
      || (st = sync_seconds(d, v, group, with, &sync)) != BERTH_OK)
    return st;
  for (int32_t i = v->out_at[group]; i < v->out_at[group + 1] && st == BERTH_OK; i++)
    st = add_crossing(d, v, &v->crossing[i], with, action[v->to[i]], &boundary);
  for (int32_t i = v->in_at[group]; i < v->in_at[group + 1] && st == BERTH_OK; i++)
    st = add_crossing(d, v, &v->crossing[v->in[i]], action[v->from[v->in[i]]], with, &boundary);
  if (st == BERTH_OK) *out = work + sync + boundary;
  return st;
}

berth_status berth_deploy_local(berth_deploy *d, const int32_t *action, int32_t group,
                                double *seconds) {
  if (!d) return BERTH_EINVAL;
  berth_status st = berth_i_deploy_check_strategy(d, action);
  if (st != BERTH_OK) return st;
  if (group < 0 || group >= d->n_groups)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "op group %d: there are %d", (int)group,
                        (int)d->n_groups);
  berth_i_values *v;
  if ((st = berth_i_values_of(d, &v)) != BERTH_OK) return st;
  for (int32_t a = 0; a < d->n_actions && st == BERTH_OK; a++)
    st = local_seconds(d, v, action, group, a, &seconds[a]);
  return st;
}
