/* References in berth files: a number is a position from 0, a string is a name, which must be
 * unique among the things it may refer to. Owned by the reader, which releases the look-up. */
#ifndef BERTH_BERTH_REF_H
#define BERTH_BERTH_REF_H

#include "io/io_internal.h"

/* Names of n things; made when the first string turns up. */
typedef struct berth_i_lookup {
  const char *what;               /* "op" */
  int32_t n;
  const char *(*name)(const void *ud, int32_t i); /* NULL: none */
  const void *ud;
  bool ready;
  berth_i_names names;
  int32_t *id;                    /* [names] BERTH_NONE: not unique */
} berth_i_lookup;

void berth_i_lookup_release(berth_ctx *ctx, berth_i_lookup *x);
/** v NULL: out stays as it is. */
berth_status berth_i_get_ref(const berth_i_json *doc, berth_i_value v,
                             berth_i_lookup *x, int32_t *out);
/** An array of them.  @param out [*n] of the pool */
berth_status berth_i_get_refs(const berth_i_json *doc, berth_i_value v,
                              berth_i_lookup *x, berth_i_pool *pool, int32_t **out, int32_t *n);

/* Functions for `name`: of a list of texts, a topology, a graph. */
const char *berth_i_listed_name(const void *names, int32_t i);
const char *berth_i_topology_device_name(const void *topology, int32_t device);
const char *berth_i_graph_op_name(const void *graph, int32_t op);

#endif
