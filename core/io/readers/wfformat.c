/* WfFormat, the records of WfCommons: tasks with recorded times, the files they write and read, the
 * machines they ran on (docs/formats.md, "wfformat").
 *
 * Versions up to 1.4 keep all of a task in one object of workflow.tasks, up to 1.2 workflow.jobs;
 * later versions have the structure in workflow.specification and the times in workflow.execution
 * ("parted"). Order of reading: machines, whose clocks scale the times; tasks; times; files;
 * dependencies. */
#include "io/formats_internal.h"
#include "wfformat_internal.h"

static void release(berth_i_wf *w) {
  berth_i_names_release(w->ctx, &w->task_ids);
  berth_i_names_release(w->ctx, &w->task_names);
  berth_i_names_release(w->ctx, &w->machine_ids);
  berth_i_names_release(w->ctx, &w->file_ids);
  berth_i_edges_release(w->ctx, &w->edges);
  berth_i_pool_free(&w->pool);
  berth_topology_builder_release(w->tb);
  berth_graph_builder_release(w->b);
}

/* ---- parts ---- */

/* Other versions may mean other things by the same members: refused. */
static berth_status check_version(berth_i_wf *w, berth_i_value root, berth_i_value v) {
  static const char *const known[] = { "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6" };
  const char *version = "";
  berth_status st = berth_i_need(w->doc, root, v, "schemaVersion");
  if (st == BERTH_OK) st = berth_i_get_text(w->doc, v, &version);
  if (st != BERTH_OK) return st;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (strcmp(version, known[k]) == 0) {
      w->size_unit = k < 3 ? 1e3 : 1;
      return BERTH_OK;
    }
  return berth_i_json_fail(w->doc, v, "is none of 1.0 to 1.6, which are read");
}

/* One list serves both: tasks and their times. Up to 1.2 its name is "jobs". */
static berth_status old_parts(berth_i_wf *w, berth_i_value workflow) {
  static const char *const keys[] = { "tasks", "machines", "jobs" };
  berth_i_value f[3];
  berth_status st = berth_i_fields(w->doc, workflow, keys, 3, 0, false, f);
  if (st == BERTH_OK && !f[2]) st = berth_i_need(w->doc, workflow, f[0], "tasks");
  if (st != BERTH_OK) return st;
  if (f[0] && f[2]) return berth_i_json_fail(w->doc, f[2], "is given beside \"tasks\"");
  w->tasks = w->times = f[0] ? f[0] : f[2];
  w->machines = f[1];
  return BERTH_OK;
}

/* The schema demands both halves. */
static berth_status new_parts(berth_i_wf *w, berth_i_value workflow,
                              berth_i_value specification,
                              berth_i_value execution) {
  static const char *const spec_keys[] = { "tasks", "files" };
  static const char *const exec_keys[] = { "tasks", "machines" };
  berth_i_value s[2], e[2];
  berth_status st = berth_i_need(w->doc, workflow, execution, "execution");
  if (st == BERTH_OK) st = berth_i_fields(w->doc, specification, spec_keys, 2, 1, false, s);
  if (st == BERTH_OK) st = berth_i_fields(w->doc, execution, exec_keys, 2, 1, false, e);
  if (st != BERTH_OK) return st;
  w->parted = true;
  w->tasks = s[0];
  w->files = s[1];
  w->times = e[0];
  w->machines = e[1];
  return BERTH_OK;
}

static berth_status read_parts(berth_i_wf *w) {
  static const char *const keys[] = { "name", "schemaVersion", "workflow" };
  static const char *const parts[] = { "specification", "execution" };
  berth_i_value f[3], p[2], root = berth_i_json_root(w->doc);
  berth_status st = berth_i_fields(w->doc, root, keys, 3, 0, false, f);
  if (st == BERTH_OK) st = berth_i_get_text(w->doc, f[0], &w->name);
  if (st == BERTH_OK) st = check_version(w, root, f[1]);
  if (st == BERTH_OK) st = berth_i_need(w->doc, root, f[2], "workflow");
  if (st == BERTH_OK) st = berth_i_fields(w->doc, f[2], parts, 2, 0, false, p);
  if (st != BERTH_OK) return st;
  return p[0] ? new_parts(w, f[2], p[0], p[1]) : old_parts(w, f[2]);
}

