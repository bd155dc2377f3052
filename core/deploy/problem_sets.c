/* Device groups (devices that are alike, by machine), candidate sets and the places: first the
 * sets, then every device alone. With few groups every union of them is a set; with many, the
 * likely ones: a group, a type, a machine, all, and each device. */
#include "deploy_internal.h"

enum { MOST_UNITED = 6 }; /* device groups of which every union is a candidate */

typedef struct sets {
  berth_deploy *d;
  berth_status st; /* after a refusal nothing more is added */
  size_t cap_at, cap_device;
  uint8_t *in;     /* [n_devices] the present set */
} sets;

/* ---- device groups ---- */

static bool alike(const berth_deploy *d, int32_t a, int32_t b) {
  const berth_device *x = &d->t->devices[a], *y = &d->t->devices[b];
  return x->machine == y->machine && d->t->type[a] == d->t->type[b] && x->speed == y->speed
         && x->flops == y->flops && x->memory == y->memory
         && x->memory_bandwidth == y->memory_bandwidth && x->overhead == y->overhead;
}

static berth_status find_groups(berth_deploy *d, const int32_t *given) {
  for (int32_t a = 0; a < d->n_devices; a++) {
    if (given && given[a] < 0)
      return berth_i_fail(d->ctx, BERTH_EINVAL, "device_group[%ld] is %ld: from 0", (long)a,
                          (long)given[a]);
    int32_t b;
    for (b = 0; b < a && !(given ? given[a] == given[b] : alike(d, a, b)); b++) continue;
    d->device_group[a] = b < a ? d->device_group[b] : d->n_device_groups++;
  }
  return BERTH_OK;
}

/* ---- sets ---- */

/* The marked devices, in the order of their ids, or as listed, become a place. */
static void add_place(sets *s, int32_t size, const int32_t *listed) {
  berth_deploy *d = s->d;
  int32_t n = d->n_places > 0 ? d->place_at[d->n_places] : 0;
  if (s->st == BERTH_OK)
    s->st = BERTH_I_POOL_GROW(&d->pool, d->place_at, s->cap_at, (size_t)d->n_places + 2);
  if (s->st == BERTH_OK)
    s->st = BERTH_I_POOL_GROW(&d->pool, d->place_device, s->cap_device, (size_t)n + (size_t)size);
  if (s->st != BERTH_OK) return;
  if (d->n_places == 0) d->place_at[0] = 0;
  if (listed) memcpy(d->place_device + n, listed, (size_t)size * sizeof *listed);
  for (int32_t device = 0, k = n; !listed && device < d->n_devices; device++)
    if (s->in[device]) d->place_device[k++] = device;
  d->place_at[++d->n_places] = n + size;
}

/* The marked devices as a set, unless they are one already. */
static void add_marked(sets *s) {
  const berth_deploy *d = s->d;
  int32_t size = 0;
  for (int32_t device = 0; device < d->n_devices; device++) size += s->in[device];
  for (int32_t place = 0; place < d->n_places; place++) {
    int32_t k = 0, n = berth_i_place_size(d, place);
    while (k < n && s->in[berth_i_place_devices(d, place)[k]]) k++;
    if (k == size && n == size) return;
  }
  add_place(s, size, NULL);
}

/* Whether a likely set has b with a: of a device group, a type, a machine, all. */
static bool together(const berth_deploy *d, int way, int32_t a, int32_t b) {
  switch (way) {
  case 0: return d->device_group[a] == d->device_group[b];
  case 1: return d->t->type[a] == d->t->type[b];
  case 2: return d->t->devices[a].machine == d->t->devices[b].machine;
  case 3: return true;
  default: return a == b;
  }
}

static berth_status bad_device(const berth_deploy *d, int32_t set, int32_t device,
                               const char *what) {
  return berth_i_fail(d->ctx, BERTH_EINVAL, "device set %ld has device %ld%s", (long)set,
                      (long)device, what);
}

static berth_status add_given(sets *s, const berth_deploy_options *o, int32_t set) {
  berth_deploy *d = s->d;
  if (o->set_at[set + 1] <= o->set_at[set] || o->set_at[0] != 0)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "device set %ld has no devices", (long)set);
  memset(s->in, 0, (size_t)d->n_devices);
  for (int32_t i = o->set_at[set]; i < o->set_at[set + 1]; i++) {
    int32_t device = o->set_device[i];
    if (device < 0 || device >= d->n_devices)
      return bad_device(d, set, device, ", which does not exist");
    if (s->in[device]) return bad_device(d, set, device, " twice");
    s->in[device] = 1;
  }
  add_place(s, o->set_at[set + 1] - o->set_at[set], o->set_device + o->set_at[set]);
  return s->st;
}

/* Candidate sets: the given ones, or unions of device groups, of many groups the likely ones, and
 * each device; then each device as a place of its own. */
static berth_status add_places(sets *s, const berth_deploy_options *o) {
  berth_deploy *d = s->d;
  for (int32_t set = 0; set < o->n_sets && s->st == BERTH_OK; set++) s->st = add_given(s, o, set);
  bool few = d->n_device_groups <= MOST_UNITED;
  for (int32_t mask = 1; o->n_sets == 0 && few && mask < 1 << d->n_device_groups; mask++) {
    for (int32_t a = 0; a < d->n_devices; a++) s->in[a] = (mask >> d->device_group[a]) & 1;
    add_marked(s);
  }
  for (int way = few ? 4 : 0; o->n_sets == 0 && way < 5; way++)
    for (int32_t a = 0; a < d->n_devices; a++) {
      for (int32_t b = 0; b < d->n_devices; b++) s->in[b] = together(d, way, a, b);
      add_marked(s);
    }
  d->n_sets = d->n_places;
  for (int32_t device = 0; device < d->n_devices; device++) add_place(s, 1, &device);
  return s->st;
}

/* ---- places ---- */

static berth_status index_places(berth_deploy *d) {
  size_t n = (size_t)d->n_places;
  d->set_place = berth_i_pool_alloc(&d->pool, (size_t)d->n_sets, sizeof *d->set_place);
  d->position = berth_i_pool_alloc(&d->pool, n, (size_t)d->n_devices * sizeof *d->position);
  if (berth_i_pool_status(&d->pool) != BERTH_OK) return BERTH_ENOMEM;
  memset(d->position, 0xff, n * (size_t)d->n_devices * sizeof *d->position);
  for (int32_t place = 0; place < d->n_places; place++) {
    const int32_t *device = berth_i_place_devices(d, place);
    for (int32_t k = 0; k < berth_i_place_size(d, place); k++)
      d->position[(size_t)place * (size_t)d->n_devices + (size_t)device[k]] = k;
    if (place < d->n_sets)
      d->set_place[place] = berth_i_place_size(d, place) == 1 ? d->n_sets + device[0] : place;
  }
  return BERTH_OK;
}

berth_status berth_i_deploy_sets(berth_deploy *d, const berth_deploy_options *o) {
  sets s = { .d = d };
  berth_status st = BERTH_ENOMEM;
  d->device_group = berth_i_pool_alloc(&d->pool, (size_t)d->n_devices, sizeof *d->device_group);
  s.in = berth_i_alloc(d->ctx, (size_t)d->n_devices, 1);
  if (!d->device_group || !s.in) {
    st = berth_i_nomem(d->ctx);
    goto done;
  }
  if ((st = find_groups(d, o->device_group)) != BERTH_OK) goto done;
  if ((st = add_places(&s, o)) != BERTH_OK) goto done;
  st = index_places(d);
done:
  berth_i_free(d->ctx, s.in, (size_t)d->n_devices, 1);
  return st;
}
