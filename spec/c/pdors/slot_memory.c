/* Every allocation of the one-slot solver refused in turn: an orderly refusal, no leak, and the
 * next try gives the usual answer. */
#include "pdors_slot_help.h"
#include "refusals.h"

typedef struct answers {
  double cost;
  int32_t n, tries;
  berth_ps_place place[MOST_MACHINES];
} answers;

static void draw(slot_case *c) {
  berth_rng rng = seeded(29, 0);
  draw_case(c, &rng, 12, 30, 9, 9);
  c->job.rack = 3e3;
  for (int32_t h = 0; h < c->machines; h++) c->rack[h] = h / 4;
}

/* A refusal within a solve: once more with the same solver. */
static berth_status solve(slot_case *c, answers *out) {
  berth_i_slot_answer a = { .place = out->place };
  berth_status st = berth_i_slot_begin(c->s, 0, &c->state);
  double samples = 25 / berth_ps_worker_slots(&c->job, c->job.across);
  for (out->tries = 0; st == BERTH_OK && out->tries < 5; out->tries++) {
    if ((st = berth_i_slot_solve(c->s, samples, 3, &a)) == BERTH_OK) break;
    if (st == BERTH_ENOMEM) st = BERTH_OK;
  }
  if (st == BERTH_OK && out->tries == 5) return BERTH_ENOMEM;
  out->cost = a.cost;
  out->n = a.n;
  return st;
}

static berth_status whole(berth_pdors_mode mode, answers *out) {
  berth_pdors_options o = berth_pdors_default();
  o.mode = mode;
  o.nodes = 10000000;
  slot_case c;
  draw(&c);
  berth_status st = open_case(&c, &o, 1);
  TRY(st, solve(&c, out));
  close_case(&c);
  return st;
}

static answers usual;
static long retried;

static berth_status solve_again(const void *mode) {
  answers again;
  berth_status st = whole(*(const berth_pdors_mode *)mode, &again);
  if (st != BERTH_OK) return st;
  retried += again.tries > 0;
  CHECK(again.cost == usual.cost && again.n == usual.n
        && memcmp(again.place, usual.place, (size_t)usual.n * sizeof *usual.place) == 0);
  return BERTH_OK;
}

static void fail_in_turn(berth_pdors_mode mode, int sign) {
  CHECK_OK(whole(mode, &usual));
  retried = 0;
  CHECK(refuse_each(solve_again, &mode, sign, 0) > 10);
  CHECK(sign < 0 || retried > 0);
}

TEST("repaired, each request refused") { fail_in_turn(BERTH_PDORS_REPAIRED, 1); }
TEST("repaired, all requests from one on refused") { fail_in_turn(BERTH_PDORS_REPAIRED, -1); }
TEST("exact, each request refused") { fail_in_turn(BERTH_PDORS_EXACT, 1); }
TEST("exact, all requests from one on refused") { fail_in_turn(BERTH_PDORS_EXACT, -1); }
TEST("faithful, each request refused") { fail_in_turn(BERTH_PDORS_FAITHFUL, 1); }
