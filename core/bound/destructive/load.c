/* Work that all devices must do within an interval. Clusters are items that no device can split. */
#include "destructive_internal.h"
#include "base/sort_internal.h"

typedef struct loads {
  const berth_i_destruct_state *s;
  int32_t heavy, clusters, groups, joins; /* groups below `joins` are joins, the others forks */
  const int32_t *op;          /* [heavy] */
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
  double from, to;
  int32_t width;
} loads;

static double least_work(double head, double due, double p, double from, double to) {
  double work = fmin(fmin(p, to - from), fmin(head + p - from, to - (due - p)));
  return fmax(0, work);
}

static void add_to_cluster(loads *w, int32_t op, int32_t k) {
  const berth_i_destruct_state *s = w->s;
  w->whole[k] += s->p[op];
  w->head[k] = fmin(w->head[k], s->h[0][op]);
  w->due[k] = fmax(w->due[k], berth_i_destruct_due(s, op));
}

static void list_heavy(berth_i_destruct *b, loads *w) {
  const berth_i_destruct_state *s = w->s;
  int32_t *of_label = b->scratch;
  for (int32_t x = 0; x < s->g->n; x++) of_label[x] = w->cluster[x] = BERTH_NONE;
  for (int32_t x = 0; x < s->g->n; x++) {
    int32_t *k = &of_label[s->label[x]];
    if (s->p[x] < s->limit / 2000) continue;
    if (*k == BERTH_NONE) {
      *k = w->clusters++;
      w->whole[*k] = 0, w->head[*k] = INFINITY, w->due[*k] = 0;
      w->group[*k] = w->next_to[*k] = BERTH_NONE;
    }
    b->list[w->heavy++] = x;
    w->cluster[x] = *k;
    add_to_cluster(w, x, *k);
  }
  b->work += 3 * s->g->n;
}

/* ---- groups ---- */

static void join_group(loads *w, int32_t k, int32_t next_to, double apart) {
  int32_t g = w->groups;
  w->group[k] = g;
  w->next_to[k] = next_to;
  w->apart[k] = apart;
}

/* A cluster with an open edge to v shares v's device, or the edge crosses: then the window of the
 * op next to v is narrower.
 * @return clusters of the group of v */
static int32_t gather(berth_i_destruct *b, loads *w, int dir, int32_t v, int32_t home) {
  const berth_i_destruct_state *s = w->s;
  const berth_i_destruct_dag *g = s->g;
  int32_t n = 0;
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t e = g->edge[dir][i], u = g->end[dir][e], k = w->cluster[u];
    double reach = s->h[!dir][v] + s->p[v] + g->c[e];
    if (k == BERTH_NONE || k == home || s->edge[e] != BERTH_I_DESTRUCT_OPEN ||
        w->group[k] != BERTH_NONE || isinf(g->c[e]))
      continue;
    join_group(w, k, u, dir ? reach : s->limit - reach);
    n++;
  }
  b->work += g->at[dir][v + 1] - g->at[dir][v];
  return n;
}

/* Every cluster is in one group at most. */
static void list_groups(berth_i_destruct *b, loads *w, int dir) {
  const berth_i_destruct_state *s = w->s;
  int32_t *home_of = b->scratch;
  for (int32_t v = 0; v < s->g->n; v++) home_of[v] = BERTH_NONE;
  for (int32_t v = 0; v < s->g->n; v++) {
    if (w->cluster[v] != BERTH_NONE) home_of[s->label[v]] = w->cluster[v];
  }
  for (int32_t v = 0; v < s->g->n; v++) {
    int32_t home = home_of[s->label[v]], n = gather(b, w, dir, v, home);
    if (n == 0) continue;
    if (home != BERTH_NONE && w->group[home] == BERTH_NONE) join_group(w, home, BERTH_NONE, 0);
    w->groups++;
  }
}

static void list_all_groups(berth_i_destruct *b, loads *w) {
  list_groups(b, w, 0);
  w->joins = w->groups;
  list_groups(b, w, 1);
}

/* The cluster's work if it is not on v's device. */
static double work_apart(const loads *w, int32_t k) {
  const berth_i_destruct_state *s = w->s;
  int32_t u = w->next_to[k];
  double head = s->h[0][u], due = berth_i_destruct_due(s, u), p = s->p[u];
  double before = least_work(head, due, p, w->from, w->to);
  if (w->group[k] < w->joins) due = fmin(due, fmax(w->apart[k], head + p));
  else head = fmax(head, fmin(w->apart[k], due - p));
  double after = least_work(head, due, p, w->from, w->to);
  return fmax(w->weight[k], w->sum[k] - before + after);
}

