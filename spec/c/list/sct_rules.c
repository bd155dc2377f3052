/* m-SCT on graphs made by hand: when a device waits and for what, ties, options, refused memory. */
#include "place/place_help.h"

static berth_placement *place(made *m, const char *placer, const berth_place_options *o) {
  return must_place(m->c, placer, o);
}

static berth_place_options given(const int32_t *child, const char *variant) {
  berth_place_options o = berth_place_default(NULL);
  o.variant = variant;
  o.favourites = child ? BERTH_FAVOURITES_GIVEN : BERTH_FAVOURITES_NONE;
  o.favourite = child;
  return o;
}

/* All devices alike; bytes are seconds. */
static void like(problem *q, int32_t ops, int32_t devices, const double *times) {
  problem_clear(q, ops, devices);
  q->bandwidth = 1;
  for (int32_t i = 0; i < ops; i++) {
    for (int32_t d = 0; d < devices; d++) q->time[i][d] = times[i];
  }
}

/* b runs till 2, so that f, which a's device has as favourite, can start there at 3, elsewhere at
 * 6. u is there at 1. */
TEST("a device waits for its favourite while another producer still runs, if nobody else could "
     "start it earlier") {
  const double times[] = { 1, 2, 1, 10 };
  const int32_t child[] = { 2, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  problem q;
  like(&q, 4, 2, times);
  problem_edges(&q, "0>2:5"); /* a > f */
  problem_edges(&q, "1>2:1"); /* b > f */
  problem_edges(&q, "0>3:3"); /* a > u */
  made m = problem_make(&q);
  {
    berth_place_options o = given(child, "");
    berth_placement *p = place(&m, "m-sct", &o);
    int32_t home = berth_placement_device(p)[0];
    CHECK(berth_placement_device(p)[1] != home && berth_placement_device(p)[2] == home);
    CHECK_NEAR(berth_placement_start(p)[2], 3, 0);
    CHECK_NEAR(berth_placement_start(p)[3], 4, 0); /* by then u is everywhere */
    CHECK_NEAR(berth_placement_estimate(p), 14, 0);
  }
  {
    berth_place_options o = given(child, "baechi-pt"); /* awake only when b has finished, too: too
                                                          late */
    berth_placement *p = place(&m, "m-sct", &o);
    CHECK_NEAR(berth_placement_start(p)[3], 1, 0);
    CHECK_NEAR(berth_placement_start(p)[2], 6, 0);
  }
}

/* v's input is everywhere at 1.5, but the other devices are busy: urgent by our rule, not by the
 * published one. f comes at 5. */
TEST("a device that waits runs an op whose inputs are everywhere") {
  const double times[] = { 1, 20, 1, 1, 1, 10 };
  const int32_t child[] = { 3, BERTH_NONE, BERTH_NONE, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  problem q;
  like(&q, 6, 3, times);
  problem_edges(&q, "0>3:6");   /* a > f */
  problem_edges(&q, "2>3:4");   /* b > f */
  problem_edges(&q, "0>4:0.5"); /* a > v */
  problem_edges(&q, "2>5:9");   /* b > y */
  made m = problem_make(&q);
  for (int variant = 0; variant < 2; variant++) {
    berth_place_options o = given(child, variant ? "baechi-pt" : "");
    berth_placement *p = place(&m, "m-sct", &o);
    int32_t home = berth_placement_device(p)[0];
    CHECK(berth_placement_device(p)[3] == home && berth_placement_device(p)[4] == home);
    CHECK_NEAR(berth_placement_start(p)[3], 5, 0);
    CHECK_NEAR(berth_placement_start(p)[4], variant ? 6 : 1, 0);
  }
}

/* f could start at 3 on either device: its device (of a) waits all the same, and f runs there
 * though the other one holds more of its inputs (2.5 bytes from b to 2 from a). Only then, at 4, u,
 * which could have started there at 1. */
TEST("a device waits for its favourite though another could start it at the same time") {
  const double times[] = { 1, 0.5, 1, 10 };
  const int32_t child[] = { 2, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  problem q;
  like(&q, 4, 2, times);
  q.pin[0] = 0;
  q.pin[1] = 1;
  problem_edges(&q, "0>2:2");   /* a > f: on b's device at 1 + 2 */
  problem_edges(&q, "1>2:2.5"); /* b > f: on a's device at 0.5 + 2.5 */
  problem_edges(&q, "0>3:3");   /* a > u: on b's device at 1 + 3 */
  made m = problem_make(&q);
  for (int variant = 0; variant < 2; variant++) {
    berth_place_options o = given(child, variant ? "baechi-pt" : "");
    berth_placement *p = place(&m, "m-sct", &o);
    CHECK(berth_placement_device(p)[2] == 0);
    CHECK_NEAR(berth_placement_start(p)[2], 3, 0);
    CHECK_NEAR(berth_placement_start(p)[3], 4, 0);
  }
}

/* One device, so that all is urgent at 1, when a has run. Of v and f, both of level 1, the
 * favourite f is first; but u, which w follows, is of level 11 and comes before both. */
TEST("of urgent ops the one of highest level is first; at equal levels the favourite goes "
     "before them") {
  const double times[] = { 1, 1, 1, 1, 10 };
  const int32_t child[] = { 2, BERTH_NONE, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  problem q;
  berth_place_options o = given(child, "");
  like(&q, 3, 1, times); /* a, v, f */
  problem_edges(&q, "0>1:0 0>2:0");
  made m = problem_make(&q);
  berth_placement *p = place(&m, "m-sct", &o);
  CHECK_NEAR(berth_placement_start(p)[2], 1, 0);
  like(&q, 5, 1, times); /* and u, w */
  for (int32_t k = 1; k < 4; k++) problem_edge(&q, 0, k, 0);
  problem_edges(&q, "3>4:0");
  m = problem_make(&q);
  for (int variant = 0; variant < 2; variant++) {
    o = given(child, variant ? "baechi-pt" : "");
    o.ties = BERTH_TIES_LEVEL;
    p = place(&m, "m-sct", &o);
    CHECK_NEAR(berth_placement_start(p)[3], 1, 0);
  }
}

/* v is everywhere at 1. Device 0 is kept for f, which comes at 5 from b; idle device 1 takes v. On
 * device 0 it would delay f to 7, when a's tensor is on the others. */
TEST("a device that waits leaves urgent ops to others that are idle") {
  const double times[] = { 1, 4, 1, 10 };
  const int32_t child[] = { 2, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  problem q;
  berth_place_options o = given(child, "");
  like(&q, 4, 3, times);
  q.pin[0] = 0;
  q.pin[1] = 2;
  problem_edges(&q, "0>2:6"); /* a > f */
  problem_edges(&q, "1>2:1"); /* b > f */
  problem_edges(&q, "0>3:0"); /* a > v */
  made m = problem_make(&q);
  berth_placement *p = place(&m, "m-sct", &o);
  CHECK(berth_placement_device(p)[2] == 0 && berth_placement_device(p)[3] == 1);
  CHECK_NEAR(berth_placement_start(p)[2], 5, 0);
  CHECK_NEAR(berth_placement_start(p)[3], 1, 0);
}

/* Two ops could start at 0 on one device: the long path first, or the first in the graph. */
static void ties(void) {
  const double times[] = { 1, 1, 5 };
  problem q;
  like(&q, 3, 1, times);
  problem_edges(&q, "1>2:0");
  made m = problem_make(&q);
  for (int k = 0; k < 4; k++) {
    const char *placer = k % 2 ? "m-etf" : "m-sct";
    berth_place_options o = berth_place_default(NULL);
    o.ties = k / 2 ? BERTH_TIES_TOPOLOGICAL : BERTH_TIES_DEFAULT;
    berth_placement *p = place(&m, placer, &o);
    CHECK(berth_placement_sequence(p)[0] == (k / 2 ? 0 : 1));
    o.ties = k / 2 ? BERTH_TIES_LEVEL : BERTH_TIES_DEFAULT; /* published: the first, unless asked
                                                               for */
    o.variant = "baechi-pt";
    p = place(&m, placer, &o);
    CHECK(berth_placement_sequence(p)[0] == (k / 2 ? 1 : 0));
  }
}

/* Two ops of the first device; a long op follows the first, a long transfer the second. */
static void ties_with_transfers(void) {
  static const berth_ties rule[] = { BERTH_TIES_DEFAULT, BERTH_TIES_LEVEL, BERTH_TIES_TOPOLOGICAL,
                                     BERTH_TIES_BLEVEL };
  const double times[] = { 1, 1, 5, 1 };
  problem q;
  like(&q, 4, 2, times);
  q.pin[0] = q.pin[1] = 0;
  problem_edges(&q, "0>2:0 1>3:100");
  made m = problem_make(&q);
  for (int k = 0; k < 8; k++) {
    berth_place_options o = berth_place_default(NULL);
    o.ties = rule[k / 2];
    berth_placement *p = place(&m, k % 2 ? "m-etf" : "m-sct", &o);
    CHECK(berth_placement_sequence(p)[0] == (rule[k / 2] == BERTH_TIES_BLEVEL));
  }
}

/* A device too full for the favourite does not wait for it. */
TEST("no device waits for what does not fit") {
  const double times[] = { 1, 1 };
  const int32_t child[] = { 1, BERTH_NONE };
  problem q;
  like(&q, 2, 2, times);
  problem_edges(&q, "0>1:5");
  q.param[0] = q.param[1] = 3;
  q.memory[0] = q.memory[1] = 4;
  made m = problem_make(&q);
  for (int variant = 0; variant < 3; variant++) {
    static const char *const names[] = { "", "baechi-tf", "baechi-pt" };
    berth_place_options o = given(child, names[variant]);
    berth_placement *p = place(&m, "m-sct", &o);
    CHECK(berth_placement_device(p)[0] != berth_placement_device(p)[1]);
    CHECK_NEAR(berth_placement_estimate(p), 7, 1e-12);
  }
}

TEST("ops of no length") {
  const double times[] = { 0, 0, 0, 0 };
  problem q;
  like(&q, 4, 2, times);
  problem_edges(&q, "0>1:0 0>2:0 1>3:0 2>3:0");
  made m = problem_make(&q);
  for (int k = 0; k < 6; k++) {
    static const char *const names[] = { "", "baechi-tf", "baechi-pt" };
    berth_place_options o = berth_place_default(NULL);
    o.variant = names[k % 3];
    o.favourites = k / 3 ? BERTH_FAVOURITES_THROUGH : BERTH_FAVOURITES_LP;
    berth_placement *p = place(&m, "m-sct", &o);
    if (strcmp(o.variant, "baechi-tf") != 0) CHECK(berth_placement_estimate(p) == 0);
  }
}

/* ---- options ---- */

static void refused(made *m, const char *placer, berth_place_options o, const char *why) {
  berth_placement *p = NULL;
  CHECK_STATUS(berth_place(m->c, placer, &o, &p, NULL), BERTH_EINVAL);
  CHECK(p == NULL);
  CHECK_TEXT(berth_errmsg(ctx), why);
}

static void wrong_numbers(made *m) {
  berth_place_options o = berth_place_default(NULL);
  o.tau = 1.1;
  refused(m, "m-sct", o, "option tau is 1.1 (0 to 1)");
  o.tau = NAN;
  refused(m, "m-sct", o, "option tau is nan (0 to 1)");
  o.tau = 0.25;
  o.favourites = BERTH_FAVOURITES_THROUGH;
  refused(m, "m-sct", o, "m-sct: option tau: 0.25 means nothing without the linear program");
  o.tau = 0;
  o.gap = 0.5;
  refused(m, "m-sct", o, "m-sct: option gap: 0.5 means nothing without the linear program");
  o.gap = 0;
  refused(m, "m-sct", o, "option gap is 0 (a finite number from 1e-09)");
  o.gap = INFINITY;
  refused(m, "m-sct", o, "option gap is inf (a finite number from 1e-09)");
  o = berth_place_default(NULL);
  o.ties = (berth_ties)4;
  refused(m, "m-etf", o, "option ties is 4 (0 to 3)");
  o.ties = BERTH_TIES_DEFAULT;
  o.favourites = (berth_favourites)4;
  refused(m, "m-sct", o, "option favourites: there is no choice 4");
}

static void wrong_favourites(made *m) {
  const int32_t stranger[] = { 3, -1, -1, -1 }, shared[] = { 2, 2, -1, -1 },
                absent[] = { 9, -1, -1, -1 };
  const int32_t self[] = { 0, -1, -1, -1 };
  berth_place_options o = given(stranger, "");
  refused(m, "m-sct", o, "m-sct: option favourite: op 0 has op 3, which is no consumer of it");
  o.favourite = self;
  refused(m, "m-sct", o, "m-sct: option favourite: op 0 has op 0, which is no consumer of it");
  o.favourite = shared;
  refused(m, "m-sct", o,
          "m-sct: option favourite: op 1 has op 2, which an op before it has, too");
  o.favourite = absent;
  refused(m, "m-sct", o, "m-sct: option favourite: op 0 has op 9, but there are 4");
  o.favourite = NULL;
  refused(m, "m-sct", o,
          "m-sct: option favourite is missing: favourites = given requires it");
  o.favourites = BERTH_FAVOURITES_LP;
  o.favourite = stranger;
  refused(m, "m-sct", o,
          "m-sct: option favourite: it means nothing unless favourites are given");
}

TEST("wrong options are refused, by name and value") {
  const double times[] = { 1, 1, 1, 1 };
  problem q;
  like(&q, 4, 2, times);
  problem_edges(&q, "0>2:1 1>2:1 2>3:1");
  made m = problem_make(&q);
  wrong_numbers(&m);
  wrong_favourites(&m);
  {
    berth_place_options o = berth_place_default(NULL);
    o.variant = "baechi-pt";
    o.links = BERTH_LINKS_PAIR;
    refused(&m, "m-sct", o,
            "variant \"baechi-pt\" sets its own links discipline; leave the option links alone");
  }
}

TEST("every threshold gives a plan") {
  const double times[] = { 1, 1, 1 };
  problem q;
  like(&q, 3, 3, times);
  problem_edges(&q, "0>1:1"); /* two children alike: the program shares the favour between them */
  problem_edges(&q, "0>2:1");
  made m = problem_make(&q);
  for (int k = 0; k < 2; k++) {
    berth_place_options o = berth_place_default(NULL);
    o.tau = k ? 0.5 : 0.1;
    o.gap = 1e-9;
    o.variant = "baechi-pt";
    berth_placement *p = place(&m, "m-sct", &o);
    const int32_t *d = berth_placement_device(p);
    CHECK_NEAR(berth_placement_estimate(p), 3, 1e-9); /* one follows its producer, the other
                                                         crosses, or follows later */
    CHECK(d[0] == d[1] || d[0] == d[2]);
  }
}

TEST("ties go by level, by topological order, or by b-level") {
  ties();
  ties_with_transfers();
}
