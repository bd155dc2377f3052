/* Life of an executor: options and checks, arrays, threads. One thread a device and copiers for the
 * channels, started once and idle between runs; the executor owns all buffers. */
#include "exec_internal.h"
#include "sim/plan_internal.h"
#include <signal.h>

/* ---- options ---- */

berth_exec_options berth_exec_default(void) {
  berth_exec_options o = { 0 };
  o.mode = BERTH_EXEC_COMPUTE;
  o.links = BERTH_LINKS_DUPLEX;
  o.dispatch = BERTH_DISPATCH_FIFO;
  o.seconds = 0.1;
  o.duty = 0.1;
  o.flops = 2e10;
  o.stream = 1e9;
  o.memory = 64 << 20;
  o.check = 1;
  return o;
}

static void set_defaults(void *out) { *(berth_exec_options *)out = berth_exec_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_exec_options, name, kind)

static const berth_choice *const modes[] = {
  BERTH_I_CHOICE("compute", "Ops run kernels sized by their times."),
  BERTH_I_CHOICE("paced", "Ops last as long as in the cost model; a share `duty` of it is "
                          "computed."),
  NULL
};

const berth_option_table *berth_exec_option_table(void) {
  static const berth_option options[] = {
    { FIELD(mode, CHOICE), .choices = modes, .text = "what an op does" },
    { FIELD(links, CHOICE), .choices = berth_i_link_choices,
      .text = "who shares what while tensors cross; route and fair are refused" },
    { FIELD(dispatch, CHOICE), .choices = berth_i_dispatch_choices,
      .text = "which of the ready ops an idle device runs next; planned and static are refused" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .above = 1,
      .text = "nominal time of all ops, one after the other" },
    { FIELD(scale, NUMBER), .fallback = "by seconds",
      .text = "real seconds for a second of the cost model" },
    { FIELD(duty, NUMBER), .high = 1, .text = "paced: share of its time that a device computes" },
    { FIELD(flops, QUANTITY), .unit = BERTH_FLOP_PER_SECOND, .above = 1,
      .text = "rate by which products are sized" },
    { FIELD(stream, NUMBER), .above = 1,
      .text = "rate by which other kernels are sized, elements/s" },
    { FIELD(memory, QUANTITY), .unit = BERTH_BYTES, .above = 1,
      .text = "bytes that all tensors take together at most" },
    { FIELD(check, FLAG), .text = "compares all results with those of a run on one thread" },
    { FIELD(seed, SEED), .text = "of the graph's inputs and of dispatch random" },
    { .key = NULL }
  };
  static const berth_option_table table = { "exec", options, sizeof(berth_exec_options),
                                            set_defaults };
  return &table;
}

static berth_status check_choices(berth_ctx *ctx, const berth_exec_options *o) {
  switch (o->links) {
  case BERTH_LINKS_FREE:
  case BERTH_LINKS_CHANNEL:
  case BERTH_LINKS_DUPLEX:
  case BERTH_LINKS_PAIR: break;
  default:
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "links: the executor has free, channel, duplex and pair");
  }
  const char *needs = berth_i_dispatch_of(o->dispatch)->needs;
  if (!needs) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                      "dispatch %s requires option %s, which the executor does not have",
                      berth_dispatch_choices()[o->dispatch]->name, needs);
}

/* One that takes no time is an op like any other: beside the device's work or not is the same. */
static bool takes_time_beside(const berth_cost *cost, int32_t op) {
  if (!(berth_i_flags(cost->g, op) & BERTH_OP_COMMUNICATION)) return false;
  for (int32_t c = 0; c < cost->n_classes; c++) {
    double seconds = cost->op[(size_t)op * (size_t)cost->n_classes + (size_t)c];
    if (seconds > 0 && !isinf(seconds)) return true;
  }
  return false;
}

