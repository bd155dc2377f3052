/* The portfolio on threads: the same for any number, hooks on the calling one, stopped by hook and
 * clock, members of the user's. */
#include "place_portfolio_help.h"
#include "refusals.h"
#include <pthread.h>
#include <stdatomic.h>

/* ---- threads ---- */

static void check_same_run(const berth_portfolio *a, const berth_portfolio *b) {
  CHECK(berth_portfolio_winner(a) == berth_portfolio_winner(b));
  for (int32_t i = 0; i < berth_portfolio_members(a); i++) {
    const berth_member_report *x = berth_portfolio_report(a, i), *y = berth_portfolio_report(b, i);
    CHECK(x->status == y->status && x->oom == y->oom && x->why.missing == y->why.missing);
    CHECK(x->makespan == y->makespan || !x->placement);
    CHECK_TEXT(y->message, x->message);
    if (x->placement) CHECK(same_placement(x->placement, y->placement));
  }
}

enum { OPS = 600 }; /* smaller graphs are searched for longer */

TEST("the same bytes for any number of threads, and no memory left") {
  for (int k = 0; k < 2; k++) {
    instance m = make(OPS, 4, k ? 7.5 * OPS : INFINITY, 7);
    berth_portfolio_options o = berth_portfolio_default(m.g);
    o.calls = 100;
    berth_portfolio *alone, *several;
    o.place.links = BERTH_LINKS_DUPLEX;
    o.threads = 1;
    berth_status st = berth_portfolio_run(m.c, &o, &alone, NULL);
    for (int32_t threads = 0; threads <= 8; threads += 4) {
      char text[1024];
      snprintf(text, sizeof text, "%s", berth_errmsg(ctx));
      o.threads = threads;
      CHECK_STATUS(berth_portfolio_run(m.c, &o, &several, NULL), st);
      if (st != BERTH_OK) CHECK_TEXT(berth_errmsg(ctx), text);
      check_same_run(alone, several);
      RELEASE(several);
    }
    RELEASE(alone, m.c, m.g, m.t);
    CHECK(berth_ctx_memory(ctx) == 0);
  }
}

/* An allocator of the user's that is not for many threads, and tells if it was called from another
 * one. */
typedef struct own_alloc {
  pthread_t home;
  atomic_int strangers;
} own_alloc;

static void *alloc_at_home(void *ud, void *ptr, size_t osize, size_t nsize) {
  own_alloc *a = ud;
  (void)osize;
  if (!pthread_equal(pthread_self(), a->home)) a->strangers++;
  if (nsize > 0) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

TEST("a user's allocator is called on the calling thread only") {
  own_alloc a = { pthread_self(), 0 };
  berth_hooks hooks = { alloc_at_home, &a, NULL, NULL, NULL, NULL };
  hooked(&hooks);
  instance m = make(check_runs(400, 1200), 3, INFINITY, 3);
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.calls = 100;
  o.threads = 4;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK(a.strangers == 0);
  RELEASE(p, m.c, m.g, m.t);
  CHECK(berth_ctx_memory(ctx) == 0);
  hooked(NULL);
}

/* ---- hooks ---- */

typedef struct watcher {
  pthread_t home;
  atomic_int strangers, asked, stop_at; /* asked: of interrupt */
  int progress, backwards;
  double last;
  _Atomic double now, step;             /* the clock goes on by step at each look */
} watcher;

static int on_interrupt(void *ud) {
  watcher *w = ud;
  if (!pthread_equal(pthread_self(), w->home)) w->strangers++;
  return ++w->asked >= w->stop_at;
}

static void on_progress(void *ud, const char *what, double done) {
  watcher *w = ud;
  if (!pthread_equal(pthread_self(), w->home)) w->strangers++;
  if (strcmp(what, "portfolio") != 0 || !(done > w->last && done <= 1)) w->backwards++;
  w->last = done;
  w->progress++;
}

static double on_clock(void *ud) {
  watcher *w = ud;
  double now = w->now;
  while (!atomic_compare_exchange_weak(&w->now, &now, now + w->step)) continue;
  return now;
}

static void watched(watcher *w, int stop_at, double step) {
  memset(w, 0, sizeof *w);
  w->home = pthread_self();
  w->stop_at = stop_at;
  w->step = step;
  hooked(&(berth_hooks){ NULL, NULL, on_clock, on_interrupt, on_progress, w });
}

TEST("progress and interrupt are asked on the calling thread, once for each member that is done") {
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    watcher w;
    watched(&w, 1 << 30, 0.25);
    instance m = make(check_runs(400, 1200), 3, INFINITY, 3);
    berth_portfolio_options o = berth_portfolio_default(m.g);
    o.calls = 0;
    o.threads = threads;
    w.progress = w.asked = 0;
    w.last = 0;
    berth_portfolio *p = must_portfolio_run(m.c, &o);
    CHECK(w.progress == berth_portfolio_members(p) && w.last == 1 && w.backwards == 0);
    CHECK(w.strangers == 0 && w.asked > 0);
    for (int32_t i = 0; i < berth_portfolio_members(p); i++)
      CHECK(berth_portfolio_report(p, i)->seconds > 0);
    RELEASE(m.c, m.g, m.t);
    hooked(NULL);
  }
}

