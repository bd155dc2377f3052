/* Timelines in the Chrome trace format (JSON; Perfetto and chrome://tracing read it). A device is a
 * process; its rows are compute, send, receive and collective. Slices of one row must not overlap,
 * or viewers nest them, so a row is split into as many lanes as run at the same time. Times are
 * us. */
#include "base/heap_internal.h"
#include "base/sort_internal.h"
#include "cost/cost_internal.h"
#include "io/formats_internal.h"

#include <stdio.h>

enum { ROW_COMPUTE, ROW_SEND, ROW_RECEIVE, ROW_COLLECTIVE, N_ROWS };
static const char *const ROW_NAMES[] = { "compute", "send", "receive", "collective" };

typedef struct trace {
  berth_i_pool pool;
  berth_ctx *ctx;
  const berth_graph *g;
  const berth_topology *t;
  const berth_result *r;             /* NULL: of the executor */
  double makespan;                   /* s */
  const double *start, *finish;      /* [ops] s */
  const int32_t *device;             /* [ops] */
  const berth_transfer *transfer;    /* [n_transfers] */
  int32_t n_transfers;
  const berth_collective_run *runs;  /* [collectives] */
  int32_t n_participants;            /* devices of all collectives together */
  int32_t *collective_lane;          /* [n_participants] */
  int32_t *op_lane;                  /* [ops] */
  int32_t *send_lane, *receive_lane; /* [n_transfers] */
  int32_t *lanes[N_ROWS];            /* [devices] number of lanes of each row */
  berth_i_out o;
  bool any;                          /* an event was written: the next one needs a comma */
} trace;

/* ---- lanes ---- */

/* Slices of one row of all devices, in order of start. */
typedef struct trace_slice {
  double start, finish;
  int32_t device, id;
} trace_slice;

BERTH_I_SORT(sort_slices, trace_slice,
             BERTH_I_UP(device) BERTH_I_UP(start) BERTH_I_UP(finish) BERTH_I_UP(id))

/* Interval partitioning: in order of start, each slice goes to the lane that has been free longest,
 * or to a new one; this needs no more lanes than slices overlap. O(n log n)
 * @param lane [ids] out @param lanes [devices] out: how many lanes each device needs */
static berth_status assign_lanes(berth_ctx *ctx, trace_slice *slice, size_t n, int32_t *lane,
                                 int32_t *lanes) {
  berth_i_heap ends; /* lanes of the present device, by the end of their last slice */
  berth_status st = berth_i_heap_init(ctx, &ends, (int32_t)n, n);
  if (st != BERTH_OK) return st;
  sort_slices(slice, n);
  for (size_t k = 0; k < n; k++) {
    int32_t *used = &lanes[slice[k].device];
    if (k == 0 || slice[k].device != slice[k - 1].device) berth_i_heap_clear(&ends);
    int32_t at = ends.n > 0 && ends.at[0].key <= slice[k].start ? ends.at[0].item : (*used)++;
    berth_i_heap_push(&ends, at, slice[k].finish);
    lane[slice[k].id] = at;
  }
  berth_i_heap_release(ctx, &ends);
  return BERTH_OK;
}

