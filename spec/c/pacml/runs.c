/* Runs of PAC-ML, decided at random, beside a replay that keeps its own books: servers are nobody
 * else's, deadlines hold, causes are right, and reports count what the replay counts. */
#include "refusals.h"

enum { SERVERS = 32, JOBS = 300, MOST = 16, MODELS = 2, STEPS = 5 };

static const char *const profiles[MODELS] = {
  "node1 -- Input -- forward_compute_time=0, backward_compute_time=0, activation_size=64.0, "
  "parameter_size=0.0\n"
  "node2 -- Linear(a, b) -- forward_compute_time=2000, backward_compute_time=3000, "
  "activation_size=4096.0, parameter_size=512.0\n"
  "node3 -- Linear(b, c) -- forward_compute_time=3000, backward_compute_time=1000, "
  "activation_size=2048.0, parameter_size=256.0\n"
  "node4 -- Loss() -- forward_compute_time=4000, backward_compute_time=500, activation_size=8.0, "
  "parameter_size=0.0\n"
  "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode2 -- node4\n",
  "node1 -- Embedding -- forward_compute_time=900, backward_compute_time=1000, "
  "activation_size=8192.0, parameter_size=1024.0\n"
  "node2 -- LSTM -- forward_compute_time=60, backward_compute_time=100, activation_size=512.0, "
  "parameter_size=4096.0\n"
  "\tnode1 -- node2\n"
};

static berth_status add_model(berth_ramp *ramp, const char *text, berth_ramp_model **out) {
  berth_graph *g = NULL;
  berth_status st = graph_of_profile(text, &g);
  TRY(st, berth_ramp_model_new(ramp, g, NULL, 0, out));
  RELEASE(g);
  return st;
}

/* Slow enough that the servers on which the pieces are make a difference. */
static berth_status make(int compat, berth_pacml **out) {
  berth_ramp_options o = berth_ramp_default(compat);
  berth_ramp *ramp = NULL;
  berth_ramp_model *model[MODELS] = { NULL, NULL };
  o.bandwidth = 40000;
  o.time_scale = 1;
  o.quantum = 0.05;
  berth_status st = berth_ramp_new(ctx, &o, &ramp);
  for (int i = 0; st == BERTH_OK && i < MODELS; i++)
    st = add_model(ramp, profiles[i], &model[i]);
  TRY(st, berth_pacml_new(ramp, MODELS, model, STEPS, MOST, out));
  for (int i = 0; i < MODELS; i++) RELEASE(model[i]);
  RELEASE(ramp);
  return st;
}

/* Some arrive together. */
static void draw(berth_rng *rng, int32_t n, berth_pacml_job *jobs) {
  double now = 0;
  for (int32_t j = 0; j < n; j++) {
    jobs[j] = (berth_pacml_job){ now, 0.1 + 0.9 * berth_rng_uniform(rng),
                                 (int32_t)berth_rng_below(rng, MODELS) };
    if (berth_rng_below(rng, 4) != 0) now += 15 * berth_rng_uniform(rng);
  }
}

/* ---- the replay ---- */

typedef struct job_book {
  double end[JOBS];              /* NAN: not accepted */
  berth_pacml_cause cause[JOBS];
  double free_at[SERVERS];
  int owner[SERVERS];
} job_book;

static int is_free(const job_book *b, int32_t s, double now) { return b->free_at[s] <= now + 1e-7; }

/* Servers that the run says are busy are those that the book knows of. */
static int same_servers(const job_book *b, const berth_pacml_run *r, double now) {
  const uint8_t *busy = berth_pacml_run_busy(r);
  for (int32_t s = 0; s < SERVERS; s++)
    if (busy[s] == is_free(b, s, now)) return 0;
  return 1;
}

static int legal(berth_pacml_run *r, int32_t d) {
  uint8_t mask[MOST + 1];
  return berth_pacml_mask(r, mask) == BERTH_OK && mask[d];
}

