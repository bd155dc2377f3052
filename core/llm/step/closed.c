/* The time of a step in closed form, and the schedule of its places.
 *
 * 1F1B: stages before the slowest one, all micro-batches on it, stages behind it; the first stages
 * also wait for one way through the stages behind them, and then run what is left. The largest over
 * all stages is exact where stages are alike. */
#include "step_internal.h"

/* s that communication adds to computation beside which it runs. */
static double exposed(double work, double communication) {
  return fmax(0, communication - work) + BERTH_I_LLM_EXPOSED * fmin(communication, work);
}

static double forward_of(const berth_i_llm_place_cost *x) {
  double t = berth_i_llm_sum(&x->pass.forward);
  return t + exposed(t, x->gather[0]);
}

static double input_of(const berth_i_llm_place_cost *x) {
  return berth_i_llm_sum(&x->pass.input);
}

static double weight_of(const berth_i_llm_place_cost *x) {
  double t = berth_i_llm_sum(&x->pass.weight);
  return t + exposed(input_of(x) + t, x->gather[1] + x->reduce);
}

static double backward_of(const berth_i_llm_place_cost *x) { return input_of(x) + weight_of(x); }

double berth_i_llm_exposed_dp(const berth_i_llm_place_cost *x) {
  return exposed(berth_i_llm_sum(&x->pass.forward), x->gather[0])
         + exposed(input_of(x) + berth_i_llm_sum(&x->pass.weight), x->gather[1] + x->reduce);
}

double berth_i_llm_exposed_ends(const berth_i_llm_place_cost *x) {
  return exposed(forward_of(x), x->first_gather) + exposed(backward_of(x), x->last_reduce);
}

static bool joined(const berth_llm_plan *p) {
  return p->schedule == BERTH_LLM_GPIPE || p->schedule == BERTH_LLM_1F1B
         || p->schedule == BERTH_LLM_INTERLEAVED;
}

/* ---- the schedule ---- */

static const char *generator_of(const berth_llm_plan *p) {
  static const char *const names[] = { NULL, "gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v",
                                       "dualpipev" };
  return p->pp == 1 && p->vp == 1 && joined(p) ? "1f1b" : names[p->schedule];
}

berth_status berth_i_llm_schedule(const berth_i_llm_step *s, berth_schedule **out) {
  berth_schedule_problem_options o = berth_schedule_problem_default();
  berth_i_pool pool = berth_i_pool_empty(s->m->pool.ctx);
  size_t n = (size_t)s->n;
  double *x = berth_i_pool_alloc(&pool, 5 * n, sizeof *x);
  if (!x) return berth_i_pool_status(&pool);
  for (size_t i = 0; i < n; i++) {
    const berth_i_llm_place_cost *c = &s->place[i];
    x[i] = forward_of(c);
    x[n + i] = joined(&s->p) ? backward_of(c) : input_of(c);
    x[2 * n + i] = joined(&s->p) ? 0 : weight_of(c);
    x[3 * n + i] = c->p2p;
    x[4 * n + i] = c->stored;
  }
  o.stages = s->p.pp;
  o.microbatches = s->batches;
  o.chunks = s->p.vp;
  o.map = berth_i_llm_is_v(&s->p) ? BERTH_MAP_ZIGZAG : BERTH_MAP_INTERLEAVED;
  o.joined = joined(&s->p);
  o.forward = x, o.backward = x + n, o.weight = x + 2 * n, o.p2p = x + 3 * n;
  o.activations = x + 4 * n;
  o.n_forward = o.n_backward = o.n_weight = o.n_activations = s->n;
  o.n_p2p = s->n - 1;
  if (s->n == 1) o.p2p = NULL;
  berth_schedule_problem *p = NULL;
  berth_status st = berth_schedule_problem_new(s->m->pool.ctx, &o, &p);
  if (st == BERTH_OK) st = berth_schedule_make(p, generator_of(&s->p), out);
  berth_schedule_problem_release(p);
  berth_i_pool_free(&pool);
  return st;
}

/* ---- pipelines ---- */

typedef struct sums {
  double f, b, lag; /* of a stage: all chunks; to the next stage */
} sums;

static sums stage_of(const berth_i_llm_step *s, int32_t stage) {
  sums x = { 0, 0, 0 };
  for (int32_t c = 0; c < s->p.vp; c++) {
    const berth_i_llm_place_cost *place = &s->place[berth_i_llm_place(&s->p, stage, c)];
    x.f += forward_of(place);
    x.b += backward_of(place);
    x.lag += place->p2p / s->p.vp;
  }
  return x;
}

