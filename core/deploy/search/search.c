/* Strategies of deployment as decisions: one action for each op group. Values are simulated step
 * times; priors are local costs or a function of the caller's (TAG's network). */
#include "search_internal.h"

enum { STEPS_ABOVE = 6 };

berth_deploy_search_options berth_deploy_search_default(int published) {
  berth_deploy_search_options o = { 0 };
  o.decide = berth_decide_default(published);
  o.prior = published ? BERTH_DEPLOY_PRIOR_UNIFORM : BERTH_DEPLOY_PRIOR_LOCAL;
  o.sfb = published ? BERTH_DEPLOY_SFB_NONE : BERTH_DEPLOY_SFB_LOCAL;
  o.choose = !published;
  o.fill = published ? BERTH_FILL_FIRST : BERTH_FILL_NEAREST;
  o.temperature = 0.3;
  o.steps = -1;
  return o;
}

static void set_defaults(void *out) {
  *(berth_deploy_search_options *)out = berth_deploy_search_default(0);
}

static const berth_choice *const rules[] = {
  BERTH_I_CHOICE("none", "No ops are repeated."),
  BERTH_I_CHOICE("local", "By the time on one device, group by group."),
  BERTH_I_CHOICE("cut", "By a minimum cut."),
  NULL
};

const berth_choice *const *berth_deploy_sfb_choices(void) { return rules; }

#define FIELD(name, kind) BERTH_I_OPTION(berth_deploy_search_options, name, kind)

/* prior and fill may be functions of the user's: see berth_decide_option_table for the options of
 * `decide`. */
