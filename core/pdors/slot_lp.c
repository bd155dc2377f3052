/* One slot: the linear program of many machines.
 *
 * min sum of costs, where each machine of each class is at a point of its polygon, workers in all
 * >= W, servers in all >= S. With the corners as columns: one row for each class (its machines) and
 * two covering rows. At the start every machine is at (0, 0) and both rows are short; costs are not
 * negative, so that start is dual feasible, and there is no first phase. */
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
  const berth_i_slot_corners *l = &s->corners;
  if (corner == BERTH_I_SURPLUS_WORKERS)
    return (berth_i_slot_column){ corner, BERTH_NONE, { -1, 0 }, 0, 0 };
  if (corner == BERTH_I_SURPLUS_SERVERS)
    return (berth_i_slot_column){ corner, BERTH_NONE, { 0, -1 }, 0, 0 };
  int32_t key;
  key = s->lp.key[class];
  return (berth_i_slot_column){ corner,
                                class,
                                { l->units[0][corner] - l->units[0][key],
                                  l->units[1][corner] - l->units[1][key] },
                                l->cost[corner] - l->cost[key],
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

static void move_key(berth_i_slot_solver *s, int32_t class, int32_t corner) {
  berth_i_slot_lp *p = &s->lp;
  int32_t old = p->key[class];
  for (int32_t i = 0; i < 2; i++)
    p->base[i] += s->class[class].count * (s->corners.units[i][corner] - s->corners.units[i][old]);
  p->key[class] = corner;
}

/* The key of a column's class and the column change places. */
static void swap_key(berth_i_slot_solver *s, int32_t i, pivot *v) {
  berth_i_slot_lp *p = &s->lp;
  int32_t class = p->column[i].class, old = p->key[class];
  move_key(s, class, p->column[i].corner);
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
    double amount;
    amount = i < 2 ? c->amount : key_amount(s, c->class);
    int32_t corner;
    corner = i < 2 ? c->corner : p->key[c->class];
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

typedef struct from_key {
  double units[2], cost;
  const double *price;
} from_key;

static void offer_corner(const berth_i_slot_corners *l, pivot *v, const from_key *k, int32_t corner,
                         int32_t class) {
  double w = l->units[0][corner] - k->units[0], p = l->units[1][corner] - k->units[1],
         alpha = v->row[0] * w + v->row[1] * p;
  if (alpha < -NOTHING)
    offer(v, l->cost[corner] - k->cost - k->price[0] * w - k->price[1] * p, alpha, corner, class);
}

/* For a class of which no machine has any: no corner has a smaller ratio than the better of one
 * worker and one server. */
static bool is_too_dear(const berth_i_slot_class *c, const double *price, const pivot *v) {
  bool worker = v->row[0] < 0 && c->worker - price[0] < -v->row[0] * v->ratio;
  bool server = v->row[1] < 0 && c->server - price[1] < -v->row[1] * v->ratio;
  return !worker && !server;
}

/* The key is the class's best corner. What becomes better first when prices move is a neighbour of
 * it on the polygon.
 * @param all corners, if rounding errors hide the neighbours */
static void offer_class(const berth_i_slot_solver *s, pivot *v, int32_t class, bool all) {
  const berth_i_slot_class *c = &s->class[class];
  const berth_i_slot_corners *l = &s->corners;
  int32_t key = s->lp.key[class], last = c->corner + c->corners - 1;
  from_key k = { { l->units[0][key], l->units[1][key] }, l->cost[key], s->lp.price };
  if (c->corners == 1 || (!all && key == c->corner && is_too_dear(c, s->lp.price, v))) return;
  if (!all) {
    offer_corner(l, v, &k, key > c->corner ? key - 1 : last, class);
    offer_corner(l, v, &k, key < last ? key + 1 : c->corner, class);
  }
  for (int32_t j = c->corner; j <= last && all; j++) offer_corner(l, v, &k, j, class);
}

static bool is_column(const berth_i_slot_lp *p, int32_t corner) {
  return p->column[0].corner == corner || p->column[1].corner == corner;
}

/* @return something does */
static bool entering(const berth_i_slot_solver *s, pivot *v, int32_t leaves) {
  const berth_i_slot_lp *p = &s->lp;
  const berth_i_slot_column *other = &p->column[1 - leaves];
  double sign = leaves == 0 ? 1 : -1;
  v->row[0] = sign * other->units[1] / v->det;
  v->row[1] = -sign * other->units[0] / v->det;
  v->ratio = INFINITY;
  v->alpha = 0;
  v->corner = INT32_MAX;
  if (!is_column(p, BERTH_I_SURPLUS_WORKERS))
    offer(v, p->price[0], -v->row[0], BERTH_I_SURPLUS_WORKERS, BERTH_NONE);
  if (!is_column(p, BERTH_I_SURPLUS_SERVERS))
    offer(v, p->price[1], -v->row[1], BERTH_I_SURPLUS_SERVERS, BERTH_NONE);
  for (int32_t k = v->g->from; k < v->g->from + v->g->n; k++) offer_class(s, v, k, v->all);
  for (int32_t k = v->g->from; k < v->g->from + v->g->n && isinf(v->ratio); k++)
    offer_class(s, v, k, true);
  return v->ratio < INFINITY;
}

/* ---- the method ---- */

/* Any prices bound the cost: each machine at its best corner. */
static double bound_by_prices(const berth_i_slot_solver *s, const berth_i_slot_region *g) {
  const berth_i_slot_corners *l = &s->corners;
  double w = fmax(0, s->lp.price[0]), p = fmax(0, s->lp.price[1]),
         sum = w * s->lp.want[0] + p * s->lp.want[1];
  for (int32_t k = g->from; k < g->from + g->n; k++) {
    const berth_i_slot_class *c = &s->class[k];
    double least = 0;
    for (int32_t j = c->corner; j < c->corner + c->corners; j++)
      least = fmin(least, l->cost[j] - w * l->units[0][j] - p * l->units[1][j]);
    sum += c->count * least;
  }
  return fmax(0, sum);
}

/* @return false: nothing is feasible */
static bool pivot_until_solved(berth_i_slot_solver *s, const berth_i_slot_region *g, bool all) {
  berth_i_slot_lp *p = &s->lp;
  pivot v = { .g = g, .all = all };
  int32_t idle = 0, most = 1000 + 20 * s->corners.n;
  compute(p, &v);
  int32_t n, leaves;
  for (n = 0; n < most && (leaves = leaving(s, &v)) != BERTH_NONE; n++) {
    if (!entering(s, &v, leaves)) return false;
    idle = v.ratio > 0 ? 0 : idle + 1;
    v.bland = idle > STALL;
    p->column[leaves] = column_of(s, v.corner, v.class);
    compute(p, &v);
    s->counts.pivots++;
  }
  p->solved = n < most;
  return true;
}

static double cost_of_basis(const berth_i_slot_solver *s, const berth_i_slot_region *g) {
  const berth_i_slot_lp *p = &s->lp;
  double sum = p->column[0].cost * p->column[0].amount + p->column[1].cost * p->column[1].amount;
  for (int32_t k = g->from; k < g->from + g->n; k++)
    sum += s->class[k].count * s->corners.cost[p->key[k]];
  return sum;
}

static void run(berth_i_slot_solver *s, const berth_i_slot_region *g, berth_i_slot_want want,
                bool all) {
  s->lp.solved = false;
  berth_i_slot_lp *p = &s->lp;
  for (int32_t k = g->from; k < g->from + g->n; k++) p->key[k] = s->class[k].corner;
  p->column[0] = column_of(s, BERTH_I_SURPLUS_WORKERS, BERTH_NONE);
  p->column[1] = column_of(s, BERTH_I_SURPLUS_SERVERS, BERTH_NONE);
  for (int32_t i = 0; i < 2; i++) {
    p->base[i] = 0;
    p->want[i] = want.units[i];
  }
  s->lp.bound = pivot_until_solved(s, g, all) ? bound_by_prices(s, g) : INFINITY;
  if (s->lp.solved) s->lp.solved = cost_of_basis(s, g) <= s->lp.bound * (1 + 1e-9);
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
    p->share[p->shares - 1].workers += part * s->corners.units[0][corner];
    p->share[p->shares - 1].servers += part * s->corners.units[1][corner];
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
