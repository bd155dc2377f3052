/* Estimates: the step in closed form or on the event loop, FLOP, and where the time goes. */
#include "step_internal.h"

const char *berth_llm_time_name(berth_llm_time kind) {
#define NAME(UPPER, lower) #lower,
  static const char *const names[] = { BERTH_LLM_TIMES(NAME) };
#undef NAME
  return kind < BERTH_LLM_TIME_KINDS ? names[kind] : "";
}

static const berth_choice *const forms[] = {
  BERTH_I_CHOICE("events", "The step on the event loop, in the order of the schedule."),
  BERTH_I_CHOICE("closed", "A formula: some 10 us; exact where stages are alike and nothing "
                 "overlaps."), NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_estimate_options, name, kind)
#define FACTOR(name, kind) \
  BERTH_I_OPTION_AT(berth_llm_estimate_options, factors.name, #name, kind)
#define SHIPPED .fallback = "the framework's"

berth_llm_estimate_options berth_llm_estimate_default(void) {
  return (berth_llm_estimate_options){ .form = BERTH_LLM_EVENTS };
}

static void set_defaults(void *out) {
  *(berth_llm_estimate_options *)out = berth_llm_estimate_default();
}

const berth_option_table *berth_llm_estimate_option_table(void) {
  static const berth_option rows[] = {
    { FIELD(form, CHOICE), .choices = forms, .text = "how the step is computed" },
    { FACTOR(products, NUMBER), .high = 100, SHIPPED,
      .text = "matrix products take so many times as long as the kernel" },
    { FACTOR(attention, NUMBER), .high = 100, SHIPPED, .text = "the same of attention" },
    { FACTOR(elementwise, NUMBER), .high = 100, SHIPPED, .text = "of element-wise work" },
    { FACTOR(launch, QUANTITY), .unit = BERTH_SECONDS, SHIPPED,
      .text = "a pass through a layer takes no less" },
    { FACTOR(inside, NUMBER), .high = 1000, SHIPPED,
      .text = "communication within a machine takes so many times as long" },
    { FACTOR(across, NUMBER), .high = 1000, SHIPPED, .text = "the same across machines" },
    { FIELD(error, NUMBER), .high = 10, SHIPPED, .text = "error of the estimate, for its range" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.estimate", rows, berth_llm_estimate_options, set_defaults);
}

static void override(double *x, double given) {
  if (given > 0) *x = given;
}

berth_llm_factors berth_i_llm_factors_for(const berth_llm_plan *p,
                                          const berth_llm_estimate_options *o,
                                          berth_llm_provenance *about) {
  berth_llm_factors f = berth_llm_factors_of(p->framework, about);
  override(&f.products, o->factors.products);
  override(&f.attention, o->factors.attention);
  override(&f.elementwise, o->factors.elementwise);
  override(&f.launch, o->factors.launch);
  override(&f.inside, o->factors.inside);
  override(&f.across, o->factors.across);
  override(&about->worst, o->error);
  return f;
}

/* ---- the event loop ---- */

static berth_status simulate(berth_graph *g, berth_topology *t, const berth_placement *placement,
                             double *step) {
  berth_cost *cost = NULL;
  berth_sim *sim = NULL;
  berth_sim_summary sum;
  berth_sim_options o = berth_sim_default(g);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.memory = BERTH_MEMORY_NONE;
  o.sequence = berth_placement_sequence(placement);
  berth_status st = berth_cost_new(g, t, NULL, &cost);
  if (st == BERTH_OK) st = berth_sim_new(cost, &o, &sim);
  if (st == BERTH_OK) st = berth_sim_run(sim, berth_placement_device(placement), &sum);
  if (st == BERTH_OK) *step = sum.makespan;
  berth_sim_release(sim);
  berth_cost_release(cost);
  return st;
}

static berth_status events(berth_i_llm_step *s, double *step) {
  berth_graph *g;
  berth_topology *t;
  berth_placement *placement;
  berth_status st = berth_i_llm_graph(s, NULL, &g, &t, &placement);
  if (st != BERTH_OK) return st;
  st = simulate(g, t, placement, step);
  berth_placement_release(placement);
  berth_topology_release(t);
  berth_graph_release(g);
  return st;
}

/* ---- the answer ---- */

/* Time by kind of the stage with most work; what is left of the step is waiting, and what data
 * parallelism adds at the end of it. */
static void explain(const berth_i_llm_step *s, berth_llm_estimate *out) {
  const berth_i_llm_stage_cost *stage = s->stage;
  double most = -1, busy = 0;
  for (int32_t i = 0; i < s->p.pp; i++)
    if (stage[i].forward + stage[i].backward > most) {
      most = stage[i].forward + stage[i].backward;
      out->stage = i;
    }
  berth_i_llm_spent sum = { .hidden = 0 };
  for (int32_t i = 0; i < s->n; i++) {
    const berth_i_llm_place_cost *x = &s->place[i];
    if (x->stage != out->stage) continue;
    berth_i_llm_spend(&sum, &x->pass.forward, s->batches);
    berth_i_llm_spend(&sum, &x->pass.input, s->batches);
    berth_i_llm_spend(&sum, &x->pass.weight, s->batches);
    double dp = s->batches * (x->gather[0] + x->gather[1] + x->reduce) + x->first_gather
                + x->last_reduce, shown = s->batches * berth_i_llm_exposed_dp(x)
                + berth_i_llm_exposed_ends(x);
    sum.of[BERTH_LLM_TIME_DP] += shown;
    sum.hidden += dp - shown;
  }
  sum.of[BERTH_LLM_TIME_DP] += stage[out->stage].reduce + stage[out->stage].gather;
  sum.of[BERTH_LLM_TIME_OPTIMIZER] += stage[out->stage].optimizer;
  busy = berth_i_llm_sum(&sum);
  /* what closed forms of single stages do not know of: waiting, or what data parallelism adds */
  double rest = out->step - busy;
  if (fabs(rest) <= 1e-12 * busy) rest = 0;
  if (rest > 0 && s->p.pp > 1) {
    sum.of[BERTH_LLM_TIME_BUBBLE] = rest;
  } else {
    sum.of[BERTH_LLM_TIME_DP] = fmax(0, sum.of[BERTH_LLM_TIME_DP] + rest);
    sum.hidden = fmax(0, sum.hidden - rest);
  }
  memcpy(out->time, sum.of, sizeof out->time);
  out->hidden = sum.hidden;
}

static void rates(const berth_i_llm_step *s, const berth_llm_cluster *c, berth_llm_estimate *out) {
  const berth_llm_gpus *g;
  double peak = 0, again, n = (double)s->batches * s->p.dp;
  int32_t groups = berth_llm_cluster_groups(c, &g);
  for (int32_t k = 0; k < groups; k++) {
    bool fp8 = s->p.dtype == BERTH_LLM_FP8 && g[k].sheet;
    peak += g[k].count * (fp8 ? g[k].sheet->fp8 : g[k].flops);
  }
  berth_i_llm_flop(s->m, &s->p, &out->model_flop, &again);
  out->model_flop *= n;
  out->hardware_flop = out->model_flop + n * again;
  out->tokens = (double)s->p.global_batch * s->p.seq / out->step;
  out->mfu = out->model_flop / out->step / peak;
  out->hfu = out->hardware_flop / out->step / peak;
}

/* Constants that were not fitted to the GPU are some 10 % off in products: docs/kernels.md. */
static void set_range(berth_llm_estimate *out) {
  double worst = out->about.worst + (out->fitted ? 0 : 0.1);
  out->low = out->step / (1 + worst);
  out->high = out->step * (1 + worst);
}

/* The plan filled, and what its step consists of. */
static berth_status begin(const berth_llm *m, const berth_llm_cluster *c,
                          const berth_llm_plan *plan, const berth_llm_estimate_options *opts,
                          berth_i_llm_step *s, berth_llm_estimate *out) {
  berth_llm_plan p = *plan;
  berth_llm_estimate_options o = berth_llm_estimate_default();
  if (opts) o = *opts;
  s->pool = berth_i_pool_empty(m->pool.ctx);
  berth_status st = berth_options_check(m->pool.ctx, berth_llm_estimate_option_table(), &o);
  if (st == BERTH_OK) st = berth_llm_plan_fill(m, c, &p);
  if (st != BERTH_OK) return st;
  *out = (berth_llm_estimate){ .step = 0 };
  out->factors = berth_i_llm_factors_for(&p, &o, &out->about);
  return berth_i_llm_step_make(m, c, &p, &out->factors, s);
}

berth_status berth_llm_estimate_of(const berth_llm *m, const berth_llm_cluster *c,
                                   const berth_llm_plan *plan,
                                   const berth_llm_estimate_options *opts,
                                   berth_llm_estimate *out) {
  if (!m || !c || !plan || !out) return BERTH_EINVAL;
  berth_i_llm_step s;
  berth_llm_estimate e;
  berth_status st = begin(m, c, plan, opts, &s, &e);
  if (st == BERTH_OK)
    st = opts && opts->form == BERTH_LLM_CLOSED ? berth_i_llm_closed(&s, &e.step)
                                                : events(&s, &e.step);
  if (st == BERTH_OK) {
    e.fitted = s.fitted;
    rates(&s, c, &e);
    explain(&s, &e);
    set_range(&e);
    *out = e;
  }
  berth_i_pool_free(&s.pool);
  return st;
}

static berth_status memory_of(const berth_llm *m, const berth_llm_cluster *c,
                              const berth_llm_plan *p, berth_i_pool *pool,
                              berth_llm_memory **out) {
  *out = berth_i_pool_alloc(pool, (size_t)p->pp, sizeof **out);
  berth_status st = berth_i_pool_status(pool);
  return st == BERTH_OK ? berth_llm_memory_of(m, c, p, *out) : st;
}

berth_status berth_llm_graph(const berth_llm *m, const berth_llm_cluster *c,
                             const berth_llm_plan *plan, const berth_llm_estimate_options *opts,
                             berth_graph **graph, berth_topology **topology,
                             berth_placement **placement) {
  if (!m || !c || !plan || !graph || !topology || !placement) return BERTH_EINVAL;
  berth_i_llm_step s;
  berth_llm_estimate e;
  berth_llm_memory *memory;
  berth_status st = begin(m, c, plan, opts, &s, &e);
  if (st == BERTH_OK) st = memory_of(m, c, &s.p, &s.pool, &memory);
  if (st == BERTH_OK) st = berth_i_llm_graph(&s, memory, graph, topology, placement);
  berth_i_pool_free(&s.pool);
  return st;
}
