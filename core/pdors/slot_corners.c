/* One slot: the polygon of what fits on one machine of a class, workers across and servers up. Its
 * corners begin with (0, 0), then go by workers ascending, and end on the axis of workers. Either
 * the polygon of the linear program, which resources cut out, O(resources^2); or the hull of its
 * whole points (Andrew's monotone chain), O(workers resources), whose program has a better
 * bound. */
#include "slot_internal.h"

/* Where more workers than this fit on a machine, whole points make no difference, and would take
 * long. */
enum { MOST_POINTS = 4096 };

static berth_status add(berth_i_slot_solver *s, berth_i_slot_class *c, double workers,
                        double servers) {
  berth_status st =
      BERTH_I_POOL_GROW(&s->pool, s->corner, s->corner_cap, (size_t)s->corners + 1);
  if (st != BERTH_OK) return st;
  s->corner[s->corners++] =
      (berth_i_slot_corner){ { workers, servers }, berth_i_slot_cost(c, workers, servers) };
  c->corners++;
  return BERTH_OK;
}

static berth_status draw_whole(berth_i_slot_solver *s, berth_i_slot_class *c,
                               int32_t most_servers) {
  for (int32_t w = 0; w <= c->most[0]; w++) {
    double servers = berth_i_slot_most_more(s, c, 1, w, 0, most_servers);
    if (w == 0 && servers == 0) continue;
    /* Corners on or below the line from the one before them to the new point go. The chain begins
     * at (0, 0), or above it. */
    int32_t first = c->corners > 1 && s->corner[c->corner + 1].units[0] == 0 ? 1 : 0;
    while (c->corners - first >= 2) {
      const double *a = s->corner[s->corners - 2].units, *b = s->corner[s->corners - 1].units;
      if ((b[1] - a[1]) * (w - a[0]) > (servers - a[1]) * (b[0] - a[0])) break;
      s->corners--;
      c->corners--;
    }
    berth_status st = add(s, c, w, servers);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status draw_plain(berth_i_slot_solver *s, berth_i_slot_class *c,
                               int32_t most_servers) {
  /* 1. Lines servers <= at_0 - slope workers: the most servers, then the resources. */
  struct { double at_0, slope; } l[BERTH_PS_RESOURCES + 1];
  int32_t n = 0, at = 0;
  double most = c->most[0] > 0 ? s->job->batch : 0;
  l[n].slope = 0;
  l[n++].at_0 = most_servers < c->most[1] || c->most[1] == 0 ? most_servers : INFINITY;
  for (int32_t r = 0; r < s->resources; r++) {
    if (s->takes[0][r] > 0) most = fmin(most, c->left[r] / s->takes[0][r]);
    if (!(s->takes[1][r] > 0) || c->most[1] == 0) continue;
    l[n].slope = s->takes[0][r] / s->takes[1][r];
    l[n++].at_0 = c->left[r] / s->takes[1][r];
  }
  /* 2. The lowest at 0 workers; the steepest of several. */
  for (int32_t i = 1; i < n; i++)
    if (l[i].at_0 < l[at].at_0 || (l[i].at_0 == l[at].at_0 && l[i].slope > l[at].slope)) at = i;
  /* 3. Along it, and on along the steeper line that cuts it first. Corners that rounding errors
   * make of one would hide each other's neighbours. */
  for (double from = 0;;) {
    double servers = fmax(0, l[at].at_0 - l[at].slope * from), cut = INFINITY;
    if (servers < 1e-9 * (1 + from)) servers = 0;
    const double *last = s->corner[s->corners - 1].units;
    if (fabs(from - last[0]) + fabs(servers - last[1]) > 1e-9 * (from + servers)) {
      berth_status st = add(s, c, from, servers);
      if (st != BERTH_OK) return st;
    }
    if (from >= most) return BERTH_OK;
    int32_t next = BERTH_NONE;
    for (int32_t i = 0; i < n; i++) {
      if (!(l[i].slope > l[at].slope)) continue;
      double here = (l[i].at_0 - l[at].at_0) / (l[i].slope - l[at].slope);
      if (here > cut || (here == cut && l[i].slope < l[next].slope)) continue;
      cut = here;
      next = i;
    }
    if (next != BERTH_NONE && cut < most) at = next;
    from = next == BERTH_NONE ? most : fmax(from, fmin(cut, most));
  }
}

berth_status berth_i_slot_draw(berth_i_slot_solver *s) {
  if (s->drawn) return BERTH_OK;
  s->corners = 0;
  for (int32_t k = 0; k < s->classes; k++) {
    berth_i_slot_class *c = &s->class[k];
    /* more servers than that on one machine are never needed */
    int32_t servers = (int32_t)fmin(c->most[1], berth_i_pdors_servers(s->job, s->job->batch));
    c->corner = s->corners;
    c->corners = 0;
    berth_status st = add(s, c, 0, 0);
    if (st == BERTH_OK)
      st = s->whole && c->most[0] <= MOST_POINTS ? draw_whole(s, c, servers)
                                                 : draw_plain(s, c, servers);
    if (st != BERTH_OK) return st;
    const double *last = s->corner[s->corners - 1].units;
    if (last[0] > 0 && last[1] > 0 && (st = add(s, c, last[0], 0)) != BERTH_OK) return st;
  }
  s->drawn = true;
  return BERTH_OK;
}
