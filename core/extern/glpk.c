/* GLPK, wrapped: linear programs by the primal simplex method, mixed-integer ones by branch and
 * bound. Each is solved on a thread of its own (glpk_internal.h: why), while the calling thread
 * waits and calls the interrupt hook. Limits are counted in steps and nodes, never in time, so
 * answers are reproducible. */
#include "glpk_internal.h"
#include <glpk.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

/* Simplex steps between two checks of whether to stop: a number, not a time, so that answers do not
 * depend on the clock. */
enum { STEPS = 1000, WAIT_NS = 5000000 };

typedef enum outcome { SOLVED, STOPPED, GAVE_UP, FAILED, UNBOUNDED } outcome;

typedef struct task {
  berth_i_glpk_mip p;
  berth_i_glpk_answer a;
  bool start_at_zero; /* which is feasible: no scaling, no search for a first answer */
  outcome outcome;
  int code;          /* GLPK's, if it gave up */
  char message[200]; /* what GLPK would have printed last, but where an error is in its source */
  jmp_buf away;      /* out of GLPK after an error in it */
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool stop, done; /* under the lock */
} task;

/* ---- on the thread of its own ---- */

static void on_error(void *info) { longjmp(((task *)info)->away, 1); }

/* Not 0: GLPK prints nothing. */
static int on_text(void *info, const char *text) {
  task *t = info;
  if (text[0] != '\n' && strncmp(text, "Error detected", 14) != 0)
    snprintf(t->message, sizeof t->message, "%s", text);
  return 1;
}

static bool stopped(task *t) {
  pthread_mutex_lock(&t->lock);
  bool stop = t->stop;
  pthread_mutex_unlock(&t->lock);
  return stop;
}

static void add_rows(glp_prob *lp, const berth_i_glpk_mip *p) {
  static const int kind[] = {
    [BERTH_I_AT_MOST] = GLP_UP, [BERTH_I_EQUAL] = GLP_FX, [BERTH_I_AT_LEAST] = GLP_LO
  };
  if (p->rows > 0) glp_add_rows(lp, p->rows);
  for (int32_t i = 0; i < p->rows; i++)
    glp_set_row_bnds(lp, i + 1, kind[p->sense[i]], p->bound[i], p->bound[i]);
}

static bool is_whole(const berth_i_glpk_mip *p, int32_t j) { return p->whole && p->whole[j]; }
static double least_of(const berth_i_glpk_mip *p, int32_t j) {
  double least = p->least ? p->least[j] : 0;
  return is_whole(p, j) ? ceil(least - 1e-9) : least;
}
static double most_of(const berth_i_glpk_mip *p, int32_t j) {
  double most = p->most ? p->most[j] : INFINITY;
  return is_whole(p, j) ? floor(most + 1e-9) : most;
}

static void bound_column(glp_prob *lp, const berth_i_glpk_mip *p, int32_t j) {
  double least = least_of(p, j), most = most_of(p, j);
  int kind = isinf(least)   ? isinf(most) ? GLP_FR : GLP_UP
             : isinf(most)  ? GLP_LO
             : least < most ? GLP_DB
                            : GLP_FX;
  glp_set_col_bnds(lp, j + 1, kind, least, most);
}

/* GLPK counts from 1. */
static void add_column(glp_prob *lp, const berth_i_glpk_mip *p, int32_t j) {
  int32_t n = p->at[j + 1] - p->at[j];
  int *row = glp_alloc(n + 1, sizeof *row);
  double *value = glp_alloc(n + 1, sizeof *value);
  for (int32_t i = 0; i < n; i++) {
    row[i + 1] = p->row[p->at[j] + i] + 1;
    value[i + 1] = p->value[p->at[j] + i];
  }
  glp_set_mat_col(lp, j + 1, n, row, value);
  bound_column(lp, p, j);
  glp_set_obj_coef(lp, j + 1, p->cost[j]);
  if (is_whole(p, j)) glp_set_col_kind(lp, j + 1, GLP_IV);
  glp_free(row);
  glp_free(value);
}

static glp_prob *build(const berth_i_glpk_mip *p) {
  glp_prob *lp = glp_create_prob();
  glp_set_obj_dir(lp, p->minimise ? GLP_MIN : GLP_MAX);
  add_rows(lp, p);
  if (p->columns > 0) glp_add_cols(lp, p->columns);
  for (int32_t j = 0; j < p->columns; j++) add_column(lp, p, j);
  return lp;
}

