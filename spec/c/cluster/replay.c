/* Random decisions on random clusters beside books of their own: capacities hold, work is
 * conserved, ends come at the right times. */
#include "must.h"

enum { MACHINES = 5, RESOURCES = 2, JOBS = 40 };

typedef struct job_book {
  berth_job_state state;
  double left, rate, since, held[MACHINES][RESOURCES];
} job_book;

typedef struct replay_world {
  berth_cluster *c;
  berth_rng rng;
  berth_job job[JOBS];
  double capacity[MACHINES * RESOURCES], wake, slot, now;
  job_book at[JOBS];
  int last_rank, last_job, done, refused, n;
} replay_world;

static double used(const replay_world *w, int m, int r) {
  double sum = 0;
  for (int j = 0; j < w->n; j++)
    sum += w->at[j].state == BERTH_JOB_RUNNING ? w->at[j].held[m][r] : 0;
  return sum;
}

static void advance(replay_world *w, int j, double now) {
  w->at[j].left -= w->at[j].rate * (now - w->at[j].since);
  w->at[j].since = now;
}

/* What the cluster tells is what the books have. */
static void compare(replay_world *w) {
  const double *room = berth_cluster_free(w->c);
  for (int m = 0; m < MACHINES; m++)
    for (int r = 0; r < RESOURCES; r++) {
      double cap = w->capacity[m * RESOURCES + r];
      CHECK(used(w, m, r) <= cap * (1 + 1e-8));
      CHECK_NEAR(room[m * RESOURCES + r], cap - used(w, m, r), 1e-7 * (1 + cap));
    }
  for (int j = 0; j < w->n; j++) {
    berth_job_record r;
    CHECK_OK(berth_cluster_record(w->c, j, &r));
    CHECK(r.state == w->at[j].state);
    if (r.state == BERTH_JOB_RUNNING)
      CHECK_NEAR(r.left, w->at[j].left - w->at[j].rate * (w->now - w->at[j].since), 1e-9);
    if (r.state == BERTH_JOB_WAITING) CHECK_NEAR(r.left, w->at[j].left, 1e-9);
  }
}

static void try_start(replay_world *w, int j) {
  int32_t list[MACHINES] = { 0, 1, 2, 3, 4 }, n = 1 + (int32_t)berth_rng_below(&w->rng, MACHINES);
  double amount[MACHINES * RESOURCES], rate = 0.2 + 2 * berth_rng_uniform(&w->rng);
  int fits = 1;
  for (int i = 0; i < n; i++) {
    int k = i + (int)berth_rng_below(&w->rng, (uint64_t)(MACHINES - i));
    int32_t m = list[k];
    list[k] = list[i];
    list[i] = m;
    for (int r = 0; r < RESOURCES; r++) {
      double x = amount[i * RESOURCES + r] = floor(9 * berth_rng_uniform(&w->rng)) / 8;
      fits = fits && x <= w->capacity[m * RESOURCES + r] - used(w, m, r) + 1e-9;
    }
  }
  berth_status st = berth_cluster_start(w->c, j, n, list, amount, rate);
  CHECK_STATUS(st, fits ? BERTH_OK : BERTH_EINFEASIBLE);
  if (st != BERTH_OK) return;
  w->at[j].state = BERTH_JOB_RUNNING;
  w->at[j].rate = rate;
  w->at[j].since = w->now;
  memset(w->at[j].held, 0, sizeof w->at[j].held);
  for (int i = 0; i < n; i++)
    memcpy(w->at[j].held[list[i]], amount + i * RESOURCES, sizeof w->at[j].held[0]);
}

static void decide(replay_world *w) {
  int j = (int)berth_rng_below(&w->rng, (uint64_t)w->n), what = (int)berth_rng_below(&w->rng, 12);
  job_book *b = &w->at[j];
  if (what == 0) {
    w->wake = w->now + floor(4 * berth_rng_uniform(&w->rng)) / 2;
    CHECK_OK(berth_cluster_wake(w->c, w->wake));
    return;
  }
  if (what < 7) {
    if (b->state == BERTH_JOB_WAITING) try_start(w, j);
    else CHECK_STATUS(berth_cluster_start(w->c, j, 1, (int32_t[]){ 0 }, NULL, 1), BERTH_EINVAL);
  } else if (what < 9) {
    double rate = 0.1 + berth_rng_uniform(&w->rng);
    if (!CHECK_STATUS(berth_cluster_set_rate(w->c, j, rate),
                      b->state == BERTH_JOB_RUNNING ? BERTH_OK : BERTH_EINVAL))
      return;
    if (b->state != BERTH_JOB_RUNNING) return;
    advance(w, j, w->now);
    b->rate = rate;
  } else if (what < 11) {
    CHECK_STATUS(berth_cluster_pause(w->c, j),
                 b->state == BERTH_JOB_RUNNING ? BERTH_OK : BERTH_EINVAL);
    if (b->state != BERTH_JOB_RUNNING) return;
    advance(w, j, w->now);
    b->state = BERTH_JOB_WAITING;
  } else {
    CHECK_STATUS(berth_cluster_refuse(w->c, j, j),
                 b->state == BERTH_JOB_WAITING ? BERTH_OK : BERTH_EINVAL);
    if (b->state == BERTH_JOB_WAITING) b->state = BERTH_JOB_REFUSED, w->refused++;
  }
}

