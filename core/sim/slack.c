/* Slack: one pass backwards over the log, whose order is a topological order of all that the
 * schedule keeps: inputs before ops, ops in order on devices, transfers in order on channels. Of
 * every thing we keep how much later it might start (its play). */
#include "result_internal.h"

/* The next user of a device or a channel: when it starts, and its play. */
typedef struct next_use {
  double start, play;
} next_use;

typedef struct slack_pass {
  const berth_result *r;
  const berth_i_sim_plan *p;
  const berth_i_trace *t;
  next_use *device;     /* [n_devices] */
  next_use *channel;    /* [n_channels] */
  double *arrival;      /* [n_edges] of each copy */
  double *copy;         /* [n_edges] play of its arrival */
  double *op;           /* [n_ops] play of its end */
  double *coll;         /* [n_collectives] play of its end */
  int32_t *stretches;   /* [n_ops] still to pass */
  uint8_t *ended;       /* [n_ops] its last stretch is passed */
} slack_pass;

static double lesser(double a, double b) { return a < b ? a : b; }
static double gap(double end, next_use u) { return u.start - end + u.play; }
static void narrow(double *play, double value) { *play = lesser(*play, value); }

/* ---- channels ---- */

static size_t link_channels(const berth_i_sim_plan *p) {
  size_t d = (size_t)p->n_devices;
  switch (p->o.links) {
  case BERTH_LINKS_CHANNEL: return d;
  case BERTH_LINKS_DUPLEX: return 2 * d;
  case BERTH_LINKS_PAIR: return d * d;
  case BERTH_LINKS_ROUTE: return (size_t)p->cost->t->n_links;
  case BERTH_LINKS_FREE:
  case BERTH_LINKS_FAIR: break;
  }
  return 0;
}

/* The last one: the queue of collectives. */
static size_t n_channels(const berth_i_sim_plan *p) { return link_channels(p) + 1; }

static size_t out_channel(const berth_i_sim_plan *p, int32_t src, int32_t dst) {
  return p->o.links == BERTH_LINKS_PAIR ? berth_i_pair(p->cost->t, src, dst) : (size_t)src;
}

static size_t in_channel(const berth_i_sim_plan *p, int32_t src, int32_t dst) {
  if (p->o.links == BERTH_LINKS_PAIR) return berth_i_pair(p->cost->t, src, dst);
  return (size_t)dst + (p->o.links == BERTH_LINKS_DUPLEX ? (size_t)p->n_devices : 0);
}

static void use(next_use *u, double start, double play) {
  u->start = start;
  u->play = play;
}

/* ---- the pass ---- */

/* A transfer holds all links of its route at once. */
static double route_play(slack_pass *k, const berth_transfer *x, double play) {
  const int32_t *links;
  int32_t n = berth_topology_route(k->p->cost->t, x->src, x->dst, &links);
  for (int32_t i = 0; i < n; i++) narrow(&play, gap(x->finish, k->channel[links[i]]));
  for (int32_t i = 0; i < n; i++) use(&k->channel[links[i]], x->start, play);
  return play;
}

/* The copy may arrive `play` later; how much later may its transfer start? */
static double transfer_play(slack_pass *k, int32_t copy, const berth_transfer *x, double play) {
  const berth_i_sim_plan *p = k->p;
  double window = k->t->window ? k->t->window[copy] : 0, received = x->finish - window;
  /* FAIR: as long as it took */
  if (p->o.links == BERTH_LINKS_FREE || p->o.links == BERTH_LINKS_FAIR) return play;
  if (p->o.links == BERTH_LINKS_ROUTE) return route_play(k, x, play);
  next_use *out = &k->channel[out_channel(p, x->src, x->dst)];
  next_use *in = &k->channel[in_channel(p, x->src, x->dst)];
  narrow(&play, gap(x->finish, *in));
  if (p->o.split_windows) {
    use(in, received, play);
    play = lesser(gap(x->start + window, *out), received - x->start + play);
  } else {
    narrow(&play, gap(x->finish, *out));
    use(in, x->start, play);
  }
  use(out, x->start, play);
  return play;
}

