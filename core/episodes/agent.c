/* The shipped agent: features of graph and topology, made once, and the search over episodes. The
 * first episode is the policy as trained; then perturbed ones, half of them around the best so far.
 * Each is simulated once, and given up as soon as it cannot beat the best.
 *
 * Sources: list scheduling by two policies, which op and which device: Yao et al., "DOPPLER", 2026;
 * a policy trained for the best of several perturbations of itself, which are searched when it is
 * used: Chalumeau et al., "Combinatorial Optimization with Policy Adaptation using Latent Space
 * Search", 2023. Departs from both: perturbations of factors of times, trained by an evolution
 * strategy. */
#include "agent_internal.h"

/* ---- what does not change ---- */

static berth_i_agent_ports ports_of(berth_links links) {
  switch (links) {
  case BERTH_LINKS_FREE: return BERTH_I_PORTS_NONE;
  case BERTH_LINKS_PAIR: return BERTH_I_PORTS_PAIR;
  case BERTH_LINKS_ROUTE:
  case BERTH_LINKS_FAIR: return BERTH_I_PORTS_ROUTE;
  default: return BERTH_I_PORTS_DEVICE;
  }
}

static berth_status alloc_all(berth_i_agent *a) {
  berth_i_pool *pool = &a->pool;
  const berth_graph *g = a->cost->g;
  size_t n = (size_t)a->n, devices = (size_t)a->n_devices, tensors = (size_t)g->n_tensors;
  a->static_level = berth_i_pool_alloc(pool, n, sizeof *a->static_level);
  a->b_level = berth_i_pool_alloc(pool, n, sizeof *a->b_level);
  a->t_level = berth_i_pool_alloc(pool, n, sizeof *a->t_level);
  a->in_seconds = berth_i_pool_zalloc(pool, n, sizeof *a->in_seconds);
  a->out_seconds = berth_i_pool_zalloc(pool, n, sizeof *a->out_seconds);
  a->distance = berth_i_pool_zalloc(pool, devices, sizeof *a->distance);
  a->place = berth_i_pool_alloc(pool, n, sizeof *a->place);
  a->device = berth_i_pool_alloc(pool, n, sizeof *a->device);
  a->chosen = berth_i_pool_alloc(pool, n, sizeof *a->chosen);
  a->open = berth_i_pool_alloc(pool, n, sizeof *a->open);
  a->likely = berth_i_pool_alloc(pool, n, sizeof *a->likely);
  a->members = berth_i_pool_alloc(pool, (size_t)g->n_collectives, sizeof *a->members);
  a->finish = berth_i_pool_alloc(pool, n, sizeof *a->finish);
  a->free_at = berth_i_pool_alloc(pool, devices, sizeof *a->free_at);
  a->load = berth_i_pool_alloc(pool, devices, sizeof *a->load);
  a->listed = berth_i_pool_alloc(pool, devices, sizeof *a->listed);
  a->held = berth_i_pool_alloc(pool, devices, sizeof *a->held);
  a->most = berth_i_pool_alloc(pool, devices, sizeof *a->most);
  a->sent = berth_i_pool_alloc(pool, tensors * devices, sizeof *a->sent);
  a->term = berth_i_pool_alloc(pool, devices * BERTH_I_TERMS, sizeof *a->term);
  a->may = berth_i_pool_alloc(pool, devices, sizeof *a->may);
  a->used = berth_i_pool_alloc(pool, devices, sizeof *a->used);
  a->stamp = berth_i_pool_zalloc(pool, devices, sizeof *a->stamp);
  a->ready = berth_i_pool_alloc(pool, n, sizeof *a->ready);
  a->later = berth_i_pool_alloc(pool, n, sizeof *a->later);
  a->n_ports = a->ports == BERTH_I_PORTS_PAIR    ? a->n_devices * a->n_devices
               : a->ports == BERTH_I_PORTS_ROUTE ? a->cost->t->n_links
                                                 : a->n_devices;
  a->in_free = berth_i_pool_alloc(pool, (size_t)a->n_ports, sizeof *a->in_free);
  a->out_free = a->judge.links == BERTH_LINKS_CHANNEL
                    ? a->in_free
                    : berth_i_pool_alloc(pool, (size_t)a->n_ports, sizeof *a->out_free);
  return berth_i_pool_status(pool);
}

