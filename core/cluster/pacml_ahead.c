/* A network that scores what a decision leaves behind, and rollouts on it. */
#include "pacml_fast.h"
#include <berth/pacml_ahead.h>

enum { MOMENTS = 6, COUNTED = 6, OWN = 6, MOST_INPUTS = MOMENTS * (COUNTED + 1) + OWN };

#define SLACK 1e-7 /* s, as the run has it */

/* Mean gaps after now at which the network is told what is free. */
static const double moment[MOMENTS] = { 1, 2, 3, 5, 8, 13 };

struct berth_pacml_ahead {
  berth_i_fast f;
  int32_t hidden, inputs, n_weights;
  int32_t n_counted, counted[COUNTED], blocks[COUNTED]; /* sizes of blocks that are counted, of how many */
  double *w;                    /* [n_weights] */
  berth_pacml_process process;  /* beta and mass are ours */
  double *cumulative;           /* [process.n] */
  double gap;                   /* s, mean */
  int32_t n_blocks;             /* that are choices, of each decision */
  double discount;              /* of what is blocked one arrival later */
};

/* A moment of the quick cluster: a job has come. */
typedef struct State {
  double free_at[BERTH_I_FAST_SERVERS];
  double now;
} State;

/* What may be decided: index of the decision, block of the ops with most pieces (0: the first that fits), all servers, seconds. */
typedef struct Choice {
  int32_t index;
  uint64_t block, servers;
  double jct;
} Choice;

enum { MOST_CHOICES = BERTH_I_FAST_DECISIONS * 8 };

/* ---- life -------------------------------------------------------------------------------------------- */

static berth_status check_process(berth_ctx *ctx, const berth_pacml_process *p) {
  double sum = 0;
  if (!(p->gap_least > 0) || !(p->gap_most >= p->gap_least) || isinf(p->gap_most))
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: gaps between arrivals: expected 0 < least <= most, got %g and %g", p->gap_least, p->gap_most);
  if (p->n < 1) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: no betas");
  for (int32_t i = 0; i < p->n; i++) {
    if (!(p->beta[i] > 0) || isinf(p->beta[i])) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: beta %d: expected a finite number above 0, got %g", (int)i + 1, p->beta[i]);
    if (!(p->mass[i] >= 0) || isinf(p->mass[i])) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: mass %d: expected a finite number not below 0, got %g", (int)i + 1, p->mass[i]);
    sum += p->mass[i];
  }
  if (!(sum > 0)) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: the masses of the betas add up to %g", sum);
  return BERTH_OK;
}

void berth_pacml_ahead_release(berth_pacml_ahead *a) {
  berth_ctx *ctx;
  if (!a) return;
  ctx = a->f.env->ramp->ctx;
  berth_ctx_retain(ctx);
  berth_i_free(ctx, a->w, (size_t)a->n_weights, sizeof *a->w);
  berth_i_free(ctx, (void *)a->process.beta, (size_t)a->process.n, sizeof *a->process.beta);
  berth_i_free(ctx, a->cumulative, (size_t)a->process.n, sizeof *a->cumulative);
  berth_i_fast_release(&a->f);
  berth_i_free(ctx, a, 1, sizeof *a);
  berth_ctx_release(ctx);
}

/* The first blocks of a size, in the order in which they are tried, stand for all of them. */
static int32_t blocks_counted(const berth_i_fast *f, int32_t size) {
  int32_t n = f->first[size + 1] - f->first[size];
  return n < 24 ? n : 24;
}

static void choose_sizes(berth_pacml_ahead *a) {
  for (int32_t k = 2; k <= a->f.env->most && a->n_counted < COUNTED; k *= 2) {
    if (!a->f.env->legal[k]) continue;
    a->counted[a->n_counted] = k;
    a->blocks[a->n_counted++] = blocks_counted(&a->f, k);
  }
  a->inputs = MOMENTS * (a->n_counted + 1) + OWN;
  a->n_weights = a->hidden * (a->inputs + 1) + a->hidden + 1;
}

