/* Features of each device for one candidate op, and the choices of DOPPLER's teacher (the
 * critical-path rule). Layout: [episodes][devices][width]. O(devices + inputs) an op; with partners
 * O(inputs of all consumers). Source: Yao et al., "DOPPLER", 2026, sec. 4.3. */
#include "episodes_internal.h"

enum { LOAD, PRODUCERS, FIRST_START, LAST_END, EARLIEST, PARTNERS };

static void of_producers(const berth_assign *a, const berth_i_episode *s, int32_t op, double *out) {
  for (int32_t k = a->before.at[op]; k < a->before.at[op + 1]; k++) {
    int32_t u = a->before.op[k], d = s->device[u];
    double *f = out + (size_t)d * (size_t)a->width;
    if (f[FIRST_START] < 0 || s->start[u] < f[FIRST_START]) f[FIRST_START] = s->start[u];
    if (s->end[u] > f[LAST_END]) f[LAST_END] = s->end[u];
    f[PRODUCERS] += berth_i_op_time(a->cost, u, d);
  }
}

/* Those that a consumer of op also waits for, where they are assigned. */
static void of_partners(const berth_assign *a, const berth_i_episode *s, int32_t op, double *out) {
  for (int32_t k = a->after.at[op]; k < a->after.at[op + 1]; k++) {
    int32_t w = a->after.op[k];
    for (int32_t i = a->before.at[w]; i < a->before.at[w + 1]; i++) {
      int32_t u = a->before.op[i], d = s->device[u];
      if (d != BERTH_NONE)
        out[(size_t)d * (size_t)a->width + PARTNERS] += berth_i_op_time(a->cost, u, d);
    }
  }
}

/* Earliest start there, after the work that is reserved: the device will be busy with it. Reserved
 * is what units have left, the difference is exact where they have none: no rounding breaks
 * ties. */
static double earliest(const berth_assign *a, const berth_i_episode *s, int32_t op, int32_t d) {
  if (!berth_i_may(a, op, d)) return INFINITY;
  double at = berth_i_earliest(a, s, op, d);
  if (s->reserved[d] == 0 || berth_i_is_communication(a->cost->g, op)) return at;
  return at + fmax(s->load[d] - s->placed[d], 0);
}

/* Source: DOPPLER, 4.3. */
static void fill(const berth_assign *a, const berth_i_episode *s, int32_t op, double *out) {
  for (int32_t d = 0; d < a->n_devices; d++) {
    double *f = out + (size_t)d * (size_t)a->width;
    f[LOAD] = s->load[d];
    f[PRODUCERS] = f[LAST_END] = 0;
    if (a->o.partners) f[PARTNERS] = 0;
    f[FIRST_START] = -1; /* none */
  }
  of_producers(a, s, op, out);
  if (a->o.partners) of_partners(a, s, op, out);
  for (int32_t d = 0; d < a->n_devices; d++) {
    double *f = out + (size_t)d * (size_t)a->width;
    if (f[FIRST_START] < 0) f[FIRST_START] = 0;
    f[EARLIEST] = earliest(a, s, op, d);
  }
}

static bool is_candidate(const berth_i_episode *s, int32_t op) {
  int32_t low = 0, high = s->n_ready;
  while (low < high) {
    int32_t mid = (low + high) / 2;
    if (s->ready[mid] < op) low = mid + 1;
    else high = mid;
  }
  return low < s->n_ready && s->ready[low] == op;
}

berth_status berth_i_episodes_check(const berth_episodes *e, const int32_t *op) {
  if (e->step >= e->a->steps)
    return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: all %d steps are taken", (int)e->a->steps);
  for (int32_t i = 0; i < e->n; i++) {
    if (is_candidate(&e->episode[i], op[i])) continue;
    return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: op %d is no candidate of episode %d",
                        (int)op[i], (int)i);
  }
  return BERTH_OK;
}

