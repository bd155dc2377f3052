/* A compiled graph that stays: copied out of the arena, with names and kinds, and priced again by
 * a cost of its own. Its op times are to the bit those that the evaluator simulates. */
#include "compiled_internal.h"
#include "compile_internal.h"
#include "graph/builder_internal.h"
#include <stdio.h>

/* ---- copies ---- */

#define COPY(p, n) berth_i_pool_copy(pool, p, (size_t)(n), sizeof *(p))

static void copy_arrays(berth_i_pool *pool, berth_graph *g, const berth_graph *e) {
  g->seconds = COPY(e->seconds, g->n_ops);
  g->param_bytes = COPY(e->param_bytes, g->n_ops);
  g->workspace_bytes = COPY(e->workspace_bytes, g->n_ops);
  g->twin = COPY(e->twin, g->n_ops);
  g->pin = COPY(e->pin, g->n_ops);
  g->flags = COPY(e->flags, g->n_ops);
  g->producer = COPY(e->producer, g->n_tensors);
  g->tensor_bytes = COPY(e->tensor_bytes, g->n_tensors);
  g->resident = COPY(e->resident, g->n_tensors);
  g->tensor_flags = COPY(e->tensor_flags, g->n_tensors);
  g->in_at = COPY(e->in_at, g->n_ops + 1);
  g->in = COPY(e->in, g->n_edges);
  g->out_at = COPY(e->out_at, g->n_ops + 1);
  g->out = COPY(e->out, g->n_tensors);
  g->use_at = COPY(e->use_at, g->n_tensors + 1);
  g->use = COPY(e->use, g->n_edges);
  g->topo = COPY(e->topo, g->n_ops);
  g->wait_at = COPY(e->wait_at, g->n_ops + 1);
  if (g->wait_at) g->wait = COPY(e->wait, e->wait_at[g->n_ops]);
  g->after_at = COPY(e->after_at, g->n_ops + 1);
  if (g->after_at) g->after = COPY(e->after, e->after_at[g->n_ops]);
}

static void copy_collectives(berth_i_pool *pool, berth_graph *g, const berth_graph *e) {
  g->collectives = COPY(e->collectives, g->n_collectives);
  g->coll_ops = COPY(e->coll_ops, g->n_coll_ops);
  for (int32_t k = 0; g->coll_ops && k < g->n_collectives; k++) {
    berth_collective *c = &g->collectives[k];
    c->members = g->coll_ops + (c->members - e->coll_ops);
    if (c->consumers) c->consumers = g->coll_ops + (c->consumers - e->coll_ops);
  }
}

/* ---- names ---- */

static const char *const part_names[] = { "", "split", "concat", "sum", "bucket" };

static const char *text_of(const int32_t *column, const berth_i_names *names, int32_t op) {
  return column && column[op] != BERTH_NONE ? names->text[column[op]] : NULL;
}

/* "conv1@2", "sum conv1/grad_weight@0": the number is that of the device. An op that is whole on
 * one device keeps its name. */
static berth_status name_op(berth_compiled *c, const int32_t *replicas, int32_t v) {
  const berth_graph *old = c->d->g;
  const char *name = text_of(old->op_name, &old->names, c->origin[v]);
  char number[24];
  bool auxiliary = c->part[v] != BERTH_PART_REPLICA;
  snprintf(number, sizeof number, "op%ld", (long)c->origin[v]);
  if (!auxiliary && replicas[c->origin[v]] == 1) {
    if (!name) return BERTH_OK;
    return berth_i_names_add(c->d->ctx, &c->g->names, name, &c->g->op_name[v]);
  }
  if (!name) name = number;
  int32_t shown = (int32_t)strlen(name);
  if (shown > 200) shown = 200;
  while (shown > 0 && shown < (int32_t)strlen(name) && ((unsigned char)name[shown] & 0xc0) == 0x80)
    shown--;
  char text[256];
  snprintf(text, sizeof text, "%s%s%.*s@%ld", part_names[c->part[v]], auxiliary ? " " : "",
           (int)shown, name, (long)c->device[v]);
  return berth_i_names_add(c->d->ctx, &c->g->names, text, &c->g->op_name[v]);
}

static berth_status name_kind(berth_compiled *c, int32_t v) {
  const berth_graph *old = c->d->g;
  const char *kind = c->part[v] == BERTH_PART_REPLICA
                         ? text_of(old->op_kind, &old->kinds, c->origin[v])
                         : part_names[c->part[v]];
  return kind ? berth_i_names_add(c->d->ctx, &c->g->kinds, kind, &c->g->op_kind[v]) : BERTH_OK;
}

static berth_status name_all(berth_compiled *c) {
  berth_ctx *ctx = c->d->ctx;
  size_t n = (size_t)c->g->n_ops, old = (size_t)c->d->n_ops;
  int32_t *replicas = berth_i_zalloc(ctx, old, sizeof *replicas);
  c->g->op_name = berth_i_pool_alloc(&c->g->pool, n, sizeof *c->g->op_name);
  c->g->op_kind = berth_i_pool_alloc(&c->g->pool, n, sizeof *c->g->op_kind);
  berth_status st;
  if (!replicas || !c->g->op_name || !c->g->op_kind) {
    st = berth_i_nomem(ctx);
    goto done;
  }
  memset(c->g->op_name, 0xff, n * sizeof *c->g->op_name);
  memset(c->g->op_kind, 0xff, n * sizeof *c->g->op_kind);
  int32_t v;
  for (v = 0; v < c->g->n_ops; v++) replicas[c->origin[v]] += c->part[v] == BERTH_PART_REPLICA;
  for (st = BERTH_OK, v = 0; v < c->g->n_ops && st == BERTH_OK; v++)
    if ((st = name_op(c, replicas, v)) == BERTH_OK) st = name_kind(c, v);
done:
  berth_i_free(ctx, replicas, old, sizeof *replicas);
  return st;
}

