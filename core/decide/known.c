/* The known assignments, each valued once: a hash table (open addressing, at most half full) over
 * rows in order of evaluation. Invariant: an entry has a worth, but while its batch is
 * evaluated. */
#include "decide_internal.h"

/* ---- table ---- */

static uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ (h >> 32);
}

static uint64_t hash_of(const int32_t *key, int32_t n) {
  uint64_t h = 0x9E3779B97F4A7C15u;
  for (int32_t i = 0; i < n; i++)
    h = mix(h + (uint64_t)(uint32_t)key[i] + ((uint64_t)(uint32_t)i << 32));
  return mix(h);
}

/* The slot of the key, or the free one where it would be. */
static size_t find(const berth_decider *d, const int32_t *key, uint64_t hash) {
  const berth_i_known *t = &d->known;
  const size_t bytes = (size_t)d->p.n * sizeof *key;
  size_t at = (size_t)hash & (t->n_slots - 1);
  for (; t->slot[at] >= 0; at = (at + 1) & (t->n_slots - 1)) {
    const int32_t i = t->slot[at];
    if (t->hash[i] == hash && memcmp(berth_i_known_key(d, i), key, bytes) == 0) break;
  }
  return at;
}

int32_t berth_i_known_find(const berth_decider *d, const int32_t *row) {
  return d->known.n_slots > 0 ? d->known.slot[find(d, row, hash_of(row, d->p.n))] : BERTH_NONE;
}

static berth_status widen(berth_decider *d) {
  berth_i_known *t = &d->known;
  const size_t n = t->n_slots ? 2 * t->n_slots : 64;
  if (2 * (size_t)(t->n + 1) <= t->n_slots) return BERTH_OK;
  int32_t *slot;
  slot = berth_i_pool_realloc(&d->pool, t->slot, t->n_slots, n, sizeof *slot);
  if (!slot) return berth_i_nomem(d->ctx);
  t->slot = slot;
  t->n_slots = n;
  for (size_t at = 0; at < n; at++) slot[at] = BERTH_NONE;
  for (int32_t i = 0; i < t->n; i++) slot[find(d, berth_i_known_key(d, i), t->hash[i])] = i;
  return BERTH_OK;
}

static berth_status reserve_one(berth_decider *d) {
  berth_i_known *t = &d->known;
  const size_t n = (size_t)t->n + 1;
  berth_status st = widen(d);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&d->pool, (void **)&t->key, &t->key_cap, n * (size_t)d->p.n,
                           sizeof *t->key);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&d->pool, (void **)&t->worth, &t->worth_cap, n, sizeof *t->worth);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&d->pool, (void **)&t->hash, &t->hash_cap, n, sizeof *t->hash);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&d->pool, (void **)&d->trace_at, &d->trace_at_cap, n,
                           sizeof *d->trace_at);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&d->pool, (void **)&d->trace_value, &d->trace_value_cap, n,
                           sizeof *d->trace_value);
  return st;
}

static void add(berth_decider *d, const int32_t *key, uint64_t hash) {
  berth_i_known *t = &d->known;
  const size_t n = (size_t)d->p.n;
  memcpy(&t->key[(size_t)t->n * n], key, n * sizeof *key);
  t->hash[t->n] = hash;
  t->slot[find(d, key, hash)] = t->n;
  t->n++;
}

/* Newest first: the probes to a slot pass older entries only. */
static void forget_from(berth_decider *d, int32_t first) {
  berth_i_known *t = &d->known;
  while (t->n > first) {
    const int32_t i = t->n - 1;
    t->slot[find(d, berth_i_known_key(d, i), t->hash[i])] = BERTH_NONE;
    t->n--;
  }
}

/* ---- unlike ones ---- */

static bool are_unlike(const berth_decider *d, int32_t i, int32_t k) {
  const int32_t *a = berth_i_known_key(d, i), *b = berth_i_known_key(d, k);
  int32_t others = 0;
  if (d->known.worth[i].value == d->known.worth[k].value) return false;
  for (int32_t x = 0; x < d->p.n; x++) others += a[x] != b[x];
  return 4 * (int64_t)others >= d->p.n;
}

/* What lacks little may become allowed by few changes. */
static double promise(const berth_decider *d, int32_t i) {
  return berth_i_penalised(d->known.worth[i], 1);
}

int32_t berth_i_known_unlike(const berth_decider *d, int32_t most, int32_t *out) {
  if (most > 0 && d->best != BERTH_NONE) out[0] = d->best;
  for (int32_t n = d->best != BERTH_NONE; n < most; n++) {
    int32_t best = BERTH_NONE;
    for (int32_t i = 0; i < d->known.n; i++) {
      bool other = best == BERTH_NONE || promise(d, i) < promise(d, best);
      for (int32_t k = 0; k < n && other; k++) other = are_unlike(d, i, out[k]);
      if (other) best = i;
    }
    if (best == BERTH_NONE) return n;
    out[n] = best;
  }
  return most;
}

