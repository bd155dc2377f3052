/* What is committed in each slot, and the prices that follow from it. Slots in which nothing was
 * ever committed share one blank state; others have a block of their own.
 *
 * Invariants: `used` is the sum of the entries in their order, so what is given back leaves no
 * rounding error; `hash` is the sum of the hashes of the rows of `used`; prices are as of
 * `epoch`. */
#include "pdors_internal.h"

static size_t row(const berth_pdors *d, int32_t machine) {
  return (size_t)machine * (size_t)d->c.resources;
}

static uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* 0 for a machine on which nothing is used. The hash of a slot is the sum over machines: it is kept
 * up one machine at a time. */
static uint64_t hash_of_row(const berth_pdors *d, const berth_i_pdors_slot *s, int32_t machine) {
  uint64_t h = 0, bits;
  for (int32_t r = 0; r < d->c.resources; r++) {
    memcpy(&bits, &s->used[row(d, machine) + (size_t)r], sizeof bits);
    if (bits)
      h += mixed(bits
                 + mixed(((uint64_t)(uint32_t)machine << 8 | (uint64_t)r) + 0x9e3779b97f4a7c15u));
  }
  return h;
}

static void price_row(const berth_pdors *d, berth_i_pdors_slot *s, int32_t machine) {
  size_t at = row(d, machine);
  for (int32_t r = 0; r < d->c.resources; r++, at++) {
    s->left[at] = fmax(0, d->c.capacity[at] - s->used[at]);
    s->price[at] = berth_i_pdors_price_at(d, machine, r, s->used[at]);
  }
}

static void price_all(berth_pdors *d, berth_i_pdors_slot *s) {
  for (int32_t h = 0; h < d->c.machines; h++) price_row(d, s, h);
  s->epoch = d->epoch;
}

const berth_i_pdors_slot *berth_i_pdors_slot_at(berth_pdors *d, int32_t slot) {
  berth_i_pdors_slot *s = d->slot[slot].used ? &d->slot[slot] : &d->blank;
  if (s->epoch != d->epoch) price_all(d, s);
  return s;
}

/* One block of three arrays, unless there is one. */
static berth_status alloc_slot(berth_pdors *d, berth_i_pdors_slot *s) {
  if (s->used) return BERTH_OK;
  if (!(s->used = berth_i_pool_zalloc(&d->pool, 3 * d->cells, sizeof *s->used)))
    return berth_i_pool_status(&d->pool);
  s->price = s->used + d->cells;
  s->left = s->price + d->cells;
  price_all(d, s);
  return BERTH_OK;
}

berth_status berth_i_pdors_slots_init(berth_pdors *d) {
  d->slot = berth_i_pool_zalloc(&d->pool, (size_t)d->c.slots, sizeof *d->slot);
  d->mark = berth_i_pool_zalloc(&d->pool, (size_t)d->c.machines, sizeof *d->mark);
  return d->mark ? alloc_slot(d, &d->blank) : berth_i_pool_status(&d->pool);
}

/* ---- commitment ---- */

static void take(berth_pdors *d, berth_i_pdors_slot *s, int32_t job, const berth_ps_place *p) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  for (int32_t r = 0; r < d->c.resources; r++)
    s->used[row(d, p->machine) + (size_t)r] += berth_i_pdors_demand(j, p, r);
}

berth_status berth_i_pdors_commit(berth_pdors *d, int32_t job, const berth_pdors_plan *plan) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  size_t same = 0;
  /* 1. All that can fail. */
  for (size_t i = 0; i < plan->n; i++) {
    berth_i_pdors_slot *s = &d->slot[plan->slot[i]];
    const berth_ps_place *p = &plan->place[i];
    berth_status st;
    same = i > 0 && plan->slot[i] == plan->slot[i - 1] ? same + 1 : 1;
    if ((st = alloc_slot(d, s)) != BERTH_OK
        || (st = BERTH_I_POOL_GROW(&d->pool, s->entry, s->cap, s->n + same)) != BERTH_OK)
      return st;
    for (int32_t r = 0; r < d->c.resources; r++) {
      size_t at = row(d, p->machine) + (size_t)r;
      double more = berth_i_pdors_demand(j, p, r);
      if (s->used[at] + more > d->c.capacity[at] * (1 + 1e-9))
        return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                            "pdors: job %d needs %g of resource %d on machine %d in slot %d, where "
                            "%g is left",
                            job, more, r, p->machine, plan->slot[i],
                            d->c.capacity[at] - s->used[at]);
    }
  }
  /* 2. What changes. */
  for (size_t i = 0; i < plan->n; i++) {
    berth_i_pdors_slot *s = &d->slot[plan->slot[i]];
    const berth_ps_place *p = &plan->place[i];
    s->hash -= hash_of_row(d, s, p->machine);
    take(d, s, job, p);
    s->hash += hash_of_row(d, s, p->machine);
    price_row(d, s, p->machine);
    s->entry[s->n++] = (berth_i_pdors_entry){ job, *p };
  }
  d->last[job] = plan->done;
  return BERTH_OK;
}

