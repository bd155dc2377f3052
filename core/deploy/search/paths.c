/* Actions of a search as sequences of choices. */
#include "search_internal.h"

/* Which part of each device group is in the set: none, all, or some. */
static bool is_union(const berth_deploy *d, int32_t place, int32_t *count, const int32_t *all) {
  for (int32_t m = 0; m < d->n_device_groups; m++) count[m] = 0;
  for (int32_t k = 0; k < berth_i_place_size(d, place); k++)
    count[d->device_group[berth_i_place_devices(d, place)[k]]]++;
  for (int32_t m = 0; m < d->n_device_groups; m++) {
    if (count[m] > 0 && count[m] < all[m]) return false;
    count[m] = count[m] > 0;
  }
  return true;
}

/* 0, a choice for each device group; or 1, the set. Then option and shares, and whether ops are
 * repeated, if that is a choice. */
static int32_t write_path(const berth_deploy *d, const berth_i_space *s, int32_t action,
                          int32_t *count, const int32_t *all, int32_t *out) {
  const berth_action *x = &d->action[s->of[action]];
  int32_t n = 0;
  if (is_union(d, d->set_place[x->set], count, all)) {
    out[n++] = 0;
    for (int32_t m = 0; m < d->n_device_groups; m++) out[n++] = count[m];
  } else {
    out[n++] = 1;
    out[n++] = x->set;
  }
  out[n++] = (int32_t)x->option;
  out[n++] = (int32_t)x->shares;
  if (s->with[s->of[action]] != BERTH_NONE) out[n++] = action >= d->n_actions;
  return n;
}

void berth_i_search_paths(const berth_deploy *d, const berth_i_space *x, int32_t *at, int32_t *path,
                          int32_t *count) {
  int32_t *all = count + d->n_device_groups;
  for (int32_t m = 0; m < d->n_device_groups; m++) all[m] = 0;
  for (int32_t k = 0; k < d->n_devices; k++) all[d->device_group[k]]++;
  at[0] = 0;
  for (int32_t a = 0; a < x->n_actions; a++)
    at[a + 1] = at[a] + write_path(d, x, a, count, all, path + at[a]);
}
