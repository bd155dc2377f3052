/* Reader of "onnx": inference and training steps, with and without the cost of unknown kinds. */
#define FORMAT "onnx"
#define FUZZ_OPTIONS(opts, size) set_options(opts, size)
#include <berth/berth.h>

static berth_status cost(void *ud, const berth_node *node, berth_node_cost *out) {
  (void)ud;
  for (int32_t k = 0; k < node->n_inputs; k++)
    for (int d = 0; d < node->inputs[k].rank; d++) out->flop += node->inputs[k].dim[d] > 1;
  for (int32_t k = 0; k < node->n_attributes; k++)
    for (int32_t i = 0; i < node->attributes[k].n; i++)
      out->flop += node->attributes[k].type == BERTH_NODE_INTS;
  out->known = node->kind[0] != 'N';
  return BERTH_OK;
}

static void set_options(berth_load_options *opts, size_t size) {
  opts->training = (int)(size & 1);
  if (opts->training) opts->optimizer = (int)(size >> 2 & 3);
  if (size & 2) opts->cost = cost;
}

#include "fuzz.h"
