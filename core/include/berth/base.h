/* Base: what all other headers share. Nouns:
 *  - context: the allocator, the hooks (clock, log, progress, interrupt) and the last error text;
 *    every object belongs to one, and keeps a reference to it;
 *  - status: the result of whatever can fail, with a message in the context;
 *  - random stream: xoshiro256** in a plain struct; same seed and stream, same numbers;
 *  - quantity: a number with a unit as text, "25 GB/s";
 *  - option table: descriptors of the fields of an option struct (key, type, range, default, text),
 *    from which bindings, command line and documents are made.
 *
 * No global state: two contexts may be used by two threads at the same time.
 *
 * Functions with a status give BERTH_EINVAL, without a message, if an object or the place of a new
 * one is NULL. Where NULL is allowed, the function says so; releasing it does nothing. */
#ifndef BERTH_BASE_H
#define BERTH_BASE_H

#include <stdarg.h>
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
  BERTH_EINFEASIBLE,  /* no answer fits; the message names what stops it */
  BERTH_EUNREACHABLE, /* no route between two devices that must talk */
  BERTH_EPARSE,       /* file contents are wrong: "file:line: reason" */
  BERTH_EIO,          /* a file could not be read or written */
  BERTH_EUNSUPPORTED, /* legal, but not with these options or in this build */
  BERTH_ECALLBACK,    /* a user's function failed */
  BERTH_EINTERRUPT    /* the interrupt hook returned stop */
} berth_status;

/** Short name of a status: "ok", "out of memory", "invalid", "cycle", ... Never NULL. */
const char *berth_status_name(berth_status st);

/* ---- context ---- */

typedef struct berth_ctx berth_ctx;

/** Lua's allocator shape: nsize 0 frees; ptr NULL allocates; returns NULL on refusal.
 *  osize is always the exact size of the previous request. */
typedef void *(*berth_alloc_fn)(void *ud, void *ptr, size_t osize, size_t nsize);

/** All may be NULL. Hooks run on the calling thread only; but berth_portfolio_run with several
 * threads calls the clock on each. */
