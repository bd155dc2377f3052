/* Cases small enough to check by hand: every discipline of links, every dispatch, push and pull,
 * preemption, quanta, noise. */
#include "sim_checker.h"

static berth_sim_options with(berth_links links, berth_dispatch dispatch, berth_send send) {
  berth_sim_options o = berth_sim_default(NULL);
  o.links = links;
  o.dispatch = dispatch;
  o.send = send;
  return o;
}
/* The next n ops from `first` on start then. */
static void check_starts(const berth_result *r, int32_t first, int32_t n, const double *want) {
  for (int32_t i = 0; i < n; i++) CHECK_NEAR(berth_result_start(r)[first + i], want[i], 0);
}
#define STARTS(r, first, ...) \
  check_starts(r, first, sizeof(double[]){ __VA_ARGS__ } / sizeof(double), \
               (double[]){ __VA_ARGS__ })
static double makespan(setup *s, const int32_t *device, const berth_sim_options *o) {
  berth_result *r = run(s, device, o);
  double m = berth_result_makespan(r);
  RELEASE(r);
  return m;
}

TEST("an op starts only after its tensors arrive") {
  int32_t apart[] = { 0, 1 }, together[] = { 0, 0 };
  /* a (2 s) --8 B--> b (1 s) over 1 B/s */
  setup s = setup_of("2 1 0>1:8", 2, INFINITY);
  berth_result *r = run(&s, apart, NULL);
  CHECK_NEAR(berth_result_start(r)[1], 10, 0);
  CHECK_NEAR(berth_result_makespan(r), 11, 0);
  const berth_transfer *x;
  CHECK(berth_result_transfers(r, &x) == 1);
  CHECK(x->tensor == 0 && x->src == 0 && x->dst == 1 && x->start == 2 && x->finish == 10);
  CHECK_NEAR(berth_result_link_bytes(r)[0], 8, 0); /* link 0: 0 -> 1, link 1: back */
  CHECK_NEAR(berth_result_link_busy(r)[0], 8, 0);
  CHECK_NEAR(berth_result_link_bytes(r)[1], 0, 0);
  CHECK(berth_result_cost(r) == s.cost);
  berth_result_retain(r);
  RELEASE(r, r);
  CHECK_NEAR(makespan(&s, together, NULL), 3, 0);
}

