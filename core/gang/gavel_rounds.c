/* Gavel's rounds, as in its published simulator. A round begins when the one before has ended,
 * or, on an idle cluster, with an arrival; it ends with its last job, at most `round` s later, and
 * GPUs whose job has ended wait for that. Type by type, those are served first whose share is
 * largest for the part of the time on the type that they received. Shares come from the linear
 * program of gavel_lp.c: again at the first round after a change of who is there, if `reset` s have
 * passed since the last time; then all received times are set to half a round. A job that came
 * since is not served before. O(jobs types log jobs) a round and O(machines) a start. Source:
 * Narayanan et al., "Gavel", OSDI 2020, sec. 5, and its published simulator. */
#include "base/sort_internal.h"
#include "gang_internal.h"
#include <inttypes.h>

typedef struct candidate {
  double priority, deficit, share;
  int32_t job;
} candidate;

typedef struct gavel {
  int32_t types;
  berth_gavel_goal goal;
  double round, reset;       /* s */
  double slack;              /* of the makespan */
  int32_t *type;             /* [n_machines] of each machine */
  int32_t n_machines;
  double *throughput;        /* [n * types] work per s */
  double *priority;          /* [n] */
  double *step;              /* [n] work of a step; NULL: work is continuous */
  double *share;             /* [n * types] */
  double *received;          /* [n * types] s run on a type since the last solution, and half a
                                round */
  double *deficit;           /* [n * types] s by which what was received fell short of the share */
  double *of_type;           /* [types] sums of received, of jobs that have ended too */
  bool *known;               /* [n] it was there at the last solution */
  double *left, *alone_rate; /* [n] work left, and work per s alone, at the last solution */
  double *alone;             /* [n] s that the work done since would have taken alone */
  int32_t *chosen;           /* [n] type of this round; BERTH_NONE */
  int32_t *on;               /* [n] type on which it runs */
  int32_t *gpus;             /* [types] */
  candidate *list;           /* [n] */
  /* of those that are there */
  double *throughput_of, *priority_of, *left_of, *elapsed_of, *alone_of, *share_of;
  int32_t *gang_of, *gpus_of;
  bool stale;                /* jobs have come or gone since the last solution */
  double solved;             /* when that was; below 0: it does not count */
  double round_end;          /* of the present round */
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
  v->share = berth_i_pool_zalloc(&g->pool, all, sizeof *v->share);
  v->received = berth_i_pool_zalloc(&g->pool, all, sizeof *v->received);
  v->deficit = berth_i_pool_zalloc(&g->pool, all, sizeof *v->deficit);
  v->of_type = berth_i_pool_zalloc(&g->pool, types, sizeof *v->of_type);
  v->known = berth_i_pool_zalloc(&g->pool, n, sizeof *v->known);
  v->left = berth_i_pool_alloc(&g->pool, n, sizeof *v->left);
  v->alone_rate = berth_i_pool_alloc(&g->pool, n, sizeof *v->alone_rate);
  v->alone = berth_i_pool_zalloc(&g->pool, n, sizeof *v->alone);
  v->chosen = berth_i_pool_alloc(&g->pool, n, sizeof *v->chosen);
  v->on = berth_i_pool_alloc(&g->pool, n, sizeof *v->on);
  v->gpus = berth_i_pool_zalloc(&g->pool, types, sizeof *v->gpus);
  v->list = berth_i_pool_alloc(&g->pool, n, sizeof *v->list);
  v->throughput_of = berth_i_pool_alloc(&g->pool, all, sizeof *v->throughput_of);
  v->priority_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->priority_of);
  v->left_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->left_of);
  v->elapsed_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->elapsed_of);
  v->alone_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->alone_of);
  v->share_of = berth_i_pool_alloc(&g->pool, all, sizeof *v->share_of);
  v->gang_of = berth_i_pool_alloc(&g->pool, n, sizeof *v->gang_of);
  v->gpus_of = berth_i_pool_alloc(&g->pool, types, sizeof *v->gpus_of);
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
  if (st == BERTH_OK && o->steps) st = expect(g->ctx, "steps", o->n_steps, g->n, "job");
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
  v->round = o->round;
  v->reset = o->reset;
  v->slack = o->slack;
  v->n_machines = o->n_machines;
  v->solved = -1;
  if (o->steps) v->step = berth_i_pool_copy(&g->pool, o->steps, (size_t)g->n, sizeof *v->step);
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
  if (berth_cluster_slot(g->c) > 0)
    return berth_i_fail(g->ctx, BERTH_EINVAL,
                        "gang: gavel has rounds (option round), expected a cluster without slots");
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
  of(g)->stale = true;
  return (berth_i_gang_rank){ 0, job };
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  (void)now;
  of(g)->on[job] = BERTH_NONE;
  if (over) of(g)->stale = true;
}

