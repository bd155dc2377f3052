/* Fair sharing: after its latency a transfer is a flow; the flows share the bandwidths of the links
 * max-min fairly, anew at each instant at which one starts or ends. A class counts the bytes that
 * each of its flows has had since the class was last empty; a flow ends at a mark on that count, so
 * a change of rate costs per class, and flows that keep their rate are not touched. Only classes
 * that are connected with a change by links are shared out again, by progressive filling: rounds x
 * links of these. */
#include "sim/sim_internal.h"

typedef struct flows {
  double had, since, rate; /* bytes that each flow had at `since`, s; bytes/s from then */
  int32_t base, n;         /* slice of the heap `flow`, and how many are in it */
  bool touched;            /* its first flow may be another one */
  bool in, fixed;          /* this sharing out */
} flows;

typedef struct shared_link {
  double left;             /* bytes/s not given out in this sharing out */
  int32_t wanting;         /* flows without a rate */
  int32_t n;               /* active classes */
  bool changed, in;
} shared_link;

struct berth_i_fair {
  flows *k;                /* [n] classes */
  berth_i_slots ends;      /* [n or 1] first end of each class */
  berth_i_ready *flow;     /* [n_edges + n_flows] by mark; n_edges + id: of that collective, so also
                              in the next */
  berth_i_ready *waiting;  /* [n_edges + n_collectives] transfers and collectives by the end of
                              their latency */
  shared_link *link;       /* [n_links] */
  int32_t *active;         /* classes on each link: slices by plan->classes->on_link */
  int32_t *place;          /* parallel to plan->classes->link: where in the slice the class is */
  int32_t *changed;        /* [n_links] */
  int32_t *links, *classes;/* [n_links], [n] of this sharing out */
  int32_t *record;         /* [n_edges] index of each copy in the trace; NULL: not traced */
  int32_t n_waiting, n_changed, n_links, n_classes;
};

/* ---- life ---- */

static size_t n_active(const berth_i_sim_plan *p) { return (size_t)p->classes->at[p->classes->n]; }

static size_t most_flows(const berth_i_sim_plan *p) {
  return (size_t)p->n_edges + (size_t)p->n_flows;
}

berth_i_fair *berth_i_fair_new(const berth_i_sim_plan *p, berth_i_pool *pool) {
  size_t n = (size_t)p->classes->n, m = (size_t)p->n_edges, links = (size_t)p->cost->t->n_links;
  berth_i_fair *f = berth_i_pool_zalloc(pool, 1, sizeof *f);
  if (!f) return NULL;
  f->k = berth_i_pool_alloc(pool, n, sizeof *f->k);
  f->flow = berth_i_pool_alloc(pool, most_flows(p), sizeof *f->flow);
  f->waiting = berth_i_pool_alloc(pool, m + (size_t)p->n_collectives, sizeof *f->waiting);
  f->link = berth_i_pool_alloc(pool, links, sizeof *f->link);
  f->active = berth_i_pool_alloc(pool, n_active(p), sizeof *f->active);
  f->place = berth_i_pool_alloc(pool, n_active(p), sizeof *f->place);
  f->changed = berth_i_pool_alloc(pool, links, sizeof *f->changed);
  f->links = berth_i_pool_alloc(pool, links, sizeof *f->links);
  f->classes = berth_i_pool_alloc(pool, n, sizeof *f->classes);
  f->record = berth_i_pool_alloc(pool, m, sizeof *f->record);
  berth_i_slots_init(pool, &f->ends, n > 0 ? (int32_t)n : 1);
  return f;
}

static int32_t class_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t copy) {
  return p->classes->of_pair[berth_i_pair(p->cost->t, berth_i_copy_src(p, s, copy),
                                          berth_i_copy_dst(p, s, copy))];
}

/* What a collective does with its flows: class by class, those without bytes or without links of
 * finite bandwidth are left out.
 * */
typedef struct streams {
  const berth_i_sim_plan *p;
  berth_i_sim_state *s;
  int32_t collective;
} streams;

static int32_t class_of_stream(const berth_i_sim_plan *p, int32_t src, int32_t dst, double bytes) {
  return bytes > 0 ? p->classes->of_pair[berth_i_pair(p->cost->t, src, dst)] : BERTH_NONE;
}

static void count_stream(void *ud, int32_t src, int32_t dst, double bytes) {
  const streams *x = ud;
  int32_t k = class_of_stream(x->p, src, dst, bytes);
  if (k != BERTH_NONE) x->s->links.fair->k[k].base++;
}

