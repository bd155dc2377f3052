/* Assigning as a sequence of decisions: decisions per CPU second, candidates, devices' features,
 * choices at random and the step. usage: assign SHARED */
#include "bench.h"

enum { EPISODES = 32, DEVICES = 4, BUFFER = 1 << 16 };

typedef struct inputs {
  berth_ctx *ctx;
  berth_bundle bundle;
  berth_topology *topology;
  berth_cost *cost;
  berth_assign *assign;
  berth_episodes *episodes;
} inputs;

static void open_inputs(inputs *in, const char *shared, const char *file) {
  berth_device device = berth_device_default();
  berth_link link = { 1, 0 };
  memset(in, 0, sizeof *in);
  char path[4096];
  snprintf(path, sizeof path, "%s/data/doppler/%s", shared, file);
  if (berth_ctx_new(NULL, &in->ctx) != BERTH_OK) exit(1);
  must(in->ctx, berth_load(in->ctx, path, NULL, &in->bundle), path);
  must(in->ctx, berth_topology_mesh(in->ctx, DEVICES, &device, &link, &in->topology), "mesh");
  must(in->ctx, berth_cost_new(in->bundle.graph, in->topology, NULL, &in->cost), "cost");
  must(in->ctx, berth_assign_new(in->cost, NULL, &in->assign), "assignment");
  must(in->ctx, berth_episodes_new(in->assign, EPISODES, &in->episodes), "episodes");
}

static void close_inputs(inputs *in) {
  berth_episodes_release(in->episodes);
  berth_assign_release(in->assign);
  berth_cost_release(in->cost);
  berth_topology_release(in->topology);
  berth_bundle_release(&in->bundle);
  berth_ctx_release(in->ctx);
}

static uint32_t next(uint32_t *x) { return *x = *x * 1664525u + 1013904223u; }

/* All steps: any candidate, on any device. */
static void random_steps(const inputs *in, uint32_t *random, double *features) {
  int32_t op[EPISODES], device[EPISODES];
  while (berth_episodes_step(in->episodes) < berth_assign_steps(in->assign)) {
    const int32_t *first, *ops;
    berth_episodes_candidates(in->episodes, &first, &ops);
    for (int32_t i = 0; i < EPISODES; i++) {
      op[i] = ops[first[i] + (int32_t)((next(random) >> 16) % (uint32_t)(first[i + 1] - first[i]))];
      device[i] = (int32_t)((next(random) >> 16) % DEVICES);
    }
    must(in->ctx, berth_episodes_devices(in->episodes, op, features), "devices");
    must(in->ctx, berth_episodes_assign(in->episodes, op, device), "assign");
  }
}

/* All steps by the teacher, first of its choices. */
static void led_steps(const inputs *in, double *features) {
  static uint8_t best[BUFFER];
  int32_t op[EPISODES], device[EPISODES];
  while (berth_episodes_step(in->episodes) < berth_assign_steps(in->assign)) {
    const int32_t *first, *ops;
    berth_episodes_candidates(in->episodes, &first, &ops);
    must(in->ctx, berth_episodes_teacher_ops(in->episodes, BERTH_TEACHER_TEXTBOOK, best),
         "teacher");
    for (int32_t i = 0, k; i < EPISODES; i++) {
      for (k = first[i]; !best[k]; k++) {}
      op[i] = ops[k];
    }
    must(in->ctx, berth_episodes_devices(in->episodes, op, features), "devices");
    must(in->ctx, berth_episodes_teacher_devices(in->episodes, op, best), "teacher");
    for (int32_t i = 0; i < EPISODES; i++) {
      for (device[i] = 0; !best[i * DEVICES + device[i]]; device[i]++) {}
    }
    must(in->ctx, berth_episodes_assign(in->episodes, op, device), "assign");
  }
}

static void measure(const char *shared, const char *file, int led) {
  static double features[EPISODES * DEVICES * BERTH_ASSIGN_OP_FEATURES];
  inputs in;
  uint32_t random = 1;
  double decisions = 0, spent = 0;
  open_inputs(&in, shared, file);
  double start = cpu_seconds();
  for (int64_t round = 0; spent < 0.5; round++, spent = cpu_seconds() - start) {
    berth_episodes_start(in.episodes, 1, round * EPISODES);
    if (led) led_steps(&in, features);
    else random_steps(&in, &random, features);
    decisions += (double)EPISODES * berth_assign_steps(in.assign);
  }
  report(led ? "assign.teacher" : "assign.decisions", decisions / spent, "1/s", file, spent);
  close_inputs(&in);
}

int main(int argc, char **argv) {
  static const char *const files[] = { "gdp_chain_mm_112nodes.txt", "8gpu_full_transformer.txt" };
  for (int k = 0; argc > 1 && k < 4; k++) measure(argv[1], files[k / 2], k % 2);
  return argc > 1 ? 0 : 2;
}