static void pass_transfer(slack_pass *k, int32_t copy, const berth_transfer *x) {
  int32_t producer = k->p->cost->g->producer[x->tensor];
  double play = transfer_play(k, copy, x, k->copy[copy]);
  narrow(&k->op[producer], x->start - k->t->finish[producer] + play);
  /* a pulled tensor is requested once its reader has the device */
  if (k->p->o.send == BERTH_SEND_PULL && gap(0, k->device[x->dst]) > x->start + play)
    use(&k->device[x->dst], x->start, play);
}

static void pass_inputs(slack_pass *k, int32_t op, double start, double play) {
  const berth_graph *g = k->p->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t copy = k->r->lead[k->p->in_edge[i]], u = g->producer[g->in[i]];
    if (copy == BERTH_NONE) {
      narrow(&k->op[u], start - k->t->finish[u] + play);
    } else {
      narrow(&k->copy[copy], start - k->arrival[copy] + play);
    }
  }
}

/* Ends of collectives that the op waits for. */
static void pass_collectives(slack_pass *k, int32_t op, double start, double play) {
  const berth_graph *g = k->p->cost->g;
  for (int32_t i = g->after_at ? g->after_at[op] : 0; g->after_at && i < g->after_at[op + 1]; i++) {
    narrow(&k->coll[g->after[i]], start - k->r->collectives[g->after[i]].finish + play);
  }
}

static void pass_stretch(slack_pass *k, int32_t op, double start, double finish) {
  int32_t d = k->r->device[op];
  bool async = berth_i_is_async(k->p, op);
  double play = async ? k->r->makespan - finish : gap(finish, k->device[d]);
  if (!k->ended[op]) { /* what reads it waits for its last stretch */
    k->ended[op] = 1;
    narrow(&k->op[op], play);
    play = k->op[op];
  }
  if (!async) use(&k->device[d], start, play);
  if (--k->stretches[op] > 0) return;
  pass_inputs(k, op, start, play);
  pass_collectives(k, op, start, play);
}

/* ---- collectives: what they held of channels or links was held by all of it at once ---- */

typedef struct held {
  slack_pass *k;
  double start, finish, play;
  bool take; /* else only `play` is computed */
} held;

static void hold(held *x, size_t channel) {
  next_use *c = &x->k->channel[channel];
  if (x->take) {
    use(c, x->start, x->play);
  } else {
    narrow(&x->play, gap(x->finish, *c));
  }
}

static void hold_pair(void *ud, int32_t src, int32_t dst, double bytes) {
  held *x = ud;
  const berth_topology *t = x->k->p->cost->t;
  const int32_t *links;
  int32_t n = berth_topology_route(t, src, dst, &links);
  (void)bytes;
  if (x->k->p->o.links == BERTH_LINKS_PAIR) hold(x, berth_i_pair(t, src, dst));
  for (int32_t i = 0; i < n && x->k->p->o.links == BERTH_LINKS_ROUTE; i++)
    hold(x, (size_t)links[i]);
}

static void hold_all(held *x, int32_t collective) {
  const berth_i_sim_plan *p = x->k->p;
  const berth_collective_run *m = &x->k->r->collectives[collective];
  const int32_t *device = &x->k->r->collective_device[p->participant_at[collective]];
  if (m->n_devices < 2) return;
  if (p->o.collectives == BERTH_COLLECTIVES_QUEUE) {
    hold(x, link_channels(p));
  } else if (p->o.links == BERTH_LINKS_CHANNEL || p->o.links == BERTH_LINKS_DUPLEX) {
    for (int32_t i = 0; i < m->n_devices; i++) {
      hold(x, (size_t)device[i]);
      if (p->o.links == BERTH_LINKS_DUPLEX) hold(x, (size_t)(p->n_devices + device[i]));
    }
  } else if (p->o.links == BERTH_LINKS_PAIR || p->o.links == BERTH_LINKS_ROUTE) {
    berth_i_collective_flows(p->cost, collective, m->algorithm, m->n_devices, device, hold_pair, x);
  }
}

