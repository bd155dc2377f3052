/* The published rounding: its factor keeps the rows that it favours with the probability that it
 * says. */
#include "pdors_slot_help.h"

enum { STATES = 20, ROUNDINGS = 100, WANTED = 200 };

typedef struct kept {
  int packing, covering, all;
  double factor;
} kept;

/* After a solve with one try the draft is its rounding. */
static void look(const slot_case *c, const berth_i_slot_draft *d, kept *k) {
  int packing = 1;
  for (int32_t h = 0; h < c->machines; h++) packing &= fits(c, h, d->units[0][h], d->units[1][h]);
  k->packing += packing;
  k->covering += d->all[0] >= WANTED && d->all[1] >= servers_for(c, WANTED);
  k->all++;
}

static kept roll(berth_pdors_favour favour, berth_pdors_gdelta form, double size) {
  berth_pdors_options o = berth_pdors_default();
  berth_ps_place place[MOST_MACHINES];
  berth_i_slot_answer a = { .place = place };
  kept k = { 0, 0, 0, 0 };
  o.mode = BERTH_PDORS_FAITHFUL;
  o.favour = favour;
  o.gdelta = form;
  o.tries = 1;
  berth_rng rng = seeded(31, (uint64_t)favour);
  slot_case c;
  for (int32_t i = 0; i < STATES; i++) {
    draw_case(&c, &rng, 20, 400, size, 20);
    begin_case(&c, &o, 0);
    double g = berth_i_slot_factor(c.s, c.s->region,
                                   (berth_i_slot_want){ { WANTED, servers_for(&c, WANTED) } });
    CHECK(favour == BERTH_PDORS_PACKING ? g < 1 : g > 1);
    k.factor += g / STATES;
    for (int32_t n = 0; n < ROUNDINGS && (form == BERTH_GDELTA_TIGHT || g >= 0.5); n++) {
      CHECK_OK(berth_i_slot_solve(c.s, WANTED / berth_ps_worker_slots(&c.job, c.job.across),
               (uint64_t)n, &a));
      if (berth_i_slot_counts(c.s)->roundings == n + 1) look(&c, &c.s->draft, &k);
    }
    close_case(&c);
  }
  printf("# mean G %.3f, %d roundings: packing held in %d, covering in %d\n", k.factor, k.all,
         k.packing, k.covering);
  return k;
}

/* All rows of a kind together: 1 - delta / 3; three deviations of what 2,000 roundings may differ
 * by. */
static void check_kept(int held, int all) {
  double want = 1 - berth_pdors_default().delta / 3;
  CHECK(all >= 500 && held >= want * all - 3 * sqrt(want * (1 - want) * all));
}

static void check_favour(berth_pdors_favour favour, berth_pdors_gdelta form, double size) {
  kept k = roll(favour, form, size);
  check_kept(favour == BERTH_PDORS_PACKING ? k.packing : k.covering, k.all);
}

TEST("favouring packing, tight") { check_favour(BERTH_PDORS_PACKING, BERTH_GDELTA_TIGHT, 200); }

TEST("favouring packing, formula, where it is 1/2 or more") {
  check_favour(BERTH_PDORS_PACKING, BERTH_GDELTA_FORMULA, 2000);
}
TEST("favouring covering, tight") { check_favour(BERTH_PDORS_COVERING, BERTH_GDELTA_TIGHT, 100); }

TEST("favouring covering, formula") {
  check_favour(BERTH_PDORS_COVERING, BERTH_GDELTA_FORMULA, 100);
}