static void open_groups(loads *w) {
  for (int32_t g = 0; g < w->groups; g++) {
    w->group_sum[g] = w->group_all[g] = w->group_due[g] = 0;
    w->group_head[g] = INFINITY;
  }
}

/* All on one device but for what is separated; each of those may leave out there more than it would
 * here.
 * @return what the groups must do beyond the weights of their clusters */
static double group_extra(loads *w) {
  double extra = 0;
  open_groups(w);
  int32_t g;
  for (int32_t k = 0; k < w->clusters; k++) {
    if ((g = w->group[k]) == BERTH_NONE) continue;
    w->group_sum[g] += w->weight[k];
    w->group_all[g] +=
        w->next_to[k] == BERTH_NONE ? w->whole[k] : fmin(w->whole[k], work_apart(w, k));
    w->group_head[g] = fmin(w->group_head[g], w->head[k]);
    w->group_due[g] = fmax(w->group_due[g], w->due[k]);
  }
  for (g = 0; g < w->groups; g++) {
    double out = fmax(0, w->group_due[g] - w->to) + fmax(0, w->from - w->group_head[g]);
    extra += fmax(0, w->group_all[g] - w->width * out - w->group_sum[g]);
  }
  return extra;
}

/* ---- one interval ---- */

static double weigh(berth_i_destruct *b, loads *w) {
  const berth_i_destruct_state *s = w->s;
  double total = 0;
  for (int32_t k = 0; k < w->clusters; k++) w->sum[k] = 0;
  for (int32_t i = 0; i < w->heavy; i++) {
    int32_t x = w->op[i];
    w->least[i] = least_work(s->h[0][x], berth_i_destruct_due(s, x), s->p[x], w->from, w->to);
    w->sum[w->cluster[x]] += w->least[i];
  }
  for (int32_t k = 0; k < w->clusters; k++) {
    double out = fmax(0, w->due[k] - w->to) + fmax(0, w->from - w->head[k]);
    w->weight[k] = fmax(w->sum[k], w->whole[k] - w->width * out);
    total += w->weight[k];
  }
  b->work += w->heavy + w->clusters;
  return total;
}

/* An op that cannot run as early (late) as it might, for want of devices. The groups' extra is not
 * in here: it may be its own. */
static void adjust(berth_i_destruct *b, berth_i_destruct_state *s, const loads *w, double total) {
  double capacity = b->devices * (w->to - w->from);
  for (int32_t i = 0; i < w->heavy && !s->impossible; i++) {
    int32_t x = w->op[i], k = w->cluster[x];
    double slack = capacity - (total - w->weight[k]) - (w->sum[k] - w->least[i]);
    for (int32_t dir = 0; dir < 2; dir++) {
      double from = dir ? s->limit - w->to : w->from, to = dir ? s->limit - w->from : w->to,
             h = s->h[dir][x];
      double early = fmin(h + s->p[x], to) - fmax(h, from);
      if (early > slack + s->slip && slack >= 0) berth_i_destruct_lift(s, dir, x, to - slack);
    }
  }
  b->work += w->heavy;
}

/* The cluster on devices of one kind; INFINITY: they cannot run it. */
static double cost_at(const berth_i_destruct *b, const loads *w, int32_t k,
                      const berth_i_destruct_rate *rate) {
  double out = fmax(0, w->due[k] - w->to) + fmax(0, w->from - w->head[k]);
  return rate->price * fmax(w->rate_sum[k], w->rate_all[k] - b->width * out);
}

static void sum_at(berth_i_destruct *b, loads *w, const berth_i_destruct_rate *rate) {
  const berth_i_destruct_state *s = w->s;
  int32_t k;
  for (k = 0; k < w->clusters; k++) w->rate_sum[k] = w->rate_all[k] = 0;
  for (int32_t i = 0; i < w->heavy; i++) {
    int32_t x = w->op[i];
    double p =
        b->u->cost->op[(size_t)b->op[s->g->id[x]] * (size_t)b->classes + (size_t)rate->class_of];
    if (!(s->can[s->label[x]] & rate->places)) p = INFINITY;
    k = w->cluster[x];
    w->rate_all[k] += p;
    w->rate_sum[k] +=
        isinf(p) ? p : least_work(s->h[0][x], berth_i_destruct_due(s, x), p, w->from, w->to);
  }
  b->work += 2 * w->heavy;
}

