/* Parameters and Adam, inside: for the files that make, step, save and load them; and the format of
 * the file of parameters. */
#ifndef BERTH_NN_PARAMS_INTERNAL_H
#define BERTH_NN_PARAMS_INTERNAL_H

#include "nn_internal.h"

typedef struct berth_i_param {
  char *name;
  berth_array *array; /* with a gradient */
} berth_i_param;

struct berth_params {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, n;
  berth_i_param *item; /* [n], room for cap */
  size_t cap;
  int64_t size; /* numbers in all */
};

struct berth_adam {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_params *params;
  berth_adam_options o;
  int64_t steps;
  int64_t size;            /* of the parameters when it was made */
  float *first, *second;   /* moments, [size] each, in one block */
};

/** Fills a.  @param name for messages */
berth_status berth_i_init(berth_array *a, const char *name, berth_nn_init init, double value,
                          berth_rng *rng);
/** BERTH_EINVAL: parameters were added after Adam was made. */
berth_status berth_i_adam_check(const berth_adam *a);

/* The file, all little-endian: magic [8], version u32, mark u32, bytes in the file u64, steps u64,
 * numbers u64, length of the note u64, arrays u32, moments u32 (0 or 1); the note; of each array:
 * length of the name u32, name, rank u32, extents u32 each; numbers f32; moments f32, first then
 * second; checksum of all before u64. */
#define BERTH_I_FILE_MAGIC "berth-nn"
enum {
  BERTH_I_FILE_VERSION = 1,
  BERTH_I_FILE_MARK = 0x01020304,
  BERTH_I_FILE_HEADER = 56,
  BERTH_I_FILE_CHECKSUM = 8,
  BERTH_I_FILE_BUFFER = 1 << 16 /* a multiple of 8 */
};

static inline uint64_t berth_i_from_le(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  for (int k = bytes; k-- > 0;) v = v << 8 | p[k];
  return v;
}
static inline void berth_i_to_le(uint64_t v, int bytes, unsigned char *p) {
  for (int k = 0; k < bytes; k++) p[k] = (unsigned char)(v >> 8 * k);
}
/** Goes on with a checksum. Every step is one to one in word and state: a change within one word
 *  never goes unseen. Only the last piece of a file may have a length that is not a multiple of 8;
 *  what is missing counts as zeros. */
static inline uint64_t berth_i_checksum(uint64_t h, const unsigned char *p, size_t n) {
  size_t i;
  for (i = 0; i + 8 <= n; i += 8) {
    h = (h ^ berth_i_from_le(p + i, 8)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  if (i == n) return h;
  h = (h ^ berth_i_from_le(p + i, (int)(n - i))) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

#endif
