/* What local costs and repeated ops share: the busiest link of some traffic, and what an AllReduce
 * or an AllGather takes on a place. Loads are zero between uses: berth_i_load_take clears the
 * links that were touched. */
#include "values_internal.h"

/* ---- traffic on links ---- */

/* Traffic on links, in bytes; unreachable: false. */
bool berth_i_load_add(const berth_deploy *d, berth_i_values *v, int32_t src, int32_t dst,
                      double bytes, double *latency) {
  if (src == dst || bytes == 0) return true;
  const int32_t *links;
  int32_t n;
  if ((n = berth_topology_route(d->t, src, dst, &links)) < 0) return false;
  for (int32_t k = 0; k < n; k++) {
    if (v->load[links[k]] == 0) v->touched[v->n_touched++] = links[k];
    v->load[links[k]] += bytes;
  }
  double lag = d->t->latency[berth_i_pair(d->t, src, dst)];
  if (latency && lag > *latency) *latency = lag;
  return true;
}

double berth_i_load_take(const berth_deploy *d, berth_i_values *v) {
  double most = 0;
  for (int32_t k = 0; k < v->n_touched; k++) {
    double s = v->load[v->touched[k]] / d->t->links[v->touched[k]].bandwidth;
    most = s > most ? s : most;
    v->load[v->touched[k]] = 0;
  }
  v->n_touched = 0;
  return most * d->cost->transfer_factor;
}

/* ---- collectives ---- */

static double collective_seconds(const berth_deploy *d, berth_collective_kind kind, int32_t place,
                                 double bytes) {
  int32_t n = berth_i_place_size(d, place);
  if (n < 2 || bytes == 0) return 0;
  berth_i_collective_price p =
      berth_i_collective_of(d->cost, kind, bytes, n, berth_i_place_devices(d, place));
  return p.src == BERTH_NONE ? p.seconds : INFINITY;
}

double berth_i_allreduce_seconds(const berth_deploy *d, int32_t place, double bytes) {
  return collective_seconds(d, BERTH_ALLREDUCE, place, bytes);
}

double berth_i_gather_seconds(const berth_deploy *d, int32_t place, double bytes) {
  if (!d->o.gather) {
    /* One concatenation, which all read. */
    const int32_t *list = berth_i_place_devices(d, place);
    int32_t n = berth_i_place_size(d, place);
    double latency = 0;
    bool joined = true;
    for (int32_t k = 1; k < n; k++)
      joined = berth_i_load_add(d, d->values, list[k], list[0], bytes / n, &latency) && joined;
    double in = berth_i_load_take(d, d->values);
    for (int32_t k = 1; k < n; k++)
      joined = berth_i_load_add(d, d->values, list[0], list[k], bytes, &latency) && joined;
    in += berth_i_load_take(d, d->values) + 2 * latency * d->cost->transfer_factor;
    return joined ? in : INFINITY;
  }
  return collective_seconds(d, BERTH_ALLGATHER, place, bytes / berth_i_place_size(d, place));
}

double berth_i_gradient_bytes(const berth_deploy *d, int32_t tensor, int32_t place) {
  return d->g->tensor_bytes[tensor] / (d->o.split_gradients ? berth_i_place_size(d, place) : 1);
}
