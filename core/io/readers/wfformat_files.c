/* WfFormat: files, and the dependencies between the tasks that write and read them. Files of a task
 * are at in.at[task]..in.at[task + 1] (read) and likewise in `out` (written). Bytes of a dependency
 * are those of the files that one task writes and the other reads. O(files + references +
 * dependencies log). */
#include "base/sort_internal.h"
#include "wfformat_internal.h"

/* Adds a file of the present task. Tasks come in order: at[task + 1] counts on from at[task]. */
static berth_status list_add(berth_i_wf *w, berth_i_wf_list *l, int32_t file) {
  int32_t *end = &l->at[w->task_at + 1];
  if (*end == INT32_MAX) return berth_i_nomem(w->ctx);
  berth_status st = BERTH_I_POOL_GROW(&w->pool, l->file, l->cap, (size_t)*end + 1);
  if (st == BERTH_OK) l->file[(*end)++] = file;
  return st;
}

static berth_status set_size(berth_i_wf *w, int32_t file, double bytes) {
  berth_status st = BERTH_I_POOL_GROW(&w->pool, w->size, w->size_cap, (size_t)w->file_ids.n);
  if (st == BERTH_OK) w->size[file] = bytes;
  return st;
}

/* ---- from 1.5 on: a list of files, referred to by id ---- */

static berth_status read_file(void *ud, berth_i_value v, int32_t file) {
  static const char *const keys[] = { "id", "sizeInBytes" };
  berth_i_wf *w = ud;
  double bytes = 0;
  berth_i_value f[2];
  berth_status st = berth_i_fields(w->doc, v, keys, 2, 2, false, f);
  if (st == BERTH_OK) st = berth_i_add_id(w->doc, f[0], "file", &w->file_ids);
  if (st == BERTH_OK) st = berth_i_get_amount(w->doc, f[1], &bytes);
  return st == BERTH_OK ? set_size(w, file, bytes) : st;
}

static berth_status add_reference(berth_i_wf *w, berth_i_value v, berth_i_wf_list *l) {
  int32_t file = 0;
  berth_status st = berth_i_find_id(w->doc, v, "file", &w->file_ids, &file);
  return st == BERTH_OK ? list_add(w, l, file) : st;
}

static berth_status read_input(void *ud, berth_i_value v, int32_t i) {
  return (void)i, add_reference(ud, v, &((berth_i_wf *)ud)->in);
}

static berth_status read_output(void *ud, berth_i_value v, int32_t i) {
  return (void)i, add_reference(ud, v, &((berth_i_wf *)ud)->out);
}

static berth_status read_new_lists(berth_i_wf *w) {
  static const char *const keys[] = { "inputFiles", "outputFiles" };
  berth_i_value f[2];
  berth_status st = berth_i_fields(w->doc, w->task[w->task_at].origin, keys, 2, 0, false, f);
  if (st == BERTH_OK) st = berth_i_each(w->doc, f[0], read_input, w);
  return st == BERTH_OK ? berth_i_each(w->doc, f[1], read_output, w) : st;
}

/* ---- up to 1.4: a task lists its files, with their sizes ---- */

static berth_status find_link(const berth_i_wf *w, berth_i_value v, bool *input) {
  const char *text = "";
  berth_status st = berth_i_get_text(w->doc, v, &text);
  if (st != BERTH_OK) return st;
  *input = strcmp(text, "input") == 0;
  return *input || strcmp(text, "output") == 0
             ? BERTH_OK
             : berth_i_json_fail(w->doc, v, "is neither \"input\" nor \"output\"");
}

/* A file is what is at its path, which may be given apart from its name. */
static berth_status name_file(berth_i_wf *w, berth_i_value name,
                              berth_i_value path, int32_t *file) {
  const char *last = "", *first = "";
  berth_status st = berth_i_get_text(w->doc, name, &last);
  if (st == BERTH_OK) st = berth_i_get_text(w->doc, path, &first);
  if (st != BERTH_OK) return st;
  size_t a = strlen(first);
  size_t b = strlen(last) + 1;
  char *whole;
  if (!(whole = berth_i_alloc(w->ctx, a + b, 1))) return berth_i_nomem(w->ctx);
  memcpy(whole, first, a);
  memcpy(whole + a, last, b);
  st = berth_i_names_add(w->ctx, &w->file_ids, whole, file);
  berth_i_free(w->ctx, whole, a + b, 1);
  return st;
}

