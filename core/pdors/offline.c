/* The best schedule if all jobs are known in advance, as an integer program.
 *
 * In each slot a job is in one of some modes: all of it on one machine, all of it in one rack,
 * anywhere. A mode has a set of machines and a speed. Columns: whether a job is done in a slot and
 * not before; whether it is in a mode in a slot; its workers and servers on each machine of the
 * mode. */
#include "extern/glpk_internal.h"
#include "pdors_internal.h"

typedef struct mode {
  int32_t first, n; /* in `member` */
  bool machine, rack;
} mode;

typedef struct program {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_status st; /* of columns */
  berth_ps *ps;
  const berth_ps_options *o;
  int32_t jobs, modes, members, spans, pairs;
  mode *mode;        /* [2 * machines + 1] */
  int32_t *member;   /* [3 * machines] machines */
  int32_t *span;     /* [jobs + 1] where the slots of each job begin */
  /* first row of each kind */
  int32_t one_mode, batch, servers, capacity, once, work, wider;
  berth_i_glpk_mip mip;
  double *cost, *most, *value, *bound, *x;
  uint8_t *whole, *sense;
  int32_t *at, *row, *done; /* done: [spans] columns */
  size_t columns_cap[4], entries_cap[2], entries;
} program;

/* ---- modes ---- */

static void add_mode(program *p, bool machine, bool rack) {
  p->mode[p->modes++] = (mode){ .first = p->members, .machine = machine, .rack = rack };
}
static void add_member(program *p, int32_t h) {
  p->member[p->members++] = h;
  p->mode[p->modes - 1].n++;
}

/* Each machine; each rack of several machines, by its first; all. */
static berth_status set_modes(program *p) {
  const berth_ps_options *o = p->o;
  p->mode = berth_i_pool_alloc(&p->pool, 2 * (size_t)o->machines + 1, sizeof *p->mode);
  p->member = berth_i_pool_alloc(&p->pool, 3 * (size_t)o->machines, sizeof *p->member);
  if (berth_i_pool_status(&p->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t h = 0; h < o->machines; h++) {
    add_mode(p, true, false);
    add_member(p, h);
  }
  for (int32_t h = 0; o->rack && h < o->machines; h++) {
    int32_t before = 0, after = 0;
    for (int32_t k = 0; k < o->machines; k++) {
      before += k < h && o->rack[k] == o->rack[h];
      after += k > h && o->rack[k] == o->rack[h];
    }
    if (before > 0 || after == 0) continue;
    add_mode(p, false, true);
    for (int32_t k = h; k < o->machines; k++)
      if (o->rack[k] == o->rack[h]) add_member(p, k);
  }
  if (o->machines == 1) return BERTH_OK;
  add_mode(p, false, false);
  for (int32_t h = 0; h < o->machines; h++) add_member(p, h);
  return BERTH_OK;
}

/* Worker-slots per sample. */
static double slots_of(const berth_ps_job *j, const mode *m) {
  if (m->machine) return berth_ps_worker_slots(j, j->inside);
  return berth_ps_worker_slots(j, m->rack && j->rack > 0 ? j->rack : j->across);
}

static bool has(const program *p, const mode *m, int32_t machine) {
  for (int32_t k = 0; k < m->n; k++)
    if (p->member[m->first + k] == machine) return true;
  return false;
}

/* All machines of b are of a, and more. */
static bool wider(const program *p, const mode *a, const mode *b) {
  for (int32_t k = 0; k < b->n; k++)
    if (!has(p, a, p->member[b->first + k])) return false;
  return a->n > b->n;
}

/* ---- rows ---- */

static int32_t rows_from(program *p, int32_t *first, int32_t n, berth_i_glpk_row sense,
                         double bound) {
  *first = p->mip.rows;
  for (int32_t i = 0; p->sense && i < n; i++) {
    p->sense[p->mip.rows + i] = (uint8_t)sense;
    p->bound[p->mip.rows + i] = bound;
  }
  return p->mip.rows += n;
}

/* Called twice: to count, and to fill. */
static void set_rows(program *p) {
  int32_t cells = p->o->machines * p->o->resources;
  p->mip.rows = 0;
  rows_from(p, &p->one_mode, p->spans, BERTH_I_AT_MOST, 1);
  rows_from(p, &p->batch, p->spans * p->modes, BERTH_I_AT_MOST, 0);
  rows_from(p, &p->servers, p->spans * p->modes, BERTH_I_AT_MOST, 0);
  rows_from(p, &p->once, p->jobs, BERTH_I_AT_MOST, 1);
  rows_from(p, &p->work, p->spans, BERTH_I_AT_LEAST, 0);
  rows_from(p, &p->wider, p->spans * p->pairs, BERTH_I_AT_LEAST, 0);
  rows_from(p, &p->capacity, p->o->slots * cells, BERTH_I_AT_MOST, 0);
  for (int32_t slot = 0; p->sense && slot < p->o->slots; slot++)
    for (int32_t k = 0; k < cells; k++)
      p->bound[p->capacity + slot * cells + k] = p->o->capacity[k];
}

static berth_status init_rows(program *p) {
  if (!(p->span = berth_i_pool_zalloc(&p->pool, (size_t)p->jobs + 1, sizeof *p->span)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->jobs; i++)
    p->span[i + 1] = p->span[i] + p->o->slots - berth_ps_job_at(p->ps, i)->arrival;
  p->spans = p->span[p->jobs];
  int32_t n = 0;
  for (int32_t a = 0; a < p->modes; a++)
    for (int32_t b = 0; b < p->modes; b++) n += wider(p, &p->mode[a], &p->mode[b]);
  p->pairs = n;
  set_rows(p);
  p->sense = berth_i_pool_alloc(&p->pool, (size_t)p->mip.rows, 1);
  p->bound = berth_i_pool_alloc(&p->pool, (size_t)p->mip.rows, sizeof *p->bound);
  p->done = berth_i_pool_alloc(&p->pool, (size_t)p->spans, sizeof *p->done);
  if (berth_i_pool_status(&p->pool) != BERTH_OK) return BERTH_ENOMEM;
  set_rows(p);
  return BERTH_OK;
}

/* ---- columns ---- */

/* A refusal of memory ends all that follows; p->st has it. */
static void begin_column(program *p, double cost, double most) {
  size_t need = (size_t)p->mip.columns + 2;
  if (p->st != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->cost, p->columns_cap[0], need)) != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->most, p->columns_cap[1], need)) != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->whole, p->columns_cap[2], need)) != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->at, p->columns_cap[3], need)) != BERTH_OK)
    return;
  p->cost[p->mip.columns] = cost;
  p->most[p->mip.columns] = most;
  p->whole[p->mip.columns] = 1;
  if (p->mip.columns == 0) p->at[0] = 0;
  p->at[++p->mip.columns] = (int32_t)p->entries;
}

