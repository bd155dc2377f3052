/* One slot: machines that are alike, as classes, found by a hash of prices and of what is left.
 * Classes are numbered by their first machine, within racks where these matter; `member` lists the
 * machines of each. O(machines * resources), and a sort of classes with racks. */
#include "base/sort_internal.h"
#include "slot_internal.h"

/* ---- one machine ---- */

int32_t berth_i_slot_most_more(const berth_i_slot_solver *s,
                               const berth_i_slot_class *c, int32_t kind,
                               int32_t workers, int32_t servers, int32_t most) {
  double fit = most;
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[kind][r] > 0)
      fit = fmin(fit, (c->left[r] - s->takes[0][r] * workers - s->takes[1][r] * servers)
                              / s->takes[kind][r]
                          + 1e-6);
  int32_t n, more[2];
  for (n = fit > 0 ? (int32_t)fit : 0; n > 0; n--) { /* the quotient may be one too large */
    more[0] = workers + (kind == 0 ? n : 0);
    more[1] = servers + (kind == 1 ? n : 0);
    if (berth_i_slot_fits(s, c, more[0], more[1])) break;
  }
  return n;
}

/* A resource of which a unit takes none may have no price at all. */
static double price(const berth_i_slot_solver *s, const double *prices, int32_t kind) {
  double sum = 0;
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[kind][r] > 0) sum += s->takes[kind][r] * prices[s->resource[r]];
  return sum;
}

static void measure(const berth_i_slot_solver *s, const berth_i_slot_state *state, int32_t machine,
                    berth_i_slot_class *c) {
  size_t at = (size_t)machine * (size_t)s->c.resources;
  for (int32_t r = 0; r < s->resources; r++) {
    size_t cell = at + (size_t)s->resource[r];
    /* a little less than what is let through at last */
    c->left[r] = state->left[cell] + 0.9e-9 * s->c.capacity[cell];
  }
  for (int32_t kind = 0; kind < 2; kind++) c->price[kind] = price(s, state->price + at, kind);
  c->rack = s->racks ? s->c.rack[machine] : 0;
}

/* ---- classes ---- */

static uint64_t mix(uint64_t h, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  h = (h ^ bits) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

static uint64_t hash(const berth_i_slot_solver *s, const berth_i_slot_class *c) {
  uint64_t h = mix(mix((uint64_t)(uint32_t)c->rack, c->price[0]), c->price[1]);
  for (int32_t r = 0; r < s->resources; r++) h = mix(h, c->left[r]);
  return h * 0xbf58476d1ce4e5b9u >> 20;
}

static bool alike(const berth_i_slot_solver *s, const berth_i_slot_class *a,
                  const berth_i_slot_class *b) {
  if (a->rack != b->rack || a->price[0] != b->price[0] || a->price[1] != b->price[1]) return false;
  for (int32_t r = 0; r < s->resources; r++)
    if (a->left[r] != b->left[r]) return false;
  return true;
}

/* Numbered by their first machine, which `first` is for now. */
static void put(berth_i_slot_solver *s, berth_i_slot_class *c, int32_t machine) {
  size_t at = (size_t)hash(s, c) % s->table_cap;
  while (s->table[at] != BERTH_NONE && !alike(s, &s->class[s->table[at]], c))
    at = (at + 1) % s->table_cap;
  if (s->table[at] == BERTH_NONE) {
    s->table[at] = s->classes;
    c->first = machine;
    s->class[s->classes++] = *c;
  }
  s->class_of[machine] = s->table[at];
  s->class[s->table[at]].count++;
}

BERTH_I_SORT(sort_by_rack, berth_i_slot_class, BERTH_I_UP(rack) BERTH_I_UP(first))

void berth_i_slot_classify(berth_i_slot_solver *s, const berth_i_slot_state *state) {
  s->resources = 0;
  for (int32_t r = 0; r < s->c.resources; r++) {
    if (!(s->job->worker[r] > 0 || s->job->server[r] > 0)) continue;
    s->resource[s->resources] = r;
    s->takes[0][s->resources] = s->job->worker[r];
    s->takes[1][s->resources++] = s->job->server[r];
  }
  s->racks = s->c.rack && s->job->rack > 0;
  s->sorted = s->drawn = false;
  s->classes = 0;
  for (int32_t k = 0; k < (int32_t)s->table_cap; k++) s->table[k] = BERTH_NONE;
  /* 1. Classes in the order of their first machine. */
  for (int32_t h = 0; h < s->c.machines; h++) {
    berth_i_slot_class c = { 0 };
    measure(s, state, h, &c);
    put(s, &c, h);
  }
  /* 2. Those of a rack side by side. */
  if (s->racks) {
    sort_by_rack(s->class, (size_t)s->classes);
    for (int32_t k = 0; k < s->classes; k++) s->next[s->class_of[s->class[k].first]] = k;
    for (int32_t h = 0; h < s->c.machines; h++) s->class_of[h] = s->next[s->class_of[h]];
  }
  /* 3. Their machines, by a counting sort. */
  int32_t at = 0;
  for (int32_t k = 0; k < s->classes; k++) {
    s->class[k].first = s->next[k] = at;
    at += s->class[k].count;
  }
  for (int32_t h = 0; h < s->c.machines; h++) s->member[s->next[s->class_of[h]]++] = h;
  /* 4. What one machine holds; a kind that does not fit has no price. */
  for (int32_t k = 0; k < s->classes; k++) {
    berth_i_slot_class *c = &s->class[k];
    for (int32_t kind = 0; kind < 2; kind++) {
      int32_t most = kind == 0 ? s->job->batch : INT32_MAX / 4;
      if (!isinf(c->price[kind])) c->most[kind] = berth_i_slot_most_more(s, c, kind, 0, 0, most);
      if (c->most[kind] == 0) c->price[kind] = INFINITY;
    }
  }
}

/* ---- by price ---- */

BERTH_I_SORT(sort_by_price, berth_i_slot_priced, BERTH_I_UP(price) BERTH_I_UP(class))

void berth_i_slot_sort(berth_i_slot_solver *s) {
  if (s->sorted) return;
  s->sorted = true;
  for (int32_t i = 0; i < s->regions; i++)
    for (int32_t kind = 0; kind < 2; kind++) {
      const berth_i_slot_region *g = &s->region[i];
      berth_i_slot_priced *list = s->cheap[kind] + g->list;
      for (int32_t k = 0; k < g->n; k++)
        list[k] = (berth_i_slot_priced){ s->class[g->from + k].price[kind], g->from + k };
      sort_by_price(list, (size_t)g->n);
    }
}
