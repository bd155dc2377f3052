/* Collectives as transfers: a replay that knows nothing of the algorithms follows, block by block,
 * what every device holds. */
#include "refusals.h"
#include <stdbool.h>

enum { MOST_DEVICES = 13, MOST_MEMBERS = 24, FULL_BLOCKS = 16 };

typedef struct job {
  berth_collective_kind kind;
  double bytes;
  int32_t devices, members, consumers;
  int32_t device[2 * MOST_MEMBERS]; /* members, then consumers */
  int32_t group[MOST_DEVICES];
} job;

static berth_graph *build(const job *j, berth_status *status) {
  berth_graph_builder *b = NULL;
  berth_graph *g = NULL;
  int32_t members[MOST_MEMBERS], consumers[MOST_MEMBERS];
  berth_collective c = { j->kind, j->bytes, 1, j->members, members, j->consumers, consumers };
  berth_status st = berth_graph_builder_new(ctx, &b);
  for (int32_t i = 0; i < j->members + j->consumers && st == BERTH_OK; i++) {
    double seconds = i < j->members ? 1 : 0;
    berth_op op = berth_op_default();
    op.seconds = &seconds;
    st = berth_graph_builder_add_op(b, &op, NULL);
    if (i < j->members) members[i] = i;
    else consumers[i - j->members] = i;
  }
  if (st == BERTH_OK && j->consumers > 0)
    st = berth_graph_builder_connect(b, 0, j->members, 3, NULL);
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  TRY(st, berth_graph_builder_finish(b, &g));
  RELEASE(b);
  *status = st;
  return OWNED(g);
}

static job random_job(berth_rng *rng, berth_collective_kind kind) {
  job j = { .kind = kind,
            .bytes = 1 + berth_rng_below(rng, 1000),
            .devices = 1 + berth_rng_below(rng, MOST_DEVICES) };
  int32_t groups = 1 + berth_rng_below(rng, 4);
  j.members = 1 + berth_rng_below(rng, MOST_MEMBERS);
  j.consumers = berth_rng_below(rng, MOST_MEMBERS);
  for (int32_t i = 0; i < j.members + j.consumers; i++)
    j.device[i] = berth_rng_below(rng, j.devices);
  for (int32_t i = 0; i < j.devices; i++) j.group[i] = 7 - berth_rng_below(rng, groups);
  return j;
}

/* One member on each of n devices, and one consumer. */
static job one_each(berth_collective_kind kind, double bytes, int32_t n) {
  job j = { .kind = kind, .bytes = bytes, .devices = n, .members = n, .consumers = n };
  for (int32_t i = 0; i < n; i++) j.device[i] = j.device[n + i] = i;
  for (int32_t i = 0; i < n; i++) j.group[i] = i / 2;
  return j;
}

/* ---- the replay ---- */

typedef struct replay {
  const job *j;
  berth_expand_algorithm how;
  berth_expansion *x;
  berth_graph *g;
  int32_t n, at[MOST_DEVICES], position[MOST_DEVICES], root;
  uint32_t *has; /* [ops * FULL_BLOCKS] which positions have contributed */
  /* bytes; added by sender */
  double sent[MOST_DEVICES], got[MOST_DEVICES], added[MOST_DEVICES], copied[MOST_DEVICES];
} replay;

static int32_t lowest(const job *j, int32_t device) {
  int32_t d = 0;
  while (j->group[d] != j->group[device]) d++;
  return d;
}

static void find_positions(replay *r, int grouped) {
  for (int32_t d = 0; d < r->j->devices; d++) r->position[d] = BERTH_NONE;
  for (int32_t i = 0; i < r->j->members; i++) r->position[r->j->device[i]] = 0;
  for (int32_t e = 0; e < r->j->devices; e++) {
    for (int32_t d = 0; d < r->j->devices; d++) {
      if (r->position[d] == BERTH_NONE || (grouped ? lowest(r->j, d) : 0) != e) continue;
      r->position[d] = r->n;
      r->at[r->n++] = d;
    }
  }
  r->root = r->position[r->j->device[0]];
}

