/* What the files of the compiler share: the arena in which a compiled graph grows, versions of
 * tensors by form, reductions and their buckets. */
#ifndef BERTH_COMPILE_INTERNAL_H
#define BERTH_COMPILE_INTERNAL_H

#include "deploy/deploy_internal.h"

/** What a tensor of the original graph is in the hands of replicas that each do a part of the
 * batch. */
typedef enum berth_i_kind {
  BERTH_I_CONTROL, /* carries nothing */
  BERTH_I_CUT,     /* each has the rows of its samples */
  BERTH_I_PARTIAL, /* each has what its samples add to the sum */
  BERTH_I_SAME     /* each has all of it */
} berth_i_kind;

/** A tensor in some form: ids[first + k] is what position k of the place reads; BERTH_NONE:
 * nothing, as it has no samples. */
typedef struct berth_i_version {
  berth_i_form form;
  int32_t first, next;
} berth_i_version;

/** A tensor that an AllReduce sums; the ops that wait for it are a list. */
typedef struct berth_i_reduction {
  int32_t tensor, place, group;
  int32_t reader;     /* first link; BERTH_NONE */
  int32_t next;       /* of its bucket */
  bool alone;         /* read by others than updates */
} berth_i_reduction;
typedef struct berth_i_link {
  int32_t op, next;
} berth_i_link;

/** Reductions of one collective. */
typedef struct berth_i_bucket {
  int32_t place, level, n;
  int32_t first, last; /* reductions */
  int32_t next;        /* bucket of the same key */
  double bytes;
} berth_i_bucket;

typedef struct berth_i_items { /* grows, is emptied by n = 0 */
  void *at;
  size_t n, cap;
} berth_i_items;

struct berth_i_arena {
  berth_i_pool pool;
  berth_deploy *d;
  berth_status st;           /* of the graph that grows: after a refusal nothing more is added */
  const int32_t *action;
  berth_i_form *form;        /* [n_ops] */
  uint8_t *repeated;         /* [n_ops] */
  int32_t *first_op;         /* [n_ops] replica 0 */
  int32_t *first_tensor;     /* [n_tensors] that of replica 0 */
  int32_t *version;          /* [n_tensors] first version; BERTH_NONE */
  int32_t *reduction;        /* [n_tensors] BERTH_NONE */
  int32_t *stamp;            /* [n_ops] last bucket that the op waits for */
  int32_t *key_bucket;       /* [n_keys] first open bucket */
  size_t n_keys;
  int32_t *concat_op;        /* [n_devices] scratch: op of each position */
  berth_i_items versions, ids, reductions, links, buckets;

  /* the graph */
  int32_t n_ops, n_tensors, n_edges, n_collectives, n_coll_ops;
  size_t cap_ops, cap_tensors, cap_edges, cap_collectives, cap_coll_ops;
  double *seconds, *param, *workspace, *rank;
  int32_t *twin, *device, *origin, *samples;
  uint8_t *flags, *part;
  int32_t *producer, *source;
  double *bytes, *resident;
  uint8_t *tensor_flags;
  int32_t *edge_tensor, *edge_op;
  berth_collective *collective;
  int32_t *coll_ops;

  /* its lists, made at the end */
  size_t cap_op_lists, cap_tensor_lists, cap_edge_lists, cap_coll_lists, cap_member_lists;
  int32_t *in_at, *out_at, *wait_at, *after_at, *topo, *left; /* [ops + 1] */
  int32_t *out, *use_at;                                      /* [tensors + 1] */
  int32_t *in, *use;                                          /* [edges] */
  int32_t *untaken;                                           /* [collectives] */
  int32_t *wait, *after;                                      /* [coll_ops] */
  char *type[1], no_name[1];
  int32_t class_size[1], class_device[1], *class_of; /* of the cost */
};
typedef struct berth_i_arena berth_i_arena;

/* ---- growing: arena.c ---- */

berth_status berth_i_arena_new(berth_deploy *d, berth_i_arena **out);
void berth_i_arena_release(berth_i_arena *a); /* NULL is fine */
void berth_i_arena_empty(berth_i_arena *a);
/** Space for so many more; all that adds returns or does nothing once a->st is not BERTH_OK.
 *  @return a->st is BERTH_OK */
bool berth_i_arena_ops(berth_i_arena *a, int32_t more);
bool berth_i_arena_tensors(berth_i_arena *a, int32_t more);
bool berth_i_arena_edges(berth_i_arena *a, int32_t more);
/** Space for the lists of what is there now. */
berth_status berth_i_arena_reserve_lists(berth_i_arena *a);
/** n more items of `size`.  @return the first; BERTH_NONE: refused */
int32_t berth_i_items_take(berth_i_arena *a, berth_i_items *p, size_t n, size_t size);

/** An op that handles the output of `origin`. @param bytes in and out, which take time unless
 * auxiliary ops are free  @return its id; BERTH_NONE: refused */
int32_t berth_i_add_auxiliary(berth_i_arena *a, int32_t origin, berth_part part, int32_t device,
                              int32_t samples, double bytes);
/** A share of a tensor, made by an auxiliary op.  @return its id; BERTH_NONE: refused */
int32_t berth_i_add_piece(berth_i_arena *a, int32_t producer, int32_t source, double share);
void berth_i_add_edge(berth_i_arena *a, int32_t tensor, int32_t op);
void berth_i_begin_collective(berth_i_arena *a, berth_collective_kind kind, double bytes,
                              int32_t count);
/** Of the last one: members first. */
void berth_i_add_member(berth_i_arena *a, int32_t op);
void berth_i_add_waiting(berth_i_arena *a, int32_t op);

/** Lists, order, and the views of graph and cost: lists.c. */
berth_status berth_i_arena_finish(berth_i_arena *a, berth_i_emission *e);

/* ---- tensors: convert.c, reduce.c ---- */

static inline bool berth_i_is_cut(berth_i_form f) { return berth_i_form_cut(f) != BERTH_I_WHOLE; }

static inline berth_i_kind berth_i_tensor_kind(const berth_deploy *d, int32_t tensor) {
  int32_t u = d->g->producer[tensor];
  if (berth_i_is_control(d->g, tensor)) return BERTH_I_CONTROL;
  if (d->cut_tensor[tensor]) return BERTH_I_CUT;
  return d->cut_op[u] && d->role[u] == BERTH_ROLE_COMPUTE ? BERTH_I_PARTIAL : BERTH_I_SAME;
}

/** Part of its bytes that replica k of the producer makes. */
static inline double berth_i_tensor_share(const berth_deploy *d, int32_t tensor, berth_i_form f,
                                          int32_t k) {
  if (!berth_i_is_cut(f)) return 1;
  switch (berth_i_tensor_kind(d, tensor)) {
  case BERTH_I_CUT: return (double)berth_i_form_samples(d, f, k) / d->batch;
  case BERTH_I_PARTIAL:
    return d->o.split_gradients ? 1.0 / berth_i_place_size(d, berth_i_form_place(f)) : 1;
  default: return 1;
  }
}

/** What the replicas of the reader read of the tensor, in its form.
 *  @return [replicas] until the next call; NULL: refused */
const int32_t *berth_i_convert(berth_i_arena *a, int32_t tensor, int32_t reader);
/** The same for sums. @param ids [replicas] out @return other readers of that form can have the
 * same */
bool berth_i_reduce(berth_i_arena *a, int32_t tensor, int32_t reader, int32_t *ids);
/** The collectives of all reductions. */
void berth_i_add_reductions(berth_i_arena *a);

#endif