TEST("the hook stops the run: what has answered stays") {
  int answered[2] = { 0, 0 };
  for (int stop_at = 1; stop_at < 42; stop_at += 10) {
    for (int32_t threads = 1; threads <= 3; threads += 2) {
      watcher w;
      watched(&w, 1 << 30, 0.25);
      instance m = make(check_runs(400, 1200), 3, INFINITY, 3);
      berth_portfolio_options o = berth_portfolio_default(m.g);
      o.calls = 100;
      berth_portfolio *p;
      o.threads = threads;
      w.stop_at = w.asked + stop_at;
      berth_status st = berth_portfolio_run(m.c, &o, &p, NULL);
      CHECK(w.strangers == 0 && (st == BERTH_EINTERRUPT) == (w.asked >= w.stop_at));
      if (st == BERTH_EINTERRUPT) answered[p != NULL]++;
      if (p) CHECK(berth_portfolio_best(p) != NULL);
      if (stop_at == 1) CHECK(!p);
      for (int32_t i = 0; p && i < berth_portfolio_members(p); i++) {
        const berth_member_report *r = berth_portfolio_report(p, i);
        CHECK(r->status == BERTH_OK || r->status == BERTH_EINTERRUPT);
        CHECK_TEXT(r->message, r->status == BERTH_OK ? "" : "interrupted");
      }
      RELEASE(p);
      w.stop_at = 1 << 30;
      p = must_portfolio_run(m.c, &o); /* all goes on afterwards */
      RELEASE(p, m.c, m.g, m.t);
    hooked(NULL);
    }
  }
  CHECK(answered[0] > 0 && answered[1] > 0);
}

TEST("when the time has passed only the baselines run, and those that run are stopped") {
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    watcher w;
    watched(&w, 1 << 30, 1);
    instance m = make(check_runs(2000, 5000), 3, INFINITY, 3);
    berth_portfolio_options o = berth_portfolio_default(m.g);
    o.calls = 100;
    int late = 0;
    o.threads = threads;
    o.seconds = 0.5; /* the next look is too late */
    berth_portfolio *p = must_portfolio_run(m.c, &o);
    CHECK(w.last == 1); /* all are told as done */
    for (int32_t i = 0; i < berth_portfolio_members(p); i++) {
      const berth_member_report *r = berth_portfolio_report(p, i);
      CHECK_STATUS(r->status, i < 2 ? BERTH_OK : BERTH_EINTERRUPT);
      CHECK_TEXT(r->message, i < 2 ? "" : "no time left");
    }
    w.step = 0.001;
    o.seconds = 0.04; /* some looks: somebody is stopped on the way */
    p = must_portfolio_run(m.c, &o);
    for (int32_t i = 0; i < berth_portfolio_members(p); i++)
      late += berth_portfolio_report(p, i)->status == BERTH_EINTERRUPT;
    /* who looks first is chance there */
    CHECK(late > 0 && (threads > 1 || late < berth_portfolio_members(p) - 2));
    o.seconds = 1e9;
    p = must_portfolio_run(m.c, &o);
    for (int32_t i = 0; i < berth_portfolio_members(p); i++)
      CHECK(berth_portfolio_report(p, i)->status == BERTH_OK);
    RELEASE(m.c, m.g, m.t);
    hooked(NULL);
  }
}