/* Work per s of a job alone: every type is split evenly among the n jobs that are there. */
static double alone_rate(const berth_gang *g, int32_t job, int32_t n) {
  const gavel *v = of(g);
  double sum = 0, rate = 0;
  for (int32_t t = 0; t < v->types; t++) {
    double share = (double)v->gpus[t] / n / g->job[job].size;
    sum += share;
    rate += share * v->throughput[cell(g, job, t)];
  }
  return rate / fmax(sum, 1);
}

/* Of the n jobs in g->keep. */
static berth_status find_shares(berth_gang *g, int32_t n, double now) {
  gavel *v = of(g);
  berth_gavel p = { n,          v->types,   v->throughput_of, v->gang_of, v->priority_of,
                    v->gpus_of, v->left_of, v->elapsed_of,    v->alone_of,   v->slack };
  berth_status st;
  /* 1. What was received short of the shares; all begin again with half a round. */
  for (int32_t t = 0; t < v->types; t++) v->of_type[t] = n * v->round / 2;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t t = 0; t < v->types; t++) {
      size_t c = cell(g, g->keep[i], t);
      if (v->known[g->keep[i]])
        v->deficit[c] += v->share[c] * (now - fmax(v->solved, 0)) - (v->received[c] - v->round / 2);
      v->received[c] = v->round / 2;
    }
  }
  /* 2. The linear program; the last type is its first, as in the published simulator: of several
   * solutions, it often gives the same one. */
  for (int32_t t = 0; t < v->types; t++) v->gpus_of[v->types - 1 - t] = v->gpus[t];
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    berth_job_record r;
    berth_job b;
    if ((st = berth_cluster_record(g->c, job, &r)) != BERTH_OK
        || (st = berth_cluster_job(g->c, job, &b)) != BERTH_OK)
      return st;
    for (int32_t t = 0; t < v->types; t++)
      v->throughput_of[(i + 1) * v->types - 1 - t] = v->throughput[cell(g, job, t)];
    v->gang_of[i] = g->job[job].size;
    v->priority_of[i] = v->priority[job];
    v->left_of[i] = fmax(r.left, 1e-9);
    v->elapsed_of[i] = now - b.arrival;
    if (v->known[job]) v->alone[job] += (v->left[job] - v->left_of[i]) / v->alone_rate[job];
    v->known[job] = true;
    v->left[job] = v->left_of[i];
    v->alone_rate[job] = alone_rate(g, job, n);
    v->alone_of[i] = fmax(v->alone[job] + v->left[job] / v->alone_rate[job], 1e-9);
  }
  double objective;
  if ((st = berth_gavel_allocate(g->ctx, &p, v->goal, v->share_of, &objective)) != BERTH_OK)
    return st;
  for (int32_t i = 0; i < n; i++)
    for (int32_t t = 0; t < v->types; t++)
      v->share[cell(g, g->keep[i], t)] = v->share_of[(i + 1) * v->types - 1 - t];
  v->stale = false;
  v->solved = now;
  return BERTH_OK;
}

/* ---- a round ---- */

BERTH_I_SORT(sort_candidates, candidate, BERTH_I_DOWN(priority) BERTH_I_DOWN(deficit)
             BERTH_I_DOWN(share) BERTH_I_UP(job))

/* Chooses a type for each of the n jobs in g->keep, or none.  @return how many are served */
static int32_t serve(berth_gang *g, int32_t n) {
  gavel *v = of(g);
  int32_t served = 0;
  for (int32_t i = 0; i < n; i++) v->chosen[g->keep[i]] = BERTH_NONE;
  for (int32_t t = 0; t < v->types; t++) {
    int32_t found = 0, left = v->gpus[t];
    for (int32_t i = 0; i < n; i++) {
      int32_t job = g->keep[i];
      size_t c = cell(g, job, t);
      if (!v->known[job] || v->chosen[job] != BERTH_NONE || !(v->throughput[c] > 0)) continue;
      double share = v->share[c] > 1e-9 ? v->share[c] : 0;
      if (v->goal == BERTH_GAVEL_FIFO && share == 0) continue; /* as published, for fifo alone */
      v->list[found++] =
          (candidate){ share * v->of_type[t] / v->received[c], v->deficit[c], v->share[c], job };
    }
    sort_candidates(v->list, (size_t)found);
    for (int32_t k = 0; k < found; k++) {
      int32_t job = v->list[k].job;
      if (g->job[job].size > left) continue;
      v->chosen[job] = t;
      left -= g->job[job].size;
      served++;
    }
  }
  return served;
}