/* Nothing that runs is past its end, and nothing is left out: the earliest of all comes. */
static void check_event(replay_world *w, const berth_cluster_event *e) {
  double due = w->wake;
  if (e->kind == BERTH_CLUSTER_OVER) return;
  for (int j = 0; j < w->n; j++) {
    const job_book *b = &w->at[j];
    if (b->state == BERTH_JOB_RUNNING) due = fmin(due, b->since + b->left / b->rate);
    if (b->state == BERTH_JOB_COMING) due = fmin(due, w->job[j].arrival);
  }
  CHECK(e->time <= due + 1e-9 && e->time >= w->now);
  if (e->kind != BERTH_CLUSTER_SLOT) CHECK_NEAR(e->time, due, 1e-9);
  else CHECK_NEAR(fmod(e->time, w->slot), 0, 1e-12);
  w->now = e->time;
  if (e->kind == BERTH_CLUSTER_WAKE) w->wake = INFINITY;
  if (e->kind == BERTH_CLUSTER_ARRIVAL) {
    CHECK(w->at[e->job].state == BERTH_JOB_COMING && w->job[e->job].arrival == e->time);
    w->at[e->job].state = BERTH_JOB_WAITING;
  }
  if (e->kind != BERTH_CLUSTER_END_OF_JOB) return;
  CHECK(w->at[e->job].state == BERTH_JOB_RUNNING);
  advance(w, e->job, e->time);
  CHECK_NEAR(w->at[e->job].left, 0, 1e-9);
  w->at[e->job].state = BERTH_JOB_DONE;
  w->done++;
}

/* Without decisions in between, events of one instant come in the order of their kinds. */
static void check_order(replay_world *w, const berth_cluster_event *e, double before, int decided) {
  int same = e->time == before && !decided && e->kind != BERTH_CLUSTER_OVER;
  if (same)
    CHECK((int)e->kind > w->last_rank || ((int)e->kind == w->last_rank && e->job > w->last_job));
  w->last_rank = (int)e->kind;
  w->last_job = e->job;
}

/* Those that wait by the book, in order. */
static void compare_waiting(const replay_world *w) {
  int32_t jobs[JOBS], n = berth_cluster_waiting(w->c, JOBS, jobs), found = 0;
  for (int32_t j = 0; j < JOBS; j++)
    if (w->at[j].state == BERTH_JOB_WAITING) CHECK(found < n && jobs[found++] == j);
  CHECK(found == n);
}

static void play(uint64_t seed) {
  static replay_world w;
  berth_cluster_options o = berth_cluster_default(MACHINES);
  double now = 0;
  int decided = 1;
  memset(&w, 0, sizeof w);
  berth_rng_init(&w.rng, seed, 0);
  w.n = JOBS;
  w.wake = INFINITY;
  for (int i = 0; i < MACHINES * RESOURCES; i++)
    w.capacity[i] = 0.5 + floor(8 * berth_rng_uniform(&w.rng)) / 4;
  for (int j = 0; j < JOBS; j++) {
    w.job[j] = (berth_job){ now, floor(10 * berth_rng_uniform(&w.rng)), INFINITY, 0 };
    now += floor(3 * berth_rng_uniform(&w.rng)) / 2;
    w.at[j] = (job_book){ .state = BERTH_JOB_COMING, .left = w.job[j].work };
  }
  o.resources = RESOURCES;
  o.capacity = w.capacity;
  o.slot = w.slot = 1.5;
  o.horizon = 200;
  if (!CHECK_OK(berth_cluster_new(ctx, &o, JOBS, w.job, &w.c))) return;
  berth_cluster_event e;
  do {
    double before = w.now;
    CHECK_OK(berth_cluster_next(w.c, &e));
    check_event(&w, &e);
    check_order(&w, &e, before, decided);
    if (e.kind == BERTH_CLUSTER_OVER) break;
    decided = (int)berth_rng_below(&w.rng, 5);
    for (int k = 0; k < decided; k++) decide(&w);
    compare(&w);
    compare_waiting(&w);
  } while (check_bad < 5);
  berth_cluster_summary s = berth_cluster_summarise(w.c);
  CHECK(s.done == w.done && s.refused == w.refused && s.arrived <= JOBS);
  RELEASE(w.c);
}

TEST("random decisions beside a replay") {
  for (uint64_t seed = 0; seed < 300 && check_bad < 5; seed++) play(seed);
}
