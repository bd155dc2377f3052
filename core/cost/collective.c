/* Prices of collectives. One way of carrying one out is a formula in the latency a and the
 * bandwidth w of a pair of devices; the pair for which it gives most counts. */
#include "cost_internal.h"

typedef struct job {
  const berth_cost *c;
  berth_collective_kind kind;
  double bytes;
  int32_t n;              /* different devices */
  const int32_t *devices;
  int32_t most;           /* HIERARCHICAL: devices of the largest group */
  int32_t groups;
} job;

/** Seconds with k devices taking part; NAN: there is no such way. */
typedef double (*formula)(const job *j, double k, double a, double w);

/* ---- shapes ---- */

static double ceil_log2(double k) {
  double steps = 0;
  for (double reach = 1; reach < k; reach *= 2) steps++;
  return steps;
}

static double power_below(double k) {
  double p = 1;
  while (2 * p <= k) p *= 2;
  return p;
}

/* Bits set in the numbers below n. */
static double bits_below(int32_t n) {
  double bits = 0;
  for (int64_t bit = 1; bit < n; bit *= 2) {
    int64_t rest = n % (2 * bit);
    bits += (double)((int64_t)n / (2 * bit) * bit + (rest > bit ? rest - bit : 0));
  }
  return bits;
}

/* ---- formulas: see berth_collective_algorithm ---- */

