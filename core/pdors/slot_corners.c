/* One slot: the polygon of what fits on one machine of a class, workers across and servers up.
 * Either that of the linear program, or the hull of its whole points. */
#include "slot_internal.h"

/* Where more workers than this fit on a machine, whole points make no difference, and would take
 * long. */
enum { MOST_POINTS = 4096 };

typedef struct point {
  double workers, servers;
} point;

static void put(berth_i_slot_solver *s, berth_i_slot_class *c, point p) {
  berth_i_slot_corners *l = &s->corners;
  size_t need = (size_t)l->n + 1;
  if (l->st == BERTH_OK) l->st = BERTH_I_POOL_GROW(&s->pool, l->units[0], l->cap[0], need);
  if (l->st == BERTH_OK) l->st = BERTH_I_POOL_GROW(&s->pool, l->units[1], l->cap[1], need);
  if (l->st == BERTH_OK) l->st = BERTH_I_POOL_GROW(&s->pool, l->cost, l->cap[2], need);
  if (l->st != BERTH_OK) return;
  l->units[0][l->n] = p.workers;
  l->units[1][l->n] = p.servers;
  l->cost[l->n++] =
      (p.workers > 0 ? p.workers * c->worker : 0) + (p.servers > 0 ? p.servers * c->server : 0);
  c->corners++;
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

/* Along the lowest line from 0 workers on. Corners that rounding errors make of one would hide each
 * other's neighbours. O(resources^2) */
static void draw_plain(berth_i_slot_solver *s, berth_i_slot_class *c) {
  const berth_i_slot_corners *corners = &s->corners;
  line l[BERTH_PS_RESOURCES + 1];
  int32_t n = list_lines(s, c, l), at = first_line(l, n);
  double most = most_workers(s, c), from = 0;
  while (corners->st == BERTH_OK) {
    point p = { from, fmax(0, l[at].at_0 - l[at].slope * from) };
    double cut;
    int32_t next = next_line(l, n, at, &cut), last = corners->n - 1;
    bool drawn = p.workers > 0 || p.servers > 0;
    if (p.servers < 1e-9 * (1 + p.workers)) p.servers = 0;
    if (drawn && fabs(p.workers - corners->units[0][last])
                         + fabs(p.servers - corners->units[1][last]) >
                     1e-9 * (p.workers + p.servers))
      put(s, c, p);
    if (from >= most) break;
    if (next != BERTH_NONE && cut < most) at = next;
    from = next == BERTH_NONE ? most : fmax(from, fmin(cut, most));
  }
}

/* ---- all ---- */

berth_status berth_i_slot_draw(berth_i_slot_solver *s) {
  berth_i_slot_corners *l = &s->corners;
  if (s->drawn) return BERTH_OK;
  l->n = 0;
  l->st = BERTH_OK;
  for (int32_t k = 0; k < s->classes && l->st == BERTH_OK; k++) {
    berth_i_slot_class *c = &s->class[k];
    c->corner = l->n;
    c->corners = 0;
    put(s, c, (point){ 0, 0 });
    if (l->st != BERTH_OK) break;
    if (s->whole && c->most_workers <= MOST_POINTS) {
      /* O(workers * resources) */
      int32_t most = most_servers(s, c);
      for (int32_t w = 0; w <= c->most_workers && s->corners.st == BERTH_OK; w++) {
        point p = { w, berth_i_slot_most_more(s, c, 1, w, 0, most) };
        if (w == 0 && p.servers == 0) continue;
        uncover(s, c, p);
        put(s, c, p);
      }
    } else draw_plain(s, c);
    if (l->units[0][l->n - 1] > 0 && l->units[1][l->n - 1] > 0)
      put(s, c, (point){ l->units[0][l->n - 1], 0 });
  }
  s->drawn = l->st == BERTH_OK;
  return l->st;
}
