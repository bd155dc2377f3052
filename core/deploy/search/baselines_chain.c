/* Op groups in the order of the graph, packed onto single devices so that memory holds. */
#include "deploy/values_internal.h"
#include "base/sort_internal.h"

/* What a group holds is taken as fixed + factor * moving; the factor is corrected by what the
 * simulation finds on its device. */
typedef struct chain {
  berth_deploy *d;
  int32_t *order;                        /* [n_groups] */
  double *place;                         /* [n_groups] mean position of its forward ops */
  double *fixed, *moving, *factor;       /* [n_groups] bytes; bytes; ratio */
  int32_t *single;                       /* [n_devices] action; BERTH_NONE */
  int32_t *device;                       /* [n_devices] in the order in which they are filled */
  int32_t n;                             /* of them */
  int32_t *on;                           /* [n_groups] device */
  int32_t *action, *best;                /* [n_groups] */
  double *peak, *sum_fixed, *sum_moving; /* [n_devices] */
  berth_deploy_value value;              /* of best */
  bool any;
} chain;

static const double FULL = 0.98; /* of the memory */
enum { ROUNDS = 5 };

/* ---- the order of groups ---- */

static bool is_forward(const berth_deploy *d, int32_t op) {
  return !(berth_i_flags(d->g, op) & (BERTH_OP_BACKWARD | BERTH_OP_UPDATE))
         && d->update_number[op] == BERTH_NONE;
}

/* A backward op stands where its forward op is, more or less. */
static void find_places(chain *x, double *count) {
  const berth_deploy *d = x->d;
  int32_t forward = 0;
  for (int32_t i = 0; i < d->n_ops; i++) forward += is_forward(d, i);
  int32_t g;
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t op = d->g->topo[i];
    bool counts = is_forward(d, op);
    g = d->group[op];
    if (!counts) continue;
    x->place[g] += i;
    count[g]++;
  }
  for (g = 0; g < d->n_groups; g++) {
    double sum = 0;
    if (count[g] > 0) {
      x->place[g] /= count[g];
      continue;
    }
    for (int32_t i = 0; i < d->n_ops; i++)
      sum += d->group[d->g->topo[i]] == g ? d->n_ops - 1 - i : 0;
    x->place[g] =
        sum / berth_i_group_size(d, g) * forward / (d->n_ops > forward ? d->n_ops - forward : 1);
  }
}

/* ids 0..n-1 by key, then id. list: [n] scratch */
static void sort_ids(berth_i_keyed *list, int32_t n, int32_t *out) {
  berth_i_sort_keyed(list, n);
  for (int32_t i = 0; i < n; i++) out[i] = list[i].id;
}

/* ---- packing ---- */

static bool may_go(const chain *x, int32_t group, int32_t device) {
  return berth_i_is_legal(x->d, group, x->single[device]);
}

/* The present device, or, for a group that cannot be there, the first that can. */
static int32_t device_for(const chain *x, int32_t group, int32_t at) {
  if (may_go(x, group, x->device[at])) return x->device[at];
  for (int32_t k = 0; k < x->n; k++)
    if (may_go(x, group, x->device[k])) return x->device[k];
  return BERTH_NONE;
}

static double time_share(const chain *x, int32_t at) {
  double all = 0, speeds = 0;
  for (int32_t i = 0; i < x->d->n_groups; i++) all += x->d->group_seconds[i];
  for (int32_t i = 0; i < x->n; i++) speeds += x->d->speed[x->device[i]];
  return all * x->d->speed[x->device[at]] / speeds;
}

/* by_time: a device is also full when it has its share of the time. @return false: some group can
 * go nowhere */
static bool pack(chain *x, bool by_time) {
  double held = 0, time = 0;
  int32_t at = 0;
  for (int32_t i = 0; i < x->d->n_groups; i++) {
    int32_t g = x->order[i];
    double bytes = x->fixed[g] + x->factor[g] * x->moving[g];
    bool full = held + bytes > FULL * berth_i_memory_of(x->d, x->device[at]);
    if (held + time > 0 && at + 1 < x->n && (full || (by_time && time >= time_share(x, at)))) {
      at++;
      held = time = 0;
    }
    if ((x->on[g] = device_for(x, g, at)) == BERTH_NONE) return false;
    x->action[g] = x->single[x->on[g]];
    held += bytes;
    time += x->d->group_seconds[g];
  }
  return true;
}

