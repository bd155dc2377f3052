/* Which device of a place owns which samples of the batch, and what moves between two such layouts.
 *
 * A device keeps what it owns when all devices share the batch, as far as its share in the place
 * goes; the rest fills the shares that are still open, in order. So two places that have devices in
 * common move little. `positional`: samples in the order of the devices of the place. */
#include "deploy/deploy_internal.h"

/* Whole numbers below the shares; what is left goes one by one to the position that is done
 * first with one sample more, of those that have not got it yet.
 * @param speed [n] above 0  @param given [n] scratch */
static void share_out(int32_t batch, int32_t n, const double *speed, bool even, uint8_t *given,
                      int32_t *samples) {
  double all = 0;
  int32_t left = batch;
  for (int32_t k = 0; k < n; k++) all += speed[k];
  for (int32_t k = 0; k < n; k++) {
    samples[k] = even ? batch / n : (int32_t)(batch * (speed[k] / all));
    given[k] = 0;
    left -= samples[k];
  }
  for (; left > 0; left--) {
    int32_t best = BERTH_NONE;
    for (int32_t k = 0; k < n; k++) {
      if (given[k]) continue;
      if (best == BERTH_NONE || (samples[k] + 1) / speed[k] < (samples[best] + 1) / speed[best])
        best = k;
    }
    samples[best]++;
    given[best] = 1;
  }
}

typedef struct layout {
  const berth_deploy *d;
  int32_t *all;     /* [n_devices] samples of each device when all share the batch */
  double *speed;    /* [n_devices] of the place's devices */
  uint8_t *given;   /* [n_devices] scratch */
  int32_t *open;    /* [n_devices] samples that a position still lacks */
  int32_t next;     /* first position that may lack some */
  berth_i_run *run; /* of the present place */
  int32_t n;
} layout;

static void add_run(layout *l, int32_t first, int32_t owner) {
  if (l->n > 0 && l->run[l->n - 1].owner == owner) return;
  l->run[l->n++] = (berth_i_run){ first, owner };
}

/* Samples first..end-1, which no device of the place keeps. */
static void deal_out(layout *l, int32_t first, int32_t end) {
  while (first < end) {
    while (l->open[l->next] == 0) l->next++;
    int32_t some = l->open[l->next] < end - first ? l->open[l->next] : end - first;
    add_run(l, first, l->next);
    l->open[l->next] -= some;
    first += some;
  }
}

static void keep_own(layout *l, int32_t place, const int32_t *samples) {
  const int32_t *position = l->d->position + (size_t)place * (size_t)l->d->n_devices;
  int32_t first = 0, k, n = berth_i_place_size(l->d, place);
  for (k = 0; k < n; k++) {
    int32_t own = l->all[berth_i_place_devices(l->d, place)[k]];
    l->open[k] = samples[k] > own ? samples[k] - own : 0;
  }
  l->next = 0;
  for (int32_t device = 0; device < l->d->n_devices; device++) {
    int32_t own = l->all[device], kept = 0;
    k = position[device];
    if (k != BERTH_NONE) kept = own < samples[k] ? own : samples[k];
    if (kept > 0) add_run(l, first, k);
    deal_out(l, first + kept, first + own);
    first += own;
  }
}

static void lay_out_place(layout *l, int32_t place, bool speed, int32_t *samples) {
  const berth_deploy *d = l->d;
  int32_t n = berth_i_place_size(d, place);
  for (int32_t k = 0; k < n; k++) l->speed[k] = d->speed[berth_i_place_devices(d, place)[k]];
  share_out(d->batch, n, l->speed, !speed, l->given, samples);
  l->n = 0;
  if (d->o.positional) {
    int32_t first = 0;
    for (int32_t k = 0; k < n; k++) {
      if (samples[k] > 0) add_run(l, first, k);
      first += samples[k];
    }
  } else keep_own(l, place, samples);
}

/* At most: each device's own, what is left of it, and a change of receiver in between. */
static size_t most_runs(const berth_deploy *d) { return 3 * (size_t)d->n_devices + 1; }

static berth_status lay_out_all(berth_deploy *d, int kind, layout *l) {
  int32_t total = d->place_at[d->n_places];
  size_t n = 0;
  share_out(d->batch, d->n_devices, d->speed, kind == 0, l->given, l->all);
  for (int32_t place = 0; place < d->n_places; place++) {
    berth_status st = BERTH_I_POOL_GROW(&d->pool, d->run[kind], d->run_cap[kind], n + most_runs(d));
    if (st != BERTH_OK) return st;
    l->run = d->run[kind] + n;
    d->run_at[kind][place] = (int32_t)n;
    lay_out_place(l, place, kind != 0, d->samples + kind * total + d->place_at[place]);
    n += (size_t)l->n;
  }
  d->run_at[kind][d->n_places] = (int32_t)n;
  return BERTH_OK;
}

