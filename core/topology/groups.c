/* Clusters of device groups (GPUs of a machine, machines of a rack) as TAG's study models them:
 * explicit routes over links within groups and between them, as in its published simulator. */
#include "groups_internal.h"

static double between(const berth_i_net *t, int32_t g, int32_t h) {
  return berth_i_groups_between(t->spec, g, h);
}

/* ---- what was given ---- */

static berth_status refuse(berth_ctx *ctx, int32_t g, const char *what, double value,
                           const char *rule) {
  return berth_i_fail(ctx, BERTH_EINVAL, "groups: group %d: %s %g must be %s", (int)g, what, value,
                      rule);
}

static bool has_ports(berth_group_links links) {
  return links == BERTH_GROUPS_NIC || links == BERTH_GROUPS_TREE;
}

static berth_status check_group(berth_ctx *ctx, const berth_groups *s, int32_t g) {
  const berth_device_group *d = &s->group[g];
  if (d->count < 1) return refuse(ctx, g, "count", d->count, "at least 1");
  if (!(d->bandwidth > 0)) return refuse(ctx, g, "bandwidth", d->bandwidth, "above 0");
  if (d->machines < 1 || d->machines > d->count)
    return refuse(ctx, g, "machines", d->machines, "1 to the number of devices");
  if (d->machines > 1 && !has_ports(s->links))
    return refuse(ctx, g, "machines", d->machines, "1 without ports (nic, tree)");
  if (d->rack < 0 || d->rack >= s->n)
    return refuse(ctx, g, "rack", d->rack, "at least 0 and below the number of groups");
  if (d->rack > 0 && s->links != BERTH_GROUPS_TREE)
    return refuse(ctx, g, "rack", d->rack, "0 without racks (tree)");
  return BERTH_OK;
}

static berth_status check_between(berth_ctx *ctx, const berth_groups *s) {
  for (int32_t g = 0; g < s->n; g++)
    for (int32_t h = 0; h < s->n; h++)
      if (berth_i_groups_meet(s, g, h) && !(berth_i_groups_between(s, g, h) > 0))
        return berth_i_fail(ctx, BERTH_EINVAL,
                            "groups: bandwidth %g from group %d to group %d must be above 0",
                            berth_i_groups_between(s, g, h), (int)g, (int)h);
  return BERTH_OK;
}

static berth_status check_spec(berth_ctx *ctx, const berth_groups *s) {
  berth_status st = BERTH_OK;
  if (!s || s->n < 1 || !s->group || !s->between)
    return berth_i_fail(ctx, BERTH_EINVAL, "groups: no groups or bandwidths given");
  if (!(s->latency >= 0) || isinf(s->latency))
    return berth_i_fail(ctx, BERTH_EINVAL, "groups: latency %g must be at least 0 and finite",
                        s->latency);
  if (s->links < BERTH_GROUPS_TAG || s->links > BERTH_GROUPS_TREE)
    return berth_i_fail(ctx, BERTH_EINVAL, "groups: %d is no kind of links", (int)s->links);
  for (int32_t g = 0; g < s->n && st == BERTH_OK; g++) st = check_group(ctx, s, g);
  return st == BERTH_OK ? check_between(ctx, s) : st;
}

/* ---- devices ---- */

static berth_status count_all(berth_i_net *t) {
  int64_t n = 0;
  for (int32_t g = 0; g < t->spec->n; g++) {
    n += t->spec->group[g].count;
    t->n_machines += n <= INT32_MAX ? t->spec->group[g].machines : 0;
    if (t->spec->group[g].rack >= t->n_racks) t->n_racks = t->spec->group[g].rack + 1;
  }
  if (n > BERTH_MOST_DEVICES)
    return berth_i_fail(t->ctx, BERTH_EINVAL, "groups: %lld devices: more than %d", (long long)n,
                        BERTH_MOST_DEVICES);
  t->n = (int32_t)n;
  return BERTH_OK;
}

static berth_status open_net(berth_i_net *t) {
  size_t n = (size_t)t->n;
  t->first = berth_i_pool_alloc(&t->pool, (size_t)t->spec->n + 1, sizeof *t->first);
  t->group = berth_i_pool_alloc(&t->pool, n, sizeof *t->group);
  t->machine = berth_i_pool_alloc(&t->pool, n, sizeof *t->machine);
  t->enter = berth_i_pool_alloc(&t->pool, n, sizeof *t->enter);
  t->leave = berth_i_pool_alloc(&t->pool, n, sizeof *t->leave);
  berth_status st;
  if ((st = berth_i_pool_status(&t->pool)) != BERTH_OK) return st;
  return berth_topology_builder_new(t->ctx, &t->b);
}

static berth_status add_group(berth_i_net *t, int32_t g, int32_t *device, int32_t *machine) {
  const berth_device_group *s = &t->spec->group[g];
  berth_device d = s->device;
  berth_status st = BERTH_OK;
  d.name = NULL;
  d.machine = g;
  for (int32_t k = 0; k < s->count && st == BERTH_OK; k++) {
    t->group[*device] = g;
    t->machine[*device] = *machine + (int32_t)((int64_t)k * s->machines / s->count);
    st = berth_topology_builder_add_device(t->b, &d, NULL, NULL);
    ++*device;
  }
  *machine += s->machines;
  return st;
}

static berth_status add_devices(berth_i_net *t) {
  int32_t device = 0, machine = 0;
  berth_status st = BERTH_OK;
  for (int32_t g = 0; g < t->spec->n && st == BERTH_OK; g++) {
    t->first[g] = device;
    st = add_group(t, g, &device, &machine);
  }
  t->first[t->spec->n] = device;
  return st;
}

/* ---- private links within a group, gates between groups ---- */