static berth_status fill(berth_pacml_ahead *a, const berth_pacml_process *p) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  double *beta, sum = 0;
  a->process = *p;
  a->process.beta = a->process.mass = beta = berth_i_alloc(ctx, (size_t)p->n, sizeof *beta);
  if (!beta || !(a->cumulative = berth_i_alloc(ctx, (size_t)p->n, sizeof *a->cumulative)) ||
      !(a->w = berth_i_zalloc(ctx, (size_t)a->n_weights, sizeof *a->w)))
    return berth_i_nomem(ctx);
  for (int32_t i = 0; i < p->n; i++) {
    beta[i] = p->beta[i];
    a->cumulative[i] = sum += p->mass[i];
  }
  a->gap = (p->gap_least + p->gap_most) / 2;
  return BERTH_OK;
}

berth_status berth_pacml_ahead_new(berth_pacml *p, int32_t hidden, int32_t blocks, double discount,
                                   const berth_pacml_process *process, berth_pacml_ahead **out) {
  berth_ctx *ctx = p->ramp->ctx;
  berth_status st = check_process(ctx, process);
  berth_pacml_ahead *a;
  if (st == BERTH_OK && (hidden < 1 || hidden > 1024))
    st = berth_i_fail(ctx, BERTH_EINVAL, "pacml: hidden: expected 1 to 1024 units, got %d", (int)hidden);
  if (st == BERTH_OK && (blocks < 1 || blocks > 8))
    st = berth_i_fail(ctx, BERTH_EINVAL, "pacml: blocks: expected 1 to 8 choices for each number of pieces, got %d", (int)blocks);
  if (st == BERTH_OK && !(discount >= 0 && discount < 1))
    st = berth_i_fail(ctx, BERTH_EINVAL, "pacml: discount: expected 0 to below 1, got %g", discount);
  if (st != BERTH_OK) return st;
  if (!(a = berth_i_zalloc(ctx, 1, sizeof *a))) return berth_i_nomem(ctx);
  if ((st = berth_i_fast_new(p, &a->f)) != BERTH_OK) {
    berth_i_free(ctx, a, 1, sizeof *a);
    return st;
  }
  a->hidden = hidden;
  a->n_blocks = blocks;
  a->discount = discount;
  choose_sizes(a);
  if ((st = fill(a, process)) == BERTH_OK) *out = a;
  else berth_pacml_ahead_release(a);
  return st;
}

int32_t berth_pacml_ahead_inputs(const berth_pacml_ahead *a) { return a->inputs; }
int32_t berth_pacml_ahead_weights(const berth_pacml_ahead *a) { return a->n_weights; }

berth_status berth_pacml_ahead_set(berth_pacml_ahead *a, const double *w) {
  for (int32_t i = 0; i < a->n_weights; i++)
    if (!isfinite(w[i])) return berth_i_fail(a->f.env->ramp->ctx, BERTH_EINVAL, "pacml: weight %d is %g", (int)i + 1, w[i]);
  memcpy(a->w, w, (size_t)a->n_weights * sizeof *w);
  return BERTH_OK;
}

void berth_pacml_ahead_get(const berth_pacml_ahead *a, double *w) { memcpy(w, a->w, (size_t)a->n_weights * sizeof *w); }

/* ---- jobs --------------------------------------------------------------------------------------------- */

static berth_pacml_job draw(const berth_pacml_ahead *a, berth_rng *rng, double arrival) {
  int32_t low = 0, high = a->process.n - 1;
  int32_t model = berth_rng_below(rng, a->f.env->n);
  double u = berth_rng_uniform(rng) * a->cumulative[high];
  while (low < high) {
    int32_t mid = (low + high) / 2;
    if (a->cumulative[mid] > u) high = mid;
    else low = mid + 1;
  }
  return (berth_pacml_job){ arrival, a->process.beta[low], model };
}

