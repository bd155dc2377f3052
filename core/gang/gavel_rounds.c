/* Gavel's rounds: at each slot those are served first that have had the fewest rounds for their
 * shares, on the type where that is. Shares come from the linear program of gavel_lp.c, again when
 * jobs have come or gone. Rounds had are never reset, so a job that could not run when it was due
 * keeps its claim. O(jobs types log(jobs types)) a round and O(machines) a start. Source: Narayanan
 * et al., "Gavel", OSDI 2020, its round-based mechanism. */
#include "base/sort_internal.h"
#include "gang_internal.h"
#include <inttypes.h>

typedef struct candidate {
  double priority;
  int32_t job, type;
} candidate;

typedef struct gavel {
  int32_t types;
  berth_gavel_goal goal;
  int32_t *type;             /* [n_machines] of each machine */
  int32_t n_machines;
  double *throughput;        /* [n * types] work per s */
  double *priority;          /* [n] */
  double *alone, *arrival;   /* [n] s */
  double *share;             /* [n * types] */
  int32_t *rounds;           /* [n * types] had so far */
  int32_t *chosen;           /* [n] type of this round; BERTH_NONE */
  int32_t *on;               /* [n] type on which it runs */
  int32_t *gpus, *free;      /* [types] */
  candidate *list;           /* [n * types] */
  /* of those that are there */
  double *throughput_of, *priority_of, *left, *elapsed, *alone_of, *share_of;
  int32_t *gang_of;
  bool stale;                /* jobs have come or gone since the shares were found */
} gavel;

static gavel *of(const berth_gang *g) { return g->state; }

static size_t cells(const berth_gang *g) { return (size_t)g->n * (size_t)of(g)->types; }
static size_t cell(const berth_gang *g, int32_t job, int32_t type) {
  return (size_t)job * (size_t)of(g)->types + (size_t)type;
}

/* ---- life ---- */

static berth_status get_arrays(berth_gang *g) {
  gavel *v = of(g);
  size_t n = (size_t)g->n, types = (size_t)v->types, all = cells(g);
  v->type = berth_i_pool_alloc(&g->pool, (size_t)v->n_machines, sizeof *v->type);
  v->throughput = berth_i_pool_alloc(&g->pool, all, sizeof *v->throughput);
  v->priority = berth_i_pool_alloc(&g->pool, n, sizeof *v->priority);
  v->alone = berth_i_pool_alloc(&g->pool, n, sizeof *v->alone);
  v->arrival = berth_i_pool_alloc(&g->pool, n, sizeof *v->arrival);
  v->share = berth_i_pool_zalloc(&g->pool, all, sizeof *v->share);
  v->rounds = berth_i_pool_zalloc(&g->pool, all, sizeof *v->rounds);
  v->chosen = berth_i_pool_alloc(&g->pool, n, sizeof *v->chosen);
  v->on = berth_i_pool_alloc(&g->pool, n, sizeof *v->on);
  v->gpus = berth_i_pool_zalloc(&g->pool, types, sizeof *v->gpus);
  v->free = berth_i_pool_alloc(&g->pool, types, sizeof *v->free);
  v->list = berth_i_pool_alloc(&g->pool, all, sizeof *v->list);
  v->throughput_of = berth_i_pool_alloc(&g->pool, all, sizeof *v->throughput_of);
  v->priority_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->priority_of);
  v->left = berth_i_pool_alloc(&g->pool, n, sizeof *v->left);
  v->elapsed = berth_i_pool_alloc(&g->pool, n, sizeof *v->elapsed);
  v->alone_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->alone_of);
  v->share_of = berth_i_pool_alloc(&g->pool, all, sizeof *v->share_of);
  v->gang_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->gang_of);
  return berth_i_pool_status(&g->pool);
}

static berth_status expect(berth_ctx *ctx, const char *key, int64_t got, int64_t expected,
                           const char *per) {
  if (got == expected) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "option %s: expected %" PRId64 " numbers (one per %s), got %" PRId64, key,
                      expected, per, got);
}

static berth_status check(berth_gang *g, const berth_gang_gavel_options *o) {
  berth_status st =
      expect(g->ctx, "throughputs", o->n_throughputs, (int64_t)g->n * o->n_types, "job and type");
  if (st == BERTH_OK && o->priorities)
    st = expect(g->ctx, "priorities", o->n_priorities, g->n, "job");
  for (int32_t m = 0; st == BERTH_OK && m < o->n_machines; m++)
    if (o->types[m] >= o->n_types)
      st = berth_i_fail(g->ctx, BERTH_EINVAL,
                        "gang: machine %d: type: there is none %d, there are %d", (int)m,
                        (int)o->types[m], (int)o->n_types);
  return st;
}