static berth_status try_packing(chain *x, bool by_time) {
  size_t bytes = (size_t)x->d->n_groups * sizeof *x->action;
  for (int32_t g = 0; g < x->d->n_groups; g++) x->factor[g] = 1;
  berth_deploy_value value;
  for (int32_t round = 0; round < ROUNDS && pack(x, by_time); round++) {
    berth_status st = berth_deploy_evaluate(x->d, x->action, NULL, x->peak, &value);
    if (st != BERTH_OK) return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
    if (!x->any || berth_i_value_better(&value, &x->value)) {
      x->any = true;
      x->value = value;
      memcpy(x->best, x->action, bytes);
    }
    const berth_deploy *d = x->d;
    int32_t k;
    for (k = 0; k < d->n_devices; k++) x->sum_fixed[k] = x->sum_moving[k] = 0;
    for (int32_t g = 0; g < d->n_groups; g++) {
      x->sum_fixed[x->on[g]] += x->fixed[g];
      x->sum_moving[x->on[g]] += x->moving[g];
    }
    for (int32_t g = 0; g < d->n_groups; g++) {
      k = x->on[g];
      if (x->sum_moving[k] > 0)
        x->factor[g] = fmax(0, x->peak[k] - x->sum_fixed[k]) / x->sum_moving[k];
    }
  }
  return BERTH_OK;
}

/* ---- orders of devices ---- */

typedef double (*device_key)(const berth_deploy *d, int32_t device);
static double as_numbered(const berth_deploy *d, int32_t device) { return (void)d, device; }
static double by_memory(const berth_deploy *d, int32_t device) {
  return -berth_i_memory_of(d, device);
}
static double by_speed(const berth_deploy *d, int32_t device) { return -d->speed[device]; }

static void order_devices(chain *x, device_key key, berth_i_keyed *list) {
  x->n = 0;
  for (int32_t k = 0; k < x->d->n_devices; k++) {
    if (x->single[k] != BERTH_NONE) list[x->n++] = (berth_i_keyed){ key(x->d, k), k };
  }
  sort_ids(list, x->n, x->device);
}

static berth_status try_all(chain *x, berth_i_keyed *list) {
  static const device_key keys[] = { as_numbered, by_memory, by_speed };
  berth_status st = BERTH_OK;
  /* The first action that puts a group on each single device. */
  const berth_deploy *d = x->d;
  for (int32_t k = 0; k < d->n_devices; k++) x->single[k] = BERTH_NONE;
  for (int32_t a = d->n_actions - 1; a >= 0; a--) {
    int32_t place = berth_i_action_place(d, a);
    if (berth_i_place_size(d, place) == 1) x->single[berth_i_place_devices(d, place)[0]] = a;
  }
  for (size_t k = 0; k < sizeof keys / sizeof *keys && st == BERTH_OK; k++) {
    order_devices(x, keys[k], list);
    if (x->n == 0) return BERTH_OK;
    st = try_packing(x, false);
    if (st == BERTH_OK) st = try_packing(x, true);
  }
  return st;
}

/* ---- the call ---- */

static berth_status run(chain *x, double *numbers, int32_t *ids, berth_i_keyed *list) {
  size_t g = (size_t)x->d->n_groups, m = (size_t)x->d->n_devices;
  berth_i_values *v;
  berth_status st = berth_i_values_of(x->d, &v);
  if (st != BERTH_OK) return st;
  x->place = numbers;
  x->fixed = numbers + g;
  x->moving = numbers + 2 * g;
  x->factor = numbers + 3 * g;
  x->peak = numbers + 4 * g;
  x->sum_fixed = x->peak + m;
  x->sum_moving = x->peak + 2 * m;
  x->order = ids;
  x->on = ids + g;
  x->action = ids + 2 * g;
  x->best = ids + 3 * g;
  x->single = ids + 4 * g;
  x->device = x->single + m;
  find_places(x, x->factor);
  for (int32_t i = 0; i < x->d->n_groups; i++) list[i] = (berth_i_keyed){ x->place[i], i };
  sort_ids(list, x->d->n_groups, x->order);
  const berth_deploy *d = x->d;
  for (int32_t k = 0; k < d->n_groups; k++)
    x->fixed[k] = d->values->params[k] * d->sim.param_multiple;
  for (int32_t t = 0; t < d->g->n_tensors; t++)
    if (is_forward(d, d->g->producer[t]))
      x->moving[d->group[d->g->producer[t]]] += berth_i_resident(d->g, t);
  return try_all(x, list);
}

berth_status berth_i_chain(berth_deploy *d, int32_t *action, bool *found) {
  size_t g = (size_t)d->n_groups, m = (size_t)d->n_devices, n = 4 * g + 3 * m, i = 4 * g + 2 * m;
  berth_i_pool scratch = berth_i_pool_empty(d->ctx);
  double *numbers = berth_i_pool_zalloc(&scratch, n, sizeof *numbers);
  int32_t *ids = berth_i_pool_zalloc(&scratch, i, sizeof *ids);
  berth_i_keyed *list = berth_i_pool_alloc(&scratch, g + m, sizeof *list);
  berth_status st = berth_i_pool_status(&scratch);
  chain x;
  memset(&x, 0, sizeof x);
  x.d = d;
  if (st == BERTH_OK) st = run(&x, numbers, ids, list);
  if (st == BERTH_OK && x.any) memcpy(action, x.best, g * sizeof *action);
  *found = st == BERTH_OK && x.any;
  berth_i_pool_free(&scratch);
  return st;
}