/* Each class gets room for all copies, and flows of collectives, that can be flows of it. */
static void slice_flows(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  flows *k = s->links.fair->k;
  int32_t i, at = 0;
  for (int32_t e = 0; e < p->n_edges; e++) {
    if (s->lead[e] != e) continue;
    i = class_of(p, s, e);
    if (i != BERTH_NONE) k[i].base++;
  }
  for (i = 0; i < p->n_collectives; i++) {
    streams x = { p, s, i };
    if (s->coll.one[i].factor > 0) berth_i_sim_collective_flows(p, s, i, count_stream, &x);
  }
  int32_t n;
  for (i = 0; i < p->classes->n; i++, at += n) {
    n = k[i].base;
    k[i].base = at;
  }
}

void berth_i_fair_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_fair *f = s->links.fair;
  memset(f->k, 0, (size_t)p->classes->n * sizeof *f->k);
  memset(f->link, 0, (size_t)p->cost->t->n_links * sizeof *f->link);
  f->n_waiting = f->n_changed = 0;
  berth_i_slots_clear(&f->ends);
  slice_flows(p, s);
}

/* The slices have moved, and may be longer or shorter. */
static void copy_flows(const berth_i_sim_plan *p, berth_i_fair *dst, const berth_i_fair *src) {
  for (int32_t i = 0; i < p->classes->n; i++) {
    const flows *k = &src->k[i];
    if (k->n > 0)
      memcpy(&dst->flow[dst->k[i].base], &src->flow[k->base], (size_t)k->n * sizeof *dst->flow);
  }
}

static void slice_again(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t i = 0; i < p->classes->n; i++) s->links.fair->k[i].base = 0;
  slice_flows(p, s);
}

void berth_i_fair_copy(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                       const berth_i_sim_state *src, bool moved) {
  berth_i_fair *x = dst->links.fair;
  const berth_i_fair *y = src->links.fair;
  size_t n = (size_t)p->classes->n, links = (size_t)p->cost->t->n_links,
         padded = ((size_t)y->ends.n + 1) & ~(size_t)1;
  if (n > 0) memcpy(x->k, y->k, n * sizeof *x->k);
  if (moved) slice_again(p, dst);
  copy_flows(p, x, y);
  if (y->n_waiting > 0) memcpy(x->waiting, y->waiting, (size_t)y->n_waiting * sizeof *x->waiting);
  if (links > 0) memcpy(x->link, y->link, links * sizeof *x->link);
  if (n_active(p) > 0) memcpy(x->active, y->active, n_active(p) * sizeof *x->active);
  if (n_active(p) > 0) memcpy(x->place, y->place, n_active(p) * sizeof *x->place);
  if (y->n_changed > 0) memcpy(x->changed, y->changed, (size_t)y->n_changed * sizeof *x->changed);
  memcpy(x->ends.at, y->ends.at, padded * sizeof *x->ends.at);
  if (x->ends.winner)
    memcpy(x->ends.winner, y->ends.winner, 2 * (size_t)x->ends.width * sizeof *x->ends.winner);
  x->n_waiting = y->n_waiting;
  x->n_changed = y->n_changed;
}

/* ---- classes on links ---- */

static void mark_changed(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_fair *f = s->links.fair;
  const berth_i_classes *c = p->classes;
  f->k[k].touched = true;
  for (int32_t i = c->at[k]; i < c->at[k + 1]; i++) {
    shared_link *l = &f->link[c->link[i]];
    if (l->changed) continue;
    l->changed = true;
    f->changed[f->n_changed++] = c->link[i];
  }
  berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
}

static void activate(const berth_i_sim_plan *p, berth_i_fair *f, int32_t k) {
  const berth_i_classes *c = p->classes;
  for (int32_t i = c->at[k]; i < c->at[k + 1]; i++) {
    int32_t link = c->link[i];
    f->place[i] = f->link[link].n++;
    f->active[c->on_link[link] + f->place[i]] = i;
  }
}

/* The last one of each slice takes the place. */
static void deactivate(const berth_i_sim_plan *p, berth_i_fair *f, int32_t k) {
  const berth_i_classes *c = p->classes;
  for (int32_t i = c->at[k]; i < c->at[k + 1]; i++) {
    int32_t *slice = &f->active[c->on_link[c->link[i]]], last = slice[--f->link[c->link[i]].n];
    slice[f->place[i]] = last;
    f->place[last] = f->place[i];
  }
}

/* ---- flows ---- */

static void bring_up(flows *k, double now) {
  k->had += k->rate * (now - k->since);
  k->since = now;
}

static void join(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id, int32_t copy,
                 uint32_t seq, double bytes) {
  berth_i_fair *f = s->links.fair;
  flows *k = &f->k[id];
  if (k->n == 0) {
    k->had = k->rate = 0;
    activate(p, f, id);
  }
  bring_up(k, s->now);
  berth_i_ready e = { k->had + bytes, seq, copy };
  berth_i_ready_up(&f->flow[k->base], k->n++, e);
  mark_changed(p, s, id);
}

