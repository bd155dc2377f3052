/* Base: context, status, random streams, quantities with units. */
#ifndef BERTH_BASE_H
#define BERTH_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_VERSION "0.1.0"
#define BERTH_NONE (-1)

typedef enum berth_status {
  BERTH_OK = 0,
  BERTH_ENOMEM,       /* the context's allocator refused */
  BERTH_EINVAL,       /* a wrong argument, option or value */
  BERTH_ECYCLE,       /* the graph has a cycle */
  BERTH_EINFEASIBLE,  /* no answer fits; the message says what stops it */
  BERTH_EUNREACHABLE, /* no route between two devices that must talk */
  BERTH_EPARSE,       /* file contents are wrong: "file:line: reason" */
  BERTH_EIO,          /* a file could not be read or written */
  BERTH_EUNSUPPORTED, /* legal, but not with these options or in this build */
  BERTH_ECALLBACK,    /* a user's function failed */
  BERTH_EINTERRUPT    /* the interrupt hook asked to stop */
} berth_status;

/** Short name of a status: "ok", "out of memory", "invalid", "cycle", ... Never NULL. */
const char *berth_status_name(berth_status st);

/* ---- context ---------------------------------------------------------------------------- */

typedef struct berth_ctx berth_ctx;

/** Lua's allocator shape: nsize 0 frees; ptr NULL allocates; returns NULL on refusal.
 *  osize is always the exact size that was asked for before. */
typedef void *(*berth_alloc_fn)(void *ud, void *ptr, size_t osize, size_t nsize);

/** All may be NULL. Hooks run on the calling thread only; but berth_portfolio_run with several threads asks the clock on each. */
typedef struct berth_hooks {
  berth_alloc_fn alloc;                                       /* NULL: realloc and free */
  void *alloc_ud;
  double (*clock)(void *ud);                                  /* seconds, any origin; NULL: no time budgets */
  int (*interrupt)(void *ud);                                 /* nonzero: stop soon */
  void (*progress)(void *ud, const char *what, double done);  /* done in 0..1 */
  void (*log)(void *ud, const char *message);
  void *ud;                                                   /* for all but alloc */
} berth_hooks;

/** BERTH_VERSION of the library that runs; a program may have been compiled with another one. */
const char *berth_version(void);

/** @param hooks copied; NULL: defaults.  @return BERTH_OK, BERTH_ENOMEM */
berth_status berth_ctx_new(const berth_hooks *hooks, berth_ctx **out);
void berth_ctx_retain(berth_ctx *ctx);
/** NULL is fine. The memory goes when the last object of the context has gone too. */
void berth_ctx_release(berth_ctx *ctx);

/** Text of the last failure in this context; "" if none. Valid until the next failing call. */
const char *berth_errmsg(const berth_ctx *ctx);

/** Bytes held now / at most since the last reset, from the context's allocator. */
size_t berth_ctx_memory(const berth_ctx *ctx);
size_t berth_ctx_memory_peak(const berth_ctx *ctx);
void berth_ctx_memory_reset_peak(berth_ctx *ctx);

/* ---- random streams --------------------------------------------------------------------- */

/** xoshiro256**, seeded by splitmix64: same numbers on every machine and interpreter. */
typedef struct berth_rng {
  uint64_t s[4];
} berth_rng;

/** Streams of one seed are independent of one another. */
void berth_rng_init(berth_rng *rng, uint64_t seed, uint64_t stream);
uint64_t berth_rng_u64(berth_rng *rng);
double berth_rng_uniform(berth_rng *rng);                      /* [0, 1), 53 bits */
int32_t berth_rng_below(berth_rng *rng, int32_t n);            /* 0..n-1, unbiased; n >= 1 */
double berth_rng_normal(berth_rng *rng);                       /* mean 0, deviation 1 */
void berth_rng_shuffle(berth_rng *rng, int32_t *items, int32_t n);

/* ---- quantities ------------------------------------------------------------------------- */

typedef enum berth_unit {
  BERTH_SECONDS,
  BERTH_BYTES,
  BERTH_BYTES_PER_SECOND,
  BERTH_FLOP,
  BERTH_FLOP_PER_SECOND
} berth_unit;

/**
 * Reads a number with its unit, e.g. "5 us", "16 GiB", "25 GB/s", "25 Gbit/s", "312 TFLOP/s".
 * Prefixes k M G T P (powers of 1000) and Ki Mi Gi Ti (powers of 1024, bytes and bits only); s ms us ns min h.
 * B is byte, bit is bit; "b" alone is refused as ambiguous. A bare number is in the base unit. "inf" is legal.
 *
 * @param text zero-terminated
 * @return BERTH_OK, BERTH_EINVAL (message quotes text and says what was expected)
 */
berth_status berth_quantity_parse(berth_ctx *ctx, const char *text, berth_unit unit, double *out);

/** Writes e.g. "41.2 ms", "11.3 GB", "25 GB/s" (3 significant digits; whole numbers below a million of the largest unit, "7200 s",
 *  in full) into buf[size], always terminated.
 *  @return buf */
const char *berth_quantity_format(double value, berth_unit unit, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
