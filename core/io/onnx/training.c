/* The training step of a model: which weights are trained, which tensors have gradients, and what
 * the backward op of a kind reads. Weights are the initializers of floating point, but for
 * scalars and the statistics of norms. O(ops + edges + reads of weights) */
#include "onnx_internal.h"
#include "graph/transforms/mirror_internal.h"
#include <stdlib.h>

enum {
  INPUTS = BERTH_I_SAVE_INPUTS, OTHERS = BERTH_I_SAVE_OTHERS, FIXED = BERTH_I_SAVE_FIXED,
  OUTPUT = BERTH_I_SAVE_OUTPUT, BOTH = INPUTS | OUTPUT, NO = BERTH_I_NO_GRADIENT
};

/* Kinds that do not save their inputs alone. In order of strcmp. */
static const struct saves {
  const char *kind;
  uint32_t flags;
} saves[] = {
  { "Add", 0 }, { "ArgMax", NO }, { "ArgMin", NO }, { "AveragePool", 0 }, { "Bernoulli", NO },
  { "Cast", 0 }, { "CastLike", 0 }, { "Ceil", 0 }, { "Compress", FIXED }, { "Concat", 0 },
  { "ConstantOfShape", NO }, { "Conv", OTHERS }, { "ConvTranspose", OTHERS }, { "CumSum", 0 },
  { "DepthToSpace", 0 }, { "Div", OTHERS }, { "Dropout", 0 }, { "Einsum", OTHERS },
  { "Elu", OUTPUT }, { "Exp", OUTPUT }, { "Expand", 0 }, { "EyeLike", NO }, { "Flatten", 0 },
  { "Floor", 0 }, { "GRU", BOTH }, { "Gather", FIXED }, { "GatherElements", FIXED },
  { "GatherND", FIXED }, { "Gemm", OTHERS }, { "GlobalAveragePool", 0 },
  { "GlobalMaxPool", BOTH }, { "HardSigmoid", OUTPUT }, { "Identity", 0 }, { "LSTM", BOTH },
  { "LeakyRelu", OUTPUT }, { "LogSoftmax", OUTPUT }, { "MatMul", OTHERS }, { "MaxPool", BOTH },
  { "Mean", 0 }, { "Mul", OTHERS }, { "Multinomial", NO }, { "Neg", 0 }, { "NonZero", NO },
  { "OneHot", NO }, { "Pad", 0 }, { "RNN", BOTH }, { "RandomNormalLike", NO },
  { "RandomUniformLike", NO }, { "Reciprocal", OUTPUT }, { "ReduceL2", BOTH },
  { "ReduceMax", BOTH }, { "ReduceMean", 0 }, { "ReduceMin", BOTH }, { "ReduceSum", 0 },
  { "Relu", OUTPUT }, { "Reshape", 0 }, { "Resize", 0 }, { "ReverseSequence", 0 },
  { "Round", 0 }, { "ScatterElements", FIXED }, { "ScatterND", FIXED }, { "Selu", OUTPUT },
  { "Sigmoid", OUTPUT }, { "Sign", 0 }, { "Slice", 0 }, { "Softmax", OUTPUT },
  { "SpaceToDepth", 0 }, { "Split", 0 }, { "Sqrt", OUTPUT }, { "Squeeze", 0 }, { "Sub", 0 },
  { "Sum", 0 }, { "Tanh", OUTPUT }, { "Tile", 0 }, { "Transpose", 0 }, { "Trilu", 0 },
  { "Unsqueeze", 0 }, { "Upsample", 0 }, { "Where", FIXED },
};

static int by_kind(const void *key, const void *row) {
  return berth_i_onnx_order(*(const onnx_bytes *)key, ((const struct saves *)row)->kind);
}

/* Tensors of the operands, whose gradients are products; a trained weight is one of the op. */
static const int32_t *operands_of(onnx_model *m, const onnx_op *op) {
  int32_t *out = berth_i_pool_alloc(&m->pool, op->n_operands + 1, sizeof *out);
  for (size_t k = 0; out && k < op->n_operands; k++) {
    const onnx_value *v = op->operand[k];
    out[k] = !v ? BERTH_NONE : v->weight && v->weight->trained ? BERTH_I_WEIGHT : v->id;
  }
  return out;
}

static berth_i_backward backward_of(onnx_model *m, const onnx_op *op) {
  const struct saves *s = op->kind.n == 0 ? NULL
                          : bsearch(&op->kind, saves, sizeof saves / sizeof *saves, sizeof *saves,
                                    by_kind);
  uint32_t flags = s && op->domain.n == 0 ? s->flags : INPUTS;
  if (op->matrix <= 0) flags |= BERTH_I_LIGHT;
  return (berth_i_backward){ flags, op->area, op->state, operands_of(m, op),
                             (int32_t)op->n_operands };
}

