/* Device presets; docs/devices.md has the sources. */
#include "topology_internal.h"
#include <stdio.h>

#define LAUNCH_S 5e-6 /* our choice for all: one kernel launch from a framework */

static const char *const preset_names[] = {
  "P100", "V100", "A100", "H100", "GTX1080Ti", "T4", NULL
};

/* Peaks without sparsity, TFLOP/s; 0: the board has no such arithmetic, or a slower one than FP32,
 * which frameworks compute in then. */
static const struct {
  double flops, memory, memory_bandwidth;
  double fp64, fp32, tf32, bf16, fp16, fp8;
  int32_t sms; /* streaming multiprocessors */
} sheet[] = {
  { 10.6e12, 16e9, 732e9, 5.3, 10.6, 0, 0, 21.2, 0, 56 },   /* P100 SXM2 */
  { 15.7e12, 16e9, 900e9, 7.8, 15.7, 0, 0, 125, 0, 80 },    /* V100 SXM2, FP16 on tensor cores */
  { 156e12, 80e9, 2039e9, 9.7, 0, 156, 312, 312, 0, 108 },  /* A100 SXM4, tensor cores */
  { 494.7e12, 80e9, 3350e9, 33.5, 0, 494.7, 989.4, 989.4, 1978.9, 132 }, /* H100 SXM5, same */
  { 11.3e12, 11e9, 484e9, 0.354, 11.3, 0, 0, 0, 0, 28 },    /* GTX 1080 Ti */
  { 8.1e12, 16e9, 320e9, 0.253, 8.1, 0, 0, 65, 0, 40 }      /* T4, FP16 on tensor cores */
};

const char *const *berth_device_presets(void) { return preset_names; }

static int32_t count(void) { return (int32_t)(sizeof sheet / sizeof *sheet); }

static berth_status unknown(berth_ctx *ctx, const char *name) {
  char list[200];
  berth_names_text(name, preset_names, count(), NULL, list, sizeof list);
  return berth_i_fail(ctx, BERTH_EINVAL, "no device preset \"%s\"; there are %s", name ? name : "",
                      list);
}

double berth_device_rate(const berth_device *d, const char *dtype, const char **used) {
  const char *none;
  if (!used) used = &none;
  *used = NULL;
  for (int32_t i = 0; dtype && *dtype && d->type && i < count(); i++) {
    if (strcmp(d->type, preset_names[i]) != 0 || d->flops != sheet[i].flops) continue;
    const struct { const char *name; double rate; } rates[] = {
      { "fp64", sheet[i].fp64 }, { "bf16", sheet[i].bf16 }, { "fp16", sheet[i].fp16 },
      { "fp32", sheet[i].fp32 }, { "tf32", sheet[i].tf32 }, { "fp8", sheet[i].fp8 }
    };
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
      if (strcmp(dtype, rates[k].name) == 0 && rates[k].rate > 0) {
        *used = rates[k].name;
        return rates[k].rate * 1e12;
      }
    if (strcmp(dtype, "fp8") == 0 && sheet[i].bf16 > 0) return *used = "bf16", sheet[i].bf16 * 1e12;
    *used = sheet[i].tf32 > 0 ? "tf32" : "fp32";
  }
  return d->flops;
}

int32_t berth_i_device_sms(const char *type) {
  for (int32_t i = 0; type && i < count(); i++)
    if (strcmp(type, preset_names[i]) == 0) return sheet[i].sms;
  return 0;
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