/* One tensor with two readers on one device crosses once; with two tensors, twice. */
TEST("a tensor crosses to a device once") {
  int32_t device[] = { 0, 1, 1, 2 };
  berth_sim_options o = with(BERTH_LINKS_DUPLEX, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
  setup s = setup_of("1 1 1 1 0>1,2,3:4", 3, INFINITY);
  berth_result *r = run(&s, device, &o);
  const berth_transfer *x;
  CHECK(berth_result_transfers(r, &x) == 2);
  STARTS(r, 1, 5, 6, 9); /* sent first; there already, behind op 1; one channel out */
}

/* a on 0 and b on 1 end at 1 and cross to each other and to 2: {0->1, 0->2, 1->0, 1->2}, 2 s
 * each. */
TEST("free, channel, duplex, pair") {
  int32_t device[] = { 0, 1, 1, 2, 0, 2 };
  const double want[4][4] = { /* starts of the readers on 1 (from 0), 2 (from 0), 0 (from 1), 2
                                 (from 1) */
    { 3, 3, 3, 4 },           /* free */
    { 3, 5, 7, 9 },           /* channel: all four share ends; oldest first */
    { 3, 5, 3, 7 },           /* duplex: 0->1 with 1->0, then 0->2, then 1->2 waits for the way into
                                 2 */
    { 3, 3, 3, 4 }            /* pair */
  };
  setup s = setup_of("1 1 1 1 1 1 0>2:2 0>3:2 1>4:2 1>5:2", 3, INFINITY);
  for (int links = 0; links < 4; links++) {
    berth_sim_options o = with((berth_links)links, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
    berth_result *r = run(&s, device, &o);
    check_starts(r, 2, 4, want[links]);
  }
}

/* The oldest request that can start goes first: a younger one may pass one whose receiver is
 * busy. */
TEST("a younger transfer passes one that cannot start") {
  int32_t device[] = { 0, 1, 2, 2, 3 };
  berth_sim_options o = with(BERTH_LINKS_DUPLEX, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
  /* 0 -> 2 from 1 to 11; 1 -> 2 asked at 2, waits for the way into 2: from 11 to 12; 1 -> 3 asked
   * later, can start at once */
  setup s = setup_of("1 2 1 1 1 0>2:10 1>3:1 1>4:3", 4, INFINITY);
  STARTS(run(&s, device, &o), 3, 12, 5);
}

/* Published Baechi windows: the sender is free again before the receiver has begun. */
TEST("split windows") {
  int32_t device[] = { 0, 1, 2, 2, 3 };
  berth_sim_options o = with(BERTH_LINKS_CHANNEL, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
  o.split_windows = 1;
  /* 0 -> 2, 0: 1..11, 2: 1..11; 1 -> 2, 1: 2..3, 2: 11..12; 1 -> 3, 1: 3..6, 3: 3..6 */
  setup s = setup_of("1 2 1 1 1 0>2:10 1>3:1 1>4:3", 4, INFINITY);
  berth_result *r = run(&s, device, &o);
  STARTS(r, 2, 11, 12, 6);
  const berth_transfer *x;
  CHECK(berth_result_transfers(r, &x) == 3 && x[1].start == 2 && x[1].finish == 12);
  CHECK_NEAR(berth_result_slack(r)[3], 0, 0);
  CHECK_NEAR(berth_result_slack(r)[1], 6, 0); /* sends may begin at 8 and 9: op 4 then ends at 13,
                                                 op 3 as before */
  CHECK_NEAR(berth_result_slack(r)[4], 6, 0);
}

/* A pulling device fetches when it picks: op 1 keeps it until 4, then 3 B are fetched. */
TEST("pull: fetched when picked") {
  int32_t device[] = { 0, 1, 1 };
  for (int links = 0; links < 4; links++) {
    berth_sim_options push = with((berth_links)links, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
    berth_sim_options late = with((berth_links)links, BERTH_DISPATCH_FIFO, BERTH_SEND_PULL);
    setup s = setup_of("1 4 1 0>2:3", 2, INFINITY);
    CHECK_NEAR(makespan(&s, device, &push), 5, 0);
    berth_result *r = run(&s, device, &late);
    CHECK_NEAR(berth_result_start(r)[2], 7, 0);
    CHECK_NEAR(berth_result_makespan(r), 8, 0);
    CHECK_NEAR(berth_result_slack(r)[0], 3, 0); /* asked for at 4 */
    CHECK_NEAR(berth_result_slack(r)[1], 0, 0);
  }
}

/* Four roots on one device, 3 2 1 2 s; and one that becomes ready at 1 on another. */
TEST("every dispatch order") {
  static const double rank[] = { 2, 1, 4, 3 };
  static const int32_t sequence[] = { 2, 3, 0, 1 };
  static const struct {
    berth_dispatch dispatch;
    double start[4];
  } want[] = {
    { BERTH_DISPATCH_FIFO, { 0, 3, 5, 6 } },        { BERTH_DISPATCH_LIGHT_FIRST, { 5, 1, 0, 3 } },
    { BERTH_DISPATCH_BLEVEL, { 0, 3, 7, 5 } },      { BERTH_DISPATCH_PLANNED, { 3, 6, 0, 1 } },
    { BERTH_DISPATCH_LIFO, { 5, 3, 2, 0 } },        { BERTH_DISPATCH_STATIC, { 2, 0, 7, 5 } },
  };
  int32_t device[4] = { 0 };
  setup s = setup_of("3 2 1 2", 1, INFINITY);
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    berth_sim_options o = with(BERTH_LINKS_FREE, want[k].dispatch, BERTH_SEND_PUSH);
    o.rank = rank;
    o.sequence = sequence;
    berth_result *r = run(&s, device, &o);
    check_starts(r, 0, 4, want[k].start);
  }
}

/* 100 s on the devices together. On one device ops of less than 1 s are light, on two those of
 * less than 0.5 s. */
TEST("light-class: two classes, each first in, first out") {
  static const double on_one[] = { 1.25, 0, 61.25, 0.5, 0.75 };
  static const double on_two[] = { 0.25, 60.25, 60.75, 0, 99.5 };
  int32_t device[5] = { 0 };
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_LIGHT_CLASS, BERTH_SEND_PUSH);
  for (int32_t devices = 1; devices <= 2; devices++) {
    setup s = setup_of("60 0.5 38.75 0.25 0.5", devices, INFINITY);
    berth_result *r = run(&s, device, &o);
    check_starts(r, 0, 5, devices == 1 ? on_one : on_two);
    RELEASE(r);
  }
}

/* Random choice: reproducible, depends on the seed, uniform. */
TEST("random dispatch: seeded, uniform") {
  int32_t device[3] = { 0 }, first[3] = { 0 };
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_RANDOM, BERTH_SEND_PUSH);
  setup s = setup_of("1 1 1", 1, INFINITY);
  for (o.seed = 0; o.seed < 900; o.seed++) {
    berth_result *r = run(&s, device, &o), *again = run(&s, device, &o);
    CHECK(memcmp(berth_result_start(r), berth_result_start(again), sizeof(double[3])) == 0);
    for (int i = 0; i < 3; i++) first[i] += berth_result_start(r)[i] == 0;
    RELEASE(r, again);
  }
  for (int i = 0; i < 3; i++) CHECK(first[i] > 240 && first[i] < 360);
}

/* long (10 s) runs on device 0; a short one arrives at 1, a shorter one at 2 */
TEST("preemption") {
  int32_t device[] = { 0, 1, 2, 0, 0 }, n;
  const int32_t *op;
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_LIGHT_FIRST, BERTH_SEND_PUSH);
  for (int links = 0; links < 4; links++) {
    o.links = (berth_links)links;
    setup s = setup_of("10 1 2 3 1 1>3:0 2>4:0", 3, INFINITY);
    o.preempt = 1;
    berth_result *r = run(&s, device, &o);
    STARTS(r, 0, 0);
    STARTS(r, 3, 1, 2);
    const double *finish = berth_result_finish(r);
    CHECK(finish[0] == 14 && finish[3] == 5 && finish[4] == 3);
    CHECK_NEAR(berth_result_busy(r)[0], 14, 0);
    CHECK_NEAR(berth_result_slack(r)[0], 0, 0);
    CHECK_NEAR(berth_result_slack(r)[3], 0, 0); /* the device is never idle */
    n = berth_result_critical(r, &op);
    CHECK(n >= 2 && op[n - 1] == 0 && op[n - 2] == 3);
    RELEASE(r);
    o.preempt = 0;
    CHECK_NEAR(makespan(&s, device, &o), 14, 0);
  }
}

/* Preemption in random graphs: work is kept, precedence holds, all disciplines and both kinds of
 * sending agree with the rules. */
TEST("preemption in random graphs") {
  enum { OPS = 40 };
  static const berth_dispatch kinds[] = { BERTH_DISPATCH_LIGHT_FIRST, BERTH_DISPATCH_LIFO,
                                          BERTH_DISPATCH_STATIC, BERTH_DISPATCH_BLEVEL };
  berth_rng rng = seeded(6, 0);
  for (int round = 0; round < 96; round++) {
    berth_sim_options o =
        with((berth_links)(round % 4), kinds[round / 4 % 4], (berth_send)(round / 16 % 2));
    double rank[OPS];
    for (int i = 0; i < OPS; i++) rank[i] = berth_rng_uniform(&rng);
    o.rank = rank;
    o.preempt = 1;
    judged j = judge_random(&rng, OPS, round % 3 == 0, INFINITY, &o);
    check_precedence(&j);
    check_devices(&j);
    check_bounds(&j);
    check_critical(&j);
    check_memory(&j);
    CHECK(berth_result_slack(j.r) != NULL);
  }
}

TEST("quantum") {
  int32_t device[] = { 0, 1, 1 };
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
  setup s = setup_of("0.26 0 0.74 0>2:0.1", 2, INFINITY);
  o.quantum = 0.25;
  berth_result *r = run(&s, device, &o);
  CHECK_NEAR(berth_result_finish(r)[0], 0.25, 0);
  CHECK_NEAR(berth_result_finish(r)[1], 0.25, 0); /* at least one quantum */
  CHECK_NEAR(berth_result_start(r)[2], 0.25, 0);  /* 0.1 s rounds to none */
  CHECK_NEAR(berth_result_makespan(r), 1, 0);
}

/* Lognormal of median 1 on every op and transfer; a thing's factor depends on the seed and the
 * thing only. */
TEST("noise") {
  enum { OPS = 400 };
  int32_t above = 0, above_sent = 0;
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_FIFO, BERTH_SEND_PUSH);
  double sum = 0;
  setup s = setup_started();
  int32_t device[OPS];
  for (int i = 0; i < OPS; i++) {
    setup_add(&s, "1");
    device[i] = i % 2;
    if (i > 0) setup_edge(&s, i - 1, i, 1);
  }
  setup_mesh(&s, 2, INFINITY);
  o.noise = 0.5;
  berth_result *r = run(&s, device, &o);
  const berth_transfer *x;
  CHECK(berth_result_transfers(r, &x) == OPS - 1);
  for (int i = 0; i < OPS; i++) {
    double f = log(berth_result_finish(r)[i] - berth_result_start(r)[i]);
    above += f > 0;
    sum += f * f;
    above_sent += i < OPS - 1 && x[i].finish - x[i].start > 1;
  }
  CHECK(above > 160 && above < 240 && above_sent > 160 && above_sent < 240);
  CHECK_NEAR(sqrt(sum / OPS), 0.5, 0.06);
  CHECK_NEAR(makespan(&s, device, &o), berth_result_makespan(r), 0);
  o.seed = 1;
  CHECK(makespan(&s, device, &o) != berth_result_makespan(r));
}

TEST("planned order waits") {
  int32_t device[] = { 0, 0, 1 }, sequence[] = { 1, 0, 2 };
  berth_sim_options o = with(BERTH_LINKS_FREE, BERTH_DISPATCH_PLANNED, BERTH_SEND_PUSH);
  for (int pulls = 0; pulls < 2; pulls++) {
    o.send = (berth_send)pulls;
    o.sequence = sequence;
    /* 2 (on 1) feeds 1, which is planned before 0 */
    setup s = setup_of("1 1 5 2>1:3", 2, INFINITY);
    berth_result *r = run(&s, device, &o);
    STARTS(r, 0, 9, 8); /* the device waited */
  }
}
