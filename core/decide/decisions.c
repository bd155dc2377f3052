/* Searching decisions: the problem checked and copied, options, creation. Tables are the decider's
 * own, sorted once by position, seam and weight; functions stay the caller's. */
#include "decide_internal.h"
#include "base/sort_internal.h"

static const double ANY_EVALUATIONS = 1e15;

berth_decide_options berth_decide_default(int published) {
  berth_decide_options o = { 0 };
  o.method = published ? BERTH_DECIDE_TREE : BERTH_DECIDE_MCTS;
  o.calls = 800;
  o.exploration = 1;
  o.batch = 1;
  o.virtual_loss = 1;
  o.uniform_part = 0.5;
  o.informed_part = 0.3;
  o.several_part = 0.6;
  o.tree_part = 0.3;
  o.t_start = 0.003;
  o.t_end = 2e-4;
  if (published) return o;
  o.uniform = 1;
  o.skip_known = 1;
  o.first_play = 1;
  o.best_part = 0.9;
  o.scale = 0.1;
  o.exploration = 0.1;
  return o;
}

/* ---- checks ---- */

static berth_status check_legal(berth_ctx *ctx, const berth_decisions *p) {
  for (int32_t i = 0; i < p->n && p->legal; i++) {
    int32_t a = 0;
    while (a < p->n_actions && !p->legal[(size_t)i * (size_t)p->n_actions + (size_t)a]) a++;
    if (a == p->n_actions)
      return berth_i_fail(ctx, BERTH_EINVAL, "decision %d has no legal action", (int)i);
  }
  return BERTH_OK;
}

static berth_status check_starts(berth_ctx *ctx, const berth_decisions *p) {
  for (int32_t s = 0; s < p->n_starts; s++)
    for (int32_t i = 0; i < p->n; i++) {
      const int32_t a = p->start[(size_t)s * (size_t)p->n + (size_t)i];
      if (a < 0 || a >= p->n_actions
          || (p->legal && !p->legal[(size_t)i * (size_t)p->n_actions + (size_t)a]))
        return berth_i_fail(ctx, BERTH_EINVAL,
                            "a start gives decision %d action %d, which is not legal", (int)i,
                            (int)a);
    }
  return BERTH_OK;
}

static berth_status check_start_values(berth_ctx *ctx, const berth_decisions *p) {
  for (int32_t s = 0; s < p->n_starts && p->start_value; s++) {
    const double excess = p->start_excess ? p->start_excess[s] : 0;
    if (p->start_value[s] == -INFINITY || !(excess >= 0))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "a start has value %g and excess %g, expected the excess not below 0",
                          p->start_value[s], excess);
  }
  return BERTH_OK;
}

/* A cycle of replacements would have no end. */
static berth_status check_instead(berth_ctx *ctx, const berth_decisions *p) {
  for (int32_t a = 0; a < p->n_actions && p->instead; a++) {
    int32_t b = a, steps = 0;
    while (b >= 0 && b < p->n_actions && steps <= p->n_actions) {
      b = p->instead[b];
      steps++;
    }
    if (b != BERTH_NONE)
      return berth_i_fail(ctx, BERTH_EINVAL, "instead of action %d: %s action %d", (int)a,
                          steps > p->n_actions ? "in circles, by" : "there is no", (int)b);
  }
  return BERTH_OK;
}

static berth_status check_weights(berth_ctx *ctx, const berth_decisions *p) {
  double sum = 0;
  for (int32_t i = 0; i < p->n && p->seam; i++)
    if (isnan(p->seam[i]))
      return berth_i_fail(ctx, BERTH_EINVAL, "the seam behind decision %d is NaN", (int)i);
  for (int32_t i = 0; i < p->n && p->weight; i++) {
    if (!(p->weight[i] >= 0))
      return berth_i_fail(ctx, BERTH_EINVAL, "the weight of decision %d is %g", (int)i,
                          p->weight[i]);
    sum += p->weight[i];
  }
  if (!p->weight || (sum > 0 && isfinite(sum))) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "weights of decisions add up to %g, expected a finite number above 0", sum);
}

