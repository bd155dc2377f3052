/* Means and extremes over devices and pairs, as the list placers need them: mean and least op
 * times, mean transfers, the ratio rho. Classes of equal devices are visited once, with their
 * count. */
#include "cost_internal.h"

const berth_choice *const berth_i_average_choices[] = {
  BERTH_I_CHOICE("textbook", "Means over all devices, and over all pairs of different devices, as "
                             "the papers of HEFT, CPOP and PEFT define it."),
  BERTH_I_CHOICE("saga", "As the SAGA library computes them. HEFT: each device with itself counts "
                         "as a free pair in mean transfers. CPOP: also the downward rank adds the "
                         "op's own time at mean speed, and all ops of the top priority are "
                         "critical. PEFT: the table takes the transfer time of each pair of "
                         "devices instead of the mean."),
  NULL
};
const berth_choice *const *berth_average_choices(void) { return berth_i_average_choices; }

/* Over the devices whose class can run the op, summed up as plainly as published codes do it, whose
 * ties by rounding are then ours; exact where all agree. */
static double mean_over_classes(const berth_cost *c, const double *row) {
  double first = INFINITY, sum = 0, n = 0;
  bool agree = true;
  for (int32_t k = 0; k < c->n_classes; k++) {
    if (isinf(row[k])) continue;
    if (n == 0) first = row[k];
    agree &= row[k] == first;
    sum += row[k] * c->class_size[k];
    n += c->class_size[k];
  }
  return agree ? first : sum / n;
}

static double least_over_classes(const berth_cost *c, const double *row) {
  double least = INFINITY;
  for (int32_t k = 0; k < c->n_classes; k++) least = fmin(least, row[k]);
  return least;
}

static void fold_ops(const berth_cost *c, double (*fold)(const berth_cost *, const double *),
                     double *out) {
  for (int32_t op = 0; op < c->g->n_ops; op++) {
    int32_t pin = berth_i_pin(c->g, op);
    out[op] = pin != BERTH_NONE ? berth_i_op_time(c, op, pin)
                                : fold(c, c->op + (size_t)op * (size_t)c->n_classes);
  }
}

berth_status berth_cost_mean_ops(const berth_cost *c, double *out) {
  if (!c) return BERTH_EINVAL;
  fold_ops(c, mean_over_classes, out);
  return BERTH_OK;
}

berth_status berth_cost_min_ops(const berth_cost *c, double *out) {
  if (!c) return BERTH_EINVAL;
  fold_ops(c, least_over_classes, out);
  return BERTH_OK;
}

/* Sums over the ordered pairs of different devices that reach one another. */
typedef struct pairs {
  double latency, inverse_bandwidth; /* mean */
  double n;
} pairs;

static pairs mean_pair(const berth_topology *t) {
  pairs sum = { 0, 0, 0 };
  for (int32_t a = 0; a < t->n_devices; a++)
    for (int32_t b = 0; b < t->n_devices; b++) {
      size_t p = berth_i_pair(t, a, b);
      if (a == b || isinf(t->latency[p])) continue;
      sum.latency += t->latency[p];
      sum.inverse_bandwidth += 1 / t->bandwidth[p];
      sum.n++;
    }
  if (sum.n > 0) {
    sum.latency /= sum.n;
    sum.inverse_bandwidth /= sum.n;
  }
  return sum;
}

static double mean_by_links(const berth_cost *c, int32_t tensor, const pairs *mean) {
  double bytes = c->g->tensor_bytes[tensor];
  if (bytes == 0 && c->free_control) return 0;
  return (mean->latency + bytes * mean->inverse_bandwidth) * c->transfer_factor;
}

/* SAGA counts unordered pairs and, at no cost, each device with itself: the share of pairs of
 * different devices. */
static double share(double ordered_pairs, int32_t n_devices) {
  return ordered_pairs / (ordered_pairs + 2.0 * n_devices);
}

static double mean_of_row(const berth_cost *c, int32_t tensor, berth_average how) {
  double sum = 0, n = 0;
  for (int32_t a = 0; a < c->n_devices; a++)
    for (int32_t b = 0; b < c->n_devices; b++) {
      double s = berth_i_transfer_time(c, tensor, a, b);
      if (a == b || isinf(s)) continue;
      sum += s;
      n++;
    }
  if (n == 0) return 0;
  return sum / n * (how == BERTH_AVERAGE_SAGA ? share(n, c->n_devices) : 1);
}

