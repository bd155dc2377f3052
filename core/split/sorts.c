/* Devices of both sorts, accelerators and CPUs: which is which, and whether those of one sort are
 * alike. */
#include "split_internal.h"

static berth_status must_be_alike(const berth_cost *c, const int32_t *d, int32_t n) {
  char a[96], b[96];
  for (int32_t i = 1; i < n; i++) {
    if (c->class_of[d[i]] != c->class_of[d[0]])
      return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                          "split: %s and %s take different times for an op: stages need devices "
                          "alike; berth place prices each device",
                          berth_i_device_label(c->t, d[0], a, sizeof a),
                          berth_i_device_label(c->t, d[i], b, sizeof b));
  }
  return BERTH_OK;
}

/* One transfer time per tensor, the same for every pair of devices. O(devices^2), or as much for
 * every tensor with a table */
static berth_status check_transfers(const berth_cost *c) {
  int32_t n = c->n_devices;
  char text[4][96];
  for (int32_t t = 0; n > 1 && t < c->g->n_tensors; t++) {
    double first = berth_i_host_time(c, t);
    for (int64_t i = 0; !c->uniform && i < (int64_t)n * n; i++) {
      int32_t a = (int32_t)(i / n), b = (int32_t)(i % n);
      if (a != b && berth_i_transfer_time(c, t, a, b) != first)
        return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                            "split: tensor %d takes %g s from %s to %s, %g s from %s to %s: links "
                            "of all pairs must be alike; berth place prices each link", (int)t,
                            first, berth_i_device_label(c->t, 0, text[0], sizeof *text),
                            berth_i_device_label(c->t, 1, text[1], sizeof *text),
                            berth_i_transfer_time(c, t, a, b),
                            berth_i_device_label(c->t, a, text[2], sizeof *text),
                            berth_i_device_label(c->t, b, text[3], sizeof *text));
    }
  }
  for (int32_t t = 0; n > 1 && t < c->g->n_tensors; t++)
    if (isinf(berth_i_host_time(c, t)))
      return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED, "split: tensor %d cannot cross", (int)t);
  return BERTH_OK;
}

berth_status berth_i_sorts_make(const berth_cost *c, const char *cpu, berth_i_pool *pool,
                                berth_i_sorts *s) {
  int32_t n = c->n_devices;
  memset(s, 0, sizeof *s);
  if (c->g->n_collectives)
    return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED, "split: the graph has collectives");
  if (berth_i_first_communication(c->g) != BERTH_NONE) {
    return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                        "split: the graph has communication ops, which are no load");
  }
  s->acc = berth_i_pool_alloc(pool, (size_t)n, sizeof *s->acc);
  s->cpu = berth_i_pool_alloc(pool, (size_t)n, sizeof *s->cpu);
  s->is_cpu = berth_i_pool_alloc(pool, (size_t)n, sizeof *s->is_cpu);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  for (int32_t d = 0; d < n; d++) {
    s->is_cpu[d] = strcmp(c->t->devices[d].type, cpu) == 0;
    if (s->is_cpu[d]) s->cpu[s->n_cpu++] = d;
    else s->acc[s->n_acc++] = d;
  }
  s->memory = s->n_acc ? c->t->devices[s->acc[0]].memory : 0;
  if ((st = must_be_alike(c, s->acc, s->n_acc)) != BERTH_OK
      || (st = must_be_alike(c, s->cpu, s->n_cpu)) != BERTH_OK)
    return st;
  for (int32_t i = 1; i < s->n_acc; i++) {
    double memory = c->t->devices[s->acc[i]].memory;
    if (memory != s->memory)
      return berth_i_fail(c->ctx, BERTH_EUNSUPPORTED,
                          "split: accelerators %d and %d have different memories: %g and %g bytes",
                          (int)s->acc[0], (int)s->acc[i], s->memory, memory);
  }
  return check_transfers(c);
}