static double draw_gap(const berth_pacml_ahead *a, berth_rng *rng) {
  double least = a->process.gap_least, most = a->process.gap_most;
  return least == most ? least : least + (most - least) * berth_rng_uniform(rng);
}

void berth_pacml_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, int32_t n, berth_pacml_job *jobs) {
  double time = 0;
  for (int32_t j = 0; j < n; j++) {
    jobs[j] = draw(a, rng, time);
    time += draw_gap(a, rng);
  }
}

/* ---- the quick cluster ---------------------------------------------------------------------------------- */

/* How much is broken up: many servers, few large blocks left. */
static int32_t harm(const berth_pacml_ahead *a, uint64_t taken, uint64_t busy) {
  int32_t cost = 0;
  for (uint64_t b = taken; b; b &= b - 1) cost += 64;
  for (int32_t k = 1; k < a->n_counted; k++) {
    const uint64_t *block = a->f.block + a->f.first[a->counted[k]];
    for (int32_t i = 0; i < a->blocks[k]; i++) cost -= (block[i] & (busy | taken)) ? 0 : k;
  }
  return cost;
}

/* The first block that fits, and those that do least harm; of equals the first. */
static int32_t list_blocks(const berth_pacml_ahead *a, const berth_i_fast_cut *cut, int32_t index, uint64_t busy, Choice *choice) {
  int32_t size = cut->size[0], n = 0, cost[8];
  uint64_t first = berth_i_fast_place(&a->f, cut, busy, 0);
  if (!first) return 0;
  choice[n++] = (Choice){ index, 0, first, cut->jct };
  if (a->n_blocks < 2) return n;
  cost[0] = INT32_MIN;
  for (int32_t i = a->f.first[size]; i < a->f.first[size + 1]; i++) {
    uint64_t block = a->f.block[i], servers;
    int32_t c, at;
    if ((block & busy) || !(servers = berth_i_fast_place(&a->f, cut, busy, block)) || servers == first) continue;
    c = harm(a, servers, busy);
    if (n == a->n_blocks && c >= cost[n - 1]) continue;
    at = n < a->n_blocks ? n++ : n - 1;
    for (; at > 1 && cost[at - 1] > c; at--) cost[at] = cost[at - 1], choice[at] = choice[at - 1];
    cost[at] = c;
    choice[at] = (Choice){ index, block, servers, cut->jct };
  }
  return n;
}

/* Decisions that meet the deadline and have room; of several with the same time the first. */
static int32_t list_choices(const berth_pacml_ahead *a, const State *s, const berth_pacml_job *job, Choice *choice) {
  const berth_pacml *env = a->f.env;
  const berth_i_fast_cut *cut = &a->f.cut[job->model * env->n_decisions];
  uint64_t busy = berth_i_fast_busy(&a->f, s->free_at, s->now);
  double limit = job->beta * env->steps * env->model[job->model]->sequential * (1 + 1e-9);
  int32_t n = 0;
  for (int32_t i = 1; i < env->n_decisions; i++) {
    if (cut[i].jct > limit || (n > 0 && cut[i].jct == choice[n - 1].jct)) continue;
    n += list_blocks(a, &cut[i], i, busy, choice + n);
  }
  return n;
}

static void hold(State *s, const Choice *c) {
  uint64_t left = c->servers;
  for (int32_t v = 0; left; v++, left >>= 1)
    if (left & 1) s->free_at[v] = s->now + c->jct;
}

/* ---- the network ------------------------------------------------------------------------------------------ */

/* What is free at the moments to come if nobody else arrives. */
typedef struct Outlook {
  uint64_t busy[MOMENTS];
  double x[MOMENTS][COUNTED + 1];
} Outlook;