static berth_status init(berth_gang *g, const void *own) {
  const berth_gang_gavel_options *o = own;
  berth_status st = check(g, o);
  if (st != BERTH_OK) return st;
  gavel *v;
  if (!(v = g->state = berth_i_pool_zalloc(&g->pool, 1, sizeof *v))) return berth_i_nomem(g->ctx);
  v->types = o->n_types;
  v->goal = (berth_gavel_goal)o->goal;
  v->n_machines = o->n_machines;
  if ((st = get_arrays(g)) != BERTH_OK) return st;
  if (v->n_machines > 0) memcpy(v->type, o->types, (size_t)v->n_machines * sizeof *v->type);
  if (g->n > 0) memcpy(v->throughput, o->throughputs, cells(g) * sizeof *v->throughput);
  for (int32_t j = 0; j < g->n; j++) v->priority[j] = o->priorities ? o->priorities[j] : 1;
  v->stale = true;
  return BERTH_OK;
}

static berth_status attach(berth_gang *g) {
  gavel *v = of(g);
  if (v->n_machines != g->machines)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "gang: types of %d machines, expected %d",
                        (int)v->n_machines, (int)g->machines);
  if (!(berth_cluster_slot(g->c) > 0))
    return berth_i_fail(g->ctx, BERTH_EINVAL, "gang: rounds are slots, and the cluster has none");
  for (int32_t m = 0; m < g->machines; m++) v->gpus[v->type[m]] += g->cap[m];
  return BERTH_OK;
}

static bool fits(const berth_gang *g, int32_t job) {
  for (int32_t t = 0; t < of(g)->types; t++)
    if (of(g)->throughput[cell(g, job, t)] > 0 && g->job[job].size <= of(g)->gpus[t]) return true;
  return false;
}

/* ---- shares ---- */

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) {
  gavel *v = of(g);
  double wanted = g->job[job].size;
  for (int32_t i = 0; i < g->n_running; i++) wanted += g->job[g->running[i]].size;
  v->arrival[job] = berth_cluster_now(g->c);
  /* with an equal share of the cluster, of what there is when it comes */
  double speed = 0;
  for (int32_t t = 0; t < v->types; t++)
    speed += v->throughput[cell(g, job, t)] * v->gpus[t] / g->total;
  v->alone[job] = g->job[job].left / (speed * fmin(1, g->total / wanted));
  v->stale = true;
  return (berth_i_gang_rank){ 0, job };
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  (void)now;
  of(g)->on[job] = BERTH_NONE;
  if (over) of(g)->stale = true;
}

static berth_status find_shares(berth_gang *g, int32_t n, double now) {
  gavel *v = of(g);
  size_t types = (size_t)v->types;
  berth_gavel p = { n,       v->types, v->throughput_of, v->gang_of, v->priority_of,
                    v->gpus, v->left,  v->elapsed,       v->alone_of };
  berth_status st;
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    berth_job_record r;
    if ((st = berth_cluster_record(g->c, job, &r)) != BERTH_OK) return st;
    memcpy(v->throughput_of + (size_t)i * types, v->throughput + cell(g, job, 0),
           types * sizeof *v->throughput);
    v->gang_of[i] = g->job[job].size;
    v->priority_of[i] = v->priority[job];
    v->left[i] = fmax(r.left, 1e-9);
    v->elapsed[i] = now - v->arrival[job];
    v->alone_of[i] = fmax(v->alone[job], 1e-9);
  }
  double objective;
  if ((st = berth_gavel_allocate(g->ctx, &p, v->goal, v->share_of, &objective)) != BERTH_OK)
    return st;
  for (int32_t i = 0; i < n; i++)
    memcpy(v->share + cell(g, g->keep[i], 0), v->share_of + (size_t)i * types,
           types * sizeof *v->share);
  v->stale = false;
  return BERTH_OK;
}

/* ---- a round ---- */

BERTH_I_SORT(sort_candidates, candidate, BERTH_I_DOWN(priority) BERTH_I_UP(job) BERTH_I_UP(type))

