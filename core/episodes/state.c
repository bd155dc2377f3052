/* One episode: what is assigned, who is a candidate, when ops are estimated to run. */
#include "episodes_internal.h"

double berth_i_earliest(const berth_assign *a, const berth_i_episode *s, int32_t op,
                        int32_t device) {
  double at = berth_i_is_communication(a->cost->g, op) ? 0 : s->free_at[device];
  for (int32_t k = a->before.at[op]; k < a->before.at[op + 1]; k++) {
    int32_t u = a->before.op[k];
    for (int32_t i = a->before.tensor_at[k]; i < a->before.tensor_at[k + 1]; i++) {
      double there =
          s->end[u] + berth_i_transfer_time(a->cost, a->before.tensor[i], s->device[u], device);
      if (there > at) at = there;
    }
  }
  return at;
}

static void estimate(const berth_assign *a, berth_i_episode *s, int32_t op, int32_t d) {
  s->start[op] =
      a->o.estimates == BERTH_ESTIMATES_LOAD ? s->placed[d] : berth_i_earliest(a, s, op, d);
  s->end[op] = s->start[op] + berth_i_op_time(a->cost, op, d);
  s->placed[d] += berth_i_busy(a, op, d);
  s->reserved[d]--;
  if (!berth_i_is_communication(a->cost->g, op)) s->free_at[d] = s->end[op];
}

static void add_ready(berth_i_episode *s, int32_t op) {
  int32_t i = s->n_ready++;
  for (; i > 0 && s->ready[i - 1] > op; i--) s->ready[i] = s->ready[i - 1];
  s->ready[i] = op;
}

static void become_candidate(const berth_assign *a, berth_i_episode *s, int32_t op) {
  s->since[op] = s->stamps++;
  if (s->unit_device[a->unit[op]] == BERTH_NONE) add_ready(s, op);
  else s->due[s->n_due++] = op;
}

/* Every op is due at most once in an episode: the queue never wraps. */
static void put_all_due(const berth_assign *a, berth_i_episode *s) {
  while (s->at_due < s->n_due) {
    int32_t op = s->due[s->at_due++], d = s->unit_device[a->unit[op]];
    estimate(a, s, op, d);
    s->device[op] = d;
    for (int32_t k = a->after.at[op]; k < a->after.at[op + 1]; k++) {
      if (--s->open[a->after.op[k]] == 0) become_candidate(a, s, a->after.op[k]);
    }
  }
}

/* Candidates of a unit whose device is known now: `first` ahead of the others. */
static void ready_to_due(const berth_assign *a, berth_i_episode *s, int32_t first) {
  int32_t n = 0;
  s->due[s->n_due++] = first;
  for (int32_t i = 0; i < s->n_ready; i++) {
    int32_t op = s->ready[i];
    if (a->unit[op] != a->unit[first]) s->ready[n++] = op;
    else if (op != first) s->due[s->n_due++] = op;
  }
  s->n_ready = n;
}

static void fix(const berth_assign *a, berth_i_episode *s, int32_t unit, int32_t device) {
  s->unit_device[unit] = device;
  s->load[device] += a->unit_work[(size_t)unit * (size_t)a->n_devices + (size_t)device];
  s->reserved[device] += a->unit_size[unit];
}

void berth_i_episode_put(const berth_assign *a, berth_i_episode *s, int32_t op, int32_t device) {
  fix(a, s, a->unit[op], device);
  ready_to_due(a, s, op);
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
