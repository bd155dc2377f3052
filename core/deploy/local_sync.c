/* What keeps the variables of an op group in step. */
#include "values_internal.h"

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

static double by_allreduce(const berth_deploy *d, const berth_i_values *v, int32_t group,
                           int32_t place) {
  double sum = 0, bytes = 0;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++) {
    double more = berth_i_gradient_bytes(d, v->gradient[k], place);
    bool closes = d->o.bucket == BERTH_BUCKET_NONE
                  || (d->o.bucket == BERTH_BUCKET_BYTES && bytes + more > d->o.bucket_bytes);
    if (closes && bytes > 0) {
      sum += berth_i_allreduce_seconds(d, place, bytes);
      bytes = 0;
    }
    bytes += more;
  }
  return sum + berth_i_allreduce_seconds(d, place, bytes);
}

static int32_t update_of(const berth_deploy *d, int32_t tensor) {
  for (int32_t k = d->g->use_at[tensor]; k < d->g->use_at[tensor + 1]; k++) {
    if (d->update_number[d->g->use[k]] != BERTH_NONE) return d->update_number[d->g->use[k]];
  }
  return 0;
}

/* To the servers, or back. */
static double server_seconds(const berth_deploy *d, berth_i_values *v, int32_t group, int32_t place,
                             bool back, bool *apart) {
  const int32_t *list = berth_i_place_devices(d, place);
  int32_t n = berth_i_place_size(d, place);
  double latency = 0;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++) {
    int32_t server = list[update_of(d, v->gradient[k]) % n];
    double bytes = berth_i_gradient_bytes(d, v->gradient[k], place);
    for (int32_t i = 0; i < n; i++) {
      if (!berth_i_load_add(d, v, back ? server : list[i], back ? list[i] : server, bytes,
                            &latency))
        *apart = true;
    }
  }
  return berth_i_load_take(d, v) + latency * d->cost->transfer_factor;
}

static double by_servers(const berth_deploy *d, berth_i_values *v, int32_t group, int32_t place) {
  bool apart = false;
  double seconds = server_seconds(d, v, group, place, false, &apart)
                   + server_seconds(d, v, group, place, true, &apart);
  return apart ? INFINITY : seconds;
}

double berth_i_group_sync(berth_deploy *d, berth_i_values *v, int32_t group, int32_t action) {
  int32_t place = berth_i_action_place(d, action);
  if (!berth_i_is_data_parallel(d, action)) return 0;
  double rows;
  rows = berth_i_gather_seconds(d, place, v->rows[group]);
  return rows
         + (d->action[action].option == BERTH_DEPLOY_PS ? by_servers(d, v, group, place)
                                                        : by_allreduce(d, v, group, place));
}