static uint32_t *has(const replay *r, int32_t op) { return r->has + (size_t)op * FULL_BLOCKS; }

static uint32_t all_of(const replay *r) { return ((uint32_t)1 << r->n) - 1; }

static void start_holding(const replay *r, int32_t op, int32_t position) {
  for (int32_t k = 0; k < FULL_BLOCKS; k++) {
    bool own = r->j->kind == BERTH_ALLGATHER   ? k == position
               : r->j->kind == BERTH_BROADCAST ? position == r->root
                                               : true;
    has(r, op)[k] = own ? (uint32_t)1 << position : 0;
  }
}

static double block_bytes(const replay *r, const berth_piece *p) {
  if (r->j->kind == BERTH_BARRIER) return 0;
  return r->j->kind == BERTH_ALLGATHER ? r->j->bytes : r->j->bytes / p->blocks;
}

static void take_block(replay *r, int32_t src, int32_t dst, int32_t block, int reduces) {
  uint32_t from = has(r, src)[block], *to = &has(r, dst)[block];
  CHECK(from != 0);
  if (reduces) CHECK((from & *to) == 0);
  else CHECK((from & *to) == *to || r->j->kind == BERTH_BARRIER);
  *to |= from;
}

static void take_piece(replay *r, int32_t src, int32_t dst, const berth_tensor *t,
                       const berth_piece *p) {
  const int32_t *device = berth_expansion_device(r->x);
  int32_t from = r->position[device[src]], to = r->position[device[dst]];
  CHECK(from != to && p->count > 0 && p->blocks > 0);
  CHECK_NEAR(t->bytes, p->count * block_bytes(r, p), 1e-9 * t->bytes);
  CHECK(t->resident_bytes == 0);
  r->sent[from] += t->bytes;
  r->got[to] += t->bytes;
  if (p->reduces) r->added[from] += t->bytes;
  else r->copied[to] += t->bytes;
  if (p->first == BERTH_NONE) return;
  for (int32_t i = 0; i < p->count; i++)
    take_block(r, src, dst, (p->first + i * p->stride) % p->blocks, p->reduces);
}

static void replay_op(replay *r, int32_t op) {
  const int32_t *in, *of = berth_expansion_collective(r->x), *device = berth_expansion_device(r->x);
  int32_t locals = 0, n = berth_graph_inputs(r->g, op, &in);
  if (of[op] == BERTH_NONE) return;
  for (int32_t pass = 0; pass < 2; pass++) { /* what the device has, then what it receives */
    for (int32_t i = 0; i < n; i++) {
      berth_tensor t = must_graph_tensor(r->g, in[i]);
      berth_piece p;
      CHECK_OK(berth_expansion_piece(r->x, in[i], &p));
      CHECK(p.collective == of[op]);
      if (p.step == BERTH_NONE && pass == 0) {
        CHECK(t.bytes == 0 && device[t.producer] == device[op]);
        if (of[t.producer] == BERTH_NONE) start_holding(r, op, r->position[device[op]]);
        else memcpy(has(r, op), has(r, t.producer), FULL_BLOCKS * sizeof *r->has);
        locals += of[t.producer] != BERTH_NONE;
      } else if (p.step != BERTH_NONE && pass == 1) {
        take_piece(r, t.producer, op, &t, &p);
      }
    }
  }
  CHECK(locals <= 1);
}