static void put(program *p, int32_t row, double value) {
  if (value == 0 || p->st != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->row, p->entries_cap[0], p->entries + 1))
             != BERTH_OK
      || (p->st = BERTH_I_POOL_GROW(&p->pool, p->value, p->entries_cap[1], p->entries + 1))
             != BERTH_OK)
    return;
  p->row[p->entries] = row;
  p->value[p->entries++] = value;
  p->at[p->mip.columns] = (int32_t)p->entries;
}

/* Where everything on fewer machines is slower, a mode is not to be had by such places. */
static void put_wider(program *p, const berth_ps_job *j, int32_t span, int32_t m, int32_t machine,
                      double value) {
  int32_t row = p->wider + span * p->pairs;
  for (int32_t a = 0; a < p->modes; a++)
    for (int32_t b = 0; b < p->modes; b++) {
      if (!wider(p, &p->mode[a], &p->mode[b])) continue;
      bool slower = a == m && slots_of(j, &p->mode[b]) > slots_of(j, &p->mode[a]);
      if (slower && (machine == BERTH_NONE || !has(p, &p->mode[b], machine))) put(p, row, value);
      row++;
    }
}

static void put_demand(program *p, int32_t slot, int32_t machine, const double *demand) {
  for (int32_t r = 0; r < p->o->resources; r++)
    put(p, p->capacity + (slot * p->o->machines + machine) * p->o->resources + r, demand[r]);
}

/* A job in a slot: whether it is done there and not before; then for each mode, whether it is in
 * it, and the workers and servers on each of its machines. Work is counted in parts of the job:
 * done by that slot, and so by all later ones. */