static berth_status make_grain(berth_i_agent *a, const berth_i_clumps *b, berth_i_agent_grain *r) {
  const berth_cost *c = a->cost;
  size_t n = (size_t)b->n, classes = (size_t)c->n_classes;
  r->b = b;
  r->work = berth_i_pool_zalloc(&a->pool, n * classes, sizeof *r->work);
  r->permanent = berth_i_pool_alloc(&a->pool, n, sizeof *r->permanent);
  r->temporary = berth_i_pool_alloc(&a->pool, n, sizeof *r->temporary);
  r->device = berth_i_pool_alloc(&a->pool, n, sizeof *r->device);
  berth_status st = berth_i_pool_status(&a->pool);
  for (int32_t op = 0; op < a->n && st == BERTH_OK; op++) {
    if (berth_i_is_communication(c->g, op)) continue;
    for (size_t k = 0; k < classes; k++)
      r->work[(size_t)b->of[op] * classes + k] += c->op[(size_t)op * classes + k];
  }
  return st;
}

/* Counts the sets anew, with that share of the outputs as permanent. */
static void size_grains(berth_i_agent *a, double share) {
  berth_i_units_size(&a->u, share);
  for (int k = 0; k < BERTH_I_GRAINS; k++) {
    berth_i_agent_grain *r = &a->grain[k];
    for (int32_t b = 0; b < r->b->n; b++) r->permanent[b] = r->temporary[b] = 0;
    for (int32_t unit = 0; unit < a->u.n; unit++) {
      int32_t b = r->b->of[a->u.ops[a->u.at[unit]]];
      r->permanent[b] += a->u.permanent[unit];
      r->temporary[b] = fmax(r->temporary[b], a->u.temporary[unit]);
    }
  }
}

static void measure_distances(berth_i_agent *a, double *least, double *most) {
  const berth_topology *t = a->cost->t;
  double all = 0;
  *least = INFINITY;
  *most = 0;
  for (int32_t d = 0; d < a->n_devices; d++) {
    for (int32_t e = 0; e < a->n_devices; e++) {
      size_t pair = berth_i_pair(t, d, e);
      if (d == e || !(t->bandwidth[pair] > 0) || isinf(t->latency[pair])) continue;
      double seconds = isinf(t->bandwidth[pair]) ? 0 : 1 / t->bandwidth[pair];
      a->distance[d] += seconds;
      all += seconds;
      *least = fmin(*least, seconds);
      *most = fmax(*most, seconds);
    }
  }
  for (int32_t d = 0; d < a->n_devices; d++)
    a->distance[d] = all > 0 ? a->distance[d] * a->n_devices / all : 0;
}

static void fill_graph_context(berth_i_agent *a) {
  const berth_graph *g = a->cost->g;
  double *c = a->graph_context, transfers = 0, near, far, slow = 0, fast = INFINITY;
  double bytes = 0, limits = 0;
  measure_distances(a, &near, &far);
  for (int32_t t = 0; t < g->n_tensors; t++) transfers += a->p.comm[t];
  for (int32_t k = 0; k < a->cost->n_classes; k++) {
    double sum = 0;
    for (int32_t op = 0; op < a->n; op++) {
      double x = a->cost->op[(size_t)op * (size_t)a->cost->n_classes + (size_t)k];
      sum += isinf(x) ? 0 : x;
    }
    slow = fmax(slow, sum);
    fast = fmin(fast, sum);
  }
  for (int32_t i = 0; i < a->u.n; i++) bytes += a->u.permanent[i];
  for (int32_t d = 0; d < a->n_devices; d++) limits += a->cost->t->devices[d].memory;
  c[12] = berth_i_agent_ratio(transfers, a->work);
  c[13] = 1.0 / a->n_devices;
  c[14] = a->scale > 0 ? a->path / a->scale : 0;
  c[15] = a->scale > 0 ? a->work / a->n_devices / a->scale : 0;
  c[16] = a->ports == BERTH_I_PORTS_DEVICE;
  c[17] = a->judge.links == BERTH_LINKS_CHANNEL;
  c[18] = far > 0 ? near / far : 1;
  c[19] = slow > 0 ? fast / slow : 1;
  c[20] = a->counts_memory && !isinf(limits) ? fmin(1, bytes / fmax(limits, 1)) : 0;
  c[21] = berth_i_agent_ratio(a->n, 300);
  c[BERTH_I_CONTEXT - 1] = 1;
}