static berth_status check_problem(berth_ctx *ctx, const berth_decisions *p) {
  if (p->n < 1 || p->n_actions < 1 || p->n_starts < 0)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "%d decisions, %d actions, %d starts: expected at least 1, 1 and 0",
                        (int)p->n, (int)p->n_actions, (int)p->n_starts);
  if (p->n > INT32_MAX / p->n_actions)
    return berth_i_fail(ctx, BERTH_EINVAL, "too many decisions and actions");
  if (!p->value) return berth_i_fail(ctx, BERTH_EINVAL, "no function gives values");
  if (p->fill == BERTH_FILL_OWN && !p->own_fill)
    return berth_i_fail(ctx, BERTH_EINVAL, "no function fills in");
  if ((unsigned)p->fill > BERTH_FILL_OWN)
    return berth_i_fail(ctx, BERTH_EINVAL, "fill %d", (int)p->fill);
  for (int32_t i = 0; i < p->n && p->position; i++)
    if (!isfinite(p->position[i]))
      return berth_i_fail(ctx, BERTH_EINVAL, "the position of decision %d is %g", (int)i,
                          p->position[i]);
  berth_status st;
  if ((st = check_weights(ctx, p)) != BERTH_OK) return st;
  if ((st = check_legal(ctx, p)) != BERTH_OK) return st;
  if ((st = check_instead(ctx, p)) != BERTH_OK) return st;
  if ((st = check_starts(ctx, p)) != BERTH_OK) return st;
  return check_start_values(ctx, p);
}

static void set_defaults(void *out) { *(berth_decide_options *)out = berth_decide_default(0); }