static void add_span(program *p, int32_t job, int32_t span) {
  const berth_ps_job *j = berth_ps_job_at(p->ps, job);
  int32_t slot = j->arrival + span - p->span[job], end = p->span[job + 1];
  p->done[span] = p->mip.columns;
  begin_column(p, berth_ps_utility(j, slot - j->arrival), 1);
  put(p, p->once + job, 1);
  for (int32_t i = span; i < end; i++) put(p, p->work + i, -(1 - 1e-9));
  for (int32_t m = 0; m < p->modes; m++) {
    int32_t of_mode = span * p->modes + m;
    double part = 1 / slots_of(j, &p->mode[m]) / (j->epochs * j->samples);
    begin_column(p, 0, 1);
    put(p, p->one_mode + span, 1);
    put(p, p->batch + of_mode, -j->batch);
    put_wider(p, j, span, m, BERTH_NONE, -1);
    for (int32_t k = 0; k < p->mode[m].n; k++) {
      int32_t machine = p->member[p->mode[m].first + k];
      begin_column(p, 0, j->batch); /* workers */
      put(p, p->batch + of_mode, 1);
      put(p, p->servers + of_mode, 1);
      for (int32_t i = span; i < end; i++) put(p, p->work + i, part);
      put_wider(p, j, span, m, machine, 1);
      put_demand(p, slot, machine, j->worker);
      begin_column(p, 0, berth_i_pdors_servers(j, j->batch)); /* servers */
      put(p, p->servers + of_mode, -j->ratio * (1 + 1e-12));
      put_wider(p, j, span, m, machine, 1);
      put_demand(p, slot, machine, j->server);
    }
  }
}

/* ---- life ---- */

static berth_status solve(program *p, int32_t nodes, berth_pdors_optimum *out, double *utility_of) {
  berth_i_glpk_answer a = { 0 };
  berth_status st;
  if ((st = set_modes(p)) != BERTH_OK || (st = init_rows(p)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->jobs; i++)
    for (int32_t k = p->span[i]; k < p->span[i + 1]; k++) add_span(p, i, k);
  if (p->st != BERTH_OK) return p->st;
  if (!(p->x = berth_i_pool_alloc(&p->pool, (size_t)p->mip.columns, sizeof *p->x)))
    return berth_i_nomem(p->ctx);
  p->mip.sense = p->sense;
  p->mip.bound = p->bound;
  p->mip.cost = p->cost;
  p->mip.most = p->most;
  p->mip.whole = p->whole;
  p->mip.at = p->at;
  p->mip.row = p->row;
  p->mip.value = p->value;
  p->mip.nodes = nodes;
  a.x = p->x;
  if ((st = berth_i_glpk_solve(p->ctx, &p->mip, &a)) != BERTH_OK) return st;
  if (!a.feasible) memset(p->x, 0, (size_t)p->mip.columns * sizeof *p->x);
  *out =
      (berth_pdors_optimum){ a.feasible ? a.value : 0, a.bound, a.feasible && a.proved, a.nodes };
  if (utility_of) {
    int32_t k;
    for (int32_t i = 0; i < p->jobs; i++)
      for (utility_of[i] = 0, k = p->span[i]; k < p->span[i + 1]; k++)
        if (p->x[p->done[k]] > 0.5) utility_of[i] = p->cost[p->done[k]];
  }
  return BERTH_OK;
}

enum { LARGEST = 20000 }; /* columns: more than branch and bound gets through */

berth_status berth_pdors_offline(berth_ps *ps, int32_t nodes, berth_pdors_optimum *out,
                                 double *utility_of) {
  if (!ps) return BERTH_EINVAL;
  berth_ctx *ctx = berth_ps_ctx(ps);
  program p = { .pool = berth_i_pool_empty(ctx), .ctx = ctx, .ps = ps,
                .o = berth_ps_options_of(ps), .jobs = berth_ps_jobs(ps) };
  berth_status st = BERTH_OK;
  double columns = 0;
  if (nodes < 0) return berth_i_fail(ctx, BERTH_EINVAL, "offline optimum: %d nodes", nodes);
  if (p.o->comm == BERTH_PS_SHARED)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "offline optimum: speed on shared links is not linear");
  for (int32_t i = 0; i < p.jobs; i++) {
    const berth_ps_job *j = berth_ps_job_at(p.ps, i);
    if (j->moving > 0)
      return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                          "offline optimum: job %d loses time when it moves", i);
    columns += (p.o->slots - j->arrival) * (2.0 + 4 * p.o->machines);
  }
  if (columns > LARGEST)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "offline optimum: %g whole numbers to choose, at most %d", columns,
                        LARGEST);
  if (p.jobs == 0) *out = (berth_pdors_optimum){ .proved = true };
  else st = solve(&p, nodes, out, utility_of);
  berth_i_pool_free(&p.pool);
  return st;
}