static void check_result(const replay *r, int32_t op, int32_t position) {
  int32_t pieces = r->how == BERTH_EXPAND_HALVING ? r->n : 8;
  for (int32_t k = 0; k < FULL_BLOCKS; k++) {
    if (r->j->kind == BERTH_BROADCAST)
      CHECK(has(r, op)[k] == (uint32_t)1 << r->root || k >= pieces);
    if (r->j->kind == BERTH_ALLGATHER && k < r->n) CHECK(has(r, op)[k] == (uint32_t)1 << k);
    if (r->j->kind == BERTH_REDUCESCATTER && k == position) CHECK(has(r, op)[k] == all_of(r));
    if (r->j->kind == BERTH_ALLREDUCE && k < r->n)
      CHECK(has(r, op)[k] == all_of(r) || (has(r, op)[0] == all_of(r) && k > 0));
    if (r->j->kind == BERTH_PARAMETER_SERVER && k == 0) CHECK(has(r, op)[k] == all_of(r));
  }
}

/* A consumer has the result of its device, or hears of the end on all. */
static void check_consumer(const replay *r, int32_t op) {
  const int32_t *in, *of = berth_expansion_collective(r->x), *device = berth_expansion_device(r->x);
  int32_t heard = 0, n = berth_graph_inputs(r->g, op, &in), own = r->position[device[op]];
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t = must_graph_tensor(r->g, in[i]);
    if (of[t.producer] == BERTH_NONE) continue;
    heard++;
    CHECK(t.bytes == 0);
    if (own != BERTH_NONE) CHECK(device[t.producer] == device[op]);
    check_result(r, t.producer, r->position[device[t.producer]]);
  }
  CHECK(heard == (own == BERTH_NONE ? r->n : 1));
}

/* All members are waited for, whatever is sent: but of a broadcast only the root and one's own. */
static void check_waiting(const replay *r, int32_t op) {
  int32_t own = r->position[berth_expansion_device(r->x)[op]];
  uint8_t *before = calloc((size_t)berth_graph_ops(r->g), 1);
  CHECK_OK(berth_reach(r->g, op, 0, before));
  for (int32_t i = 0; i < r->j->members; i++) {
    int32_t position = r->position[r->j->device[i]];
    if (r->j->kind != BERTH_BROADCAST || position == r->root || position == own) CHECK(before[i]);
  }
  free(before);
}

static void check_bytes(const replay *r) {
  berth_expand_algorithm how = r->how;
  double b = r->j->bytes, n = r->n, share = b * (n - 1) / n, total = 0, tol = 1e-9 * b * n;
  bool even = how == BERTH_EXPAND_RING || how == BERTH_EXPAND_HALVING || how == BERTH_EXPAND_DIRECT;
  for (int32_t i = 0; i < r->n; i++) {
    total += r->sent[i];
    switch (r->j->kind) {
      case BERTH_ALLREDUCE:
        if (even) CHECK_NEAR(r->sent[i], 2 * share, tol);
        if (even) CHECK_NEAR(r->got[i], 2 * share, tol);
        if (how != BERTH_EXPAND_TREE) CHECK_NEAR(r->added[i], share, tol);
        if (how != BERTH_EXPAND_TREE) CHECK_NEAR(r->copied[i], share, tol);
        break;
      case BERTH_ALLGATHER: CHECK_NEAR(r->got[i], (n - 1) * b, tol); break;
      case BERTH_REDUCESCATTER: CHECK_NEAR(r->sent[i], share, tol); break;
      case BERTH_BROADCAST:
        if (how != BERTH_EXPAND_HALVING) CHECK_NEAR(r->got[i], i == r->root ? 0 : b, tol);
        break;
      case BERTH_ALLTOALL:
        if (how == BERTH_EXPAND_RING || how == BERTH_EXPAND_DIRECT || how == BERTH_EXPAND_TREE) {
          CHECK_NEAR(r->sent[i], share, tol);
          CHECK_NEAR(r->got[i], share, tol);
        }
        break;
      case BERTH_BARRIER: CHECK(r->sent[i] == 0); break;
      case BERTH_PARAMETER_SERVER:
        CHECK_NEAR(r->sent[i], i == r->root ? (n - 1) * b : b, tol);
        break;
    }
  }
  if (r->j->kind == BERTH_ALLREDUCE) CHECK_NEAR(total, 2 * (n - 1) * b, tol);
}

