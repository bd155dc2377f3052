/* Collectives in the step simulator: by hand, and random graphs judged by their times. */
#include "sim_checker.h"
#include "refusals.h"

enum { OPS = 40 };

static void coll(setup *s, berth_collective_kind kind, double bytes, int32_t n,
                 const int32_t *members, int32_t m, const int32_t *then) {
  berth_collective c = { kind, bytes, 1, n, members, m, then };
  must_add_collective(s->b, &c);
}
static berth_sim_options with_links(berth_links links) {
  berth_sim_options o = berth_sim_default(NULL);
  o.links = links;
  return o;
}
/* a (1 s) on 0 and b (3 s) on 1 coll with 8 B, n = 2, 1 B/s: 8 s; then c (2 s) on 0, d (5 s) on 1;
 * d ends at 16. */
static void pair(setup *s) {
  setup_begin(s);
  setup_add(s, "1 3 2 5");
  coll(s, BERTH_ALLREDUCE, 8, 2, (int32_t[]){ 0, 1 }, 2, (int32_t[]){ 2, 3 });
}

TEST("two members, two consumers") {
  setup s;
  const int32_t apart[] = { 0, 1, 0, 1 }, one[] = { 1, 1, 1, 1 };
  pair(&s);
  setup_mesh(&s, 2, INFINITY);
  berth_result *r = run(&s, apart, NULL);
  const berth_collective_run *m;
  CHECK(berth_result_makespan(r) == 16 && berth_result_collectives(r, &m) == 1);
  CHECK(m->start == 3 && m->finish == 11 && m->seconds == 8 && m->bytes == 8 && m->n_devices == 2
        && m->last == 1);
  CHECK(m->algorithm == BERTH_COLLECTIVE_RING);
  CHECK(berth_result_slack(r)[0] == 2 && berth_result_slack(r)[1] == 0
        && berth_result_slack(r)[2] == 3);
  const int32_t *path;
  CHECK(berth_result_critical(r, &path) == 2 && path[0] == 1 && path[1] == 3);
  CHECK(berth_result_link_bytes(r)[0] == 8 && berth_result_link_busy(r)[1] == 8
        && berth_result_link_sharing(r)[0] == 1);
  const berth_overlap *o = berth_result_overlap(r);
  for (int32_t d = 0; d < 3; d++)
    CHECK(o[d].communication == 8 && o[d].exposed == 8 && o[d].overlapped == 0);
  r = run(&s, one, NULL);
  CHECK(berth_result_makespan(r) == 11 && berth_result_collectives(r, &m) == 1 && m->start == 4
        && m->finish == 4);
  CHECK(berth_result_overlap(r)[2].communication == 0 && berth_result_link_bytes(r)[0] == 0);
}

/* A terminal one sets the makespan; other work on a device hides it there. */
TEST("a terminal collective sets the makespan; limits and chain know it") {
  const int32_t device[] = { 0, 1, 0 };
  setup s = setup_started();
  setup_add(&s, "1 2 4");
  coll(&s, BERTH_ALLREDUCE, 6, 2, (int32_t[]){ 0, 1 }, 0, NULL);
  setup_mesh(&s, 2, INFINITY);
  berth_result *r = run(&s, device, NULL);
  const int32_t *path;
  CHECK(berth_result_makespan(r) == 8 && berth_result_critical(r, &path) == 1 && path[0] == 1);
  CHECK(berth_result_slack(r)[0] == 1 && berth_result_slack(r)[1] == 0
        && berth_result_slack(r)[2] == 3);
  CHECK(berth_result_overlap(r)[0].exposed == 3 && berth_result_overlap(r)[0].overlapped == 3);
  CHECK(berth_result_overlap(r)[1].exposed == 6 && berth_result_overlap(r)[2].exposed == 3);
  RELEASE(r);
  berth_sim *sim = must_sim_new(s.cost, NULL);
  berth_sim_summary sum = must_sim_run(sim, device);
  int32_t chain[3];
  CHECK(sum.makespan == 8 && berth_sim_chain(sim, chain) == 1 && chain[0] == 1);
  CHECK_OK(berth_sim_run_limited(sim, device, 8, &sum));
  CHECK(sum.makespan == 8);
  /* op 1 cannot end all before 8 */
  CHECK_OK(berth_sim_run_limited(sim, device, 7.9, &sum));
  CHECK_NEAR(sum.makespan, 8, 1e-12);
  CHECK(berth_sim_chain(sim, chain) == 0);
}

