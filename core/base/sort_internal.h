/* Sorting by one key, with ties by number, and plain arrays of numbers. What has more keys brings a comparator of its own. */
#ifndef BERTH_SORT_INTERNAL_H
#define BERTH_SORT_INTERNAL_H

#include <stdint.h>

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