/* Its size is that of the first mention. */
static berth_status read_old_file(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "link", "name", "sizeInBytes", "size", "path" };
  berth_i_wf *w = ud;
  double bytes = 0;
  bool input = false;
  int32_t file = 0, before = w->file_ids.n;
  berth_i_value f[5];
  (void)i;
  berth_status st = berth_i_fields(w->doc, v, keys, 5, 2, false, f);
  if (st == BERTH_OK && !f[3]) st = berth_i_need(w->doc, v, f[2], "sizeInBytes");
  if (st == BERTH_OK) st = find_link(w, f[0], &input);
  if (st == BERTH_OK) st = berth_i_get_amount(w->doc, f[2] ? f[2] : f[3], &bytes);
  if (!f[2]) bytes *= w->size_unit; /* KB up to 1.2 */
  if (st == BERTH_OK && isinf(bytes)) st = berth_i_json_fail(w->doc, f[3], "is too large");
  if (st == BERTH_OK) st = name_file(w, f[1], f[4], &file);
  if (st == BERTH_OK && file == before) st = set_size(w, file, bytes);
  return st == BERTH_OK ? list_add(w, input ? &w->in : &w->out, file) : st;
}

static berth_status read_old_list(berth_i_wf *w) {
  static const char *const keys[] = { "files" };
  berth_i_value f[1];
  berth_status st = berth_i_fields(w->doc, w->task[w->task_at].origin, keys, 1, 0, false, f);
  return st == BERTH_OK ? berth_i_each(w->doc, f[0], read_old_file, w) : st;
}

berth_status berth_i_wf_read_files(berth_i_wf *w) {
  size_t n = (size_t)w->n_tasks + 1;
  w->in.at = berth_i_pool_zalloc(&w->pool, n, sizeof *w->in.at);
  w->out.at = berth_i_pool_zalloc(&w->pool, n, sizeof *w->out.at);
  berth_status st = berth_i_pool_status(&w->pool);
  if (st == BERTH_OK) st = berth_i_each(w->doc, w->files, read_file, w);
  for (int32_t k = 0; k < w->n_tasks && st == BERTH_OK; k++) {
    w->task_at = k;
    w->in.at[k + 1] = w->in.at[k];
    w->out.at[k + 1] = w->out.at[k];
    st = w->parted ? read_new_lists(w) : read_old_list(w);
  }
  return st;
}

/* ---- dependencies ---- */

/* Up to 1.4 by name where it is unique, else by id; from 1.5 on by id. */
static berth_status find_task(const berth_i_wf *w, berth_i_value v, int32_t *task) {
  const char *text = "";
  int32_t id = BERTH_NONE;
  berth_status st = berth_i_get_text(w->doc, v, &text);
  if (st != BERTH_OK) return st;
  if (!w->parted && (id = berth_i_names_find(&w->task_names, text)) != BERTH_NONE
      && w->named[id] != BERTH_I_WF_MANY) {
    *task = w->named[id];
    return BERTH_OK;
  }
  /* a name of several tasks may still be the id of one */
  if (!w->parted && id != BERTH_NONE && berth_i_names_find(&w->task_ids, text) == BERTH_NONE)
    return berth_i_json_fail(w->doc, v, "is the name of several tasks");
  return berth_i_find_id(w->doc, v, "task", &w->task_ids, task);
}

/* A parent or a child of the present task. */
static berth_status add_declared(void *ud, berth_i_value v, int32_t i) {
  berth_i_wf *w = ud;
  int32_t task = w->task_at, other = 0;
  (void)i;
  berth_status st = find_task(w, v, &other);
  if (st != BERTH_OK) return st;
  if (other == task) return berth_i_json_fail(w->doc, v, "is the task itself");
  berth_i_edge edge = { w->parents ? other : task, w->parents ? task : other, 0, 0, v };
  return berth_i_edges_add(w->ctx, &w->edges, edge);
}

static berth_status read_declared(berth_i_wf *w) {
  static const char *const keys[] = { "parents", "children" };
  berth_i_value f[2];
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < w->n_tasks && st == BERTH_OK; k++) {
    st = berth_i_fields(w->doc, w->task[k].origin, keys, 2, 0, false, f);
    w->task_at = k;
    for (int side = 0; side < 2 && st == BERTH_OK; side++) {
      w->parents = side == 0;
      st = berth_i_each(w->doc, f[side], add_declared, w);
    }
  }
  return st;
}

