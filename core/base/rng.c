/* Random streams: xoshiro256**, seeded through splitmix64 from (seed, stream). Source: Blackman,
 * Vigna, "Scrambled linear pseudorandom number generators", 2021. Integers only until the last
 * step: the same numbers on every machine. */
#include "base_internal.h"

static uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void berth_rng_init(berth_rng *rng, uint64_t seed, uint64_t stream) {
  uint64_t salt = stream, state = seed ^ splitmix64(&salt);
  for (int i = 0; i < 4; i++) rng->s[i] = splitmix64(&state);
}

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

uint64_t berth_rng_u64(berth_rng *rng) {
  uint64_t *s = rng->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

double berth_rng_uniform(berth_rng *rng) { return (double)(berth_rng_u64(rng) >> 11) * 0x1.0p-53; }

/* Rejection: draws from the largest multiple of n that fits in 64 bits. */
int32_t berth_rng_below(berth_rng *rng, int32_t n) {
  uint64_t m = n < 1 ? 1 : (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % m, x;
  do x = berth_rng_u64(rng);
  while (x >= limit);
  return (int32_t)(x % m);
}

/* Marsaglia's polar method, second value dropped: no state beside the stream's. */
double berth_rng_normal(berth_rng *rng) {
  double x, r;
  do {
    x = 2 * berth_rng_uniform(rng) - 1;
    double y = 2 * berth_rng_uniform(rng) - 1;
    r = x * x + y * y;
  } while (r >= 1 || r == 0);
  return x * sqrt(-2 * log(r) / r);
}

void berth_rng_shuffle(berth_rng *rng, int32_t *items, int32_t n) {
  for (int32_t i = n - 1; i > 0; i--) {
    int32_t j = berth_rng_below(rng, i + 1), item = items[i];
    items[i] = items[j];
    items[j] = item;
  }
}