/* What an outcome must be, whatever was decided. */
static void check_outcome(berth_pacml *p, const job_book *b, const berth_pacml_job *job, int32_t d,
                          const berth_pacml_outcome *o, const int32_t *servers) {
  double limit = job->beta * berth_pacml_sequential(p, job->model);
  CHECK((o->cause == BERTH_PACML_REJECTED) == (d == 0));
  CHECK(isnan(o->jct) == (o->cause == BERTH_PACML_REJECTED || o->cause == BERTH_PACML_PLACEMENT));
  if (isnan(o->jct)) return;
  CHECK(o->pieces <= d && o->n_servers >= o->pieces && o->n_servers <= SERVERS);
  CHECK((o->cause == BERTH_PACML_ACCEPTED) == (o->jct <= limit * (1 + 1e-9)));
  CHECK(o->jct * o->n_servers >= berth_pacml_sequential(p, job->model) * (1 - 1e-9));
  for (int32_t i = 0; i < o->n_servers; i++) {
    CHECK(servers[i] >= 0 && servers[i] < SERVERS && is_free(b, servers[i], job->arrival));
    CHECK(i == 0 || servers[i] > servers[i - 1]);
  }
}

static void enter(job_book *b, int32_t job, const berth_pacml_job *jobs,
                  const berth_pacml_outcome *o, const int32_t *servers) {
  b->cause[job] = o->cause;
  b->end[job] = o->cause == BERTH_PACML_ACCEPTED ? jobs[job].arrival + o->jct : NAN;
  if (o->cause != BERTH_PACML_ACCEPTED) return;
  for (int32_t i = 0; i < o->n_servers; i++) b->free_at[servers[i]] = b->end[job];
}

static void decide_one(berth_pacml *p, berth_pacml_run *r, const berth_pacml_job *jobs,
                       berth_rng *rng, job_book *b) {
  int32_t job = berth_pacml_run_job(r), d = (int32_t)berth_rng_below(rng, MOST / 2 + 2);
  d = d < 2 ? d : 2 * (d - 1);
  if (berth_rng_below(rng, 8) != 0 && !legal(r, d)) d = 1;
  CHECK(berth_cluster_now(berth_pacml_run_cluster(r)) == jobs[job].arrival);
  CHECK(same_servers(b, r, jobs[job].arrival));
  int32_t servers[SERVERS];
  berth_pacml_outcome seen;
  CHECK_OK(berth_pacml_look(r, d, &seen, servers));
  check_outcome(p, b, &jobs[job], d, &seen, servers);
  berth_pacml_outcome done;
  CHECK_OK(berth_pacml_decide(r, d, &done));
  CHECK(done.cause == seen.cause && done.n_servers == seen.n_servers
        && (done.jct == seen.jct || isnan(seen.jct)));
  enter(b, job, jobs, &seen, servers);
}

static void check_counts(berth_pacml_run *r, const berth_pacml_job *jobs, const job_book *b,
                         double horizon, int compat) {
  int32_t arrived = 0, completed = 0, unfinished = 0, count[4] = { 0, 0, 0, 0 };
  berth_pacml_report o;
  double jct = 0;
  CHECK_OK(berth_pacml_run_report(r, horizon, &o));
  CHECK(o.time <= horizon);
  for (int32_t j = 0; j < JOBS && jobs[j].arrival <= horizon; j++) {
    arrived++;
    count[b->cause[j]]++;
    if (isnan(b->end[j])) continue;
    if (b->end[j] > horizon) unfinished++;
    else completed++, jct += b->end[j] - jobs[j].arrival;
  }
  CHECK(o.arrived == arrived && o.completed == completed && o.unfinished == unfinished);
  CHECK(o.rejected == count[BERTH_PACML_REJECTED] && o.unplaced == count[BERTH_PACML_PLACEMENT]
        && o.late == count[BERTH_PACML_LATE]);
  CHECK(o.blocked == arrived - count[BERTH_PACML_ACCEPTED] + (compat ? unfinished : 0));
  CHECK_NEAR(o.blocking_rate, (double)o.blocked / arrived, 1e-12);
  CHECK_NEAR(o.jct, completed > 0 ? jct / completed : 0, 1e-6);
  CHECK(o.mounted_fraction <= 1 + 1e-9 && o.mounted_utilisation <= 1 + 1e-9
        && o.utilisation <= o.mounted_fraction);
}

