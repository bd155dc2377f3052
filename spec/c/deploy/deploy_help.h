/* Devices and problems for the tests of compiled graphs. */
#ifndef BERTH_DEPLOY_HELP_H
#define BERTH_DEPLOY_HELP_H

#include "deploy/compile/compiled_internal.h"
#include "deploy_build.h"
#include "refusals.h"

enum { MOST_LAYERS = 10 };

/* Device k is in machine k / 2; speeds 1 or those given; `rate` of memory bandwidth. */
static berth_topology *devices(int32_t n, const double *speed, double rate) {
  berth_device d[MOST_DEVICES];
  for (int32_t k = 0; k < n; k++) {
    d[k] = berth_device_default();
    d[k].speed = speed ? speed[k] : 1;
    d[k].machine = k / 2;
    d[k].memory_bandwidth = rate;
  }
  return star_of(n, d, (berth_link){ 10, 0.5 });
}

static berth_deploy *problem(berth_graph *g, berth_topology *t, const berth_deploy_options *o) {
  berth_cost *cost = NULL;
  berth_deploy *d = NULL;
  berth_status st = g && t ? berth_cost_new(g, t, NULL, &cost) : BERTH_ENOMEM;
  TRY(st, berth_deploy_new(cost, NULL, o, &d));
  if (st != BERTH_OK && st != BERTH_ENOMEM) printf("# %s\n", berth_errmsg(g->ctx));
  CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
  RELEASE(cost, g, t);
  return OWNED(d);
}

#endif
