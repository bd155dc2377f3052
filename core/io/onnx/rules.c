/* The table of kinds: how the shapes of a node's outputs follow, and its FLOP for an element of
 * its first output or input (docs/onnx.md); products and windows count their own. */
#include "onnx_internal.h"
#include <stdlib.h>

#define R(kind, infer, out, in) { #kind, berth_i_onnx_##infer, out, in },
/* In order of strcmp. */
static const onnx_rule rules[] = {
  R(Abs, same, 1, 0) R(Acos, same, 4, 0) R(Acosh, same, 4, 0) R(Adagrad, optimizer, 6, 0)
  R(Adam, optimizer, 12, 0) R(Add, binary, 1, 0) R(And, compare, 1, 0) R(ArgMax, arg, 0, 1)
  R(ArgMin, arg, 0, 1) R(Asin, same, 4, 0) R(Asinh, same, 4, 0) R(Atan, same, 4, 0)
  R(Atanh, same, 4, 0) R(AveragePool, pool, 0, 0) R(BatchNormalization, batch_norm, 4, 0)
  R(Bernoulli, random_like, 1, 0) R(BitShift, binary, 1, 0) R(BitwiseAnd, binary, 1, 0)
  R(BitwiseNot, same, 1, 0) R(BitwiseOr, binary, 1, 0) R(BitwiseXor, binary, 1, 0)
  R(BlackmanWindow, cosine_window, 8, 0) R(Cast, cast, 0, 0) R(CastLike, cast, 0, 0)
  R(Ceil, same, 1, 0) R(Celu, same, 4, 0) R(Clip, same, 1, 0) R(Compress, compress, 0, 0)
  R(Concat, concat, 0, 0) R(ConcatFromSequence, concat_sequence, 0, 0) R(Constant, constant, 0, 0)
  R(ConstantOfShape, constant_of_shape, 0, 0) R(Conv, conv, 0, 0) R(ConvInteger, conv, 0, 0)
  R(ConvTranspose, conv_transpose, 0, 0) R(Cos, same, 4, 0) R(Cosh, same, 4, 0)
  R(CumSum, same, 0, 0) R(DFT, dft, 0, 0) R(DepthToSpace, depth_to_space, 0, 0)
  R(DequantizeLinear, dequantize, 2, 0) R(Det, det, 0, 1) R(Div, binary, 1, 0)
  R(Dropout, dropout, 0, 0) R(DynamicQuantizeLinear, dynamic_quantize, 4, 0)
  R(Einsum, einsum, 0, 0) R(Elu, same, 4, 0) R(Equal, compare, 1, 0) R(Erf, same, 4, 0)
  R(Exp, same, 4, 0) R(Expand, expand, 0, 0) R(EyeLike, eye, 0, 0) R(Flatten, flatten, 0, 0)
  R(Floor, same, 1, 0) R(GRU, recurrent, 16, 0) R(Gather, gather, 0, 0)
  R(GatherElements, gather_elements, 0, 0) R(GatherND, gather_nd, 0, 0) R(Gelu, same, 8, 0)
  R(Gemm, gemm, 0, 0) R(GlobalAveragePool, global_pool, 0, 1) R(GlobalLpPool, global_pool, 0, 1)
  R(GlobalMaxPool, global_pool, 0, 1) R(Greater, compare, 1, 0) R(GreaterOrEqual, compare, 1, 0)
  R(GridSample, grid_sample, 8, 0) R(GroupNormalization, same, 5, 0)
  R(HammingWindow, cosine_window, 4, 0) R(HannWindow, cosine_window, 4, 0)
  R(HardSigmoid, same, 1, 0) R(HardSwish, same, 4, 0) R(Hardmax, same, 1, 0)
  R(Identity, identity, 0, 0) R(InstanceNormalization, same, 5, 0) R(IsInf, to_bool, 1, 0)
  R(IsNaN, to_bool, 1, 0) R(LRN, same, 5, 0) R(LSTM, recurrent, 24, 0)
  R(LayerNormalization, norm, 5, 0) R(LeakyRelu, same, 1, 0) R(Less, compare, 1, 0)
  R(LessOrEqual, compare, 1, 0) R(Log, same, 4, 0) R(LogSoftmax, same, 5, 0)
  R(LpNormalization, same, 5, 0) R(LpPool, pool, 0, 0) R(MatMul, matmul, 0, 0)
  R(MatMulInteger, matmul, 0, 0) R(Max, binary, 1, 0) R(MaxPool, pool, 0, 0)
  R(MaxRoiPool, roi, 1, 0) R(MaxUnpool, max_unpool, 0, 1) R(Mean, binary, 1, 0)
  R(MeanVarianceNormalization, same, 5, 0) R(MelWeightMatrix, mel_matrix, 1, 0)
  R(Min, binary, 1, 0) R(Mish, same, 4, 0) R(Mod, binary, 1, 0) R(Momentum, optimizer, 4, 0)
  R(Mul, binary, 1, 0) R(Multinomial, random_like, 1, 0) R(Neg, same, 1, 0)
  R(NegativeLogLikelihoodLoss, loss, 0, 1) R(NonZero, non_zero, 0, 1) R(Not, same, 1, 0)
  R(OneHot, one_hot, 0, 0) R(OptionalHasElement, scalar, 0, 0) R(Or, compare, 1, 0)
  R(PRelu, same, 1, 0) R(Pad, pad, 0, 0) R(Pow, binary, 1, 0) R(QLinearConv, conv, 0, 0)
  R(QLinearMatMul, matmul, 0, 0) R(QuantizeLinear, quantize, 2, 0) R(RMSNormalization, same, 4, 0)
  R(RNN, recurrent, 5, 0) R(RandomNormal, random_shape, 1, 0)
  R(RandomNormalLike, random_like, 1, 0) R(RandomUniform, random_shape, 1, 0)
  R(RandomUniformLike, random_like, 1, 0) R(Range, range, 0, 0) R(Reciprocal, same, 1, 0)
  R(ReduceL1, reduce, 0, 1) R(ReduceL2, reduce, 0, 1) R(ReduceLogSum, reduce, 0, 1)
  R(ReduceLogSumExp, reduce, 0, 1) R(ReduceMax, reduce, 0, 1) R(ReduceMean, reduce, 0, 1)
  R(ReduceMin, reduce, 0, 1) R(ReduceProd, reduce, 0, 1) R(ReduceSum, reduce, 0, 1)
  R(ReduceSumSquare, reduce, 0, 1) R(Relu, same, 1, 0) R(Reshape, reshape, 0, 0)
  R(Resize, resize, 8, 0) R(ReverseSequence, same, 0, 0) R(RoiAlign, roi, 8, 0)
  R(Round, same, 1, 0) R(STFT, stft, 0, 0) R(Scatter, scatter, 0, 0)
  R(ScatterElements, scatter, 0, 0) R(ScatterND, scatter, 0, 0) R(Selu, same, 4, 0)
  R(SequenceAt, sequence_at, 0, 0) R(SequenceConstruct, sequence, 0, 0)
  R(SequenceEmpty, sequence, 0, 0) R(SequenceErase, sequence_erase, 0, 0)
  R(SequenceInsert, sequence_insert, 0, 0) R(SequenceLength, sequence_length, 0, 0)
  R(Shape, shape, 0, 0) R(Shrink, same, 1, 0) R(Sigmoid, same, 4, 0) R(Sign, same, 1, 0)
  R(Sin, same, 4, 0) R(Sinh, same, 4, 0) R(Size, size, 0, 0) R(Slice, slice, 0, 0)
  R(Softmax, same, 5, 0) R(SoftmaxCrossEntropyLoss, loss, 0, 5) R(Softplus, same, 4, 0)
  R(Softsign, same, 4, 0) R(SpaceToDepth, depth_to_space, 0, 0) R(Split, split, 0, 0)
  R(SplitToSequence, split_sequence, 0, 0) R(Sqrt, same, 1, 0) R(Squeeze, squeeze, 0, 0)
  R(Sub, binary, 1, 0) R(Sum, binary, 1, 0) R(Tan, same, 4, 0) R(Tanh, same, 4, 0)
  R(TfIdfVectorizer, tf_idf, 0, 1) R(ThresholdedRelu, same, 1, 0) R(Tile, tile, 0, 0)
  R(TopK, top_k, 0, 1) R(Transpose, transpose, 0, 0) R(Trilu, same, 0, 0)
  R(Unsqueeze, unsqueeze, 0, 0) R(Upsample, resize, 8, 0) R(Where, where, 1, 0)
  R(Xor, compare, 1, 0)
};

static int by_kind(const void *key, const void *row) {
  return berth_i_onnx_order(*(const onnx_bytes *)key, ((const onnx_rule *)row)->kind);
}

/* Optimisers are in a domain of their own. */
const onnx_rule *berth_i_onnx_rule(const onnx_node *node) {
  bool training = berth_i_onnx_equal(node->domain, "ai.onnx.preview.training");
  if (node->kind.n == 0 || (node->domain.n > 0 && !training)) return NULL;
  const onnx_rule *r = bsearch(&node->kind, rules, sizeof rules / sizeof *rules, sizeof *rules,
                               by_kind);
  return r && (r->infer == berth_i_onnx_optimizer) == training ? r : NULL;
}
