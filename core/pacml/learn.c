/* How the planner's network learns: TD(lambda) from games against the arrival process in which it
 * decides itself, now and then at random; and, if requested, differences between choices from
 * rollouts on the way. O(inputs hidden) a weight update, one or two for each job. */
#include "ahead_internal.h"

berth_pacml_learn_options berth_pacml_learn_default(void) {
  return (berth_pacml_learn_options){ 300000, 0.02, 0.0005, 0.02, 0.5, 0, 16, 5 };
}

/* What learning works with. */
typedef struct learner {
  berth_pacml_ahead *a;
  const berth_pacml_learn_options *o;
  berth_rng *rng;
  double *trace;      /* [n_weights] of past gradients */
  double *gradient;   /* [n_weights] */
  berth_i_ahead_state s;
  berth_i_choice choice[BERTH_I_AHEAD_CHOICES];
  berth_i_ahead_view v;
  double expected[BERTH_I_AHEAD_CHOICES + 1]; /* of each choice, by the network */
  double unit[BERTH_I_AHEAD_HIDDEN];
} learner;

static void set_defaults(void *out) {
  *(berth_pacml_learn_options *)out = berth_pacml_learn_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_pacml_learn_options, name, kind)

const berth_option_table *berth_pacml_learn_option_table(void) {
  static const berth_option options[] = {
    { FIELD(jobs, WHOLE), .low = 1, .text = "jobs that are played" },
    { FIELD(rate, NUMBER), .above = 1, .high = 10, .text = "rate of learning at the beginning" },
    { FIELD(last_rate, NUMBER), .high = 10,
      .text = "rate of learning at the end; geometrically in between" },
    { FIELD(explore, NUMBER), .high = 1, .text = "share of choices at random, falling to 0" },
    { FIELD(trace, NUMBER), .high = 1, .text = "lambda of the temporal differences; below 1" },
    { FIELD(futures, WHOLE), .high = 65535,
      .text = "futures of each of the most promising choices, learned from, too; 0: none" },
    { FIELD(depth, WHOLE), .low = 1, .high = 1000000, .text = "arrivals in each" },
    { FIELD(choices, WHOLE), .low = 2, .high = 1000,
      .text = "how many choices are most promising" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("pacml learn", options, berth_pacml_learn_options, set_defaults);
}

static const berth_i_choice *choice_of(const learner *l, int32_t i) {
  return i < l->v.n ? &l->choice[i] : NULL;
}

/* ---- rollouts ---- */

/* The differences between choices move towards what the same futures make of them: what the futures
 * have in common drops out. */
static void learn_choices(learner *l, double rate) {
  berth_pacml_ahead *a = l->a;
  berth_pacml_ahead_options o = { .futures = l->o->futures, .depth = l->o->depth,
                                  .seed = berth_rng_u64(l->rng), .reject = 1,
                                  .horizon = INFINITY };
  /* 1. The choices with least to be blocked, by the network. */
  int32_t best[BERTH_I_AHEAD_CHOICES + 1], n = 0;
  for (int32_t i = 0; i <= l->v.n; i++) {
    if (n == l->o->choices && l->expected[i] >= l->expected[best[n - 1]]) continue;
    int32_t at = n < l->o->choices ? n++ : n - 1;
    for (; at > 0 && l->expected[best[at - 1]] > l->expected[i]; at--) best[at] = best[at - 1];
    best[at] = i;
  }
  if (n < 2) return;
  /* 2. What their futures come to. */
  double rolled[BERTH_I_AHEAD_CHOICES + 1], mean = 0;
  for (int32_t i = 0; i < n; i++) {
    double sum = 0;
    for (int32_t k = 0; k < o.futures; k++)
      sum += berth_i_ahead_future(a, &l->s, choice_of(l, best[i]), &o, (uint64_t)k);
    rolled[i] = sum / o.futures;
    mean += (rolled[i] - l->expected[best[i]]) / n;
  }
  /* 3. A step along the gradient of the errors less their mean. */
  memset(l->gradient, 0, (size_t)a->n_weights * sizeof *l->gradient);
  double x[BERTH_I_AHEAD_INPUTS];
  for (int32_t i = 0; i < n; i++) {
    double error = rolled[i] - l->expected[best[i]] - mean;
    berth_i_ahead_inputs(a, &l->s, choice_of(l, best[i]), l->v.limit, x);
    berth_i_ahead_value(a, x, l->unit);
    berth_i_ahead_gradient(a, error * a->discount, l->gradient, x, l->unit);
  }
  for (int32_t i = 0; i < a->n_weights; i++) a->w[i] += rate * l->gradient[i];
}

/* ---- games ---- */

static berth_status games(learner *l, double *blocked) {
  double before[BERTH_I_AHEAD_INPUTS] = { 0 }, x[BERTH_I_AHEAD_INPUTS], time = 0;
  const berth_pacml_learn_options *o = l->o;
  int32_t sum = 0, every = o->futures > 0 ? 16 : 1024;
  for (int32_t j = 0; j < o->jobs; j++) {
    double part = (double)j / o->jobs, rate = o->rate * pow(o->last_rate / o->rate, part);
    berth_pacml_job job = berth_i_ahead_draw(l->a, l->rng, time);
    /* A job comes and is decided about by the network, now and then at random. Following the
     * rollouts instead would teach the network what it is worth to be where it does not come by
     * itself. */
    double share = o->explore * (1 - part);
    l->s.now = job.arrival;
    l->v = (berth_i_ahead_view){ l->choice, berth_i_ahead_choices(l->a, &l->s, &job, l->choice),
                                 berth_i_ahead_limit(l->a, &job), INFINITY };
    int32_t at = berth_i_ahead_prefer(l->a, &l->s, &l->v, true, l->expected);
    if (l->o->futures > 0) learn_choices(l, rate);
    if (l->v.n > 0 && berth_rng_uniform(l->rng) < share) at = berth_rng_below(l->rng, l->v.n);
    berth_i_ahead_inputs(l->a, &l->s, choice_of(l, at), l->v.limit, x);
    if (at < l->v.n) berth_i_ahead_hold(l->a, &l->s, &l->choice[at]);
    bool refused = at == l->v.n;
    sum += refused;
    *blocked = (double)sum / (j + 1);
    if (j > 0) {
      /* TD(lambda): the value of what the last choice left behind moves towards what came of it. */
      berth_pacml_ahead *a = l->a;
      double next = berth_i_ahead_value(a, x, l->unit),
             old = berth_i_ahead_value(a, before, l->unit);
      double step = rate * (refused + a->discount * next - old),
             fade = l->o->trace * a->discount;
      for (int32_t i = 0; i < a->n_weights; i++) l->trace[i] *= fade;
      berth_i_ahead_gradient(a, 1, l->trace, before, l->unit);
      for (int32_t i = 0; i < a->n_weights; i++) a->w[i] += step * l->trace[i];
    }
    memcpy(before, x, sizeof x);
    time += berth_i_ahead_gap(l->a, l->rng);
    if (j % every == 0) {
      berth_status st = berth_i_interrupted(l->a->f.env->ramp->ctx);
      if (st != BERTH_OK) return st;
    }
  }
  return BERTH_OK;
}

berth_status berth_pacml_ahead_learn(berth_pacml_ahead *a, const berth_pacml_learn_options *opts,
                                     berth_rng *rng, double *blocked) {
  if (!a) return BERTH_EINVAL;
  berth_pacml_learn_options o = opts ? *opts : berth_pacml_learn_default();
  berth_ctx *ctx = a->f.env->ramp->ctx;
  size_t n = (size_t)a->n_weights;
  if (o.trace == 1) return berth_i_fail(ctx, BERTH_EINVAL, "option trace is 1 (below 1)");
  berth_status st = berth_options_check(ctx, berth_pacml_learn_option_table(), &o);
  if (st != BERTH_OK) return st;
  learner *l;
  if (!(l = berth_i_zalloc(ctx, 1, sizeof *l))) return berth_i_nomem(ctx);
  l->a = a;
  l->o = &o;
  l->rng = rng;
  l->s = berth_i_ahead_empty(a);
  l->trace = berth_i_zalloc(ctx, n, sizeof *l->trace);
  l->gradient = berth_i_zalloc(ctx, n, sizeof *l->gradient);
  if (!l->trace || !l->gradient) {
    st = berth_i_nomem(ctx);
  } else {
    int32_t inner = a->hidden * (a->inputs + 1);
    for (int32_t i = 0; i < a->n_weights && a->is_new; i++)
      a->w[i] = i < inner ? 0.3 * berth_rng_normal(rng) : 0;
    a->is_new = a->is_chosen = false;
    st = games(l, blocked);
  }
  berth_i_free(ctx, l->trace, n, sizeof *l->trace);
  berth_i_free(ctx, l->gradient, n, sizeof *l->gradient);
  berth_i_free(ctx, l, 1, sizeof *l);
  return st;
}
