/* A strategy into a compiled graph: replicas, what they read, how gradients are summed. Steps:
 * 1. forms of all ops (forms.c); 2. replicas and their tensors; 3. edges, with conversions where
 * forms differ (convert.c); 4. AllReduces of gradients (reduce.c); 5. lists and order (lists.c).
 *
 * Replica k of op v is op first_op[v] + k of the compiled graph, its tensor t is first_tensor[t] +
 * k.
 * O(ops + edges, both of the compiled graph). */
#include "compile_internal.h"

/* ---- replicas ---- */

static void add_replicas(berth_i_arena *a) {
  const berth_deploy *d = a->d;
  for (int32_t op = 0; op < d->n_ops; op++) {
    berth_i_form f = a->form[op];
    int32_t place = berth_i_form_place(f), n = berth_i_place_size(d, place), last = -1, of = 0;
    double seconds = 0; /* of the last class of devices and so many samples: mostly the next
                           one's */
    if (!berth_i_arena_ops(a, n)) return;
    a->first_op[op] = a->n_ops;
    for (int32_t k = 0; k < n; k++) {
      int32_t v = a->n_ops++, device = berth_i_place_devices(d, place)[k],
              samples = berth_i_form_samples(d, f, k),
              class = d->n_points > 1 ? device : d->cost->class_of[device];
      if (class != last || samples != of) {
        last = class;
        of = samples;
        seconds = berth_i_deploy_seconds(d, op, device, samples);
      }
      a->seconds[v] = seconds;
      a->param[v] = berth_i_param(d->g, op);
      a->workspace[v] =
          berth_i_workspace(d->g, op) * (berth_i_is_cut(f) ? (double)samples / d->batch : 1);
      a->rank[v] = d->rank[op];
      a->twin[v] = BERTH_NONE;
      a->device[v] = device;
      a->origin[v] = op;
      a->samples[v] = samples;
      a->flags[v] = (uint8_t)berth_i_flags(d->g, op);
      a->part[v] = BERTH_PART_REPLICA;
    }
  }
}

/* ---- tensors of replicas ---- */

static void add_tensors(berth_i_arena *a) {
  const berth_graph *g = a->d->g;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t u = g->producer[t], n = berth_i_place_size(a->d, berth_i_form_place(a->form[u]));
    if (!berth_i_arena_tensors(a, n)) return;
    a->first_tensor[t] = a->n_tensors;
    for (int32_t k = 0; k < n; k++) {
      double share = berth_i_tensor_share(a->d, t, a->form[u], k);
      int32_t x = a->n_tensors++;
      a->producer[x] = a->first_op[u] + k;
      a->source[x] = t;
      a->bytes[x] = g->tensor_bytes[t] * share;
      a->resident[x] = berth_i_resident(g, t) * share;
      a->tensor_flags[x] = g->tensor_flags ? g->tensor_flags[t] : 0;
    }
  }
}

/* ---- edges ---- */

/* Readers by id, so that what each reads comes in its own order. What is made in the form in which
 * it is read is the most frequent case: it takes its edges at once. */
static void add_edges(berth_i_arena *a) {
  const berth_graph *g = a->d->g;
  for (int32_t v = 0; v < g->n_ops; v++) {
    int32_t n = berth_i_place_size(a->d, berth_i_form_place(a->form[v]));
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
      int32_t t = g->in[i];
      bool own = a->form[g->producer[t]] == a->form[v];
      const int32_t *ids = own ? NULL : berth_i_convert(a, t, v);
      if (!berth_i_arena_edges(a, n)) return;
      for (int32_t k = 0; k < n; k++) {
        if (!own && ids[k] == BERTH_NONE) continue;
        a->edge_tensor[a->n_edges] = own ? a->first_tensor[t] + k : ids[k];
        a->edge_op[a->n_edges++] = a->first_op[v] + k;
      }
    }
  }
}

/* ---- all ---- */

berth_status berth_i_deploy_emit(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                 berth_i_emission *e) {
  berth_i_arena *a = e->arena;
  berth_i_arena_empty(a);
  a->action = action;
  berth_status st;
  if ((st = berth_i_deploy_forms(d, action, duplicate, a->form, a->repeated)) != BERTH_OK)
    return st;
  add_replicas(a);
  add_tensors(a);
  if (a->st != BERTH_OK) return a->st;
  /* Twins that are on the same devices stay twins. */
  const berth_graph *g = a->d->g;
  for (int32_t op = 0; g->twin && op < g->n_ops; op++) {
    int32_t twin = g->twin[op], place = berth_i_form_place(a->form[op]);
    if (twin == BERTH_NONE || berth_i_form_place(a->form[twin]) != place) continue;
    for (int32_t k = 0; k < berth_i_place_size(a->d, place); k++)
      a->twin[a->first_op[op] + k] = a->first_op[twin] + k;
  }
  add_edges(a);
  berth_i_add_reductions(a);
  return a->st == BERTH_OK ? berth_i_arena_finish(a, e) : a->st;
}

berth_status berth_i_emission_new(berth_deploy *d, berth_i_emission **out) {
  berth_i_emission *e = berth_i_zalloc(d->ctx, 1, sizeof *e);
  berth_status st = e ? berth_i_arena_new(d, &e->arena) : berth_i_nomem(d->ctx);
  if (st == BERTH_OK) *out = e;
  else berth_i_free(d->ctx, e, 1, sizeof *e);
  return st;
}

void berth_i_emission_release(berth_deploy *d, berth_i_emission *e) {
  if (!e) return;
  berth_i_arena_release(e->arena);
  berth_i_free(d->ctx, e, 1, sizeof *e);
}
