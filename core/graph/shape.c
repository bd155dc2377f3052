/* Shapes of ops: their fields, and which are legal. */
#include "graph_internal.h"

#define PRODUCT(name) BERTH_I_OPTION(berth_product, name, NUMBER), .above = 1
#define ATTENTION(name, kind) BERTH_I_OPTION(berth_attention, name, kind)

const berth_option_table *berth_product_option_table(void) {
  static const berth_option options[] = {
    { PRODUCT(m), .fallback = "must be given, or seq", .text = "rows of the result: tokens" },
    { PRODUCT(n), .fallback = "must be given with m", .text = "columns of the result" },
    { PRODUCT(k), .fallback = "must be given with m", .text = "what is summed over" },
    { PRODUCT(copies), .fallback = "1", .text = "products of that size in one kernel" },
    { BERTH_I_OPTION(berth_product, gradients, FLAG),
      .text = "the two products that give the gradients of both operands" },
    { .key = NULL }
  };
  static const berth_option_table table = { "product", options, sizeof(berth_product), NULL };
  return &table;
}

const berth_option_table *berth_attention_option_table(void) {
  static const berth_option options[] = {
    { ATTENTION(batch, NUMBER), .above = 1, .fallback = "1", .text = "sequences" },
    { ATTENTION(seq, NUMBER), .above = 1, .fallback = "must be given", .text = "tokens of each" },
    { ATTENTION(heads, NUMBER), .above = 1, .fallback = "must be given", .text = "of queries" },
    { ATTENTION(kv_heads, NUMBER), .above = 1, .fallback = "heads",
      .text = "of keys and values" },
    { ATTENTION(head_size, NUMBER), .above = 1, .fallback = "must be given",
      .text = "of query and key" },
    { ATTENTION(value_size, NUMBER), .above = 1, .fallback = "head_size",
      .text = "of a value" },
    { ATTENTION(window, NUMBER), .fallback = "all", .text = "keys that a query sees at most" },
    { ATTENTION(full, FLAG), .text = "queries see later keys, too; default: causal" },
    { ATTENTION(backward, FLAG), .text = "the backward kernel" },
    { .key = NULL }
  };
  static const berth_option_table table = { "attention", options, sizeof(berth_attention), NULL };
  return &table;
}

int32_t berth_graph_shapes(const berth_graph *g) {
  int32_t n = 0;
  for (int32_t v = 0; g && v < g->n_ops; v++) n += berth_i_shape(g, v) != NULL;
  return n;
}

/* Key of the first number that is not finite, or negative; NULL. */
static const char *bad_number(const berth_option_table *table, const void *s) {
  for (const berth_option *o = table->options; o->key; o++) {
    if (o->type != BERTH_OPTION_NUMBER) continue;
    double x = *(const double *)((const char *)s + o->offset);
    if (!(x >= 0) || isinf(x)) return o->key;
  }
  return NULL;
}

const char *berth_i_shape_error(const berth_shape *s, double flop, char *buf, size_t size) {
  const berth_product *p = &s->product;
  const berth_attention *a = &s->attention;
  const char *key = bad_number(berth_product_option_table(), p);
  if (!key) key = bad_number(berth_attention_option_table(), a);
  if (key) return berth_snprintf(buf, size, "%s of its shape is no finite number from 0", key), buf;
  bool product = p->m > 0 && p->n > 0 && p->k > 0,
       attention = a->seq > 0 && a->heads > 0 && a->head_size > 0;
  if (product + attention != 1 || (p->m > 0 && a->seq > 0)) {
    berth_snprintf(buf, size, "its shape is neither m, n and k of a product nor seq, heads and "
                              "head_size of attention");
    return buf;
  }
  double least = 2 * p->m * p->n * p->k * (p->copies > 0 ? p->copies : 1) * (p->gradients ? 2 : 1);
  if (flop > 0 && flop >= least * (1 - 1e-9)) return NULL;
  if (attention) berth_snprintf(buf, size, "it has the shape of attention, but no FLOP");
  else berth_snprintf(buf, size, "%.14g FLOP are fewer than the %.14g of its shape", flop, least);
  return buf;
}