/* op 0 (1 s) sends 4 B to device 2; ops 1 (2 s) on 0 and 2 (3 s) on 1 coll at 3 for 4 s. Device 0
 * sends from 1 to 5. */
static void check_waiting(berth_links links, double begins, double makespan) {
  const int32_t device[] = { 0, 0, 1, 2 };
  berth_sim_options o = with_links(links);
  setup s = setup_started();
  setup_add(&s, "1 2 3 1 0>3:4");
  coll(&s, BERTH_ALLREDUCE, 4, 2, (int32_t[]){ 1, 2 }, 0, NULL);
  setup_mesh(&s, 3, INFINITY);
  berth_result *r = run(&s, device, &o);
  const berth_collective_run *m;
  berth_result_collectives(r, &m);
  CHECK(m->start == begins && m->finish == begins + 4 && berth_result_makespan(r) == makespan);
  if (links == BERTH_LINKS_DUPLEX)
    CHECK(berth_result_slack(r)[0] == 0 && berth_result_slack(r)[2] == 2);
  o.split_windows = links == BERTH_LINKS_CHANNEL || links == BERTH_LINKS_DUPLEX;
  r = run(&s, device, &o);
  CHECK(berth_result_makespan(r) == makespan);
}

/* Three devices behind one switch, 1 B/s each way: transfers and collectives share the links of
 * their devices. */
static void star(setup *s) { setup_wires(s, "1 1 1 s 0-3:1 1-3:1 2-3:1"); }

/* From 1 on, op 0 sends 4 B from 0 to 2 and ops 0 and 1 all-reduce 6 B between 0 and 1: the way out
 * of 0 is shared. Fair: 1/2 B/s each, so 4 B by 9 and of the 6 B 4 are over; the rest by 11. Held:
 * the transfer first, by insertion: 5, then 6 s. */
static void shared(berth_links links, double begins, double ends) {
  const int32_t device[] = { 0, 1, 2 };
  berth_sim_options o = with_links(links);
  setup s = setup_started();
  setup_add(&s, "1 1 0 0>2:4");
  coll(&s, BERTH_ALLREDUCE, 6, 2, (int32_t[]){ 0, 1 }, 0, NULL);
  star(&s);
  berth_result *r = run(&s, device, &o);
  const berth_collective_run *m;
  berth_result_collectives(r, &m);
  CHECK(m->start == begins);
  CHECK_NEAR(m->finish, ends, 1e-12);
  CHECK(m->seconds == 6
        && berth_result_link_sharing(r)[0]
               == (links == BERTH_LINKS_FAIR || links == BERTH_LINKS_FREE ? 2 : 1));
  CHECK(berth_result_link_bytes(r)[0] == 10);
}

