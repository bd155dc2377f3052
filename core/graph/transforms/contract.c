/* Which pairs are contracted, in which order, and when a refused one is tested again.
 *
 * A pair is refused because of a witness: a node on another path (exact), another successor or
 * predecessor (cheap, chain). As long as the witness is neither end, so it stays. So each refused
 * pair is noted at its witnesses and at its ends, and when two nodes join, the notes of the one
 * that has fewer are gone through: each note moves O(log) times. */
#include "contract_internal.h"

typedef struct note {
  int32_t pair, next;
} note;

typedef enum pair_state { WAITING, REFUSED, DECIDED } pair_state;

typedef struct contraction {
  berth_i_pool pool;
  berth_i_clusters *c;
  const berth_fuse_options *o;
  berth_i_check check;
  int32_t n_pairs;
  uint8_t *state;            /* [pairs] pair_state; DECIDED: for good */
  int32_t *queue;            /* [pairs] ring of the WAITING ones */
  int32_t head, n_queued;
  int32_t *partner;          /* [ops] root of the twins of a root's ops; BERTH_NONE: none, or within
                                it. NULL: not checked */
  int32_t *group;            /* [ops] */
  berth_share_options free;  /* no limits, the same devices */
  berth_i_sharing *whole;    /* colocation groups as wholes, and what has joined an op of theirs;
                                NULL: no groups */
  uint8_t *price;            /* [ops] how a root is priced */
  /* notes */
  int32_t *witness;           /* [2 * pairs] nodes; BERTH_NONE */
  int32_t *current;           /* [2 * pairs] note at the witness */
  int32_t *watched, *refused; /* [nodes] notes at a witness, at an end */
  int32_t *n_notes;           /* [nodes] */
  note *notes;
  size_t used, cap;
} contraction;

enum { HAS_TIMES = 1, HAS_RATES = 2, NOTED = 0x80 }; /* NOTED: in state[], at the ends */

/* ---- notes ---- */

static pair_state state_of(const contraction *k, int32_t e) {
  return (pair_state)(k->state[e] & ~NOTED);
}

static void set_state(contraction *k, int32_t e, pair_state s) {
  k->state[e] = (uint8_t)((k->state[e] & NOTED) | s);
}

static void enqueue(contraction *k, int32_t e) {
  int32_t at = k->head + k->n_queued++;
  set_state(k, e, WAITING);
  k->queue[at < k->n_pairs ? at : at - k->n_pairs] = e;
}

static int32_t dequeue(contraction *k) {
  int32_t e = k->queue[k->head];
  k->head = k->head + 1 == k->n_pairs ? 0 : k->head + 1;
  k->n_queued--;
  return e;
}

static void put_note(contraction *k, int32_t id, int32_t *list, int32_t node) {
  k->notes[id].next = list[node];
  list[node] = id;
  k->n_notes[node]++;
}

static berth_status write_note(contraction *k, int32_t e, int32_t *list, int32_t node,
                               int32_t *id) {
  berth_status st = BERTH_I_POOL_GROW(&k->pool, k->notes, k->cap, k->used + 1);
  if (st != BERTH_OK) return st;
  *id = (int32_t)k->used++;
  k->notes[*id].pair = e;
  put_note(k, *id, list, node);
  return BERTH_OK;
}

static berth_status note_witness(contraction *k, int32_t e, int which, int32_t node) {
  int32_t slot = 2 * e + which;
  k->witness[slot] = node;
  k->current[slot] = BERTH_NONE;
  return node == BERTH_NONE
             ? BERTH_OK
             : write_note(k, e, k->watched, berth_i_cluster(k->c, node), &k->current[slot]);
}

static berth_status refuse(contraction *k, int32_t e, int32_t u, int32_t v, int32_t one,
                           int32_t two) {
  set_state(k, e, REFUSED);
  berth_status st;
  if ((st = note_witness(k, e, 0, one)) != BERTH_OK) return st;
  if ((st = note_witness(k, e, 1, two)) != BERTH_OK) return st;
  if (k->state[e] & NOTED) return BERTH_OK;
  k->state[e] |= NOTED;
  int32_t id;
  if ((st = write_note(k, e, k->refused, u, &id)) != BERTH_OK) return st;
  return write_note(k, e, k->refused, v, &id);
}