static void check_originals(const replay *r, const berth_graph *g) {
  const int32_t *device = berth_expansion_device(r->x), *of = berth_expansion_collective(r->x);
  CHECK(berth_graph_collectives(r->g) == 0);
  const int32_t *in, *then;
  int32_t v;
  for (v = 0; v < berth_graph_ops(g); v++) {
    int32_t n = berth_graph_inputs(g, v, &in);
    CHECK(device[v] == r->j->device[v] && of[v] == BERTH_NONE
          && berth_graph_inputs(r->g, v, &then) >= n);
    for (int32_t i = 0; i < n; i++) CHECK(in[i] == then[i]);
  }
  for (; v < berth_graph_ops(r->g); v++) {
    berth_op op = must_graph_op(r->g, v);
    CHECK(op.pin == device[v] && of[v] == 0 && op.param_bytes == 0 && !op.seconds);
  }
}

static void check_expansion(const job *j, berth_expand_algorithm how, int grouped) {
  berth_expand_options o = berth_expand_default();
  replay r = { .j = j, .how = how };
  berth_status st;
  berth_graph *g = build(j, &st);
  o.algorithm = how;
  o.groups = grouped ? j->group : NULL;
  find_positions(&r, grouped);
  if (!CHECK_OK(st)) return;
  if (!CHECK_OK(berth_graph_expand(g, j->devices, j->device, &o, &r.x))) return;
  r.g = berth_expansion_graph(r.x);
  r.has = calloc((size_t)berth_graph_ops(r.g) * FULL_BLOCKS, sizeof *r.has);
  int32_t *order = malloc((size_t)berth_graph_ops(r.g) * sizeof *order);
  CHECK_OK(berth_topo_order(r.g, order));
  check_originals(&r, g);
  for (int32_t i = 0; i < berth_graph_ops(r.g); i++) replay_op(&r, order[i]);
  for (int32_t i = 0; i < j->consumers; i++) check_consumer(&r, j->members + i);
  for (int32_t i = 0; i < j->consumers; i++) check_waiting(&r, j->members + i);
  check_bytes(&r);
  RELEASE(order, r.has, r.x);
}

TEST("every consumer gets what it is due, every contribution is added once, and the bytes are "
     "those of the textbook") {
  berth_rng rng = seeded(5, 0);
  for (int32_t kind = BERTH_ALLREDUCE; kind <= BERTH_PARAMETER_SERVER; kind++) {
    for (int32_t how = BERTH_EXPAND_RING; how <= BERTH_EXPAND_DIRECT; how++) {
      for (int32_t k = 0; k < 12; k++) {
        job j = random_job(&rng, (berth_collective_kind)kind);
        check_expansion(&j, (berth_expand_algorithm)how, how == BERTH_EXPAND_HIERARCHICAL || k % 2);
      }
    }
  }
}

TEST("the same for 1 to 13 devices with a member each, in groups of two") {
  for (int32_t kind = BERTH_ALLREDUCE; kind <= BERTH_PARAMETER_SERVER; kind++) {
    for (int32_t how = BERTH_EXPAND_RING; how <= BERTH_EXPAND_DIRECT; how++) {
      for (int32_t n = 1; n <= MOST_DEVICES; n++) {
        job j = one_each((berth_collective_kind)kind, 64, n);
        check_expansion(&j, (berth_expand_algorithm)how, 1);
      }
    }
  }
}

/* ---- times ---- */

static berth_topology *mesh(int32_t n) {
  return must_mesh(n, INFINITY, 7, 0.375);
}

/* Seconds from the end of the members to the end of all. */
static double expanded_seconds(const job *j, const berth_expand_options *o, berth_links links) {
  berth_sim_options sim = berth_sim_default(NULL);
  berth_topology *t = mesh(j->devices);
  berth_status st;
  berth_graph *g = build(j, &st);
  sim.links = links;
  berth_expansion *x = must_graph_expand(g, j->devices, j->device, o);
  berth_cost *cost = must_cost_new(berth_expansion_graph(x), t, NULL);
  berth_result *r = must_simulate(cost, berth_expansion_device(x), &sim);
  double seconds = berth_result_makespan(r) - 1;
  RELEASE(r, cost, x, g, t);
  return seconds;
}

