/* The network of the planner: what is free at moments to come, and what that is worth. Inputs: at
 * six moments the share of free servers and of free blocks of each counted size, and six numbers
 * of the choice; one hidden layer, squashed by x / (1 + |x|). All choices of a job share the units
 * of the outlook without it; a choice adds only what it changes. */
#include "ahead_internal.h"

enum { MOMENTS = BERTH_I_AHEAD_MOMENTS, SIZES = BERTH_I_AHEAD_SIZES };

/* Mean gaps after now at which what is free is an input of the network. */
static const double moment[MOMENTS] = { 1, 2, 3, 5, 8, 13 };

/* What is free at the moments to come if no other job arrives. */
typedef struct outlook {
  int32_t servers[MOMENTS];
  berth_i_servers busy[MOMENTS];
  berth_i_blocks blocks[MOMENTS];
  double x[MOMENTS * (SIZES + 1)];
} outlook;

static void set_inputs(const berth_pacml_ahead *a, int32_t n_busy, const berth_i_blocks *blocks,
                       const berth_i_blocks *hit, double *x) {
  x[0] = (double)(a->f.servers - n_busy) / a->f.servers;
  for (int32_t k = 0; k < a->n_counted; k++)
    x[k + 1] = (double)berth_i_count_bits32(blocks->of[k] & ~(hit ? hit->of[k] : 0)) / a->blocks[k];
}

static void estimate(const berth_pacml_ahead *a, const berth_i_ahead_state *s, outlook *o) {
  int32_t width = a->n_counted + 1;
  for (int32_t i = 0; i < MOMENTS; i++) {
    o->busy[i] = berth_i_fast_busy(&a->f, s->free_at, s->now + moment[i] * a->gap);
    if (i > 0 && berth_i_fast_equal(&a->f, o->busy[i].w, o->busy[i - 1].w)) {
      o->blocks[i] = o->blocks[i - 1];
      memcpy(o->x + i * width, o->x + (i - 1) * width, (size_t)width * sizeof *o->x);
    } else {
      o->blocks[i] = berth_i_blocks_free(a, &o->busy[i]);
      set_inputs(a, berth_i_fast_count(&a->f, o->busy[i].w), &o->blocks[i], NULL,
                 o->x + i * width);
    }
  }
}

/* c NULL: the job is refused.  @return how many moments it changes: those up to its end */
static int32_t inputs_of(const berth_pacml_ahead *a, const outlook *o, const berth_i_choice *c,
                         double limit, double *x) {
  int32_t width = a->n_counted + 1, at = MOMENTS * width,
          n = c ? berth_i_fast_count(&a->f, c->servers.w) : 0, changed = 0;
  memcpy(x, o->x, (size_t)at * sizeof *x);
  if (c) {
    berth_i_blocks hit = berth_i_blocks_hit(a, &c->servers);
    for (; changed < MOMENTS && c->jct > moment[changed] * a->gap; changed++) {
      /* no server of the choice is busy at any of the moments */
      int32_t n_busy = n + berth_i_fast_count(&a->f, o->busy[changed].w);
      set_inputs(a, n_busy, &o->blocks[changed], &hit, x + changed * width);
    }
  }
  x[at++] = c == NULL;
  x[at++] = (double)n / a->f.servers;
  x[at++] = c ? log2(1 + c->jct / a->gap) / 5 : 0;
  x[at++] = c ? c->jct / a->gap * n / a->f.servers : 0;
  x[at++] = c ? c->jct / limit : 0;
  x[at++] = c ? c->jct * (1 - c->jct / limit) / a->gap / 10 : 0;
  return changed;
}

void berth_i_ahead_inputs(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                          const berth_i_choice *c, double limit, double *x) {
  outlook o;
  estimate(a, s, &o);
  inputs_of(a, &o, c, limit, x);
}

/* ---- the network ---- */