static berth_status measure(berth_i_agent *a) {
  berth_cost *c = a->cost;
  const berth_graph *g = c->g;
  berth_status st;
  if ((st = berth_b_level(g, a->p.comp, NULL, a->static_level)) != BERTH_OK) return st;
  if ((st = berth_b_level(g, a->p.comp, a->p.comm, a->b_level)) != BERTH_OK) return st;
  if ((st = berth_t_level(g, a->p.comp, NULL, a->t_level)) != BERTH_OK) return st;
  for (int32_t i = 0; i < a->n; i++) {
    int32_t op = g->topo[i];
    a->place[op] = i;
    a->path = fmax(a->path, a->static_level[op]);
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++)
      a->in_seconds[op] += a->p.comm[g->in[k]];
    for (int32_t k = g->out_at[op]; k < g->out_at[op + 1]; k++)
      a->out_seconds[op] += a->p.comm[g->out[k]];
  }
  a->work = a->p.work;
  a->scale = fmax(a->path, a->work / a->n_devices);
  if (a->n > 0) fill_graph_context(a);
  return BERTH_OK;
}

berth_status berth_i_agent_init(berth_cost *cost, const berth_place_options *place,
                                const float *weights, double share, berth_i_agent *a,
                                berth_obstacle *why) {
  berth_search_options o = berth_search_default();
  memset(a, 0, sizeof *a);
  a->pool = berth_i_pool_empty(cost->ctx);
  a->cost = cost;
  a->w = weights;
  a->n = cost->g->n_ops;
  a->n_devices = cost->n_devices;
  a->judge = berth_i_fifo_options(cost, place);
  a->ports = ports_of(a->judge.links);
  a->counts_memory = a->judge.memory != BERTH_MEMORY_NONE;
  o.judge = &a->judge;
  o.no_limit = 1; /* it needs blocks, not trials of moves */
  berth_status st;
  if ((st = berth_i_units_init(cost, "agent", place->memory, place->param_multiple, &a->u, why))
      != BERTH_OK)
    return st;
  if ((st = berth_i_problem_init(cost, &o, &a->p)) != BERTH_OK) {
    berth_i_units_release(&a->u);
    return st;
  }
  a->p.o = NULL;
  const berth_i_clumps *const blocks[BERTH_I_GRAINS] = { &a->p.atoms, &a->p.units, &a->p.lines };
  if ((st = alloc_all(a)) != BERTH_OK) goto done;
  for (int k = 0; k < BERTH_I_GRAINS && st == BERTH_OK; k++)
    st = make_grain(a, blocks[k], &a->grain[k]);
  if (st != BERTH_OK) goto done;
  size_grains(a, share);
  if ((st = measure(a)) == BERTH_OK) st = berth_sim_new(cost, &a->judge, &a->sim);
done:
  if (st != BERTH_OK) berth_i_agent_release(a);
  return st;
}

void berth_i_agent_release(berth_i_agent *a) {
  berth_sim_release(a->sim);
  berth_i_problem_release(&a->p);
  berth_i_units_release(&a->u);
  berth_i_pool_free(&a->pool);
}

/* ---- the search over episodes ---- */

enum { PLANS = 8, PLANNED_OPS = 8000 }; /* episodes for each simulation at most; their ops */
#define UNIT_DEVIATION 1.7320508075688772 /* half the width of a uniform law of deviation 1 */
#define NEAR 0.5                          /* of the spread, around the best */
#define SAME_HEAD 0.7                     /* chance of the best one's head */
#define STILL 0.25                        /* chance of a factor not to be perturbed */