/* Alone, every kind takes its price on shared links, too; the mesh has a link for every pair. */
TEST("alone every kind takes its price, by every algorithm, on all kinds of links") {
  static const berth_collective_algorithm how[] = { BERTH_COLLECTIVE_RING, BERTH_COLLECTIVE_TREE,
                                                    BERTH_COLLECTIVE_DOUBLE_TREE,
                                                    BERTH_COLLECTIVE_HALVING,
                                                    BERTH_COLLECTIVE_HIERARCHICAL,
                                                    BERTH_COLLECTIVE_AUTO };
  for (int32_t kind = BERTH_ALLREDUCE; kind <= BERTH_PARAMETER_SERVER; kind++) {
    for (int32_t a = 0; a < 6; a++) {
      for (int32_t links = BERTH_LINKS_FREE; links <= BERTH_LINKS_FAIR; links++) {
        int32_t device[] = { 0, 1, 2, 3, 4 }, groups[] = { 0, 0, 1, 1, 0 };
        berth_cost_model model = { .collective_algorithm = how[a] };
        berth_sim_options o = with_links((berth_links)links);
        setup s = setup_started();
        setup_add(&s, "1 1 1 1 1");
        coll(&s, (berth_collective_kind)kind, 96, 5, device, 0, NULL);
        s.g = must_graph_builder_finish(s.b);
        s.t = must_mesh(5, INFINITY, 8, 0.5);
        if (a >= 4) model.device_group = groups;
        s.cost = must_cost_new(s.g, s.t, &model);
        berth_result *r = run(&s, device, &o);
        const berth_collective_run *m;
        berth_result_collectives(r, &m);
        CHECK_NEAR(m->finish, 1 + m->seconds, 1e-9);
        CHECK_NEAR(berth_result_makespan(r), 1 + m->seconds, 1e-9);
        SETUP_END(&s, r);
      }
    }
  }
}

/* ---- memory ---- */