/* ---- machines ---- */

/* In bytes, or, up to 1.3, in "memory" by the thousand. */
static berth_status get_memory(const berth_i_wf *w, berth_i_value bytes,
                               berth_i_value kilobytes, double *out) {
  double kb = 0;
  if (bytes || !kilobytes) return berth_i_get_amount(w->doc, bytes, out);
  berth_status st;
  if ((st = berth_i_get_amount(w->doc, kilobytes, &kb)) == BERTH_OK) *out = kb * 1e3;
  return st;
}

/* 1.4 and older write "speed", in MHz, too. */
static berth_status get_clock(const berth_i_wf *w, berth_i_value cpu, double *mhz) {
  static const char *const keys[] = { "speedInMHz", "speed" };
  if (!cpu) return BERTH_OK;
  berth_i_value f[2];
  berth_status st;
  if ((st = berth_i_fields(w->doc, cpu, keys, 2, 0, false, f)) != BERTH_OK) return st;
  berth_i_value v = f[0] ? f[0] : f[1];
  if (!v) return BERTH_OK;
  if ((st = berth_i_get_amount(w->doc, v, mhz)) != BERTH_OK) return st;
  return *mhz > 0 ? BERTH_OK : berth_i_json_fail(w->doc, v, "is not positive");
}

/* The first clock given is speed 1; machines without one have it too. */
static double speed_of(const berth_i_wf *w, double mhz) {
  return mhz > 0 && w->clock > 0 ? mhz / w->clock : 1;
}

/* The clock of the first machine that has one is the unit of speed. */
static berth_status read_machine(void *ud, berth_i_value v, int32_t machine) {
  static const char *const keys[] = { "nodeName", "memoryInBytes", "memory", "cpu" };
  berth_i_wf *w = ud;
  berth_device d = berth_device_default();
  double mhz = 0;
  berth_i_value f[4];
  berth_status st = berth_i_fields(w->doc, v, keys, 4, 1, false, f);
  if (st == BERTH_OK) st = berth_i_add_id(w->doc, f[0], "machine", &w->machine_ids);
  if (st == BERTH_OK) st = get_memory(w, f[1], f[2], &d.memory);
  if (st == BERTH_OK) st = get_clock(w, f[3], &mhz);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(&w->pool, w->machine_mhz, w->mhz_cap, (size_t)machine + 1);
  if (st != BERTH_OK) return st;
  if (w->clock == 0) w->clock = mhz;
  w->machine_mhz[machine] = mhz;
  d.name = w->machine_ids.text[machine];
  d.machine = machine;
  d.speed = speed_of(w, mhz);
  return berth_i_blame(w->doc, v, berth_topology_builder_add_device(w->tb, &d, NULL, NULL));
}

/* Around one switch: a record has no network. */
static berth_status join_machines(const berth_i_wf *w) {
  berth_link link = { w->bandwidth, 0 };
  if (w->machine_ids.n < 2) return BERTH_OK;
  int32_t hub;
  berth_status st = berth_topology_builder_add_switch(w->tb, "network", &hub);
  for (int32_t k = 0; k < w->machine_ids.n && st == BERTH_OK; k++)
    st = berth_topology_builder_add_duplex(w->tb, k, hub, &link, NULL);
  return st;
}

/* A record without machines has no topology. */
static berth_status read_topology(berth_i_wf *w, berth_topology **out) {
  berth_i_value v;
  int32_t n;
  berth_status st = berth_i_get_array(w->doc, w->machines, &v, &n);
  if (st != BERTH_OK || n == 0) return st;
  if ((st = berth_topology_builder_new(w->ctx, &w->tb)) != BERTH_OK) return st;
  if ((st = berth_topology_builder_name(w->tb, w->name)) != BERTH_OK) return st;
  if ((st = berth_i_each(w->doc, w->machines, read_machine, w)) != BERTH_OK) return st;
  if ((st = join_machines(w)) != BERTH_OK) return st;
  return berth_i_blame(w->doc, w->machines, berth_topology_builder_finish(w->tb, out));
}

