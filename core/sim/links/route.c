/* Links held as whole routes: a transfer takes all links of its way for its whole time, or waits.
 * Of one ordered pair of devices only the oldest request can be next. A pair that cannot start is
 * parked at one link that is busy; until that link is free it need not be tested again. A free
 * link wakes its oldest pair, and the next one only while it stays free. So pairs are visited
 * by age, and each visit starts a transfer or moves the pair to another list. A collective is a
 * pair of its own, n_devices^2 + its id, with one request for the routes of all pairs of devices
 * that it uses. */
#include "sim/sim_internal.h"

typedef struct parked {
  int32_t left, right; /* pairs, as a leftist heap by age */
  int32_t rank;
  int32_t woken_by;    /* link; BERTH_NONE: a new request */
} parked;

struct berth_i_route {
  int32_t *head, *tail;     /* [n_devices^2] oldest and youngest request of each pair */
  int32_t *next;            /* [n_edges] */
  uint32_t *age;            /* [n_edges] */
  parked *pair;             /* [n_devices^2 + n_collectives], so all `pairs` below */
  int32_t *root;            /* [n_links] oldest pair parked there */
  uint8_t *busy, *is_freed; /* [n_links] */
  int32_t *freed;           /* [n_links] in this instant */
  uint32_t *collective_age;            /* [n_collectives] ages of their requests */
  berth_i_ready *awake;     /* [n_devices^2 + n_collectives] pairs to visit, by age */
  berth_i_ready *under_way; /* [n_links] copies by end */
  int32_t n_freed, n_awake, n_under_way, n_pairs;
  uint32_t n_requests;
};

/* ---- life ---- */

static size_t n_pairs(const berth_i_sim_plan *p) {
  return (size_t)p->n_devices * (size_t)p->n_devices;
}

static size_t n_waiters(const berth_i_sim_plan *p) { return n_pairs(p) + (size_t)p->n_collectives; }

berth_i_route *berth_i_route_new(const berth_i_sim_plan *p, berth_i_pool *pool) {
  size_t pairs = n_pairs(p), m = (size_t)p->n_edges, links = (size_t)p->cost->t->n_links;
  berth_i_route *r = berth_i_pool_zalloc(pool, 1, sizeof *r);
  if (!r) return NULL;
  r->n_pairs = (int32_t)pairs;
  r->head = berth_i_pool_alloc(pool, pairs, sizeof *r->head);
  r->tail = berth_i_pool_alloc(pool, pairs, sizeof *r->tail);
  r->next = berth_i_pool_alloc(pool, m, sizeof *r->next);
  r->age = berth_i_pool_alloc(pool, m, sizeof *r->age);
  r->pair = berth_i_pool_alloc(pool, n_waiters(p), sizeof *r->pair);
  r->collective_age = berth_i_pool_alloc(pool, (size_t)p->n_collectives, sizeof *r->collective_age);
  r->root = berth_i_pool_alloc(pool, links, sizeof *r->root);
  r->busy = berth_i_pool_alloc(pool, links, 1);
  r->is_freed = berth_i_pool_alloc(pool, links, 1);
  r->freed = berth_i_pool_alloc(pool, links, sizeof *r->freed);
  r->awake = berth_i_pool_alloc(pool, n_waiters(p), sizeof *r->awake);
  r->under_way = berth_i_pool_alloc(pool, links, sizeof *r->under_way);
  return r;
}

void berth_i_route_reset(const berth_i_sim_plan *p, berth_i_route *r) {
  size_t links = (size_t)p->cost->t->n_links;
  for (size_t i = 0; i < n_pairs(p); i++) r->head[i] = BERTH_NONE;
  for (size_t i = 0; i < links; i++) r->root[i] = BERTH_NONE;
  memset(r->busy, 0, links);
  memset(r->is_freed, 0, links);
  r->n_freed = r->n_awake = r->n_under_way = 0;
  r->n_requests = 0;
}

