/* The decision of the planner: choices are valued by the network, then compared by sampled futures
 * in which the network decides (rollouts), the same futures for all, by sequential halving.
 * O(futures choices depth) decisions of the network. Source: our own; sequential halving of Karnin,
 * Koren, Somekh, "Almost optimal exploration in multi-armed bandits", 2013. */
#include "ahead_internal.h"

/* ---- policies ---- */

/* The most pieces up to cap that fit and end by the deadline, or else the fewest above; its block
 * is the first that fits. */
static bool choose_capped(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                          const berth_pacml_job *job, int32_t cap, berth_i_choice *out) {
  const berth_pacml *env = a->f.env;
  const berth_i_fast_cut *cut = &a->f.cut[job->model * env->n_decisions];
  berth_i_servers busy = berth_i_fast_busy(&a->f, s->free_at, s->now);
  double limit = berth_i_ahead_limit(a, job) * (1 + 1e-9);
  int32_t last = env->n_decisions - 1;
  while (last > 0 && env->decisions[last] > cap) last--;
  for (int32_t k = 1; k < env->n_decisions; k++) {
    int32_t i = k <= last ? last + 1 - k : k;
    if (cut[i].jct > limit
        || !berth_i_fast_place(&a->f, &cut[i], &busy, BERTH_NONE, &out->servers))
      continue;
    out->index = i;
    out->block = BERTH_NONE;
    out->jct = cut[i].jct;
    return true;
  }
  return false;
}

bool berth_i_ahead_step(const berth_pacml_ahead *a, berth_i_ahead_state *s,
                        const berth_pacml_job *job, int32_t cap, double horizon, double *x) {
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v = { choice, 0, berth_i_ahead_limit(a, job), horizon };
  const berth_i_choice *c = NULL;
  s->now = job->arrival;
  if (cap > 0) {
    if (choose_capped(a, s, job, cap, choice)) c = choice;
  } else {
    v.n = berth_i_ahead_choices(a, s, job, choice);
    int32_t at = berth_i_ahead_prefer(a, s, &v, true, NULL);
    if (at < v.n) c = &choice[at];
  }
  if (x) berth_i_ahead_inputs(a, s, c, v.limit, x);
  if (!c) return true;
  berth_i_ahead_hold(a, s, c);
  return s->now + c->jct > horizon + BERTH_I_AHEAD_SLACK;
}

berth_status berth_i_ahead_play(const berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs,
                                int32_t cap, int32_t *blocked) {
  berth_status st = BERTH_OK;
  berth_i_ahead_state s = berth_i_ahead_empty(a);
  *blocked = 0;
  for (int32_t j = 0; st == BERTH_OK && j < n; j++) {
    *blocked += berth_i_ahead_step(a, &s, &jobs[j], cap, INFINITY, NULL);
    if (j % 1024 == 0) st = berth_i_interrupted(a->f.env->ramp->ctx);
  }
  return st;
}

/* The capped rule that blocks fewest of some jobs of the process (of equals that with most pieces,
 * whose jobs end first) takes the network's place if it accepts 2 % more of them: rollouts improve
 * the network by more than a rule. Where the network blocks at most 5 %, it must only block no
 * more. */
static berth_status choose_policy(berth_pacml_ahead *a) {
  enum { JOBS = 4096 };
  const berth_pacml *env = a->f.env;
  berth_ctx *ctx = env->ramp->ctx;
  berth_pacml_job *jobs;
  if (!(jobs = berth_i_alloc(ctx, JOBS, sizeof *jobs))) return berth_i_nomem(ctx);
  berth_rng rng;
  berth_rng_init(&rng, 0, 0);
  berth_pacml_ahead_draw(a, &rng, JOBS, jobs);
  int32_t network, least = INT32_MAX, cap = 0, blocked;
  berth_status st = berth_i_ahead_play(a, JOBS, jobs, 0, &network);
  for (int32_t i = 1; st == BERTH_OK && i < env->n_decisions; i++) {
    st = berth_i_ahead_play(a, JOBS, jobs, env->decisions[i], &blocked);
    if (st != BERTH_OK || blocked > least) continue;
    least = blocked;
    cap = env->decisions[i];
  }
  berth_i_free(ctx, jobs, JOBS, sizeof *jobs);
  if (st != BERTH_OK) return st;
  bool better = network <= JOBS / 20 ? least <= network
                                     : JOBS - least > 1.02 * (JOBS - network);
  a->cap = better ? cap : 0;
  a->is_chosen = true;
  return BERTH_OK;
}