/* ---- tasks ---- */

/* Names of tasks need not be unique; one that is not cannot be referred to. */
static berth_status note_name(berth_i_wf *w, const char *name, int32_t task) {
  int32_t id, before = w->task_names.n;
  berth_status st = berth_i_names_add(w->ctx, &w->task_names, name, &id);
  if (st != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&w->pool, w->named, w->named_cap, (size_t)w->task_names.n);
  if (st == BERTH_OK) w->named[id] = id == before ? task : BERTH_I_WF_MANY;
  return st;
}

/* Up to 1.4 tasks are referred to by their names, and may have an id besides. */
static berth_status add_task(void *ud, berth_i_value v, int32_t task) {
  static const char *const keys[] = { "id", "name" };
  berth_i_wf *w = ud;
  berth_i_wf_task *t = &w->task[task];
  const char *name = "";
  berth_i_value f[2];
  berth_status st = berth_i_fields(w->doc, v, keys, 2, w->parted, false, f);
  if (st == BERTH_OK && !f[0]) st = berth_i_need(w->doc, v, f[1], "name");
  if (st == BERTH_OK) st = berth_i_add_id(w->doc, f[0] ? f[0] : f[1], "task", &w->task_ids);
  if (st == BERTH_OK) st = berth_i_get_text(w->doc, f[1], &name);
  if (st == BERTH_OK && !w->parted && *name) st = note_name(w, name, task);
  if (st != BERTH_OK) return st;
  t->origin = v;
  t->name = w->parted || !*name ? w->task_ids.text[task] : name;
  t->seconds = -1;
  return BERTH_OK;
}

/* Times come later: seconds -1 marks the tasks without. */
static berth_status read_tasks(berth_i_wf *w) {
  berth_i_value v;
  int32_t n;
  berth_status st = berth_i_get_array(w->doc, w->tasks, &v, &n);
  if (st != BERTH_OK) return st;
  if (n == 0) return berth_i_json_fail(w->doc, w->tasks, "is empty");
  if (!(w->task = berth_i_pool_zalloc(&w->pool, (size_t)n, sizeof *w->task)))
    return berth_i_pool_status(&w->pool);
  w->n_tasks = n;
  return berth_i_each(w->doc, w->tasks, add_task, w);
}

/* ---- times ---- */

/* Of several machines the first counts. A machine that the record does not describe is an error,
 * unless it describes none. */
static berth_status find_machine(const berth_i_wf *w, berth_i_value machine,
                                 berth_i_value machines, int32_t *out) {
  berth_i_value v = machine;
  int32_t n;
  berth_status st = machines ? berth_i_get_array(w->doc, machines, &v, &n) : BERTH_OK;
  *out = BERTH_NONE;
  if (st != BERTH_OK || !v || !w->machine_ids.n) return st;
  return berth_i_find_id(w->doc, v, "machine", &w->machine_ids, out);
}

/* What it took where it ran, times the speed there: the time at speed 1. */
static berth_status read_time(berth_i_wf *w, berth_i_value v, int32_t task) {
  static const char *const keys[] = { "runtimeInSeconds", "runtime",       "machine",
                                      "machines",         "memoryInBytes", "memory" };
  berth_i_wf_task *t = &w->task[task];
  int32_t machine = BERTH_NONE;
  berth_i_value f[6];
  berth_status st = berth_i_fields(w->doc, v, keys, 6, 0, false, f);
  if (st == BERTH_OK && !f[1]) st = berth_i_need(w->doc, v, f[0], "runtimeInSeconds");
  if (st != BERTH_OK) return st;
  /* seconds is -1 until the task has a time */
  if (t->seconds >= 0) return berth_i_json_fail(w->doc, v, "is a second time of its task");
  if ((st = berth_i_get_amount(w->doc, f[0] ? f[0] : f[1], &t->seconds)) != BERTH_OK) return st;
  if ((st = find_machine(w, f[2], f[3], &machine)) != BERTH_OK) return st;
  if (machine != BERTH_NONE) t->seconds *= speed_of(w, w->machine_mhz[machine]);
  if (!isfinite(t->seconds)) return berth_i_json_fail(w->doc, v, "has too long a time");
  return get_memory(w, f[4], f[5], &t->workspace);
}

