/* Device presets; docs/devices.md has the sources. */
#include "topology_internal.h"
#include <stdio.h>

#define LAUNCH_S 5e-6 /* our choice for all: one kernel launch from a framework */

static const char *const preset_names[] = {
  "P100", "V100", "A100", "H100", "GTX1080Ti", "T4", NULL
};

static const struct {
  double flops, memory, memory_bandwidth;
} sheet[] = {
  { 10.6e12, 16e9, 732e9 },   /* P100 SXM2, FP32 */
  { 15.7e12, 16e9, 900e9 },   /* V100 SXM2, FP32 */
  { 156e12, 80e9, 2039e9 },   /* A100 SXM4, TF32 tensor, dense */
  { 494.7e12, 80e9, 3350e9 }, /* H100 SXM5, TF32 tensor, dense */
  { 11.3e12, 11e9, 484e9 },   /* GTX 1080 Ti, FP32 */
  { 8.1e12, 16e9, 320e9 }     /* T4, FP32 */
};

const char *const *berth_device_presets(void) { return preset_names; }

static berth_status unknown(berth_ctx *ctx, const char *name) {
  char list[160] = "";
  size_t len = 0;
  for (size_t i = 0; preset_names[i]; i++)
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", preset_names[i]);
  return berth_i_fail(ctx, BERTH_EINVAL, "no device preset \"%s\"; there are %s", name ? name : "",
                      list);
}

berth_status berth_device_preset(berth_ctx *ctx, const char *name, berth_device *out) {
  if (!ctx) return BERTH_EINVAL;
  for (size_t i = 0; name && preset_names[i]; i++) {
    if (strcmp(name, preset_names[i]) != 0) continue;
    *out = berth_device_default();
    out->type = preset_names[i];
    out->flops = sheet[i].flops;
    out->memory = sheet[i].memory;
    out->memory_bandwidth = sheet[i].memory_bandwidth;
    out->overhead = LAUNCH_S;
    return BERTH_OK;
  }
  return unknown(ctx, name);
}
