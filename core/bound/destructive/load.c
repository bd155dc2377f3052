/* Work that all devices must do within an interval (from, to), given the windows of the ops.
 * Structure: heavy ops by cluster; clusters are items that no device can split, which is why dual
 * feasible functions apply (dual.c); groups are clusters that a join or a fork keeps together, or
 * separates at a price. Ends of intervals are heads, dues and their earliest ends and latest
 * starts, at most POINTS each way.
 * Invariant: weight[k] is a lower bound of what cluster k does within the interval on any device.
 * O(POINTS^2 (ops + clusters^2)).
 * Source: energetic reasoning, Erschler, Lopez, Thuriot 1991; Baptiste, Le Pape, Nuijten 1999. */
#include "destructive_internal.h"
#include "base/sort_internal.h"

typedef struct loads {
  const berth_i_destruct_state *s;
  int32_t heavy, clusters, groups, joins; /* groups below `joins` are joins, the others forks */
  const int32_t *op;          /* [heavy], cluster by cluster */
  double *op_head, *op_due, *op_p; /* [heavy] */
  int32_t *last;              /* [clusters] end of its heavy ops */
  int32_t *cluster;           /* [ops] of heavy ops */
  int32_t *group, *next_to;   /* [clusters] BERTH_NONE: none; the op whose edge is open, or none:
                                 v's own cluster */
  double *least;              /* [heavy] work within the interval at least */
  double *sum, *whole, *head, *due; /* [clusters] least work, all work, window */
  double *apart;              /* [clusters] head (forks) or due (joins) of next_to if it crosses */
  double *weight;             /* [clusters] work within the interval */
  double *group_sum, *group_all, *group_head, *group_due; /* [groups] */
  double *rate_sum, *rate_all, *rate_least; /* [clusters] work within the interval, all of it, on
                                               one kind; least price */
  double *start, *end;        /* [2 ops] ends of intervals */
  double from, to;
  int32_t width;
} loads;

static double least_work(double head, double due, double p, double from, double to) {
  double work = berth_i_min(berth_i_min(p, to - from),
                            berth_i_min(head + p - from, to - (due - p)));
  return berth_i_max(0, work);
}

static void add_heavy(berth_i_destruct *b, loads *w, int32_t x) {
  const berth_i_destruct_state *s = w->s;
  int32_t k = w->clusters, i = w->heavy++;
  b->list[i] = x;
  w->cluster[x] = k;
  w->op_head[i] = s->h[0][x], w->op_due[i] = berth_i_destruct_due(s, x), w->op_p[i] = s->p[x];
  w->whole[k] += w->op_p[i];
  w->head[k] = berth_i_min(w->head[k], w->op_head[i]);
  w->due[k] = berth_i_max(w->due[k], w->op_due[i]);
}

static void list_heavy(berth_i_destruct *b, loads *w) {
  const berth_i_destruct_state *s = w->s;
  for (int32_t label = 0; label < s->g->n; label++) {
    int32_t k = w->clusters, first = w->heavy, x = label;
    if (s->label[label] != label) continue;
    w->whole[k] = 0, w->head[k] = INFINITY, w->due[k] = 0;
    w->group[k] = w->next_to[k] = BERTH_NONE;
    do {
      w->cluster[x] = BERTH_NONE;
      if (s->p[x] >= s->limit / 2000) add_heavy(b, w, x);
    } while ((x = s->next[x]) != label);
    w->last[k] = w->heavy;
    if (w->heavy > first) w->clusters++;
  }
  b->work += 3 * s->g->n;
}

/* ---- groups ---- */

/* Of v, dir 0: those joined at v, dir 1: forked there. A cluster with an open edge to v shares v's
 * device, or the edge crosses: then the window of the op next to v is narrower. Every cluster is in
 * one group at most. */
static void list_groups(berth_i_destruct *b, loads *w, int dir) {
  const berth_i_destruct_state *s = w->s;
  const berth_i_destruct_dag *g = s->g;
  int32_t *home_of = b->scratch;
  for (int32_t v = 0; v < g->n; v++) home_of[v] = BERTH_NONE;
  for (int32_t v = 0; v < g->n; v++) {
    if (w->cluster[v] != BERTH_NONE) home_of[s->label[v]] = w->cluster[v];
  }
  for (int32_t v = 0; v < g->n; v++) {
    int32_t home = home_of[s->label[v]];
    bool any = false;
    for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
      int32_t e = g->edge[dir][i], u = g->end[dir][e], k = w->cluster[u];
      double reach = s->h[!dir][v] + s->p[v] + g->c[e];
      if (k == BERTH_NONE || k == home || s->edge[e] != BERTH_I_DESTRUCT_OPEN
          || w->group[k] != BERTH_NONE || isinf(g->c[e]))
        continue;
      w->group[k] = w->groups;
      w->next_to[k] = u;
      w->apart[k] = dir ? reach : s->limit - reach;
      any = true;
    }
    b->work += g->at[dir][v + 1] - g->at[dir][v];
    if (!any) continue;
    if (home != BERTH_NONE && w->group[home] == BERTH_NONE) w->group[home] = w->groups;
    w->groups++;
  }
}

