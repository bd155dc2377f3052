/* Op groups on single devices: the strategy that a placement of the graph comes to. */
#include "deploy/values_internal.h"

/* The first action that puts the group on that device alone. */
static int32_t action_on(const berth_deploy *d, int32_t group, int32_t device) {
  for (int32_t a = 0; a < d->n_actions; a++) {
    const int32_t place = berth_i_action_place(d, a);
    if (berth_i_place_size(d, place) == 1 && berth_i_place_devices(d, place)[0] == device
        && berth_i_is_legal(d, group, a))
      return a;
  }
  return BERTH_NONE;
}

static int32_t largest(const double *of, int32_t n) {
  int32_t best = 0;
  for (int32_t k = 1; k < n; k++)
    if (of[k] > of[best]) best = k;
  return best;
}

berth_status berth_deploy_from_placement(berth_deploy *d, const int32_t *device, int32_t *action) {
  if (!d || !device || !action) return BERTH_EINVAL;
  berth_i_pool scratch = berth_i_pool_empty(d->ctx);
  const size_t m = (size_t)d->n_devices;
  char text[96];
  double *bytes = berth_i_pool_alloc(&scratch, m, sizeof *bytes);
  double *seconds = berth_i_pool_alloc(&scratch, m, sizeof *seconds);
  int32_t *found = berth_i_pool_alloc(&scratch, (size_t)d->n_groups, sizeof *found);
  berth_status st = berth_i_pool_status(&scratch);
  for (int32_t g = 0; g < d->n_groups && st == BERTH_OK; g++) {
    for (size_t k = 0; k < m; k++) bytes[k] = seconds[k] = 0;
    for (int32_t i = d->group_at[g]; i < d->group_at[g + 1]; i++) {
      const int32_t op = d->group_op[i], k = device[op];
      if (k < 0 || k >= d->n_devices) {
        st = berth_i_fail(d->ctx, BERTH_EINVAL, "op %d is on device %d (there are %d)", (int)op,
                          (int)k, (int)d->n_devices);
        goto done;
      }
      bytes[k] += berth_i_deploy_held_bytes(d, op);
      seconds[k] += d->mean_seconds[op];
    }
    int32_t k = largest(bytes, d->n_devices);
    if (bytes[k] <= 0) k = largest(seconds, d->n_devices);
    if ((found[g] = action_on(d, g, k)) == BERTH_NONE)
      st = berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                        "op group %d has no action that puts it on %s alone", (int)g,
                        berth_i_device_label(d->t, k, text, sizeof text));
  }
  if (st == BERTH_OK) memcpy(action, found, (size_t)d->n_groups * sizeof *action);
done:
  berth_i_pool_free(&scratch);
  return st;
}
