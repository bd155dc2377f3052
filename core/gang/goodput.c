/* Pollux's model of goodput (Qiao et al., OSDI 2021): samples per second times statistical
 * efficiency. Time of a step: gradients and their synchronisation overlap by a power mean. The
 * best batch size is found by golden sections, which take it that there is one maximum, and
 * compared with both ends. */
#include "base/base_internal.h"
#include <berth/gang.h>

static double sync_time(const berth_goodput *g, int32_t gpus, int32_t machines) {
  if (gpus < 2) return 0;
  return machines < 2 ? g->sync_near + g->near_gpu * (gpus - 2)
                      : g->sync_far + g->far_gpu * (gpus - 2);
}

double berth_goodput_time(const berth_goodput *g, int32_t gpus, int32_t machines, double per_gpu) {
  double grad = g->grad + g->grad_sample * per_gpu, sync = sync_time(g, gpus, machines),
         most = fmax(grad, sync);
  if (!(most > 0)) return 0;
  return most * pow(pow(grad / most, g->overlap) + pow(sync / most, g->overlap), 1 / g->overlap);
}

double berth_goodput_efficiency(const berth_goodput *g, double batch) {
  return isinf(g->noise) ? 1 : (g->noise + g->batch) / (g->noise + batch);
}

static double at(const berth_goodput *g, int32_t gpus, int32_t machines, double batch) {
  return batch / berth_goodput_time(g, gpus, machines, batch / gpus)
         * berth_goodput_efficiency(g, batch);
}

static berth_status check(berth_ctx *ctx, const berth_goodput *g, int32_t gpus, int32_t machines) {
  const struct { const char *name; double x, least;
  } given[] = { { "grad", g->grad, 0 },           { "grad_sample", g->grad_sample, 0 },
                { "sync_near", g->sync_near, 0 }, { "near_gpu", g->near_gpu, 0 },
                { "sync_far", g->sync_far, 0 },   { "far_gpu", g->far_gpu, 0 } };
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (!(given[i].x >= given[i].least) || isinf(given[i].x))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "goodput: %s: expected a finite number not below 0, got %g",
                          given[i].name, given[i].x);
  if (!(g->grad + g->grad_sample > 0))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "goodput: grad and grad_sample are both 0: expected a time above 0");
  if (!(g->overlap >= 1) || g->overlap > 10)
    return berth_i_fail(ctx, BERTH_EINVAL, "goodput: overlap: expected 1 to 10, got %g",
                        g->overlap);
  if (!(g->noise >= 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "goodput: noise: expected a number not below 0, got %g",
                        g->noise);
  if (!(g->batch > 0) || isinf(g->batch))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "goodput: batch: expected a finite number above 0, got %g", g->batch);
  if (!(g->most_batch >= g->batch))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "goodput: most_batch: expected at least the batch, %g, got %g", g->batch,
                        g->most_batch);
  if (!(g->most_per_gpu > 0))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "goodput: most_per_gpu: expected a number above 0, got %g",
                        g->most_per_gpu);
  if (isinf(g->most_batch) && isinf(g->most_per_gpu) && isinf(g->noise))
    return berth_i_fail(
        ctx, BERTH_EINVAL,
        "goodput: most_batch, most_per_gpu and noise are all infinite: expected a limit");
  if (machines < 1 || gpus < machines)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "goodput: %d GPUs on %d machines: expected at least one on each", (int)gpus,
                        (int)machines);
  return BERTH_OK;
}

/* Where there is no limit the maximum is: goodput falls from where efficiency falls faster than
 * time per sample does. */
static double upper_end(const berth_goodput *g, int32_t gpus, int32_t machines) {
  double high = fmin(g->most_batch, g->most_per_gpu * gpus), top = g->batch;
  if (isfinite(high)) return high;
  while (at(g, gpus, machines, 2 * top) > at(g, gpus, machines, top) && top < 1e15) top *= 2;
  return 2 * top;
}

berth_status berth_goodput_best(berth_ctx *ctx, const berth_goodput *g, int32_t gpus,
                                int32_t machines, double *batch, double *out) {
  if (!ctx) return BERTH_EINVAL;
  static const double golden = 0.6180339887498949;
  berth_status st = check(ctx, g, gpus, machines);
  double low = g->batch;
  if (st != BERTH_OK) return st;
  double high = upper_end(g, gpus, machines);
  if (low > high) {
    if (batch) *batch = 0;
    *out = 0;
    return BERTH_OK;
  }
  double x, y;
  for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
    x = high - golden * (high - low);
    y = low + golden * (high - low);
    if (at(g, gpus, machines, x) < at(g, gpus, machines, y)) low = x;
    else high = y;
  }
  x = (low + high) / 2;
  y = fmin(g->most_batch, g->most_per_gpu * gpus); /* the ends themselves */
  if (at(g, gpus, machines, g->batch) >= at(g, gpus, machines, x)) x = g->batch;
  if (isfinite(y) && at(g, gpus, machines, y) > at(g, gpus, machines, x)) x = y;
  if (batch) *batch = x;
  *out = at(g, gpus, machines, x);
  return BERTH_OK;
}
