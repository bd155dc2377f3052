/* Binary heap in a plain array, of any type and order; the first is that which comes before all
 * others. Inline because hot.
 *
 * BERTH_I_HEAP(name, type, before) defines
 *   void name_up(type *at, int32_t i, type e)   puts e at place i, the first free one, or above
 *   type name_pop(type *at, int32_t n)          takes the first off a heap of n
 * Items that change their key while they wait: heap_internal.h. */
#ifndef BERTH_PLAIN_HEAP_INTERNAL_H
#define BERTH_PLAIN_HEAP_INTERNAL_H

#include <stdint.h>

#define BERTH_I_HEAP(name, type, before)                                                  \
  static inline void name##_up(type *at, int32_t i, type e) {                             \
    for (; i > 0 && before(e, at[(i - 1) / 2]); i = (i - 1) / 2) at[i] = at[(i - 1) / 2]; \
    at[i] = e;                                                                            \
  }                                                                                       \
  static inline type name##_pop(type *at, int32_t n) {                                    \
    type top = at[0], e = at[n - 1];                                                      \
    int32_t i = 0, child;                                                                 \
    for (; (child = 2 * i + 1) < n - 1; i = child) {                                      \
      if (child + 1 < n - 1 && before(at[child + 1], at[child])) child++;                 \
      if (!before(at[child], e)) break;                                                   \
      at[i] = at[child];                                                                  \
    }                                                                                     \
    at[i] = e;                                                                            \
    return top;                                                                           \
  }

#endif