/* ---- weights ---- */

static onnx_weight *trained(const onnx_call *c, size_t k) {
  onnx_weight *x = c->in[k] ? c->in[k]->weight : NULL;
  if (!x || !x->trained) return NULL;
  return k > 2 && berth_i_onnx_equal(c->node->kind, "BatchNormalization") ? NULL : x;
}

bool berth_i_onnx_count_trained(onnx_call *c) {
  bool any = false;
  for (size_t k = 0; k < c->n_in; k++) {
    onnx_weight *x = trained(c, k);
    if (x && !x->counted) c->m->trained += x->elements;
    if (x) any = x->counted = true;
  }
  return any && c->m->opts->training && c->out[0] && berth_i_onnx_is_float(c->out[0]->dtype);
}

bool berth_i_onnx_trains(onnx_model *m, const onnx_call *c, size_t k, int32_t op) {
  onnx_weight *x = trained(c, k);
  if (!m->opts->training || !x || x->last_read == op) return true;
  if (!ONNX_GROW(m, m->read, m->cap_read, m->n_read + 1)) return false;
  m->read[m->n_read] = (onnx_read){ x, op, BERTH_NONE };
  if (x->last == BERTH_NONE) x->first = (int32_t)m->n_read;
  else m->read[x->last].next = (int32_t)m->n_read;
  x->last = (int32_t)m->n_read++;
  x->last_read = op;
  return true;
}

/* Weights with one reader are one with the others of that op; by their first reads. */
static bool collect(onnx_model *m, berth_i_step *step) {
  int32_t n = 0, used = 0, *readers, *own;
  berth_i_weight *w = berth_i_pool_zalloc(&m->pool, m->n_read + 1, sizeof *w);
  readers = berth_i_pool_alloc(&m->pool, m->n_read + 1, sizeof *readers);
  own = berth_i_pool_alloc(&m->pool, m->n_op, sizeof *own);
  if (!w || !readers || !own) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  for (size_t v = 0; v < m->n_op; v++) own[v] = BERTH_NONE;
  for (size_t k = 0; k < m->n_read; k++) {
    const onnx_read *r = &m->read[k];
    if (r->weight->first != (int32_t)k) continue;
    bool alone = r->next == BERTH_NONE;
    if (alone && own[r->op] != BERTH_NONE) {
      w[own[r->op]].bytes += r->weight->bytes;
      continue;
    }
    if (alone) own[r->op] = n;
    w[n] = (berth_i_weight){ r->weight->bytes, used, 0 };
    for (int32_t i = (int32_t)k; i != BERTH_NONE; i = m->read[i].next, w[n].n++)
      readers[used++] = m->read[i].op;
    n++;
  }
  step->weight = w;
  step->n_weights = n;
  step->readers = readers;
  return true;
}

/* Of integers, logic, text. */
static bool has_no_gradient(int dtype) {
  bool complex = dtype == ONNX_COMPLEX64 || dtype == ONNX_COMPLEX128;
  return dtype != 0 && !complex && !berth_i_onnx_is_float(dtype);
}

berth_status berth_i_onnx_train(onnx_model *m, berth_graph **g) {
  berth_i_step step = { 0 };
  berth_i_backward *of = berth_i_pool_zalloc(&m->pool, m->n_op, sizeof *of);
  uint8_t *fixed = berth_i_pool_zalloc(&m->pool, m->n_made + 1, 1), *output;
  berth_graph *both = NULL;
  output = berth_i_pool_zalloc(&m->pool, m->n_made + 1, 1);
  if (!of || !fixed || !output) return berth_i_nomem(m->ctx);
  for (size_t k = 0; k < m->n_op; k++)
    if (!(of[k] = backward_of(m, &m->op[k])).operand) return berth_i_nomem(m->ctx);
  for (size_t k = 0; k < m->n_made; k++) {
    int32_t t = m->made[k]->id;
    if (t == BERTH_NONE) continue;
    fixed[t] = has_no_gradient(m->made[k]->dtype);
    output[t] = m->made[k]->output;
  }
  if (!collect(m, &step)) return m->st;
  step.of = of;
  step.fixed = fixed;
  step.output = output;
  berth_mirror_options o = berth_mirror_default();
  o.optimizer = m->opts->optimizer;
  o.params = o.optimizer == BERTH_OPTIMIZER_NONE;
  berth_status st = berth_i_graph_mirror(*g, &o, &step, &both, NULL);
  if (st != BERTH_OK) return berth_i_prefix_error(m->ctx, "%s: ", m->name), st;
  berth_graph_release(*g);
  *g = both;
  return BERTH_OK;
}