static berth_status decide(berth_gang *g, double now) {
  gavel *v = of(g);
  berth_i_gang_queue_fresh(g);
  if (!g->reallocate) return BERTH_OK;
  int32_t n = berth_i_gang_list_all(g), found = 0;
  berth_status st;
  if (v->stale && (st = find_shares(g, n, now)) != BERTH_OK) return st;
  /* 1. Priorities: share over rounds had; a job that has had none is before all that have. */
  for (int32_t i = 0; i < n; i++) {
    v->chosen[g->keep[i]] = BERTH_NONE;
    for (int32_t t = 0; t < v->types; t++) {
      size_t c = cell(g, g->keep[i], t);
      if (!(v->share[c] > 1e-9)) continue;
      v->list[found++] =
          (candidate){ v->rounds[c] > 0 ? v->share[c] / v->rounds[c] : 1e9 * v->share[c],
                       g->keep[i], t };
    }
  }
  sort_candidates(v->list, (size_t)found);
  /* 2. In that order: the first type of each job on which its gang is left. */
  memcpy(v->free, v->gpus, (size_t)v->types * sizeof *v->free);
  for (int32_t k = 0; k < found; k++) {
    const candidate *c = &v->list[k];
    if (v->chosen[c->job] != BERTH_NONE || g->job[c->job].size > v->free[c->type]) continue;
    v->chosen[c->job] = c->type;
    v->free[c->type] -= g->job[c->job].size;
    v->rounds[cell(g, c->job, c->type)]++;
  }
  /* 3. Jobs whose type changes pause. */
  g->n_start = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    bool runs = g->job[job].run != BERTH_NONE;
    if (runs && v->on[job] == v->chosen[job]) continue;
    if (runs && (st = berth_i_gang_stop(g, job, now, (berth_i_gang_rank){ 0, job })) != BERTH_OK)
      return st;
    if (v->chosen[job] != BERTH_NONE) g->start[g->n_start++] = job;
  }
  /* 4. They and the new ones begin, packed on the machines of their type if they can be. */
  for (int32_t i = 0; i < g->n_start; i++) {
    int32_t job = g->start[i], type = v->chosen[job];
    for (int32_t m = 0; m < g->machines; m++)
      g->restored[m] = v->type[m] == type ? g->free_units[m] : 0;
    if (!berth_i_gang_find_packed(g, g->restored, g->job[job].size))
      berth_i_gang_find_any(g, g->restored, g->job[job].size);
    berth_i_gang_queue_remove(&g->waiting, job);
    v->on[job] = type;
    g->running[g->n_running++] = job;
    if ((st = berth_i_gang_begin(g, job, now)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static double speed(berth_gang *g, int32_t job) {
  return of(g)->throughput[cell(g, job, of(g)->type[g->pick.machine[0]])];
}

/* ---- options ---- */

static const berth_choice *const goals[] = {
  BERTH_I_CHOICE("max-min", "The least throughput over an equal share's, weighted by priority."),
  BERTH_I_CHOICE("makespan", "The time until all work left is done."),
  BERTH_I_CHOICE("finish-time", "The largest ratio of a job's time in all to that alone."),
  BERTH_I_CHOICE("max-sum", "The sum of throughputs."),
  NULL
};
const berth_choice *const *berth_gavel_goals(void) { return goals; }

berth_gang_gavel_options berth_gang_gavel_default(void) {
  return (berth_gang_gavel_options){ .n_types = 1 };
}

static void set_defaults(void *out) {
  *(berth_gang_gavel_options *)out = berth_gang_gavel_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_gang_gavel_options, name, kind)
#define LIST(name, length, kind) BERTH_I_OPTION_LIST(berth_gang_gavel_options, name, length, kind)

static const berth_option_table *table(void) {
  static const berth_option options[] = {
    { FIELD(n_types, WHOLE), .low = 1, .high = 1 << 16, .text = "how many types there are" },
    { LIST(types, n_machines, WHOLES), .takes = "array of names", .fallback = "required",
      .text = "type of the GPUs of each machine" },
    { LIST(throughputs, n_throughputs, NUMBERS),
      .text = "work per s on each type, job after job; 0: not there" },
    { LIST(priorities, n_priorities, NUMBERS), .above = 1, .fallback = "1 each",
      .text = "weight of each job" },
    { FIELD(goal, CHOICE), .choices = goals,
      .text = "what the linear program of shares makes best" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang gavel", options, berth_gang_gavel_options, set_defaults);
}

const berth_i_gang_rule berth_i_gang_gavel = {
  .about = {
    .choice = { "gavel", "Types of GPUs: at each slot (a round; published: 360 s) those are "
                         "served first that have had the fewest rounds for their share of a "
                         "type." },
    .source = "Narayanan et al., \"Gavel\", OSDI 2020",
    .reads = "types goal",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .ordered = true, .stops = stops, .speed = speed,
  .fits = fits, .init = init, .attach = attach,
};
