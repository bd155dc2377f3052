/* The tape: operations in the order in which they were done, and reverse-mode differentiation: one
 * walk back from the loss, O(operations) besides the gradients themselves. Slots are the arrays
 * that may have a gradient; an array holds its slot number and the epoch of its tape, so the
 * look-up is O(1).
 *
 * Invariant: when the walk reaches a node, all that adds to the gradient of its output has been
 * walked, as nodes read earlier outputs only; so the gradient is complete, and freed afterwards. */
#include "vector_internal.h"

#include "nn_internal.h"

/* The tape's entry of an array that may have a gradient: outputs, watched arrays, parameters. */
typedef struct slot {
  berth_array *array; /* borrowed: a node, or `held`, has the reference */
  float *gradient;    /* while walking back; NULL: zero so far */
  bool held, watched;
} slot;

struct berth_tape {
  berth_i_pool pool;
  berth_i_pool lists; /* more_in of the nodes */
  berth_ctx *ctx;
  int32_t refs;
  uint64_t epoch;
  berth_i_node *node;
  size_t n_nodes, cap_nodes;
  slot *slots;
  size_t n_slots, cap_slots;
  berth_array **kept; /* pairs: watched array, its gradient */
  size_t n_kept, cap_kept;
};

berth_status berth_tape_new(berth_ctx *ctx, berth_tape **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_tape *t = berth_i_pool_object(ctx, sizeof *t);
  if (!t) return berth_i_nomem(ctx);
  t->ctx = ctx;
  t->lists = berth_i_pool_empty(ctx);
  t->refs = 1;
  t->epoch = berth_i_ctx_number(ctx);
  berth_ctx_retain(ctx);
  berth_i_block_cache_keep(ctx);
  *out = t;
  return BERTH_OK;
}

void berth_tape_retain(berth_tape *t) { t->refs++; }
int32_t berth_tape_length(const berth_tape *t) { return (int32_t)t->n_nodes; }

/* ---- forgetting ---- */

static void release_node(berth_i_node *node) {
  for (int32_t i = 0; i < BERTH_I_NODE_ARRAYS; i++) {
    berth_array_release(node->in[i]);
    berth_array_release(node->kept[i]);
  }
  for (int32_t i = 0; i < node->n_more; i++) berth_array_release(node->more_in[i]);
  berth_index_release(node->index);
  berth_index_release(node->index2);
  berth_segments_release(node->segments);
  berth_array_release(node->out);
}

/* Never 0: an empty array has a gradient, too, and NULL means "zero so far". */
static size_t bytes_of(const berth_array *a) {
  return a->size > 0 ? (size_t)a->size * sizeof(float) : sizeof(float);
}

static void drop_gradient(berth_tape *t, slot *s) {
  berth_i_block_free(t->ctx, s->gradient, bytes_of(s->array));
  s->gradient = NULL;
}

/* A new epoch invalidates the slot numbers that arrays hold, without a walk over the arrays. */
static void forget_operations(berth_tape *t) {
  for (size_t i = 0; i < t->n_slots; i++) {
    slot *s = &t->slots[i];
    if (s->gradient) drop_gradient(t, s);
    if (s->array->tape == t->epoch) s->array->tape = 0;
    if (s->held) berth_array_release(s->array);
  }
  for (size_t i = 0; i < t->n_nodes; i++) release_node(&t->node[i]);
  berth_i_pool_free(&t->lists);
  t->n_nodes = t->n_slots = 0;
  t->epoch = berth_i_ctx_number(t->ctx);
}

static void forget_kept(berth_tape *t) {
  for (size_t i = 0; i < t->n_kept; i++) berth_array_release(t->kept[i]);
  t->n_kept = 0;
}

void berth_tape_clear(berth_tape *t) {
  forget_operations(t);
  forget_kept(t);
}

/* The last tape gives the cached blocks back. */
void berth_tape_release(berth_tape *t) {
  if (!t || --t->refs > 0) return;
  berth_ctx *ctx = t->ctx;
  berth_tape_clear(t);
  berth_i_pool_free(&t->pool);
  berth_i_block_cache_release(ctx);
  berth_ctx_release(ctx);
}

/* ---- remembering ---- */

/* NULL: a is not on t. O(1) but for arrays that two tapes have had at the same time. */
static slot *find_slot(const berth_tape *t, const berth_array *a) {
  size_t i = t->n_slots;
  if (a->tape == t->epoch) return &t->slots[a->slot];
  while (a->shared && i-- > 0) {
    if (t->slots[i].array == a) return &t->slots[i];
  }
  return NULL;
}

bool berth_i_wanted(const berth_tape *t, const berth_array *a) {
  return t && (a->gradient || find_slot(t, a));
}

/* A slot for a; `hold`: no node has a reference to it. */
static berth_status add_slot(berth_tape *t, berth_array *a, bool hold) {
  berth_status st = BERTH_I_POOL_GROW(&t->pool, t->slots, t->cap_slots, t->n_slots + 1);
  if (st != BERTH_OK) return st;
  t->slots[t->n_slots] = (slot){ a, NULL, hold, false };
  if (hold) berth_array_retain(a);
  if (a->tape != 0) a->shared = true;
  a->tape = t->epoch;
  a->slot = (int32_t)t->n_slots++;
  return BERTH_OK;
}