/* A slice on each of the devices that take part. */
static void slice_collectives(const trace *x, trace_slice *slice) {
  const int32_t *devices;
  int32_t at = 0;
  for (int32_t k = 0; k < x->g->n_collectives; k++) {
    int32_t n = berth_result_collective_devices(x->r, k, &devices);
    for (int32_t i = 0; i < n; i++, at++)
      slice[at] = (trace_slice){ x->runs[k].start, x->runs[k].finish, devices[i], at };
  }
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* One array of slices serves all rows: as long as the longest of them. */
static berth_status assign_all_lanes(trace *x) {
  size_t n = (size_t)larger(x->g->n_ops, larger(x->n_transfers, x->n_participants));
  trace_slice *slice = berth_i_alloc(x->ctx, n, sizeof *slice);
  if (!slice) return berth_i_nomem(x->ctx);
  for (int32_t k = 0; k < x->g->n_ops; k++)
    slice[k] = (trace_slice){ x->start[k], x->finish[k], x->device[k], k };
  berth_status st =
      assign_lanes(x->ctx, slice, (size_t)x->g->n_ops, x->op_lane, x->lanes[ROW_COMPUTE]);
  for (int32_t k = 0; k < x->n_transfers; k++)
    slice[k] = (trace_slice){ x->transfer[k].start, x->transfer[k].finish, x->transfer[k].src, k };
  if (st == BERTH_OK)
    st = assign_lanes(x->ctx, slice, (size_t)x->n_transfers, x->send_lane, x->lanes[ROW_SEND]);
  for (int32_t k = 0; k < x->n_transfers; k++)
    slice[k] = (trace_slice){ x->transfer[k].start, x->transfer[k].finish, x->transfer[k].dst, k };
  if (st == BERTH_OK)
    st =
        assign_lanes(x->ctx, slice, (size_t)x->n_transfers, x->receive_lane, x->lanes[ROW_RECEIVE]);
  slice_collectives(x, slice);
  if (st == BERTH_OK)
    st = assign_lanes(x->ctx, slice, (size_t)x->n_participants,
                      x->collective_lane, x->lanes[ROW_COLLECTIVE]);
  berth_i_free(x->ctx, slice, n, sizeof *slice);
  return st;
}

/* ---- events ---- */

/* Thread ids: lanes of all four rows, interleaved, so that they are unique without the lane
 * counts. */
static int thread_of(int row, int32_t lane) { return (int)lane * N_ROWS + row; }

static void put_number(trace *x, const char *key, double v) {
  berth_i_putf(&x->o, ", \"%s\": ", key);
  berth_i_put_number(&x->o, v);
}

/* pid: the device; tid: the row and lane. */
static void open_event(trace *x, const char *phase, const char *name, int32_t device, int thread) {
  berth_i_putf(&x->o,
               "%s{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d, \"name\": ", x->any ? ",\n" : "\n",
               phase, (int)device, thread);
  berth_i_put_string(&x->o, name);
  x->any = true;
}

static void put_metadata(trace *x, const char *what, int32_t device, int thread, const char *name) {
  open_event(x, "M", what, device, thread);
  berth_i_put(&x->o, ", \"args\": {\"name\": ");
  berth_i_put_string(&x->o, name);
  berth_i_put(&x->o, "}}");
}

static void put_sort_index(trace *x, const char *what, int32_t device, int thread, int index) {
  open_event(x, "M", what, device, thread);
  berth_i_putf(&x->o, ", \"args\": {\"sort_index\": %d}}", index);
}

/* Lane 0 has the row's name, further ones a number. sort_index keeps the order of rows in the
 * viewer. */
static void put_rows(trace *x, int32_t device) {
  char name[48];
  int index = 0;
  for (int row = 0; row < N_ROWS; row++) {
    for (int32_t lane = 0; lane < x->lanes[row][device]; lane++) {
      if (lane == 0) snprintf(name, sizeof name, "%s", ROW_NAMES[row]);
      else snprintf(name, sizeof name, "%s %d", ROW_NAMES[row], (int)lane + 1);
      put_metadata(x, "thread_name", device, thread_of(row, lane), name);
      put_sort_index(x, "thread_sort_index", device, thread_of(row, lane), index++);
    }
  }
}

static void put_device(trace *x, int32_t device) {
  const berth_device *d = &x->t->devices[device];
  char name[160];
  snprintf(name, sizeof name, *d->type ? "%.100s (%.40s)" : "%.100s", d->name, d->type);
  put_metadata(x, "process_name", device, 0, name);
  put_sort_index(x, "process_sort_index", device, 0, (int)device);
  put_rows(x, device);
}

/* The duration is the difference of the rounded ends, so that neighbours touch in the viewer. */
static void put_span(trace *x, double start, double finish) {
  put_number(x, "ts", start * 1e6);
  put_number(x, "dur", finish * 1e6 - start * 1e6);
}

/* Unnamed ops are called by their number. */
static void put_op(trace *x, int32_t v) {
  berth_op op;
  if (berth_graph_op(x->g, v, &op) != BERTH_OK) return;
  char label[80];
  if (!op.name || !*op.name) op.name = berth_i_op_label(x->g, v, label, sizeof label);
  open_event(x, "X", op.name, x->device[v], thread_of(ROW_COMPUTE, x->op_lane[v]));
  put_span(x, x->start[v], x->finish[v]);
  berth_i_put(&x->o, ", \"cat\": ");
  berth_i_put_string(&x->o, op.flags & BERTH_OP_BACKWARD ? "backward"
                            : op.flags & BERTH_OP_UPDATE ? "update"
                                                         : "forward");
  berth_i_putf(&x->o, ", \"args\": {\"op\": %d, \"kind\": ", (int)v);
  berth_i_put_string(&x->o, op.kind ? op.kind : "");
  put_number(x, "param_bytes", op.param_bytes);
  berth_i_put(&x->o, "}}");
}

/* A transfer is a slice on the sender's row and one on the receiver's. */
static void put_half(trace *x, int32_t k, int row, const char *name) {
  const berth_transfer *t = &x->transfer[k];
  open_event(x, "X", name, row == ROW_SEND ? t->src : t->dst,
             thread_of(row, (row == ROW_SEND ? x->send_lane : x->receive_lane)[k]));
  put_span(x, t->start, t->finish);
  berth_i_putf(&x->o, ", \"cat\": \"%s\", \"args\": {\"tensor\": %d, \"from\": ", ROW_NAMES[row],
               (int)t->tensor);
  berth_i_put_string(&x->o, x->t->devices[t->src].name);
  berth_i_put(&x->o, ", \"to\": ");
  berth_i_put_string(&x->o, x->t->devices[t->dst].name);
  put_number(x, "bytes", x->g->tensor_bytes[t->tensor]);
  berth_i_put(&x->o, "}}");
}

/* Flow events: "s" starts, "t" steps, "f" ends; "bp": "e" binds the end to the slice that encloses
 * it. */
static void put_arrow(trace *x, const char *phase, int32_t id, int32_t device, int thread,
                      double time) {
  open_event(x, phase, "transfer", device, thread);
  berth_i_putf(&x->o, ", \"cat\": \"transfer\", \"id\": %d", (int)id);
  put_number(x, "ts", time * 1e6);
  berth_i_put(&x->o, *phase == 'f' ? ", \"bp\": \"e\"}" : "}");
}

/* The consumer on the receiving device that starts first. */
static int32_t first_reader(const trace *x, const berth_transfer *t) {
  int32_t best = BERTH_NONE;
  for (int32_t e = x->g->use_at[t->tensor]; e < x->g->use_at[t->tensor + 1]; e++) {
    int32_t v = x->g->use[e];
    if (x->device[v] == t->dst && (best == BERTH_NONE || x->start[v] < x->start[best])) best = v;
  }
  return best;
}

/* Arrows lead from the producer through both ends of the transfer to the first reader. */
static void put_transfer(trace *x, int32_t k) {
  const berth_transfer *t = &x->transfer[k];
  int32_t from = x->g->producer[t->tensor], to = first_reader(x, t);
  char name[112], label[80];
  snprintf(name, sizeof name, "%s to %d", berth_i_op_label(x->g, from, label, sizeof label),
           (int)t->dst);
  put_half(x, k, ROW_SEND, name);
  put_half(x, k, ROW_RECEIVE, name);
  put_arrow(x, "s", k, t->src, thread_of(ROW_COMPUTE, x->op_lane[from]), x->start[from]);
  put_arrow(x, "t", k, t->src, thread_of(ROW_SEND, x->send_lane[k]), t->start);
  put_arrow(x, to == BERTH_NONE ? "f" : "t", k, t->dst, thread_of(ROW_RECEIVE, x->receive_lane[k]),
            t->start);
  if (to != BERTH_NONE)
    put_arrow(x, "f", k, t->dst, thread_of(ROW_COMPUTE, x->op_lane[to]), x->start[to]);
}

static void put_participant(trace *x, int32_t k, int32_t device, int32_t lane) {
  const berth_collective *c = &x->g->collectives[k];
  char name[48];
  snprintf(name, sizeof name, "%s %d", berth_i_collective_names[c->kind], (int)k);
  open_event(x, "X", name, device, thread_of(ROW_COLLECTIVE, lane));
  put_span(x, x->runs[k].start, x->runs[k].finish);
  berth_i_putf(&x->o,
               ", \"cat\": \"collective\", \"args\": {\"collective\": %d, \"algorithm\": \"%s\", "
               "\"devices\": %d",
               (int)k, berth_collective_algorithm_name(x->runs[k].algorithm),
               (int)x->runs[k].n_devices);
  put_number(x, "bytes", c->bytes);
  berth_i_put(&x->o, "}}");
}

static void put_collectives(trace *x) {
  const int32_t *devices;
  int32_t at = 0;
  for (int32_t k = 0; k < x->g->n_collectives; k++) {
    int32_t n = berth_result_collective_devices(x->r, k, &devices);
    for (int32_t i = 0; i < n; i++, at++) put_participant(x, k, devices[i], x->collective_lane[at]);
  }
}

/* Memory held, as a step function; the executor measures none. */
static void put_counter(trace *x, int32_t device) {
  const double *time, *bytes;
  int32_t n = x->r ? berth_result_memory(x->r, device, &time, &bytes) : 0;
  for (int32_t k = 0; k < n; k++) {
    open_event(x, "C", "memory", device, 0);
    put_number(x, "ts", time[k] * 1e6);
    berth_i_put(&x->o, ", \"args\": {\"bytes\": ");
    berth_i_put_number(&x->o, bytes[k]);
    berth_i_put(&x->o, "}}");
  }
}

static void put_events(trace *x) {
  berth_i_put(&x->o,
              "{\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"generator\": \"berth " BERTH_VERSION
              "\", \"graph\": ");
  berth_i_put_string(&x->o, berth_graph_name(x->g));
  put_number(x, "makespan_seconds", x->makespan);
  berth_i_put(&x->o, "},\n\"traceEvents\": [");
  for (int32_t k = 0; k < x->t->n_devices; k++) put_device(x, k);
  for (int32_t k = 0; k < x->g->n_ops; k++) put_op(x, k);
  for (int32_t k = 0; k < x->n_transfers; k++) put_transfer(x, k);
  put_collectives(x);
  for (int32_t k = 0; k < x->t->n_devices; k++) put_counter(x, k);
  berth_i_put(&x->o, "\n]}\n");
}

static berth_status alloc_lanes(trace *x) {
  size_t n = (size_t)x->n_transfers;
  x->op_lane = berth_i_pool_alloc(&x->pool, (size_t)x->g->n_ops, sizeof *x->op_lane);
  x->send_lane = berth_i_pool_alloc(&x->pool, n, sizeof *x->send_lane);
  x->receive_lane = berth_i_pool_alloc(&x->pool, n, sizeof *x->receive_lane);
  x->collective_lane = berth_i_pool_alloc(&x->pool, (size_t)x->n_participants,
                                          sizeof *x->collective_lane);
  for (int row = 0; row < N_ROWS; row++)
    x->lanes[row] = berth_i_pool_zalloc(&x->pool, (size_t)x->t->n_devices, sizeof *x->lanes[row]);
  return berth_i_pool_status(&x->pool);
}

static void count_participants(trace *x) {
  int32_t n = berth_result_collectives(x->r, &x->runs);
  for (int32_t k = 0; k < n; k++) x->n_participants += x->runs[k].n_devices;
}

static berth_status write_all(trace *x, berth_text *out) {
  x->pool = berth_i_pool_empty(x->ctx);
  berth_status st;
  if ((st = alloc_lanes(x)) != BERTH_OK || (st = assign_all_lanes(x)) != BERTH_OK) goto done;
  x->o = berth_i_out_open(x->ctx, out);
  put_events(x);
  st = berth_i_out_close(&x->o);
done:
  berth_i_pool_free(&x->pool);
  return st;
}

berth_status berth_write_trace(berth_result *r, berth_text *out) {
  if (!r) return BERTH_EINVAL;
  berth_cost *cost = berth_result_cost(r);
  trace x = { .ctx = cost->ctx,
              .g = cost->g,
              .t = cost->t,
              .r = r,
              .makespan = berth_result_makespan(r),
              .start = berth_result_start(r),
              .finish = berth_result_finish(r),
              .device = berth_result_device(r) };
  x.n_transfers = berth_result_transfers(r, &x.transfer);
  count_participants(&x);
  return write_all(&x, out);
}

berth_status berth_write_execution_trace(const berth_execution *r, berth_text *out) {
  if (!r) return BERTH_EINVAL;
  berth_cost *cost = berth_execution_cost(r);
  trace x = { .ctx = cost->ctx,
              .g = cost->g,
              .t = cost->t,
              .makespan = berth_execution_makespan(r),
              .start = berth_execution_start(r),
              .finish = berth_execution_finish(r),
              .device = berth_execution_device(r) };
  x.n_transfers = berth_execution_transfers(r, &x.transfer);
  return write_all(&x, out);
}

const berth_i_format berth_i_format_chrome = {
  .about = { .choice = { "chrome", "Timeline of a result, for Perfetto or chrome://tracing." },
             .saves = BERTH_HOLDS_TIMELINE }
};