/* Rates for one round, of the jobs that run; the time at which its last job ends. A job that does
 * not end in the round does the same work in it, at the rate at which it lasts as long. */
static berth_status set_rates(berth_gang *g, double now) {
  gavel *v = of(g);
  berth_status st;
  double *seconds = v->elapsed_of; /* scratch: [n_running] */
  double longest = 0;
  for (int32_t i = 0; i < g->n_running; i++) {
    int32_t job = g->running[i];
    size_t c = cell(g, job, v->on[job]);
    double rate = v->throughput[c], most = rate * v->round;
    berth_job_record r;
    if ((st = berth_cluster_record(g->c, job, &r)) != BERTH_OK) return st;
    if (v->step) most = fmax(1, floor(most / v->step[job] * (1 + 1e-12))) * v->step[job];
    seconds[i] = fmin(most, r.left) / rate;
    longest = fmax(longest, seconds[i]);
    v->received[c] += seconds[i];
    v->of_type[v->on[job]] += seconds[i];
    v->left_of[i] = r.left > most * (1 + 1e-9) ? most : 0; /* work of those that go on */
  }
  v->round_end = now + longest;
  for (int32_t i = 0; i < g->n_running; i++) {
    int32_t job = g->running[i];
    double rate = v->throughput[cell(g, job, v->on[job])];
    if (v->left_of[i] > 0) rate = v->left_of[i] / longest;
    if ((st = berth_cluster_set_rate(g->c, job, rate)) != BERTH_OK) return st;
    if (v->left_of[i] == 0) v->round_end = fmax(v->round_end, berth_cluster_end_of(g->c, job));
  }
  return berth_cluster_wake(g->c, v->round_end);
}

static berth_status decide(berth_gang *g, double now) {
  gavel *v = of(g);
  berth_i_gang_queue_fresh(g);
  if (now < v->round_end) return BERTH_OK;
  int32_t n = berth_i_gang_list_all(g);
  if (n == 0) return BERTH_OK;
  berth_status st;
  /* 1. Shares, if they are due. */
  if (v->stale && (v->solved <= 0 || now - v->solved >= v->reset)
      && (st = find_shares(g, n, now)) != BERTH_OK)
    return st;
  /* 2. Who is served on which type; if nobody is and nobody will come, shares are due at once. */
  if (serve(g, n) == 0) {
    if (berth_cluster_summarise(g->c).arrived < g->n) return BERTH_OK;
    v->solved = 0;
    if ((st = find_shares(g, n, now)) != BERTH_OK) return st;
    serve(g, n);
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
  return set_rates(g, now);
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
  BERTH_I_CHOICE("fifo", "First in, first out; each job on the free type where it is fastest."),
  NULL
};
const berth_choice *const *berth_gavel_goals(void) { return goals; }

berth_gang_gavel_options berth_gang_gavel_default(void) {
  return (berth_gang_gavel_options){ .n_types = 1, .round = 360, .reset = 1920, .slack = 0.05 };
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
    { FIELD(round, QUANTITY), .unit = BERTH_SECONDS, .low = 0, .above = 1, .high = INFINITY,
      .text = "the most that a round lasts" },
    { FIELD(reset, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY,
      .text = "least time between two solutions of the linear program; 0: at the first round after "
              "each change of who is there" },
    { FIELD(slack, NUMBER), .low = 0, .high = 1,
      .text = "makespan: shares reach a time within this part of the least, by the published "
              "bisection; 0: the least" },
    { LIST(steps, n_steps, NUMBERS), .above = 1, .fallback = "work is continuous",
      .text = "work of a step of each job: a round has whole ones" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang gavel", options, berth_gang_gavel_options, set_defaults);
}

const berth_i_gang_rule berth_i_gang_gavel = {
  .about = {
    .choice = { "gavel", "Types of GPUs: in each round those are served first that have "
                         "received the least time for their share of a type." },
    .source = "Narayanan et al., \"Gavel\", OSDI 2020",
    .reads = "types goal round reset slack",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .ordered = true, .stops = stops, .speed = speed,
  .fits = fits, .init = init, .attach = attach,
};
