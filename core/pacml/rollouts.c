/* Rollouts: for each choice sampled futures are played on with the network; choices are compared by
 * sequential halving on the same futures. */
#include "ahead_internal.h"

bool berth_i_ahead_step(const berth_pacml_ahead *a, berth_i_ahead_state *s,
                        const berth_pacml_job *job, double horizon, double *x) {
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v = { choice, 0, berth_i_ahead_limit(a, job), horizon };
  s->now = job->arrival;
  v.n = berth_i_ahead_choices(a, s, job, choice);
  int32_t at = berth_i_ahead_prefer(a, s, &v, true, NULL);
  const berth_i_choice *c = at < v.n ? &choice[at] : NULL;
  if (x) berth_i_ahead_inputs(a, s, c, v.limit, x);
  if (!c) return true;
  berth_i_ahead_hold(s, c);
  return s->now + c->jct > horizon + BERTH_I_AHEAD_SLACK;
}

double berth_i_ahead_future(const berth_pacml_ahead *a, const berth_i_ahead_state *now,
                            const berth_i_choice *c, const berth_pacml_ahead_options *o,
                            uint64_t stream) {
  berth_i_ahead_state s = *now;
  double sum = c == NULL || s.now + c->jct > o->horizon + BERTH_I_AHEAD_SLACK, weight = 1,
         time = s.now;
  berth_rng rng;
  berth_rng_init(&rng, o->seed, stream);
  if (c) berth_i_ahead_hold(&s, c);
  double x[BERTH_I_AHEAD_INPUTS];
  for (int32_t k = 0; k < o->depth; k++) {
    time += berth_i_ahead_gap(a, &rng);
    if (time > o->horizon) return sum;
    berth_pacml_job job = berth_i_ahead_draw(a, &rng, time);
    weight *= a->discount;
    if (berth_i_ahead_step(a, &s, &job, o->horizon, k + 1 < o->depth ? NULL : x)) sum += weight;
  }
  double unit[BERTH_I_AHEAD_HIDDEN];
  return sum + weight * a->discount * berth_i_ahead_value(a, x, unit);
}

berth_pacml_ahead_options berth_pacml_ahead_default(void) {
  return (berth_pacml_ahead_options){ 32, 24, 0, 1, INFINITY };
}

static void set_defaults(void *out) {
  *(berth_pacml_ahead_options *)out = berth_pacml_ahead_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_pacml_ahead_options, name, kind)

