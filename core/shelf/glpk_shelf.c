#include "glpk_shelf.h"
#include <glpk.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

/* Simplex steps between two looks at whether to stop: a number, not a time, so that answers do not depend on the clock. */
enum { STEPS = 1000, WAIT_NS = 5000000 };

typedef enum outcome { SOLVED, STOPPED, GAVE_UP, FAILED } outcome;

typedef struct task {
  const berth_i_glpk_program *p;
  double *x, *dual;
  int32_t iterations;
  outcome outcome;
  int code;        /* GLPK's, if it gave up */
  char told[200];  /* what GLPK would have printed last, but where an error is in its source */
  jmp_buf away;    /* out of GLPK after an error in it */
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool stop, done; /* under the lock */
} task;

/* ---- on the thread of its own ---------------------------------------------------------------- */

static void on_error(void *info) { longjmp(((task *)info)->away, 1); }

/* Not 0: GLPK prints nothing. */
static int on_text(void *info, const char *text) {
  task *t = info;
  if (text[0] != '\n' && strncmp(text, "Error detected", 14) != 0) snprintf(t->told, sizeof t->told, "%s", text);
  return 1;
}

static bool stopped(task *t) {
  bool stop;
  pthread_mutex_lock(&t->lock);
  stop = t->stop;
  pthread_mutex_unlock(&t->lock);
  return stop;
}

static void add_rows(glp_prob *lp, const berth_i_glpk_program *p) {
  int32_t i;
  glp_add_rows(lp, p->rows);
  for (i = 0; i < p->rows; i++) glp_set_row_bnds(lp, i + 1, p->equal[i] ? GLP_FX : GLP_UP, p->bound[i], p->bound[i]);
}

/* GLPK counts from 1. */
static void add_column(glp_prob *lp, const berth_i_glpk_program *p, int32_t j) {
  int32_t n = p->at[j + 1] - p->at[j], i;
  int *row = glp_alloc(n + 1, sizeof *row);
  double *value = glp_alloc(n + 1, sizeof *value);
  for (i = 0; i < n; i++) {
    row[i + 1] = p->row[p->at[j] + i] + 1;
    value[i + 1] = p->value[p->at[j] + i];
  }
  glp_set_mat_col(lp, j + 1, n, row, value);
  glp_set_col_bnds(lp, j + 1, isinf(p->most[j]) ? GLP_LO : GLP_DB, 0, p->most[j]);
  glp_set_obj_coef(lp, j + 1, p->cost[j]);
  glp_free(row);
  glp_free(value);
}

static glp_prob *build(const berth_i_glpk_program *p) {
  glp_prob *lp = glp_create_prob();
  int32_t j;
  glp_set_obj_dir(lp, GLP_MAX);
  add_rows(lp, p);
  if (p->columns > 0) glp_add_cols(lp, p->columns);
  for (j = 0; j < p->columns; j++) add_column(lp, p, j);
  return lp;
}

static outcome run_simplex(task *t, glp_prob *lp) {
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_OFF;
  how.meth = GLP_PRIMAL; /* nothing taken is feasible */
  how.it_lim = STEPS;
  do t->code = stopped(t) ? GLP_ESTOP : glp_simplex(lp, &how);
  while (t->code == GLP_EITLIM);
  if (t->code == GLP_ESTOP) return STOPPED;
  return t->code == 0 && glp_get_status(lp) == GLP_OPT ? SOLVED : GAVE_UP;
}

static void read_answer(task *t, glp_prob *lp) {
  int32_t i;
  for (i = 0; i < t->p->columns; i++) t->x[i] = glp_get_col_prim(lp, i + 1);
  for (i = 0; i < t->p->rows; i++) t->dual[i] = glp_get_row_dual(lp, i + 1);
  t->iterations = glp_get_it_cnt(lp);
}

static void solve(task *t) {
  glp_prob *lp;
  if (t->p->megabytes) glp_mem_limit(t->p->megabytes);
  lp = build(t->p);
  t->outcome = run_simplex(t, lp);
  if (t->outcome == SOLVED) read_answer(t, lp);
}

/* The environment goes with all that is in it, also after an error. */
static void *work(void *ud) {
  task *t = ud;
  if (glp_init_env() > 1) {
    snprintf(t->told, sizeof t->told, "no memory for its environment");
  } else {
    glp_term_hook(on_text, t);
    glp_error_hook(on_error, t);
    if (setjmp(t->away) == 0) solve(t);
    glp_free_env();
  }
  pthread_mutex_lock(&t->lock);
  t->done = true;
  pthread_cond_signal(&t->ended);
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

/* ---- on the caller's --------------------------------------------------------------------------- */

/* @return it has ended */
static bool wait_a_little(task *t, bool stop) {
  struct timespec until;
  bool done;
  clock_gettime(CLOCK_REALTIME, &until); /* only to wait by */
  until.tv_nsec += WAIT_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&t->lock);
  t->stop = stop;
  if (!t->done) pthread_cond_timedwait(&t->ended, &t->lock, &until);
  done = t->done;
  pthread_mutex_unlock(&t->lock);
  return done;
}

static berth_status told(berth_ctx *ctx, const task *t) {
  switch (t->outcome) {
    case SOLVED: return BERTH_OK;
    case STOPPED: return BERTH_EINTERRUPT;
    case GAVE_UP: return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "GLPK's simplex method gave up with code %d", t->code);
    default: break;
  }
  if (strstr(t->told, "memory")) return berth_i_fail(ctx, BERTH_ENOMEM, "GLPK is out of memory");
  return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "GLPK failed: %.*s", (int)strcspn(t->told, "\n"), t->told);
}

static berth_status watch(berth_ctx *ctx, task *t) {
  berth_status st = BERTH_OK;
  while (!wait_a_little(t, st != BERTH_OK))
    if (st == BERTH_OK) st = berth_i_interrupted(ctx);
  return st;
}

berth_status berth_i_glpk_maximise(berth_ctx *ctx, const berth_i_glpk_program *p, double *x, double *dual, int32_t *iterations) {
  task t = { .p = p, .x = x, .dual = dual, .outcome = FAILED, .lock = PTHREAD_MUTEX_INITIALIZER,
             .ended = PTHREAD_COND_INITIALIZER };
  pthread_t thread;
  berth_status st;
  if (pthread_create(&thread, NULL, work, &t) != 0) {
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "no thread can be had for GLPK");
  }
  st = watch(ctx, &t);
  pthread_join(thread, NULL);
  pthread_mutex_destroy(&t.lock);
  pthread_cond_destroy(&t.ended);
  if (st != BERTH_OK) return st;
  if ((st = told(ctx, &t)) == BERTH_OK) *iterations = t.iterations;
  return st;
}