const berth_option_table *berth_deploy_search_option_table(void) {
  static const berth_option options[] = {
    { FIELD(temperature, NUMBER), .above = 1, .text = "of the prior local" },
    { FIELD(sfb, CHOICE), .choices = rules, .text = "the rule for ops that replicas repeat" },
    { FIELD(choose, FLAG) },
    { FIELD(steps, OTHER), .takes = "flag", .fallback = "true above six device groups",
      .text = "the tree chooses device group by device group, then option and shares; else whole "
              "actions" },
    { FIELD(start, OTHER), .takes = "array",
      .fallback = "all devices, AllReduce, even shares, or what is nearest",
      .text = "strategies to begin with" },
    { FIELD(baselines, FLAG), .text = "begins with the baselines, too, which are not counted" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("deploy search", options, berth_deploy_search_options, set_defaults);
}

/* What the decider's functions work on. */
typedef struct seam {
  berth_i_pool pool;
  berth_deploy *d;
  berth_deploy_search_options o;
  berth_i_space space;
  int32_t *action;    /* [groups] */
  uint8_t *duplicate; /* [ops] */
  /* for a prior of one's own */
  int32_t *seen;      /* [leaves * groups] */
  berth_leaf *leaf;   /* [leaves] */
  double *weight;     /* [leaves * actions of the problem] */
  size_t seen_cap, leaf_cap, weight_cap;
} seam;

/* ---- values ---- */

static berth_status value_one(seam *s, const int32_t *assignment, double *value, double *excess) {
  berth_deploy *d = s->d;
  bool any;
  berth_status st = berth_i_space_decode(d, &s->space, assignment, s->action, s->duplicate, &any);
  if (st != BERTH_OK) return st;
  berth_deploy_value v;
  if (s->space.chooses)
    st = berth_deploy_evaluate(d, s->action, any ? s->duplicate : NULL, NULL, &v);
  else st = berth_deploy_evaluate_rule(d, s->action, s->o.sfb, s->duplicate, NULL, &v);
  if (st == BERTH_EUNREACHABLE) {
    *value = INFINITY;
    return BERTH_OK;
  }
  if (st != BERTH_OK) return st;
  *value = v.seconds;
  *excess = berth_i_search_excess(&v);
  return BERTH_OK;
}

static berth_status value(void *ud, int32_t k, const int32_t *assignment, double *out,
                          double *excess) {
  seam *s = ud;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    st = value_one(s, assignment + (size_t)i * (size_t)s->d->n_groups, out + i, excess + i);
  return st;
}

/* ---- priors ---- */

/* Local costs have the better of AllReduce with and without repeated ops; where that is a choice,
 * and without the rule, apart. */
static berth_status part_costs(seam *s, int32_t group, double *x) {
  berth_deploy *d = s->d;
  const berth_i_space *space = &s->space;
  if (!space->chooses && s->o.sfb != BERTH_DEPLOY_SFB_NONE) return BERTH_OK;
  for (int32_t a = d->n_actions; a < space->n_actions; a++) x[a] = INFINITY;
  for (int32_t a = 0; a < d->n_actions; a++) {
    const int32_t with = space->with[a];
    if (isinf(x[a]) || !berth_i_reduces_all(d, a)) continue;
    const berth_i_local_sfb *sfb;
    if (!(sfb = berth_i_local_sfb_of(d, d->values, group, a))) return BERTH_ENOMEM;
    if (with != BERTH_NONE && space->legal[(size_t)group * (size_t)space->n_actions + (size_t)with])
      x[with] = x[a];
    x[a] += sfb->saved;
  }
  return BERTH_OK;
}

static berth_status local_one(seam *s, const berth_leaf *leaf, double *row) {
  bool any;
  berth_status st =
      berth_i_space_decode(s->d, &s->space, leaf->assignment, s->action, s->duplicate, &any);
  if (st == BERTH_OK) st = berth_deploy_local(s->d, s->action, leaf->decision, row);
  if (st == BERTH_OK) st = part_costs(s, leaf->decision, row);
  if (st == BERTH_OK) {
    /* Seconds to weights; nothing fits: all alike. */
    double least = INFINITY;
    for (int32_t a = 0; a < s->space.n_actions; a++) least = fmin(least, row[a]);
    for (int32_t a = 0; a < s->space.n_actions; a++)
      if (isinf(row[a])) row[a] = 0;
      else if (row[a] == least) row[a] = 1; /* at any temperature */
      else row[a] = least > 0 ? exp(-(row[a] - least) / (s->o.temperature * least)) : 0;
  }
  return st;
}

static berth_status local(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  seam *s = ud;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    st = local_one(s, &leaf[i], p + (size_t)i * (size_t)s->space.n_actions);
  return st;
}

static berth_status reserve_leaves(seam *s, size_t k) {
  size_t groups = (size_t)s->d->n_groups, actions = (size_t)s->d->n_actions;
  berth_i_pool *pool = &s->pool;
  berth_status st = BERTH_I_POOL_GROW(pool, s->seen, s->seen_cap, k * groups);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(pool, s->leaf, s->leaf_cap, k);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(pool, s->weight, s->weight_cap, k * actions);
  return st;
}

/* Where ops may be repeated, half of the weight is for that. */
static void share_weights(const seam *s, int32_t group, const double *weight, double *p) {
  const uint8_t *legal = s->space.legal + (size_t)group * (size_t)s->space.n_actions;
  for (int32_t a = 0; a < s->d->n_actions; a++) {
    const int32_t with = s->space.with[a];
    p[a] = weight[a];
    if (with == BERTH_NONE) continue;
    p[with] = legal[with] ? weight[a] / 2 : 0;
    p[a] -= p[with];
  }
}

static berth_status own(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  seam *s = ud;
  const size_t actions = (size_t)s->d->n_actions;
  berth_status st = reserve_leaves(s, (size_t)k);
  if (st != BERTH_OK) return st;
  /* The caller's function gets actions of the problem. */
  const int32_t n = s->d->n_groups;
  for (int32_t i = 0; i < k; i++) {
    int32_t *seen = s->seen + (size_t)i * (size_t)n;
    for (int32_t g = 0; g < n; g++) seen[g] = s->space.of[leaf[i].assignment[g]];
    s->leaf[i] = leaf[i];
    s->leaf[i].assignment = seen;
  }
  for (size_t i = 0; i < (size_t)k * actions; i++) s->weight[i] = 0;
  st = s->o.own(s->o.ud, k, s->leaf, s->weight);
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    share_weights(s, leaf[i].decision, s->weight + (size_t)i * actions,
                  p + (size_t)i * (size_t)s->space.n_actions);
  return st;
}

/* ---- life ---- */

static void release(void *ud) {
  seam *s = ud;
  berth_deploy *d = s->d;
  berth_i_pool_free(&s->space.pool);
  berth_i_pool_free(&s->pool);
  berth_deploy_release(d);
}

static berth_status make_seam(berth_deploy *d, const berth_deploy_search_options *o, seam **out) {
  seam *s = berth_i_pool_object(d->ctx, sizeof *s);
  if (!s) return berth_i_nomem(d->ctx);
  berth_deploy_retain(s->d = d);
  s->o = *o;
  s->action = berth_i_pool_zalloc(&s->pool, (size_t)d->n_groups, sizeof *s->action);
  s->duplicate = berth_i_pool_zalloc(&s->pool, (size_t)d->n_ops, sizeof *s->duplicate);
  berth_status st;
  if ((st = berth_i_pool_status(&s->pool)) == BERTH_OK) st = berth_i_space_make(d, o, &s->space);
  if (st == BERTH_OK) *out = s;
  else release(s);
  return st;
}

/* ---- tables of the problem ---- */

typedef struct tables {
  berth_i_pool pool;
  double *position;       /* [groups] */
  double *weight;         /* [groups] */
  double *seam;           /* [2 * groups] */
  int32_t *rank;          /* [groups] */
  uint8_t *everywhere;    /* [actions] */
  int32_t *at, *path;     /* [actions + 1], [actions * (device groups + 5)] */
  int32_t *count;         /* [2 * device groups] */
  berth_i_first starts;
} tables;

static berth_status make_tables(seam *s, tables *t) {
  berth_deploy *d = s->d;
  size_t groups = (size_t)d->n_groups, actions = (size_t)s->space.n_actions,
         device_groups = (size_t)d->n_device_groups;
  t->position = berth_i_pool_alloc(&t->pool, groups, sizeof *t->position);
  t->weight = berth_i_pool_alloc(&t->pool, groups, sizeof *t->weight);
  t->seam = berth_i_pool_alloc(&t->pool, 2 * groups, sizeof *t->seam);
  t->rank = berth_i_pool_alloc(&t->pool, groups, sizeof *t->rank);
  t->everywhere = berth_i_pool_alloc(&t->pool, actions, 1);
  t->at = berth_i_pool_alloc(&t->pool, actions + 1, sizeof *t->at);
  t->path = berth_i_pool_alloc(&t->pool, actions * (device_groups + 5), sizeof *t->path);
  t->count = berth_i_pool_alloc(&t->pool, 2 * device_groups, sizeof *t->count);
  berth_status st = berth_i_pool_status(&t->pool);
  if (st == BERTH_OK) st = berth_deploy_positions(d, t->position);
  if (st == BERTH_OK) st = berth_i_search_starts(d, &s->o, &s->space, &t->starts);
  if (st != BERTH_OK) return st;
  berth_i_search_weights(d, t->weight);
  berth_i_search_seams(d, t->position, t->rank, t->seam);
  berth_i_search_everywhere(d, t->everywhere);
  for (int32_t a = d->n_actions; a < s->space.n_actions; a++)
    t->everywhere[a] = t->everywhere[s->space.of[a]];
  return BERTH_OK;
}

/* ---- the decider ---- */

static berth_status check(berth_ctx *ctx, const berth_deploy_search_options *o) {
  berth_status st = berth_options_check(ctx, berth_deploy_search_option_table(), o);
  if (st != BERTH_OK) return st;
  if ((unsigned)o->prior > BERTH_DEPLOY_PRIOR_OWN
      || (o->prior == BERTH_DEPLOY_PRIOR_OWN && !o->own))
    return berth_i_fail(ctx, BERTH_EINVAL, "prior %d without a function", (int)o->prior);
  if (o->n_starts < 0) return berth_i_fail(ctx, BERTH_EINVAL, "%d starts", (int)o->n_starts);
  if (o->fill == BERTH_FILL_OWN)
    return berth_i_fail(ctx, BERTH_EINVAL, "fill: a function of one's own is not for deployments");
  return BERTH_OK;
}

/* The problem of the search: a choice for each op group. Above STEPS_ABOVE device groups, or as
 * given, an action is chosen in steps. */
static berth_decisions decisions_of(seam *s, tables *t) {
  const berth_deploy_search_options *o = &s->o;
  bool in_steps = o->steps < 0 ? s->d->n_device_groups > STEPS_ABOVE : o->steps > 0;
  if (in_steps) berth_i_search_paths(s->d, &s->space, t->at, t->path, t->count);
  return (berth_decisions){
    .n = s->d->n_groups,
    .n_actions = s->space.n_actions,
    .legal = s->space.legal,
    .instead = s->space.instead,
    .position = t->position,
    .weight = t->weight,
    .seam = t->seam,
    .everywhere = t->everywhere,
    .n_starts = t->starts.n,
    .start = t->starts.assignment,
    .start_value = t->starts.value,
    .start_excess = t->starts.excess,
    .fill = o->fill,
    .value = value,
    .prior = o->prior == BERTH_DEPLOY_PRIOR_LOCAL ? local
             : o->prior == BERTH_DEPLOY_PRIOR_OWN ? own
                                                  : NULL,
    .release = release,
    .ud = s,
    .path_at = in_steps ? t->at : NULL,
    .path = in_steps ? t->path : NULL,
  };
}

berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts,
                                  berth_decider **out) {
  const berth_deploy_search_options o = opts ? *opts : berth_deploy_search_default(0);
  tables t = { .pool = berth_i_pool_empty(d->ctx) };
  seam *s = NULL;
  berth_status st = check(d->ctx, &o);
  if (st != BERTH_OK || (st = make_seam(d, &o, &s)) != BERTH_OK) return st;
  berth_deploy_retain(d); /* release of the seam may be the last */
  if ((st = make_tables(s, &t)) == BERTH_OK) {
    berth_decisions p = decisions_of(s, &t);
    st = berth_decider_new(d->ctx, &p, &o.decide, out);
  } else {
    release(s);
  }
  berth_i_pool_free(&t.starts.pool);
  berth_i_pool_free(&t.pool);
  berth_deploy_release(d);
  return st;
}