berth_status berth_cost_mean_transfers(const berth_cost *c, berth_average how, double *out) {
  if (!c) return BERTH_EINVAL;
  pairs mean = { 0, 0, 0 };
  bool by_row = c->table || (c->whole_us && !c->uniform);
  double scale = 1;
  if (how != BERTH_AVERAGE_TEXTBOOK && how != BERTH_AVERAGE_SAGA)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "no way of averaging has number %d", (int)how);
  if (!by_row) mean = mean_pair(c->t);
  if (how == BERTH_AVERAGE_SAGA) scale = share(mean.n, c->n_devices);
  for (int32_t k = 0; k < c->g->n_tensors; k++) {
    if (by_row) out[k] = mean_of_row(c, k, how);
    else out[k] = (c->uniform ? c->uniform[k] : mean_by_links(c, k, &mean)) * scale;
  }
  return BERTH_OK;
}

static double largest_transfer_of(const berth_cost *c, int32_t tensor) {
  double largest = 0;
  for (int32_t a = 0; a < c->n_devices; a++)
    for (int32_t b = 0; b < c->n_devices; b++) {
      double s = berth_i_transfer_time(c, tensor, a, b);
      if (!isinf(s)) largest = fmax(largest, s);
    }
  return largest;
}

/* Without a table the tensor of most bytes is the slowest on every pair. */
static double largest_transfer(const berth_cost *c) {
  double largest = 0;
  int32_t most = 0;
  if (c->g->n_tensors == 0) return 0;
  for (int32_t k = 0; k < c->g->n_tensors; k++) {
    if (c->table) largest = fmax(largest, largest_transfer_of(c, k));
    if (c->g->tensor_bytes[k] > c->g->tensor_bytes[most]) most = k;
  }
  return c->table ? largest : largest_transfer_of(c, most);
}

static double least_positive_op(const berth_cost *c) {
  double least = INFINITY;
  for (int32_t op = 0; op < c->g->n_ops; op++) {
    int32_t pin = berth_i_pin(c->g, op);
    for (int32_t k = 0; k < c->n_classes; k++) {
      double s = c->op[(size_t)op * (size_t)c->n_classes + (size_t)k];
      if (s > 0 && (pin == BERTH_NONE || c->class_of[pin] == k)) least = fmin(least, s);
    }
  }
  return least;
}

double berth_cost_rho(const berth_cost *c) {
  double least = least_positive_op(c);
  return isinf(least) ? INFINITY : largest_transfer(c) / least;
}

/* ---- range ---- */

/* Times and sizes are summed, and placers square them: within these bounds nothing overflows. */
static const double MOST_SECONDS = 1e150, MOST_BYTES = 1e150;

/* Longest transfer of the tensor between devices that reach each other, or more: over all links, at
 * the bandwidth of the slowest. */
static double transfer_at_most(const berth_cost *c, int32_t tensor, double latency,
                               double slowest) {
  if (c->table) return largest_transfer_of(c, tensor);
  if (c->uniform) return c->uniform[tensor];
  return berth_i_route_seconds(c, latency, slowest, c->g->tensor_bytes[tensor]);
}

static double most_seconds(const berth_cost *c) {
  const berth_topology *t = c->t;
  double latency = 0, slowest = INFINITY, sum = 0;
  for (int32_t l = 0; l < t->n_links; l++) {
    latency += t->links[l].latency;
    slowest = fmin(slowest, t->links[l].bandwidth);
  }
  for (int32_t op = 0; op < c->g->n_ops; op++) {
    double most = 0;
    for (int32_t k = 0; k < c->n_classes; k++) {
      double s = c->op[(size_t)op * (size_t)c->n_classes + (size_t)k];
      if (!isinf(s)) most = fmax(most, s);
    }
    sum += most;
  }
  for (int32_t k = 0; k < c->g->n_tensors; k++) {
    const int32_t *consumers;
    double n = berth_graph_consumers(c->g, k, &consumers);
    if (n > 0 && c->n_devices > 1) sum += n * transfer_at_most(c, k, latency, slowest);
  }
  return sum;
}

static double most_bytes(const berth_graph *g) {
  double sum = 0;
  berth_op op;
  berth_tensor t;
  for (int32_t k = 0; k < g->n_ops; k++)
    if (berth_graph_op(g, k, &op) == BERTH_OK) sum += op.param_bytes + op.workspace_bytes;
  for (int32_t k = 0; k < g->n_tensors; k++)
    if (berth_graph_tensor(g, k, &t) == BERTH_OK) sum += t.bytes + t.resident_bytes;
  return sum;
}

berth_status berth_i_cost_check_range(berth_cost *c) {
  if (c->in_range) return BERTH_OK;
  double seconds = most_seconds(c), bytes = most_bytes(c->g);
  if (!(seconds <= MOST_SECONDS))
    return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                        "times are too large: ops and transfers may take %g s in all, more than "
                        "%g s", seconds, MOST_SECONDS);
  if (!(bytes <= MOST_BYTES))
    return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                        "sizes are too large: ops and tensors hold %g B in all, more than %g B",
                        bytes, MOST_BYTES);
  c->in_range = true;
  return BERTH_OK;
}