/* ---- values ---- */

/* Numbers of the rows, new ones added without a worth; *done where evaluations run out. */
static berth_status look_up(berth_decider *d, int32_t first, int32_t k, int32_t *done) {
  const int64_t left = d->budget.most - d->evaluations;
  berth_status st = BERTH_OK;
  for (*done = 0; *done < k; ++*done) {
    const int32_t *key = &d->row[(size_t)*done * (size_t)d->p.n];
    const uint64_t hash = hash_of(key, d->p.n);
    if ((st = reserve_one(d)) != BERTH_OK) return st;
    size_t at = find(d, key, hash);
    if (d->known.slot[at] < 0) {
      if (d->known.n - first >= left) return BERTH_OK;
      add(d, key, hash);
      d->row_known[*done] = d->known.n - 1;
    } else {
      d->row_known[*done] = d->known.slot[at];
    }
  }
  return st;
}

static berth_status read_worth(berth_decider *d, double value, double excess, berth_i_worth *out) {
  if (isnan(value) || value == -INFINITY || !(excess >= 0))
    return berth_i_fail(
        d->ctx, BERTH_EINVAL,
        "an assignment has value %g and excess %g, expected numbers, the excess not below 0", value,
        excess);
  out->value = value;
  out->excess = value == INFINITY && excess == 0 ? INFINITY : excess;
  return BERTH_OK;
}

static berth_status evaluate(berth_decider *d, int32_t first) {
  const int32_t k = d->known.n - first;
  for (int32_t i = 0; i < k; i++) d->value[i] = d->excess[i] = 0;
  berth_status st = d->p.value(d->p.ud, k, berth_i_known_key(d, first), d->value, d->excess);
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    st = read_worth(d, d->value[i], d->excess[i], &d->known.worth[first + i]);
  return st;
}

static void note(berth_decider *d, int32_t known) {
  const berth_i_worth w = d->known.worth[known];
  if (d->best != BERTH_NONE && !berth_i_better(w, d->known.worth[d->best])) return;
  d->best = known;
  if (w.excess > 0) return;
  d->trace_at[d->trace_n] = d->evaluations;
  d->trace_value[d->trace_n++] = w.value;
}

berth_status berth_i_decide_values(berth_decider *d, int32_t k, int32_t *done) {
  const int32_t first = d->known.n;
  berth_status st = look_up(d, first, k, done);
  if (st == BERTH_OK && d->known.n > first) st = evaluate(d, first);
  if (st != BERTH_OK) {
    forget_from(d, first);
    return st;
  }
  d->repeats += *done - (d->known.n - first);
  for (int32_t i = first; i < d->known.n; i++) {
    d->evaluations++;
    note(d, i);
  }
  for (int32_t i = 0; i < *done; i++) d->row_worth[i] = d->known.worth[d->row_known[i]];
  return BERTH_OK;
}

berth_status berth_i_known_add(berth_decider *d, const int32_t *row, berth_i_worth worth,
                                int32_t *known) {
  if ((*known = berth_i_known_find(d, row)) != BERTH_NONE) return BERTH_OK;
  berth_status st;
  if ((st = reserve_one(d)) != BERTH_OK) return st;
  add(d, row, hash_of(row, d->p.n));
  *known = d->known.n - 1;
  if (worth.value == INFINITY && worth.excess == 0) worth.excess = INFINITY;
  d->known.worth[*known] = worth;
  note(d, *known);
  return BERTH_OK;
}

static void report_progress(berth_decider *d) {
  const int hundredths = d->budget.most == INT64_MAX
                             ? 0
                             : (int)(100 * (double)d->evaluations / (double)d->budget.most);
  if (hundredths <= d->reported) return;
  d->reported = hundredths;
  berth_i_progress(d->ctx, "decide", hundredths / 100.0);
}

double berth_i_decide_used(const berth_decider *d) {
  const berth_i_budget *b = &d->budget;
  double part = 0;
  if (b->most < INT64_MAX) part = (double)(d->evaluations - b->from) / (double)(b->most - b->from);
  if (b->until < INFINITY)
    part = fmax(part, (berth_i_ctx_clock(d->ctx) - b->began) / (b->until - b->began));
  return part;
}

/* However short the time, something is valued. */
static bool is_late(const berth_decider *d) {
  return d->best != BERTH_NONE && d->budget.until < INFINITY
         && berth_i_ctx_clock(d->ctx) >= d->budget.until;
}

bool berth_i_decide_goes_on(berth_decider *d) {
  if (d->interrupted || d->evaluations >= d->budget.most || is_late(d)) return false;
  report_progress(d);
  d->interrupted = berth_i_interrupted(d->ctx) != BERTH_OK;
  return !d->interrupted;
}