static void look_at(const berth_pacml_ahead *a, uint64_t busy, double *x) {
  int32_t n_free = a->f.servers;
  for (uint64_t b = busy & a->f.all; b; b &= b - 1) n_free--;
  x[0] = (double)n_free / a->f.servers;
  for (int32_t k = 0; k < a->n_counted; k++) {
    const uint64_t *block = a->f.block + a->f.first[a->counted[k]];
    int32_t n = 0;
    for (int32_t i = 0; i < a->blocks[k]; i++) n += !(block[i] & busy);
    x[k + 1] = (double)n / a->blocks[k];
  }
}

static void look_out(const berth_pacml_ahead *a, const State *s, Outlook *o) {
  for (int32_t i = 0; i < MOMENTS; i++) {
    o->busy[i] = berth_i_fast_busy(&a->f, s->free_at, s->now + moment[i] * a->gap);
    if (i > 0 && o->busy[i] == o->busy[i - 1]) memcpy(o->x[i], o->x[i - 1], sizeof o->x[i]);
    else look_at(a, o->busy[i], o->x[i]);
  }
}

/* c NULL: the job is turned away. */
static void inputs_of(const berth_pacml_ahead *a, const Outlook *o, const Choice *c, double limit, double *x) {
  int32_t at = 0, width = a->n_counted + 1, n = 0;
  for (int32_t i = 0; i < MOMENTS; i++, at += width) {
    if (c && c->jct > moment[i] * a->gap) look_at(a, o->busy[i] | c->servers, x + at);
    else memcpy(x + at, o->x[i], (size_t)width * sizeof *x);
  }
  for (uint64_t b = c ? c->servers : 0; b; b &= b - 1) n++;
  x[at++] = c == NULL;
  x[at++] = (double)n / a->f.servers;
  x[at++] = c ? log2(1 + c->jct / a->gap) / 5 : 0;
  x[at++] = c ? c->jct / a->gap * n / a->f.servers : 0;
  x[at++] = c ? c->jct / limit : 0;
  x[at++] = c ? c->jct * (1 - c->jct / limit) / a->gap / 10 : 0;
}

static double squash(double x) { return x / (1 + fabs(x)); }

/* Jobs that will be blocked after a choice, discounted.  @param unit [hidden] out: before squashing; NULL: not wanted */
static double value(const berth_pacml_ahead *a, const double *w, const double *x, double *unit) {
  const double *last = w + a->hidden * (a->inputs + 1);
  double sum = last[a->hidden];
  for (int32_t h = 0; h < a->hidden; h++, w += a->inputs + 1) {
    double y = w[a->inputs];
    for (int32_t i = 0; i < a->inputs; i++) y += w[i] * x[i];
    if (unit) unit[h] = y;
    sum += last[h] * squash(y);
  }
  return sum;
}

/* Adds the gradient of the value at x by the weights to g. */
static void add_gradient_to(const berth_pacml_ahead *a, double *g, const double *x, const double *unit) {
  const double *last = a->w + a->hidden * (a->inputs + 1);
  double *g_last = g + a->hidden * (a->inputs + 1);
  for (int32_t h = 0; h < a->hidden; h++, g += a->inputs + 1) {
    double slope = 1 + fabs(unit[h]), back = last[h] / (slope * slope);
    g_last[h] += squash(unit[h]);
    for (int32_t i = 0; i < a->inputs; i++) g[i] += back * x[i];
    g[a->inputs] += back;
  }
  g_last[a->hidden] += 1;
}

static double limit_of(const berth_pacml_ahead *a, const berth_pacml_job *job) {
  return job->beta * a->f.env->steps * a->f.env->model[job->model]->sequential;
}

/* Index of the choice with the least to be blocked; n: the job is turned away. Ties to the first.
 * @param x [MOST_INPUTS] out: what the network saw of it  @param least out: what will be blocked, this job included */