/* ---- the object ---- */

/* Released like any graph, also half made: then its counts are set, and what is missing is NULL. */
static berth_graph *graph_like(const berth_graph *e) {
  berth_graph *g = berth_i_pool_object(e->ctx, sizeof *g);
  if (!g) return NULL;
  g->ctx = e->ctx;
  g->refs = 1;
  g->n_ops = e->n_ops;
  g->n_tensors = e->n_tensors;
  g->n_edges = e->n_edges;
  g->n_collectives = e->n_collectives;
  g->n_coll_ops = e->n_coll_ops;
  g->n_types = 1;
  berth_ctx_retain(g->ctx);
  return g;
}

static berth_status copy_graph(berth_compiled *c, const berth_graph *e) {
  if (!(c->g = graph_like(e))) return berth_i_nomem(e->ctx);
  static const char *const none[] = { "" };
  const char *name = c->d->g->name;
  if (name && !(c->g->name = berth_i_pool_strdup(&c->g->pool, name))) return berth_i_nomem(e->ctx);
  berth_status st = berth_i_types_copy(&c->g->pool, 1, none, &c->g->types);
  if (st != BERTH_OK) return st;
  copy_arrays(&c->g->pool, c->g, e);
  copy_collectives(&c->g->pool, c->g, e);
  return berth_i_pool_status(&c->g->pool);
}

static berth_status copy_columns(berth_compiled *c, const berth_i_emission *e) {
  const berth_graph *g = c->g;
  berth_i_pool *pool = &c->pool;
  c->device = COPY(e->device, g->n_ops);
  c->origin = COPY(e->origin, g->n_ops);
  c->part = COPY(e->part, g->n_ops);
  c->samples = COPY(e->samples, g->n_ops);
  c->rank = COPY(e->rank, g->n_ops);
  c->source = COPY(e->source, g->n_tensors);
  return berth_i_pool_status(pool);
}

static berth_status price(berth_compiled *c) {
  const berth_cost *old = c->d->cost;
  berth_cost_model m = { .transfer_factor = old->transfer_factor,
                         .free_control = old->free_control,
                         .collective_algorithm = old->algorithm,
                         .collective_bandwidth = old->collective_bandwidth,
                         .whole_us = old->whole_us,
                         .form = old->form };
  if (old->algorithm == BERTH_COLLECTIVE_LINES) {
    m.collective_lines = old->lines;
    m.lines_bandwidth = old->lines_bandwidth;
  }
  m.device_group = old->device_group;
  return berth_cost_new(c->g, c->d->t, &m, &c->cost);
}

berth_status berth_deploy_compile(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                  berth_compiled **out) {
  if (!d || !out) return BERTH_EINVAL;
  berth_status st = d->scratch ? BERTH_OK : berth_i_emission_new(d, &d->scratch);
  if (st == BERTH_OK) st = berth_i_deploy_emit(d, action, duplicate, d->scratch);
  if (st != BERTH_OK) return st;
  berth_compiled *c;
  if (!(c = berth_i_pool_object(d->ctx, sizeof *c))) return berth_i_nomem(d->ctx);
  c->refs = 1;
  berth_deploy_retain(c->d = d);
  if ((st = copy_graph(c, &d->scratch->graph)) != BERTH_OK) goto done;
  if ((st = copy_columns(c, d->scratch)) != BERTH_OK) goto done;
  /* Profiles hold at speed 1. */
  for (int32_t v = 0; v < c->g->n_ops; v++)
    c->g->seconds[v] *= d->t->devices[c->device[v]].speed;
  if ((st = name_all(c)) != BERTH_OK) goto done;
  if ((st = price(c)) != BERTH_OK) goto done;
  /* To the bit what the evaluator simulates: speeds are multiplied and divided again. */
  for (int32_t v = 0; v < c->g->n_ops; v++)
    c->cost->op[(size_t)v * (size_t)c->cost->n_classes + (size_t)c->cost->class_of[c->device[v]]] =
        d->scratch->graph.seconds[v];
  *out = c;
  c = NULL;
done:
  berth_compiled_release(c);
  return st;
}

void berth_compiled_retain(berth_compiled *c) { c->refs++; }

void berth_compiled_release(berth_compiled *c) {
  if (!c || --c->refs > 0) return;
  berth_ctx *ctx = c->d->ctx;
  berth_cost_release(c->cost);
  berth_graph_release(c->g);
  berth_ctx_retain(ctx);
  berth_deploy_release(c->d);
  berth_i_pool_free(&c->pool);
  berth_ctx_release(ctx);
}

berth_deploy *berth_compiled_deploy(const berth_compiled *c) { return c->d; }
berth_graph *berth_compiled_graph(const berth_compiled *c) { return c->g; }
berth_cost *berth_compiled_cost(const berth_compiled *c) { return c->cost; }
const int32_t *berth_compiled_device(const berth_compiled *c) { return c->device; }
const int32_t *berth_compiled_origin(const berth_compiled *c) { return c->origin; }
const uint8_t *berth_compiled_part(const berth_compiled *c) { return c->part; }
const int32_t *berth_compiled_samples(const berth_compiled *c) { return c->samples; }
const int32_t *berth_compiled_source(const berth_compiled *c) { return c->source; }
const double *berth_compiled_rank(const berth_compiled *c) { return c->rank; }
