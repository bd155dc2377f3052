/* Op groups in the order of the graph, packed onto single devices so that memory holds: the chain.
 * Devices are filled one after another in three orders (as numbered, by memory, by speed), each
 * until its memory, also its share of the time, or the least share of memory that is enough for all
 * is used up. What a group holds is taken as
 * fixed + factor * moving; the factor is corrected by what the simulation finds on its device, for
 * ROUNDS rounds. O(groups devices) a round, besides the simulation. */
#include "deploy/values_internal.h"
#include "base/sort_internal.h"

typedef struct chain {
  berth_deploy *d;
  int32_t *order;                        /* [n_groups] */
  double *fixed, *moving, *factor;       /* [n_groups] bytes; bytes; ratio */
  int32_t *single;                       /* [n_devices] action; BERTH_NONE */
  int32_t *device, n;                    /* [n] in the order in which they are filled */
  int32_t *on;                           /* [n_groups] device */
  int32_t *action, *best;                /* [n_groups] */
  double *peak, *sum_fixed, *sum_moving; /* [n_devices] */
  berth_deploy_value value;              /* of best */
  bool any;
} chain;

static const double FULL = 0.98; /* of the memory */
enum { ROUNDS = 5, HALVINGS = 30 };

/** Until when a device is filled. */
typedef enum filling { BY_MEMORY, BY_TIME, BALANCED } filling;

/* Mean positions of the forward ops of each group; a group without any is where its backward ops
 * are, mirrored. @param count [n_groups] scratch, zeros */
static void find_places(const berth_deploy *d, double *place, double *count) {
  int32_t forward = 0;
  for (int32_t i = 0; i < d->n_ops; i++) forward += berth_i_deploy_is_forward(d, i);
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t op = d->g->topo[i], g = d->group[op];
    if (!berth_i_deploy_is_forward(d, op)) continue;
    place[g] += i;
    count[g]++;
  }
  for (int32_t g = 0; g < d->n_groups; g++) {
    double sum = 0;
    if (count[g] > 0) {
      place[g] /= count[g];
      continue;
    }
    for (int32_t i = 0; i < d->n_ops; i++)
      sum += d->group[d->g->topo[i]] == g ? d->n_ops - 1 - i : 0;
    place[g] =
        sum / berth_i_group_size(d, g) * forward / (d->n_ops > forward ? d->n_ops - forward : 1);
  }
}

/* ids by key, then id */
static void sort_ids(berth_i_keyed *list, int32_t n, int32_t *out) {
  berth_i_sort_keyed(list, n);
  for (int32_t i = 0; i < n; i++) out[i] = list[i].id;
}

/* ---- packing ---- */

/* @param share of its memory with which a device is full
 * @param by_time or with its share of the time
 * @param over out: the last device holds more
 * @return false: some group can go nowhere */
static bool fill(chain *x, double share, bool by_time, bool *over) {
  const berth_deploy *d = x->d;
  *over = false;
  double held = 0, time = 0, all = 0, speeds = 0;
  int32_t at = 0;
  for (int32_t i = 0; i < d->n_groups; i++) all += d->group_seconds[i];
  for (int32_t i = 0; i < x->n; i++) speeds += d->speed[x->device[i]];
  for (int32_t i = 0; i < d->n_groups; i++) {
    int32_t g = x->order[i];
    double bytes = x->fixed[g] + x->factor[g] * x->moving[g];
    bool full = held + bytes > share * berth_i_memory_of(d, x->device[at])
                || (by_time && time >= all * d->speed[x->device[at]] / speeds);
    if (held + time > 0 && at + 1 < x->n && full) {
      at++;
      held = time = 0;
    }
    /* The present device, or, for a group that cannot be there, the first that can. */
    int32_t k = at;
    if (!berth_i_is_legal(d, g, x->single[x->device[k]]))
      for (k = 0; k < x->n && !berth_i_is_legal(d, g, x->single[x->device[k]]);) k++;
    if (k == x->n) return false;
    x->on[g] = x->device[k];
    x->action[g] = x->single[x->on[g]];
    held += bytes;
    time += d->group_seconds[g];
    *over |= held > share * berth_i_memory_of(d, x->device[at]);
  }
  return true;
}

/* BALANCED: the least share of memory with which no device holds more, by bisection; above 1 where
 * the chain does not fit. */
static bool pack(chain *x, filling how) {
  bool over;
  double low = 0, high = FULL;
  if (!fill(x, high, how == BY_TIME, &over)) return false;
  if (how != BALANCED) return true;
  for (int k = 0; k < HALVINGS && over; k++) {
    low = high;
    high *= 2;
    fill(x, high, false, &over);
  }
  for (int k = 0; k < HALVINGS; k++) {
    const double share = (low + high) / 2;
    fill(x, share, false, &over);
    if (over) low = share;
    else high = share;
  }
  return fill(x, high, false, &over);
}

