/* The error text where no placement was found, though none is proved to be impossible: the units
 * that are left out of the packing that came closest, and how full its devices are. */
#include "pack_internal.h"
#include <stdio.h>

enum { MOST_LISTED = 6 };

/* "; device 0 "d0" holds 10 B of 12 B, ... and 3 more" */
static void list_devices(const berth_i_packing *k, char *buf, size_t size) {
  size_t used = 0;
  int32_t devices = k->cost->n_devices;
  buf[0] = 0;
  for (int32_t d = 0; d < devices && d < MOST_LISTED && used < size; d++) {
    char where[160], holds[32], limit[32];
    int n = snprintf(buf + used, size - used, "%s %s holds %s of %s", d > 0 ? "," : ";",
                     berth_i_device_label(k->cost->t, d, where, sizeof where),
                     berth_quantity_format(k->used[d] + k->temporary[d], BERTH_BYTES, holds,
                                           sizeof holds),
                     berth_quantity_format(k->limit[d], BERTH_BYTES, limit, sizeof limit));
    used += n < 0 ? 0 : (size_t)n;
  }
  if (devices > MOST_LISTED && used < size)
    snprintf(buf + used, size - used, " and %d more", (int)(devices - MOST_LISTED));
}

berth_status berth_i_packing_account(berth_i_packing *k, int32_t left_out, const char *placer,
                                     bool unfit, const berth_place_options *opts,
                                     berth_obstacle *why) {
  berth_status st = berth_i_packing_refuse(k, placer, left_out, opts, why);
  if (st != BERTH_EINFEASIBLE) return st;
  char reason[400];
  snprintf(reason, sizeof reason, "%s", berth_errmsg(k->cost->ctx));
  char devices[800];
  list_devices(k, devices, sizeof devices);
  return berth_i_fail(
      k->cost->ctx, st, "%s%s%s", reason, devices,
      unfit && k->u->share == 1 ? "; no choice of devices holds in every order of execution" : "");
}