static bool has_end_in(const contraction *k, int32_t e, int32_t root) {
  return berth_i_cluster(k->c, k->c->pairs->src[e]) == root
         || berth_i_cluster(k->c, k->c->pairs->dst[e]) == root;
}

static bool is_witness(const contraction *k, int32_t e, int32_t root) {
  int32_t a = k->witness[2 * e], b = k->witness[2 * e + 1];
  return (a != BERTH_NONE && berth_i_cluster(k->c, a) == root)
         || (b != BERTH_NONE && berth_i_cluster(k->c, b) == root);
}

/* Notes at a witness that are still good move to `other`; those of pairs that end there wake up. */
static void pass_watched(contraction *k, int32_t from, int32_t other) {
  int32_t next;
  for (int32_t id = k->watched[from]; id != BERTH_NONE; id = next) {
    next = k->notes[id].next;
    int32_t e = k->notes[id].pair;
    if (state_of(k, e) != REFUSED || (k->current[2 * e] != id && k->current[2 * e + 1] != id))
      continue;
    if (has_end_in(k, e, other)) enqueue(k, e);
    else put_note(k, id, k->watched, other);
  }
}

static void pass_refused(contraction *k, int32_t from, int32_t other) {
  int32_t next;
  for (int32_t id = k->refused[from]; id != BERTH_NONE; id = next) {
    next = k->notes[id].next;
    int32_t e = k->notes[id].pair;
    if (state_of(k, e) == DECIDED) continue;
    if (state_of(k, e) == REFUSED && is_witness(k, e, other)) enqueue(k, e);
    put_note(k, id, k->refused, other);
  }
}

static void take_notes(contraction *k, int32_t from, int32_t root) {
  if (from == root) return;
  k->watched[root] = k->watched[from];
  k->refused[root] = k->refused[from];
  k->n_notes[root] = k->n_notes[from];
}

/* ---- joining ---- */

static int32_t joint_partner(const contraction *k, int32_t u, int32_t v) {
  if (k->partner[u] != BERTH_NONE && k->partner[u] != v) return k->partner[u];
  return k->partner[v] != u ? k->partner[v] : BERTH_NONE;
}

static void join_partners(contraction *k, int32_t u, int32_t v, int32_t root, int32_t partner) {
  int32_t x = k->partner[u], y = k->partner[v];
  if (x != BERTH_NONE && x != v) k->partner[x] = root;
  if (y != BERTH_NONE && y != u) k->partner[y] = root;
  k->partner[root] = partner;
}

static void join_wholes(contraction *k, int32_t u, int32_t v) {
  int32_t a = berth_i_sharing_root(k->whole, u), b = berth_i_sharing_root(k->whole, v);
  if (a != b) berth_i_sharing_join(k->whole, a, b);
}

static void join(contraction *k, int32_t u, int32_t v, bool searched, bool lone) {
  bool u_has_fewer = k->n_notes[u] < k->n_notes[v];
  int32_t fewer = u_has_fewer ? u : v, more = u_has_fewer ? v : u;
  int32_t partner = k->partner ? joint_partner(k, u, v) : BERTH_NONE;
  int32_t group = k->group[u] != BERTH_NONE ? k->group[u] : k->group[v];
  uint8_t price = k->price[u] | k->price[v];
  pass_watched(k, fewer, more);
  pass_refused(k, fewer, more);
  int32_t root = berth_i_cluster_join(k->c, u, v, searched, lone);
  take_notes(k, more, root);
  if (k->partner) join_partners(k, u, v, root, partner);
  if (k->whole) join_wholes(k, u, v);
  k->group[root] = group;
  k->price[root] = price;
}

/* ---- may they? ---- */

static bool is_any_type(const berth_graph *g) { return g->n_types == 1 && g->types[0][0] == '\0'; }

/* What takes no time anywhere can join anything. Times of ops that are not of one kind do not
 * add up. */
static uint8_t price_of(const berth_graph *g, int32_t op) {
  if (!berth_i_profile_of(g, op)) return berth_i_has_rates(g, op) ? HAS_RATES : 0;
  return berth_i_has_rates(g, op) && !is_any_type(g) ? HAS_TIMES | HAS_RATES : HAS_TIMES;
}

static bool groups_allow(const contraction *k, int32_t u, int32_t v) {
  int32_t a = k->group[u], b = k->group[v];
  if (k->o->scope == BERTH_FUSE_GROUPS) return a != BERTH_NONE && a == b;
  return a == BERTH_NONE || b == BERTH_NONE || a == b;
}

