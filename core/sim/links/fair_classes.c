/* Classes of flows: ordered pairs of devices whose routes cross the same links of finite bandwidth.
 * Fair sharing gives all flows of one class the same rate, so rates, and the work of finding them,
 * are per class and not per flow. */
#include "sim/sim_internal.h"

typedef struct making {
  berth_i_sim_plan *p;
  berth_i_classes *c;
  int32_t *table;       /* [width] classes by hash; BERTH_NONE */
  uint32_t width;
  int32_t *found;       /* [n_links] the links of the current pair, sorted */
  uint8_t *on;          /* [n_links] */
  size_t cap_at, cap_link;
} making;

/* @return how many; a link that the route crosses twice counts once */
static int32_t finite_links(making *m, int32_t src, int32_t dst) {
  const berth_topology *t = m->p->cost->t;
  const int32_t *route;
  int32_t hops = berth_topology_route(t, src, dst, &route), n = 0;
  for (int32_t i = 0; i < hops; i++) {
    if (isinf(t->links[route[i]].bandwidth) || m->on[route[i]]) continue;
    m->on[route[i]] = 1;
    int32_t k;
    for (k = n++; k > 0 && m->found[k - 1] > route[i]; k--) m->found[k] = m->found[k - 1];
    m->found[k] = route[i];
  }
  for (int32_t i = 0; i < n; i++) m->on[m->found[i]] = 0;
  return n;
}

static uint32_t hash_of(const int32_t *links, int32_t n) {
  uint64_t h = 1469598103934665603u;
  for (int32_t i = 0; i < n; i++) h = (h ^ (uint64_t)links[i]) * 1099511628211u;
  return (uint32_t)(h ^ (h >> 32));
}

static bool same_links(const berth_i_classes *c, int32_t k, const int32_t *links, int32_t n) {
  return c->at[k + 1] - c->at[k] == n
         && memcmp(&c->link[c->at[k]], links, (size_t)n * sizeof *links) == 0;
}

static berth_status add_class(making *m, int32_t n) {
  berth_i_classes *c = m->c;
  berth_status st =
      BERTH_I_POOL_GROW(&m->p->pool, c->at, m->cap_at, (size_t)c->n + 2);
  if (st != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&m->p->pool, c->link, m->cap_link, (size_t)c->at[c->n] + (size_t)n);
  if (st != BERTH_OK) return st;
  memcpy(&c->link[c->at[c->n]], m->found, (size_t)n * sizeof *c->link);
  c->at[c->n + 1] = c->at[c->n] + n;
  c->n++;
  return BERTH_OK;
}

static berth_status class_of_pair(making *m, int32_t src, int32_t dst, int32_t *out) {
  int32_t n = finite_links(m, src, dst);
  *out = BERTH_NONE;
  if (n == 0) return BERTH_OK;
  uint32_t i;
  for (i = hash_of(m->found, n) & (m->width - 1); m->table[i] != BERTH_NONE;
       i = (i + 1) & (m->width - 1)) {
    if (!same_links(m->c, m->table[i], m->found, n)) continue;
    *out = m->table[i];
    return BERTH_OK;
  }
  *out = m->table[i] = m->c->n;
  return add_class(m, n);
}

static berth_status classify(making *m) {
  int32_t d = m->p->n_devices;
  berth_status st;
  if ((st = BERTH_I_POOL_GROW(&m->p->pool, m->c->at, m->cap_at, 1))
      != BERTH_OK)
    return st;
  m->c->at[0] = 0;
  for (int32_t src = 0; src < d; src++) {
    for (int32_t dst = 0; dst < d; dst++) {
      st = class_of_pair(m, src, dst, &m->c->of_pair[berth_i_pair(m->p->cost->t, src, dst)]);
      if (st != BERTH_OK) return st;
    }
  }
  return BERTH_OK;
}

static berth_status index_links(berth_i_sim_plan *p, berth_i_classes *c) {
  if (!(c->owner = berth_i_pool_alloc(&p->pool, (size_t)c->at[c->n], sizeof *c->owner)))
    return berth_i_nomem(p->ctx);
  for (int32_t k = 0; k < c->n; k++) {
    for (int32_t i = c->at[k]; i < c->at[k + 1]; i++) c->owner[i] = k;
  }
  for (int32_t i = 0; i < c->at[c->n]; i++) c->on_link[c->link[i] + 1]++;
  for (int32_t i = 0; i < p->cost->t->n_links; i++) c->on_link[i + 1] += c->on_link[i];
  return BERTH_OK;
}

/* A power of two, at least twice the number of pairs. */
static uint32_t width_for(size_t pairs) {
  uint32_t width = 4;
  while (width < 2 * pairs) width *= 2;
  return width;
}

berth_status berth_i_classes_new(berth_i_sim_plan *p) {
  size_t d = (size_t)p->n_devices, links = (size_t)p->cost->t->n_links;
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  making m = { .p = p, .width = width_for(d * d) };
  m.table = berth_i_pool_alloc(&scratch, m.width, sizeof *m.table);
  m.found = berth_i_pool_alloc(&scratch, links, sizeof *m.found);
  m.on = berth_i_pool_zalloc(&scratch, links, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((m.c = p->classes = berth_i_pool_zalloc(&p->pool, 1, sizeof *m.c))) {
    m.c->of_pair = berth_i_pool_alloc(&p->pool, d * d, sizeof *m.c->of_pair);
    m.c->on_link = berth_i_pool_zalloc(&p->pool, links + 1, sizeof *m.c->on_link);
  }
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) goto done;
  for (uint32_t i = 0; i < m.width; i++) m.table[i] = BERTH_NONE;
  if ((st = classify(&m)) == BERTH_OK) st = index_links(p, m.c);
done:
  berth_i_pool_free(&scratch);
  return st;
}