static double priced_seconds(const job *j, berth_collective_algorithm by) {
  berth_cost_model model = { .collective_algorithm = by };
  berth_topology *t = mesh(j->devices);
  berth_status st;
  berth_graph *g = build(j, &st);
  double seconds = NAN;
  berth_cost *cost = must_cost_new(g, t, &model);
  CHECK_OK(berth_cost_collective(cost, 0, j->members, j->device, &seconds));
  RELEASE(cost, g, t);
  return seconds;
}

static void agree(berth_collective_kind kind, int32_t n, berth_expand_algorithm how,
                  berth_collective_algorithm by) {
  const job j = one_each(kind, 100, n);
  berth_expand_options o = berth_expand_default();
  double want = priced_seconds(&j, by);
  o.algorithm = how;
  o.segments = 1;
  double duplex = expanded_seconds(&j, &o, BERTH_LINKS_DUPLEX);
  CHECK_NEAR(duplex, want, 1e-9 * want);
  /* one device sends to several at once */
  if (how == BERTH_EXPAND_TREE || kind == BERTH_PARAMETER_SERVER) return;
  CHECK_NEAR(expanded_seconds(&j, &o, BERTH_LINKS_FREE), want, 1e-9 * want);
}

TEST("on a uniform mesh rings take what they are priced, and so do trees and halving where they "
     "are the same algorithm") {
  for (int32_t n = 2; n <= 9; n++) {
    agree(BERTH_ALLREDUCE, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    agree(BERTH_ALLGATHER, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    agree(BERTH_REDUCESCATTER, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    agree(BERTH_ALLTOALL, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    agree(BERTH_BARRIER, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    agree(BERTH_ALLREDUCE, n, BERTH_EXPAND_TREE, BERTH_COLLECTIVE_TREE);
    agree(BERTH_BARRIER, n, BERTH_EXPAND_TREE, BERTH_COLLECTIVE_TREE);
    agree(BERTH_ALLGATHER, n, BERTH_EXPAND_HALVING, BERTH_COLLECTIVE_HALVING);
    agree(BERTH_BARRIER, n, BERTH_EXPAND_HALVING, BERTH_COLLECTIVE_HALVING);
    agree(BERTH_ALLTOALL, n, BERTH_EXPAND_HALVING, BERTH_COLLECTIVE_HALVING);
    agree(BERTH_PARAMETER_SERVER, n, BERTH_EXPAND_RING, BERTH_COLLECTIVE_RING);
    if (n & (n - 1)) continue;
    agree(BERTH_BROADCAST, n, BERTH_EXPAND_TREE, BERTH_COLLECTIVE_TREE);
    agree(BERTH_ALLREDUCE, n, BERTH_EXPAND_HALVING, BERTH_COLLECTIVE_HALVING);
    agree(BERTH_REDUCESCATTER, n, BERTH_EXPAND_HALVING, BERTH_COLLECTIVE_HALVING);
  }
}

TEST("a broadcast along a chain of 5 in 8 segments of 14 B: 4 + 7 hops of 0.375 + 2 s") {
  const job j = one_each(BERTH_BROADCAST, 112, 5);
  berth_expand_options o = berth_expand_default();
  CHECK_NEAR(expanded_seconds(&j, &o, BERTH_LINKS_DUPLEX), 11 * 2.375, 1e-9);
}

TEST("a ring that adds 35 B at 70 B/s in each of its first 3 steps takes 1.5 s longer") {
  const job j = one_each(BERTH_ALLREDUCE, 140, 4);
  berth_expand_options o = berth_expand_default();
  o.reduce_rate = 70;
  CHECK_NEAR(expanded_seconds(&j, &o, BERTH_LINKS_DUPLEX), 6 * (0.375 + 5) + 3 * 0.5, 1e-9);
}

/* ---- refusals ---- */

TEST("bad devices and options are named, and nothing is made") {
  job j = one_each(BERTH_ALLREDUCE, 8, 4);
  berth_expand_options o = berth_expand_default();
  berth_expansion *x = NULL;
  berth_status st;
  berth_graph *g = build(&j, &st);
  j.device[2] = 4;
  CHECK_ERROR(berth_graph_expand(g, 4, j.device, NULL, &x), BERTH_EINVAL,
              "expand: op 2 is on device 4 of 4");
  j.device[2] = -1;
  CHECK_STATUS(berth_graph_expand(g, 4, j.device, NULL, &x), BERTH_EINVAL);
  j.device[2] = 2;
  CHECK_STATUS(berth_graph_expand(g, 0, j.device, NULL, &x), BERTH_EINVAL);
  o.algorithm = BERTH_EXPAND_HIERARCHICAL;
  CHECK_ERROR(berth_graph_expand(g, 4, j.device, &o, &x), BERTH_EINVAL,
              "expand: hierarchical needs groups of devices");
  o.algorithm = (berth_expand_algorithm)5;
  CHECK_STATUS(berth_graph_expand(g, 4, j.device, &o, &x), BERTH_EINVAL);
  o = berth_expand_default();
  o.reduce_rate = 0;
  CHECK_STATUS(berth_graph_expand(g, 4, j.device, &o, &x), BERTH_EINVAL);
  o.reduce_rate = NAN;
  CHECK_STATUS(berth_graph_expand(g, 4, j.device, &o, &x), BERTH_EINVAL);
  o = berth_expand_default();
  o.segments = 0;
  CHECK_STATUS(berth_graph_expand(g, 4, j.device, &o, &x), BERTH_EINVAL);
  CHECK(!x);
  x = must_graph_expand(g, 4, j.device, NULL);
  berth_piece piece;
  CHECK_OK(berth_expansion_piece(x, 0, &piece));
  CHECK(piece.collective == BERTH_NONE);
  CHECK_STATUS(berth_expansion_piece(x, -1, &piece), BERTH_EINVAL);
  CHECK_STATUS(berth_expansion_piece(x, berth_graph_tensors(berth_expansion_graph(x)), &piece),
               BERTH_EINVAL);
  RELEASE(x);
  berth_expansion_release(NULL);
}

TEST("pins of the graph are kept") {
  int32_t members[] = { 0, 1 }, device[] = { 1, 0 };
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 0, NULL };
  berth_expansion *x = NULL;
  berth_op op = berth_op_default();
  berth_graph_builder *b = must_graph_builder_new();
  op.pin = 1;
  must_add_op(b, &op);
  op.name = "late";
  must_add_op(b, &op);
  must_add_collective(b, &c);
  berth_graph *g = must_graph(b);
  CHECK_ERROR(berth_graph_expand(g, 2, device, NULL, &x), BERTH_EINVAL,
              "expand: op 1 \"late\" is pinned to device 1, not device 0");
  device[1] = 1;
  x = must_graph_expand(g, 2, device, NULL);
  CHECK(berth_graph_ops(berth_expansion_graph(x)) == 3);
  RELEASE(x);
}

static berth_status expand_each(void) {
  berth_status st = BERTH_OK;
  for (int32_t kind = BERTH_ALLREDUCE; kind <= BERTH_BROADCAST && st == BERTH_OK; kind += 3) {
    const job j = one_each((berth_collective_kind)kind, 8, 3);
    berth_expand_options o = berth_expand_default();
    berth_expansion *x = NULL;
    berth_graph *g = build(&j, &st);
    o.algorithm = BERTH_EXPAND_HIERARCHICAL;
    o.groups = j.group;
    TRY(st, berth_graph_expand(g, j.devices, j.device, &o, &x));
    RELEASE(x, g);
  }
  return st;
}

TEST_REFUSALS(expand_each)