/* What joins an op of a group is placed with the whole group. */
static bool wholes_allow(const contraction *k, int32_t u, int32_t v) {
  if (!k->whole) return true;
  int32_t roots[2];
  roots[0] = berth_i_sharing_root(k->whole, u);
  roots[1] = berth_i_sharing_root(k->whole, v);
  return roots[0] == roots[1] || berth_i_sharing_compatible(k->whole, 2, roots);
}

/* The same for two pairs at once, each of which may be contracted alone: they may end in one
 * group. */
static bool wholes_allow_both(const contraction *k, int32_t u, int32_t v, int32_t from,
                              int32_t to) {
  if (!k->whole) return true;
  int32_t r[4];
  r[0] = berth_i_sharing_root(k->whole, u);
  r[1] = berth_i_sharing_root(k->whole, v);
  r[2] = berth_i_sharing_root(k->whole, from);
  r[3] = berth_i_sharing_root(k->whole, to);
  if (r[0] == r[1] || r[2] == r[3]) return true;
  if (r[0] != r[2] && r[0] != r[3] && r[1] != r[2] && r[1] != r[3]) return true;
  return berth_i_sharing_compatible(k->whole, 4, r);
}

/* What forbids it here, forbids it for good. */
static bool may_ever(const contraction *k, int32_t u, int32_t v) {
  const berth_graph *g = k->c->g;
  if (u >= g->n_ops || v >= g->n_ops || !groups_allow(k, u, v)) return false;
  if (k->price[u] && k->price[v] && k->price[u] != k->price[v]) return false;
  if (!wholes_allow(k, u, v)) return false;
  return berth_i_sharing_apart(k->c->sharing, u, v) == BERTH_I_TOGETHER;
}

/* Witnesses against contracting u -> v now. */
typedef struct verdict {
  int32_t one, two;
  bool yes, searched, lone;
} verdict;

static verdict check_pair(contraction *k, int32_t u, int32_t v) {
  verdict x = { BERTH_NONE, BERTH_NONE, false, false, false };
  if (k->check == BERTH_I_CHECK_EXACT) {
    x.one = berth_i_cluster_detour(k->c, u, v);
    x.yes = x.one == BERTH_NONE;
    x.searched = true;
    return x;
  }
  x.one = berth_i_cluster_neighbour(k->c, &k->c->out, u, v);
  x.two = berth_i_cluster_neighbour(k->c, &k->c->in, v, u);
  x.lone = x.one == BERTH_NONE;
  x.yes = k->check == BERTH_I_CHECK_CHAIN ? x.lone && x.two == BERTH_NONE
                                          : x.lone || x.two == BERTH_NONE;
  return x;
}

static void join_now(contraction *k, int32_t u, int32_t v) {
  verdict x = check_pair(k, u, v);
  join(k, u, v, x.searched, x.lone);
}

/* ---- twins ---- */

/* The pair of their twins in its direction, if it must be contracted along with u -> v. */
static bool has_twin_pair(const contraction *k, int32_t u, int32_t v, int32_t *from, int32_t *to) {
  if (!k->partner) return false;
  int32_t x = k->partner[u];
  int32_t y = k->partner[v];
  if (x == BERTH_NONE || y == BERTH_NONE || x == v) return false;
  *from = berth_i_cluster_follows(k->c, y, x) ? y : x;
  *to = *from == y ? x : y;
  return true;
}

/* u -> v may be contracted, and from -> to? With both done, a path from the one to the other and
 * back would be a cycle. */
static bool twins_allow(contraction *k, int32_t u, int32_t v, int32_t from, int32_t to) {
  if (!berth_i_cluster_follows(k->c, from, to) || !may_ever(k, from, to)) return false;
  if (!wholes_allow_both(k, u, v, from, to)) return false;
  if (!check_pair(k, from, to).yes) return false;
  return !(berth_i_cluster_reaches(k->c, from, v) && berth_i_cluster_reaches(k->c, u, to));
}

/* ---- the queue ---- */