static const berth_choice *const methods[] = {
  BERTH_I_CHOICE("mcts", "Starts, trees around the best that are unlike each other, then "
                         "annealing with the prior."),
  BERTH_I_CHOICE("tree", "Starts, then the tree alone."),
  BERTH_I_CHOICE("anneal", "Starts, then simulated annealing without the prior: the yardstick."),
  BERTH_I_CHOICE("refine", "Starts, then annealing whose proposals come from the prior, "
                           "neighbours and good assignments."),
  BERTH_I_CHOICE("published", "The tree alone, with the numbers of TAG's code."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_decide_options, name, kind)

/* "published" is berth_decide_default(1), no method of its own. */
const berth_option_table *berth_decide_option_table(void) {
  static const berth_option options[] = {
    { FIELD(method, CHOICE), .choices = methods, .text = "how it searches" },
    { FIELD(calls, LONG), .was = "evaluations", .text = "assignments that are evaluated at most" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no limit",
      .text = "time limit; alone, it replaces the default of calls. Answers then depend on the "
              "machine" },
    { FIELD(seed, SEED), .text = "of random choices" },
    { FIELD(uniform, FLAG), .text = "after the starts each action for all decisions" },
    { FIELD(uniform_part, NUMBER), .high = 1, .text = "share of the calls for these, at most" },
    { FIELD(informed_part, NUMBER), .high = 1,
      .text = "mcts with a prior: share of the rest for actions for all decisions but where "
              "another is likelier" },
    { FIELD(several_part, NUMBER), .high = 1,
      .text = "mcts: share of what the trees leave for ways from several assignments" },
    { FIELD(tree_part, NUMBER), .high = 1,
      .text = "mcts: share of the rest for the trees; without a prior half of it" },
    { FIELD(exploration, NUMBER), .text = "factor of the exploration term" },
    { FIELD(widening, NUMBER), .text = "of a node with v visits the likeliest widening * "
                                       "v^widening_power children count; 0: all" },
    { FIELD(widening_power, NUMBER), .text = "its exponent" },
    { FIELD(first_play, FLAG),
      .text = "a child without visits is as good as its parent less first_play_loss, not as 0" },
    { FIELD(first_play_loss, NUMBER), .low = -INFINITY,
      .text = "what a child without visits is worse by" },
    { FIELD(best_part, NUMBER), .high = 1,
      .text = "part of the best value below a node in its value; the rest is the mean" },
    { FIELD(scale, NUMBER),
      .text = "relative gain that changes the reward by 1; 0: rewards as published" },
    { FIELD(skip_known, FLAG), .text = "nodes with nothing left to find below are skipped" },
    { FIELD(batch, WHOLE), .low = 1, .high = 1024, .text = "leaves at once" },
    { FIELD(virtual_loss, NUMBER),
      .text = "for each visit under way a child counts as this much worse" },
    { FIELD(t_start, NUMBER), .was = "hot", .above = 1,
      .text = "anneal, refine: temperature at the beginning, in parts of the value" },
    { FIELD(t_end, NUMBER), .was = "cold", .above = 1,
      .text = "anneal, refine: temperature at the end, in parts of the value" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("decide", options, berth_decide_options, set_defaults);
}

static berth_status check_options(berth_ctx *ctx, const berth_decide_options *o) {
  berth_status st = berth_options_check(ctx, berth_decide_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->method > BERTH_DECIDE_REFINE)
    return berth_i_fail(ctx, BERTH_EINVAL, "option method is %d: unknown", (int)o->method);
  if (o->t_start >= o->t_end) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "option t_start is %g: below t_end, %g", o->t_start,
                      o->t_end);
}

/* ---- life ---- */

static void copy_tables(berth_decider *d, const berth_decisions *p) {
  const size_t n = (size_t)p->n, actions = (size_t)p->n_actions, starts = (size_t)p->n_starts;
  berth_i_pool *pool = &d->pool;
  d->p.legal = berth_i_pool_copy(pool, p->legal, n * actions, 1);
  d->p.instead = berth_i_pool_copy(pool, p->instead, actions, sizeof *p->instead);
  d->p.position = berth_i_pool_copy(pool, p->position, n, sizeof *p->position);
  d->p.weight = berth_i_pool_copy(pool, p->weight, n, sizeof *p->weight);
  d->p.seam = berth_i_pool_copy(pool, p->seam, n, sizeof *p->seam);
  d->p.everywhere = berth_i_pool_copy(pool, p->everywhere, actions, 1);
  d->p.path_at = berth_i_pool_copy(pool, p->path_at, actions + 1, sizeof *p->path_at);
  d->p.path = berth_i_pool_copy(pool, p->path_at ? p->path : NULL,
                                p->path_at ? (size_t)p->path_at[actions] : 0,
                                sizeof *p->path);
  d->p.start = berth_i_pool_copy(pool, starts > 0 ? p->start : NULL, starts * n, sizeof *p->start);
  d->p.start_value =
      berth_i_pool_copy(pool, starts > 0 ? p->start_value : NULL, starts, sizeof *p->start_value);
  d->p.start_excess =
      berth_i_pool_copy(pool, starts > 0 ? p->start_excess : NULL, starts, sizeof *p->start_excess);
}

static void alloc_scratch(berth_decider *d) {
  const size_t n = (size_t)d->p.n, batch = (size_t)d->o.batch, actions = (size_t)d->p.n_actions;
  d->near = berth_i_pool_alloc(&d->pool, n, sizeof *d->near);
  d->rank = berth_i_pool_alloc(&d->pool, n, sizeof *d->rank);
  d->by_weight = berth_i_pool_alloc(&d->pool, n, sizeof *d->by_weight);
  d->cut = berth_i_pool_alloc(&d->pool, n, sizeof *d->cut);
  d->good = berth_i_pool_alloc(&d->pool, actions, sizeof *d->good);
  d->row = berth_i_pool_alloc(&d->pool, batch * n, sizeof *d->row);
  d->row_worth = berth_i_pool_alloc(&d->pool, batch, sizeof *d->row_worth);
  d->row_known = berth_i_pool_alloc(&d->pool, batch, sizeof *d->row_known);
  d->value = berth_i_pool_alloc(&d->pool, batch, sizeof *d->value);
  d->excess = berth_i_pool_alloc(&d->pool, batch, sizeof *d->excess);
  d->weight = berth_i_pool_alloc(&d->pool, batch * actions, sizeof *d->weight);
  d->leaf = berth_i_pool_alloc(&d->pool, batch, sizeof *d->leaf);
  d->query = berth_i_pool_alloc(&d->pool, batch, sizeof *d->query);
  d->pick = berth_i_pool_alloc(&d->pool, n > actions ? n : actions, sizeof *d->pick);
}

static int32_t count_legal(const berth_decider *d, int32_t i) {
  int32_t n = 0;
  for (int32_t a = 0; a < d->p.n_actions; a++) n += berth_i_legal(d, i, a);
  return n;
}

/* Decisions by position, cuts by seam, decisions by weight; equal ones by their number.
 * @param list [n] scratch */
static void sort_tables(berth_decider *d, berth_i_keyed *list) {
  const int32_t n = d->p.n;
  const double *seam = d->p.seam, *weight = d->p.weight;
  for (int32_t i = 0; i < n; i++) list[i] = (berth_i_keyed){ d->p.position[i], i };
  berth_i_sort_keyed(list, n);
  for (int32_t k = 0; k < n; k++) d->rank[d->near[k] = list[k].id] = k;
  for (int32_t k = 0; k + 1 < n; k++) list[k] = (berth_i_keyed){ seam ? seam[d->near[k]] : 0, k };
  berth_i_sort_keyed(list, n - 1);
  for (int32_t k = 0; k + 1 < n; k++) d->cut[k] = list[k].id;
  for (int32_t i = 0; i < n; i++) list[i] = (berth_i_keyed){ weight ? weight[i] : 1, i };
  for (int32_t i = 0; i < n; i++) d->total_weight += list[i].key;
  berth_i_sort_keyed_down(list, n);
  for (int32_t k = 0; k < n; k++) d->by_weight[k] = list[k].id;
}

static berth_status fill_in(berth_decider *d, const berth_decisions *p) {
  copy_tables(d, p);
  if (!d->p.position) { /* as they are numbered */
    double *position = berth_i_pool_alloc(&d->pool, (size_t)d->p.n, sizeof *position);
    for (int32_t i = 0; position && i < d->p.n; i++) position[i] = i;
    d->p.position = position;
  }
  alloc_scratch(d);
  berth_status st;
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  if ((st = berth_i_choices_make(&d->pool, &d->p, &d->choices)) != BERTH_OK) return st;
  d->way = berth_i_pool_alloc(&d->pool, (size_t)d->choices.n, sizeof *d->way);
  berth_i_keyed *list = berth_i_pool_alloc(&d->pool, (size_t)d->p.n, sizeof *list);
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  sort_tables(d, list);
  for (int32_t i = 0; i < d->p.n && d->space < ANY_EVALUATIONS; i++) d->space *= count_legal(d, i);
  return BERTH_OK;
}

static void drop(berth_decider *d) {
  berth_ctx *ctx = d->ctx;
  if (d->p.release) d->p.release(d->p.ud);
  berth_i_pool_free(&d->tree.pool);
  berth_i_pool_free(&d->pool);
  berth_ctx_release(ctx);
}

static berth_status make(berth_ctx *ctx, const berth_decisions *p, const berth_decide_options *o,
                         berth_decider **out) {
  berth_decider *d = berth_i_pool_object(ctx, sizeof *d);
  if (!d) return berth_i_nomem(ctx);
  berth_ctx_retain(d->ctx = ctx);
  d->refs = 1;
  d->p = *p;
  d->p.release = NULL;
  d->o = *o;
  d->best = d->best_start = d->base = BERTH_NONE;
  d->reference = NAN;
  d->space = 1;
  d->start.value = d->start.excess = INFINITY;
  berth_rng_init(&d->tree_rng, o->seed, 1);
  berth_rng_init(&d->walk_rng, o->seed, 2);
  berth_status st;
  if ((st = fill_in(d, p)) != BERTH_OK) {
    drop(d);
    return st;
  }
  d->p.release = p->release;
  *out = d;
  return BERTH_OK;
}

berth_status berth_decider_new(berth_ctx *ctx, const berth_decisions *p,
                               const berth_decide_options *opts, berth_decider **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  const berth_decide_options o = opts ? *opts : berth_decide_default(0);
  berth_status st = check_problem(ctx, p);
  if (st == BERTH_OK) st = check_options(ctx, &o);
  if (st == BERTH_OK) st = make(ctx, p, &o, out);
  if (st != BERTH_OK && p->release) p->release(p->ud);
  return st;
}

void berth_decider_retain(berth_decider *d) { d->refs++; }

void berth_decider_release(berth_decider *d) {
  if (d && --d->refs == 0) drop(d);
}
