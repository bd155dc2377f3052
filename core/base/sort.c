/* Sorting by one key, instances of BERTH_I_SORT that several rooms use. O(n log n) */
#include "sort_internal.h"

BERTH_I_SORT(sort_up, berth_i_keyed, BERTH_I_UP(key) BERTH_I_UP(id))
BERTH_I_SORT(sort_down, berth_i_keyed, BERTH_I_DOWN(key) BERTH_I_UP(id))
BERTH_I_SORT(sort_numbers, double, BERTH_I_KEY(*a, *b))
BERTH_I_SORT(sort_numbers_down, double, BERTH_I_KEY(*b, *a))
BERTH_I_SORT(sort_ids, int32_t, BERTH_I_KEY(*a, *b))

void berth_i_sort_keyed(berth_i_keyed *list, int32_t n) { sort_up(list, (size_t)n); }
void berth_i_sort_keyed_down(berth_i_keyed *list, int32_t n) { sort_down(list, (size_t)n); }
void berth_i_sort_numbers(double *list, int32_t n) { sort_numbers(list, (size_t)n); }
void berth_i_sort_numbers_down(double *list, int32_t n) { sort_numbers_down(list, (size_t)n); }
void berth_i_sort_ids(int32_t *list, int32_t n) { sort_ids(list, (size_t)n); }