/* The first flow of the class ends now: its mark is what each has had. */
static int32_t leave(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id) {
  berth_i_fair *f = s->links.fair;
  flows *k = &f->k[id];
  berth_i_ready e = berth_i_ready_pop(&f->flow[k->base], k->n--);
  k->had = e.time;
  k->since = s->now;
  if (k->n == 0) deactivate(p, f, id);
  berth_i_slot_set(&f->ends, id, INFINITY, UINT64_MAX); /* until the links are shared out */
  mark_changed(p, s, id);
  return e.op;
}

/* ---- sharing out ---- */

static void include_link(berth_i_fair *f, int32_t link) {
  shared_link *l = &f->link[link];
  if (l->in) return;
  l->in = true;
  f->links[f->n_links++] = link;
}

/* Rates may have become 0 and counts infinite by rounding. */
static double end_of_first(const flows *k, double mark, double now) {
  double left = mark - k->had, end = k->since + left / k->rate;
  if (end > now) return end;
  return isnan(left) || (isnan(end) && left > 0) ? INFINITY : now;
}

static void show_end(berth_i_sim_state *s, int32_t id) {
  berth_i_fair *f = s->links.fair;
  flows *k = &f->k[id];
  const berth_i_ready *first = &f->flow[k->base];
  k->in = k->fixed = false;
  if (!k->touched) return;
  k->touched = false;
  berth_i_slot_set(&f->ends, id, end_of_first(k, first->time, s->now), first->seq);
}

static void show_next_end(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_slots *ends = &s->links.fair->ends;
  int32_t k = berth_i_slots_next(ends);
  berth_i_slot_set(&s->slots, p->n_devices + 1, berth_i_slot_time(ends, k), ends->at[k].seq);
}

/* Links with a change, and all links and classes that are connected with them by flows: the list of
 * links grows while it is read. */
static void gather_affected(const berth_i_sim_plan *p, berth_i_fair *f) {
  const berth_i_classes *c = p->classes;
  f->n_links = f->n_classes = 0;
  for (int32_t i = 0; i < f->n_changed; i++) {
    f->link[f->changed[i]].changed = false;
    include_link(f, f->changed[i]);
  }
  f->n_changed = 0;
  for (int32_t i = 0; i < f->n_links; i++) {
    shared_link *l = &f->link[f->links[i]];
    const int32_t *slice = &f->active[c->on_link[f->links[i]]];
    l->left = p->cost->t->links[f->links[i]].bandwidth;
    l->wanting = 0;
    for (int32_t j = 0; j < l->n; j++) {
      int32_t k = c->owner[slice[j]];
      l->wanting += f->k[k].n;
      if (f->k[k].in) continue;
      f->k[k].in = true;
      f->classes[f->n_classes++] = k;
      for (int32_t m = c->at[k]; m < c->at[k + 1]; m++) include_link(f, c->link[m]);
    }
  }
}

/* Max-min fair rates, by progressive filling: all flows get the same rate until a link is full; the
 * flows on it keep that rate, and the others share what is left. Only classes that are connected by
 * links with a change are done. O(rounds x links + links of the classes) of these. */
void berth_i_fair_pump(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_fair *f = s->links.fair;
  const berth_i_classes *c = p->classes;
  berth_i_slot_set(&s->slots, s->slots.n - 1, INFINITY, BERTH_I_PUMP);

  gather_affected(p, f);
  double level = 0;
  for (;;) {
    /* The link that gives each flow least, ties to the lowest id; links without flows are
     * dropped. */
    int32_t kept = 0, tightest = BERTH_NONE;
    double share = 0;
    for (int32_t i = 0; i < f->n_links; i++) {
      int32_t link = f->links[i];
      shared_link *l = &f->link[link];
      l->in = l->wanting > 0;
      if (!l->in) continue;
      f->links[kept++] = link;
      double each = l->left / l->wanting;
      if (tightest != BERTH_NONE && (each > share || (each == share && link > tightest))) continue;
      share = each;
      tightest = link;
    }
    f->n_links = kept;
    if (tightest == BERTH_NONE) break;

    /* Its flows get that rate. Rates never fall from round to round, but for rounding: then the
     * round before holds. */
    if (share > level) level = share;
    const int32_t *slice = &f->active[c->on_link[tightest]];
    for (int32_t j = 0; j < f->link[tightest].n; j++) {
      int32_t id = c->owner[slice[j]];
      flows *k = &f->k[id];
      if (k->fixed) continue;
      k->fixed = true;
      double given = level * k->n;
      for (int32_t i = c->at[id], n = k->n, end = c->at[id + 1]; i < end; i++) {
        shared_link *l = &f->link[c->link[i]];
        l->wanting -= n;
        l->left -= given;
      }
      if (k->rate == level) continue;
      bring_up(k, s->now);
      k->rate = level;
      k->touched = true;
    }
  }

  for (int32_t i = 0; i < f->n_classes; i++) show_end(s, f->classes[i]);
  show_next_end(p, s);
}