static int32_t prefer(const berth_pacml_ahead *a, const double *w, const State *s, const berth_pacml_job *job, int32_t n,
                      const Choice *choice, bool reject, double horizon, double *x, double *least) {
  double y[MOST_INPUTS];
  int32_t at = n;
  Outlook o;
  look_out(a, s, &o);
  inputs_of(a, &o, NULL, 0, x);
  *least = n == 0 || reject ? 1 + a->discount * value(a, w, x, NULL) : INFINITY;
  for (int32_t i = 0; i < n; i++) {
    double v;
    inputs_of(a, &o, &choice[i], limit_of(a, job), y);
    v = a->discount * value(a, w, y, NULL) + (s->now + choice[i].jct > horizon + SLACK);
    if (!(v < *least)) continue;
    *least = v;
    at = i;
    memcpy(x, y, sizeof y);
  }
  return at;
}

/* @return whether the job is blocked */
static bool step(const berth_pacml_ahead *a, const double *w, State *s, const berth_pacml_job *job, double horizon, double *x) {
  Choice choice[MOST_CHOICES];
  double least;
  int32_t n, at;
  s->now = job->arrival;
  n = list_choices(a, s, job, choice);
  at = prefer(a, w, s, job, n, choice, true, horizon, x, &least);
  if (at == n) return true;
  hold(s, &choice[at]);
  return s->now + choice[at].jct > horizon + SLACK;
}

static berth_status check_jobs(const berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs) {
  for (int32_t j = 0; j < n; j++)
    if (jobs[j].model < 0 || jobs[j].model >= a->f.env->n || !(jobs[j].beta > 0) || !(jobs[j].arrival >= (j > 0 ? jobs[j - 1].arrival : 0)))
      return berth_i_fail(a->f.env->ramp->ctx, BERTH_EINVAL, "pacml: job %d: model %d, beta %g, arrival %g s", (int)j,
                          (int)jobs[j].model + 1, jobs[j].beta, jobs[j].arrival);
  return BERTH_OK;
}

static State empty(const berth_pacml_ahead *a) {
  State s = { { 0 }, 0 };
  for (int32_t v = 0; v < a->f.servers; v++) s.free_at[v] = -1;
  return s;
}

berth_status berth_pacml_ahead_play(berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs, int32_t *blocked) {
  berth_status st = check_jobs(a, n, jobs);
  double x[MOST_INPUTS];
  State s = empty(a);
  if (st != BERTH_OK) return st;
  *blocked = 0;
  for (int32_t j = 0; j < n; j++) *blocked += step(a, a->w, &s, &jobs[j], INFINITY, x);
  return BERTH_OK;
}

/* ---- learning ------------------------------------------------------------------------------------------------ */

berth_pacml_learn_options berth_pacml_learn_defaults(void) { return (berth_pacml_learn_options){ 300000, 0.02, 0.0005, 0.02, 0.5 }; }

static berth_status check_learning(const berth_pacml_ahead *a, const berth_pacml_learn_options *o) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  if (o->jobs < 1) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: jobs to learn from: expected at least 1, got %d", (int)o->jobs);
  if (!(o->rate > 0) || !(o->last_rate >= 0) || !(o->rate < 10) || !(o->last_rate < 10))
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: rates of learning: %g to %g", o->rate, o->last_rate);
  if (!(o->explore >= 0 && o->explore <= 1) || !(o->trace >= 0 && o->trace < 1))
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: explore %g, trace %g: expected 0 to 1", o->explore, o->trace);
  return BERTH_OK;
}

/* With some probability any of the choices, else the preferred one. @return whether the job is turned away */
static bool explore(const berth_pacml_ahead *a, State *s, const berth_pacml_job *job, double share, berth_rng *rng, double *x) {
  Choice choice[MOST_CHOICES];
  double least;
  int32_t n, at;
  s->now = job->arrival;
  n = list_choices(a, s, job, choice);
  at = prefer(a, a->w, s, job, n, choice, true, INFINITY, x, &least);
  if (n > 0 && berth_rng_uniform(rng) < share) {
    Outlook o;
    at = berth_rng_below(rng, n);
    look_out(a, s, &o);
    inputs_of(a, &o, &choice[at], limit_of(a, job), x);
  }
  if (at < n) hold(s, &choice[at]);
  return at == n;
}

