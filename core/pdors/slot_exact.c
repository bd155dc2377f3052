/* One slot, exactly. Machine by machine, for each number of workers and servers so far: the least
 * that is lost against the linear program's bound. What a machine at a point loses by the dual
 * prices is never negative, so whatever lost more than the best answer so far is dropped; mostly
 * little is left. The dropping is that of a branch and bound, the table makes it polynomial. */
#include "slot_internal.h"

typedef struct option {
  int32_t units[2];
  double loss;
} option;

typedef struct layer {
  int32_t machine;
  size_t first; /* option */
  int32_t n;
} layer;

typedef struct table {
  berth_i_pool pool;
  berth_i_slot_want want;
  option *option;
  size_t options, option_cap;
  layer *layer;
  size_t layers, layer_cap;
  double *loss, *next;  /* [states] */
  uint16_t *chosen;     /* [layers * states] */
  size_t states;
  double gap;
  int64_t nodes;
} table;

enum { MOST_OPTIONS = UINT16_MAX, MOST_STATES = 1 << 20, MOST_CELLS = 1 << 26 };

static size_t state_of(const table *t, int32_t workers, int32_t servers) {
  return (size_t)workers * (size_t)(t->want.units[1] + 1) + (size_t)servers;
}

/* ---- what may be on a machine ---- */

/* More machines of a class than there are units never have any. */
static berth_status list_class(berth_i_slot_solver *s, table *t, const berth_i_slot_class *c) {
  size_t first = t->options;
  int32_t n = t->want.units[0] + t->want.units[1];
  berth_status st;
  /* Points of one machine that lose no more than the best answer allows. */
  double price[2] = { fmax(0, s->lp.price[0]), fmax(0, s->lp.price[1]) },
         best = berth_i_slot_reduced(s, c, price);
  int32_t most[2];
  for (int32_t kind = 0; kind < 2; kind++)
    most[kind] = c->most[kind] < t->want.units[kind] ? c->most[kind] : t->want.units[kind];
  for (int32_t w = 0; w <= most[0]; w++) {
    int32_t servers = berth_i_slot_most_more(s, c, 1, w, 0, most[1]);
    for (int32_t p = 0; p <= servers; p++) {
      double loss = fmax(0, berth_i_slot_cost(c, w, p) - price[0] * w - price[1] * p - best);
      if (loss > t->gap) continue;
      if ((st = BERTH_I_POOL_GROW(&t->pool, t->option, t->option_cap, t->options + 1)) != BERTH_OK)
        return st;
      t->option[t->options++] = (option){ { w, p }, loss };
    }
  }
  if (t->options == first + 1 && t->option[first].units[0] + t->option[first].units[1] == 0) {
    t->options = first;
    return BERTH_OK;
  }
  for (int32_t i = 0; i < c->count && i < n; i++) {
    st = BERTH_I_POOL_GROW(&t->pool, t->layer, t->layer_cap, t->layers + 1);
    if (st != BERTH_OK) return st;
    t->layer[t->layers++] =
        (layer){ s->member[c->first + i], first, (int32_t)(t->options - first) };
  }
  return BERTH_OK;
}

/* ---- the table ---- */

/* Machine by machine: the least loss for each number of workers and servers so far, and the option
 * by which it is had. @return whether the end was reached within the limit of nodes */
static bool fill(table *t, int32_t most) {
  int32_t workers = t->want.units[0], servers = t->want.units[1];
  for (size_t i = 0; i < t->states; i++) t->loss[i] = INFINITY;
  t->loss[0] = 0;
  for (size_t at = 0; at < t->layers && t->nodes <= most; at++) {
    const layer *l = &t->layer[at];
    uint16_t *chosen = t->chosen + at * t->states;
    for (size_t i = 0; i < t->states; i++) t->next[i] = INFINITY;
    for (int32_t w = 0; w <= workers; w++)
      for (int32_t p = 0; p <= servers; p++) {
        double so_far = t->loss[state_of(t, w, p)];
        if (isinf(so_far)) continue;
        t->nodes++;
        for (int32_t i = 0; i < l->n; i++) {
          const option *x = &t->option[l->first + (size_t)i];
          double loss = so_far + x->loss;
          if (w + x->units[0] > workers || p + x->units[1] > servers || loss > t->gap) continue;
          size_t to = state_of(t, w + x->units[0], p + x->units[1]);
          if (!(loss < t->next[to])) continue;
          t->next[to] = loss;
          chosen[to] = (uint16_t)i;
        }
      }
    double *swap = t->loss;
    t->loss = t->next;
    t->next = swap;
  }
  return t->nodes <= most;
}

/* ---- all ---- */

berth_status berth_i_slot_exact(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                berth_i_slot_want want) {
  table t = { .pool = berth_i_pool_empty(s->ctx), .want = want };
  berth_status st = BERTH_OK;
  t.gap = (s->best_cost - s->lp.bound) * (1 + 1e-9);
  if (t.gap <= 1e-12 * s->lp.bound) return BERTH_OK;
  t.states = ((size_t)want.units[0] + 1) * ((size_t)want.units[1] + 1);
  berth_i_slot_draft_clear(s);
  bool proved = t.states <= MOST_STATES;
  for (int32_t k = g->from; proved && k < g->from + g->n && st == BERTH_OK; k++)
    st = list_class(s, &t, &s->class[k]);
  proved = proved && (t.layers == 0 || t.states <= MOST_CELLS / t.layers);
  for (size_t i = 0; i < t.layers && proved; i++) proved = t.layer[i].n <= MOST_OPTIONS;
  if (st == BERTH_OK && proved) {
    t.loss = berth_i_pool_alloc(&t.pool, t.states, sizeof *t.loss);
    t.next = berth_i_pool_alloc(&t.pool, t.states, sizeof *t.next);
    t.chosen = berth_i_pool_alloc(&t.pool, t.layers * t.states, sizeof *t.chosen);
    st = berth_i_pool_status(&t.pool);
    proved = st == BERTH_OK && fill(&t, s->o.nodes);
  }
  if (st == BERTH_OK && !proved) s->counts.unproved++;
  if (st == BERTH_OK && proved && !isinf(t.loss[t.states - 1])) {
    /* Backwards from all that is wanted. */
    int32_t w = want.units[0], p = want.units[1];
    for (size_t i = t.layers; i-- > 0;) {
      const layer *l = &t.layer[i];
      const option *x = &t.option[l->first + t.chosen[i * t.states + state_of(&t, w, p)]];
      berth_i_slot_draft_put(s, l->machine, x->units[0], x->units[1]);
      w -= x->units[0];
      p -= x->units[1];
    }
    berth_i_slot_keep(s, g);
  }
  berth_i_pool_free(&t.pool);
  return st;
}