static void replay(int compat, uint64_t seed) {
  berth_pacml *p = NULL;
  job_book b = { .free_at = { 0 } };
  int seen[4] = { 0, 0, 0, 0 };
  CHECK_OK(make(compat, &p));
  berth_rng rng = seeded(seed, 1);
  berth_pacml_job jobs[JOBS];
  draw(&rng, JOBS, jobs);
  berth_pacml_run *r = must_pacml_run_new(p, JOBS, jobs);
  while (berth_pacml_run_job(r) != BERTH_NONE) decide_one(p, r, jobs, &rng, &b);
  for (int32_t j = 0; j < JOBS; j++) seen[b.cause[j]]++;
  CHECK(seen[0] > 0 && seen[1] > 0 && seen[2] > 0 && seen[3] > 0);
  check_counts(r, jobs, &b, INFINITY, compat);
  check_counts(r, jobs, &b, jobs[JOBS / 2].arrival, compat);
  check_counts(r, jobs, &b, jobs[JOBS - 1].arrival, compat);
  RELEASE(p); /* the run holds it */
}

/* ---- compat: the first decision for a model in so many pieces sets its time ---- */

TEST("the first decision sets the time of a model in so many pieces") {
  double jct[MODELS][MOST + 1] = { { 0 } };
  berth_pacml *p = NULL;
  CHECK_OK(make(1, &p));
  berth_rng rng = seeded(5, 1);
  berth_pacml_job jobs[JOBS];
  draw(&rng, JOBS, jobs);
  berth_pacml_run *r = must_pacml_run_new(p, JOBS, jobs);
  for (int32_t j; (j = berth_pacml_run_job(r)) != BERTH_NONE;) {
    berth_pacml_outcome o;
    CHECK_OK(berth_pacml_decide(r, 2 * (1 + (int32_t)berth_rng_below(&rng, MOST / 2)), &o));
    if (isnan(o.jct)) continue;
    double *first = &jct[jobs[j].model][o.pieces];
    CHECK(*first == 0 || *first == o.jct);
    *first = o.jct;
  }
  RELEASE(p);
}

/* ---- allocation failure ---- */

static berth_status whole_job(void) {
  berth_pacml *p = NULL;
  berth_pacml_run *r = NULL;
  berth_status st = make(0, &p);
  berth_rng rng = seeded(1, 1);
  berth_pacml_job jobs[20];
  draw(&rng, 20, jobs);
  TRY(st, berth_pacml_run_new(p, 20, jobs, &r));
  uint8_t mask[MOST + 1];
  for (int32_t d = 0; st == BERTH_OK && berth_pacml_run_job(r) != BERTH_NONE;
       d = d < 8 ? d + 2 : 0) {
    st = berth_pacml_accepted(r, mask);
    TRY(st, berth_pacml_decide(r, d, NULL));
  }
  berth_pacml_report report;
  TRY(st, berth_pacml_run_report(r, 50, &report));
  RELEASE(r, p);
  return st;
}

/* A decision that was refused memory can be taken again, and comes to the same. */
TEST("a decision that failed can be taken again") {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { check_alloc, &s, NULL, NULL, NULL, NULL };
  berth_pacml_job jobs[2] = { { 0, 1, 0 }, { 1, 1, 1 } };
  berth_pacml *p = NULL;
  berth_status st = BERTH_ENOMEM;
  hooked(&hooks);
  CHECK_OK(make(0, &p));
  berth_pacml_run *r = must_pacml_run_new(p, 2, jobs);
  berth_pacml_outcome o;
  for (long n = 1; st == BERTH_ENOMEM && n < 1000; n++) {
    s.calls = 0;
    s.fail_at = n;
    st = berth_pacml_decide(r, 8, &o);
    CHECK(st == BERTH_OK || berth_pacml_run_job(r) == 0);
  }
  CHECK_OK(st);
  CHECK(o.cause == BERTH_PACML_ACCEPTED && berth_pacml_run_job(r) == 1);
  RELEASE(p);
  hooked(NULL);
}