berth_status berth_i_deploy_lay_out(berth_deploy *d) {
  size_t n = (size_t)d->n_devices;
  layout l = { .d = d };
  berth_i_pool scratch = berth_i_pool_empty(d->ctx);
  l.all = berth_i_pool_alloc(&scratch, n, sizeof *l.all);
  l.speed = berth_i_pool_alloc(&scratch, n, sizeof *l.speed);
  l.given = berth_i_pool_alloc(&scratch, n, 1);
  l.open = berth_i_pool_alloc(&scratch, n, sizeof *l.open);
  d->samples =
      berth_i_pool_alloc(&d->pool, (size_t)d->place_at[d->n_places], 2 * sizeof *d->samples);
  d->uneven = berth_i_pool_alloc(&d->pool, (size_t)d->n_places, sizeof *d->uneven);
  for (int kind = 0; kind < 2; kind++)
    d->run_at[kind] =
        berth_i_pool_alloc(&d->pool, (size_t)d->n_places + 1, sizeof *d->run_at[kind]);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK
      || (st = berth_i_pool_status(&d->pool)) != BERTH_OK)
    goto done;
  if ((st = lay_out_all(d, 0, &l)) != BERTH_OK) goto done;
  if ((st = lay_out_all(d, 1, &l)) != BERTH_OK) goto done;
  int32_t total = d->place_at[d->n_places];
  for (int32_t place = 0; place < d->n_places; place++) {
    const int32_t *even = d->samples + d->place_at[place];
    d->uneven[place] =
        memcmp(even, even + total, (size_t)berth_i_place_size(d, place) * sizeof *even) != 0;
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- moves ---- */

typedef struct runs {
  const berth_i_run *run;
  int32_t n, at, batch;
} runs;

static runs runs_of(const berth_deploy *d, berth_i_form f) {
  int32_t place = berth_i_form_place(f), kind = berth_i_form_cut(f) == BERTH_I_CUT_SPEED,
          first = d->run_at[kind][place];
  return (runs){ d->run[kind] + first, d->run_at[kind][place + 1] - first, 0, d->batch };
}

static int32_t run_end(const runs *r) {
  return r->at + 1 < r->n ? r->run[r->at + 1].first : r->batch;
}

static berth_status fill_slot(const berth_deploy *d, berth_i_moves *m, berth_i_form from,
                              berth_i_form to) {
  int32_t n_from = berth_i_place_size(d, berth_i_form_place(from)),
          n_to = berth_i_place_size(d, berth_i_form_place(to));
  int32_t *count = berth_i_zalloc(d->ctx, (size_t)n_from, (size_t)n_to * sizeof *count);
  berth_i_move *move = NULL;
  if (count) {
    /* Steps through both lists of runs at once. */
    runs a = runs_of(d, from);
    runs b = runs_of(d, to);
    int32_t first = 0, pairs = 0;
    while (a.at < a.n && b.at < b.n) {
      int32_t ends_a = run_end(&a), ends_b = run_end(&b), end = ends_a < ends_b ? ends_a : ends_b;
      int32_t *cell = count + (size_t)a.run[a.at].owner * (size_t)n_to + b.run[b.at].owner;
      pairs += *cell == 0 && end > first;
      *cell += end - first;
      first = end;
      a.at += ends_a == end;
      b.at += ends_b == end;
    }
    int32_t n = pairs;
    move = berth_i_alloc(d->ctx, (size_t)n, sizeof *move);
  }
  if (move) {
    berth_i_free(d->ctx, m->move, (size_t)m->n, sizeof *m->move);
    *m = (berth_i_moves){ from, to, 0, move };
    for (int32_t i = 0; i < n_from * n_to; i++) {
      if (count[i] > 0) move[m->n++] = (berth_i_move){ i / n_to, i % n_to, count[i] };
    }
  }
  berth_i_free(d->ctx, count, (size_t)n_from, (size_t)n_to * sizeof *count);
  return move ? BERTH_OK : berth_i_nomem(d->ctx);
}

static berth_status make_slots(berth_deploy *d) {
  if (!(d->moves = berth_i_pool_zalloc(&d->pool, BERTH_I_MOVE_SLOTS, sizeof *d->moves)))
    return berth_i_pool_status(&d->pool);
  for (int32_t i = 0; i < BERTH_I_MOVE_SLOTS; i++) d->moves[i].from = -1;
  return BERTH_OK;
}

berth_status berth_i_deploy_moves(berth_deploy *d, berth_i_form from, berth_i_form to,
                                  const berth_i_moves **out) {
  uint32_t hash = (uint32_t)from * 2654435761u ^ (uint32_t)to * 2246822519u;
  berth_status st = d->moves ? BERTH_OK : make_slots(d);
  if (st != BERTH_OK) return st;
  berth_i_moves *m = &d->moves[(hash >> 8) % BERTH_I_MOVE_SLOTS];
  if (m->from != from || m->to != to) st = fill_slot(d, m, from, to);
  if (st == BERTH_OK) *out = m;
  return st;
}