static double gpipe(const berth_i_llm_step *s) {
  double f = 0, b = 0, all = 0;
  for (int32_t i = 0; i < s->p.pp; i++) {
    sums x = stage_of(s, i);
    f = fmax(f, x.f);
    b = fmax(b, x.b);
    all += x.f + x.b + 2 * x.lag;
  }
  return all + (s->batches - 1) * (f + b);
}

static double one_f_one_b(const berth_i_llm_step *s) {
  double before = 0, behind = 0, most = 0, m = s->batches;
  for (int32_t i = 0; i < s->p.pp; i++) {
    sums x = stage_of(s, i);
    behind += x.f + x.b + 2 * x.lag;
  }
  for (int32_t i = 0; i < s->p.pp; i++) {
    sums x = stage_of(s, i);
    double trip = behind - x.f - x.b, warm = fmin(m, s->p.pp - i),
           through = trip + (m - warm + 1) * x.f + m * x.b;
    /* a micro-batch goes down and back before the one `warm` later can start */
    double rounds = floor(m / warm) * (trip + x.f + x.b);
    most = fmax(most, before + fmax(m * (x.f + x.b), fmax(through, rounds)));
    before += x.f + x.b + 2 * x.lag;
    behind = trip - 2 * x.lag;
  }
  return most;
}

static double interleaved(const berth_i_llm_step *s) {
  double all = 0, most = 0, work = 0, lags = 0;
  for (int32_t i = 0; i < s->p.pp; i++) {
    sums x = stage_of(s, i);
    all += x.f + x.b + 2 * x.lag;
    work += x.f + x.b;
  }
  for (int32_t i = 0; i < s->p.pp; i++) {
    sums x = stage_of(s, i);
    most = fmax(most, s->batches * (x.f + x.b) + (all - x.f - x.b) / s->p.vp);
  }
  /* a micro-batch goes through all places and back before one that is as many later as are under
   * way on the first stage can end */
  for (int32_t i = 0; i < s->n; i++) lags += 2 * s->place[i].p2p;
  double v = s->p.vp, under_way = (s->p.pp * (v + 1) - 1) / v;
  return fmax(most, floor(s->batches / under_way) * (work + lags));
}

static berth_status pipeline(const berth_i_llm_step *s, double *out) {
  switch (s->p.schedule) {
  case BERTH_LLM_GPIPE: *out = gpipe(s); return BERTH_OK;
  case BERTH_LLM_1F1B: *out = one_f_one_b(s); return BERTH_OK;
  case BERTH_LLM_INTERLEAVED: *out = interleaved(s); return BERTH_OK;
  default: break;
  }
  berth_schedule *made = NULL;
  berth_schedule_value v;
  berth_status st = berth_i_llm_schedule(s, &made);
  if (st == BERTH_OK) st = berth_schedule_evaluate(made, &v, NULL, NULL, NULL);
  if (st == BERTH_OK) *out = v.makespan;
  berth_schedule_release(made);
  return st;
}

/* ---- data parallelism and the optimiser ---- */

/* Later stages begin later and end sooner by the ways of the first and the last micro-batch; with
 * zero-bubble schedules no sooner, since gradients of weights fill the ends. */
berth_status berth_i_llm_closed(const berth_i_llm_step *s, double *out) {
  double head = 0, tail = 0, lead = 0, slack = 0;
  for (int32_t i = 0; i < s->p.pp; i++) {
    const berth_i_llm_stage_cost *stage = &s->stage[i];
    double begin = 0, end = stage->reduce + stage->optimizer + stage->gather;
    for (int32_t c = 0; c < s->p.vp; c++) {
      const berth_i_llm_place_cost *x = &s->place[berth_i_llm_place(&s->p, i, c)];
      begin += exposed(forward_of(x), x->first_gather);
      end += exposed(backward_of(x), x->last_reduce);
    }
    head = fmax(head, begin - lead);
    tail = fmax(tail, end - slack);
    sums x = stage_of(s, i);
    lead += x.f / s->p.vp;
    if (joined(&s->p)) slack += x.b / s->p.vp;
  }
  berth_status st = pipeline(s, out);
  if (st == BERTH_OK) *out += head + tail;
  return st;
}
