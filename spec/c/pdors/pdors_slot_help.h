/* Random states of a slot, with the published prototype's spread of prices and room. */
#include "pdors/slot_internal.h"
#include "extern/glpk_internal.h"
#include "must.h"

enum { MOST_MACHINES = 40, RESOURCES = 4, CELLS = MOST_MACHINES * RESOURCES };

typedef struct slot_case {
  int32_t machines;
  double capacity[CELLS], price[CELLS], left[CELLS];
  int32_t rack[MOST_MACHINES];
  berth_ps_job job;
  berth_ps *p;
  berth_i_slot_solver *s;
  berth_i_slot_state state;
} slot_case;

static double between(berth_rng *rng, double a, double b) {
  return a + (b - a) * berth_rng_uniform(rng);
}

static void draw_job(berth_ps_job *j, berth_rng *rng, int32_t batch) {
  *j = (berth_ps_job){ .epochs = 10,
                       .samples = 1e5,
                       .batch = batch,
                       .tau = 1e-3,
                       .bytes = 1,
                       .ratio = between(rng, 1, 6),
                       .inside = 1e6,
                       .across = 1e3,
                       .importance = 10,
                       .urgency = 0.1,
                       .target = 5 };
  for (int32_t r = 0; r < RESOURCES; r++) {
    j->worker[r] = r == 0 ? berth_rng_below(rng, 4) : between(rng, 1, 4);
    j->server[r] = r == 0 ? 0 : between(rng, 0.5, 4);
  }
}

/* @param size room of a machine, in mean units of demand @param kinds so many different machines at
 *        most */
static void draw_state(slot_case *c, berth_rng *rng, double size, int32_t kinds) {
  for (int32_t h = 0; h < c->machines; h++)
    for (int32_t r = 0; r < RESOURCES; r++) {
      int32_t at = h * RESOURCES + r, like = (h - kinds) * RESOURCES + r;
      c->capacity[at] = 2 * size;
      c->left[at] = h < kinds ? 2 * size * between(rng, 0.1, 1) : c->left[like];
      c->price[at] = h < kinds ? exp(berth_rng_normal(rng)) : c->price[like];
    }
  c->state = (berth_i_slot_state){ c->price, c->left };
}

static berth_status open_case(slot_case *c, const berth_pdors_options *o, int racks) {
  berth_ps_options p = berth_ps_default(c->machines, RESOURCES, 10, c->capacity);
  c->p = NULL;
  c->s = NULL;
  if (racks) p.rack = c->rack;
  berth_status st;
  if ((st = berth_ps_new(ctx, &p, 1, &c->job, &c->p)) != BERTH_OK) return st;
  return berth_i_slot_solver_new(c->p, o, &c->s);
}

/* In slot 0. */
static void begin_case(slot_case *c, const berth_pdors_options *o, int racks) {
  CHECK_OK(open_case(c, o, racks));
  CHECK_OK(berth_i_slot_begin(c->s, 0, &c->state));
}

static void close_case(slot_case *c) {
  berth_i_slot_solver_release(c->s);
  RELEASE(c->p);
}

static void draw_case(slot_case *c, berth_rng *rng, int32_t machines, int32_t batch, double size,
                      int32_t kinds) {
  c->machines = machines;
  draw_job(&c->job, rng, batch);
  draw_state(c, rng, size, kinds);
}

static int fits(const slot_case *c, int32_t h, double workers, double servers) {
  for (int32_t r = 0; r < RESOURCES; r++) {
    int32_t at = h * RESOURCES + r;
    if (c->job.worker[r] * workers + c->job.server[r] * servers
        > c->left[at] + 1e-9 * c->capacity[at])
      return 0;
  }
  return 1;
}

static double unit_price(const slot_case *c, int32_t h, int server) {
  double sum = 0;
  for (int32_t r = 0; r < RESOURCES; r++) {
    double takes = server ? c->job.server[r] : c->job.worker[r];
    if (takes > 0) sum += takes * c->price[h * RESOURCES + r];
  }
  return sum;
}

static int32_t servers_for(const slot_case *c, double workers) {
  return (int32_t)fmax(1, ceil(workers / c->job.ratio * (1 - 1e-12)));
}
static int32_t workers_for(double samples, double slots) {
  return (int32_t)fmax(1, ceil(samples * slots * (1 - 1e-12)));
}

/* The published program, machine by machine: columns w and s of each. @return its value; INFINITY:
 * infeasible */
static double by_glpk(const slot_case *c, double workers, double servers, int whole, double *x) {
  enum { ROWS = 2 + CELLS, COLUMNS = 2 * MOST_MACHINES };
  static double bound[ROWS], cost[COLUMNS], most[COLUMNS], value[COLUMNS * (RESOURCES + 1)];
  static uint8_t sense[ROWS], integer[COLUMNS];
  static int32_t at[COLUMNS + 1], row[COLUMNS * (RESOURCES + 1)];
  berth_i_glpk_mip p = { true,
                         2 + c->machines * RESOURCES,
                         2 * c->machines,
                         sense,
                         bound,
                         cost,
                         NULL,
                         most,
                         whole ? integer : NULL,
                         at,
                         row,
                         value,
                         0,
                         0, false };
  berth_i_glpk_answer a = { .x = x };
  int32_t n = 0;
  bound[0] = workers;
  bound[1] = servers;
  sense[0] = sense[1] = BERTH_I_AT_LEAST;
  for (int32_t h = 0; h < c->machines; h++)
    for (int32_t r = 0; r < RESOURCES; r++) {
      sense[2 + h * RESOURCES + r] = BERTH_I_AT_MOST;
      bound[2 + h * RESOURCES + r] =
          c->left[h * RESOURCES + r] + 1e-9 * c->capacity[h * RESOURCES + r];
    }
  for (int32_t h = 0; h < c->machines; h++)
    for (int32_t k = 0; k < 2; k++) {
      const double *takes = k ? c->job.server : c->job.worker;
      int32_t j = 2 * h + k;
      at[j] = n;
      integer[j] = 1;
      cost[j] = unit_price(c, h, k);
      most[j] = fits(c, h, 1 - k, k) ? INFINITY : 0; /* no room for one: not a variable */
      row[n] = k;
      value[n++] = 1;
      for (int32_t r = 0; r < RESOURCES; r++) {
        if (!(takes[r] > 0)) continue;
        row[n] = 2 + h * RESOURCES + r;
        value[n++] = takes[r];
      }
    }
  at[2 * c->machines] = n;
  CHECK_OK(berth_i_glpk_solve(ctx, &p, &a));
  return a.feasible ? a.value : INFINITY;
}