berth_status berth_tape_watch(berth_tape *t, berth_array *a) {
  if (!t || !a) return BERTH_EINVAL;
  berth_status st = find_slot(t, a) ? BERTH_OK : add_slot(t, a, true);
  if (st == BERTH_OK) find_slot(t, a)->watched = true;
  return st;
}

/* The tape's own references: callers may release all arrays right after an operation. */
static void retain_node(berth_i_node *node) {
  for (int32_t i = 0; i < BERTH_I_NODE_ARRAYS; i++) {
    if (node->in[i]) berth_array_retain(node->in[i]);
    if (node->kept[i]) berth_array_retain(node->kept[i]);
  }
  for (int32_t i = 0; i < node->n_more; i++) berth_array_retain(node->more_in[i]);
  if (node->index) berth_index_retain(node->index);
  if (node->index2) berth_index_retain(node->index2);
  if (node->segments) berth_segments_retain(node->segments);
  berth_array_retain(node->out);
}

/* Fails before anything is retained: then the tape is as it was. */
berth_status berth_i_record(berth_tape *t, const berth_i_node *node) {
  berth_i_node own = *node;
  berth_status st = BERTH_I_POOL_GROW(&t->pool, t->node, t->cap_nodes, t->n_nodes + 1);
  if (st != BERTH_OK) return st;
  own.more_in =
      berth_i_pool_copy(&t->lists, node->more_in, (size_t)node->n_more, sizeof *own.more_in);
  if ((st = berth_i_pool_status(&t->lists)) != BERTH_OK
      || (st = add_slot(t, own.out, false)) != BERTH_OK)
    return st;
  retain_node(&own);
  t->node[t->n_nodes++] = own;
  return BERTH_OK;
}

/* ---- walking back ---- */

float *berth_i_gradient(berth_tape *t, berth_array *a, berth_status *st) {
  if (*st != BERTH_OK || !berth_i_wanted(t, a)) return NULL;
  /* a parameter, for the first time */
  if (!find_slot(t, a) && (*st = add_slot(t, a, true)) != BERTH_OK) return NULL;
  slot *s = find_slot(t, a);
  if (s->gradient) return s->gradient;
  if (!(s->gradient = berth_i_block_alloc(t->ctx, bytes_of(a)))) *st = berth_i_nomem(t->ctx);
  else memset(s->gradient, 0, bytes_of(a));
  return s->gradient;
}

berth_status berth_tape_backward(berth_tape *t, berth_array *loss) {
  if (!t || !loss) return BERTH_EINVAL;
  berth_status st = BERTH_OK;
  if (loss->size != 1)
    return berth_i_fail(t->ctx, BERTH_EINVAL, "backward: the loss has %.0f numbers, not one",
                        (double)loss->size);
  if (!berth_i_wanted(t, loss))
    return berth_i_fail(t->ctx, BERTH_EINVAL, "backward: nothing on this tape leads to the loss");
  forget_kept(t);

  /* seed: d loss / d loss = 1 */
  float *seed = berth_i_gradient(t, loss, &st);
  if (!seed) goto done;
  seed[0] = 1;

  /* sweep from the last operation to the first; a gradient is complete when its node is reached */
  for (size_t i = t->n_nodes; i-- > 0;) {
    const berth_i_node *node = &t->node[i];
    ptrdiff_t at = find_slot(t, node->out) - t->slots; /* an index: backward may move the slots */
    if (!t->slots[at].gradient) continue;              /* the loss does not depend on it */
    if ((st = node->backward(t, node, t->slots[at].gradient)) != BERTH_OK) goto done;
    if (!t->slots[at].watched) drop_gradient(t, &t->slots[at]);
  }

  /* keep the gradients of watched arrays; all copies before the parameters change, so that a
   * failure changes none of them */
  for (size_t i = 0; i < t->n_slots; i++) {
    slot *s = &t->slots[i];
    if (!s->watched) continue;
    if ((st = BERTH_I_POOL_GROW(&t->pool, t->kept, t->cap_kept, t->n_kept + 2)) != BERTH_OK)
      goto done;
    berth_array *copy;
    if ((st = berth_array_new(t->ctx, s->array->rank, s->array->shape, &copy)) != BERTH_OK)
      goto done;
    if (s->gradient) memcpy(copy->data, s->gradient, (size_t)copy->size * sizeof(float));
    berth_array_retain(s->array);
    t->kept[t->n_kept++] = s->array;
    t->kept[t->n_kept++] = copy;
  }

  /* add to the gradients of parameters, which sum up over calls until they are zeroed */
  for (size_t i = 0; i < t->n_slots; i++) {
    slot *s = &t->slots[i];
    if (s->gradient && s->array->gradient)
      berth_i_add_to(s->array->gradient->data, s->gradient, s->array->size);
  }
done:
  if (st != BERTH_OK) forget_kept(t);
  forget_operations(t);
  return st;
}

berth_array *berth_tape_gradient(const berth_tape *t, const berth_array *a) {
  for (size_t i = 0; i < t->n_kept; i += 2) {
    if (t->kept[i] == a) return t->kept[i + 1];
  }
  return NULL;
}