const berth_option_table *berth_pacml_ahead_option_table(void) {
  static const berth_option options[] = {
    { FIELD(futures, WHOLE), .high = 65536,
      .text = "futures sampled for each choice, in the mean; 0: the network alone decides" },
    { FIELD(depth, WHOLE), .low = 1, .high = 1000000, .text = "arrivals in each" },
    { FIELD(seed, SEED), .text = "of the futures, with the number of the job" },
    { FIELD(reject, FLAG), .text = "turning away a job that could run is a choice, too" },
    { FIELD(horizon, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no end",
      .text = "what ends later counts as blocked, what arrives later does not count" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("pacml ahead", options, berth_pacml_ahead_options, set_defaults);
}

static berth_status check(const berth_pacml_ahead *a, const berth_pacml_run *r,
                          const berth_pacml_ahead_options *o) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  if (r->env != a->f.env)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: the run has other models than the planner");
  if (r->job == BERTH_NONE)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: all jobs have been decided about");
  return berth_options_check(ctx, berth_pacml_ahead_option_table(), o);
}

/* A choice in the race: what was blocked in its futures so far. */
typedef struct runner {
  int32_t choice;
  double sum;
} runner;

static int32_t rounds_of(int32_t n) {
  int32_t rounds = 1;
  while (n > 2) n = (n + 1) / 2, rounds++;
  return rounds;
}

/* Sequential halving: as many futures in all as if each choice had o->futures; every round spends
 * an equal share on those that are left, and the worse half is dropped. All that are left have seen
 * the same futures. */
static berth_status race(const berth_pacml_ahead *a, const berth_i_ahead_state *now, int32_t job,
                         const berth_i_choice *choice, int32_t n_choices, int32_t n, runner *r,
                         const berth_pacml_ahead_options *o) {
  int64_t share = (int64_t)o->futures * n / rounds_of(n), future = 0;
  for (bool last = false; !last; n = (n + 1) / 2) {
    int64_t more = share / n > 0 ? share / n : 1;
    last = n <= 2;
    for (int64_t end = future + more; future < end; future++) {
      berth_status st = berth_i_interrupted(a->f.env->ramp->ctx);
      if (st != BERTH_OK) return st;
      for (int32_t i = 0; i < n; i++)
        r[i].sum +=
            berth_i_ahead_future(a, now, r[i].choice < n_choices ? &choice[r[i].choice] : NULL, o,
                                 (uint64_t)job * 16777216 + (uint64_t)future);
    }
    /* Least blocked first; of equals the first stays in front. */
    for (int32_t i = 1; i < n; i++) {
      runner one = r[i];
      int32_t at = i;
      for (; at > 0 && r[at - 1].sum > one.sum; at--) r[at] = r[at - 1];
      r[at] = one;
    }
  }
  return BERTH_OK;
}

/* Least blocked; ties to what the network prefers, then to the first. */
static berth_status roll(const berth_pacml_ahead *a, const berth_i_ahead_state *now, int32_t job,
                         int32_t n, const berth_i_choice *choice, int32_t preferred,
                         const berth_pacml_ahead_options *o, int32_t *best) {
  runner r[BERTH_I_AHEAD_CHOICES + 1];
  int32_t count = 0, last = o->reject ? n : n - 1;
  if (preferred <= last) r[count++] = (runner){ preferred, 0 };
  for (int32_t i = 0; i <= last; i++)
    if (i != preferred) r[count++] = (runner){ i, 0 };
  berth_status st;
  if (count > 1 && (st = race(a, now, job, choice, n, count, r, o)) != BERTH_OK) return st;
  *best = r[0].choice;
  return BERTH_OK;
}

static int32_t list_servers(uint64_t mask, int32_t *servers) {
  int32_t n = 0;
  for (int32_t v = 0; mask; v++, mask >>= 1)
    if (mask & 1) servers[n++] = v;
  return n;
}

/* Those of the choices that the run accepts, with the servers and times that it has for them. */
static berth_status confirm(const berth_pacml_ahead *a, berth_pacml_run *r, berth_i_choice *choice,
                            int32_t *n) {
  int32_t kept = 0, servers[BERTH_I_RAMP_SERVERS], block[BERTH_I_FAST_SERVERS];
  for (int32_t i = 0; i < *n; i++) {
    berth_pacml_outcome o;
    int32_t size = list_servers(choice[i].block, block);
    berth_status st =
        berth_pacml_look_on(r, a->f.env->decisions[choice[i].index], size, block, &o, servers);
    if (st != BERTH_OK) return st;
    if (o.cause != BERTH_PACML_ACCEPTED) continue;
    choice[kept] = (berth_i_choice){ choice[i].index, choice[i].block, 0, o.jct };
    for (int32_t k = 0; k < o.n_servers; k++) choice[kept].servers |= (uint64_t)1 << servers[k];
    kept++;
  }
  *n = kept;
  return BERTH_OK;
}

berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r,
                                      const berth_pacml_ahead_options *opts, int32_t *decision,
                                      int32_t *n_block, int32_t *block) {
  berth_pacml_ahead_options o = opts ? *opts : berth_pacml_ahead_default();
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v = { choice, 0, 0, o.horizon };
  berth_status st = check(a, r, &o);
  if (st != BERTH_OK) return st;
  berth_i_ahead_state s;
  s.now = r->jobs[r->job].arrival;
  for (int32_t k = 0; k < a->f.servers; k++) s.free_at[k] = r->busy[k] ? r->free_at[k] : -1;
  v.limit = berth_i_ahead_limit(a, &r->jobs[r->job]);
  v.n = berth_i_ahead_choices(a, &s, &r->jobs[r->job], choice);
  if ((st = confirm(a, r, choice, &v.n)) != BERTH_OK) return st;
  int32_t at = berth_i_ahead_prefer(a, &s, &v, o.reject != 0, NULL);
  if (v.n > 0 && o.futures > 0 && (st = roll(a, &s, r->job, v.n, choice, at, &o, &at)) != BERTH_OK)
    return st;
  *decision = at < v.n ? a->f.env->decisions[choice[at].index] : 0;
  *n_block = at < v.n ? list_servers(choice[at].block, block) : 0;
  return BERTH_OK;
}
