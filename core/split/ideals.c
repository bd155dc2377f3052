/* Ideals (downward-closed sets of units) of the contracted graph, listed by size, each once through
 * a hash table of bit sets with linear probing, at most half full. Links add one unit.
 * O(ideals x units x units / 64). */
#include "split_internal.h"

typedef struct lister {
  berth_i_pool pool;
  const berth_i_split_model *m;
  berth_ctx *ctx;
  berth_i_ideals *out;
  size_t words, cap_bits, n_slots;
  uint64_t *bits;   /* [n * words] */
  uint64_t *before; /* [units * words] direct predecessors */
  uint64_t *next;   /* [words] scratch */
  int32_t *slot;    /* [n_slots] ideal, BERTH_NONE; a power of two */
  double bytes;     /* limit */
} lister;

static size_t slot_of(const lister *l, const uint64_t *b) {
  uint64_t h = 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < l->words; i++) {
    h = (h ^ b[i]) * 0xBF58476D1CE4E5B9u;
    h ^= h >> 29;
  }
  size_t at = (size_t)h & (l->n_slots - 1);
  while (l->slot[at] != BERTH_NONE
         && memcmp(l->bits + (size_t)l->slot[at] * l->words, b, l->words * sizeof *b) != 0)
    at = (at + 1) & (l->n_slots - 1);
  return at;
}

static berth_status rehash(lister *l) {
  size_t n = l->n_slots ? 2 * l->n_slots : 256;
  int32_t *slot = berth_i_pool_realloc(&l->pool, l->slot, l->n_slots, n, sizeof *slot);
  if (!slot) return berth_i_nomem(l->ctx);
  for (size_t k = 0; k < n; k++) slot[k] = BERTH_NONE;
  l->slot = slot;
  l->n_slots = n;
  for (int32_t i = 0; i < l->out->n; i++) l->slot[slot_of(l, l->bits + (size_t)i * l->words)] = i;
  return BERTH_OK;
}

static double held(const lister *l) {
  return (double)(l->cap_bits * sizeof *l->bits + l->n_slots * sizeof *l->slot
                  + l->out->cap_links * sizeof *l->out->to + l->out->cap_add * sizeof *l->out->add
                  + l->out->cap_at * sizeof *l->out->at);
}

static berth_status add_ideal(lister *l, const uint64_t *b, int32_t *id) {
  size_t n = (size_t)l->out->n;
  berth_status st;
  if (2 * (n + 1) > l->n_slots && (st = rehash(l)) != BERTH_OK) return st;
  size_t at = slot_of(l, b);
  if (l->slot[at] == BERTH_NONE) {
    st = berth_i_pool_grow(&l->pool, (void **)&l->bits, &l->cap_bits, (n + 1) * l->words,
                           sizeof *l->bits);
    if (st != BERTH_OK) return st;
    memcpy(l->bits + n * l->words, b, l->words * sizeof *b);
    l->slot[at] = l->out->n++;
  }
  *id = l->slot[at];
  return BERTH_OK;
}

static berth_status add_link(berth_i_ideals *out, int32_t to, int32_t unit) {
  berth_status st = berth_i_pool_grow(&out->pool, (void **)&out->to, &out->cap_links,
                                      out->n_links + 1, sizeof *out->to);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&out->pool, (void **)&out->add, &out->cap_add, out->n_links + 1,
                           sizeof *out->add);
  if (st != BERTH_OK) return st;
  out->to[out->n_links] = to;
  out->add[out->n_links++] = unit;
  return BERTH_OK;
}

static bool ready(const lister *l, const uint64_t *b, int32_t u) {
  const uint64_t *before = l->before + (size_t)u * l->words;
  if (b[u / 64] >> (u % 64) & 1) return false;
  for (size_t i = 0; i < l->words; i++)
    if (before[i] & ~b[i]) return false;
  return true;
}

static berth_status extend(lister *l, int32_t id) {
  berth_status st = BERTH_OK;
  int32_t to = 0;
  for (int32_t u = 0; u < l->m->n && st == BERTH_OK; u++) {
    const uint64_t *b = l->bits + (size_t)id * l->words;
    if (!ready(l, b, u)) continue;
    memcpy(l->next, b, l->words * sizeof *b);
    l->next[u / 64] |= (uint64_t)1 << (u % 64);
    st = add_ideal(l, l->next, &to);
    if (st == BERTH_OK) st = add_link(l->out, to, u);
  }
  return st;
}

/* In the order of finding, ideals come by size. */
static berth_status list_all(lister *l) {
  berth_i_ideals *out = l->out;
  int32_t id;
  berth_status st = add_ideal(l, l->next, &id);
  for (id = 0; st == BERTH_OK && id < out->n && held(l) <= l->bytes; id++) {
    st = berth_i_pool_grow(&out->pool, (void **)&out->at, &out->cap_at, (size_t)id + 2,
                           sizeof *out->at);
    if (st != BERTH_OK) break;
    out->at[id] = (int32_t)out->n_links;
    st = extend(l, id);
    out->at[id + 1] = (int32_t)out->n_links;
    if (st == BERTH_OK && id % 1024 == 1023) st = berth_i_interrupted(l->ctx);
  }
  out->complete = st == BERTH_OK && id == out->n;
  return st;
}

berth_status berth_i_ideals_list(const berth_i_split_model *m, double bytes, berth_i_ideals *out) {
  berth_ctx *ctx = m->cost->ctx;
  lister l = { .pool = berth_i_pool_empty(ctx), .m = m, .ctx = ctx, .out = out, .bytes = bytes };
  l.words = ((size_t)m->n + 63) / 64;
  *out = (berth_i_ideals){ .pool = berth_i_pool_empty(ctx) };
  l.before = berth_i_pool_zalloc(&l.pool, (size_t)m->n * l.words, sizeof *l.before);
  l.next = berth_i_pool_zalloc(&l.pool, l.words, sizeof *l.next);
  berth_status st = berth_i_pool_status(&l.pool);
  for (int32_t u = 0; u < m->n && st == BERTH_OK; u++)
    for (int32_t e = m->pred_at[u]; e < m->pred_at[u + 1]; e++)
      l.before[(size_t)u * l.words + (size_t)(m->pred[e] / 64)] |= (uint64_t)1
                                                                   << (m->pred[e] % 64);
  if (st == BERTH_OK) st = list_all(&l);
  berth_i_pool_free(&l.pool);
  if (st != BERTH_OK) berth_i_pool_free(&out->pool);
  return st;
}

berth_status berth_i_ideals_chain(const berth_i_split_model *m, const int32_t *order,
                                  berth_i_ideals *out) {
  *out =
      (berth_i_ideals){ .pool = berth_i_pool_empty(m->cost->ctx), .n = m->n + 1, .complete = true };
  berth_status st = berth_i_pool_grow(&out->pool, (void **)&out->at, &out->cap_at,
                                      (size_t)out->n + 1, sizeof *out->at);
  for (int32_t i = 0; i < m->n && st == BERTH_OK; i++) {
    out->at[i] = i;
    st = add_link(out, i + 1, order[i]);
  }
  if (st == BERTH_OK) out->at[m->n] = out->at[m->n + 1] = m->n;
  else berth_i_pool_free(&out->pool);
  return st;
}