static berth_status try_packing(chain *x, filling how) {
  const berth_deploy *d = x->d;
  for (int32_t g = 0; g < d->n_groups; g++) x->factor[g] = 1;
  for (int32_t round = 0; round < ROUNDS && pack(x, how); round++) {
    berth_deploy_value value;
    berth_status st = berth_deploy_evaluate(x->d, x->action, NULL, x->peak, &value);
    if (st != BERTH_OK) return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
    if (!x->any || berth_i_value_better(&value, &x->value)) {
      x->any = true;
      x->value = value;
      memcpy(x->best, x->action, (size_t)d->n_groups * sizeof *x->action);
    }
    /* Factors by which the peaks of the devices would be as simulated. */
    for (int32_t k = 0; k < d->n_devices; k++) x->sum_fixed[k] = x->sum_moving[k] = 0;
    for (int32_t g = 0; g < d->n_groups; g++) {
      x->sum_fixed[x->on[g]] += x->fixed[g];
      x->sum_moving[x->on[g]] += x->moving[g];
    }
    for (int32_t g = 0; g < d->n_groups; g++) {
      int32_t k = x->on[g];
      if (x->sum_moving[k] > 0)
        x->factor[g] = fmax(0, x->peak[k] - x->sum_fixed[k]) / x->sum_moving[k];
    }
  }
  return BERTH_OK;
}

/* ---- the call ---- */

/* Keys of the three orders of devices. */
static double key_of(const berth_deploy *d, int32_t order, int32_t device) {
  return order == 0 ? device : order == 1 ? -berth_i_memory_of(d, device) : -d->speed[device];
}

berth_status berth_i_chain(berth_deploy *d, int32_t *action, bool *found) {
  size_t g = (size_t)d->n_groups, m = (size_t)d->n_devices;
  berth_i_pool pool = berth_i_pool_empty(d->ctx);
  double *place = berth_i_pool_zalloc(&pool, g, sizeof *place);
  berth_i_keyed *list = berth_i_pool_alloc(&pool, g > m ? g : m, sizeof *list);
  chain x = { .d = d };
  x.fixed = berth_i_pool_zalloc(&pool, g, sizeof *x.fixed);
  x.moving = berth_i_pool_zalloc(&pool, g, sizeof *x.moving);
  x.factor = berth_i_pool_zalloc(&pool, g, sizeof *x.factor);
  x.peak = berth_i_pool_zalloc(&pool, m, sizeof *x.peak);
  x.sum_fixed = berth_i_pool_zalloc(&pool, m, sizeof *x.sum_fixed);
  x.sum_moving = berth_i_pool_zalloc(&pool, m, sizeof *x.sum_moving);
  x.order = berth_i_pool_zalloc(&pool, g, sizeof *x.order);
  x.on = berth_i_pool_zalloc(&pool, g, sizeof *x.on);
  x.action = berth_i_pool_zalloc(&pool, g, sizeof *x.action);
  x.best = berth_i_pool_zalloc(&pool, g, sizeof *x.best);
  x.single = berth_i_pool_zalloc(&pool, m, sizeof *x.single);
  x.device = berth_i_pool_zalloc(&pool, m, sizeof *x.device);
  berth_status st = berth_i_pool_status(&pool);
  berth_i_values *v;
  if (st != BERTH_OK || (st = berth_i_values_of(d, &v)) != BERTH_OK) goto done;
  /* 1. The order of groups. */
  find_places(d, place, x.factor);
  for (int32_t i = 0; i < d->n_groups; i++) list[i] = (berth_i_keyed){ place[i], i };
  sort_ids(list, d->n_groups, x.order);
  /* 2. What they hold. */
  for (int32_t k = 0; k < d->n_groups; k++) x.fixed[k] = v->params[k] * d->sim.param_multiple;
  for (int32_t t = 0; t < d->g->n_tensors; t++)
    if (berth_i_deploy_is_forward(d, d->g->producer[t]))
      x.moving[d->group[d->g->producer[t]]] += berth_i_resident(d->g, t);
  /* 3. The first action that puts a group on each single device. */
  for (int32_t k = 0; k < d->n_devices; k++) x.single[k] = BERTH_NONE;
  for (int32_t a = d->n_actions - 1; a >= 0; a--) {
    int32_t at = berth_i_action_place(d, a);
    if (berth_i_place_size(d, at) == 1) x.single[berth_i_place_devices(d, at)[0]] = a;
  }
  /* 4. Orders of devices, each filled in the three ways. */
  for (int32_t order = 0; order < 3 && st == BERTH_OK; order++) {
    x.n = 0;
    for (int32_t k = 0; k < d->n_devices; k++)
      if (x.single[k] != BERTH_NONE) list[x.n++] = (berth_i_keyed){ key_of(d, order, k), k };
    if (x.n == 0) break;
    sort_ids(list, x.n, x.device);
    for (int how = BY_MEMORY; how <= BALANCED && st == BERTH_OK; how++)
      st = try_packing(&x, (filling)how);
  }
  if (st == BERTH_OK && x.any) memcpy(action, x.best, g * sizeof *action);
done:
  *found = st == BERTH_OK && x.any;
  berth_i_pool_free(&pool);
  return st;
}
