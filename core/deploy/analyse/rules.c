/* What is known of kinds of ops: role, and whether outputs have the batch. The built-in table is
 * TensorFlow's kinds as TAG's code has them, more of these, and the kinds of berth's models; the
 * caller's rules of kinds come before it, rules of single ops before all. */
#include "analyse_internal.h"

#define INPUT(kind) { kind, BERTH_ROLE_INPUT, BERTH_BATCH_ALWAYS, 1 }
#define VARIABLE(kind) { kind, BERTH_ROLE_VARIABLE, BERTH_BATCH_NEVER, 0 }
#define UPDATE(kind) { kind, BERTH_ROLE_UPDATE, BERTH_BATCH_NEVER, 0 }
#define SCATTER(kind) { kind, BERTH_ROLE_SCATTER, BERTH_BATCH_NEVER, 0 }
#define ASSIGN(kind) { kind, BERTH_ROLE_ASSIGN, BERTH_BATCH_NEVER, 0 }
#define ALWAYS(kind) { kind, BERTH_ROLE_COMPUTE, BERTH_BATCH_ALWAYS, 0 }
#define FIRST(kind) { kind, BERTH_ROLE_COMPUTE, BERTH_BATCH_FIRST, 0 }
#define FIRST_ALL(kind) { kind, BERTH_ROLE_COMPUTE, BERTH_BATCH_FIRST, 1 }
#define ANY(kind) { kind, BERTH_ROLE_COMPUTE, BERTH_BATCH_ANY, 0 }
#define NEVER(kind) { kind, BERTH_ROLE_COMPUTE, BERTH_BATCH_NEVER, 0 }

static const berth_kind_rule table[] = {
  /* TensorFlow, as published */
  INPUT("Placeholder"), INPUT("IteratorGetNext"),
  ALWAYS("Conv2D"), ALWAYS("MaxPool"), ALWAYS("Conv2DBackpropInput"), ALWAYS("BiasAdd"),
  FIRST("Cast"), FIRST("ZerosLike"), FIRST("GreaterEqual"), FIRST("NotEqual"), FIRST("Neg"),
  FIRST("Log1p"), FIRST("Exp"),
  FIRST("Rsqrt"), FIRST("Slice"), FIRST("StridedSlice"), FIRST("Squeeze"), FIRST("Identity"),
  FIRST("Sigmoid"), FIRST("Relu"),
  FIRST("LeakyRelu"), FIRST("Tanh"), FIRST("TanhGrad"),
  ANY("Add"), ANY("Sub"), ANY("Mul"), ANY("RealDiv"), ANY("FloorDiv"), ANY("FloorMod"),
  FIRST("MatMul"), NEVER("MatMul:transpose_a"),
  UPDATE("ApplyGradientDescent"), UPDATE("ApplyAdam"), SCATTER("ScatterSub"), ASSIGN("Assign"),
  /* TensorFlow, more */
  VARIABLE("Variable"), VARIABLE("VariableV2"), VARIABLE("VarHandleOp"), NEVER("Const"),
  NEVER("NoOp"),
  UPDATE("ApplyMomentum"), UPDATE("ApplyRMSProp"), UPDATE("ApplyAdagrad"),
  ALWAYS("AvgPool"), ALWAYS("MaxPoolGrad"), ALWAYS("AvgPoolGrad"), ANY("AddV2"), ANY("AddN"),
  FIRST("Softmax"),
  FIRST("ReluGrad"), FIRST("SigmoidGrad"), FIRST("LeakyReluGrad"), NEVER("Conv2DBackpropFilter"),
  NEVER("BiasAddGrad"),
  /* berth's models; an op that gives gradients of input and weight gives that of the input first */
  INPUT("input"), UPDATE("sgd"), UPDATE("momentum"), UPDATE("adam"),
  SCATTER("scatter_sgd"), SCATTER("scatter_momentum"), SCATTER("scatter_adam"),
  FIRST("linear"), FIRST("linear_grad_input"), NEVER("linear_grad_weight"),
  FIRST("conv"), FIRST("conv_grad_input"), NEVER("conv_grad_weight"),
  FIRST("embedding"), NEVER("embedding_grad_weight"), FIRST("embedding_grad_rows"),
  FIRST_ALL("lstm"), FIRST_ALL("lstm_grad"), NEVER("lstm_grad_weight"),
  FIRST("batch_norm"), FIRST("batch_norm_grad"), FIRST("layer_norm"), FIRST("layer_norm_grad"),
  FIRST("rms_norm"),
  FIRST("rms_norm_grad"),
  FIRST("relu"), FIRST("relu_grad"), FIRST("gelu"), FIRST("gelu_grad"), FIRST("tanh"),
  FIRST("tanh_grad"),
  FIRST("silu_mul"), FIRST_ALL("silu_mul_grad"), FIRST("softmax"), FIRST("softmax_grad"),
  FIRST("rope"), FIRST("rope_grad"),
  FIRST("max_pool"), FIRST("max_pool_grad"), FIRST("avg_pool"), FIRST("avg_pool_grad"),
  ANY("add"), FIRST("add_grad"), FIRST("concat"), FIRST_ALL("concat_grad"), FIRST_ALL("slice"),
  FIRST("slice_grad"),
  FIRST("gather"), FIRST("gather_grad"),
  FIRST("matmul"), FIRST_ALL("matmul_grad"), FIRST("attention"), FIRST_ALL("attention_grad"),
  FIRST_ALL("additive_scores"), FIRST_ALL("additive_scores_grad"), FIRST("loss"),
  FIRST("loss_grad"),
};
enum { TABLE = sizeof table / sizeof *table };

