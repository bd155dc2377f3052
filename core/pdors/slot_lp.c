/* One slot: the linear program of many machines.
 *
 * min sum of costs, where each machine of each class is at a point of its polygon, workers in all
 * >= W, servers in all >= S. With the corners as columns: one row for each class (its machines) and
 * two covering rows. At the start every machine is at (0, 0) and both rows are short; costs are not
 * negative, so that start is dual feasible, and there is no first phase.
 *
 * Invariant: the basis is dual feasible, so its prices are a bound at any time. O(classes) a pivot,
 * O(corners) where rounding hides a neighbour. Dual simplex method with generalised upper bounds
 * (Dantzig and Van Slyke, 1967). */
#include "slot_internal.h"

enum { STALL = 40 }; /* pivots without progress until the rule against cycles holds */
static const double NOTHING = 1e-9;

typedef struct pivot {
  const berth_i_slot_region *g;
  double det, row[2];   /* of the inverse: of the column that leaves */
  double ratio, alpha;
  int32_t corner, class;
  bool bland, all;      /* all corners are candidates, not only neighbours */
} pivot;

/* ---- the basis ---- */

static berth_i_slot_column column_of(const berth_i_slot_solver *s, int32_t corner, int32_t class) {
  if (corner == BERTH_I_SURPLUS_WORKERS)
    return (berth_i_slot_column){ corner, BERTH_NONE, { -1, 0 }, 0, 0 };
  if (corner == BERTH_I_SURPLUS_SERVERS)
    return (berth_i_slot_column){ corner, BERTH_NONE, { 0, -1 }, 0, 0 };
  const berth_i_slot_corner *a = &s->corner[corner], *key = &s->corner[s->lp.key[class]];
  return (berth_i_slot_column){ corner,
                                class,
                                { a->units[0] - key->units[0], a->units[1] - key->units[1] },
                                a->cost - key->cost,
                                0 };
}

/* Amounts and duals. */
static void compute(berth_i_slot_lp *p, pivot *v) {
  berth_i_slot_column *a = &p->column[0], *b = &p->column[1];
  double x = p->want[0] - p->base[0], y = p->want[1] - p->base[1];
  v->det = a->units[0] * b->units[1] - a->units[1] * b->units[0];
  a->amount = (x * b->units[1] - y * b->units[0]) / v->det;
  b->amount = (y * a->units[0] - x * a->units[1]) / v->det;
  p->price[0] = (a->cost * b->units[1] - b->cost * a->units[1]) / v->det;
  p->price[1] = (b->cost * a->units[0] - a->cost * b->units[0]) / v->det;
}

static double key_amount(const berth_i_slot_solver *s, int32_t class) {
  const berth_i_slot_lp *p = &s->lp;
  double amount = s->class[class].count;
  for (int32_t i = 0; i < 2; i++)
    if (p->column[i].class == class) amount -= p->column[i].amount;
  return amount;
}

/* The key of a column's class and the column change places. */
static void swap_key(berth_i_slot_solver *s, int32_t i, pivot *v) {
  berth_i_slot_lp *p = &s->lp;
  int32_t class = p->column[i].class, old = p->key[class], new = p->column[i].corner;
  for (int32_t kind = 0; kind < 2; kind++)
    p->base[kind] +=
        s->class[class].count * (s->corner[new].units[kind] - s->corner[old].units[kind]);
  p->key[class] = new;
  p->column[i] = column_of(s, old, class);
  if (p->column[1 - i].class == class)
    p->column[1 - i] = column_of(s, p->column[1 - i].corner, class);
  compute(p, v);
}

/* ---- what leaves ---- */

/* The most negative; under Bland's rule the first. @return column, its key swapped into it if that
 * is it; BERTH_NONE: all well */
static int32_t leaving(berth_i_slot_solver *s, pivot *v) {
  berth_i_slot_lp *p = &s->lp;
  double least = -NOTHING * (1 + p->want[0] + p->want[1]);
  int32_t found = BERTH_NONE, order = INT32_MAX;
  bool key = false;
  for (int32_t i = 0; i < 4; i++) {
    const berth_i_slot_column *c = &p->column[i & 1];
    if (i >= 2 && c->class == BERTH_NONE) continue;
    double amount = i < 2 ? c->amount : key_amount(s, c->class);
    int32_t corner = i < 2 ? c->corner : p->key[c->class];
    if (!(amount < least) || (v->bland && corner >= order)) continue;
    if (!v->bland) least = amount;
    order = corner;
    found = i & 1;
    key = i >= 2;
  }
  if (key) swap_key(s, found, v);
  return found;
}