berth_status berth_episodes_devices(berth_episodes *e, const int32_t *op, double *out) {
  if (!e) return BERTH_EINVAL;
  berth_status st = berth_i_episodes_check(e, op);
  if (st != BERTH_OK) return st;
  size_t each = (size_t)e->a->n_devices * (size_t)e->a->width;
  for (int32_t i = 0; i < e->n; i++)
    fill(e->a, &e->episode[i], op[i], out + (size_t)i * each);
  memcpy(e->filled_for, op, (size_t)e->n * sizeof *op);
  if (out != e->answer) memcpy(e->answer, out, (size_t)e->n * each * sizeof *out);
  e->devices_filled = true;
  return BERTH_OK;
}

berth_status berth_episodes_allowed(berth_episodes *e, const int32_t *op, uint8_t *out) {
  if (!e) return BERTH_EINVAL;
  berth_status st = berth_i_episodes_check(e, op);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < e->n; i++) {
    berth_i_allowed(e->a, e->episode[i].device, op[i], out + (size_t)i * (size_t)e->a->n_devices);
  }
  return BERTH_OK;
}

/* ---- the teacher ---- */

static double b_level(const berth_assign *a, int32_t op) {
  return a->feature[(size_t)op * BERTH_I_FEATURES + 1];
}

/* Returns how many candidates have the largest b-level; marks them. */
static int32_t mark_highest(const berth_assign *a, const berth_i_episode *s, uint8_t *best) {
  double most = -1;
  int32_t n = 0;
  for (int32_t i = 0; i < s->n_ready; i++) most = fmax(most, b_level(a, s->ready[i]));
  for (int32_t i = 0; i < s->n_ready; i++) n += best[i] = b_level(a, s->ready[i]) == most;
  return n;
}

/* Marks the k candidates that have been so longest. */
static void mark_eldest(const berth_i_episode *s, int32_t k, uint8_t *best) {
  for (int32_t i = 0; i < s->n_ready; i++) best[i] = 0;
  for (; k > 0; k--) {
    int32_t eldest = BERTH_NONE;
    for (int32_t i = 0; i < s->n_ready; i++) {
      if (!best[i] && (eldest == BERTH_NONE || s->since[s->ready[i]] < s->since[s->ready[eldest]]))
        eldest = i;
    }
    best[eldest] = 1;
  }
}

berth_status berth_episodes_teacher_ops(berth_episodes *e, berth_teacher_ties ties, uint8_t *best) {
  if (!e) return BERTH_EINVAL;
  if (e->step >= e->a->steps)
    return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: all %d steps are taken", (int)e->a->steps);
  for (int32_t i = 0; i < e->n; i++) {
    int32_t k = mark_highest(e->a, &e->episode[i], best);
    if (ties == BERTH_TEACHER_CODE) mark_eldest(&e->episode[i], k, best);
    best += e->episode[i].n_ready;
  }
  return BERTH_OK;
}

/* Of those where op may go. Where all that may run op are out of reach, they are equally good. */
static void mark_earliest(const berth_assign *a, const berth_i_episode *s, int32_t op,
                          uint8_t *best) {
  double least = INFINITY;
  berth_i_allowed(a, s->device, op, best);
  for (int32_t d = 0; d < a->n_devices; d++) {
    double at = best[d] ? earliest(a, s, op, d) : INFINITY;
    if (at < least && d > 0) memset(best, 0, (size_t)d);
    best[d] = best[d] && at <= least;
    least = fmin(least, at);
  }
}

berth_status berth_episodes_teacher_devices(berth_episodes *e, const int32_t *op, uint8_t *best) {
  if (!e) return BERTH_EINVAL;
  berth_status st = berth_i_episodes_check(e, op);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < e->n; i++)
    mark_earliest(e->a, &e->episode[i], op[i], best + (size_t)i * (size_t)e->a->n_devices);
  return BERTH_OK;
}