/* ---- played ---- */

/* Decides by number; stops in between when it is told to. */
typedef struct run_player {
  int32_t jobs, ended, silent, fails_at, asks; /* silent: the job that is not decided about */
  char text[100];
} run_player;

static int32_t choice(int32_t job) { return 2 * (job % 8); }

static berth_status on_arrival(void *ud, berth_pacml_run *r, int32_t job) {
  run_player *w = ud;
  CHECK(berth_pacml_run_job(r) == job);
  if (job == w->fails_at) return w->fails_at = BERTH_NONE, BERTH_ECALLBACK;
  w->jobs++;
  if (job == w->silent) return BERTH_OK;
  CHECK_OK(berth_pacml_decide(r, choice(job), NULL));
  CHECK(berth_pacml_run_job(r) == BERTH_NONE);
  return BERTH_OK;
}
static berth_status on_end(void *ud, berth_pacml_run *r, int32_t job) {
  berth_pacml_outcome o;
  int32_t d;
  CHECK(berth_pacml_result(r, job, &d, &o) == BERTH_OK && d == choice(job)
        && o.cause == BERTH_PACML_ACCEPTED);
  CHECK(berth_pacml_decide(r, 0, NULL) == BERTH_EINVAL
        && berth_pacml_run_play(r, &(berth_pacml_decider){ 0 }) == BERTH_EINVAL);
  ((run_player *)ud)->ended++;
  return BERTH_OK;
}
static int stops(void *ud) { return ++((run_player *)ud)->asks % 7 == 0; }

static void played(int compat) {
  run_player w = { .silent = BERTH_NONE, .fails_at = 20 };
  berth_pacml_decider decider = { on_arrival, on_end, &w };
  berth_hooks hooks = { .interrupt = stops, .ud = &w };
  berth_pacml *p = NULL;
  int stopped = 0;
  hooked(&hooks);
  while (make(compat, &p) == BERTH_EINTERRUPT) stopped++;
  berth_rng rng = seeded(7, 1);
  berth_pacml_job jobs[JOBS];
  draw(&rng, JOBS, jobs);
  berth_pacml_run *r = must_pacml_run_new(p, JOBS, jobs);
  for (int32_t j; (j = berth_pacml_run_job(r)) != BERTH_NONE;)
    berth_pacml_decide(r, choice(j), NULL);
  berth_pacml_report pulled;
  CHECK_OK(berth_pacml_run_report(r, INFINITY, &pulled));
  r = must_pacml_run_new(p, JOBS, jobs);
  berth_status st;
  for (stopped = 0;
       (st = berth_pacml_run_play(r, &decider)) == BERTH_EINTERRUPT || st == BERTH_ECALLBACK;
       stopped++)
    CHECK(st != BERTH_ECALLBACK || berth_pacml_run_job(r) == 20);
  CHECK(st == BERTH_OK && stopped > 1 && w.fails_at == BERTH_NONE);
  berth_pacml_report pushed;
  CHECK_OK(berth_pacml_run_report(r, INFINITY, &pushed));
  CHECK(memcmp(&pulled, &pushed, sizeof pulled) == 0 && w.jobs == JOBS
        && w.ended <= pushed.completed && w.ended > 0);
  r = must_pacml_run_new(p, 1, jobs);
  w.silent = 0;
  while ((st = berth_pacml_run_play(r, &decider)) == BERTH_EINTERRUPT) stopped++;
  CHECK_ERROR(st, BERTH_EINVAL, "pacml: job 0: the decider did not decide about it");
  CHECK_OK(berth_pacml_decide(r, 0, NULL));
  RELEASE(p);
  hooked(NULL);
}

TEST("runs keep to what a replay says, as published") {
  for (uint64_t seed = 1; seed <= 8; seed++) replay(1, seed);
}

TEST("runs keep to what a replay says, exact") {
  for (uint64_t seed = 1; seed <= 8; seed++) replay(0, seed);
}

TEST("a run that is played is one that is pulled, also if it is stopped on the way") {
  played(0), played(1);
}
TEST_REFUSALS(whole_job)