static double ring(const job *j, double k, double a, double w) {
  double b = j->bytes / w;
  switch (j->kind) {
  case BERTH_ALLREDUCE: return 2 * (k - 1) * a + 2 * (k - 1) * (b / k);
  case BERTH_ALLGATHER: return (k - 1) * a + (k - 1) * b;
  case BERTH_REDUCESCATTER:
  case BERTH_ALLTOALL: return (k - 1) * a + (k - 1) * (b / k);
  case BERTH_BROADCAST: return (k - 1) * a + b;
  case BERTH_BARRIER: return 2 * (k - 1) * a;
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

static double tree(const job *j, double k, double a, double w) {
  double b = j->bytes / w, steps = ceil_log2(k);
  switch (j->kind) {
  case BERTH_ALLREDUCE: return 2 * steps * (a + b);
  case BERTH_ALLGATHER: return 2 * steps * a + (k - 1) * b + steps * k * b;
  case BERTH_REDUCESCATTER: return 2 * steps * a + (steps + (k - 1) / k) * b;
  case BERTH_BROADCAST: return steps * (a + b);
  case BERTH_BARRIER: return 2 * steps * a;
  case BERTH_ALLTOALL:
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

static double two_trees(double k, double a, double b) {
  double steps = 2 * ceil_log2(k);
  if (b * steps < a) return (steps + 1) * (a + b);
  double root = sqrt(steps * a) + sqrt(b);
  return root * root;
}

static double double_tree(const job *j, double k, double a, double w) {
  switch (j->kind) {
  case BERTH_ALLREDUCE: return 2 * two_trees(k, a, j->bytes / w);
  case BERTH_BROADCAST: return two_trees(k, a, j->bytes / w);
  case BERTH_BARRIER: return 2 * ceil_log2(k) * a;
  case BERTH_ALLGATHER:
  case BERTH_REDUCESCATTER:
  case BERTH_ALLTOALL:
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

/* The devices beyond a power of two send their bytes before, and take the result after. */
static double halving(const job *j, double k, double a, double w) {
  double b = j->bytes / w, p = power_below(k), steps = ceil_log2(p), beyond = k > p,
         log = ceil_log2(k);
  switch (j->kind) {
  case BERTH_ALLREDUCE: return 2 * steps * a + 2 * (p - 1) / p * b + beyond * 2 * (a + b);
  case BERTH_ALLGATHER: return log * a + (k - 1) * b;
  case BERTH_REDUCESCATTER: return steps * a + (p - 1) / p * b + beyond * (2 * a + (1 + 1 / k) * b);
  case BERTH_BROADCAST: return 2 * log * a + 2 * (k - 1) / k * b;
  case BERTH_ALLTOALL: return log * a + bits_below((int32_t)k) * (b / k);
  case BERTH_BARRIER: return log * a;
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

/* In a group of k devices: to the leader and back. */
static double within(const job *j, double k, double a, double w) {
  double b = j->bytes / w, n = j->n;
  switch (j->kind) {
  case BERTH_ALLREDUCE: return 2 * ((k - 1) * a + b);
  case BERTH_ALLGATHER: return (k - 1) * (2 * a + b) + n * b;
  case BERTH_REDUCESCATTER: return (k - 1) * (2 * a + b / n) + b;
  case BERTH_BROADCAST: return (k - 1) * a + b;
  case BERTH_BARRIER: return 2 * (k - 1) * a;
  case BERTH_ALLTOALL:
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

static double between(const job *j, double k, double a, double w) {
  double b = j->bytes / w, most = j->most;
  switch (j->kind) {
  case BERTH_ALLGATHER: return (k - 1) * (a + most * b);
  case BERTH_REDUCESCATTER: return (k - 1) * (a + most * b / j->n);
  case BERTH_ALLREDUCE:
  case BERTH_BROADCAST:
  case BERTH_BARRIER: return ring(j, k, a, w);
  case BERTH_ALLTOALL:
  case BERTH_PARAMETER_SERVER: break;
  }
  return (double)NAN;
}

/* ---- the slowest pair ---- */

typedef struct most_of {
  double seconds, latency;
} most_of;

static void raise_to(const job *j, formula f, double k, int32_t src, int32_t dst, most_of *m) {
  size_t pair = berth_i_pair(j->c->t, src, dst);
  double seconds =
      f(j, k, j->c->t->latency[pair], j->c->t->bandwidth[pair] * j->c->collective_bandwidth);
  if (seconds < m->seconds) return;
  m->seconds = seconds;
  m->latency = f(j, k, j->c->t->latency[pair], INFINITY);
}

/* All pairs of devices are alike if the prices of transfers are. */
static most_of slowest(const job *j, formula f, double k) {
  most_of m = { 0, 0 };
  if (j->c->uniform) {
    raise_to(j, f, k, j->devices[0], j->devices[1], &m);
    return m;
  }
  for (int32_t i = 0; i < j->n; i++) {
    for (int32_t q = 0; q < j->n; q++) {
      if (i != q) raise_to(j, f, k, j->devices[i], j->devices[q], &m);
    }
  }
  return m;
}

/* ---- groups ---- */

static int32_t group_of(const job *j, int32_t i) { return j->c->device_group[j->devices[i]]; }

static bool leads(const job *j, int32_t i) {
  for (int32_t q = 0; q < i; q++) {
    if (group_of(j, q) == group_of(j, i)) return false;
  }
  return true;
}

static int32_t size_of_group(const job *j, int32_t i) {
  int32_t size = 0;
  for (int32_t q = 0; q < j->n; q++) size += group_of(j, q) == group_of(j, i);
  return size;
}

static void count_groups(job *j) {
  j->groups = j->most = 0;
  for (int32_t i = 0; i < j->n; i++) {
    if (!leads(j, i)) continue;
    j->groups++;
    int32_t size = size_of_group(j, i);
    j->most = size > j->most ? size : j->most;
  }
}

static most_of slowest_in_groups(const job *j) {
  most_of m = { 0, 0 };
  for (int32_t i = 0; i < j->n; i++) {
    int32_t size = size_of_group(j, i);
    for (int32_t q = 0; q < j->n; q++) {
      if (i != q && group_of(j, i) == group_of(j, q))
        raise_to(j, within, size, j->devices[i], j->devices[q], &m);
    }
  }
  return m;
}

static most_of slowest_among_leaders(const job *j) {
  most_of m = { 0, 0 };
  for (int32_t i = 0; i < j->n; i++) {
    for (int32_t q = 0; q < j->n && leads(j, i); q++) {
      if (i != q && leads(j, q)) raise_to(j, between, j->groups, j->devices[i], j->devices[q], &m);
    }
  }
  return m;
}

static most_of hierarchical(job *j) {
  count_groups(j);
  if (j->groups == 1 || j->most == 1) return slowest(j, ring, j->n);
  most_of in = slowest_in_groups(j);
  most_of out = slowest_among_leaders(j);
  in.seconds += out.seconds;
  in.latency += out.latency;
  return in;
}

/* ---- algorithms without a pairwise formula ---- */

static most_of parameter_server(const job *j) {
  const berth_topology *t = j->c->t;
  double faster = j->c->collective_bandwidth;
  most_of m = { 0, 0 };
  for (int32_t i = 1; i < j->n; i++) {
    size_t push = berth_i_pair(t, j->devices[i], j->devices[0]),
           pull = berth_i_pair(t, j->devices[0], j->devices[i]);
    m.latency += t->latency[push] + t->latency[pull];
    m.seconds += t->latency[push] + j->bytes / (t->bandwidth[push] * faster)
                 + (t->latency[pull] + j->bytes / (t->bandwidth[pull] * faster));
  }
  return m;
}

static double least_bandwidth(const job *j) {
  double least = INFINITY;
  if (j->c->uniform) return j->c->t->bandwidth[berth_i_pair(j->c->t, j->devices[0], j->devices[1])];
  for (int32_t i = 0; i < j->n; i++) {
    for (int32_t q = 0; q < j->n; q++) {
      if (i != q)
        least =
            fmin(least, j->c->t->bandwidth[berth_i_pair(j->c->t, j->devices[i], j->devices[q])]);
    }
  }
  return least;
}

/* As published: whole KiB, whole microseconds; the numbers scaled, then the times cut off. */
static most_of two_lines(const job *j) {
  const double *l = j->c->lines;
  double k = floor(j->bytes / 1024),
         scale = j->c->lines_bandwidth > 0 ? j->c->lines_bandwidth / least_bandwidth(j) : 1;
  most_of m = {
    fmax(trunc(l[0] * scale * k + l[1] * scale), trunc(l[2] * scale * k + l[3] * scale)) * 1e-6, 0
  };
  if (!(m.seconds > 0)) m.seconds = 0;
  return m;
}

/* Least bandwidth of pairs within a group (same), or of different groups; INFINITY: no pair. */
static double slowest_pair(const job *j, bool same) {
  double least = INFINITY;
  for (int32_t i = 0; i < j->n; i++)
    for (int32_t q = 0; q < j->n; q++)
      if (i != q && (group_of(j, i) == group_of(j, q)) == same)
        least =
            fmin(least, j->c->t->bandwidth[berth_i_pair(j->c->t, j->devices[i], j->devices[q])]);
  return least * j->c->collective_bandwidth;
}

static most_of nccl(job *j) {
  berth_kernels k = j->c->kernels[j->c->class_of[j->devices[0]]];
  double inside = slowest_pair(j, true);
  double whole = j->kind == BERTH_ALLGATHER ? j->bytes * j->n : j->bytes;
  if (isfinite(inside)) k.fabric = inside;
  count_groups(j);
  most_of m = {
    berth_kernel_collective(&k, j->kind, whole, j->n, j->groups, slowest_pair(j, false)), 0
  };
  return m;
}

/* ---- choosing ---- */

static bool has_way(berth_collective_kind kind, berth_collective_algorithm a) {
  job probe = { NULL, kind, 0, 2, NULL, 1, 2 };
  switch (a) {
  case BERTH_COLLECTIVE_TREE: return !isnan(tree(&probe, 2, 0, 1));
  case BERTH_COLLECTIVE_DOUBLE_TREE: return !isnan(double_tree(&probe, 2, 0, 1));
  case BERTH_COLLECTIVE_HALVING: return !isnan(halving(&probe, 2, 0, 1));
  case BERTH_COLLECTIVE_HIERARCHICAL: return !isnan(within(&probe, 2, 0, 1));
  case BERTH_COLLECTIVE_LINES: return kind == BERTH_ALLREDUCE;
  case BERTH_COLLECTIVE_NCCL: return kind != BERTH_BROADCAST && kind != BERTH_BARRIER;
  case BERTH_COLLECTIVE_RING:
  case BERTH_COLLECTIVE_AUTO:
  case BERTH_COLLECTIVE_FUNCTION: break;
  }
  return true;
}

static most_of by_way(job *j, berth_collective_algorithm a) {
  switch (a) {
  case BERTH_COLLECTIVE_TREE: return slowest(j, tree, j->n);
  case BERTH_COLLECTIVE_DOUBLE_TREE: return slowest(j, double_tree, j->n);
  case BERTH_COLLECTIVE_HALVING: return slowest(j, halving, j->n);
  case BERTH_COLLECTIVE_HIERARCHICAL: return hierarchical(j);
  case BERTH_COLLECTIVE_LINES: return two_lines(j);
  case BERTH_COLLECTIVE_NCCL: return nccl(j);
  case BERTH_COLLECTIVE_RING:
  case BERTH_COLLECTIVE_AUTO:
  case BERTH_COLLECTIVE_FUNCTION: break;
  }
  return slowest(j, ring, j->n);
}

static most_of best_way(job *j, berth_collective_algorithm *best) {
  most_of least = by_way(j, BERTH_COLLECTIVE_RING);
  *best = BERTH_COLLECTIVE_RING;
  for (int a = BERTH_COLLECTIVE_TREE; a <= BERTH_COLLECTIVE_HIERARCHICAL; a++) {
    if (!has_way(j->kind, (berth_collective_algorithm)a)) continue;
    most_of m = by_way(j, (berth_collective_algorithm)a);
    if (!(m.seconds < least.seconds)) continue;
    least = m;
    *best = (berth_collective_algorithm)a;
  }
  return least;
}

static most_of price(job *j, berth_collective_algorithm *a) {
  if (j->kind == BERTH_PARAMETER_SERVER) {
    *a = BERTH_COLLECTIVE_RING;
    return parameter_server(j);
  }
  if (*a == BERTH_COLLECTIVE_AUTO) return best_way(j, a);
  if (!has_way(j->kind, *a)) *a = BERTH_COLLECTIVE_RING;
  return by_way(j, *a);
}

static bool find_missing_route(const job *j, berth_i_collective_price *p) {
  for (int32_t i = 0; i < j->n && !j->c->uniform; i++) {
    for (int32_t q = 0; q < j->n; q++) {
      if (!isinf(j->c->t->latency[berth_i_pair(j->c->t, j->devices[i], j->devices[q])])) continue;
      p->src = j->devices[i];
      p->dst = j->devices[q];
      return true;
    }
  }
  return false;
}

berth_i_collective_price berth_i_collective_built_in(const berth_cost *c, int32_t collective,
                                                     int32_t n, const int32_t *devices) {
  const berth_collective *k = &c->g->collectives[collective];
  return berth_i_collective_of(c, k->kind, k->bytes, n, devices);
}

berth_i_collective_price berth_i_collective_of(const berth_cost *c, berth_collective_kind kind,
                                               double bytes, int32_t n, const int32_t *devices) {
  berth_i_collective_price p = { 0, 0, c->algorithm, BERTH_NONE, BERTH_NONE };
  job j = { c, kind, bytes, n, devices, 0, 0 };
  if (find_missing_route(&j, &p)) return p;
  most_of m = price(&j, &p.algorithm);
  p.seconds = m.seconds * c->transfer_factor;
  p.latency = m.latency * c->transfer_factor;
  return p;
}

berth_status berth_i_collective_function(const berth_cost *c, int32_t collective, int32_t n,
                                         const int32_t *devices, double *seconds) {
  double s = NAN;
  berth_status st = c->collective(c->ud, collective, n, devices, &s);
  if (st != BERTH_OK) return st;
  if (!(s >= 0))
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: the cost function gave %g s",
                        (int)collective, s);
  *seconds = s * c->transfer_factor;
  return BERTH_OK;
}

berth_status berth_i_collective_unreachable(const berth_cost *c, int32_t collective, int32_t src,
                                            int32_t dst) {
  char from[128], to[128];
  return berth_i_fail(c->ctx, BERTH_EUNREACHABLE, "collective %d: no route from %s to %s",
                      (int)collective, berth_i_device_label(c->t, src, from, sizeof from),
                      berth_i_device_label(c->t, dst, to, sizeof to));
}

/* ---- public ---- */

enum { FEW = 64 };

static int32_t distinct(int32_t n, const int32_t *devices, int32_t *out) {
  int32_t found = 0;
  for (int32_t k = 0; k < n; k++) {
    int32_t q;
    for (q = 0; q < found && out[q] != devices[k]; q++) continue;
    if (q == found) out[found++] = devices[k];
  }
  return found;
}

static berth_status built_in(const berth_cost *c, int32_t collective, int32_t n,
                             const int32_t *devices, double *seconds,
                             berth_collective_algorithm *algorithm) {
  int32_t few[FEW], *own = n > FEW ? berth_i_alloc(c->ctx, (size_t)n, sizeof *own) : NULL,
                    *different = own ? own : few;
  berth_i_collective_price p = { 0, 0, c->algorithm, BERTH_NONE, BERTH_NONE };
  if (n > FEW && !own) return berth_i_nomem(c->ctx);
  int32_t found = distinct(n, devices, different);
  if (found > 1) p = berth_i_collective_built_in(c, collective, found, different);
  berth_i_free(c->ctx, own, (size_t)n, sizeof *own);
  if (p.src != BERTH_NONE) return berth_i_collective_unreachable(c, collective, p.src, p.dst);
  *seconds = p.seconds;
  *algorithm = p.algorithm;
  return BERTH_OK;
}

static berth_status check(const berth_cost *c, int32_t collective, int32_t n,
                          const int32_t *devices) {
  if (collective < 0 || collective >= c->g->n_collectives)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: the graph has %d", (int)collective,
                        (int)c->g->n_collectives);
  if (n != c->g->collectives[collective].n_members)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: %d devices for %d members",
                        (int)collective, (int)n, (int)c->g->collectives[collective].n_members);
  for (int32_t k = 0; k < n; k++)
    if (devices[k] < 0 || devices[k] >= c->n_devices)
      return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: member %d on device %d of %d",
                          (int)collective, (int)k, (int)devices[k], (int)c->n_devices);
  return BERTH_OK;
}

berth_status berth_cost_collective_by(const berth_cost *c, int32_t collective, int32_t n,
                                      const int32_t *devices, double *seconds,
                                      berth_collective_algorithm *algorithm) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check(c, collective, n, devices);
  if (st != BERTH_OK) return st;
  if (!c->collective) return built_in(c, collective, n, devices, seconds, algorithm);
  if ((st = berth_i_collective_function(c, collective, n, devices, seconds)) == BERTH_OK)
    *algorithm = BERTH_COLLECTIVE_FUNCTION;
  return st;
}

berth_status berth_cost_collective(const berth_cost *c, int32_t collective, int32_t n,
                                   const int32_t *devices, double *seconds) {
  if (!c) return BERTH_EINVAL;
  berth_collective_algorithm how;
  return berth_cost_collective_by(c, collective, n, devices, seconds, &how);
}

const berth_choice *const berth_i_collective_algorithms[] = {
  BERTH_I_CHOICE("ring", "Neighbour to neighbour; every kind has it."),
  BERTH_I_CHOICE("tree", "Binomial trees, to the first device and back."),
  BERTH_I_CHOICE("double-tree", "Two pipelined trees: broadcast, all-reduce, barrier."),
  BERTH_I_CHOICE("halving", "Recursive halving and doubling; Bruck's form of the others."),
  BERTH_I_CHOICE("hierarchical", "In groups of devices joined by fast links (device_groups, else "
                                 "found), then among one leader of each."),
  BERTH_I_CHOICE("lines", "An all-reduce by two measured lines (collective_lines), whatever the "
                          "devices are."),
  BERTH_I_CHOICE("auto", "For each collective the fastest of those before but lines."),
  BERTH_I_CHOICE("nccl", "As NCCL was measured on GPUs of a preset, with the topology's bandwidths "
                         "(docs/kernels.md)."),
  NULL
};
const berth_choice *const *berth_collective_algorithms(void) {
  return berth_i_collective_algorithms;
}

const char *berth_collective_algorithm_name(berth_collective_algorithm a) {
  if (a == BERTH_COLLECTIVE_FUNCTION) return "function";
  return (int)a >= 0 && a < BERTH_COLLECTIVE_FUNCTION ? berth_i_collective_algorithms[a]->name
                                                      : NULL;
}
