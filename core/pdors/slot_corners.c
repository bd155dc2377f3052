/* One slot: the polygon of what fits on one machine of a class, workers across and servers up.
 * Either that of the linear program, or the hull of its whole points. */
#include "slot_internal.h"

/* Where more workers than this fit on a machine, whole points make no difference, and would take
 * long. */
enum { MOST_POINTS = 4096 };

typedef struct point {
  double workers, servers;
} point;

static berth_status put(berth_i_slot_solver *s, berth_i_slot_class *c, point p) {
  berth_i_slot_corners *l = &s->corners;
  double **array[3] = { &l->units[0], &l->units[1], &l->cost };
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < 3 && st == BERTH_OK; i++)
    st = berth_i_pool_grow(&s->pool, (void **)array[i], &l->cap[i], (size_t)l->n + 1,
                           sizeof **array[i]);
  if (st != BERTH_OK) return st;
  l->units[0][l->n] = p.workers;
  l->units[1][l->n] = p.servers;
  l->cost[l->n++] =
      (p.workers > 0 ? p.workers * c->worker : 0) + (p.servers > 0 ? p.servers * c->server : 0);
  c->corners++;
  return BERTH_OK;
}

/* More of them on one machine are never needed. */
static int32_t most_servers(const berth_i_slot_solver *s, const berth_i_slot_class *c) {
  double all = fmax(1, ceil(s->job->batch / s->job->ratio * (1 - 1e-12)));
  return (int32_t)fmin(c->most_servers, all);
}

/* ---- whole points ---- */

/* b is on or below the line from a to c. */
static bool below(point a, point b, point c) {
  return (b.servers - a.servers) * (c.workers - a.workers)
         <= (c.servers - a.servers) * (b.workers - a.workers);
}

/* The last corners of the class that the new point hides go. The chain begins at (0, 0), or above
 * it. */
static void uncover(berth_i_slot_solver *s, berth_i_slot_class *c, point p) {
  berth_i_slot_corners *l = &s->corners;
  int32_t before = c->corners > 1 && l->units[0][c->corner + 1] == 0 ? 1 : 0;
  while (c->corners - before >= 2) {
    point a = { l->units[0][l->n - 2], l->units[1][l->n - 2] },
          b = { l->units[0][l->n - 1], l->units[1][l->n - 1] };
    if (!below(a, b, p)) return;
    l->n--;
    c->corners--;
  }
}

/* O(workers * resources) */
static berth_status draw_whole(berth_i_slot_solver *s, berth_i_slot_class *c) {
  int32_t most = most_servers(s, c);
  berth_status st = BERTH_OK;
  for (int32_t w = 0; w <= c->most_workers && st == BERTH_OK; w++) {
    point p = { w, berth_i_slot_most_more(s, c, 1, w, 0, most) };
    if (w == 0 && p.servers == 0) continue;
    uncover(s, c, p);
    st = put(s, c, p);
  }
  return st;
}

/* ---- the linear program's ---- */

/* servers <= at_0 - slope workers */
typedef struct line {
  double at_0, slope;
} line;

static int32_t list_lines(const berth_i_slot_solver *s, const berth_i_slot_class *c, line *out) {
  int32_t n = 0;
  out[n++] = (line){
    most_servers(s, c) < c->most_servers || c->most_servers == 0 ? most_servers(s, c) : INFINITY, 0
  };
  for (int32_t r = 0; r < s->resources && c->most_servers > 0; r++)
    if (s->takes[1][r] > 0)
      out[n++] = (line){ c->left[r] / s->takes[1][r], s->takes[0][r] / s->takes[1][r] };
  return n;
}

static double most_workers(const berth_i_slot_solver *s, const berth_i_slot_class *c) {
  double most = c->most_workers > 0 ? s->job->batch : 0;
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[0][r] > 0) most = fmin(most, c->left[r] / s->takes[0][r]);
  return most;
}

/* Lowest where it starts; the steepest of several. */
static int32_t first_line(const line *l, int32_t n) {
  int32_t best = 0;
  for (int32_t i = 1; i < n; i++)
    if (l[i].at_0 < l[best].at_0 || (l[i].at_0 == l[best].at_0 && l[i].slope > l[best].slope))
      best = i;
  return best;
}

/* The steeper one that cuts it first. */
static int32_t next_line(const line *l, int32_t n, int32_t at, double *where) {
  int32_t best = BERTH_NONE;
  *where = INFINITY;
  for (int32_t i = 0; i < n; i++) {
    if (!(l[i].slope > l[at].slope)) continue;
    double cut = (l[i].at_0 - l[at].at_0) / (l[i].slope - l[at].slope);
    if (cut > *where || (cut == *where && l[i].slope < l[best].slope)) continue;
    *where = cut;
    best = i;
  }
  return best;
}

/* Corners that rounding errors make of one would hide each other's neighbours. */
static berth_status put_apart(berth_i_slot_solver *s, berth_i_slot_class *c, point p) {
  const berth_i_slot_corners *l = &s->corners;
  if (p.servers < 1e-9 * (1 + p.workers)) p.servers = 0;
  if (fabs(p.workers - l->units[0][l->n - 1]) + fabs(p.servers - l->units[1][l->n - 1])
      <= 1e-9 * (p.workers + p.servers))
    return BERTH_OK;
  return put(s, c, p);
}

/* O(resources^2) */
static berth_status draw_plain(berth_i_slot_solver *s, berth_i_slot_class *c) {
  line l[BERTH_PS_RESOURCES + 1];
  int32_t n = list_lines(s, c, l), at = first_line(l, n);
  double most = most_workers(s, c), from = 0;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK) {
    double servers = fmax(0, l[at].at_0 - l[at].slope * from), cut;
    int32_t next = next_line(l, n, at, &cut);
    if (from > 0 || servers > 0) st = put_apart(s, c, (point){ from, servers });
    if (st != BERTH_OK || from >= most) break;
    if (next != BERTH_NONE && cut < most) at = next;
    from = next == BERTH_NONE ? most : fmax(from, fmin(cut, most));
  }
  return st;
}

/* ---- all ---- */

static berth_status draw(berth_i_slot_solver *s, berth_i_slot_class *c) {
  berth_i_slot_corners *l = &s->corners;
  c->corner = l->n;
  c->corners = 0;
  berth_status st;
  if ((st = put(s, c, (point){ 0, 0 })) != BERTH_OK) return st;
  if ((st = s->whole && c->most_workers <= MOST_POINTS ? draw_whole(s, c) : draw_plain(s, c))
      != BERTH_OK)
    return st;
  if (l->units[0][l->n - 1] > 0 && l->units[1][l->n - 1] > 0)
    st = put(s, c, (point){ l->units[0][l->n - 1], 0 });
  return st;
}

berth_status berth_i_slot_draw(berth_i_slot_solver *s) {
  berth_status st = BERTH_OK;
  if (s->drawn) return BERTH_OK;
  s->corners.n = 0;
  for (int32_t k = 0; k < s->classes && st == BERTH_OK; k++) st = draw(s, &s->class[k]);
  s->drawn = st == BERTH_OK;
  return st;
}
