/* Gradients: sums on a server, or AllReduces by bucket. Reductions are collected while readers are
 * compiled; at the end they are put into buckets in the order in which gradients are made, and each
 * bucket becomes one collective. */
#include "compile_internal.h"

/* ---- on a server ---- */

/* On the server of the update; of what is no update, by its number. */
static void sum(berth_i_arena *a, int32_t t, int32_t reader, int32_t *ids) {
  const berth_deploy *d = a->d;
  int32_t u = d->g->producer[t], place = berth_i_form_place(a->form[reader]),
          n = berth_i_place_size(d, place);
  int32_t parts = berth_i_place_size(d, berth_i_form_place(a->form[u]));
  int32_t update = d->update_number[reader], server = (update != BERTH_NONE ? update : reader) % n,
          device = berth_i_place_devices(d, place)[server];
  double bytes = d->g->tensor_bytes[t] * (parts * berth_i_tensor_share(d, t, a->form[u], 0) + 1);
  int32_t op = berth_i_add_auxiliary(a, u, BERTH_PART_SUM, device, d->batch, bytes);
  for (int32_t k = 0; k < parts; k++) berth_i_add_edge(a, a->first_tensor[t] + k, op);
  int32_t out = berth_i_add_piece(a, op, t, 1);
  for (int32_t k = 0; k < n; k++) ids[k] = out;
}

/* ---- by AllReduce ---- */

/* It is reduced in place: readers read what they wait for. */
static void all_reduce(berth_i_arena *a, int32_t t, int32_t reader, int32_t *ids) {
  int32_t place = berth_i_form_place(a->form[reader]), n = berth_i_place_size(a->d, place);
  for (int32_t k = 0; k < n; k++) ids[k] = a->first_tensor[t] + k;
  if (a->reduction[t] == BERTH_NONE) {
    a->reduction[t] = berth_i_items_take(a, &a->reductions, 1, sizeof(berth_i_reduction));
    if (a->reduction[t] == BERTH_NONE) return;
    ((berth_i_reduction *)a->reductions.at)[a->reduction[t]] = (berth_i_reduction){
      t, place, a->d->group[reader], BERTH_NONE, BERTH_NONE, false
    };
  }
  berth_i_reduction *r = (berth_i_reduction *)a->reductions.at + a->reduction[t];
  int32_t k = berth_i_items_take(a, &a->links, 1, sizeof(berth_i_link));
  if (k == BERTH_NONE) return;
  ((berth_i_link *)a->links.at)[k] = (berth_i_link){ reader, r->reader };
  r->reader = k;
  if (a->d->update_number[reader] == BERTH_NONE) r->alone = true;
}

bool berth_i_reduce(berth_i_arena *a, int32_t tensor, int32_t reader, int32_t *ids) {
  const berth_deploy *d = a->d;
  const berth_action *action = &d->action[a->action[d->group[reader]]];
  bool same =
      berth_i_form_place(a->form[d->g->producer[tensor]]) == berth_i_form_place(a->form[reader]);
  bool reduced = same && action->option == BERTH_DEPLOY_ALLREDUCE;
  if (reduced) all_reduce(a, tensor, reader, ids);
  else sum(a, tensor, reader, ids);
  return !reduced;
}

/* ---- buckets ---- */

static berth_i_bucket *bucket_at(const berth_i_arena *a, int32_t k) {
  return (berth_i_bucket *)a->buckets.at + k;
}
static berth_i_reduction *reduction_at(const berth_i_arena *a, int32_t k) {
  return (berth_i_reduction *)a->reductions.at + k;
}

static double gradient_bytes(const berth_i_arena *a, int32_t t) {
  return a->d->g->tensor_bytes[t] * berth_i_tensor_share(a->d, t, a->form[a->d->g->producer[t]], 0);
}

/* Of gradients that are reduced together none waits for an update of another: they are of one
 * level. A full bucket stays shut. */
