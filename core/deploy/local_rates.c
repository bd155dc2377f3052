/* What a byte costs that goes from one stance to another: the busiest link of the routes. */
#include "values_internal.h"

/* ---- traffic on links ---- */

bool berth_i_load_add(const berth_deploy *d, berth_i_values *v, int32_t src, int32_t dst,
                      double bytes, double *latency) {
  if (src == dst || bytes == 0) return true;
  const int32_t *links;
  int32_t n;
  if ((n = berth_topology_route(d->t, src, dst, &links)) < 0) return false;
  for (int32_t k = 0; k < n; k++) {
    if (v->load[links[k]] == 0) v->touched[v->n_touched++] = links[k];
    v->load[links[k]] += bytes;
  }
  double lag = d->t->latency[berth_i_pair(d->t, src, dst)];
  if (latency && lag > *latency) *latency = lag;
  return true;
}

double berth_i_load_take(const berth_deploy *d, berth_i_values *v) {
  double most = 0;
  for (int32_t k = 0; k < v->n_touched; k++) {
    double s = v->load[v->touched[k]] / d->t->links[v->touched[k]].bandwidth;
    most = s > most ? s : most;
    v->load[v->touched[k]] = 0;
  }
  v->n_touched = 0;
  return most * d->cost->transfer_factor;
}

/* ---- one byte from stance to stance ---- */

/* A place of one device stands for a part of a group that is dealt out. */
typedef struct way {
  berth_deploy *d;
  berth_i_values *v;
  bool cut;        /* the tensor is cut along the batch */
  double latency;
  bool apart;      /* some pair has no route */
} way;

static bool holds_all(berth_i_stance s, bool cut) { return !cut || s.manner == BERTH_I_BY_WHOLE; }

static berth_i_form form_of(berth_i_stance s) {
  return berth_i_form_of(s.place,
                         s.manner == BERTH_I_BY_SPEED ? BERTH_I_CUT_SPEED : BERTH_I_CUT_EVEN);
}

static bool is_in(const berth_deploy *d, int32_t place, int32_t device) {
  const int32_t *list = berth_i_place_devices(d, place);
  int32_t n = berth_i_place_size(d, place);
  for (int32_t k = 0; k < n; k++) {
    if (list[k] == device) return true;
  }
  return false;
}

static void send(way *w, int32_t src, int32_t dst, double bytes) {
  if (!berth_i_load_add(w->d, w->v, src, dst, bytes, &w->latency)) w->apart = true;
}

/* How much of a byte position k has, or needs. */
static double share_of(const way *w, berth_i_stance s, int32_t k) {
  if (holds_all(s, w->cut)) return 1;
  return (double)berth_i_form_samples(w->d, form_of(s), k) / w->d->batch;
}

static berth_status cut_to_cut(way *w, berth_i_stance a, berth_i_stance b) {
  const int32_t *src = berth_i_place_devices(w->d, a.place),
                *dst = berth_i_place_devices(w->d, b.place);
  const berth_i_moves *moves;
  berth_status st = berth_i_deploy_moves(w->d, form_of(a), form_of(b), &moves);
  for (int32_t k = 0; st == BERTH_OK && k < moves->n; k++) {
    const berth_i_move *m = &moves->move[k];
    send(w, src[m->src], dst[m->dst], (double)m->samples / w->d->batch);
  }
  return st;
}

static berth_status replicated(way *w, berth_i_stance a, berth_i_stance b, double *seconds) {
  berth_status st = BERTH_OK;
  if (holds_all(a, w->cut)) {
    /* Who has all of it on the spot sends nothing; else the first replica does. */
    const int32_t *src = berth_i_place_devices(w->d, a.place),
                  *dst = berth_i_place_devices(w->d, b.place);
    int32_t n = berth_i_place_size(w->d, b.place);
    for (int32_t k = 0; k < n; k++) {
      if (!is_in(w->d, a.place, dst[k])) send(w, src[0], dst[k], share_of(w, b, k));
    }
  } else if (holds_all(b, w->cut)) {
    const int32_t *src = berth_i_place_devices(w->d, a.place),
                  *dst = berth_i_place_devices(w->d, b.place);
    int32_t n = berth_i_place_size(w->d, a.place), m = berth_i_place_size(w->d, b.place);
    for (int32_t i = 0; i < n; i++) {
      for (int32_t k = 0; k < m; k++) send(w, src[i], dst[k], share_of(w, a, i));
    }
  } else st = cut_to_cut(w, a, b);
  *seconds = berth_i_load_take(w->d, w->v);
  return st;
}

static berth_i_stance alone(const berth_deploy *d, berth_i_stance s, int32_t k) {
  return (berth_i_stance){ d->n_sets + berth_i_place_devices(d, s.place)[k], BERTH_I_BY_EVEN };
}

/* Dealt out: the mean over the devices that an op may be on, at each end. */
static berth_status mean_seconds(way *w, berth_i_stance a, berth_i_stance b, double *seconds) {
  bool by_a = a.manner == BERTH_I_BY_SPLIT, by_b = b.manner == BERTH_I_BY_SPLIT;
  int32_t n = by_a ? berth_i_place_size(w->d, a.place) : 1,
          m = by_b ? berth_i_place_size(w->d, b.place) : 1;
  double sum = 0, s = 0;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < m && st == BERTH_OK; k++, sum += s) {
      st = replicated(w, by_a ? alone(w->d, a, i) : a, by_b ? alone(w->d, b, k) : b, &s);
    }
  }
  *seconds = sum / n / m;
  return st;
}

static berth_status make_table(berth_i_values *v) {
  size_t n = (size_t)v->n_stances * (size_t)v->n_stances;
  if (v->rate) return BERTH_OK;
  if (!(v->rate = berth_i_pool_alloc(&v->pool, n, sizeof *v->rate)))
    return berth_i_pool_status(&v->pool);
  for (size_t i = 0; i < n; i++) v->rate[i].cut = NAN;
  return BERTH_OK;
}

berth_status berth_i_rate_of(berth_deploy *d, berth_i_values *v, int32_t from, int32_t to,
                             const berth_i_rate **out) {
  way w = { d, v, true, 0, false };
  berth_status st = make_table(v);
  if (st != BERTH_OK) return st;
  berth_i_rate *r;
  *out = r = &v->rate[(size_t)from * (size_t)v->n_stances + (size_t)to];
  if (!isnan(r->cut)) return BERTH_OK;
  double cut;
  if ((st = mean_seconds(&w, v->stance[from], v->stance[to], &cut)) != BERTH_OK) return st;
  w.cut = false;
  double whole;
  if ((st = mean_seconds(&w, v->stance[from], v->stance[to], &whole)) != BERTH_OK) return st;
  r->cut = w.apart ? INFINITY : (float)cut;
  r->whole = w.apart ? INFINITY : (float)whole;
  r->latency = (float)(w.latency * d->cost->transfer_factor);
  return BERTH_OK;
}