/* Up to 1.4 the times are members of the tasks themselves, in the same order. */
static berth_status read_task_time(void *ud, berth_i_value v, int32_t i) {
  static const char *const keys[] = { "id" };
  berth_i_wf *w = ud;
  berth_i_value f[1];
  if (!w->parted) return read_time(w, v, i);
  berth_status st = berth_i_fields(w->doc, v, keys, 1, 1, false, f);
  if (st == BERTH_OK) st = berth_i_find_id(w->doc, f[0], "task", &w->task_ids, &i);
  return st == BERTH_OK ? read_time(w, v, i) : st;
}

static berth_status read_times(berth_i_wf *w) {
  berth_status st = berth_i_each(w->doc, w->times, read_task_time, w);
  for (int32_t k = 0; k < w->n_tasks && st == BERTH_OK; k++)
    if (w->task[k].seconds < 0)
      st = berth_i_json_fail(w->doc, w->task[k].origin,
                             "has no time: it is not among the tasks of \"execution\"");
  return st;
}

/* ---- the graph ---- */

/* The task's own place in the file is named if the graph refuses the op. */
static berth_status add_ops(berth_i_wf *w) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < w->n_tasks && st == BERTH_OK; k++) {
    berth_op op = berth_op_default();
    op.name = w->task[k].name;
    op.seconds = &w->task[k].seconds;
    op.workspace_bytes = w->task[k].workspace;
    st = berth_i_blame(w->doc, w->task[k].origin, berth_graph_builder_add_op(w->b, &op, NULL));
  }
  return st;
}

/* The builder comes last, when all parts are known to be consistent. */
static berth_status read_graph(berth_i_wf *w, berth_graph **out) {
  berth_status st = read_tasks(w);
  if (st == BERTH_OK) st = read_times(w);
  if (st == BERTH_OK) st = berth_i_wf_read_files(w);
  if (st == BERTH_OK) st = berth_graph_builder_new(w->ctx, &w->b);
  if (st == BERTH_OK) st = berth_graph_builder_name(w->b, w->name);
  if (st == BERTH_OK) st = add_ops(w);
  if (st == BERTH_OK) st = berth_i_wf_connect(w);
  return st == BERTH_OK ? berth_i_blame(w->doc, w->tasks, berth_graph_builder_finish(w->b, out))
                        : st;
}

static berth_status read_wfformat(const berth_i_source *src, const berth_i_json *doc,
                                  berth_bundle *out) {
  berth_i_wf w = { .pool = berth_i_pool_empty(src->ctx), .doc = doc, .ctx = src->ctx, .name = "",
                 .bandwidth = src->opts.file_bandwidth };
  berth_status st = read_parts(&w);
  if (st == BERTH_OK) st = read_topology(&w, &out->topology);
  if (st == BERTH_OK) st = read_graph(&w, &out->graph);
  release(&w);
  return st == BERTH_EINVAL ? berth_i_blame_file(src->ctx, src->name, st) : st;
}

/* Other formats may name the workflow that they hold. */
static berth_i_match match_wfformat(berth_i_value root) {
  berth_i_value v = berth_i_json_get(root, "workflow");
  if (!v) return BERTH_I_MATCH_NONE;
  if (berth_i_json_get(v, "tasks") || berth_i_json_get(v, "jobs")
      || berth_i_json_get(v, "specification") || berth_i_json_get(v, "execution")) {
    return BERTH_I_MATCH_MARK;
  }
  return berth_i_match_if(!berth_i_json_get(root, "tasks"), BERTH_I_MATCH_SHAPE);
}

const berth_i_format berth_i_format_wfformat = {
  .about = { .choice = { "wfformat", "Records of WfCommons, 1.0 to 1.6, with their machines." },
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_TOPOLOGY, .reads = "file_bandwidth" },
  .match_json = match_wfformat, .read_json = read_wfformat
};