static bool none_between(const berth_i_glpk_mip *p) {
  for (int32_t j = 0; j < p->columns; j++)
    if (least_of(p, j) > most_of(p, j)) return true;
  return false;
}

static outcome nothing_feasible(task *t) {
  t->a.proved = true;
  t->a.bound = t->p.minimise ? INFINITY : -INFINITY;
  return SOLVED;
}

static outcome outcome_of_status(task *t, int status) {
  switch (status) {
    case GLP_OPT: return SOLVED;
    case GLP_NOFEAS: return nothing_feasible(t);
    case GLP_UNBND: return UNBOUNDED;
    default: return GAVE_UP;
  }
}

static outcome run_simplex(task *t, glp_prob *lp) {
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.meth = GLP_PRIMAL;
  how.it_lim = t->p.presolve ? INT_MAX : STEPS; /* the presolver would begin anew */
  how.presolve = t->p.presolve;
  do t->code = stopped(t) ? GLP_ESTOP : glp_simplex(lp, &how);
  while (t->code == GLP_EITLIM);
  if (t->code == GLP_ESTOP) return STOPPED;
  return t->code == 0 ? outcome_of_status(t, glp_get_status(lp)) : GAVE_UP;
}

static void read_relaxed(task *t, glp_prob *lp) {
  for (int32_t i = 0; i < t->p.columns; i++) t->a.x[i] = glp_get_col_prim(lp, i + 1);
  for (int32_t i = 0; i < t->p.rows && t->a.dual; i++) t->a.dual[i] = glp_get_row_dual(lp, i + 1);
  t->a.feasible = t->a.proved = true;
  t->a.value = t->a.bound = glp_get_obj_val(lp);
}

/* ---- branch and bound ---- */

/* What is still open, and the best answer so far: the worse of the two bounds all. */
static void note_bound(task *t, glp_tree *tree) {
  int best = glp_ios_best_node(tree);
  if (best) t->a.bound = glp_ios_node_bound(tree, best);
}

static void on_node(glp_tree *tree, void *info) {
  task *t = info;
  if (glp_ios_reason(tree) != GLP_ISELECT) return;
  int all;
  glp_ios_tree_size(tree, NULL, NULL, &all);
  t->a.nodes = all;
  note_bound(t, tree);
  if (stopped(t) || (t->p.nodes > 0 && all > t->p.nodes)) glp_ios_terminate(tree);
}

static void read_whole(task *t, glp_prob *lp) {
  t->a.feasible = true;
  t->a.value = glp_get_obj_coef(lp, 0);
  for (int32_t j = 0; j < t->p.columns; j++) {
    double x = glp_mip_col_val(lp, j + 1);
    t->a.x[j] = is_whole(&t->p, j) ? nearbyint(x) : x;
    t->a.value += t->p.cost[j] * t->a.x[j];
  }
}

static outcome read_branched(task *t, glp_prob *lp, double relaxed) {
  int status = glp_mip_status(lp);
  bool ended = t->code == 0;
  if (status == GLP_NOFEAS || (ended && status == GLP_UNDEF)) return nothing_feasible(t);
  if (status == GLP_OPT || status == GLP_FEAS) read_whole(t, lp);
  t->a.proved = ended && t->a.feasible;
  if (t->a.proved) t->a.bound = t->a.value;
  t->a.bound = t->p.minimise ? fmax(t->a.bound, relaxed) : fmin(t->a.bound, relaxed);
  if (t->a.feasible)
    t->a.bound = t->p.minimise ? fmin(t->a.bound, t->a.value) : fmax(t->a.bound, t->a.value);
  return SOLVED;
}

/* The relaxed program has been solved. */
static outcome run_branching(task *t, glp_prob *lp) {
  double relaxed = glp_get_obj_val(lp);
  glp_iocp how;
  glp_init_iocp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.mir_cuts = GLP_ON;
  how.cb_func = on_node;
  how.cb_info = t;
  t->a.bound = relaxed;
  t->code = glp_intopt(lp, &how);
  if (t->code == GLP_ESTOP && stopped(t)) return STOPPED;
  if (t->code == GLP_ENOPFS) return nothing_feasible(t);
  return t->code == 0 || t->code == GLP_ESTOP ? read_branched(t, lp, relaxed) : GAVE_UP;
}

static bool has_whole(const berth_i_glpk_mip *p) {
  for (int32_t j = 0; j < p->columns; j++)
    if (is_whole(p, j)) return true;
  return false;
}