/* ---- members of the user's ---- */

typedef struct own_member {
  int32_t device;
  berth_status answer;
  int calls, strangers;
  pthread_t home;
  watcher *late; /* lets time pass while it runs */
} own_member;

static void use_library(own_member *m, berth_cost *cost) {
  berth_placement *p = NULL;
  if (m->late) m->late->now = 1e6;
  berth_status st = berth_place(cost, "single", NULL, &p, NULL);
  CHECK_STATUS(st, m->late ? BERTH_EINTERRUPT : BERTH_OK);
  if (p) CHECK(berth_placement_device(p)[0] == 0);
  RELEASE(p);
}

static berth_status place_own(void *ud, berth_cost *cost, berth_placement **out,
                              berth_obstacle *why, char *message, size_t size) {
  own_member *m = ud;
  int32_t n = berth_graph_ops(berth_cost_graph(cost)), device[64];
  m->calls++;
  m->strangers += !pthread_equal(pthread_self(), m->home);
  use_library(m, cost);
  for (int32_t i = 0; i < n; i++) device[i] = m->device;
  if (m->answer == BERTH_OK) return berth_placement_new(ctx, n, device, NULL, "own", NAN, out);
  snprintf(message, size, "own reason");
  if (m->answer == BERTH_EINFEASIBLE) *why = (berth_obstacle){ 1, 0, 4 };
  return m->answer;
}

static berth_status last_device(void *ud, const berth_plan *p, int32_t op, const double *est,
                                const double *eft, double *score, double *wake) {
  int32_t d, devices = berth_topology_devices(berth_cost_topology(berth_plan_cost(p)));
  (void)op, (void)est, (void)eft, (void)wake;
  if (!pthread_equal(pthread_self(), *(pthread_t *)ud)) return BERTH_ECALLBACK;
  for (d = 0; d < devices - 1; d++) score[d] = INFINITY;
  return BERTH_OK;
}

static berth_status never(void *ud, const berth_plan *p, double *priority) {
  (void)ud, (void)p, (void)priority;
  return BERTH_ECALLBACK;
}