/* ---- what enters ---- */

static void offer(pivot *v, double reduced, double alpha, int32_t corner, int32_t class) {
  if (!(alpha < -NOTHING)) return;
  double ratio = reduced > 0 ? reduced / -alpha : 0;
  if (ratio > v->ratio
      || (ratio == v->ratio && (v->bland ? corner >= v->corner : alpha >= v->alpha)))
    return;
  v->ratio = ratio;
  v->alpha = alpha;
  v->corner = corner;
  v->class = class;
}

/* The key is the class's best corner. What becomes better first when prices move is a neighbour of
 * it on the polygon.
 * @param all corners, if rounding errors hide the neighbours */
static void offer_class(const berth_i_slot_solver *s, pivot *v, int32_t class, bool all) {
  const berth_i_slot_class *c = &s->class[class];
  const double *price = s->lp.price;
  int32_t key = s->lp.key[class], first = c->corner, last = first + c->corners - 1;
  if (c->corners == 1) return;
  /* Of a class of which no machine has any, no corner has a smaller ratio than the better of one
   * worker and one server. */
  if (!all && key == first
      && !(v->row[0] < 0 && c->price[0] - price[0] < -v->row[0] * v->ratio)
      && !(v->row[1] < 0 && c->price[1] - price[1] < -v->row[1] * v->ratio))
    return;
  int32_t n = all ? c->corners : 2;
  for (int32_t i = 0; i < n; i++) {
    int32_t j = all ? first + i
                    : i == 0 ? (key > first ? key - 1 : last) : (key < last ? key + 1 : first);
    const berth_i_slot_corner *x = &s->corner[j], *k = &s->corner[key];
    double w = x->units[0] - k->units[0], p = x->units[1] - k->units[1],
           alpha = v->row[0] * w + v->row[1] * p;
    if (alpha < -NOTHING)
      offer(v, x->cost - k->cost - price[0] * w - price[1] * p, alpha, j, class);
  }
}

/* @return something does */
static bool entering(const berth_i_slot_solver *s, pivot *v, int32_t leaves) {
  const berth_i_slot_lp *p = &s->lp;
  const berth_i_slot_column *other = &p->column[1 - leaves];
  const int32_t surplus[2] = { BERTH_I_SURPLUS_WORKERS, BERTH_I_SURPLUS_SERVERS };
  double sign = leaves == 0 ? 1 : -1;
  v->row[0] = sign * other->units[1] / v->det;
  v->row[1] = -sign * other->units[0] / v->det;
  v->ratio = INFINITY;
  v->alpha = 0;
  v->corner = INT32_MAX;
  for (int32_t i = 0; i < 2; i++)
    if (p->column[0].corner != surplus[i] && p->column[1].corner != surplus[i])
      offer(v, p->price[i], -v->row[i], surplus[i], BERTH_NONE);
  for (int32_t k = v->g->from; k < v->g->from + v->g->n; k++) offer_class(s, v, k, v->all);
  for (int32_t k = v->g->from; k < v->g->from + v->g->n && isinf(v->ratio); k++)
    offer_class(s, v, k, true);
  return v->ratio < INFINITY;
}

/* ---- the method ---- */

double berth_i_slot_reduced(const berth_i_slot_solver *s, const berth_i_slot_class *c,
                            const double price[2]) {
  double least = 0;
  for (int32_t j = c->corner; j < c->corner + c->corners; j++) {
    const berth_i_slot_corner *x = &s->corner[j];
    least = fmin(least, x->cost - price[0] * x->units[0] - price[1] * x->units[1]);
  }
  return least;
}