/* The cluster's work if it is not on v's device. */
static double work_apart(const loads *w, int32_t k) {
  const berth_i_destruct_state *s = w->s;
  int32_t u = w->next_to[k];
  double head = s->h[0][u], due = berth_i_destruct_due(s, u), p = s->p[u];
  double before = least_work(head, due, p, w->from, w->to);
  if (w->group[k] < w->joins) due = berth_i_min(due, berth_i_max(w->apart[k], head + p));
  else head = berth_i_max(head, berth_i_min(w->apart[k], due - p));
  double after = least_work(head, due, p, w->from, w->to);
  return berth_i_max(w->weight[k], w->sum[k] - before + after);
}

/* All on one device but for what is separated; each of those may leave out there more than it would
 * here.
 * @return what the groups must do beyond the weights of their clusters */
static double group_extra(loads *w) {
  double extra = 0;
  int32_t g;
  for (g = 0; g < w->groups; g++) {
    w->group_sum[g] = w->group_all[g] = w->group_due[g] = 0;
    w->group_head[g] = INFINITY;
  }
  for (int32_t k = 0; k < w->clusters; k++) {
    if ((g = w->group[k]) == BERTH_NONE) continue;
    w->group_sum[g] += w->weight[k];
    w->group_all[g] +=
        w->next_to[k] == BERTH_NONE ? w->whole[k] : berth_i_min(w->whole[k], work_apart(w, k));
    w->group_head[g] = berth_i_min(w->group_head[g], w->head[k]);
    w->group_due[g] = berth_i_max(w->group_due[g], w->due[k]);
  }
  for (g = 0; g < w->groups; g++) {
    double out = berth_i_max(0, w->group_due[g] - w->to)
                 + berth_i_max(0, w->from - w->group_head[g]);
    extra += berth_i_max(0, w->group_all[g] - w->width * out - w->group_sum[g]);
  }
  return extra;
}

/* ---- one interval ---- */

static double weigh_clusters(berth_i_destruct *b, loads *w) {
  double total = 0;
  for (int32_t i = 0; i < w->heavy; i++)
    w->least[i] = least_work(w->op_head[i], w->op_due[i], w->op_p[i], w->from, w->to);
  for (int32_t k = 0, i = 0; k < w->clusters; k++) {
    double sum = 0;
    for (; i < w->last[k]; i++) sum += w->least[i];
    w->sum[k] = sum;
    double out = berth_i_max(0, w->due[k] - w->to) + berth_i_max(0, w->from - w->head[k]);
    w->weight[k] = berth_i_max(w->sum[k], w->whole[k] - w->width * out);
    total += w->weight[k];
  }
  b->work += w->heavy + w->clusters;
  return total;
}

/* An op that cannot run as early (late) as its window allows, because devices are taken. The
 * groups' extra is not in here: it may be its own. */
static void adjust(berth_i_destruct *b, berth_i_destruct_state *s, loads *w, double total) {
  double capacity = b->devices * (w->to - w->from);
  for (int32_t i = 0; i < w->heavy && !s->impossible; i++) {
    int32_t x = w->op[i], k = w->cluster[x];
    double slack = capacity - (total - w->weight[k]) - (w->sum[k] - w->least[i]);
    for (int32_t dir = 0; dir < 2; dir++) {
      double from = dir ? s->limit - w->to : w->from, to = dir ? s->limit - w->from : w->to,
             h = s->h[dir][x];
      double early = berth_i_min(h + s->p[x], to) - berth_i_max(h, from);
      if (early > slack + s->slip && slack >= 0) berth_i_destruct_lift(s, dir, x, to - slack);
    }
    w->op_head[i] = s->h[0][x], w->op_due[i] = berth_i_destruct_due(s, x);
  }
  b->work += w->heavy;
}

/* Unlike devices: every cluster costs at least what it does on the kind where that is least, and
 * all devices together are worth the length of the interval. */
static bool too_dear(berth_i_destruct *b, loads *w) {
  const berth_i_destruct_state *s = w->s;
  double total = 0;
  int32_t k;
  if (b->rates == 0) return false;
  for (k = 0; k < w->clusters; k++) w->rate_least[k] = INFINITY;
  for (int32_t j = 0; j < b->rates; j++) {
    const berth_i_destruct_rate *rate = &b->rate[j];
    for (k = 0; k < w->clusters; k++) w->rate_sum[k] = w->rate_all[k] = 0;
    for (int32_t i = 0; i < w->heavy; i++) {
      int32_t x = w->op[i], op = b->op[s->g->id[x]];
      double p = b->u->cost->op[(size_t)op * (size_t)b->classes + (size_t)rate->class_of];
      if (!(s->can[s->label[x]] & rate->places)) p = INFINITY;
      k = w->cluster[x];
      w->rate_all[k] += p;
      w->rate_sum[k] +=
          isinf(p) ? p : least_work(s->h[0][x], berth_i_destruct_due(s, x), p, w->from, w->to);
    }
    b->work += 2 * w->heavy;
    for (k = 0; k < w->clusters; k++) {
      double out = berth_i_max(0, w->due[k] - w->to) + berth_i_max(0, w->from - w->head[k]);
      double price = rate->price * berth_i_max(w->rate_sum[k], w->rate_all[k] - b->width * out);
      if (!isinf(w->rate_all[k])) w->rate_least[k] = berth_i_min(w->rate_least[k], price);
    }
  }
  for (k = 0; k < w->clusters; k++) total += w->rate_least[k];
  return total > (w->to - w->from) * (1 + 1e-9) + s->slip;
}