typedef struct berth_hooks {
  berth_alloc_fn alloc;                                       /* NULL: realloc and free */
  void *alloc_ud;
  /* seconds, any origin; NULL: no time budgets */
  double (*clock)(void *ud);
  int (*interrupt)(void *ud);                                 /* nonzero: stop soon */
  void (*progress)(void *ud, const char *what, double done);  /* done in 0..1 */
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

/** A text for a terminal: control characters (also C1), marks of direction and bytes that are not
 *  UTF-8 are written as \u001b, which in a JSON string stands for the same. Messages of
 *  berth_errmsg are such texts.
 *  @param lines 1: line ends and tabs stay  @param buf [size] zero-terminated if size > 0, cut
 *         before a whole character; NULL with size 0: only the length
 *  @return length of the whole, without the zero */
size_t berth_escape(const char *text, int lines, char *buf, size_t size);

/** snprintf and vsnprintf with the point of the C locale in numbers, whatever the program's is. */
int berth_snprintf(char *buf, size_t size, const char *format, ...);
int berth_vsnprintf(char *buf, size_t size, const char *format, va_list args);

/* ---- random streams ---- */

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

/* ---- quantities ---- */

typedef enum berth_unit {
  BERTH_SECONDS,
  BERTH_BYTES,
  BERTH_BYTES_PER_SECOND,
  BERTH_FLOP,
  BERTH_FLOP_PER_SECOND
} berth_unit;

/**
 * Reads a number with its unit, e.g. "5 us", "16 GiB", "25 GB/s", "25 Gbit/s", "312 TFLOP/s".
 * Prefixes k M G T P (powers of 1000) and Ki Mi Gi Ti (powers of 1024, bytes and bits only); s ms
 * us ns min h.
 * B is byte, bit is bit; "b" alone is refused as ambiguous. Only 0 and "inf" need no unit.
 *
 * @param text zero-terminated
 * @return BERTH_OK, BERTH_EINVAL (the message quotes text and what was expected)
 */
berth_status berth_quantity_parse(berth_ctx *ctx, const char *text, berth_unit unit, double *out);

/** Writes e.g. "41.2 ms", "11.3 GB", "25 GB/s" (3 significant digits; whole numbers below a million
 *  of the largest unit, "7200 s", in full) into buf[size], always terminated.
 *  @return buf */
const char *berth_quantity_format(double value, berth_unit unit, char *buf, size_t size);

/* ---- options ---- */
/* Every option struct has a table of descriptors. Checks, the Lua binding, the command line, help
 * and the tables of the documentation read it. */

/** A legal value of an option, or a registered method: its name, and what it does in one or two
 * sentences. */
typedef struct berth_choice {
  const char *name, *text;
} berth_choice;

typedef enum berth_option_type {
  BERTH_OPTION_FLAG,     /* int: 0 or 1 */
  BERTH_OPTION_WHOLE,    /* int32_t */
  BERTH_OPTION_LONG,     /* int64_t */
  BERTH_OPTION_SEED,     /* uint64_t; Lua takes 0 to 2^53 */
  BERTH_OPTION_NUMBER,   /* double, finite */
  BERTH_OPTION_QUANTITY, /* double in the base unit of `unit` */
  BERTH_OPTION_CHOICE,   /* enum: `first` plus the index in `choices` */
  BERTH_OPTION_NUMBERS,  /* const double *, an array; its length is the int32_t at `count` */
  BERTH_OPTION_WHOLES,   /* const int32_t *, likewise */
  BERTH_OPTION_OTHER     /* pointer: array, function or object, described by `takes` */
} berth_option_type;

typedef struct berth_option {
  const char *key;          /* the name of the field, and of the option in Lua */
  const char *text;         /* what it decides, without a full stop; NULL: in C only */
  size_t offset;            /* of the field in the struct */
  size_t count;             /* NUMBERS, WHOLES: offset of the int32_t that is their length */
  berth_option_type type;
  berth_unit unit;          /* QUANTITY */
  double low, high;         /* legal range of numbers, also in arrays; high 0: no limit, but finite;
                               INFINITY: no limit */
  int above;                /* 1: `low` itself is not legal */
  int first;                /* CHOICE: value of the first choice; 0 below it means the
                               default */
  const berth_choice *const *choices; /* CHOICE: NULL-terminated */
  const char *takes;        /* OTHER, arrays: "array", "function", ... as Lua names it;
                               of arrays NULL: "numbers" */
  const char *was;          /* its former key, which is refused with the present one; NULL: none */
  const char *fallback;     /* the default in words, where the value alone does not say it; NULL:
                               the value in `defaults` */
} berth_option;

typedef struct berth_option_table {
  const char *name;             /* of the struct: "sim" */
  const berth_option *options;  /* ended by a row whose key is NULL */
  size_t size;                  /* of the struct */
  void (*defaults)(void *out);  /* fills a struct with the defaults */
} berth_option_table;

/** Tests every number and choice of a struct against its table.
 *  @return BERTH_OK; BERTH_EINVAL with the key, the value and the legal range */
berth_status berth_options_check(berth_ctx *ctx, const berth_option_table *table,
                                 const void *options);
/** The option of that key; NULL: none. */
const berth_option *berth_option_find(const berth_option_table *table, const char *key);
/** Index of a name in NULL-terminated choices; -1: none. */
int berth_choice_find(const berth_choice *const *choices, const char *name);

/* ---- names in messages ---- */

/** How many letters are to be inserted, left out, replaced or swapped with their neighbours so that
 *  one name becomes the other. Case does not count; "-", "_" and " " are alike. Names of more than
 *  40 letters: 0 if they are equal, else 99. */
int berth_name_distance(const char *a, const char *b);
/** The name that a word may be a misspelling or the beginning of; NULL: none.
 *  @param names [n] */
const char *berth_name_nearest(const char *word, const char *const *names, int32_t n);
/** The legal names for a message about an unknown one: "a, b, c"; of more than ten the five
 *  nearest, how many more there are, and what lists them; then "; did you mean 'b'?", if one is
 *  near.
 *  @param word   the unknown name; NULL: none was given
 *  @param names  [n]
 *  @param all    what lists all names, for "berth models lists all"; NULL: nothing
 *  @param buf    [size] zero-terminated if size > 0; NULL with size 0: only the length
 *  @return length of the whole, without the zero */
size_t berth_names_text(const char *word, const char *const *names, int32_t n, const char *all,
                        char *buf, size_t size);
/** The default as text, such as "free", "1", "41.2 ms", "none" (a pointer that is NULL). @return
 * buf, or `fallback` */
const char *berth_option_default(const berth_option_table *table, const berth_option *option,
                                 char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
