/* Mirror: which backward ops there are, and what is known about them beside the graph. */
#ifndef BERTH_MIRROR_INTERNAL_H
#define BERTH_MIRROR_INTERNAL_H

#include "graph/graph_internal.h"

/* ---- facts of a reader about the ops of a training step ---- */

enum {                         /* flags of an op; what its backward ops read of it: */
  BERTH_I_SAVE_INPUTS = 1,
  BERTH_I_SAVE_OTHERS = 2,     /* each input if another, or the weight, gets a gradient */
  BERTH_I_SAVE_FIXED = 4,      /* inputs that have no gradient, such as indices */
  BERTH_I_SAVE_OUTPUT = 8,
  BERTH_I_NO_GRADIENT = 16,    /* none passes */
  BERTH_I_LIGHT = 32           /* no product: its backward op costs as one gradient */
};
enum { BERTH_I_WEIGHT = -2 };  /* an operand: a trained weight of the op */
typedef struct berth_i_backward {
  uint32_t flags;
  double area;                 /* pixels of the window of a convolution; 0: 1 */
  double state;                /* part of a gradient that a recurrence has beside its weights' */
  const int32_t *operand;      /* [n_operands] of its product, the left one first: a tensor,
                                * BERTH_I_WEIGHT or BERTH_NONE */
  int32_t n_operands;          /* 0: its inputs and its weights are */
} berth_i_backward;
typedef struct berth_i_weight {
  double bytes;
  int32_t first, n;            /* ops that read it: a range of `readers`; it belongs to the first */
} berth_i_weight;
typedef struct berth_i_step {
  const berth_i_backward *of;  /* [ops]; NULL: inputs are saved, as the options say */
  const uint8_t *fixed;        /* [tensors] 1: no gradient flows through it; NULL: none is */
  const uint8_t *output;       /* [tensors] 1: the loss depends on it; NULL: on those of sinks */
  const berth_i_weight *weight; /* [n_weights] that are trained */
  int32_t n_weights;
  const int32_t *readers;      /* an op at most once for one weight */
} berth_i_step;

/** berth_graph_mirror; a step in any case if `step` is given: without an optimizer it has no
 *  updates, and option params keeps gradients where they are made. */
berth_status berth_i_graph_mirror(const berth_graph *g, const berth_mirror_options *opts,
                                  const berth_i_step *step, berth_graph **out, int32_t *origin);

extern const berth_choice *const berth_i_optimizers[];

/* ---- backward ops (mirror_step.c) ---- */

typedef struct berth_i_mirror {
  berth_i_pool pool;
  const berth_graph *g;
  const berth_mirror_options *opts;
  const berth_i_step *step;  /* NULL: every op has one backward op */
  berth_i_step own;
  berth_graph_builder *b;
  double *seconds;           /* [n_types] of the current op */
  char *name;                /* [name_cap] of the current op */
  size_t name_cap;
  int32_t *twin;             /* [ops] backward op, of the weight if there are two; BERTH_NONE */
  int32_t *giver;            /* [ops] backward op that gives gradients of inputs; BERTH_NONE */
  int32_t n_ops, n_groups;   /* of the result without updates; of the graph and of weights */
  uint8_t *needs;            /* [ops] depends on a weight, and a gradient comes back */
  uint8_t *ends;             /* [ops] its gradient is that of the loss: it is joined to its twin */
  double *weights;           /* [ops] bytes of trained weights that it reads */
  int32_t *group;            /* [ops] of its weight; BERTH_NONE */
} berth_i_mirror;

/** Fills the arrays. @return BERTH_OK, BERTH_EINVAL (nothing is trained), BERTH_ENOMEM */
berth_status berth_i_mirror_plan(berth_i_mirror *m);
/** Does the gradient of a tensor reach its producer? */
static inline bool berth_i_mirror_wants(const berth_i_mirror *m, int32_t t) {
  return !m->step || (m->needs[m->g->producer[t]] && !(m->step->fixed && m->step->fixed[t]));
}
/** Gradients that a backward op of v makes at the cost of ratio / 2 each: 0, 1, 2. A product has
 *  one of its left operand, and one of the others. */
int32_t berth_i_mirror_gradients(const berth_i_mirror *m, int32_t v, int32_t op);
/** The part of both gradients' cost that a backward op of v takes. */
double berth_i_mirror_share(const berth_i_mirror *m, int32_t v, int32_t op);
/** Does backward op `op` of v read this input, or its outputs? */
bool berth_i_mirror_saves(const berth_i_mirror *m, int32_t v, int32_t op, int32_t t);
bool berth_i_mirror_saves_output(const berth_i_mirror *m, int32_t v, int32_t op);
double berth_i_mirror_bytes(const berth_i_mirror *m, int32_t v, int32_t op);
/** Shape of that op, or NULL. */
const berth_shape *berth_i_mirror_shape(const berth_i_mirror *m, int32_t v, int32_t op,
                                        berth_shape *out);
/** Gradients that the update of a weight reads; 0: it has none. */
int32_t berth_i_mirror_parts(const berth_i_mirror *m, const berth_i_weight *w);
berth_status berth_i_mirror_updates(berth_i_mirror *m);
berth_status berth_i_mirror_weight_gradients(berth_i_mirror *m);
/** A name of the op with an ending, until the next call; NULL: it has none. */
berth_status berth_i_mirror_name(berth_i_mirror *m, const char *forward, const char *ending,
                                 const char **out);

#endif
