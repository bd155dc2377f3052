/* A network that scores what a decision leaves behind, and rollouts on it. */
#include "pacml_fast.h"
#include <berth/pacml_ahead.h>

enum { MOMENTS = 6, COUNTED = 6, OWN = 6, MOST_INPUTS = MOMENTS * (COUNTED + 1) + OWN };

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
};

/* A moment of the quick cluster: a job has come. */
typedef struct State {
  double free_at[BERTH_I_FAST_SERVERS];
  double now;
} State;

/* What may be decided: index of the decision, servers, seconds. */
typedef struct Choice {
  int32_t index;
  uint64_t servers;
  double jct;
} Choice;

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

berth_status berth_pacml_ahead_new(berth_pacml *p, int32_t hidden, const berth_pacml_process *process, berth_pacml_ahead **out) {
  berth_ctx *ctx = p->ramp->ctx;
  berth_status st = check_process(ctx, process);
  berth_pacml_ahead *a;
  if (st == BERTH_OK && (hidden < 1 || hidden > 1024))
    st = berth_i_fail(ctx, BERTH_EINVAL, "pacml: hidden: expected 1 to 1024 units, got %d", (int)hidden);
  if (st != BERTH_OK) return st;
  if (!(a = berth_i_zalloc(ctx, 1, sizeof *a))) return berth_i_nomem(ctx);
  if ((st = berth_i_fast_new(p, &a->f)) != BERTH_OK) {
    berth_i_free(ctx, a, 1, sizeof *a);
    return st;
  }
  a->hidden = hidden;
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

/* Decisions that meet the deadline and have room; of several with the same servers and time the first. */
static int32_t list_choices(const berth_pacml_ahead *a, const State *s, const berth_pacml_job *job, Choice *choice) {
  const berth_pacml *env = a->f.env;
  const berth_i_fast_cut *cut = &a->f.cut[job->model * env->n_decisions];
  uint64_t busy = berth_i_fast_busy(&a->f, s->free_at, s->now);
  double limit = job->beta * env->steps * env->model[job->model]->sequential * (1 + 1e-9);
  int32_t n = 0;
  for (int32_t i = 1; i < env->n_decisions; i++) {
    uint64_t servers;
    if (cut[i].jct > limit || (n > 0 && cut[i].jct == choice[n - 1].jct)) continue;
    if ((servers = berth_i_fast_place(&a->f, &cut[i], busy)) != 0) choice[n++] = (Choice){ i, servers, cut[i].jct };
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

static double score(const berth_pacml_ahead *a, const double *w, const double *x) {
  const double *last = w + a->hidden * (a->inputs + 1);
  double sum = last[a->hidden];
  for (int32_t h = 0; h < a->hidden; h++, w += a->inputs + 1) {
    double y = w[a->inputs];
    for (int32_t i = 0; i < a->inputs; i++) y += w[i] * x[i];
    sum += last[h] * squash(y);
  }
  return sum;
}

static double limit_of(const berth_pacml_ahead *a, const berth_pacml_job *job) {
  return job->beta * a->f.env->steps * a->f.env->model[job->model]->sequential;
}

/* Index of the choice with the highest score; n: turn the job away, though it could run. Ties to the first. */
static int32_t prefer(const berth_pacml_ahead *a, const double *w, const State *s, const berth_pacml_job *job, int32_t n,
                      const Choice *choice) {
  double x[MOST_INPUTS], best = -INFINITY;
  int32_t at = n;
  Outlook o;
  if (n == 0) return 0;
  look_out(a, s, &o);
  for (int32_t i = 0; i < n; i++) {
    double y;
    inputs_of(a, &o, &choice[i], limit_of(a, job), x);
    if ((y = score(a, w, x)) > best) best = y, at = i;
  }
  inputs_of(a, &o, NULL, 0, x);
  return score(a, w, x) > best ? n : at;
}

/* @return whether the job is turned away */
static bool step(const berth_pacml_ahead *a, const double *w, State *s, const berth_pacml_job *job) {
  Choice choice[BERTH_I_FAST_DECISIONS];
  int32_t n, at;
  s->now = job->arrival;
  n = list_choices(a, s, job, choice);
  at = prefer(a, w, s, job, n, choice);
  if (at < n) hold(s, &choice[at]);
  return at == n;
}

static berth_status check_jobs(const berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs) {
  for (int32_t j = 0; j < n; j++)
    if (jobs[j].model < 0 || jobs[j].model >= a->f.env->n || !(jobs[j].beta > 0) || !(jobs[j].arrival >= (j > 0 ? jobs[j - 1].arrival : 0)))
      return berth_i_fail(a->f.env->ramp->ctx, BERTH_EINVAL, "pacml: job %d: model %d, beta %g, arrival %g s", (int)j + 1,
                          (int)jobs[j].model + 1, jobs[j].beta, jobs[j].arrival);
  return BERTH_OK;
}

berth_status berth_pacml_ahead_play(berth_pacml_ahead *a, int32_t k, const double *w, int32_t n, const berth_pacml_job *jobs,
                                    int32_t *blocked) {
  berth_status st = check_jobs(a, n, jobs);
  for (int32_t i = 0; st == BERTH_OK && i < k; i++) {
    State s = { { 0 }, 0 };
    blocked[i] = 0;
    for (int32_t v = 0; v < a->f.servers; v++) s.free_at[v] = -1;
    for (int32_t j = 0; j < n; j++) blocked[i] += step(a, w + (size_t)i * (size_t)a->n_weights, &s, &jobs[j]);
    st = berth_i_interrupted(a->f.env->ramp->ctx);
  }
  return st;
}

/* ---- rollouts ------------------------------------------------------------------------------------------------ */

berth_pacml_ahead_options berth_pacml_ahead_defaults(void) { return (berth_pacml_ahead_options){ 32, 24, 0, 1 }; }

static berth_status check(const berth_pacml_ahead *a, const berth_pacml_run *r, const berth_pacml_ahead_options *o) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  if (r->env != a->f.env) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: the run has other models than the planner");
  if (r->job == BERTH_NONE) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: all jobs have been decided about");
  if (o->futures < 0 || o->depth < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: %d futures of %d arrivals", (int)o->futures, (int)o->depth);
  return BERTH_OK;
}

/* Blocked jobs of one future after a choice (NULL: turned away). The same future for every choice. */
static int32_t play_future(const berth_pacml_ahead *a, const State *now, const Choice *c, const berth_pacml_ahead_options *o,
                           uint64_t stream) {
  State s = *now;
  berth_rng rng;
  int32_t blocked = c == NULL;
  double time = s.now;
  berth_rng_init(&rng, o->seed, stream);
  if (c) hold(&s, c);
  for (int32_t k = 0; k < o->depth; k++) {
    berth_pacml_job job;
    time += draw_gap(a, &rng);
    job = draw(a, &rng, time);
    blocked += step(a, a->w, &s, &job);
  }
  return blocked;
}

/* Least blocked; ties to what the network prefers, then to the first. */
static berth_status roll(const berth_pacml_ahead *a, const State *now, int32_t job, int32_t n, const Choice *choice, int32_t preferred,
                         const berth_pacml_ahead_options *o, int32_t *best) {
  int32_t last = o->reject ? n : n - 1, sum[BERTH_I_FAST_DECISIONS + 1] = { 0 };
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

/* Those of the choices that the run accepts, with the servers and times that it has for them. */
static berth_status confirm(const berth_pacml_ahead *a, berth_pacml_run *r, Choice *choice, int32_t *n) {
  int32_t kept = 0, servers[BERTH_I_RAMP_SERVERS];
  for (int32_t i = 0; i < *n; i++) {
    berth_pacml_outcome o;
    berth_status st = berth_pacml_look(r, a->f.env->decisions[choice[i].index], &o, servers);
    if (st != BERTH_OK) return st;
    if (o.cause != BERTH_PACML_ACCEPTED) continue;
    choice[kept] = (Choice){ choice[i].index, 0, o.jct };
    for (int32_t k = 0; k < o.n_servers; k++) choice[kept].servers |= (uint64_t)1 << servers[k];
    kept++;
  }
  *n = kept;
  return BERTH_OK;
}

berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r, const berth_pacml_ahead_options *opts, int32_t *decision) {
  berth_pacml_ahead_options o = opts ? *opts : berth_pacml_ahead_defaults();
  Choice choice[BERTH_I_FAST_DECISIONS];
  berth_status st = check(a, r, &o);
  int32_t n, at;
  State s;
  if (st != BERTH_OK) return st;
  s.now = r->jobs[r->job].arrival;
  for (int32_t v = 0; v < a->f.servers; v++) s.free_at[v] = r->busy[v] ? r->free_at[v] : -1;
  n = list_choices(a, &s, &r->jobs[r->job], choice);
  if ((st = confirm(a, r, choice, &n)) != BERTH_OK) return st;
  at = prefer(a, a->w, &s, &r->jobs[r->job], n, choice);
  if (!o.reject && at == n && n > 0) at = 0;
  if (n > 0 && o.futures > 0 && (st = roll(a, &s, r->job, n, choice, at, &o, &at)) != BERTH_OK) return st;
  *decision = at < n ? a->f.env->decisions[choice[at].index] : 0;
  return BERTH_OK;
}