/* TD(lambda): the value of what the last choice left behind moves towards what came of it. */
static void learn_from(berth_pacml_ahead *a, const double *before, const double *x, bool blocked, double rate, double *trace,
                       double fade) {
  double unit[1024], old = value(a, a->w, before, unit);
  double error = blocked + a->discount * value(a, a->w, x, NULL) - old;
  for (int32_t i = 0; i < a->n_weights; i++) trace[i] *= fade * a->discount;
  add_gradient_to(a, trace, before, unit);
  for (int32_t i = 0; i < a->n_weights; i++) a->w[i] += rate * error * trace[i];
}

static void first_weights(berth_pacml_ahead *a, berth_rng *rng) {
  int32_t n = a->hidden * (a->inputs + 1);
  for (int32_t i = 0; i < n; i++) a->w[i] = 0.3 * berth_rng_normal(rng);
  for (int32_t i = n; i < a->n_weights; i++) a->w[i] = 0;
}

static bool is_new(const berth_pacml_ahead *a) {
  for (int32_t i = 0; i < a->n_weights; i++)
    if (a->w[i] != 0) return false;
  return true;
}

berth_status berth_pacml_ahead_learn(berth_pacml_ahead *a, const berth_pacml_learn_options *opts, berth_rng *rng,
                                     double *blocked) {
  berth_pacml_learn_options o = opts ? *opts : berth_pacml_learn_defaults();
  berth_ctx *ctx = a->f.env->ramp->ctx;
  double before[MOST_INPUTS] = { 0 }, x[MOST_INPUTS], *trace = NULL, time = 0;
  berth_status st = check_learning(a, &o);
  int32_t sum = 0;
  State s = empty(a);
  if (st != BERTH_OK) return st;
  if (!(trace = berth_i_zalloc(ctx, (size_t)a->n_weights, sizeof *trace))) return berth_i_nomem(ctx);
  if (is_new(a)) first_weights(a, rng);
  for (int32_t j = 0; st == BERTH_OK && j < o.jobs; j++) {
    double part = (double)j / o.jobs, rate = o.rate * pow(o.last_rate / o.rate, part);
    berth_pacml_job job = draw(a, rng, time);
    bool turned_away = explore(a, &s, &job, o.explore * (1 - part), rng, x);
    sum += turned_away;
    if (j > 0) learn_from(a, before, x, turned_away, rate, trace, o.trace);
    memcpy(before, x, sizeof x);
    time += draw_gap(a, rng);
    if (j % 1024 == 0) st = berth_i_interrupted(ctx);
  }
  *blocked = (double)sum / o.jobs;
  berth_i_free(ctx, trace, (size_t)a->n_weights, sizeof *trace);
  return st;
}

/* ---- rollouts ------------------------------------------------------------------------------------------------ */

berth_pacml_ahead_options berth_pacml_ahead_defaults(void) { return (berth_pacml_ahead_options){ 32, 24, 0, 1, INFINITY }; }

static berth_status check(const berth_pacml_ahead *a, const berth_pacml_run *r, const berth_pacml_ahead_options *o) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  if (r->env != a->f.env) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: the run has other models than the planner");
  if (r->job == BERTH_NONE) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: all jobs have been decided about");
  if (!(o->horizon >= 0)) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: horizon: expected a time not below 0, got %g", o->horizon);
  if (o->futures < 0 || o->depth < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: %d futures of %d arrivals", (int)o->futures, (int)o->depth);
  return BERTH_OK;
}

/* What is blocked in one future after a choice (NULL: turned away), discounted; at its end what the network expects. The same future
 * for every choice. */