/* ---- and back ---- */

void berth_i_pdors_reclaim(berth_pdors *d, int32_t job, int32_t from) {
  for (int32_t t = from; t <= d->last[job]; t++) {
    berth_i_pdors_slot *s = &d->slot[t];
    if (!s->used) continue;
    /* 1. Entries of the job go; rows of their machines are cleared and marked. */
    size_t n = s->n;
    s->n = 0;
    d->stamp++;
    for (size_t i = 0; i < n; i++) {
      const berth_i_pdors_entry e = s->entry[i];
      if (e.job != job) {
        s->entry[s->n++] = e;
        continue;
      }
      s->hash -= hash_of_row(d, s, e.place.machine);
      memset(s->used + row(d, e.place.machine), 0, (size_t)d->c.resources * sizeof *s->used);
      d->mark[e.place.machine] = d->stamp;
    }
    if (s->n == n) continue;
    /* 2. The sums of these rows, again in the order of admission. */
    for (size_t i = 0; i < s->n; i++)
      if (d->mark[s->entry[i].place.machine] == d->stamp)
        take(d, s, s->entry[i].job, &s->entry[i].place);
    for (int32_t h = 0; h < d->c.machines; h++)
      if (d->mark[h] == d->stamp) {
        s->hash += hash_of_row(d, s, h);
        price_row(d, s, h);
      }
  }
}

void berth_i_pdors_clear(berth_pdors *d, int32_t from) {
  for (int32_t t = from; t < d->c.slots; t++) {
    berth_i_pdors_slot *s = &d->slot[t];
    if (s->n == 0) continue;
    s->n = 0;
    s->hash = 0;
    memset(s->used, 0, d->cells * sizeof *s->used);
    price_all(d, s);
  }
}

berth_status berth_i_pdors_save(berth_pdors *d, int32_t from, berth_i_pdors_copy *out) {
  out->n = 0;
  for (int32_t t = from; t < d->c.slots; t++) {
    const berth_i_pdors_slot *s = &d->slot[t];
    size_t n = out->n + s->n;
    berth_status st = BERTH_I_POOL_GROW(&d->pool, out->entry, out->entry_cap, n);
    if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&d->pool, out->slot, out->slot_cap, n);
    if (st != BERTH_OK) return st;
    for (size_t i = 0; i < s->n; i++, out->n++) {
      out->entry[out->n] = s->entry[i];
      out->slot[out->n] = t;
    }
  }
  memcpy(out->last, d->last, (size_t)berth_ps_jobs(d->ps) * sizeof *out->last);
  return BERTH_OK;
}

/* Arrays of a slot never shrink: there is room for all. */
void berth_i_pdors_restore(berth_pdors *d, int32_t from, const berth_i_pdors_copy *copy) {
  berth_i_pdors_clear(d, from);
  for (size_t i = 0; i < copy->n; i++) {
    berth_i_pdors_slot *s = &d->slot[copy->slot[i]];
    const berth_i_pdors_entry *e = &copy->entry[i];
    s->hash -= hash_of_row(d, s, e->place.machine);
    take(d, s, e->job, &e->place);
    s->hash += hash_of_row(d, s, e->place.machine);
    price_row(d, s, e->place.machine);
    s->entry[s->n++] = *e;
  }
  memcpy(d->last, copy->last, (size_t)berth_ps_jobs(d->ps) * sizeof *copy->last);
}