/* Heads of the plain rules: groups and units by earliest start, groups by longest path. */
static const int plain[] = { 0, 1, 2 * BERTH_I_GRAINS };
enum { PLAIN = sizeof plain / sizeof *plain };

/* The first episode is that of the first head as trained, the next ones follow plain rules. */
static void draw(berth_rng *rng, int32_t call, int32_t calls, const berth_i_agent_try *best,
                 berth_i_agent_try *t) {
  const bool near = best && call >= calls / 2;
  *t = (berth_i_agent_try){ .head = 0 };
  if (call > 0 && call <= PLAIN) t->head = plain[call - 1], t->plain = true;
  if (call <= PLAIN) return;
  t->head = berth_rng_below(rng, BERTH_I_HEADS);
  if (near && berth_rng_uniform(rng) < SAME_HEAD) {
    t->head = best->head;
    t->plain = best->plain;
  }
  for (int k = 0; k < BERTH_I_FACTORS; k++) {
    const bool still = berth_rng_uniform(rng) < STILL;
    double x = (2 * berth_rng_uniform(rng) - 1) * UNIT_DEVIATION;
    t->shift[k] = (near ? best->shift[k] : 0) + (still ? 0 : near ? NEAR * x : x);
  }
}

/* INFINITY: out of memory, or no route. */
static berth_status simulate(berth_i_agent *a, double limit, double *value, bool *oom) {
  berth_sim_summary s;
  berth_status st = berth_sim_run_limited(a->sim, a->chosen, limit, &s);
  *value = INFINITY;
  *oom = false;
  if (st == BERTH_EUNREACHABLE) return BERTH_OK;
  if (st != BERTH_OK) return st;
  *oom = s.oom_op != BERTH_NONE;
  if (!*oom) *value = s.makespan;
  return BERTH_OK;
}

/* The episode of least planned makespan of several. @return false: none found a place for all */
static bool propose(berth_i_agent *a, berth_rng *rng, int32_t call, int32_t calls,
                    const berth_i_agent_try *best, berth_i_agent_try *t) {
  berth_i_agent_try trial;
  double least = INFINITY;
  const int32_t many = PLANNED_OPS / (a->n > 0 ? a->n : 1),
                plans = call <= PLAIN || many < 1 ? 1 : many < PLANS ? many : PLANS;
  for (int32_t k = 0; k < plans; k++) {
    draw(rng, call, calls, best, &trial);
    if (!berth_i_agent_episode(a, &trial) || !(a->planned < least)) continue;
    int32_t *swap = a->chosen;
    a->chosen = a->device;
    a->device = swap;
    least = a->planned;
    *t = trial;
  }
  return !isinf(least);
}

berth_status berth_i_agent_search(berth_i_agent *a, int32_t calls, uint64_t seed, int32_t *device,
                                  double *value) {
  berth_i_agent_try t, best;
  const double share = a->u.share;
  bool found = false, oom;
  berth_rng rng;
  *value = INFINITY;
  berth_rng_init(&rng, seed, 0);
  for (int32_t i = 0; i < calls; i++) {
    berth_status st = berth_i_interrupted(a->cost->ctx);
    double x;
    if (st != BERTH_OK) return st;
    if (!propose(a, &rng, i, calls, found ? &best : NULL, &t)) continue;
    if ((st = simulate(a, *value, &x, &oom)) != BERTH_OK) return st;
    /* Memory runs out in this order: later episodes count more of the outputs as permanent. */
    if (oom && a->u.share < 1) size_grains(a, fmin(1, fmax(0.125, 1.5 * a->u.share)));
    if (!(x < *value)) continue;
    *value = x;
    best = t;
    found = true;
    if (a->n > 0) memcpy(device, a->chosen, (size_t)a->n * sizeof *device);
  }
  if (a->u.share != share) size_grains(a, share);
  return BERTH_OK;
}