static outcome solve(task *t) {
  if (none_between(&t->p)) return nothing_feasible(t);
  if (t->p.megabytes) glp_mem_limit(t->p.megabytes);
  glp_prob *lp = build(&t->p);
  if (!t->start_at_zero && !t->p.presolve) {
    glp_scale_prob(lp, GLP_SF_AUTO);
    glp_adv_basis(lp, 0);
  }
  t->outcome = run_simplex(t, lp);
  if (t->outcome == SOLVED && !t->a.proved) {
    if (has_whole(&t->p)) t->outcome = run_branching(t, lp);
    else read_relaxed(t, lp);
  }
  t->a.iterations = glp_get_it_cnt(lp);
  return t->outcome;
}

/* The environment is freed with all that is in it, also after an error. */
static void *work(void *ud) {
  task *t = ud;
  if (glp_init_env() > 1) {
    snprintf(t->message, sizeof t->message, "no memory for its environment");
  } else {
    glp_term_hook(on_text, t);
    glp_error_hook(on_error, t);
    if (setjmp(t->away) == 0) t->outcome = solve(t);
    else t->outcome = FAILED;
    glp_free_env();
  }
  pthread_mutex_lock(&t->lock);
  t->done = true;
  pthread_cond_signal(&t->ended);
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

/* ---- on the caller's ---- */

/* @return it has ended */
static bool wait_for_end(task *t, bool stop) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); /* only to wait by */
  until.tv_nsec += WAIT_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&t->lock);
  t->stop = stop;
  if (!t->done) pthread_cond_timedwait(&t->ended, &t->lock, &until);
  bool done = t->done;
  pthread_mutex_unlock(&t->lock);
  return done;
}

static berth_status report(berth_ctx *ctx, const task *t) {
  switch (t->outcome) {
    case SOLVED: return BERTH_OK;
    case STOPPED: return BERTH_EINTERRUPT;
    case UNBOUNDED:
      return berth_i_fail(ctx, BERTH_EINVAL, "nothing bounds the optimum of this program");
    case GAVE_UP:
      return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "GLPK's simplex method gave up with code %d",
                          t->code);
    default: break;
  }
  if (strstr(t->message, "memory")) return berth_i_fail(ctx, BERTH_ENOMEM, "GLPK is out of memory");
  return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "GLPK failed: %.*s", (int)strcspn(t->message, "\n"),
                      t->message);
}

static berth_status watch(berth_ctx *ctx, task *t) {
  berth_status st = BERTH_OK;
  while (!wait_for_end(t, st != BERTH_OK))
    if (st == BERTH_OK) st = berth_i_interrupted(ctx);
  return st;
}

static berth_status run(berth_ctx *ctx, task *t) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, t) != 0) {
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "no thread can be had for GLPK");
  }
  berth_status st = watch(ctx, t);
  pthread_join(thread, NULL);
  pthread_mutex_destroy(&t->lock);
  pthread_cond_destroy(&t->ended);
  return st == BERTH_OK ? report(ctx, t) : st;
}

static task new_task(const berth_i_glpk_mip *p, const berth_i_glpk_answer *a) {
  task t = { .p = *p,
             .a = *a,
             .outcome = FAILED,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .ended = PTHREAD_COND_INITIALIZER };
  t.a.feasible = t.a.proved = false;
  t.a.value = NAN;
  t.a.bound = p->minimise ? -INFINITY : INFINITY;
  t.a.nodes = t.a.iterations = 0;
  return t;
}

berth_status berth_i_glpk_maximise(berth_ctx *ctx, const berth_i_glpk_program *p, double *x,
                                   double *dual, int32_t *iterations) {
  berth_i_glpk_mip mip = { .rows = p->rows,
                           .columns = p->columns,
                           .sense = p->equal,
                           .bound = p->bound,
                           .cost = p->cost,
                           .most = p->most,
                           .at = p->at,
                           .row = p->row,
                           .value = p->value,
                           .megabytes = p->megabytes };
  task t = new_task(&mip, &(berth_i_glpk_answer){ .x = x, .dual = dual });
  t.start_at_zero = true;
  berth_status st;
  if ((st = run(ctx, &t)) != BERTH_OK) return st;
  if (!t.a.feasible)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "GLPK's simplex method found nothing feasible where 0 is");
  *iterations = t.a.iterations;
  return BERTH_OK;
}

berth_status berth_i_glpk_solve(berth_ctx *ctx, const berth_i_glpk_mip *p, berth_i_glpk_answer *a) {
  task t = new_task(p, a);
  berth_status st = run(ctx, &t);
  if (st == BERTH_OK) *a = t.a;
  return st;
}
