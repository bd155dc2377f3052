/* Clusters of device groups: their links and switches, and the way to wire them by ports. There
 * every device has a send and a receive port, every machine a send and a receive network card,
 * every rack a link up and one down. Half the latency is on either port. */
#include "groups_internal.h"
#include <stdio.h>

berth_status berth_i_groups_link(berth_i_net *t, int32_t from, int32_t to,
                                 double bandwidth, double latency,
                                 int32_t *link) {
  berth_link l = { bandwidth, latency };
  return berth_topology_builder_add_link(t->b, from, to, &l, link);
}

berth_status berth_i_groups_switch(berth_i_net *t, const char *letters, int32_t a, int32_t b,
                                   int32_t *node) {
  char name[64];
  if (b < 0) snprintf(name, sizeof name, "%s%d", letters, (int)a);
  else snprintf(name, sizeof name, "%s%d-%d", letters, (int)a, (int)b);
  return berth_topology_builder_add_switch(t->b, name, node);
}

/* Capacities are 0 where nothing passes. A slow pair has a link of its own, between the two halves
 * of each switch on the way. */
typedef struct ports {
  berth_i_net *net;
  bool limited;                      /* are there slow pairs? */
  double *card_out, *card_in;        /* [groups] bytes/s: the fastest pair from it, to it */
  double *rack_up, *rack_down;       /* [racks] bytes/s: the fastest pair that leaves it, enters
                                        it */
  int32_t *group;                    /* [machines] */
  int32_t *first;                    /* [machines + 1] devices */
  int32_t *out, *in;                 /* [machines] links: network cards */
  int32_t *hub;                      /* [machines] nodes */
  int32_t *up, *down;                /* [racks] links */
  int32_t *half_out, *half_in;       /* [racks] nodes: one twice, unless limited */
  int32_t core_out, core_in;         /* nodes */
} ports;

static int32_t rack_of(const ports *p, int32_t machine) {
  return p->net->spec->group[p->group[machine]].rack;
}

static void raise_to(double *most, double x) {
  if (x > *most) *most = x;
}

static void set_capacities(ports *p) {
  const berth_groups *s = p->net->spec;
  for (int32_t g = 0; g < s->n; g++)
    for (int32_t h = 0; h < s->n; h++) {
      double x = berth_i_groups_between(s, g, h);
      if (!berth_i_groups_meet(s, g, h)) continue;
      raise_to(&p->card_out[g], x);
      raise_to(&p->card_in[h], x);
      if (s->group[g].rack == s->group[h].rack) continue;
      raise_to(&p->rack_up[s->group[g].rack], x);
      raise_to(&p->rack_down[s->group[h].rack], x);
    }
}

/* What the cards and racks alone let a pair of groups have. */
static double allowed(const ports *p, int32_t g, int32_t h) {
  int32_t r = p->net->spec->group[g].rack, q = p->net->spec->group[h].rack;
  double least = fmin(p->card_out[g], p->card_in[h]);
  return r == q ? least : fmin(least, fmin(p->rack_up[r], p->rack_down[q]));
}

static bool any_limited(const ports *p) {
  const berth_groups *s = p->net->spec;
  for (int32_t g = 0; g < s->n; g++)
    for (int32_t h = 0; h < s->n; h++)
      if (berth_i_groups_meet(s, g, h) && berth_i_groups_between(s, g, h) < allowed(p, g, h))
        return true;
  return false;
}

/* ---- switches and links ---- */

/* A node, or two: traffic goes in at the first and out at the second. */
static berth_status add_halves(ports *p, const char *letters, int32_t number, int32_t *out,
                               int32_t *in) {
  berth_status st = berth_i_groups_switch(p->net, letters, number, p->limited ? 0 : -1, out);
  *in = *out;
  return st == BERTH_OK && p->limited ? berth_i_groups_switch(p->net, letters, number, 1, in) : st;
}

static berth_status add_rack(ports *p, int32_t r) {
  double up = p->rack_up[r], down = p->rack_down[r];
  berth_status st = add_halves(p, "rack", r, &p->half_out[r], &p->half_in[r]);
  if (st == BERTH_OK && up > 0)
    st = berth_i_groups_link(p->net, p->half_out[r], p->core_out, up, 0, &p->up[r]);
  return st == BERTH_OK && down > 0
             ? berth_i_groups_link(p->net, p->core_in, p->half_in[r], down, 0, &p->down[r])
             : st;
}

static berth_status add_racks(ports *p) {
  berth_status st =
      p->net->n_racks > 1 ? add_halves(p, "core", 0, &p->core_out, &p->core_in) : BERTH_OK;
  for (int32_t r = 0; r < p->net->n_racks && st == BERTH_OK; r++) st = add_rack(p, r);
  return st;
}

