/* What the rooms share of base: errors, arrays from the context's allocator, large blocks, worker
 * contexts, interned names, quantisation, parallel loops. Arrays carry their length: what was
 * allocated with (n, size) is freed with the same. */
#ifndef BERTH_BASE_INTERNAL_H
#define BERTH_BASE_INTERNAL_H

#include <berth/base.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#if defined(__GNUC__)
# define BERTH_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
# define BERTH_PRINTF(f, a)
#endif

/** Sets the context's error text and returns st: `return berth_i_fail(ctx, BERTH_EINVAL, "op %d
 * ...", op)`. */
berth_status berth_i_fail(berth_ctx *ctx, berth_status st, const char *format, ...)
    BERTH_PRINTF(3, 4);
/** berth_i_fail(ctx, BERTH_ENOMEM, ...) with the standard text. */
berth_status berth_i_nomem(berth_ctx *ctx);
/** Puts "prefix: " before the present text: "bert.json:12: ". */
void berth_i_prefix_error(berth_ctx *ctx, const char *format, ...) BERTH_PRINTF(2, 3);

/** As berth_quantity_parse, but a number without a unit is legal, in the base unit. */
berth_status berth_i_quantity_or_number(berth_ctx *ctx, const char *text, berth_unit unit,
                                        bool *bare, double *out);

/** The escape of the character at s, as berth_escape writes it; false: it has none. */
bool berth_i_escape_one(const char *s, char out[8]);

/* Rows of option tables: { BERTH_I_OPTION(berth_sim_options, noise, NUMBER), .high = 10, .text =
 * "..." } */
#define BERTH_I_OPTION(struct_type, field, kind) \
  .key = #field, .offset = offsetof(struct_type, field), .type = BERTH_OPTION_##kind
/* Arrays: BERTH_I_OPTION_LIST(berth_gang_las_options, limits, n_limits, NUMBERS) */
#define BERTH_I_OPTION_LIST(struct_type, field, length, kind) \
  BERTH_I_OPTION(struct_type, field, kind), .count = offsetof(struct_type, length)
/* The same for a field that is deeper in the struct: BERTH_I_OPTION_AT(berth_exact_options,
 * place.seed, "seed", SEED) */
#define BERTH_I_OPTION_AT(struct_type, field, name, kind) \
  .key = name, .offset = offsetof(struct_type, field), .type = BERTH_OPTION_##kind
#define BERTH_I_CHOICE(name, text) &(const berth_choice){ name, text }
/** Is it as the defaults of the table have it? Arrays and pointers always are. */
bool berth_i_option_is_default(const berth_option_table *table, const berth_option *o,
                               const void *options);

/* berth_X_option_table() of the struct with these options; `defaults` fills one. */
#define BERTH_I_OPTION_TABLE(name, options, struct_type, defaults) \
  static const berth_option_table table = { name, options, sizeof(struct_type), defaults }; \
  return &table

/* Arrays carry their length: what was allocated with (n, size) is freed with the same. n == 0 gives
 * a valid pointer to nothing, NULL only on refusal or overflow of n * size. */
void *berth_i_alloc(berth_ctx *ctx, size_t n, size_t size);
void *berth_i_zalloc(berth_ctx *ctx, size_t n, size_t size);
/** On refusal the old array stays. */
void *berth_i_realloc(berth_ctx *ctx, void *ptr, size_t n_old, size_t n_new, size_t size);
void berth_i_free(berth_ctx *ctx, void *ptr, size_t n, size_t size); /* NULL is fine */
/** Makes room for `need` items by doubling: *ptr, *cap are updated. */
berth_status berth_i_grow(berth_ctx *ctx, void **ptr, size_t *cap, size_t need, size_t size);
/** Room for one more byte than `used` and the terminating zero; 64 KiB at first. */
static inline berth_status berth_i_grow_text(berth_ctx *ctx, char **text, size_t *size,
                                             size_t used) {
  void *data = *text;
  if (used + 2 <= *size) return BERTH_OK;
  berth_status st = berth_i_grow(ctx, &data, size, used + 2 > 65536 ? used + 2 : 65536, 1);
  *text = data;
  return st;
}
char *berth_i_strdup(berth_ctx *ctx, const char *s); /* free with berth_i_strfree */
void berth_i_strfree(berth_ctx *ctx, char *s);

/* Large blocks that are allocated and freed at every turn of a loop, such as the arrays of a
 * training step.
 * Allocators give them back to the system, and fresh pages cost more than the work on them. While
 * someone keeps, freed ones stay for the next of the same size: at most BERTH_I_CACHED_MOST bytes,
 * and, with what the context holds, within its peak. They do not count as its memory. */