void berth_i_route_copy(const berth_i_sim_plan *p, berth_i_route *dst, const berth_i_route *src) {
  size_t pairs = n_pairs(p), m = (size_t)p->n_edges, links = (size_t)p->cost->t->n_links;
  memcpy(dst->head, src->head, pairs * sizeof *dst->head);
  memcpy(dst->tail, src->tail, pairs * sizeof *dst->tail);
  if (m > 0) memcpy(dst->next, src->next, m * sizeof *dst->next);
  if (m > 0) memcpy(dst->age, src->age, m * sizeof *dst->age);
  memcpy(dst->pair, src->pair, n_waiters(p) * sizeof *dst->pair);
  if (p->n_collectives > 0)
    memcpy(dst->collective_age, src->collective_age,
           (size_t)p->n_collectives * sizeof *dst->collective_age);
  if (links > 0) memcpy(dst->root, src->root, links * sizeof *dst->root);
  if (links > 0) memcpy(dst->busy, src->busy, links);
  if (links > 0) memcpy(dst->is_freed, src->is_freed, links);
  if (src->n_freed > 0) memcpy(dst->freed, src->freed, (size_t)src->n_freed * sizeof *dst->freed);
  if (src->n_awake > 0) memcpy(dst->awake, src->awake, (size_t)src->n_awake * sizeof *dst->awake);
  if (src->n_under_way > 0)
    memcpy(dst->under_way, src->under_way, (size_t)src->n_under_way * sizeof *dst->under_way);
  dst->n_freed = src->n_freed;
  dst->n_awake = src->n_awake;
  dst->n_under_way = src->n_under_way;
  dst->n_requests = src->n_requests;
}

/* ---- parked pairs ---- */

static uint32_t age_of(const berth_i_route *r, int32_t pair) {
  return pair < r->n_pairs ? r->age[r->head[pair]] : r->collective_age[pair - r->n_pairs];
}
static int32_t rank_of(const berth_i_route *r, int32_t pair) {
  return pair == BERTH_NONE ? 0 : r->pair[pair].rank;
}

/* O(log); the depth of the calls is the length of the right spines. */
static int32_t meld(berth_i_route *r, int32_t a, int32_t b) {
  if (a == BERTH_NONE) return b;
  if (b == BERTH_NONE) return a;
  if (age_of(r, b) < age_of(r, a)) return meld(r, b, a);
  parked *top = &r->pair[a];
  top->right = meld(r, top->right, b);
  if (rank_of(r, top->left) < rank_of(r, top->right)) {
    int32_t swap = top->left;
    top->left = top->right;
    top->right = swap;
  }
  top->rank = rank_of(r, top->right) + 1;
  return a;
}

static void park(berth_i_route *r, int32_t pair, int32_t link) {
  r->pair[pair].left = r->pair[pair].right = BERTH_NONE;
  r->pair[pair].rank = 1;
  r->root[link] = meld(r, r->root[link], pair);
}

static void awaken(berth_i_route *r, int32_t pair, int32_t link) {
  berth_i_ready e = { age_of(r, pair), 0, pair };
  r->pair[pair].woken_by = link;
  berth_i_ready_up(r->awake, r->n_awake++, e);
}

static void wake_oldest(berth_i_route *r, int32_t link) {
  int32_t pair = r->root[link];
  if (pair == BERTH_NONE || r->busy[link]) return;
  r->root[link] = meld(r, r->pair[pair].left, r->pair[pair].right);
  awaken(r, pair, link);
}

/* ---- requests, starts, ends ---- */

static int32_t route_of(const berth_i_sim_plan *p, int32_t pair, const int32_t **links) {
  return berth_topology_route(p->cost->t, pair / p->n_devices, pair % p->n_devices, links);
}

static void show_next_end(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_route *r = s->links.route;
  berth_i_slot_set(&s->slots, p->n_devices, r->n_under_way ? r->under_way[0].time : INFINITY,
                   r->n_under_way ? r->under_way[0].seq : 0);
}

void berth_i_route_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_route *r = s->links.route;
  int32_t pair =
      (int32_t)berth_i_pair(p->cost->t, berth_i_copy_src(p, s, copy), berth_i_copy_dst(p, s, copy));
  s->copy[copy] = BERTH_I_COPY_SENT;
  s->arrival[copy] = 0;
  if (p->cost->t->route_len[pair] < 0) return; /* it never arrives: the run stops short */
  r->age[copy] = r->n_requests++;
  r->next[copy] = BERTH_NONE;
  if (r->head[pair] == BERTH_NONE) {
    r->head[pair] = copy;
    awaken(r, pair, BERTH_NONE);
    berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
  } else {
    r->next[r->tail[pair]] = copy;
  }
  r->tail[pair] = copy;
}