static berth_status add_private_links(berth_i_net *t) {
  berth_status st = BERTH_OK;
  int32_t link;
  for (int32_t i = 0; i < t->n; i++)
    for (int32_t j = t->first[t->group[i]]; j < t->first[t->group[i] + 1] && st == BERTH_OK; j++) {
      if (i == j) continue;
      st = berth_i_groups_link(t, i, j, t->spec->group[t->group[i]].bandwidth, t->spec->latency,
                               &link);
      if (st == BERTH_OK) st = berth_topology_builder_set_route(t->b, i, j, 1, &link);
    }
  return st;
}

/* Free links between the devices of a group and a switch: enter[] towards it, leave[] from it. */
static berth_status add_free_links(berth_i_net *t, int32_t g, int32_t node, bool out) {
  berth_status st = BERTH_OK;
  for (int32_t i = t->first[g]; i < t->first[g + 1] && st == BERTH_OK; i++)
    st = out ? berth_i_groups_link(t, i, node, INFINITY, 0, &t->enter[i])
             : berth_i_groups_link(t, node, i, INFINITY, 0, &t->leave[i]);
  return st;
}

/* Every device of g to every one of h: enter, the n middle links, leave. */
static berth_status set_group_routes(berth_i_net *t, int32_t g, int32_t h, int32_t n,
                                     const int32_t *middle) {
  berth_status st = BERTH_OK;
  int32_t route[8];
  memcpy(route + 1, middle, (size_t)n * sizeof *middle);
  for (int32_t i = t->first[g]; i < t->first[g + 1]; i++)
    for (int32_t j = t->first[h]; j < t->first[h + 1] && st == BERTH_OK; j++) {
      route[0] = t->enter[i];
      route[n + 1] = t->leave[j];
      st = berth_topology_builder_set_route(t->b, i, j, n + 2, route);
    }
  return st;
}

/* Gates of their own for each pair of groups: a link that pairs shared would make them wait for
 * each other. */
static berth_status add_tag_pair(berth_i_net *t, int32_t g, int32_t h) {
  int32_t out = 0, in = 0, link = 0;
  berth_status st = berth_i_groups_switch(t, "out", g, h, &out);
  if (st == BERTH_OK) st = berth_i_groups_switch(t, "in", g, h, &in);
  if (st == BERTH_OK)
    st = berth_i_groups_link(t, out, in, between(t, g, h), t->spec->latency, &link);
  if (st == BERTH_OK) st = add_free_links(t, g, out, true);
  if (st == BERTH_OK) st = add_free_links(t, h, in, false);
  return st == BERTH_OK ? set_group_routes(t, g, h, 1, &link) : st;
}

typedef struct shared {
  int32_t head, tail, link;
  double bandwidth;
} shared;

static berth_status open_shared(berth_i_net *t, shared *s) {
  for (int32_t g = 0; g < t->spec->n; g++)
    for (int32_t h = 0; h < t->spec->n; h++)
      if (g != h && between(t, g, h) > s->bandwidth) s->bandwidth = between(t, g, h);
  berth_status st;
  if ((st = berth_i_groups_switch(t, "network", 0, -1, &s->head)) != BERTH_OK) return st;
  if ((st = berth_i_groups_switch(t, "network", 1, -1, &s->tail)) != BERTH_OK) return st;
  return berth_i_groups_link(t, s->head, s->tail, s->bandwidth, t->spec->latency, &s->link);
}

/* The path to the shared link leads over a slower one where the pair is slower. */
static berth_status add_heterog_pair(berth_i_net *t, const shared *s, int32_t g, int32_t h) {
  int32_t middle[2], n = 0, node = s->head;
  berth_status st = BERTH_OK;
  if (between(t, g, h) < s->bandwidth) {
    st = berth_i_groups_switch(t, "out", g, h, &node);
    if (st == BERTH_OK)
      st = berth_i_groups_link(t, node, s->head, between(t, g, h), 0, &middle[n++]);
  }
  middle[n++] = s->link;
  if (st == BERTH_OK) st = add_free_links(t, g, node, true);
  if (st == BERTH_OK) st = add_free_links(t, h, s->tail, false);
  return st == BERTH_OK ? set_group_routes(t, g, h, n, middle) : st;
}

static berth_status add_gates(berth_i_net *t) {
  shared s = { 0, 0, 0, 0 };
  berth_status st = add_private_links(t);
  bool one = t->spec->links == BERTH_GROUPS_HETEROG;
  if (st == BERTH_OK && one && t->spec->n > 1) st = open_shared(t, &s);
  for (int32_t g = 0; g < t->spec->n; g++)
    for (int32_t h = 0; h < t->spec->n && st == BERTH_OK; h++)
      if (g != h) st = one ? add_heterog_pair(t, &s, g, h) : add_tag_pair(t, g, h);
  return st;
}

berth_status berth_topology_groups(berth_ctx *ctx, const berth_groups *spec, berth_topology **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_i_net t = { 0 };
  berth_status st = check_spec(ctx, spec);
  if (st != BERTH_OK) return st;
  t.ctx = ctx;
  t.pool = berth_i_pool_empty(ctx);
  t.spec = spec;
  if ((st = count_all(&t)) != BERTH_OK) return st;
  if ((st = open_net(&t)) != BERTH_OK) goto done;
  if ((st = add_devices(&t)) != BERTH_OK) goto done;
  if ((st = has_ports(spec->links) ? berth_i_groups_ports(&t) : add_gates(&t)) != BERTH_OK)
    goto done;
  st = berth_topology_builder_finish(t.b, out);
done:
  berth_topology_builder_release(t.b);
  berth_i_pool_free(&t.pool);
  return st;
}