static int32_t find_bucket(berth_i_arena *a, const berth_i_reduction *r) {
  bool together = a->d->o.bucket != BERTH_BUCKET_NONE && !r->alone;
  bool by_group = a->d->o.bucket == BERTH_BUCKET_GROUP;
  int32_t key = by_group ? r->group : r->place, level = a->d->level[a->d->g->producer[r->tensor]];
  for (int32_t k = together ? a->key_bucket[key] : BERTH_NONE; k != BERTH_NONE;
       k = bucket_at(a, k)->next) {
    const berth_i_bucket *b = bucket_at(a, k);
    if (b->place == r->place && b->level == level
        && (by_group || b->bytes + gradient_bytes(a, r->tensor) <= a->d->o.bucket_bytes))
      return k;
  }
  int32_t made = berth_i_items_take(a, &a->buckets, 1, sizeof(berth_i_bucket));
  if (made == BERTH_NONE) return BERTH_NONE;
  *bucket_at(a, made) =
      (berth_i_bucket){ r->place,   level, 0, BERTH_NONE,
                        BERTH_NONE, together ? a->key_bucket[key] : BERTH_NONE, 0 };
  if (together) a->key_bucket[key] = made;
  return made;
}

/* In the order in which gradients are made. */
static void fill_buckets(berth_i_arena *a) {
  const berth_graph *g = a->d->g;
  for (int32_t i = 0; i < g->n_ops; i++) {
    int32_t u = g->topo[i];
    for (int32_t j = g->out_at[u]; j < g->out_at[u + 1] && a->st == BERTH_OK; j++) {
      int32_t reduction = a->reduction[g->out[j]];
      if (reduction == BERTH_NONE) continue;
      int32_t k = find_bucket(a, reduction_at(a, reduction));
      if (k == BERTH_NONE) return;
      berth_i_bucket *b = bucket_at(a, k);
      if (b->n++ == 0) b->first = reduction;
      else reduction_at(a, b->last)->next = reduction;
      b->last = reduction;
      b->bytes += gradient_bytes(a, g->out[j]);
    }
  }
}

/* ---- collectives ---- */

static void add_readers(berth_i_arena *a, const berth_i_reduction *r, int32_t bucket) {
  const berth_i_link *link = a->links.at;
  int32_t n = berth_i_place_size(a->d, r->place);
  for (int32_t i = r->reader; i != BERTH_NONE; i = link[i].next) {
    if (a->stamp[link[i].op] == bucket) continue;
    a->stamp[link[i].op] = bucket;
    for (int32_t k = 0; k < n; k++) berth_i_add_waiting(a, a->first_op[link[i].op] + k);
  }
}

void berth_i_add_reductions(berth_i_arena *a) {
  fill_buckets(a);
  for (size_t k = 0; k < a->buckets.n && a->st == BERTH_OK; k++) {
    const berth_i_bucket b = *bucket_at(a, (int32_t)k);
    berth_i_begin_collective(a, BERTH_ALLREDUCE, b.bytes, b.n);
    for (int32_t i = 0; i < berth_i_place_size(a->d, b.place); i++) {
      /* One gradient: its maker is the member. */
      int32_t op, u = a->d->g->producer[reduction_at(a, b.first)->tensor];
      if (b.n == 1) {
        op = a->first_op[u] + i;
      } else {
        op = berth_i_add_auxiliary(a, u, BERTH_PART_BUCKET, berth_i_place_devices(a->d, b.place)[i],
                                   berth_i_form_samples(a->d, a->form[u], i), 0);
        for (int32_t r = b.first; r != BERTH_NONE; r = reduction_at(a, r)->next)
          berth_i_add_edge(a, a->first_tensor[reduction_at(a, r)->tensor] + i, op);
      }
      berth_i_add_member(a, op);
    }
    for (int32_t r = b.first; r != BERTH_NONE; r = reduction_at(a, r)->next)
      add_readers(a, reduction_at(a, r), (int32_t)k);
  }
}
