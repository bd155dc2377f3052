/* Device presets; docs/devices.md has the sources. */
#include "topology_internal.h"

#define LAUNCH_S 5e-6 /* our choice for all: one kernel launch from a framework */
#define MIB 1048576.0
#define T 1e12
#define G 1e9

/* Peaks without sparsity, TFLOP/s; 0: the board has no such arithmetic, or a slower one than FP32,
 * which frameworks compute in then. `usable`: as the driver reports it, MiB. Links are of a GPU
 * into one direction; the machine and its network are those of `source`. */
#define SHEET(name, board, memory, usable, bandwidth, fp64, fp32, tf32, bf16, fp16, fp8, fp4, sms, \
              gpus, domain, link, nics, nic, source) \
  { name, board, (tf32 > 0 ? tf32 : fp32) * T, memory * G, usable * MIB, bandwidth * G, fp64 * T, \
    fp32 * T, tf32 * T, bf16 * T, fp16 * T, fp8 * T, fp4 * T, sms, gpus, domain, link * G, nics, \
    nic * G / 8, source }
static const berth_data_sheet sheets[] = {
  /*    name, board,
        GB, MiB, GB/s, FP64, FP32, TF32, BF16, FP16, FP8, FP4,
        SMs, GPUs, domain, link GB/s, NICs, Gbit/s, source */
  SHEET("P100", "Tesla P100, SXM2, 16 GB HBM2",
        16, 16280, 732, 5.3, 10.6, 0, 0, 21.2, 0, 0,
        56, 8, 8, 80, 4, 100, "data sheet Tesla P100; DGX-1 (P100)"),
  SHEET("V100", "Tesla V100, SXM2, 16 GB HBM2",
        16, 16160, 900, 7.8, 15.7, 0, 0, 125, 0, 0,
        80, 8, 8, 150, 4, 100, "data sheet Tesla V100; DGX-1 (V100)"),
  SHEET("A100", "A100, SXM4, 80 GB HBM2e",
        80, 81920, 2039, 9.7, 0, 156, 312, 312, 0, 0,
        108, 8, 8, 300, 8, 200, "data sheet A100; DGX A100"),
  SHEET("H100", "H100, SXM5, 80 GB HBM3",
        80, 81559, 3350, 33.5, 0, 494.7, 989.4, 989.4, 1978.9, 0,
        132, 8, 8, 450, 8, 400, "white paper H100; DGX H100"),
  SHEET("GTX1080Ti", "GeForce GTX 1080 Ti, 11 GB GDDR5X",
        11, 11178, 484, 0.354, 11.3, 0, 0, 0, 0, 0,
        28, 4, 1, 16, 1, 10, "product page GTX 1080 Ti; PCIe 3.0; machine: our choice"),
  SHEET("T4", "T4, PCIe, 16 GB GDDR6",
        16, 15360, 320, 0.253, 8.1, 0, 0, 65, 0, 0,
        40, 4, 1, 16, 1, 50, "data sheet T4; PCIe 3.0; AWS g4dn.12xlarge"),
  SHEET("V100-32GB", "Tesla V100, SXM2, 32 GB HBM2",
        32, 32510, 900, 7.8, 15.7, 0, 0, 125, 0, 0,
        80, 8, 8, 150, 4, 100, "data sheet Tesla V100; DGX-1 (V100)"),
  SHEET("A100-40GB", "A100, SXM4, 40 GB HBM2",
        40, 40536, 1555, 9.7, 0, 156, 312, 312, 0, 0,
        108, 8, 8, 300, 8, 200, "data sheet A100; DGX A100"),
  SHEET("H100-PCIe", "H100, PCIe, 80 GB HBM2e",
        80, 81559, 2000, 25.6, 0, 378, 756, 756, 1513, 0,
        114, 8, 1, 64, 8, 200, "data sheet H100 PCIe; PCIe 5.0; machine: our choice"),
  SHEET("H100-96GB", "H100, 96 GB HBM2e, 500 W",
        96, 97321, 2400, 33.5, 0, 494.7, 989.4, 989.4, 1978.9, 0,
        132, 8, 8, 450, 8, 400, "performance pages of torchtitan; peaks as of the SXM5 board"),
  SHEET("H200", "H200, SXM5, 141 GB HBM3e",
        141, 143771, 4800, 33.5, 0, 494.7, 989.4, 989.4, 1978.9, 0,
        132, 8, 8, 450, 8, 400, "data sheet H200; DGX H200"),
  SHEET("B200", "B200, SXM, 180 GB HBM3e",
        180, 183359, 8000, 37, 0, 1125, 2250, 2250, 4500, 9000,
        148, 8, 8, 900, 8, 400, "data sheet HGX B200 / 8; DGX B200"),
  SHEET("B300", "B300, SXM, 288 GB HBM3e",
        288, 275040, 8000, 1.25, 0, 1125, 2250, 2250, 4500, 13500,
        148, 8, 8, 900, 8, 800, "data sheet HGX B300 / 8; DGX B300"),
  SHEET("GB200", "GB200 superchip, per GPU, 186 GB HBM3e",
        186, 189471, 8000, 40, 0, 1250, 2500, 2500, 5000, 10000,
        152, 4, 72, 900, 4, 400, "data sheet GB200 NVL72 / 72"),
  SHEET("GB300", "GB300 superchip, per GPU, 288 GB HBM3e",
        288, 284208, 8000, 1.39, 0, 1250, 2500, 2500, 5000, 15000,
        152, 4, 72, 900, 4, 800, "data sheet GB300 NVL72 / 72"),
  SHEET("MI300X", "Instinct MI300X, OAM, 192 GB HBM3",
        192, 196592, 5300, 81.7, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0,
        304, 8, 8, 448, 8, 400, "data sheet MI300X; its platform of 8"),
  SHEET("L40S", "L40S, PCIe, 48 GB GDDR6",
        48, 46068, 864, 1.43, 91.6, 183, 362.05, 362.05, 733, 0,
        142, 8, 1, 32, 1, 200, "data sheet L40S; PCIe 4.0; machine: our choice"),
  SHEET("RTX4090", "GeForce RTX 4090, 24 GB GDDR6X",
        24, 24564, 1008, 1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 0,
        128, 8, 1, 32, 1, 100, "white paper Ada, FP32 accumulation; PCIe 4.0; machine: our choice")
};
enum { COUNT = sizeof sheets / sizeof *sheets };