TEST("what they hold") {
  static const struct { berth_collective_kind kind; double bytes;
  } cases[] = { { BERTH_ALLREDUCE, 8 },
                { BERTH_ALLGATHER, 16 },
                { BERTH_BARRIER, 0 },
                { BERTH_PARAMETER_SERVER, 8 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int32_t device[] = { 0, 1 };
    setup s = setup_started();
    setup_add(&s, "1p3w2 2p1w1");
    coll(&s, cases[i].kind, 8, 2, device, 0, NULL);
    setup_mesh(&s, 2, 10);
    berth_result *r = run(&s, device, NULL);
    CHECK(berth_result_peak(r)[0] == fmax(5, 3 + cases[i].bytes)
          && berth_result_peak(r)[1] == fmax(2, 1 + cases[i].bytes));
    const int32_t *ops;
    const double *bytes;
    CHECK(berth_result_peak_ops(r, 0, &ops, &bytes) == 1 && bytes[0] == berth_result_peak(r)[0]);
    berth_oom oom;
    CHECK(berth_result_oom(r, &oom) == (3 + cases[i].bytes > 10));
    if (3 + cases[i].bytes > 10)
      CHECK(oom.op == 0 && oom.device == 0 && oom.time == 2
            && oom.shortfall == 3 + cases[i].bytes - 10);
  }
}

/* ---- faults ---- */

TEST("deadlock, too late, no route: said with the collective") {
  const int32_t apart[] = { 0, 1, 0, 1 }, sequence[] = { 2, 0, 1, 3 };
  berth_sim_options o = berth_sim_default(NULL);
  setup s;
  pair(&s);
  setup_mesh(&s, 2, INFINITY);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = sequence;
  check_refused(&s, apart, &o, BERTH_EINVAL,
                "deadlocks: op 2 is next on device \"d0\" but waits for op 0");
  o = berth_sim_default(NULL);
  o.quantum = 1.1e-15; /* 2^53 of them are 9.9 s */
  check_refused(&s, apart, &o, BERTH_EINVAL, "collective 0 would end later than");
  setup_end(&s);
  pair(&s);
  setup_wires(&s, "1 1");
  check_refused(&s, apart, NULL, BERTH_EUNREACHABLE, "collective 0: no route from device \"d0\"");
}

/* ---- a price of one's own: asked on the calling thread, also in batches ---- */

typedef struct asked {
  int calls, fail;
} asked;

static berth_status own_price(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                              double *seconds) {
  asked *a = ud;
  a->calls++;
  *seconds = 10 * collective + n + devices[1];
  return a->fail ? BERTH_ECALLBACK : BERTH_OK;
}

TEST("priced by a function, on the calling thread") {
  enum { ROWS = 40 };
  asked a = { 0, 0 };
  berth_cost_model model = { .collective = own_price, .ud = &a };
  berth_result *r = NULL;
  setup s;
  pair(&s);
  setup_mesh(&s, 2, INFINITY);
  RELEASE(s.cost);
  s.cost = must_cost_new(s.g, s.t, &model);
  int32_t device[4 * ROWS];
  for (int32_t i = 0; i < 4 * ROWS; i++) device[i] = i / 4 % 2 ? 1 : i % 2;
  berth_sim_summary out[ROWS];
  CHECK_OK(berth_sim_batch(s.cost, NULL, ROWS, device, 4, out));
  CHECK(a.calls == ROWS);
  for (int32_t i = 0; i < ROWS; i++) CHECK(out[i].makespan == (i % 2 ? 4 + 3 + 7 : 3 + 3 + 5));
  r = run(&s, device, &(berth_sim_options){ .links = BERTH_LINKS_FAIR, .param_multiple = 1 });
  const berth_collective_run *m;
  CHECK(berth_result_collectives(r, &m) == 1 && m->algorithm == BERTH_COLLECTIVE_FUNCTION
        && m->finish == 6);
  RELEASE(r);
  a.fail = 1;
  r = NULL;
  CHECK_STATUS(berth_simulate(s.cost, device, NULL, &r), BERTH_ECALLBACK);
  CHECK(r == NULL);
}

/* ---- noise and quanta ---- */

TEST("quantum and noise") {
  const int32_t apart[] = { 0, 1, 0, 1 };
  berth_sim_options o = berth_sim_default(NULL);
  setup s;
  pair(&s);
  setup_mesh(&s, 2, INFINITY);
  o.quantum = 3;
  berth_result *r = run(&s, apart, &o); /* 1, 3, 2, 5 s are 1, 1, 1, 2 quanta, 8 s are 3 */
  const berth_collective_run *m;
  berth_result_collectives(r, &m);
  CHECK(m->start == 3 && m->finish == 12 && m->seconds == 8 && berth_result_makespan(r) == 18);
  o.quantum = 0;
  o.noise = 0.3;
  r = run(&s, apart, &o);
  berth_result_collectives(r, &m);
  double first = m->finish - m->start;
  CHECK(first != 8 && m->seconds == 8);
  o.links = BERTH_LINKS_FAIR;
  r = run(&s, apart, &o); /* the same factor, whatever the links are */
  berth_result_collectives(r, &m);
  CHECK_NEAR(m->finish - m->start, first, 1e-9);
}

/* ---- random graphs, judged by their times; limits ---- */

static void limits(setup *s, const berth_sim_options *o, const int32_t *device, double makespan,
                   berth_rng *rng) {
  berth_sim *sim = must_sim_new(s->cost, o);
  berth_sim_summary sum;
  for (int32_t i = 0; i < 4; i++) {
    double limit = makespan * (i == 0 ? 1 : 2 * berth_rng_uniform(rng));
    CHECK_OK(berth_sim_run_limited(sim, device, limit, &sum));
    if (limit >= makespan) CHECK(sum.makespan == makespan);
    else CHECK(sum.makespan > limit && sum.makespan <= makespan * (1 + 1e-9));
  }
}

static void random_graphs(int even) {
  berth_rng rng = seeded(21, (uint64_t)even);
  for (int32_t round = 0; round < 60; round++) {
    int32_t n = 2 + berth_rng_below(&rng, OPS - 1), devices = 3 + berth_rng_below(&rng, 3);
    berth_sim_options o = berth_sim_default(NULL);
    setup s;
    setup_random(&s, &rng, n, 0);
    setup_collectives(&s, &rng, n, 1 + n / 6, 0);
    if (even) setup_mesh(&s, devices, INFINITY);
    else setup_uneven(&s, devices);
    int32_t device[OPS];
    random_devices(&rng, n, devices, device);
    double rank[OPS];
    o.rank = rank;
    o.dispatch = BERTH_DISPATCH_STATIC;
    for (int32_t i = 0; i < n; i++) rank[i] = berth_rng_uniform(&rng);
    berth_result *r = run(&s, device, &o);
    judged j = judge(&s, &o, r);
    check_precedence(&j);
    check_devices(&j);
    check_work_conserving(&j);
    check_dispatch(&j);
    check_collectives(&j);
    double last = 0;
    for (int32_t i = 0; i < n; i++) last = fmax(last, j.finish[i]);
    for (int32_t k = 0; k < j.n_met; k++) last = fmax(last, j.met[k].finish);
    CHECK(berth_result_makespan(r) == last);
    limits(&s, &o, device, berth_result_makespan(r), &rng);
    o.memory = BERTH_MEMORY_NONE;
    for (int32_t links = BERTH_LINKS_CHANNEL; links <= BERTH_LINKS_FAIR; links++) {
      RELEASE(r);
      o.links = (berth_links)links;
      r = run(&s, device, &o);
      limits(&s, &o, device, berth_result_makespan(r), &rng);
    }
  }
}

/* ---- refused allocations ---- */

static berth_status whole_job(const void *links) {
  static const int32_t device[] = { 0, 1, 2, 0, 1, 2 }, members[] = { 0, 1, 2 },
                       then[] = { 3, 4, 5 };
  berth_cost_model model = { .collective_algorithm = BERTH_COLLECTIVE_AUTO };
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 3, members, 3, then };
  berth_sim_options o = with_links(*(const berth_links *)links);
  setup s = { 0 };
  berth_result *r = NULL;
  berth_sim *sim = NULL;
  berth_status st = berth_graph_builder_new(ctx, &s.b);
  TRY(st, add_text(s.b, "1 1 1 1 1 1"));
  TRY(st, berth_graph_builder_add_collective(s.b, &c, NULL));
  TRY(st, berth_graph_builder_finish(s.b, &s.g));
  TRY(st, mesh_of(3, INFINITY, 1, 0.5, &s.t));
  TRY(st, berth_cost_new(s.g, s.t, &model, &s.cost));
  TRY(st, berth_simulate(s.cost, device, &o, &r));
  if (st == BERTH_OK
      && (!berth_result_slack(r) || !berth_result_overlap(r) || !berth_result_link_sharing(r)))
    st = BERTH_ENOMEM;
  TRY(st, berth_sim_new(s.cost, &o, &sim));
  berth_sim_summary sum;
  TRY(st, berth_sim_run_limited(sim, device, 5, &sum));
  RELEASE(sim, r, s.cost, s.t, s.g, s.b);
  return st;
}

