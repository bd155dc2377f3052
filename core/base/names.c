/* Interned strings: open addressing with linear probing over FNV-1a hashes, at most half full; ids
 * are positions in an array of texts, in order of first use. O(length) a look-up. */
#include "base_internal.h"

static uint32_t hash(const char *s) {
  uint64_t h = 1469598103934665603u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
  return (uint32_t)(h ^ (h >> 32));
}

static bool holds(const berth_i_names *names, berth_i_name_slot at, const char *text, uint32_t h) {
  return at.hash == h && strcmp(names->text[at.id], text) == 0;
}

/* Slot of text, or the free slot where it belongs. Needs n_slots > n. */
static size_t probe(const berth_i_names *names, const char *text, uint32_t h) {
  size_t mask = names->n_slots - 1, i = h & mask;
  while (names->slot[i].id >= 0 && !holds(names, names->slot[i], text, h)) i = (i + 1) & mask;
  return i;
}

static berth_status rehash(berth_ctx *ctx, berth_i_names *names) {
  size_t n = names->n_slots ? 2 * names->n_slots : 16;
  berth_i_name_slot *slot = berth_i_alloc(ctx, n, sizeof *slot);
  if (!slot) return berth_i_nomem(ctx);
  for (size_t i = 0; i < n; i++) slot[i] = (berth_i_name_slot){ 0, BERTH_NONE };
  for (size_t i = 0; i < names->n_slots; i++) {
    if (names->slot[i].id < 0) continue;
    size_t at;
    for (at = names->slot[i].hash & (n - 1); slot[at].id >= 0; at = (at + 1) & (n - 1)) {}
    slot[at] = names->slot[i];
  }
  berth_i_free(ctx, names->slot, names->n_slots, sizeof *slot);
  names->slot = slot;
  names->n_slots = n;
  return BERTH_OK;
}

berth_status berth_i_names_add(berth_ctx *ctx, berth_i_names *names, const char *text,
                               int32_t *id) {
  void *list = names->text;
  uint32_t h = hash(text);
  berth_status st;
  if (2 * ((size_t)names->n + 1) > names->n_slots && (st = rehash(ctx, names)) != BERTH_OK)
    return st;
  size_t i = probe(names, text, h);
  if (names->slot[i].id < 0) {
    st = berth_i_grow(ctx, &list, &names->cap, (size_t)names->n + 1, sizeof *names->text);
    names->text = list;
    if (st != BERTH_OK) return st;
    char *copy;
    if (!(copy = berth_i_strdup(ctx, text))) return berth_i_nomem(ctx);
    names->text[names->n] = copy;
    names->slot[i] = (berth_i_name_slot){ h, names->n++ };
  }
  *id = names->slot[i].id;
  return BERTH_OK;
}

int32_t berth_i_names_find(const berth_i_names *names, const char *text) {
  return names->n_slots ? names->slot[probe(names, text, hash(text))].id : BERTH_NONE;
}

void berth_i_names_release(berth_ctx *ctx, berth_i_names *names) {
  for (int32_t i = 0; i < names->n; i++) berth_i_strfree(ctx, names->text[i]);
  berth_i_free(ctx, names->text, names->cap, sizeof *names->text);
  berth_i_free(ctx, names->slot, names->n_slots, sizeof *names->slot);
  memset(names, 0, sizeof *names);
}