static berth_status check_graph(berth_ctx *ctx, const berth_cost *cost) {
  const berth_graph *g = cost->g;
  if (g->n_collectives > 0)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "%d collectives in the graph: expand them first",
                        (int)g->n_collectives);
  char label[80];
  for (int32_t op = 0; op < g->n_ops; op++) {
    if (takes_time_beside(cost, op))
      return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                          "%s is a communication op that takes time: the executor has none",
                          berth_i_op_label(g, op, label, sizeof label));
  }
  return BERTH_OK;
}

/* ---- arrays ---- */

static int32_t n_threads(const berth_executor *x) { return x->n_devices + x->n_copiers; }

static berth_status alloc_arrays(berth_executor *x) {
  size_t n = (size_t)x->g->n_ops, m = (size_t)x->g->n_edges, t = (size_t)x->g->n_tensors;
  size_t d = (size_t)x->n_devices;
  /* of the graph */
  x->kernel = berth_i_pool_zalloc(&x->pool, n, sizeof *x->kernel);
  x->length = berth_i_pool_zalloc(&x->pool, t, sizeof *x->length);
  x->in_edge = berth_i_pool_zalloc(&x->pool, m, sizeof *x->in_edge);
  x->edge_tensor = berth_i_pool_zalloc(&x->pool, m, sizeof *x->edge_tensor);
  /* of a placement */
  x->home = berth_i_pool_zalloc(&x->pool, t, sizeof *x->home);
  x->own = berth_i_pool_zalloc(&x->pool, n, sizeof *x->own);
  x->lead = berth_i_pool_zalloc(&x->pool, m, sizeof *x->lead);
  x->copy_at = berth_i_pool_zalloc(&x->pool, m, sizeof *x->copy_at);
  /* of a run */
  x->ready = berth_i_pool_zalloc(&x->pool, n, sizeof *x->ready);
  x->missing = berth_i_pool_zalloc(&x->pool, n, sizeof *x->missing);
  x->turns = berth_i_pool_zalloc(&x->pool, n, sizeof *x->turns);
  x->since = berth_i_pool_zalloc(&x->pool, n, sizeof *x->since);
  x->start = berth_i_pool_zalloc(&x->pool, n, sizeof *x->start);
  x->finish = berth_i_pool_zalloc(&x->pool, n, sizeof *x->finish);
  x->copy = berth_i_pool_zalloc(&x->pool, m, sizeof *x->copy);
  x->waiting = berth_i_pool_zalloc(&x->pool, m, sizeof *x->waiting);
  x->channel = berth_i_pool_zalloc(&x->pool, x->n_channels, sizeof *x->channel);
  /* of devices and threads */
  x->arena = berth_i_pool_zalloc(&x->pool, d, sizeof *x->arena);
  x->dev = berth_i_pool_zalloc(&x->pool, d, sizeof *x->dev);
  x->thread = berth_i_pool_zalloc(&x->pool, (size_t)n_threads(x), sizeof *x->thread);
  return berth_i_pool_status(&x->pool);
}

/* ---- threads ---- */

static int start_thread(berth_executor *x, int32_t k, berth_i_spawn_fn spawn) {
  berth_i_exec_thread *t = &x->thread[k];
  t->x = x;
  t->number = k;
  t->first = BERTH_NONE;
  int failed;
  if ((failed = berth_i_exec_cond_init(&t->wake)) != 0) return failed;
  failed = spawn(&t->id, NULL,
                 k < x->n_devices ? berth_i_exec_device_main : berth_i_exec_copier_main, t);
  if (failed) pthread_cond_destroy(&t->wake);
  return failed;
}

/* They leave signals to the other threads of the program. */
static berth_status start_threads(berth_executor *x, berth_i_spawn_fn spawn) {
  sigset_t all;
  int failed = 0;
  sigfillset(&all);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (x->n_started < n_threads(x) && !failed) {
    failed = start_thread(x, x->n_started, spawn);
    x->n_started += !failed;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed) return BERTH_OK;
  return berth_i_fail(x->ctx, BERTH_EUNSUPPORTED, "%d of %d threads can be had", (int)x->n_started,
                      (int)n_threads(x));
}

