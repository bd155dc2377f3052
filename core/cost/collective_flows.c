/* Which ordered pairs of devices a collective uses, and for how many bytes, by its algorithm: what
 * the links carry, for shared links and for traffic. The calls are in a fixed order. */
#include "cost_internal.h"

typedef struct wires {
  const berth_cost *c;
  const berth_collective *k;
  int32_t n;
  const int32_t *devices;
  berth_i_flow_fn flow;
  void *ud;
} wires;

static void put(const wires *x, int32_t from, int32_t to, double bytes) {
  if (from != to) x->flow(x->ud, x->devices[from], x->devices[to], bytes);
}

/* ---- rings ---- */

static double around(const wires *x) {
  double n = x->n, b = x->k->bytes;
  switch (x->k->kind) {
  case BERTH_ALLREDUCE: return 2 * (n - 1) * (b / n);
  case BERTH_ALLGATHER: return (n - 1) * b;
  case BERTH_REDUCESCATTER: return (n - 1) * (b / n);
  case BERTH_BROADCAST: return b;
  case BERTH_ALLTOALL:
  case BERTH_BARRIER:
  case BERTH_PARAMETER_SERVER: break;
  }
  return 0;
}

static void pairwise(const wires *x) {
  for (int32_t i = 0; i < x->n; i++) {
    for (int32_t k = 0; k < x->n; k++) put(x, i, k, x->k->bytes / x->n);
  }
}

/* A broadcast does not come back to where it began. */
static void ring(const wires *x) {
  int32_t n = x->n - (x->k->kind == BERTH_BROADCAST);
  if (x->k->kind == BERTH_ALLTOALL) {
    pairwise(x);
    return;
  }
  for (int32_t i = 0; i < n; i++) put(x, i, (i + 1) % x->n, around(x));
}

static void server(const wires *x) {
  for (int32_t i = 1; i < x->n; i++) {
    put(x, i, 0, x->k->bytes);
    put(x, 0, i, x->k->bytes);
  }
}

/* ---- trees ---- */

/* Devices below i in the binomial tree, itself too: as many as its lowest bit is worth. */
static double below(const wires *x, int32_t i) {
  int32_t bit = i & -i;
  return bit < x->n - i ? bit : x->n - i;
}

static void binomial(const wires *x) {
  double b = x->k->bytes, n = x->n;
  for (int32_t i = 1; i < x->n; i++) {
    int32_t parent = i & (i - 1);
    double up = b, down = b;
    switch (x->k->kind) {
    case BERTH_ALLGATHER:
      up = below(x, i) * b;
      down = n * b;
      break;
    case BERTH_REDUCESCATTER: down = below(x, i) * (b / n); break;
    case BERTH_BARRIER: up = down = 0; break;
    case BERTH_ALLREDUCE:
    case BERTH_BROADCAST:
    case BERTH_ALLTOALL:
    case BERTH_PARAMETER_SERVER: break;
    }
    if (x->k->kind != BERTH_BROADCAST) put(x, i, parent, up);
    put(x, parent, i, down);
  }
}

/* Parent of i in the tree in which an odd number is a leaf and what ends in k zeros is k above the
 * leaves; 0 is the root. */
static int32_t in_order_parent(int32_t i, int32_t n) {
  int64_t bit = i & -i, up = ((int64_t)i ^ bit) | (bit << 1);
  return (int32_t)(up < n ? up : (int64_t)i ^ bit);
}

/* The second tree has the leaves of the first as inner nodes: mirrored if n is even, shifted by one
 * if it is odd. */
static int32_t second(int32_t i, int32_t n) { return n % 2 == 0 ? n - 1 - i : (i + 1) % n; }

static void half(const wires *x, int32_t child, int32_t parent) {
  double b = x->k->kind == BERTH_BARRIER ? 0 : x->k->bytes / 2;
  if (x->k->kind != BERTH_BROADCAST) put(x, child, parent, b);
  put(x, parent, child, b);
}

/* A broadcast reaches the root of the second tree first. */
static void two_trees(const wires *x) {
  int32_t root = second(0, x->n);
  for (int32_t i = 1; i < x->n; i++) {
    int32_t parent = in_order_parent(i, x->n);
    half(x, i, parent);
    half(x, second(i, x->n), second(parent, x->n));
  }
  if (x->k->kind == BERTH_BROADCAST) put(x, 0, root, x->k->bytes / 2);
}

/* ---- halving and doubling ---- */

static int32_t power_below(int32_t n) {
  int32_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}

static void halve(const wires *x, bool and_double) {
  int32_t p = power_below(x->n);
  double b = x->k->bytes, back = and_double ? b : b / x->n;
  for (int32_t i = p; i < x->n; i++) {
    put(x, i, i - p, b);
    put(x, i - p, i, back);
  }
  for (int32_t bit = 1; bit < p; bit *= 2) {
    for (int32_t i = 0; i < p; i++) put(x, i, i ^ bit, (and_double ? 2 : 1) * b * bit / p);
  }
}

/* Step by step to the device that is 1, 2, 4 ... further; `bytes` of one block. */
static void dissemination(const wires *x, double bytes, bool bruck) {
  int32_t v;
  for (int32_t step = 1; step < x->n; step = step > x->n / 2 ? x->n : 2 * step) {
    int32_t blocks = step < x->n - step ? step : x->n - step;
    if (bruck) {
      for (blocks = 0, v = 0; v < x->n; v++) blocks += (v & step) != 0;
    }
    for (int32_t i = 0; i < x->n; i++) put(x, i, (i + step) % x->n, blocks * bytes);
  }
}