static void start_transfer(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t pair,
                           const int32_t *links, int32_t n) {
  berth_i_route *r = s->links.route;
  int32_t copy = r->head[pair];
  double end = s->now + berth_i_copy_units(p, s, copy);
  for (int32_t i = 0; i < n; i++) r->busy[links[i]] = 1;
  r->head[pair] = r->next[copy];
  if (r->head[pair] != BERTH_NONE) park(r, pair, links[0]);
  s->arrival[copy] = end;
  berth_i_links_note(p, s, copy, s->now, end, end);
  berth_i_ready e = { end, s->seq++, copy };
  berth_i_ready_up(r->under_way, r->n_under_way++, e);
}

/* ---- collectives ---- */

/* A walk over the links of the routes of a collective; those of one link may come up several
 * times. */
typedef struct route_walk {
  const berth_i_sim_plan *p;
  berth_i_route *r;
  int32_t blocked;
} route_walk;

static void find_busy(void *ud, int32_t src, int32_t dst, double bytes) {
  route_walk *x = ud;
  const int32_t *links;
  int32_t n = berth_topology_route(x->p->cost->t, src, dst, &links);
  (void)bytes;
  for (int32_t i = 0; i < n && x->blocked == BERTH_NONE; i++) {
    if (x->r->busy[links[i]]) x->blocked = links[i];
  }
}

static void take_links(void *ud, int32_t src, int32_t dst, double bytes) {
  route_walk *x = ud;
  const int32_t *links;
  int32_t n = berth_topology_route(x->p->cost->t, src, dst, &links);
  (void)bytes;
  for (int32_t i = 0; i < n; i++) x->r->busy[links[i]] = 1;
}

static void free_link(berth_i_route *r, int32_t link) {
  r->busy[link] = 0;
  if (r->is_freed[link]) return;
  r->is_freed[link] = 1;
  r->freed[r->n_freed++] = link;
}

static void free_links(void *ud, int32_t src, int32_t dst, double bytes) {
  route_walk *x = ud;
  const int32_t *links;
  int32_t n = berth_topology_route(x->p->cost->t, src, dst, &links);
  (void)bytes;
  for (int32_t i = 0; i < n; i++) free_link(x->r, links[i]);
}

static void start_or_park_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  route_walk x = { p, s->links.route, BERTH_NONE };
  berth_i_sim_collective_flows(p, s, k, find_busy, &x);
  if (x.blocked != BERTH_NONE) {
    park(x.r, x.r->n_pairs + k, x.blocked);
    return;
  }
  berth_i_sim_collective_flows(p, s, k, take_links, &x);
  berth_i_sim_collective_start(p, s, k, s->now);
}

void berth_i_route_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_route *r = s->links.route;
  (void)p;
  r->collective_age[k] = r->n_requests++;
  awaken(r, r->n_pairs + k, BERTH_NONE);
  berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
}

void berth_i_route_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  route_walk x = { p, s->links.route, BERTH_NONE };
  berth_i_sim_collective_flows(p, s, k, free_links, &x);
  berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
}

/* Starts the oldest request of the pair, or parks it. */
static void start_or_park(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t pair) {
  berth_i_route *r = s->links.route;
  int32_t i = 0;
  if (pair >= r->n_pairs) {
    start_or_park_collective(p, s, pair - r->n_pairs);
    return;
  }
  const int32_t *links;
  int32_t n = route_of(p, pair, &links);
  while (i < n && !r->busy[links[i]]) i++;
  if (i < n) {
    park(r, pair, links[i]);
  } else {
    start_transfer(p, s, pair, links, n);
  }
}

void berth_i_route_pump(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_route *r = s->links.route;
  berth_i_slot_set(&s->slots, s->slots.n - 1, INFINITY, BERTH_I_PUMP);
  for (int32_t i = 0; i < r->n_freed; i++) {
    r->is_freed[r->freed[i]] = 0;
    wake_oldest(r, r->freed[i]);
  }
  r->n_freed = 0;
  while (r->n_awake > 0) {
    int32_t pair = berth_i_ready_pop(r->awake, r->n_awake--).op, link = r->pair[pair].woken_by;
    start_or_park(p, s, pair);
    if (link != BERTH_NONE) wake_oldest(r, link);
  }
  show_next_end(p, s);
}

int32_t berth_i_route_end(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_route *r = s->links.route;
  int32_t copy = berth_i_ready_pop(r->under_way, r->n_under_way--).op;
  const int32_t *links;
  int32_t n = berth_topology_route(p->cost->t, berth_i_copy_src(p, s, copy),
                                   berth_i_copy_dst(p, s, copy), &links);
  for (int32_t i = 0; i < n; i++) free_link(r, links[i]);
  s->copy[copy] = BERTH_I_COPY_THERE;
  show_next_end(p, s);
  berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
  return copy;
}
