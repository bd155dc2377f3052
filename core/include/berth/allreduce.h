/* TAG's model of AllReduce times. */
#ifndef BERTH_ALLREDUCE_H
#define BERTH_ALLREDUCE_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The four numbers of BERTH_COLLECTIVE_LINES as TAG scales them: fitted at 2810 MB/s, times 2810 MB/s / bandwidth.
 *
 * @param bandwidth bytes/s of the slowest pair of the devices
 * @param lines     [4] out: c1, c0, d1, d0; us per KiB, us
 * @return BERTH_OK, BERTH_EINVAL (bandwidth not above 0, or infinite)
 * Source: the published code of Zhang and others, "Expediting Distributed DNN Training with Device Topology-Aware Graph
 * Deployment", 2023. Latency shrinks with bandwidth, and the number of devices plays no part, as there.
 */
berth_status berth_tag_lines(berth_ctx *ctx, double bandwidth, double *lines);

#ifdef __cplusplus
}
#endif
#endif