TEST("every refused allocation is reported and leaks nothing") {
  for (berth_links links = BERTH_LINKS_FREE; links <= BERTH_LINKS_FAIR; links++)
    refuse_each(whole_job, &links, 1, 0);
}

TEST("free: waits for its members only") { check_waiting(BERTH_LINKS_FREE, 3, 7); }

TEST("channel: waits for the transfer of a member's device") {
  check_waiting(BERTH_LINKS_CHANNEL, 5, 9);
}
TEST("duplex: so, too") { check_waiting(BERTH_LINKS_DUPLEX, 5, 9); }
TEST("pair: another pair is no matter") { check_waiting(BERTH_LINKS_PAIR, 3, 7); }
TEST("route: nor are other links") { check_waiting(BERTH_LINKS_ROUTE, 3, 7); }
TEST("fair: nor are other links") { check_waiting(BERTH_LINKS_FAIR, 3, 7); }
TEST("free: both at once") { shared(BERTH_LINKS_FREE, 1, 7); }
TEST("route: one after the other on a shared link") { shared(BERTH_LINKS_ROUTE, 5, 11); }
TEST("fair: the link is shared") { shared(BERTH_LINKS_FAIR, 1, 11); }
TEST("random graphs, equal devices; limits under all links") { random_graphs(1); }
TEST("random graphs, unequal devices and links") { random_graphs(0); }
