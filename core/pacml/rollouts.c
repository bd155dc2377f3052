/* The decision of the planner: choices are valued by the network, then compared by sampled futures
 * in which the network decides (rollouts), the same futures for all, by sequential halving.
 * O(futures choices depth) decisions of the network. Source: our own; sequential halving of Karnin,
 * Koren, Somekh, "Almost optimal exploration in multi-armed bandits", 2013. */
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

/* A choice, and what was blocked in its futures so far. */
typedef struct runner {
  int32_t choice;
  double sum;
} runner;

/* Sequential halving: as many futures in all as if each choice had o->futures; every round spends
 * an equal share on those that are left, and the worse half is dropped. All that are left have seen
 * the same futures. @param best in: what the network prefers, which wins ties; out: least blocked
 * @param n choices; their number stands for turning the job away */
static berth_status halve(const berth_pacml_ahead *a, const berth_i_ahead_state *now, int32_t job,
                          int32_t n, const berth_i_choice *choice,
                          const berth_pacml_ahead_options *o, int32_t *best) {
  /* 1. The candidates, the preferred one first. */
  runner r[BERTH_I_AHEAD_CHOICES + 1];
  int32_t left = 0, last = o->reject ? n : n - 1, rounds = 1;
  if (*best <= last) r[left++] = (runner){ *best, 0 };
  for (int32_t i = 0; i <= last; i++)
    if (i != *best) r[left++] = (runner){ i, 0 };
  for (int32_t k = left; k > 2; k = (k + 1) / 2) rounds++;
  int64_t share = (int64_t)o->futures * left / rounds, future = 0;
  for (bool over = left < 2; !over; left = (left + 1) / 2) {
    over = left <= 2;
    /* 2. The same futures for all that are left. */
    int64_t more = share / left > 0 ? share / left : 1;
    for (int64_t end = future + more; future < end; future++) {
      berth_status st = berth_i_interrupted(a->f.env->ramp->ctx);
      if (st != BERTH_OK) return st;
      for (int32_t i = 0; i < left; i++)
        r[i].sum +=
            berth_i_ahead_future(a, now, r[i].choice < n ? &choice[r[i].choice] : NULL, o,
                                 (uint64_t)job * 16777216 + (uint64_t)future);
    }
    /* 3. Least blocked first; of equals the first stays in front. */
    for (int32_t i = 1; i < left; i++) {
      runner one = r[i];
      int32_t at = i;
      for (; at > 0 && r[at - 1].sum > one.sum; at--) r[at] = r[at - 1];
      r[at] = one;
    }
  }
  *best = r[0].choice;
  return BERTH_OK;
}

static int32_t list_servers(uint64_t mask, int32_t *servers) {
  int32_t n = 0;
  for (int32_t v = 0; mask; v++, mask >>= 1)
    if (mask & 1) servers[n++] = v;
  return n;
}

berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r,
                                      const berth_pacml_ahead_options *opts, int32_t *decision,
                                      int32_t *n_block, int32_t *block) {
  berth_pacml_ahead_options o = opts ? *opts : berth_pacml_ahead_default();
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v = { choice, 0, 0, o.horizon };
  berth_status st = check(a, r, &o);
  if (st != BERTH_OK) return st;
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
        size = list_servers(choice[i].block, on);
    berth_pacml_outcome out;
    st = berth_pacml_look_on(r, a->f.env->decisions[choice[i].index], size, on, &out, servers);
    if (st != BERTH_OK) return st;
    if (out.cause != BERTH_PACML_ACCEPTED) continue;
    berth_i_choice kept = { choice[i].index, choice[i].block, 0, out.jct };
    for (int32_t k = 0; k < out.n_servers; k++) kept.servers |= (uint64_t)1 << servers[k];
    choice[v.n++] = kept;
  }
  /* 3. By the network, then by rollouts. */
  int32_t at = berth_i_ahead_prefer(a, &s, &v, o.reject != 0, NULL);
  if (v.n > 0 && o.futures > 0
      && (st = halve(a, &s, r->job, v.n, choice, &o, &at)) != BERTH_OK)
    return st;
  *decision = at < v.n ? a->f.env->decisions[choice[at].index] : 0;
  *n_block = at < v.n ? list_servers(choice[at].block, block) : 0;
  return BERTH_OK;
}