/* ---- requests and ends ---- */

static void show_next_latency(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_fair *f = s->links.fair;
  berth_i_slot_set(&s->slots, p->n_devices, f->n_waiting ? f->waiting[0].time : INFINITY,
                   f->n_waiting ? f->waiting[0].seq : 0);
}

/* Of latency and of bytes. */
static double factor_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t copy) {
  double factor = p->cost->transfer_factor;
  return p->o.noise > 0 ? factor
                              * berth_i_transfer_noise(p, s, p->edge_tensor[copy],
                                                       berth_i_copy_dst(p, s, copy))
                        : factor;
}

static void note_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  if (s->memory) berth_i_memory_depart(p, s, copy);
  if (!s->trace) return;
  s->links.fair->record[copy] = s->trace->n_sent;
  berth_i_links_log(p, s, copy, s->now, s->now, INFINITY);
}

void berth_i_fair_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_fair *f = s->links.fair;
  const berth_topology *t = p->cost->t;
  size_t pair = berth_i_pair(t, berth_i_copy_src(p, s, copy), berth_i_copy_dst(p, s, copy));
  bool control = p->cost->g->tensor_bytes[p->edge_tensor[copy]] == 0 && p->cost->free_control;
  s->copy[copy] = BERTH_I_COPY_SENT;
  s->arrival[copy] = INFINITY; /* unknown yet; if the run stops early, it is one that arrives too
                                  late */
  if (t->route_len[pair] < 0) return;
  note_request(p, s, copy);
  berth_i_ready e = {
      s->now + (control ? 0 : t->latency[pair] * factor_of(p, s, copy)),
      s->seq++, copy};
  berth_i_ready_up(f->waiting, f->n_waiting++, e);
  show_next_latency(p, s);
}

static int32_t arrive(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  if (s->memory) berth_i_memory_arrive(p, s, copy);
  if (s->trace) s->trace->sent[s->links.fair->record[copy]].finish = s->now;
  s->arrival[copy] = s->now;
  s->copy[copy] = BERTH_I_COPY_THERE;
  return copy;
}

static void begin_stream(void *ud, int32_t src, int32_t dst, double bytes) {
  streams *x = ud;
  int32_t k = class_of_stream(x->p, src, dst, bytes);
  berth_i_sim_collective *m = &x->s->coll.one[x->collective];
  if (k == BERTH_NONE) return;
  m->flows++;
  join(x->p, x->s, k, x->p->n_edges + x->collective, x->s->seq++, bytes * m->factor);
}

static void begin_streams(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t collective) {
  streams x = { p, s, collective };
  berth_i_sim_collective_flows(p, s, collective, begin_stream, &x);
  berth_i_sim_collective_flowed(p, s, collective); /* the wait for the latency */
}

void berth_i_fair_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_fair *f = s->links.fair;
  berth_i_sim_collective *x = &s->coll.one[k];
  berth_i_sim_collective_start(p, s, k, s->now);
  if (!(x->factor > 0)) return;
  x->flows = 1;
  berth_i_ready e = { s->now + x->latency, s->seq++, p->n_edges + k };
  berth_i_ready_up(f->waiting, f->n_waiting++, e);
  show_next_latency(p, s);
}

/* A copy has flow_ended, BERTH_NONE: a flow of a collective. */
static int32_t flow_ended(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t what) {
  if (what < p->n_edges) return arrive(p, s, what);
  berth_i_sim_collective_flowed(p, s, what - p->n_edges);
  return BERTH_NONE;
}

static int32_t end_latency(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_fair *f = s->links.fair;
  berth_i_ready e = berth_i_ready_pop(f->waiting, f->n_waiting--);
  show_next_latency(p, s);
  if (e.op >= p->n_edges) {
    begin_streams(p, s, e.op - p->n_edges);
    return BERTH_NONE;
  }
  double bytes = p->cost->g->tensor_bytes[p->edge_tensor[e.op]];
  int32_t k = class_of(p, s, e.op);
  if (bytes > 0) bytes *= factor_of(p, s, e.op);
  if (!(bytes > 0) || k == BERTH_NONE) return arrive(p, s, e.op);
  join(p, s, k, e.op, e.seq, bytes);
  return BERTH_NONE;
}

int32_t berth_i_fair_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t which) {
  if (which == 0) return end_latency(p, s);
  int32_t copy = leave(p, s, berth_i_slots_next(&s->links.fair->ends));
  show_next_end(p, s);
  return flow_ended(p, s, copy);
}