/* ---- futures ---- */

double berth_i_ahead_future(const berth_pacml_ahead *a, const berth_i_ahead_state *now,
                            const berth_i_choice *c, const berth_pacml_ahead_options *o,
                            uint64_t stream) {
  berth_i_ahead_state s = *now;
  int32_t cap = o->rules ? a->cap : 0;
  int32_t depth = cap > 0 ? BERTH_I_AHEAD_RULE_DEPTH * o->depth : o->depth;
  double discount = cap > 0 ? 1 : a->discount;
  double sum = c == NULL || s.now + c->jct > o->horizon + BERTH_I_AHEAD_SLACK, weight = 1,
         time = s.now;
  berth_rng rng;
  berth_rng_init(&rng, o->seed, stream);
  if (c) berth_i_ahead_hold(a, &s, c);
  double x[BERTH_I_AHEAD_INPUTS];
  for (int32_t k = 0; k < depth; k++) {
    time += berth_i_ahead_gap(a, &rng);
    if (time > o->horizon) return sum;
    berth_pacml_job job = berth_i_ahead_draw(a, &rng, time);
    weight *= discount;
    if (berth_i_ahead_step(a, &s, &job, cap, o->horizon, cap > 0 || k + 1 < depth ? NULL : x))
      sum += weight;
  }
  if (cap > 0) return sum;
  double unit[BERTH_I_AHEAD_HIDDEN];
  return sum + weight * a->discount * berth_i_ahead_value(a, x, unit);
}