enum { BERTH_I_CACHED_LEAST = 64 << 10, BERTH_I_CACHED_MOST = 256 << 20 };
/** Sizes in this range are rounded up by at most an eighth. Not set to zero. NULL: refused. */
void *berth_i_block_alloc(berth_ctx *ctx, size_t size);
void berth_i_block_free(berth_ctx *ctx, void *ptr, size_t size); /* NULL is fine */
void berth_i_block_cache_keep(berth_ctx *ctx);
/** The last one that let go has all of them given back. */
void berth_i_block_cache_release(berth_ctx *ctx);

/** @return BERTH_EINTERRUPT if the interrupt hook returns so */
berth_status berth_i_interrupted(berth_ctx *ctx);
void berth_i_progress(berth_ctx *ctx, const char *what, double done);
/** Another one at each call, from 1. */
uint64_t berth_i_ctx_number(berth_ctx *ctx);

/* Contexts of other threads. A context is used by one thread at a time; work on a worker thread
 * gets a context of its own, whose answers move to the caller's afterwards. That needs an allocator
 * that any thread may call: the default one. */
bool berth_i_ctx_default_alloc(const berth_ctx *ctx);
bool berth_i_ctx_has_clock(const berth_ctx *ctx);
/** Seconds by the context's clock; 0 without one. */
double berth_i_ctx_clock(const berth_ctx *ctx);
/** @param interrupt the worker's interrupt hook; NULL: none. @return BERTH_OK, BERTH_ENOMEM
 *        (message in ctx) */
berth_status berth_i_ctx_worker(berth_ctx *ctx, int (*interrupt)(void *ud), void *ud,
                                berth_ctx **out);
/** Other hooks for a while; the allocator stays.  @return those before */
berth_hooks berth_i_ctx_swap_hooks(berth_ctx *ctx, const berth_hooks *hooks);
/** `bytes` of one object, which holds one reference, now belong to `to`. Both have the same
 * allocator. */
void berth_i_ctx_move(berth_ctx *from, berth_ctx *to, size_t bytes);
/** Counts what workers held besides at most. */
void berth_i_ctx_count_peak(berth_ctx *ctx, size_t bytes);

/* Interned strings: each text once, numbered from 0. */
typedef struct berth_i_name_slot {
  uint32_t hash;
  int32_t id;              /* -1: free */
} berth_i_name_slot;
typedef struct berth_i_names {
  char **text;
  int32_t n;
  size_t cap;
  berth_i_name_slot *slot; /* open addressing, size a power of two */
  size_t n_slots;
} berth_i_names;
/* finds or adds */
berth_status berth_i_names_add(berth_ctx *ctx, berth_i_names *names, const char *text, int32_t *id);
/* BERTH_NONE */
int32_t berth_i_names_find(const berth_i_names *names, const char *text);
void berth_i_names_release(berth_ctx *ctx, berth_i_names *names);

/* Times in quanta, as published codes with integer clocks do. q == 0: unchanged. */
static inline double berth_i_quantise_op(double t, double q) {
  if (q <= 0 || isinf(t)) return t;
  double k = nearbyint(t / q);
  return k < 1 ? 1 : k;
}
static inline double berth_i_quantise_transfer(double t, double q) {
  return q <= 0 || isinf(t) ? t : nearbyint(t / q);
}

/** Runs work(ud, thread, job) for jobs 0..n-1 on up to `threads` threads (0: one per core); thread
 *  is 0..threads-1, the calling thread is 0. work must not touch the context. Falls back to fewer
 *  threads when they cannot be had.
 *  @return number of threads that berth_i_parallel_width(threads, n) promised */
typedef void (*berth_i_work_fn)(void *ud, int32_t thread, int32_t job);
int32_t berth_i_parallel_width(int32_t threads, int32_t n);
void berth_i_parallel(int32_t threads, int32_t n, berth_i_work_fn work, void *ud);

/** The same for a few long jobs, some of which must stay on the calling thread. Jobs are taken in
 *  order; the caller takes its own first where there are other threads.
 *  @param own NULL, or [n] 1: on the calling thread only
 *  @param watch NULL, or called on the calling thread after each of its jobs, and every few ms
 *         while it waits for the others */
typedef struct berth_i_jobs {
  berth_i_work_fn work;
  const uint8_t *own;
  void (*watch)(void *ud);
  void *ud;
} berth_i_jobs;
void berth_i_parallel_watched(int32_t threads, int32_t n, const berth_i_jobs *jobs);

#endif