/* y += scale x. Eight at a time, which compilers make vectors of. */
static void add_scaled(int32_t n, double *restrict y, const double *restrict x, double scale) {
  int32_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int32_t k = 0; k < 8; k++) y[i + k] += scale * x[i + k];
  for (; i < n; i++) y[i] += scale * x[i];
}

static const double *row(const berth_pacml_ahead *a, int32_t input) {
  return a->w + input * a->hidden;
}

static void set_units(const berth_pacml_ahead *a, int32_t n, const double *x, double *unit) {
  memcpy(unit, row(a, a->inputs), (size_t)a->hidden * sizeof *unit);
  for (int32_t i = 0; i < n; i++)
    if (x[i] != 0) add_scaled(a->hidden, unit, row(a, i), x[i]);
}

static double squash(double x) { return x / (1 + fabs(x)); }

static double output(const berth_pacml_ahead *a, const double *unit) {
  const double *last = row(a, a->inputs + 1);
  double sum = last[a->hidden];
  for (int32_t h = 0; h < a->hidden; h++) sum += last[h] * squash(unit[h]);
  return sum;
}

double berth_i_ahead_value(const berth_pacml_ahead *a, const double *x, double *unit) {
  set_units(a, a->inputs, x, unit);
  return output(a, unit);
}

void berth_i_ahead_gradient(const berth_pacml_ahead *a, double scale, double *g, const double *x,
                            const double *unit) {
  const double *last = row(a, a->inputs + 1);
  double *g_last = g + (a->inputs + 1) * a->hidden, back[BERTH_I_AHEAD_HIDDEN];
  for (int32_t h = 0; h < a->hidden; h++) {
    double slope = 1 + fabs(unit[h]);
    back[h] = last[h] / (slope * slope);
    g_last[h] += scale * squash(unit[h]);
  }
  for (int32_t i = 0; i < a->inputs; i++)
    if (x[i] != 0) add_scaled(a->hidden, g + i * a->hidden, back, scale * x[i]);
  add_scaled(a->hidden, g + a->inputs * a->hidden, back, scale);
  g_last[a->hidden] += scale;
}

/* The value of a choice, from the units of the outlook: only what the choice changes is added. */
static double value_after(const berth_pacml_ahead *a, const outlook *o, const double *base,
                          const berth_i_choice *c, double limit) {
  double x[BERTH_I_AHEAD_INPUTS], unit[BERTH_I_AHEAD_HIDDEN];
  int32_t width = a->n_counted + 1, changed = inputs_of(a, o, c, limit, x);
  memcpy(unit, base, (size_t)a->hidden * sizeof *unit);
  for (int32_t i = 0; i < changed * width; i++)
    if (x[i] != o->x[i]) add_scaled(a->hidden, unit, row(a, i), x[i] - o->x[i]);
  for (int32_t i = MOMENTS * width; i < a->inputs; i++)
    if (x[i] != 0) add_scaled(a->hidden, unit, row(a, i), x[i]);
  return output(a, unit);
}

int32_t berth_i_ahead_prefer(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                             const berth_i_ahead_view *v, bool reject, double *each) {
  double least = INFINITY;
  int32_t at = v->n;
  outlook o;
  estimate(a, s, &o);
  double base[BERTH_I_AHEAD_HIDDEN];
  set_units(a, MOMENTS * (a->n_counted + 1), o.x, base);
  if (v->n == 0 || reject || each) {
    double away = 1 + a->discount * value_after(a, &o, base, NULL, v->limit);
    if (v->n == 0 || reject) least = away;
    if (each) each[v->n] = away;
  }
  for (int32_t i = 0; i < v->n; i++) {
    const berth_i_choice *c = &v->choice[i];
    double blocked = a->discount * value_after(a, &o, base, c, v->limit)
                     + (s->now + c->jct > v->horizon + BERTH_I_AHEAD_SLACK);
    if (each) each[i] = blocked;
    if (!(blocked < least)) continue;
    least = blocked;
    at = i;
  }
  return at;
}