int32_t berth_kind_rules(const berth_kind_rule **rules) {
  *rules = table;
  return TABLE;
}

/* ---- rules of ops ---- */

static const berth_kind_rule *find(const berth_kind_rule *rules, int32_t n, const char *kind) {
  for (int32_t k = 0; k < n; k++)
    if (strcmp(rules[k].kind, kind) == 0) return &rules[k];
  return NULL;
}

/* What the rule leaves unsaid stays. */
static void apply(const berth_kind_rule *rule, bool given, berth_i_op_rule *x) {
  if (rule->role != BERTH_ROLE_AUTO) x->role = (uint8_t)rule->role;
  if (rule->batch == BERTH_BATCH_AUTO) return;
  x->batch = (uint8_t)rule->batch;
  x->all_outputs = rule->all_outputs != 0;
  x->known = true;
  x->given |= given;
}

static const berth_i_op_rule unknown = { BERTH_ROLE_COMPUTE, BERTH_BATCH_NEVER, false, false,
                                         false };

/* @param kind NULL: none */
static berth_i_op_rule rule_of_kind(const berth_analysis_options *o, const char *kind) {
  berth_i_op_rule x = unknown;
  const berth_kind_rule *built_in = kind ? find(table, TABLE, kind) : NULL;
  const berth_kind_rule *own = kind ? find(o->rules, o->n_rules, kind) : NULL,
                        *other = find(o->rules, o->n_rules, "*");
  if (built_in) apply(built_in, false, &x);
  if (own) apply(own, true, &x);
  if (!built_in && !own && other) apply(other, true, &x);
  return x;
}

berth_status berth_i_op_rules(const berth_graph *g, const berth_analysis_options *o,
                              berth_i_op_rule *rule) {
  size_t kinds = (size_t)g->kinds.n;
  const berth_i_op_rule of_none = rule_of_kind(o, NULL);
  berth_i_op_rule *of_kind = berth_i_alloc(g->ctx, kinds, sizeof *of_kind);
  if (!of_kind) return berth_i_nomem(g->ctx);
  for (int32_t k = 0; k < g->kinds.n; k++) of_kind[k] = rule_of_kind(o, g->kinds.text[k]);
  for (int32_t k = 0; k < g->n_ops; k++) {
    rule[k] = g->op_kind && g->op_kind[k] != BERTH_NONE ? of_kind[g->op_kind[k]] : of_none;
    /* A flag says less than a rule. */
    uint32_t flags = berth_i_flags(g, k);
    berth_i_op_rule *x = &rule[k];
    if ((flags & BERTH_OP_UPDATE) && x->role == BERTH_ROLE_COMPUTE) x->role = BERTH_ROLE_UPDATE;
  }
  for (int32_t k = 0; k < o->n_ops; k++) apply(&o->op_rule[k], true, &rule[o->op[k]]);
  berth_i_free(g->ctx, of_kind, kinds, sizeof *of_kind);
  return BERTH_OK;
}

/* ---- what the caller may say ---- */

static berth_status check_rule(berth_ctx *ctx, const char *list, int32_t k,
                               const berth_kind_rule *r) {
  if ((unsigned)r->role > BERTH_ROLE_AUTO)
    return berth_i_fail(ctx, BERTH_EINVAL, "%s %ld: role %d is unknown", list, (long)k,
                        (int)r->role);
  if ((unsigned)r->batch > BERTH_BATCH_AUTO)
    return berth_i_fail(ctx, BERTH_EINVAL, "%s %ld: batch rule %d is unknown", list, (long)k,
                        (int)r->batch);
  return BERTH_OK;
}

berth_status berth_i_check_rules(const berth_graph *g, const berth_analysis_options *o) {
  berth_status st = BERTH_OK;
  if (o->n_rules < 0 || o->n_ops < 0)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "a number of rules is negative");
  for (int32_t k = 0; k < o->n_rules && st == BERTH_OK; k++) {
    if (!o->rules[k].kind || !*o->rules[k].kind)
      return berth_i_fail(g->ctx, BERTH_EINVAL, "rule %ld has no kind", (long)k);
    st = check_rule(g->ctx, "rule", k, &o->rules[k]);
  }
  for (int32_t k = 0; k < o->n_ops && st == BERTH_OK; k++) {
    if (o->op[k] < 0 || o->op[k] >= g->n_ops)
      return berth_i_fail(g->ctx, BERTH_EINVAL, "there is no op %ld, only %ld ops", (long)o->op[k],
                          (long)g->n_ops);
    st = check_rule(g->ctx, "op rule", k, &o->op_rule[k]);
  }
  return st;
}
