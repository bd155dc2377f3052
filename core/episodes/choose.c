/* Chooses one candidate per episode by score: the largest, a draw by softmax, or, with probability
 * epsilon, any. Random numbers come from the stream of the episode, so that an episode's choices do
 * not depend on the others. A score of -INFINITY rules a candidate out. O(candidates). */
#include "episodes_internal.h"

/* Uniform among those that are not ruled out; at least one is not. */
static int32_t any(berth_rng *rng, const float *score, int32_t n, int32_t legal) {
  int32_t k = berth_rng_below(rng, legal);
  for (int32_t i = 0; i < n; i++) {
    if (score[i] != -INFINITY && k-- == 0) return i;
  }
  return n - 1;
}

static int32_t largest(berth_rng *rng, const float *score, int32_t n, bool random) {
  int32_t best = 0, equal = 1;
  for (int32_t i = 1; i < n; i++) {
    if (score[i] > score[best]) {
      best = i;
      equal = 1;
    } else if (random && score[i] == score[best] && berth_rng_below(rng, ++equal) == 0) {
      best = i;
    }
  }
  return best;
}

static int32_t sample(berth_rng *rng, const float *score, int32_t n) {
  double sum = 0, most = score[0];
  int32_t last = 0;
  for (int32_t i = 1; i < n; i++) most = fmax(most, score[i]);
  for (int32_t i = 0; i < n; i++) sum += exp(score[i] - most);
  double at = berth_rng_uniform(rng) * sum;
  for (int32_t i = 0; i < n; i++) {
    double p = exp(score[i] - most);
    if (p > 0) last = i;
    if ((at -= p) < 0) return i;
  }
  return last;
}

static berth_status count_legal(berth_episodes *e, int32_t segment, const float *score, int32_t n,
                                int32_t *legal) {
  *legal = 0;
  for (int32_t i = 0; i < n; i++) {
    if (isnan(score[i]) || score[i] == INFINITY) {
      return berth_i_fail(e->ctx, BERTH_EINVAL, "choose: a score of segment %d is %s", (int)segment,
                          isnan(score[i]) ? "NaN" : "infinite");
    }
    *legal += score[i] != -INFINITY;
  }
  if (*legal > 0) return BERTH_OK;
  return berth_i_fail(e->ctx, BERTH_EINVAL, "choose: segment %d leaves nothing to choose from",
                      (int)segment);
}

berth_status berth_episodes_choose(berth_episodes *e, const int32_t *first, const float *score,
                                   berth_episodes_choice how, double epsilon, int32_t *out) {
  if (!e) return BERTH_EINVAL;
  if (!(epsilon >= 0 && epsilon <= 1))
    return berth_i_fail(e->ctx, BERTH_EINVAL, "choose: epsilon %g is not from 0 to 1", epsilon);
  if ((unsigned)how > BERTH_CHOICE_RANDOM_TIES)
    return berth_i_fail(e->ctx, BERTH_EINVAL, "choose: no way %d", (int)how);
  for (int32_t i = 0; i < e->n; i++) {
    berth_status st = count_legal(e, i, score + first[i], first[i + 1] - first[i], &e->legal[i]);
    if (st != BERTH_OK) return st;
  }
  for (int32_t i = 0; i < e->n; i++) {
    berth_rng *rng = &e->episode[i].rng;
    const float *x = score + first[i];
    int32_t n = first[i + 1] - first[i];
    if (epsilon > 0 && berth_rng_uniform(rng) < epsilon) out[i] = any(rng, x, n, e->legal[i]);
    else
      out[i] = how == BERTH_CHOICE_SAMPLE ? sample(rng, x, n)
                                          : largest(rng, x, n, how == BERTH_CHOICE_RANDOM_TIES);
  }
  return BERTH_OK;
}