static void run(berth_i_slot_solver *s, const berth_i_slot_region *g, berth_i_slot_want want,
                bool all) {
  berth_i_slot_lp *p = &s->lp;
  pivot v = { .g = g, .all = all };
  /* 1. Every machine at (0, 0); both rows are short. */
  for (int32_t k = g->from; k < g->from + g->n; k++) p->key[k] = s->class[k].corner;
  p->column[0] = column_of(s, BERTH_I_SURPLUS_WORKERS, BERTH_NONE);
  p->column[1] = column_of(s, BERTH_I_SURPLUS_SERVERS, BERTH_NONE);
  for (int32_t i = 0; i < 2; i++) {
    p->base[i] = 0;
    p->want[i] = want.units[i];
  }
  compute(p, &v);
  /* 2. Pivots until no amount is negative. */
  int32_t n, leaves, idle = 0, most = 1000 + 20 * s->corners;
  p->solved = false;
  for (n = 0; n < most && (leaves = leaving(s, &v)) != BERTH_NONE; n++) {
    if (!entering(s, &v, leaves)) {
      p->bound = INFINITY;
      return;
    }
    idle = v.ratio > 0 ? 0 : idle + 1;
    v.bland = idle > STALL;
    p->column[leaves] = column_of(s, v.corner, v.class);
    compute(p, &v);
    s->counts.pivots++;
  }
  /* 3. Any prices bound the cost: each machine at its best corner. Solved if the basis costs as
   * much. */
  double price[2] = { fmax(0, p->price[0]), fmax(0, p->price[1]) },
         sum = price[0] * p->want[0] + price[1] * p->want[1],
         cost = p->column[0].cost * p->column[0].amount + p->column[1].cost * p->column[1].amount;
  for (int32_t k = g->from; k < g->from + g->n; k++) {
    sum += s->class[k].count * berth_i_slot_reduced(s, &s->class[k], price);
    cost += s->class[k].count * s->corner[p->key[k]].cost;
  }
  p->bound = fmax(0, sum);
  p->solved = n < most && cost <= p->bound * (1 + 1e-9);
}

/* ---- its answer, machine by machine ---- */

/* So many machines of a class are at a corner: those from `next` on, after what is free of the one
 * before. Where a machine is at several corners it has a part of each.
 * @param free_part of the last machine with a share */
static berth_status share_corner(berth_i_slot_solver *s, const berth_i_slot_class *c,
                                 int32_t corner, double amount, int32_t *next, double *free_part) {
  berth_i_slot_lp *p = &s->lp;
  while (amount > NOTHING) {
    if (*free_part <= NOTHING) {
      if (*next >= c->count) return BERTH_OK;
      berth_status st = BERTH_I_POOL_GROW(&s->pool, p->share, p->share_cap, (size_t)p->shares + 1);
      if (st != BERTH_OK) return st;
      p->share[p->shares++] = (berth_i_slot_share){ s->member[c->first + (*next)++], 0, 0 };
      *free_part = 1;
    }
    double part = fmin(amount, *free_part);
    p->share[p->shares - 1].workers += part * s->corner[corner].units[0];
    p->share[p->shares - 1].servers += part * s->corner[corner].units[1];
    *free_part -= part;
    amount -= part;
  }
  return BERTH_OK;
}

/* Class by class: the key corner, then the columns of the class, the lower corner first. */
static berth_status share_out(berth_i_slot_solver *s, const berth_i_slot_region *g) {
  berth_i_slot_lp *p = &s->lp;
  int32_t first = p->column[0].corner <= p->column[1].corner ? 0 : 1;
  berth_status st = BERTH_OK;
  p->shares = 0;
  for (int32_t k = g->from; k < g->from + g->n; k++) {
    const berth_i_slot_class *c = &s->class[k];
    int32_t next = 0;
    double free_part = 0;
    if (p->key[k] != c->corner)
      st = share_corner(s, c, p->key[k], key_amount(s, k), &next, &free_part);
    for (int32_t i = 0; i < 2 && st == BERTH_OK; i++) {
      const berth_i_slot_column *x = &p->column[i == 0 ? first : 1 - first];
      if (x->class == k && x->corner != c->corner)
        st = share_corner(s, c, x->corner, x->amount, &next, &free_part);
    }
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* If neighbours were not enough after all, cost and bound differ. */
berth_status berth_i_slot_relax(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                berth_i_slot_want want) {
  berth_status st = berth_i_slot_draw(s);
  if (st != BERTH_OK) return st;
  s->counts.programs++;
  s->lp.shares = 0;
  run(s, g, want, false);
  if (!s->lp.solved && !isinf(s->lp.bound)) run(s, g, want, true);
  return s->lp.solved ? share_out(s, g) : BERTH_OK;
}