static void join_threads(berth_executor *x) {
  pthread_mutex_lock(&x->lock);
  x->quit = true;
  for (int32_t k = 0; k < x->n_started; k++) pthread_cond_signal(&x->thread[k].wake);
  pthread_mutex_unlock(&x->lock);
  for (int32_t k = 0; k < x->n_started; k++) {
    pthread_join(x->thread[k].id, NULL);
    pthread_cond_destroy(&x->thread[k].wake);
  }
}

/* ---- life ---- */

static berth_status fill(berth_executor *x, berth_i_spawn_fn spawn) {
  berth_sim_options o = berth_sim_default(NULL);
  o.memory = BERTH_MEMORY_NONE;
  berth_status st;
  if ((st = berth_sim_new(x->cost, &o, &x->simulator)) != BERTH_OK) return st;
  if ((st = alloc_arrays(x)) != BERTH_OK) return st;
  if ((st = berth_i_exec_plan(x)) != BERTH_OK) return st;
  /* operands have as many places as the op with most inputs or outputs, which the plan finds */
  for (int32_t i = 0; i < x->n_devices; i++)
    if ((st = berth_i_operands_new(x, &x->pool, &x->dev[i].args)) != BERTH_OK) return st;
  return start_threads(x, spawn);
}

berth_status berth_i_executor_new(berth_cost *cost, const berth_exec_options *opts,
                                  berth_i_spawn_fn spawn, berth_executor **out) {
  berth_exec_options o = opts ? *opts : berth_exec_default();
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = berth_options_check(ctx, berth_exec_option_table(), &o)) != BERTH_OK) return st;
  if ((st = check_choices(ctx, &o)) != BERTH_OK) return st;
  if ((st = check_graph(ctx, cost)) != BERTH_OK) return st;
  berth_executor *x;
  if (!(x = berth_i_pool_object(ctx, sizeof *x))) return berth_i_nomem(ctx);
  x->ctx = ctx;
  x->cost = cost;
  berth_cost_retain(cost);
  x->g = cost->g;
  x->o = o;
  x->n_devices = cost->n_devices;
  x->most_in = x->most_out = 1;
  bool pairs = o.links == BERTH_LINKS_PAIR;
  size_t d = (size_t)x->n_devices;
  x->n_copiers = d == 1 ? 0 : pairs ? x->n_devices * (x->n_devices - 1) : x->n_devices;
  x->n_channels = pairs ? d * d : 2 * d;
  x->corrupt = BERTH_NONE;
  atomic_init(&x->stop, 0);
  pthread_mutex_init(&x->lock, NULL);
  berth_i_exec_cond_init(&x->news);
  if ((st = fill(x, spawn)) == BERTH_OK) *out = x;
  else berth_executor_release(x);
  return st;
}

berth_status berth_executor_new(berth_cost *cost, const berth_exec_options *opts,
                                berth_executor **out) {
  if (!cost || !out) return BERTH_EINVAL;
  return berth_i_executor_new(cost, opts, pthread_create, out);
}

void berth_executor_release(berth_executor *x) {
  if (!x) return;
  berth_cost *cost = x->cost;
  join_threads(x);
  pthread_cond_destroy(&x->news);
  pthread_mutex_destroy(&x->lock);
  for (int32_t i = 0; x->arena && i < x->n_devices; i++)
    berth_i_free(x->ctx, x->arena[i].block, x->arena[i].size, 1);
  berth_sim_release(x->simulator);
  berth_i_pool_free(&x->pool);
  berth_cost_release(cost); /* last: it may hold the context */
}

double berth_executor_scale(const berth_executor *x) { return x->scale; }
double berth_executor_byte_scale(const berth_executor *x) { return x->byte_scale; }
int32_t berth_executor_threads(const berth_executor *x) { return x->n_started; }

int32_t berth_executor_kernels(const berth_executor *x, int32_t *out) {
  for (int32_t op = 0; op < x->g->n_ops; op++) out[op] = x->kernel[op].number;
  return x->n_kernels;
}