/* Names that clusters and people use, too. */
static const struct { const char *name, *sheet; } other_names[] = {
  { "A100-80GB", "A100" }, { "A100-80", "A100" }, { "A100-40", "A100-40GB" },
  { "A100-SXM", "A100" }, { "H100-SXM", "H100" }, { "H100-80GB", "H100" },
  { "H100-HBM2e", "H100-96GB" }, { "V100-16GB", "V100" }, { "V100-32", "V100-32GB" },
  { "GB200-NVL72", "GB200" }, { "GB300-NVL72", "GB300" }, { "4090", "RTX4090" },
  { "RTX-4090", "RTX4090" }
};

const char *const *berth_device_presets(void) {
  static const char *const names[] = {
    "P100", "V100", "A100", "H100", "GTX1080Ti", "T4", "V100-32GB", "A100-40GB", "H100-PCIe",
    "H100-96GB", "H200", "B200", "B300", "GB200", "GB300", "MI300X", "L40S", "RTX4090", NULL
  };
  _Static_assert(sizeof names / sizeof *names == COUNT + 1, "a name for each sheet");
  return names;
}

const berth_data_sheet *berth_device_sheet(const char *name) {
  for (size_t k = 0; name && k < sizeof other_names / sizeof *other_names; k++)
    if (berth_name_distance(name, other_names[k].name) == 0) name = other_names[k].sheet;
  for (int i = 0; name && i < COUNT; i++)
    if (berth_name_distance(name, sheets[i].name) == 0) return &sheets[i];
  return NULL;
}

static const berth_data_sheet *exactly(const char *name) {
  for (int i = 0; name && i < COUNT; i++)
    if (strcmp(name, sheets[i].name) == 0) return &sheets[i];
  return NULL;
}

static berth_status unknown(berth_ctx *ctx, const char *name) {
  char list[400];
  berth_names_text(name, berth_device_presets(), COUNT, "docs/devices.md", list, sizeof list);
  return berth_i_fail(ctx, BERTH_EINVAL, "no device preset \"%s\"; there are %s", name ? name : "",
                      list);
}

double berth_device_rate(const berth_device *d, const char *dtype, const char **used) {
  const char *none;
  if (!used) used = &none;
  *used = NULL;
  const berth_data_sheet *s = exactly(d->type);
  if (!s || !dtype || !*dtype || d->flops != s->flops) return d->flops;
  const struct { const char *name; double rate; } rates[] = {
    { "fp64", s->fp64 }, { "bf16", s->bf16 }, { "fp16", s->fp16 }, { "fp32", s->fp32 },
    { "tf32", s->tf32 }, { "fp8", s->fp8 }, { "fp4", s->fp4 }
  };
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
    /* frameworks compute in TF32 what is FP32, where there is TF32 */
    if (strcmp(dtype, rates[k].name) != 0 || rates[k].rate <= 0) continue;
    if (strcmp(dtype, "fp32") == 0 && s->tf32 > 0) break;
    *used = rates[k].name;
    return rates[k].rate;
  }
  /* FP8 and FP4 where there are none */
  if (dtype[0] == 'f' && (dtype[2] == '8' || dtype[2] == '4') && s->bf16 > 0)
    return *used = "bf16", s->bf16;
  *used = s->tf32 > 0 ? "tf32" : "fp32";
  return d->flops;
}

int32_t berth_i_device_sms(const char *type) {
  const berth_data_sheet *s = exactly(type);
  return s ? s->sms : 0;
}

berth_status berth_device_preset(berth_ctx *ctx, const char *name, berth_device *out) {
  if (!ctx) return BERTH_EINVAL;
  const berth_data_sheet *s = exactly(name);
  if (!s) return unknown(ctx, name);
  *out = berth_device_default();
  out->type = s->name;
  out->flops = s->flops;
  out->memory = s->memory;
  out->memory_bandwidth = s->memory_bandwidth;
  out->overhead = LAUNCH_S;
  return BERTH_OK;
}
