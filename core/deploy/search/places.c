/* Tables for the search: actions as sequences of choices, positions of op groups (mean place of
 * their forward ops; of backward ops mirrored), bytes that cross each cut between neighbours,
 * weights of groups, actions worth valuing for all. O(ops + edges + groups^2). */
#include "search_internal.h"

/* ---- actions of a search as sequences of choices ---- */

/* A set of whole device groups: 0, then a choice for each group; any other: 1, the set. Then option
 * and shares, and whether ops are repeated, if that is a choice. */
void berth_i_search_paths(const berth_deploy *d, const berth_i_space *x, int32_t *at, int32_t *path,
                          int32_t *count) {
  int32_t groups = d->n_device_groups, *all = count + groups, n = 0;
  for (int32_t m = 0; m < groups; m++) all[m] = 0;
  for (int32_t k = 0; k < d->n_devices; k++) all[d->device_group[k]]++;
  for (int32_t a = 0; a < x->n_actions; a++) {
    const berth_action *of = &d->action[x->of[a]];
    int32_t place = d->set_place[of->set];
    bool whole = true;
    for (int32_t m = 0; m < groups; m++) count[m] = 0;
    for (int32_t k = 0; k < berth_i_place_size(d, place); k++)
      count[d->device_group[berth_i_place_devices(d, place)[k]]]++;
    for (int32_t m = 0; m < groups; m++) whole &= count[m] == 0 || count[m] == all[m];
    at[a] = n;
    path[n++] = !whole;
    for (int32_t m = 0; whole && m < groups; m++) path[n++] = count[m] > 0;
    if (!whole) path[n++] = of->set;
    path[n++] = (int32_t)of->option;
    path[n++] = (int32_t)of->shares;
    if (x->with[x->of[a]] != BERTH_NONE) path[n++] = a >= d->n_actions;
  }
  at[x->n_actions] = n;
}

/* ---- positions ---- */

static bool is_backward(const berth_deploy *d, int32_t v) {
  return (berth_i_flags(d->g, v) & BERTH_OP_BACKWARD) != 0;
}
static bool is_update(const berth_deploy *d, int32_t v) {
  return (berth_i_flags(d->g, v) & BERTH_OP_UPDATE) != 0;
}

/* Kinds of ops, the most telling first. Variables and constants are where they are read, which may
 * be anywhere. */
static int kind_of(const berth_deploy *d, int32_t v) {
  if (is_update(d, v)) return 3;
  if (d->g->in_at[v] == d->g->in_at[v + 1]) return 2;
  return is_backward(d, v) ? 1 : 0;
}

berth_status berth_deploy_positions(const berth_deploy *d, double *position) {
  if (!d) return BERTH_EINVAL;
  const size_t n = (size_t)d->n_ops;
  double *place = berth_i_alloc(d->ctx, n, sizeof *place);
  int32_t *order = berth_i_alloc(d->ctx, n, sizeof *order);
  berth_status st = place && order ? berth_topo_order(d->g, order) : berth_i_nomem(d->ctx);
  if (st == BERTH_OK) {
    /* Places of ops in topological order; of backward ops as if mirrored, the last one first. */
    int32_t first = d->n_ops, last = -1, forward = 0;
    for (int32_t k = 0; k < d->n_ops; k++) {
      if (!is_backward(d, order[k])) continue;
      first = k < first ? k : first;
      last = k;
    }
    for (int32_t k = 0; k < d->n_ops; k++)
      forward = k < first && !is_update(d, order[k]) ? k + 1 : forward;
    for (int32_t k = 0; k < d->n_ops; k++)
      place[order[k]] =
          is_backward(d, order[k]) ? (double)forward * (last - k) / (last - first + 1) : k;
  }
  /* The mean over the most telling ops that a group has. */
  for (int32_t i = 0; i < d->n_groups && st == BERTH_OK; i++) {
    double sum = 0;
    int32_t found = 0;
    for (int kind = 0; kind < 4 && found == 0; kind++)
      for (int32_t k = d->group_at[i]; k < d->group_at[i + 1]; k++) {
        if (kind_of(d, d->group_op[k]) != kind) continue;
        sum += place[d->group_op[k]];
        found++;
      }
    position[i] = found > 0 ? sum / found : 0;
  }
  berth_i_free(d->ctx, order, n, sizeof *order);
  berth_i_free(d->ctx, place, n, sizeof *place);
  return st;
}

/* ---- seams ---- */

void berth_i_search_seams(const berth_deploy *d, const double *position, int32_t *rank,
                          double *out) {
  double *bytes = out + d->n_groups;
  for (int32_t i = 0; i < d->n_groups; i++) bytes[i] = 0;
  /* rank: of each group by position; equal ones by their number. O(groups^2) */
  for (int32_t i = 0; i < d->n_groups; i++) {
    rank[i] = 0;
    for (int32_t k = 0; k < d->n_groups; k++)
      rank[i] += position[k] < position[i] || (position[k] == position[i] && k < i);
  }
  /* What tensors of the batch carry from one side of a cut to the other, by the rank before the
   * cut. */
  for (int32_t t = 0; t < d->g->n_tensors; t++) {
    int32_t low = rank[d->group[d->g->producer[t]]], high = low;
    if (!d->cut_tensor[t]) continue;
    for (int32_t k = d->g->use_at[t]; k < d->g->use_at[t + 1]; k++) {
      const int32_t r = rank[d->group[d->g->use[k]]];
      low = r < low ? r : low;
      high = r > high ? r : high;
    }
    for (int32_t k = low; k < high; k++) bytes[k] += d->g->tensor_bytes[t];
  }
  for (int32_t i = 0; i < d->n_groups; i++) out[i] = bytes[rank[i]];
}

/* ---- what to change, what to value everywhere ---- */

/* Shares of the time and of the bytes of parameters. */
void berth_i_search_weights(const berth_deploy *d, double *weight) {
  double seconds = 0, bytes = 0;
  for (int32_t i = 0; i < d->n_groups; i++) seconds += d->group_seconds[i];
  for (int32_t v = 0; v < d->n_ops; v++) bytes += berth_i_param(d->g, v);
  for (int32_t i = 0; i < d->n_groups; i++) {
    weight[i] = 0.1 / d->n_groups + (seconds > 0 ? d->group_seconds[i] / seconds : 0);
    for (int32_t k = d->group_at[i]; k < d->group_at[i + 1]; k++)
      weight[i] += bytes > 0 ? berth_i_param(d->g, d->group_op[k]) / bytes : 0;
  }
}

/* Of single devices the first one of each device group. */
void berth_i_search_everywhere(const berth_deploy *d, uint8_t *everywhere) {
  for (int32_t a = 0; a < d->n_actions; a++) {
    const int32_t place = d->set_place[d->action[a].set],
                  device = berth_i_place_devices(d, place)[0];
    everywhere[a] = 1;
    for (int32_t k = 0; k < device && berth_i_place_size(d, place) == 1; k++)
      if (d->device_group[k] == d->device_group[device]) everywhere[a] = 0;
  }
}
