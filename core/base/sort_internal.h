/* Sorting: by one key, with ties by number; plain arrays of numbers; arrays of any type by any
 * keys. */
#ifndef BERTH_SORT_INTERNAL_H
#define BERTH_SORT_INTERNAL_H

#include <stdint.h>
#include <stdlib.h>

/* BERTH_I_SORT(name, type, keys) defines
 *   void name(type *at, size_t n)
 *   int name_compare(const void *pa, const void *pb)   as for qsort
 * keys: BERTH_I_UP(field), smallest first, BERTH_I_DOWN(field), largest first, or
 * BERTH_I_KEY(value, value) of *a and *b, smallest first; a later key counts where those before it
 * are equal. Items that are equal by all come in any order, so the last key is one that decides
 * ties: BERTH_I_SORT(sort_by_bytes, Layer, BERTH_I_DOWN(bytes) BERTH_I_UP(number)) */
#define BERTH_I_KEY(x, y) if ((x) < (y)) return -1; if ((y) < (x)) return 1;
#define BERTH_I_UP(field) BERTH_I_KEY(a->field, b->field)
#define BERTH_I_DOWN(field) BERTH_I_KEY(b->field, a->field)
#define BERTH_I_SORT(name, type, keys)                        \
  static int name##_compare(const void *pa, const void *pb) { \
    const type *a = pa, *b = pb;                              \
    keys return 0;                                            \
  }                                                           \
  static inline void name(type *at, size_t n) {               \
    if (n > 1) qsort(at, n, sizeof *at, name##_compare);      \
  }

/** key: no NaN */
typedef struct berth_i_keyed {
  double key;
  int32_t id;
} berth_i_keyed;

/** By key, then by id: the smallest key first. */
void berth_i_sort_keyed(berth_i_keyed *list, int32_t n);
/** The largest key first; equal ones by id, the least first. */
void berth_i_sort_keyed_down(berth_i_keyed *list, int32_t n);
void berth_i_sort_numbers(double *list, int32_t n);
void berth_i_sort_numbers_down(double *list, int32_t n);
void berth_i_sort_ids(int32_t *list, int32_t n);

#endif
