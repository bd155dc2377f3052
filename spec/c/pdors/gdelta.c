/* The factor before rounding: the note's vectors, and what defines it. */
#include "check.h"
#include <berth/berth.h>

typedef struct vector {
  berth_pdors_favour favour;
  double n, delta, w, formula, tight;
} vector;

static const vector vectors[] = {
  { BERTH_PDORS_PACKING, 81, 0.5, 15, 0.345855, 0.343319 },
  { BERTH_PDORS_PACKING, 121, 0.1, 10, 0.236840, 0.197455 },
  { BERTH_PDORS_PACKING, 5, 0.5, 100, 0.727539, 0.761350 },
  { BERTH_PDORS_PACKING, 401, 0.05, 200, 0.679368, 0.715078 },
  { BERTH_PDORS_COVERING, 2, 0.5, 15, 1.764630, 1.690952 },
  { BERTH_PDORS_COVERING, 2, 0.1, 10, 2.402664, 2.196132 },
  { BERTH_PDORS_COVERING, 1, 0.5, 3, 2.842732, 2.522506 },
  { BERTH_PDORS_COVERING, 2, 0.05, 200, 1.244046, 1.235044 },
};

TEST("the note's vectors to six digits") {
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    const vector *v = &vectors[i];
    CHECK_NEAR(berth_gdelta(v->favour, BERTH_GDELTA_FORMULA, v->n, v->delta, v->w), v->formula,
               5.1e-7);
    CHECK_NEAR(berth_gdelta(v->favour, BERTH_GDELTA_TIGHT, v->n, v->delta, v->w), v->tight, 5.1e-7);
  }
}

/* G - 1 - ln G = ln(3 n / delta) / w, on the right side of 1. */
TEST("the tight form solves its equation") {
  for (double w = 0.05; w < 1e6; w *= 1.7)
    for (int favour = 0; favour < 2; favour++) {
      double g = berth_gdelta((berth_pdors_favour)favour, BERTH_GDELTA_TIGHT, 41, 0.2, w),
             want = log(3 * 41 / 0.2) / w;
      CHECK(favour == BERTH_PDORS_PACKING ? g < 1 && g > 0 : g > 1);
      if (want < 600) CHECK_NEAR(g - 1 - log(g), want, 1e-9 * want + 1e-15);
    }
}

TEST("what is no argument gives NAN; limits") {
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < 2; k++) {
      berth_pdors_favour favour = (berth_pdors_favour)f;
      berth_pdors_gdelta form = (berth_pdors_gdelta)k;
      CHECK(isnan(berth_gdelta(favour, form, 0.5, 0.5, 1)));
      CHECK(isnan(berth_gdelta(favour, form, NAN, 0.5, 1)));
      CHECK(isnan(berth_gdelta(favour, form, 1, 0, 1)));
      CHECK(isnan(berth_gdelta(favour, form, 1, 1, 1)));
      CHECK(isnan(berth_gdelta(favour, form, 1, NAN, 1)));
      CHECK(isnan(berth_gdelta(favour, form, 1, 0.5, 0)));
      CHECK(isnan(berth_gdelta(favour, form, 1, 0.5, NAN)));
      CHECK(berth_gdelta(favour, form, 1, 0.5, INFINITY) == 1);
      CHECK_NEAR(berth_gdelta(favour, form, 5, 0.5, 1e14), 1, 1e-6);
    }
  CHECK_NEAR(berth_gdelta(BERTH_PDORS_PACKING, BERTH_GDELTA_FORMULA, 5, 0.5, 1e-300), 0, 1e-200);
  CHECK_NEAR(berth_gdelta(BERTH_PDORS_PACKING, BERTH_GDELTA_TIGHT, 5, 0.5, 1e-300), 0, 1e-200);
}