/* Unlike devices: every cluster costs at least what it does where that is least, and all devices
 * together are worth the length of the interval. */
static bool too_dear(berth_i_destruct *b, loads *w) {
  double *least = w->rate_least, total = 0;
  if (b->rates == 0) return false;
  for (int32_t k = 0; k < w->clusters; k++) least[k] = INFINITY;
  for (int32_t j = 0; j < b->rates; j++) {
    sum_at(b, w, &b->rate[j]);
    for (int32_t k = 0; k < w->clusters; k++) {
      if (!isinf(w->rate_all[k])) least[k] = fmin(least[k], cost_at(b, w, k, &b->rate[j]));
    }
  }
  for (int32_t k = 0; k < w->clusters; k++) total += least[k];
  return total > (w->to - w->from) * (1 + 1e-9) + w->s->slip;
}

static bool too_large(const berth_i_destruct_state *s, const loads *w) {
  for (int32_t k = 0; k < w->clusters; k++) {
    if (w->weight[k] > w->width * (w->to - w->from + s->slip)) return true;
  }
  return false;
}

static bool unpackable(berth_i_destruct *b, loads *w) {
  int32_t n = 0;
  double *x = w->group_sum; /* not in use any more */
  for (int32_t k = 0; k < w->clusters; k++) {
    double part = w->weight[k] / (w->width * (w->to - w->from));
    if (part > 1e-3) x[n++] = fmin(1, part);
  }
  b->work += 12 * n;
  return berth_i_destruct_overfull(x, n, b->places);
}

static void check_interval(berth_i_destruct *b, berth_i_destruct_state *s, loads *w) {
  double total = weigh(b, w), capacity = b->devices * (w->to - w->from),
         slip = b->devices * s->slip;
  if (too_large(s, w) || total > capacity + slip) s->impossible = true;
  else if (too_dear(b, w)) s->impossible = true;
  else if ((b->rules & BERTH_I_DESTRUCT_GROUPS) && w->groups > 0
           && total + group_extra(w) > capacity + slip)
    s->impossible = true;
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

static void list_points(berth_i_destruct *b, const loads *w, double *from, int32_t *nf, double *to,
                        int32_t *nt) {
  const berth_i_destruct_state *s = w->s;
  for (int32_t i = 0; i < w->heavy; i++) {
    int32_t x = w->op[i];
    from[2 * i] = s->h[0][x], from[2 * i + 1] = berth_i_destruct_due(s, x) - s->p[x];
    to[2 * i] = berth_i_destruct_due(s, x), to[2 * i + 1] = s->h[0][x] + s->p[x];
  }
  *nf = thin(from, 2 * w->heavy, s->limit / 2000, false);
  *nt = thin(to, 2 * w->heavy, s->limit / 2000, true);
  b->work += 16 * w->heavy;
}

static void init_loads(berth_i_destruct *b, berth_i_destruct_state *s, loads *w) {
  double *r = b->real;
  int32_t n = b->n;
  memset(w, 0, sizeof *w);
  w->s = s;
  w->width = b->width;
  w->op = b->list;
  w->cluster = b->mark, w->group = b->mark + n, w->next_to = b->mark + 2 * (size_t)n;
  w->least = r, w->sum = r + n, w->whole = w->sum + n, w->head = w->whole + n, w->due = w->head + n,
  w->apart = w->due + n;
  w->weight = w->apart + n, w->group_sum = w->weight + n, w->group_all = w->group_sum + n,
  w->group_head = w->group_all + n;
  w->group_due = w->group_head + n;
  w->rate_sum = w->group_due + n, w->rate_all = w->rate_sum + n, w->rate_least = w->rate_all + n;
}

void berth_i_destruct_loads(berth_i_destruct *b, berth_i_destruct_state *s) {
  loads w;
  init_loads(b, s, &w);
  list_heavy(b, &w);
  if (w.heavy == 0) return;
  if (b->rules & BERTH_I_DESTRUCT_GROUPS) list_all_groups(b, &w);
  double *from, *to;
  from = w.rate_least + b->n, to = from + 2 * (size_t)b->n;
  int32_t nf, nt;
  list_points(b, &w, from, &nf, to, &nt);
  for (int32_t i = 0; i < nf; i++) {
    for (int32_t j = 0; j < nt && !s->impossible && b->work < b->most; j++) {
      w.from = from[i], w.to = to[j];
      if (w.to - w.from > s->limit / 1000) check_interval(b, s, &w);
    }
  }
}