static berth_status contract_pair(contraction *k, int32_t e) {
  int32_t u = berth_i_cluster(k->c, k->c->pairs->src[e]),
          v = berth_i_cluster(k->c, k->c->pairs->dst[e]);
  set_state(k, e, DECIDED);
  if (u == v || !may_ever(k, u, v)) return BERTH_OK;
  verdict x = check_pair(k, u, v);
  if (!x.yes) return refuse(k, e, u, v, x.one, x.two);
  int32_t from, to;
  if (!has_twin_pair(k, u, v, &from, &to)) {
    join(k, u, v, x.searched, x.lone);
    return BERTH_OK;
  }
  if (!twins_allow(k, u, v, from, to)) return BERTH_OK;
  join_now(k, u, v);
  join_now(k, from, to);
  return BERTH_OK;
}

static berth_status run(contraction *k) {
  int64_t steps = 0;
  berth_status st = BERTH_OK;
  while (k->n_queued > 0 && st == BERTH_OK) {
    if (steps++ % 4096 == 0 && (st = berth_i_interrupted(k->c->g->ctx)) != BERTH_OK) return st;
    st = contract_pair(k, dequeue(k));
  }
  return st;
}

/* ---- life ---- */

static berth_status alloc(contraction *k) {
  size_t p = (size_t)k->n_pairs, n = (size_t)k->c->n_nodes, ops = (size_t)k->c->g->n_ops;
  k->state = berth_i_pool_zalloc(&k->pool, p, 1);
  k->queue = berth_i_pool_alloc(&k->pool, p, sizeof *k->queue);
  k->witness = berth_i_pool_alloc(&k->pool, 2 * p, sizeof *k->witness);
  k->current = berth_i_pool_alloc(&k->pool, 2 * p, sizeof *k->current);
  k->watched = berth_i_pool_alloc(&k->pool, n, sizeof *k->watched);
  k->refused = berth_i_pool_alloc(&k->pool, n, sizeof *k->refused);
  k->n_notes = berth_i_pool_zalloc(&k->pool, n, sizeof *k->n_notes);
  k->group = berth_i_pool_alloc(&k->pool, ops, sizeof *k->group);
  k->price = berth_i_pool_alloc(&k->pool, ops, 1);
  if (k->c->g->twin && !k->o->split_twins)
    k->partner = berth_i_pool_alloc(&k->pool, ops, sizeof *k->partner);
  return berth_i_pool_status(&k->pool);
}

static void fill(contraction *k) {
  const berth_graph *g = k->c->g;
  size_t p = (size_t)k->n_pairs, n = (size_t)k->c->n_nodes;
  memset(k->witness, 0xff, 2 * p * sizeof *k->witness);
  memset(k->current, 0xff, 2 * p * sizeof *k->current);
  memset(k->watched, 0xff, n * sizeof *k->watched);
  memset(k->refused, 0xff, n * sizeof *k->refused);
  for (int32_t v = 0; v < g->n_ops; v++) {
    k->group[v] = berth_i_group(g, v);
    k->price[v] = price_of(g, v);
    if (k->partner) k->partner[v] = berth_i_twin(g, v);
  }
}

static berth_status init_wholes(contraction *k, berth_i_sharing *whole) {
  if (!k->c->g->group || k->o->scope == BERTH_FUSE_GROUPS) return BERTH_OK;
  k->free = berth_share_default();
  k->free.n_devices = k->o->share.n_devices;
  k->free.device_type = k->o->share.device_type;
  k->free.runs = k->o->share.runs;
  k->whole = whole;
  berth_status st;
  if ((st = berth_i_sharing_init(k->c->g, "fuse", &k->free, &k->pool, whole)) != BERTH_OK)
    return st;
  return berth_i_sharing_join_groups(whole, "fuse", false);
}

berth_status berth_i_contract(berth_i_clusters *c, const berth_fuse_options *o, berth_i_check check,
                              const int32_t *place) {
  contraction k = {
    .pool = berth_i_pool_empty(c->g->ctx), .c = c, .o = o, .check = check, .n_pairs = c->pairs->n
  };
  berth_status st = alloc(&k);
  if (st == BERTH_OK) st = berth_i_pairs_by_weight(c->g, c->pairs, place, k.queue);
  berth_i_sharing whole;
  if (st == BERTH_OK) st = init_wholes(&k, &whole);
  if (st == BERTH_OK) {
    fill(&k);
    k.n_queued = k.n_pairs;
    st = run(&k);
  }
  berth_i_pool_free(&k.pool);
  return st;
}