berth_pacml_ahead_options berth_pacml_ahead_default(void) {
  return (berth_pacml_ahead_options){ 32, 24, 0, 1, 1, INFINITY };
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
    { FIELD(rules, FLAG),
      .text = "the best capped rule takes the network's place where it blocks fewer jobs" },
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

/* A choice, and by how much less is blocked in its futures so far than in those of the policy's
 * choice. */
typedef struct runner {
  int32_t choice;
  double sum, squares;
} runner;

/* Sequential halving: as many futures in all as if each choice had o->futures; every round spends
 * an equal share on those that are left, and the worse half is dropped. All that are left have seen
 * the same futures. The last one replaces the policy's choice if its mean is better by more than
 * one standard error: of many choices whose differences are noise, the best looks better.
 * @param best in: the choice of the policy; out: least blocked
 * @param n choices; their number stands for turning the job away */
static berth_status halve(const berth_pacml_ahead *a, const berth_i_ahead_state *now, int32_t job,
                          int32_t n, const berth_i_choice *choice,
                          const berth_pacml_ahead_options *o, int32_t *best) {
  /* 1. The candidates beside the policy's. */
  runner r[BERTH_I_AHEAD_CHOICES + 1];
  int32_t left = 0, last = o->reject ? n : n - 1, rounds = 1;
  for (int32_t i = 0; i <= last; i++)
    if (i != *best) r[left++] = (runner){ i, 0, 0 };
  for (int32_t k = left + 1; k > 2; k = (k + 1) / 2) rounds++;
  int64_t share = (int64_t)o->futures * (left + 1) / rounds, future = 0;
  const berth_i_choice *usual = *best < n ? &choice[*best] : NULL;
  for (bool over = left < 1; !over; left = left / 2) {
    over = left == 1;
    /* 2. The same futures for all that are left. */
    int64_t more = share / (left + 1) > 0 ? share / (left + 1) : 1;
    for (int64_t end = future + more; future < end; future++) {
      uint64_t stream = (uint64_t)job * 16777216 + (uint64_t)future;
      berth_status st = berth_i_interrupted(a->f.env->ramp->ctx);
      if (st != BERTH_OK) return st;
      double base = berth_i_ahead_future(a, now, usual, o, stream);
      for (int32_t i = 0; i < left; i++) {
        const berth_i_choice *c = r[i].choice < n ? &choice[r[i].choice] : NULL;
        double less = base - berth_i_ahead_future(a, now, c, o, stream);
        r[i].sum += less;
        r[i].squares += less * less;
      }
    }
    /* 3. Least blocked first; of equals the first stays in front. */
    for (int32_t i = 1; i < left; i++) {
      runner one = r[i];
      int32_t at = i;
      for (; at > 0 && r[at - 1].sum < one.sum; at--) r[at] = r[at - 1];
      r[at] = one;
    }
  }
  /* 4. mean > sqrt(variance / futures) */
  if (future > 0 && r[0].sum > 0) {
    double variance = r[0].squares - r[0].sum * r[0].sum / (double)future;
    if (r[0].sum > sqrt(variance > 0 ? variance : 0)) *best = r[0].choice;
  }
  return BERTH_OK;
}

/* The servers of a choice's block; none: the first that fits.  @return how many */
static int32_t list_block(const berth_pacml_ahead *a, const berth_i_choice *c, int32_t *servers) {
  if (c->block == BERTH_NONE) return 0;
  return berth_i_fast_list(&a->f, berth_i_fast_block(&a->f, c->block), servers);
}

/* Choices ascend by pieces; the first that fits comes before other blocks. */
static int32_t prefer_capped(const berth_pacml_ahead *a, const berth_i_ahead_view *v) {
  int32_t at = v->n;
  for (int32_t i = 0; i < v->n; i++)
    if (v->choice[i].block == BERTH_NONE
        && (at == v->n || a->f.env->decisions[v->choice[i].index] <= a->cap))
      at = i;
  return at;
}

berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r,
                                      const berth_pacml_ahead_options *opts, int32_t *decision,
                                      int32_t *n_block, int32_t *block) {
  if (!a || !r) return BERTH_EINVAL;
  berth_pacml_ahead_options o = opts ? *opts : berth_pacml_ahead_default();
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v = { choice, 0, 0, o.horizon };
  berth_status st = check(a, r, &o);
  if (st != BERTH_OK) return st;
  if (o.rules && !a->is_chosen && (st = choose_policy(a)) != BERTH_OK) return st;
  /* 1. What fits and ends by the deadline, on the quick cluster. */
  const berth_pacml_job *job = &r->jobs[r->job];
  berth_i_ahead_state s;
  s.now = job->arrival;
  for (int32_t k = 0; k < a->f.servers; k++) s.free_at[k] = r->busy[k] ? r->free_at[k] : -1;
  v.limit = berth_i_ahead_limit(a, job);
  int32_t n = berth_i_ahead_choices(a, &s, job, choice);
  /* 2. Of these what the run accepts, with the servers and times that it has for them. */
  for (int32_t i = 0; i < n; i++) {
    int32_t servers[BERTH_I_RAMP_SERVERS], on[BERTH_I_FAST_SERVERS],
        size = list_block(a, &choice[i], on);
    berth_pacml_outcome out;
    st = berth_pacml_look_on(r, a->f.env->decisions[choice[i].index], size, on, &out, servers);
    if (st != BERTH_OK) return st;
    if (out.cause != BERTH_PACML_ACCEPTED) continue;
    berth_i_choice kept = { choice[i].index, choice[i].block, out.jct, { { 0 } } };
    for (int32_t k = 0; k < out.n_servers; k++)
      kept.servers.w[servers[k] / 64] |= (uint64_t)1 << servers[k] % 64;
    choice[v.n++] = kept;
  }
  /* 3. By the policy, then by rollouts in which it decides. */
  int32_t at = o.rules && a->cap > 0 ? prefer_capped(a, &v)
                                     : berth_i_ahead_prefer(a, &s, &v, o.reject != 0, NULL);
  if (v.n > 0 && o.futures > 0
      && (st = halve(a, &s, r->job, v.n, choice, &o, &at)) != BERTH_OK)
    return st;
  *decision = at < v.n ? a->f.env->decisions[choice[at].index] : 0;
  *n_block = at < v.n ? list_block(a, &choice[at], block) : 0;
  return BERTH_OK;
}
