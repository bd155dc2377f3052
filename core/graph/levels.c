/* Orders, levels and longest paths, by sweeps in topological order or its reverse: O(ops + edges).
 * A collective is never spread into members x consumers edges: each has one value, complete when
 * its last member (or, backwards, its last consumer) has been passed. */
#include "graph_internal.h"

#include <stdio.h>

enum { LABEL = 80 };

/* Slack below this share of the longest path is rounding. */
#define SLACK_RESIDUE 1e-12

berth_status berth_topo_order(const berth_graph *g, int32_t *order) {
  if (!g) return BERTH_EINVAL;
  memcpy(order, g->topo, (size_t)g->n_ops * sizeof *order);
  return BERTH_OK;
}

/* ---- checks ---- */

static berth_status bad_time(const berth_graph *g, const char *label, const char *what, double x) {
  if (isnan(x)) return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: %s is not a number", label, what);
  return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: %s %g s is negative", label, what, x);
}

static berth_status bad_comm(const berth_graph *g, int32_t t, double x) {
  char what[48];
  snprintf(what, sizeof what, "transfer time of its tensor %ld", (long)t);
  char label[LABEL];
  return bad_time(g, berth_i_op_label(g, g->producer[t], label, sizeof label), what, x);
}

static berth_status check_times(const berth_graph *g, const double *comp, const double *comm) {
  char label[LABEL];
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (!(comp[i] >= 0))
      return bad_time(g, berth_i_op_label(g, i, label, sizeof label), "time", comp[i]);
  }
  for (int32_t i = 0; comm && i < g->n_tensors; i++) {
    if (!(comm[i] >= 0)) return bad_comm(g, i, comm[i]);
  }
  return BERTH_OK;
}

/* ---- levels ---- */

/* Times of one call, and the value of each collective. */
typedef struct sweep {
  const berth_graph *g;
  const double *comp, *comm;
  const double *through; /* [n_collectives] what each takes; NULL: nothing */
  double *coll;  /* [n_collectives] longest path through it, so far */
  int32_t *next; /* [n_collectives] backwards: the consumer on that way, BERTH_NONE; NULL: not
                    required */
} sweep;

static double comm_of(const sweep *s, int32_t t) { return s->comm ? s->comm[t] : 0; }

static double collective_level(const sweep *s, int32_t k) {
  return s->coll[k] + (s->through ? s->through[k] : 0);
}

/* Ops in reverse topological order: bl[v] is v's time and the longest path on from v, by a tensor
 * or through a collective of which v is a member. */
static void b_levels(const sweep *s, double *bl) {
  const berth_graph *g = s->g;
  for (int32_t n = g->n_ops - 1; n >= 0; n--) {
    int32_t v = g->topo[n];
    double best = 0, x;
    for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
      int32_t t = g->out[i];
      for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
        if ((x = comm_of(s, t) + bl[g->use[j]]) > best) best = x;
    }
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++)
      if ((x = collective_level(s, g->wait[i])) > best) best = x;
    bl[v] = s->comp[v] + best;
    /* collectives that v consumes: the longest of their consumers' paths, ties to the lowest id */
    for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++) {
      int32_t k = g->after[i];
      if (s->next && (bl[v] > s->coll[k] || s->next[k] == BERTH_NONE
                      || (bl[v] == s->coll[k] && v < s->next[k])))
        s->next[k] = v;
      if (bl[v] > s->coll[k]) s->coll[k] = bl[v];
    }
  }
}

/* Ops in topological order: tl[v] is the longest path to the start of v. */
static void t_levels(const sweep *s, double *tl) {
  const berth_graph *g = s->g;
  for (int32_t n = 0; n < g->n_ops; n++) {
    int32_t v = g->topo[n];
    double best = 0, x;
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
      int32_t t = g->in[i], u = g->producer[t];
      if ((x = tl[u] + s->comp[u] + comm_of(s, t)) > best) best = x;
    }
    for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++)
      if ((x = collective_level(s, g->after[i])) > best) best = x;
    tl[v] = best;
    /* collectives of which v is a member begin with their last member */
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++)
      if (best + s->comp[v] > s->coll[g->wait[i]]) s->coll[g->wait[i]] = best + s->comp[v];
  }
}

static void forget(const sweep *s) {
  for (int32_t k = 0; k < s->g->n_collectives; k++) s->coll[k] = 0;
}

/* Checks the times and makes the scratch. */
static berth_status begin(const berth_graph *g, const double *comp, const double *comm, sweep *s) {
  berth_status st = check_times(g, comp, comm);
  if (st != BERTH_OK) return st;
  *s = (sweep){
    g, comp, comm, NULL, berth_i_alloc(g->ctx, (size_t)g->n_collectives, sizeof(double)), NULL
  };
  if (!s->coll) return berth_i_nomem(g->ctx);
  forget(s);
  return BERTH_OK;
}

static void end(const sweep *s) {
  berth_i_free(s->g->ctx, s->coll, (size_t)s->g->n_collectives, sizeof *s->coll);
}

