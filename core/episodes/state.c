/* One episode of assignment (DOPPLER): devices so far, candidates, and estimated times of ops.
 *
 * Invariant: an op is a candidate once all of its producers are assigned; ready[] holds those whose
 * unit has no device yet, by id; ops of units with a device are assigned at once, through the queue
 * due[], each at most once in an episode, so it never wraps. O(ops + edges) an episode, and the
 * insertions into ready[]. */
#include "episodes_internal.h"

double berth_i_earliest(const berth_assign *a, const berth_i_episode *s, int32_t op,
                        int32_t device) {
  double at = berth_i_is_communication(a->cost->g, op) ? 0 : s->free_at[device];
  for (int32_t k = a->before.at[op]; k < a->before.at[op + 1]; k++) {
    int32_t u = a->before.op[k];
    if (s->end[u] > at) at = s->end[u]; /* of a collective there is no more */
    for (int32_t i = a->before.tensor_at[k]; i < a->before.tensor_at[k + 1]; i++) {
      double there =
          s->end[u] + berth_i_transfer_time(a->cost, a->before.tensor[i], s->device[u], device);
      if (there > at) at = there;
    }
  }
  return at;
}

static void become_candidate(const berth_assign *a, berth_i_episode *s, int32_t op) {
  s->since[op] = s->stamps++;
  if (s->unit_device[a->unit[op]] != BERTH_NONE) {
    s->due[s->n_due++] = op;
    return;
  }
  int32_t i = s->n_ready++;
  for (; i > 0 && s->ready[i - 1] > op; i--) s->ready[i] = s->ready[i - 1];
  s->ready[i] = op;
}

static void put_all_due(const berth_assign *a, berth_i_episode *s) {
  while (s->at_due < s->n_due) {
    int32_t op = s->due[s->at_due++], d = s->unit_device[a->unit[op]];
    s->start[op] =
        a->o.estimates == BERTH_ESTIMATES_LOAD ? s->placed[d] : berth_i_earliest(a, s, op, d);
    s->end[op] = s->start[op] + berth_i_op_time(a->cost, op, d);
    s->placed[d] += berth_i_busy(a, op, d);
    s->reserved[d]--;
    if (!berth_i_is_communication(a->cost->g, op)) s->free_at[d] = s->end[op];
    s->device[op] = d;
    for (int32_t k = a->after.at[op]; k < a->after.at[op + 1]; k++) {
      if (--s->open[a->after.op[k]] == 0) become_candidate(a, s, a->after.op[k]);
    }
  }
}

static void fix(const berth_assign *a, berth_i_episode *s, int32_t unit, int32_t device) {
  s->unit_device[unit] = device;
  s->load[device] += a->unit_work[(size_t)unit * (size_t)a->n_devices + (size_t)device];
  s->reserved[device] += a->unit_size[unit];
}

void berth_i_episode_put(const berth_assign *a, berth_i_episode *s, int32_t op, int32_t device) {
  int32_t n = 0;
  fix(a, s, a->unit[op], device);
  /* candidates of its unit are due now, op ahead of the others */
  s->due[s->n_due++] = op;
  for (int32_t i = 0; i < s->n_ready; i++) {
    int32_t other = s->ready[i];
    if (a->unit[other] != a->unit[op]) s->ready[n++] = other;
    else if (other != op) s->due[s->n_due++] = other;
  }
  s->n_ready = n;
  put_all_due(a, s);
}

void berth_i_episode_start(const berth_assign *a, berth_i_episode *s) {
  for (int32_t i = 0; i < a->n_devices; i++)
    s->load[i] = s->placed[i] = s->free_at[i] = s->reserved[i] = 0;
  for (int32_t i = 0; i < a->n_units; i++) {
    s->unit_device[i] = BERTH_NONE;
    if (a->fixed[i] != BERTH_NONE) fix(a, s, i, a->fixed[i]);
  }
  s->n_ready = s->n_due = s->at_due = 0;
  s->stamps = 0;
  for (int32_t i = 0; i < a->n; i++) {
    s->device[i] = BERTH_NONE;
    s->open[i] = a->before.at[i + 1] - a->before.at[i];
  }
  for (int32_t i = 0; i < a->n; i++) {
    if (s->open[i] == 0) become_candidate(a, s, i);
  }
  put_all_due(a, s);
}