static void scatter_allgather(const wires *x) {
  double share = x->k->bytes / x->n;
  for (int32_t i = 1; i < x->n; i++) put(x, i & (i - 1), i, below(x, i) * share);
  dissemination(x, share, false);
}

static void halving(const wires *x) {
  switch (x->k->kind) {
  case BERTH_ALLREDUCE: halve(x, true); break;
  case BERTH_REDUCESCATTER: halve(x, false); break;
  case BERTH_ALLGATHER: dissemination(x, x->k->bytes, false); break;
  case BERTH_BROADCAST: scatter_allgather(x); break;
  case BERTH_ALLTOALL: dissemination(x, x->k->bytes / x->n, true); break;
  case BERTH_BARRIER: dissemination(x, 0, false); break;
  case BERTH_PARAMETER_SERVER: break;
  }
}

/* ---- groups ---- */

static int32_t group_of(const wires *x, int32_t i) { return x->c->device_group[x->devices[i]]; }

static int32_t leader_of(const wires *x, int32_t i) {
  int32_t q = 0;
  while (group_of(x, q) != group_of(x, i)) q++;
  return q;
}

/* The next device after i of its group; BERTH_NONE. */
static int32_t next_in_group(const wires *x, int32_t i) {
  for (int32_t q = i + 1; q < x->n; q++) {
    if (group_of(x, q) == group_of(x, i)) return q;
  }
  return BERTH_NONE;
}

static int32_t next_leader(const wires *x, int32_t i) {
  for (int32_t q = i + 1; q < x->n; q++) {
    if (leader_of(x, q) == q) return q;
  }
  return BERTH_NONE;
}

static int32_t left_in_group(const wires *x, int32_t i) {
  int32_t left = 1;
  while ((i = next_in_group(x, i)) != BERTH_NONE) left++;
  return left;
}

/* Down the chain of a group from its leader, and up it; `left` devices from the lower one on. */
static void chain(const wires *x, int32_t upper, int32_t lower) {
  double b = x->k->bytes, up = b, down = b, left = left_in_group(x, lower);
  if (x->k->kind == BERTH_ALLGATHER) {
    up = left * b;
    down = x->n * b;
  }
  if (x->k->kind == BERTH_REDUCESCATTER) down = left * (b / x->n);
  if (x->k->kind == BERTH_BARRIER) up = down = 0;
  if (x->k->kind != BERTH_BROADCAST) put(x, lower, upper, up);
  put(x, upper, lower, down);
}

/* Bytes on the ring of leaders, from one to the next: groups, and the devices of the largest. */
static double among_leaders(const wires *x, double groups, double most) {
  double b = x->k->bytes;
  switch (x->k->kind) {
  case BERTH_ALLREDUCE: return 2 * (groups - 1) * (b / groups);
  case BERTH_ALLGATHER: return (groups - 1) * most * b;
  case BERTH_REDUCESCATTER: return (groups - 1) * most * (b / x->n);
  case BERTH_BROADCAST: return b;
  case BERTH_ALLTOALL:
  case BERTH_BARRIER:
  case BERTH_PARAMETER_SERVER: break;
  }
  return 0;
}

static void ring_of_leaders(const wires *x, int32_t groups, int32_t most) {
  double bytes = among_leaders(x, groups, most);
  int32_t i = 0, next;
  for (; (next = next_leader(x, i)) != BERTH_NONE; i = next) put(x, i, next, bytes);
  if (x->k->kind != BERTH_BROADCAST) put(x, i, 0, bytes);
}

static void hierarchical(const wires *x) {
  int32_t groups = 0, most = 0;
  for (int32_t i = 0; i < x->n; i++) {
    if (leader_of(x, i) != i) continue;
    int32_t size = left_in_group(x, i);
    groups++;
    most = size > most ? size : most;
  }
  if (groups == 1 || most == 1) {
    ring(x);
    return;
  }
  for (int32_t i = 0; i < x->n; i++) {
    int32_t next = next_in_group(x, i);
    if (next != BERTH_NONE) chain(x, i, next);
  }
  ring_of_leaders(x, groups, most);
}

/* ---- all ---- */

void berth_i_collective_flows(const berth_cost *c, int32_t collective,
                              berth_collective_algorithm algorithm, int32_t n,
                              const int32_t *devices, berth_i_flow_fn flow, void *ud) {
  wires x = { c, &c->g->collectives[collective], n, devices, flow, ud };
  if (n < 2) return;
  if (x.k->kind == BERTH_PARAMETER_SERVER) {
    server(&x);
    return;
  }
  switch (algorithm) {
  case BERTH_COLLECTIVE_TREE: binomial(&x); break;
  case BERTH_COLLECTIVE_DOUBLE_TREE: two_trees(&x); break;
  case BERTH_COLLECTIVE_HALVING: halving(&x); break;
  case BERTH_COLLECTIVE_HIERARCHICAL: hierarchical(&x); break;
  case BERTH_COLLECTIVE_RING:
  case BERTH_COLLECTIVE_LINES:
  case BERTH_COLLECTIVE_AUTO:
  case BERTH_COLLECTIVE_NCCL:
  case BERTH_COLLECTIVE_FUNCTION: ring(&x); break;
  }
}

/* Halving and its kin: n a step, and what is beyond; two trees: 4 (n - 1) + 1. */
size_t berth_i_collective_most_flows(berth_collective_kind kind, int32_t n) {
  size_t k = (size_t)n, steps = 1;
  if (n < 2) return 0;
  if (kind == BERTH_PARAMETER_SERVER) return 2 * (k - 1);
  while (((size_t)1 << steps) < k) steps++;
  return kind == BERTH_ALLTOALL && k > steps + 4 ? k * k : (steps + 4) * k;
}
