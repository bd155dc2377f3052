/* Sorting by one key. O(n log n) */
#include "sort_internal.h"
#include <stdlib.h>

static int by_key(const void *pa, const void *pb) {
  const berth_i_keyed *a = pa, *b = pb;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static int by_key_down(const void *pa, const void *pb) {
  const berth_i_keyed *a = pa, *b = pb;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static int by_number(const void *pa, const void *pb) {
  double a = *(const double *)pa, b = *(const double *)pb;
  return (a > b) - (a < b);
}

static int by_number_down(const void *pa, const void *pb) { return by_number(pb, pa); }

static int by_id(const void *pa, const void *pb) {
  int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;
  return (a > b) - (a < b);
}

void berth_i_sort_keyed(berth_i_keyed *list, int32_t n) {
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_key);
}

void berth_i_sort_keyed_down(berth_i_keyed *list, int32_t n) {
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_key_down);
}

void berth_i_sort_numbers(double *list, int32_t n) {
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_number);
}

void berth_i_sort_numbers_down(double *list, int32_t n) {
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_number_down);
}

void berth_i_sort_ids(int32_t *list, int32_t n) {
  if (n > 1) qsort(list, (size_t)n, sizeof *list, by_id);
}
