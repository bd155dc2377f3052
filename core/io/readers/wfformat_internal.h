/* What the two files of the WfFormat reader share: the record so far. Owned by wfformat.c, which
 * releases it. */
#ifndef BERTH_WFFORMAT_INTERNAL_H
#define BERTH_WFFORMAT_INTERNAL_H

#include "io/io_internal.h"

typedef struct berth_i_wf_task {
  const char *name;
  double seconds;   /* at speed 1; negative: not yet known */
  double workspace; /* bytes */
  berth_i_value origin;
} berth_i_wf_task;

/* Files by task: those of task t are at[t]..at[t + 1]. */
typedef struct berth_i_wf_list {
  int32_t *at, *file;
  size_t cap;
} berth_i_wf_list;

enum { BERTH_I_WF_MANY = -2 };

typedef struct berth_i_wf {
  berth_i_pool pool;
  const berth_i_json *doc;
  berth_ctx *ctx;
  const char *name;
  double bandwidth;
  double size_unit;      /* bytes of 1 in "size" */
  bool parted;           /* structure and times are apart */
  berth_i_value tasks, times, files, machines;
  berth_i_names task_ids, task_names, machine_ids, file_ids;
  int32_t *named;        /* [task_names] the task; BERTH_I_WF_MANY: it names several */
  size_t named_cap;
  int32_t n_tasks;
  berth_i_wf_task *task; /* [n_tasks] */
  double *machine_mhz;   /* [machine_ids]; 0: not given */
  size_t mhz_cap;
  double clock;          /* MHz of speed 1; 0: none is given */
  double *size;          /* [file_ids] bytes */
  size_t size_cap;
  berth_i_wf_list in, out;
  int32_t task_at;       /* whose files or dependencies are read */
  bool parents;          /* dependencies: its parents, else its children */
  berth_i_edges edges;   /* dependencies */
  berth_topology_builder *tb;
  berth_graph_builder *b;
} berth_i_wf;

/** Files, and who reads and writes them. */
berth_status berth_i_wf_read_files(berth_i_wf *w);
/** Dependencies, each with the bytes of the files that one task writes and the other reads. */
berth_status berth_i_wf_connect(berth_i_wf *w);

#endif