static void pass_collective(slack_pass *k, int32_t collective) {
  const berth_collective_run *m = &k->r->collectives[collective];
  const berth_collective *c = &k->p->cost->g->collectives[collective];
  held x = {k, m->start, m->finish,
            lesser(k->coll[collective], k->r->makespan - m->finish), false};
  hold_all(&x, collective);
  x.take = true;
  hold_all(&x, collective);
  for (int32_t i = 0; i < c->n_members; i++)
    narrow(&k->op[c->members[i]], m->start - k->t->finish[c->members[i]] + x.play);
}

static void run_pass(slack_pass *k) {
  const berth_i_trace *t = k->t;

  /* Forwards: when each copy arrives, and how many stretches each op has. */
  int32_t sent = 0;
  for (int32_t i = 0; i < t->n_log; i++) {
    int32_t what = t->log[i];
    if (what < 0) k->arrival[~what] = t->sent[sent++].finish;
    else if (what < k->p->n_ops) k->stretches[what]++;
  }

  /* Nothing limits an end yet; a device is free until the makespan. */
  for (int32_t i = 0; i < k->p->n_devices; i++) use(&k->device[i], k->r->makespan, 0);
  for (size_t c = 0; c < n_channels(k->p); c++) use(&k->channel[c], INFINITY, 0);
  for (int32_t i = 0; i < k->p->n_edges; i++) k->copy[i] = INFINITY;
  for (int32_t i = 0; i < k->p->n_ops; i++) k->op[i] = INFINITY;
  for (int32_t i = 0; i < k->p->n_collectives; i++) k->coll[i] = INFINITY;

  /* Backwards: each thing after all that depends on it. */
  int32_t stretch = t->n_log - t->n_sent - t->n_coll_logged;
  for (int32_t i = t->n_log - 1; i >= 0; i--) {
    int32_t what = t->log[i];
    if (what < 0) {
      pass_transfer(k, ~what, &t->sent[--sent]);
    } else if (what >= k->p->n_ops) {
      pass_collective(k, what - k->p->n_ops);
    } else if (t->stretch) {
      stretch--;
      pass_stretch(k, what, t->stretch[2 * stretch], t->stretch[2 * stretch + 1]);
    } else {
      pass_stretch(k, what, t->start[what], t->finish[what]);
    }
  }
}

berth_status berth_i_result_slack(const berth_result *r, double *slack) {
  size_t n = (size_t)r->plan->n_ops, m = (size_t)r->plan->n_edges;
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  slack_pass k;
  memset(&k, 0, sizeof k);
  k.r = r;
  k.p = r->plan;
  k.t = r->trace;
  k.op = slack;
  k.device = berth_i_pool_alloc(&scratch, (size_t)r->plan->n_devices, sizeof *k.device);
  k.channel = berth_i_pool_alloc(&scratch, n_channels(r->plan), sizeof *k.channel);
  k.coll = berth_i_pool_alloc(&scratch, (size_t)r->plan->n_collectives, sizeof *k.coll);
  k.arrival = berth_i_pool_alloc(&scratch, m, sizeof *k.arrival);
  k.copy = berth_i_pool_alloc(&scratch, m, sizeof *k.copy);
  k.stretches = berth_i_pool_zalloc(&scratch, n, sizeof *k.stretches);
  k.ended = berth_i_pool_zalloc(&scratch, n, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) {
    run_pass(&k);
    for (size_t i = 0; i < n; i++) slack[i] = slack[i] > 0 ? slack[i] : 0;
  }
  berth_i_pool_free(&scratch);
  return st;
}