static berth_status add_machine(ports *p, int32_t m) {
  int32_t g = p->group[m], r = rack_of(p, m);
  double from = p->card_out[g], to = p->card_in[g];
  berth_status st = berth_i_groups_switch(p->net, "machine", m, -1, &p->hub[m]);
  if (st == BERTH_OK && from > 0)
    st = berth_i_groups_link(p->net, p->hub[m], p->half_out[r], from, 0, &p->out[m]);
  return st == BERTH_OK && to > 0
             ? berth_i_groups_link(p->net, p->half_in[r], p->hub[m], to, 0, &p->in[m])
             : st;
}

static berth_status add_device_ports(ports *p, int32_t i) {
  berth_i_net *t = p->net;
  double bandwidth = t->spec->group[t->group[i]].bandwidth, latency = t->spec->latency / 2;
  int32_t hub = p->hub[t->machine[i]];
  berth_status st = berth_i_groups_link(t, i, hub, bandwidth, latency, &t->enter[i]);
  return st == BERTH_OK ? berth_i_groups_link(t, hub, i, bandwidth, latency, &t->leave[i]) : st;
}

static berth_status add_all(ports *p) {
  berth_i_net *t = p->net;
  berth_status st = add_racks(p);
  for (int32_t k = 0; k < t->n_machines && st == BERTH_OK; k++) st = add_machine(p, k);
  for (int32_t k = 0; k < t->n && st == BERTH_OK; k++) st = add_device_ports(p, k);
  return st;
}

/* ---- routes ---- */

/* The links from machine m to another: n of them into route. */
static berth_status way(ports *p, int32_t m, int32_t k, int32_t *route, int32_t *n) {
  int32_t r = rack_of(p, m), q = rack_of(p, k), pair = 0;
  bool far = r != q;
  berth_status st = BERTH_OK;
  *n = 0;
  route[(*n)++] = p->out[m];
  if (far) route[(*n)++] = p->up[r];
  if (p->limited) {
    st = berth_i_groups_link(p->net, far ? p->core_out : p->half_out[r],
                             far ? p->core_in : p->half_in[q],
                             berth_i_groups_between(p->net->spec, p->group[m], p->group[k]), 0,
                             &pair);
    route[(*n)++] = pair;
  }
  if (far) route[(*n)++] = p->down[q];
  route[(*n)++] = p->in[k];
  return st;
}

static berth_status set_machine_routes(ports *p, int32_t m, int32_t k) {
  berth_i_net *t = p->net;
  int32_t n = 0, route[8];
  berth_status st = m == k ? BERTH_OK : way(p, m, k, route + 1, &n);
  for (int32_t i = p->first[m]; i < p->first[m + 1]; i++)
    for (int32_t j = p->first[k]; j < p->first[k + 1] && st == BERTH_OK; j++) {
      if (i == j) continue;
      route[0] = t->enter[i];
      route[n + 1] = t->leave[j];
      st = berth_topology_builder_set_route(t->b, i, j, n + 2, route);
    }
  return st;
}

static berth_status set_routes(ports *p) {
  berth_status st = BERTH_OK;
  for (int32_t m = 0; m < p->net->n_machines; m++)
    for (int32_t k = 0; k < p->net->n_machines && st == BERTH_OK; k++)
      st = set_machine_routes(p, m, k);
  return st;
}

static void number_machines(ports *p) {
  const berth_i_net *t = p->net;
  for (int32_t i = t->n - 1; i >= 0; i--) {
    p->group[t->machine[i]] = t->group[i];
    p->first[t->machine[i]] = i;
  }
  p->first[t->n_machines] = t->n;
}

static berth_status open_ports(ports *p) {
  berth_i_pool *pool = &p->net->pool;
  size_t g = (size_t)p->net->spec->n, m = (size_t)p->net->n_machines, r = (size_t)p->net->n_racks;
  p->card_out = berth_i_pool_zalloc(pool, 2 * (g + r), sizeof *p->card_out);
  p->group = berth_i_pool_alloc(pool, 5 * m + 1, sizeof *p->group);
  p->up = berth_i_pool_alloc(pool, 4 * r, sizeof *p->up);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  p->card_in = p->card_out + g;
  p->rack_up = p->card_in + g;
  p->rack_down = p->rack_up + r;
  p->out = p->group + m;
  p->in = p->out + m;
  p->hub = p->in + m;
  p->first = p->hub + m;
  p->down = p->up + r;
  p->half_out = p->down + r;
  p->half_in = p->half_out + r;
  return BERTH_OK;
}

berth_status berth_i_groups_ports(berth_i_net *t) {
  ports p = { 0 };
  p.net = t;
  berth_status st;
  if ((st = open_ports(&p)) != BERTH_OK) return st;
  number_machines(&p);
  set_capacities(&p);
  p.limited = any_limited(&p);
  if ((st = add_all(&p)) == BERTH_OK) st = set_routes(&p);
  return st;
}