/* A task without declared parents follows the writers of what it reads: of several writers of a
 * file the first one, as later tasks are entered before earlier ones. */
static berth_status infer(berth_i_wf *w) {
  berth_i_edges *e = &w->edges;
  berth_i_pool scratch = berth_i_pool_empty(w->ctx);
  int32_t *writer = berth_i_pool_alloc(&scratch, (size_t)w->file_ids.n, sizeof *writer);
  uint8_t *child = berth_i_pool_zalloc(&scratch, (size_t)w->n_tasks, 1); /* 1: has a parent */
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t f = 0; f < w->file_ids.n; f++) writer[f] = BERTH_NONE;
  for (size_t i = 0; i < e->n; i++) child[e->at[i].dst] = 1;
  /* from the last task, so that the first writer of a file is the one that stays */
  for (int32_t k = w->n_tasks - 1; k >= 0; k--)
    for (int32_t f = w->out.at[k]; f < w->out.at[k + 1]; f++) writer[w->out.file[f]] = k;
  for (int32_t k = 0; k < w->n_tasks; k++) {
    for (int32_t i = w->in.at[k]; !child[k] && i < w->in.at[k + 1] && st == BERTH_OK; i++) {
      int32_t from = writer[w->in.file[i]];
      if (from != BERTH_NONE && from != k)
        st = berth_i_edges_add(w->ctx, e, (berth_i_edge){ from, k, 0, 0, w->task[k].origin });
    }
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

BERTH_I_SORT(sort_by_ends, berth_i_edge, BERTH_I_UP(src) BERTH_I_UP(dst))

/* A dependency is listed at either end or at both. */
static void sort_and_merge(berth_i_edges *e) {
  size_t n = 0;
  sort_by_ends(e->at, e->n);
  for (size_t i = 0; i < e->n; i++)
    if (n == 0 || sort_by_ends_compare(&e->at[n - 1], &e->at[i]) != 0) e->at[n++] = e->at[i];
  e->n = n;
}

/* Sum of the sizes of the files in both lists; a file listed twice counts once. @param mark [files]
 * the number of the edge, counted from 1, that has seen the file as written by its source */
static double bytes_between(const berth_i_wf *w, const berth_i_edge *e, int32_t number,
                            int32_t *mark) {
  double sum = 0;
  for (int32_t i = w->out.at[e->src]; i < w->out.at[e->src + 1]; i++) mark[w->out.file[i]] = number;
  for (int32_t i = w->in.at[e->dst]; i < w->in.at[e->dst + 1]; i++) {
    if (mark[w->in.file[i]] != number) continue;
    mark[w->in.file[i]] = 0;
    sum += w->size[w->in.file[i]];
  }
  return sum;
}

/* Files lie on disks: they take no memory of a device. */
static berth_status add_tensors(berth_i_wf *w, const berth_i_edges *e) {
  size_t files = (size_t)w->file_ids.n;
  int32_t id, *mark = berth_i_zalloc(w->ctx, files, sizeof *mark);
  berth_status st = mark ? BERTH_OK : berth_i_nomem(w->ctx);
  for (size_t i = 0; i < e->n && st == BERTH_OK; i++) {
    berth_tensor t = { e->at[i].src, bytes_between(w, &e->at[i], (int32_t)i + 1, mark), 0, 0 };
    st = berth_i_blame(w->doc, e->at[i].origin, berth_graph_builder_add_tensor(w->b, &t, &id));
    if (st == BERTH_OK) st = berth_graph_builder_add_consumer(w->b, id, e->at[i].dst);
  }
  berth_i_free(w->ctx, mark, files, sizeof *mark);
  return st;
}

berth_status berth_i_wf_connect(berth_i_wf *w) {
  berth_status st = read_declared(w);
  if (st == BERTH_OK) st = infer(w);
  sort_and_merge(&w->edges);
  if (st == BERTH_OK && w->edges.n >= INT32_MAX) st = berth_i_nomem(w->ctx);
  return st == BERTH_OK ? add_tensors(w, &w->edges) : st;
}
