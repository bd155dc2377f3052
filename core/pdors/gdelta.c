/* The factor by which a linear program's answer is scaled before it is rounded (PD-ORS 4.4): as
 * published, or the least that the proof allows, which is a root found by Newton's steps. */
#include <berth/pdors.h>
#include <math.h>
#include <stdbool.h>

/* Root x of e^x - 1 - x = a, a > 0, on the given side of 0; G = e^x. Convex: Newton's
 * steps from outside stay there. */
static double tight_exponent(double a, bool above) {
  double x = above ? fmin(sqrt(2 * a), log1p(a + sqrt(2 * a))) : -(a + 1);
  for (int i = 0; i < 100; i++) {
    double step = (expm1(x) - x - a) / expm1(x);
    if (!(fabs(step) > 1e-15 * fabs(x))) break;
    x -= step;
  }
  return x;
}

double berth_gdelta(berth_pdors_favour favour, berth_pdors_gdelta form, double n, double delta,
                    double w) {
  if (!(n >= 1 && w > 0 && delta > 0 && delta < 1) || isinf(n)) return NAN;
  if (isinf(w)) return 1;
  double log_term = log(3 * n / delta);
  if (form == BERTH_GDELTA_FORMULA) {
    double k;
    if (favour == BERTH_PDORS_COVERING) {
      k = log_term / w;
      return 1 + k + sqrt(k * k + 2 * k);
    }
    k = 3 * log_term / (2 * w);
    return 1 / (1 + k + sqrt(k * k + 2 * k)); /* 1 + k - sqrt(...), without what cancels */
  }
  return exp(tight_exponent(log_term / w, favour == BERTH_PDORS_COVERING));
}
