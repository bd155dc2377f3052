/* Standard Task Graph Set (docs/formats.md, "stg"): a number of tasks N, then N + 2 lines "id time
 * P pred...", of which the first and last are dummies of no time, which are kept. */
#include "io/formats_internal.h"

static berth_status read_predecessors(berth_i_lines *l, berth_i_edges *e, int32_t id, int32_t n) {
  int32_t count = 0;
  berth_status st = berth_i_lines_id(l, "", "number of predecessors", &count);
  for (int32_t k = 0; k < count && st == BERTH_OK; k++) {
    berth_i_edge edge = { 0, id, 0, l->line, NULL };
    if ((st = berth_i_lines_id(l, "", "predecessor", &edge.src)) != BERTH_OK) return st;
    if (edge.src >= n)
      return berth_i_lines_fail(l, "predecessor of task %d is not in 0..%d (%d)", (int)id,
                                (int)n - 1, (int)edge.src);
    st = berth_i_edges_add(l->src->ctx, e, edge);
  }
  if (st == BERTH_OK && !berth_i_lines_is_blank(l)) {
    st = berth_i_lines_fail(l, "more than %d predecessors of task %d", (int)count, (int)id);
  }
  return st;
}

/* Ids must be in order; predecessors are not bound to it, so edges are collected and a cycle is
 * found when the graph is finished. */
static berth_status read_task(berth_i_lines *l, berth_graph_builder *b, berth_i_edges *e,
                              int32_t expected, int32_t n) {
  berth_op op = berth_op_default();
  double seconds = 0;
  int32_t id = 0;
  berth_status st;
  if ((st = berth_i_lines_id(l, "", "task", &id)) != BERTH_OK) return st;
  if (id != expected) return berth_i_lines_fail(l, "task is not %d (%d)", (int)expected, (int)id);
  if ((st = berth_i_lines_amount(l, "", "time", &seconds)) != BERTH_OK) return st;
  op.seconds = &seconds;
  if ((st = berth_graph_builder_add_op(b, &op, NULL)) != BERTH_OK) return st;
  return read_predecessors(l, e, id, n);
}

/* What follows '#' is a comment: at the end of the original files, or behind the numbers of a
 * line. */
static void cut_comment(berth_i_lines *l) {
  const char *mark = memchr(l->at, '#', (size_t)(l->end - l->at));
  if (mark) l->end = mark;
}

static bool next_task_line(berth_i_lines *l) {
  while (berth_i_lines_next(l)) {
    cut_comment(l);
    if (!berth_i_lines_is_blank(l)) return true;
  }
  return false;
}

/* N counts neither dummy. */
static berth_status read_count(berth_i_lines *l, int32_t *n) {
  if (!next_task_line(l)) return berth_i_lines_fail(l, "number of tasks is missing");
  berth_status st;
  if ((st = berth_i_lines_id(l, "", "number of tasks", n)) != BERTH_OK) return st;
  if (!berth_i_lines_is_blank(l))
    return berth_i_lines_fail(l, "something follows the number of tasks");
  if (*n > INT32_MAX - 2)
    return berth_i_lines_fail(l, "number of tasks is too large (%d)", (int)*n);
  *n += 2;
  return BERTH_OK;
}

/* @param count out, also if a task is wrong: the number with both dummies */
static berth_status read_tasks(berth_i_lines *l, berth_graph_builder *b, berth_i_edges *e,
                               int32_t *count) {
  int32_t n = 0;
  berth_status st = read_count(l, &n);
  *count = n;
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    if (!next_task_line(l))
      return berth_i_lines_fail(l, "%d of %d tasks are missing", (int)(n - k), (int)n);
    if ((st = berth_i_lines_interrupted(l)) == BERTH_OK) st = read_task(l, b, e, k, n);
  }
  if (st == BERTH_OK && next_task_line(l))
    st = berth_i_lines_fail(l, "something follows the last task");
  return st;
}

/* The line is that of the second mention. */
static berth_status refuse_repeated(const berth_i_source *src, const berth_i_edges *e, int32_t n) {
  const berth_i_edge *twice = NULL;
  berth_status st = berth_i_edges_repeated(src->ctx, e, n, &twice);
  if (st != BERTH_OK || !twice) return st;
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: task %d has predecessor %d twice", src->name,
                      (int)twice->line, (int)twice->dst, (int)twice->src);
}

/* resident -1: a tensor takes as much memory as it has bytes, which is none. */
static berth_status read_stg(const berth_i_source *src, berth_bundle *out) {
  berth_i_lines l = berth_i_lines_of(src);
  berth_graph_builder *b = NULL;
  berth_i_edges e = { NULL, 0, 0 };
  berth_status st = berth_graph_builder_new(src->ctx, &b);
  int32_t n = 0;
  if (st != BERTH_OK) return st;
  berth_graph_builder_unitless(b, 1);
  if ((st = read_tasks(&l, b, &e, &n)) != BERTH_OK) goto done;
  if ((st = refuse_repeated(src, &e, n)) != BERTH_OK) goto done;
  if ((st = berth_i_edges_build(src->ctx, &e, n, -1, b)) != BERTH_OK) goto done;
  st = berth_i_edges_blame(src, &e, berth_graph_builder_finish(b, &out->graph));
done:
  berth_i_edges_release(src->ctx, &e);
  berth_graph_builder_release(b);
  return st;
}

/* A number, then a line of three numbers or more without commas: DOPPLER's have commas. */
static berth_i_match match_stg(berth_i_lines first) {
  cut_comment(&first);
  if (!berth_i_lines_is_number(&first)) return BERTH_I_MATCH_NONE;
  bool commas;
  int words = berth_i_lines_next_words(&first, &commas);
  return berth_i_match_if(words >= 3 && !commas, BERTH_I_MATCH_SHAPE);
}

const berth_i_format berth_i_format_stg = {
  .about = { .choice = { "stg", "Standard Task Graph Set." }, .loads = BERTH_HOLDS_GRAPH },
  .match_text = match_stg, .read_text = read_stg
};