TEST("members of the user's: placers with options, policies, functions") {
  pthread_t home = pthread_self();
  berth_policy policy = { .name = "last", .score = last_device, .ud = &home };
  instance m = make(40, 3, INFINITY, 2);
  own_member own = { 1, BERTH_OK, 0, 0, home, NULL },
             refuses = { 0, BERTH_EINFEASIBLE, 0, 0, home, NULL };
  berth_place_options plain = berth_place_default(m.g), with_policy = plain, on_two = plain;
  with_policy.policy = &policy;
  on_two.device = 2;
  berth_member list[] = {
    { NULL, "policy", with_policy, NULL, NULL }, { "mine", NULL, plain, place_own, &own },
    { "refuses", NULL, plain, place_own, &refuses }, { "on two", "single", on_two, NULL, NULL },
    { NULL, "etf", plain, NULL, NULL }
  };
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.calls = 0;
  o.members = list;
  o.n_members = 5;
  o.threads = 3;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK(own.calls == 1 && refuses.calls == 1 && own.strangers + refuses.strangers == 0);
  CHECK_TEXT(berth_portfolio_report(p, 0)->name, "last");
  CHECK(berth_placement_device(berth_portfolio_report(p, 0)->placement)[7] == 2);
  CHECK(berth_placement_device(berth_portfolio_report(p, 1)->placement)[7] == 1
        && !berth_portfolio_report(p, 1)->placer);
  CHECK(berth_placement_device(berth_portfolio_report(p, 3)->placement)[7] == 2);
  CHECK_STATUS(berth_portfolio_report(p, 2)->status, BERTH_EINFEASIBLE);
  CHECK_TEXT(berth_portfolio_report(p, 2)->message, "own reason");
  CHECK(berth_portfolio_report(p, 2)->why.op == 1
        && berth_portfolio_report(p, 2)->why.missing == 4);
  CHECK(berth_portfolio_winner(p) == 4);
  RELEASE(p);
  own.answer = BERTH_ECALLBACK;
  CHECK_STATUS(berth_portfolio_run(m.c, &o, &p, NULL), BERTH_ECALLBACK);
  CHECK(!p);
  own.answer = BERTH_OK;
  policy.prepare = never;
  CHECK_STATUS(berth_portfolio_run(m.c, &o, &p, NULL), BERTH_ECALLBACK);
  own.device = 7;
  o.members = &list[1];
  o.n_members = 1;
  CHECK_STATUS(berth_portfolio_run(m.c, &o, &p, NULL), BERTH_EINVAL); /* the only one is nonsense */
  CHECK(p && !berth_portfolio_best(p) && strstr(berth_errmsg(ctx), "device 7"));
  CHECK(strncmp(berth_errmsg(ctx), "portfolio: mine: ", 17) == 0);
  CHECK_TEXT(berth_portfolio_report(p, 0)->message, berth_errmsg(ctx) + 17);
  RELEASE(p, m.c, m.g, m.t);
  CHECK(berth_ctx_memory(ctx) == 0);
}

TEST("what a user's function makes of being stopped by the time is no failure") {
  watcher w;
  watched(&w, 1 << 30, 0);
  instance m = make(40, 3, INFINITY, 2);
  own_member late = { 1, BERTH_ECALLBACK, 0, 0, pthread_self(), &w };
  berth_place_options plain = berth_place_default(m.g);
  berth_member list[] = { { NULL, "etf", plain, NULL, NULL },
                          { "late", NULL, plain, place_own, &late },
                          { NULL, "heft", plain, NULL, NULL } };
  berth_portfolio_options o = berth_portfolio_default(m.g);
  o.calls = 0;
  o.members = list;
  o.n_members = 3;
  o.threads = 1;
  o.seconds = 10;
  berth_portfolio *p = must_portfolio_run(m.c, &o);
  CHECK(late.calls == 1 && berth_portfolio_winner(p) == 0);
  for (int32_t i = 1; i < 3; i++) {
    CHECK_STATUS(berth_portfolio_report(p, i)->status, BERTH_EINTERRUPT);
    CHECK_TEXT(berth_portfolio_report(p, i)->message, "no time left");
  }
  RELEASE(p);
  o.members = &list[1];
  o.n_members = 1;
  w.now = 0;
  CHECK_ERROR(berth_portfolio_run(m.c, &o, &p, NULL), BERTH_EINTERRUPT,
              "portfolio: no time left before any member answered; not proved that nothing fits");
  RELEASE(p, m.c, m.g, m.t);
    hooked(NULL);
}

/* ---- allocation ---- */

static berth_status small_run(void) {
  static const char *const placers[] = { "single", "etf", "m-sct" };
  berth_cost *c = NULL;
  berth_portfolio *p = NULL;
  berth_member list[3];
  berth_status st = cost_of_text("1 2 3 4", 2, 1e6, 10, &c);
  if (st == BERTH_OK) {
    berth_portfolio_options o = berth_portfolio_default(berth_cost_graph(c));
    o.calls = 0;
    for (int i = 0; i < 3; i++) list[i] = (berth_member){ NULL, placers[i], o.place, NULL, NULL };
    o.members = list;
    o.n_members = 3;
    o.threads = 2;
    st = berth_portfolio_run(c, &o, &p, NULL);
  }
  RELEASE(p, c);
  return st;
}

TEST_REFUSALS(small_run)