static berth_status one_level(const berth_graph *g, const double *comp, const double *comm,
                              const double *through, void (*levels)(const sweep *, double *),
                              double *out) {
  sweep s;
  berth_status st = begin(g, comp, comm, &s);
  if (st != BERTH_OK) return st;
  s.through = through;
  levels(&s, out);
  end(&s);
  return BERTH_OK;
}

berth_status berth_i_b_level(const berth_graph *g, const double *comp, const double *comm,
                             const double *through, double *out) {
  return one_level(g, comp, comm, through, b_levels, out);
}

berth_status berth_i_t_level(const berth_graph *g, const double *comp, const double *comm,
                             const double *through, double *out) {
  return one_level(g, comp, comm, through, t_levels, out);
}

berth_status berth_b_level(const berth_graph *g, const double *comp, const double *comm,
                           double *out) {
  if (!g) return BERTH_EINVAL;
  return berth_i_b_level(g, comp, comm, NULL, out);
}

berth_status berth_t_level(const berth_graph *g, const double *comp, const double *comm,
                           double *out) {
  if (!g) return BERTH_EINVAL;
  return berth_i_t_level(g, comp, comm, NULL, out);
}

/* Infinite times: what lies on an infinite path has no slack, all else has any. */
static double slack_of(double length, double through) {
  double x = through == length ? 0 : length - through;
  return isinf(x) || x > length * SLACK_RESIDUE ? x : 0;
}

berth_status berth_slack(const berth_graph *g, const double *comp, const double *comm,
                         double *out) {
  if (!g) return BERTH_EINVAL;
  sweep s;
  berth_status st = begin(g, comp, comm, &s);
  if (st != BERTH_OK) return st;
  double *bl;
  if (!(bl = berth_i_alloc(g->ctx, (size_t)g->n_ops, sizeof *bl))) {
    end(&s);
    return berth_i_nomem(g->ctx);
  }
  b_levels(&s, bl);
  forget(&s);
  t_levels(&s, out);
  double length = 0;
  for (int32_t v = 0; v < g->n_ops; v++) length = bl[v] > length ? bl[v] : length;
  for (int32_t v = 0; v < g->n_ops; v++) out[v] = slack_of(length, out[v] + bl[v]);
  berth_i_free(g->ctx, bl, (size_t)g->n_ops, sizeof *bl);
  end(&s);
  return BERTH_OK;
}

/* ---- one longest path ---- */

/* The best of the candidates seen: longest path, ties to the lowest id. */
typedef struct choice {
  double way;
  int32_t op;
} choice;

static void consider(choice *best, double way, int32_t op) {
  if (best->op == BERTH_NONE || way > best->way || (way == best->way && op < best->op))
    *best = (choice){ way, op };
}

static int32_t next_on_path(const sweep *s, const double *bl, int32_t v) {
  const berth_graph *g = s->g;
  choice best = { 0, BERTH_NONE };
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      consider(&best, comm_of(s, t) + bl[g->use[j]], g->use[j]);
  }
  for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++) {
    if (s->next[g->wait[i]] != BERTH_NONE)
      consider(&best, bl[s->next[g->wait[i]]], s->next[g->wait[i]]);
  }
  return best.op;
}

berth_status berth_critical_path(const berth_graph *g, const double *comp, const double *comm,
                                 int32_t *path, int32_t *n, double *length) {
  if (!g) return BERTH_EINVAL;
  size_t collectives = (size_t)g->n_collectives;
  sweep s;
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  berth_status st = begin(g, comp, comm, &s);
  if (st != BERTH_OK) return st;
  double *bl = berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *bl);
  s.next = berth_i_pool_alloc(&scratch, collectives, sizeof *s.next);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if (collectives > 0) memset(s.next, 0xff, collectives * sizeof *s.next);
  b_levels(&s, bl);
  choice first = { 0, BERTH_NONE };
  for (int32_t v = 0; v < g->n_ops; v++) {
    bool source = g->in_at[v] == g->in_at[v + 1]
                  && (!g->after || g->after_at[v] == g->after_at[v + 1]);
    if (source) consider(&first, bl[v], v);
  }
  int32_t steps = 0;
  for (int32_t v = first.op; v != BERTH_NONE; v = next_on_path(&s, bl, v), steps++)
    if (path) path[steps] = v;
  if (n) *n = steps;
  if (length) *length = first.way;
done:
  berth_i_pool_free(&scratch);
  end(&s);
  return st;
}

/* ---- depth ---- */

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

berth_status berth_depth(const berth_graph *g, int32_t *out) {
  if (!g) return BERTH_EINVAL;
  int32_t *coll = berth_i_zalloc(g->ctx, (size_t)g->n_collectives, sizeof *coll);
  if (!coll) return berth_i_nomem(g->ctx);
  for (int32_t n = 0; n < g->n_ops; n++) {
    int32_t v = g->topo[n], best = 0;
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++)
      best = larger(best, out[g->producer[g->in[i]]] + 1);
    for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++)
      best = larger(best, coll[g->after[i]] + 1);
    out[v] = best;
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++)
      coll[g->wait[i]] = larger(coll[g->wait[i]], best);
  }
  berth_i_free(g->ctx, coll, (size_t)g->n_collectives, sizeof *coll);
  return BERTH_OK;
}