static bool unpackable(berth_i_destruct *b, loads *w) {
  int32_t n = 0;
  double *x = w->group_sum; /* not in use any more */
  for (int32_t k = 0; k < w->clusters; k++) {
    double part = w->weight[k] / (w->width * (w->to - w->from));
    if (part > 1e-3) x[n++] = berth_i_min(1, part);
  }
  b->work += 24 * n;
  return berth_i_destruct_overfull(x, n, b->places);
}

static void check_interval(berth_i_destruct *b, berth_i_destruct_state *s, loads *w) {
  double total = weigh_clusters(b, w), length = w->to - w->from, capacity = b->devices * length,
         slip = b->devices * s->slip;
  for (int32_t k = 0; k < w->clusters; k++) {
    if (w->weight[k] > w->width * (length + s->slip)) s->impossible = true;
  }
  if (s->impossible || total > capacity + slip || too_dear(b, w)) s->impossible = true;
  else if (w->groups > 0 && total + group_extra(w) > capacity + slip) s->impossible = true;
  else if ((b->rules & BERTH_I_DESTRUCT_DUAL) && total > capacity / 2 && unpackable(b, w))
    s->impossible = true;
  else if ((b->rules & BERTH_I_DESTRUCT_ENERGY) && total > capacity / 2) adjust(b, s, w, total);
}

/* ---- all of them ---- */

/* Near-equal ones once (the earliest, or the latest), and not more than POINTS. */
static int32_t thin(double *x, int32_t n, double near, bool latest) {
  int32_t kept = 0;
  berth_i_sort_numbers(x, n);
  for (int32_t i = 0; i < n; i++) {
    if (kept == 0 || x[i] - x[kept - 1] > near) x[kept++] = x[i];
    else if (latest) x[kept - 1] = x[i];
  }
  for (int32_t i = 0; kept > BERTH_I_DESTRUCT_POINTS && i < BERTH_I_DESTRUCT_POINTS; i++) {
    x[i] = x[(int64_t)i * (kept - 1) / (BERTH_I_DESTRUCT_POINTS - 1)];
  }
  return kept < BERTH_I_DESTRUCT_POINTS ? kept : BERTH_I_DESTRUCT_POINTS;
}

static void init_loads(berth_i_destruct *b, berth_i_destruct_state *s, loads *w) {
  double **column[] = { &w->least,     &w->sum,        &w->whole,     &w->head,     &w->due,
                        &w->apart,     &w->weight,     &w->group_sum, &w->group_all,
                        &w->group_head, &w->group_due, &w->rate_sum,  &w->rate_all,
                        &w->rate_least, &w->op_head,   &w->op_due,   &w->op_p,
                        &w->start };
  size_t n = (size_t)b->n;
  *w = (loads){ .s = s, .width = b->width, .op = b->list, .cluster = b->mark };
  w->group = b->mark + n, w->next_to = b->mark + 2 * n, w->last = b->mark + 3 * n;
  for (size_t i = 0; i < sizeof column / sizeof *column; i++) *column[i] = b->real + i * n;
  w->end = w->start + 2 * n;
}

void berth_i_destruct_loads(berth_i_destruct *b, berth_i_destruct_state *s) {
  loads w;
  init_loads(b, s, &w);
  list_heavy(b, &w);
  if (w.heavy == 0) return;
  for (int dir = 0; dir < 2 && (b->rules & BERTH_I_DESTRUCT_GROUPS); dir++) {
    w.joins = w.groups;
    list_groups(b, &w, dir);
  }
  for (int32_t i = 0; i < w.heavy; i++) {
    int32_t x = w.op[i];
    w.start[2 * i] = s->h[0][x], w.start[2 * i + 1] = berth_i_destruct_due(s, x) - s->p[x];
    w.end[2 * i] = berth_i_destruct_due(s, x), w.end[2 * i + 1] = s->h[0][x] + s->p[x];
  }
  int32_t starts = thin(w.start, 2 * w.heavy, s->limit / 2000, false);
  int32_t ends = thin(w.end, 2 * w.heavy, s->limit / 2000, true);
  b->work += 16 * w.heavy;
  for (int32_t i = 0; i < starts; i++) {
    for (int32_t j = 0; j < ends && !s->impossible && b->work < b->most; j++) {
      w.from = w.start[i], w.to = w.end[j];
      if (w.to - w.from > s->limit / 1000) check_interval(b, s, &w);
    }
  }
}