static double play_future(const berth_pacml_ahead *a, const State *now, const Choice *c, const berth_pacml_ahead_options *o,
                          uint64_t stream) {
  State s = *now;
  berth_rng rng;
  double sum = c == NULL || s.now + c->jct > o->horizon + SLACK, weight = 1, time = s.now, x[MOST_INPUTS];
  berth_rng_init(&rng, o->seed, stream);
  if (c) hold(&s, c);
  for (int32_t k = 0; k < o->depth; k++) {
    berth_pacml_job job;
    time += draw_gap(a, &rng);
    if (time > o->horizon) return sum;
    job = draw(a, &rng, time);
    weight *= a->discount;
    if (step(a, a->w, &s, &job, o->horizon, x)) sum += weight;
  }
  return sum + weight * a->discount * value(a, a->w, x, NULL);
}

/* Least blocked; ties to what the network prefers, then to the first. */
static berth_status roll(const berth_pacml_ahead *a, const State *now, int32_t job, int32_t n, const Choice *choice,
                         int32_t preferred, const berth_pacml_ahead_options *o, int32_t *best) {
  int32_t last = o->reject ? n : n - 1;
  double sum[MOST_CHOICES + 1] = { 0 };
  for (int32_t k = 0; k < o->futures; k++) {
    uint64_t stream = (uint64_t)job * 65536 + (uint64_t)k;
    berth_status st = berth_i_interrupted(a->f.env->ramp->ctx);
    if (st != BERTH_OK) return st;
    for (int32_t i = 0; i <= last; i++) sum[i] += play_future(a, now, i < n ? &choice[i] : NULL, o, stream);
  }
  *best = preferred <= last ? preferred : 0;
  for (int32_t i = 0; i <= last; i++)
    if (sum[i] < sum[*best]) *best = i;
  return BERTH_OK;
}

static int32_t list_servers(uint64_t mask, int32_t *servers) {
  int32_t n = 0;
  for (int32_t v = 0; mask; v++, mask >>= 1)
    if (mask & 1) servers[n++] = v;
  return n;
}

/* Those of the choices that the run accepts, with the servers and times that it has for them. */
static berth_status confirm(const berth_pacml_ahead *a, berth_pacml_run *r, Choice *choice, int32_t *n) {
  int32_t kept = 0, servers[BERTH_I_RAMP_SERVERS], block[BERTH_I_FAST_SERVERS];
  for (int32_t i = 0; i < *n; i++) {
    berth_pacml_outcome o;
    int32_t size = list_servers(choice[i].block, block);
    berth_status st = berth_pacml_look_on(r, a->f.env->decisions[choice[i].index], size, block, &o, servers);
    if (st != BERTH_OK) return st;
    if (o.cause != BERTH_PACML_ACCEPTED) continue;
    choice[kept] = (Choice){ choice[i].index, choice[i].block, 0, o.jct };
    for (int32_t k = 0; k < o.n_servers; k++) choice[kept].servers |= (uint64_t)1 << servers[k];
    kept++;
  }
  *n = kept;
  return BERTH_OK;
}

berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r, const berth_pacml_ahead_options *opts,
                                      int32_t *decision, int32_t *n_block, int32_t *block) {
  berth_pacml_ahead_options o = opts ? *opts : berth_pacml_ahead_defaults();
  Choice choice[MOST_CHOICES];
  berth_status st = check(a, r, &o);
  double x[MOST_INPUTS], least;
  int32_t n, at;
  State s;
  if (st != BERTH_OK) return st;
  s.now = r->jobs[r->job].arrival;
  for (int32_t v = 0; v < a->f.servers; v++) s.free_at[v] = r->busy[v] ? r->free_at[v] : -1;
  n = list_choices(a, &s, &r->jobs[r->job], choice);
  if ((st = confirm(a, r, choice, &n)) != BERTH_OK) return st;
  at = prefer(a, a->w, &s, &r->jobs[r->job], n, choice, o.reject != 0, o.horizon, x, &least);
  if (n > 0 && o.futures > 0 && (st = roll(a, &s, r->job, n, choice, at, &o, &at)) != BERTH_OK) return st;
  *decision = at < n ? a->f.env->decisions[choice[at].index] : 0;
  *n_block = at < n ? list_servers(choice[at].block, block) : 0;
  return BERTH_OK;
}
