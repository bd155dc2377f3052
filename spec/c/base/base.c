/* Base: context, allocation accounting, names, heap, random streams, quantities. */
#include "base/heap_internal.h"
#include "base/plain_heap_internal.h"
#include "base/sort_internal.h"
#include "base/utf8.h"
#include "must.h"

TEST("counts what it holds, and the peak") {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks h = { check_alloc, &s, NULL, NULL, NULL, NULL };
  hooked(&h);
  void *p = berth_i_alloc(ctx, 10, 8);
  p = berth_i_realloc(ctx, p, 10, 20, 8);
  CHECK(berth_ctx_memory(ctx) == 160);
  berth_i_free(ctx, p, 20, 8);
  CHECK(berth_ctx_memory(ctx) == 0 && berth_ctx_memory_peak(ctx) == 160);
  CHECK(berth_i_alloc(ctx, SIZE_MAX / 4, 8) == NULL);
  CHECK(berth_i_alloc(ctx, 0, 8) != NULL);
  hooked(NULL);
  CHECK(s.held == 0);
}

TEST("interns each text once") {
  berth_i_names names = { 0 };
  char text[16];
  int32_t id;
  for (int i = 0; i < 1000; i++) {
    snprintf(text, sizeof text, "n%d", i % 500);
    CHECK_OK(berth_i_names_add(ctx, &names, text, &id));
    CHECK(id == i % 500);
  }
  CHECK(berth_i_names_find(&names, "n499") == 499
        && berth_i_names_find(&names, "absent") == BERTH_NONE);
  berth_i_names_release(ctx, &names);
  CHECK(berth_ctx_memory(ctx) == 0);
}

TEST("escapes what a terminal carries out; a short buffer ends before a whole character") {
  static const char text[] = "a\x1b\xc3\xa9\xe2\x80\xae\n\x80z";
  static const char whole[] = "a\\u001b\xc3\xa9\\u202e\\u000a\\u0080z";
  char buf[80];
  CHECK(berth_escape(text, 0, NULL, 0) == strlen(whole));
  for (size_t size = 1; size <= sizeof whole; size++) {
    memset(buf, 'x', sizeof buf);
    CHECK(berth_escape(text, 0, buf, size) == strlen(whole));
    size_t n = strlen(buf);
    CHECK(n < size && strncmp(buf, whole, n) == 0 && buf[size] == 'x');
    bool ends = n == 0 || n == 1 || n == 7 || n == 9 || n == 15 || n == 21 || n == 27 || n == 28;
    CHECK(ends);
  }
  CHECK(berth_escape("a\tb\n\r", 1, buf, sizeof buf) == 10);
  CHECK_TEXT(buf, "a\tb\n\\u000d");
  berth_escape("", 0, buf, sizeof buf);
  CHECK_TEXT(buf, "");
  CHECK(berth_snprintf(buf, sizeof buf, "%.1f %s", 0.5, "s") == 5);
  CHECK_TEXT(buf, "0.5 s");
}

TEST("heap pops in key order after random changes, ties by item") {
  double last = -1;
  berth_rng rng = seeded(7, 0);
  berth_i_heap h;
  CHECK_OK(berth_i_heap_init(ctx, &h, 200, 200));
  double key[200];
  for (int i = 0; i < 5000; i++) {
    int32_t item = berth_rng_below(&rng, 200);
    key[item] = berth_rng_below(&rng, 20);
    if (i % 7 == 0) berth_i_heap_remove(&h, item);
    else berth_i_heap_push(&h, item, key[item]);
  }
  double k;
  for (int32_t item, before = -1; h.n > 0; before = item) {
    item = berth_i_heap_pop(&h, &k);
    CHECK(k == key[item] && (k > last || (k == last && item > before)));
    last = k;
  }
  berth_i_heap_release(ctx, &h);
  CHECK(berth_ctx_memory(ctx) == 0);
}

typedef struct item {
  double time;
  int32_t place[2];
} item;
static bool item_before(item a, item b) {
  return a.time != b.time           ? a.time < b.time
         : a.place[0] != b.place[0] ? a.place[0] > b.place[0]
                                    : a.place[1] < b.place[1];
}
BERTH_I_HEAP(item, item, item_before)
BERTH_I_SORT(sort_items, item, BERTH_I_UP(time) BERTH_I_DOWN(place[0]) BERTH_I_UP(place[1]))
BERTH_I_SORT(sort_by_size, double, BERTH_I_KEY(fabs(*b), fabs(*a)))

TEST("sorts by several keys, up and down, as a plain heap does") {
  double few[] = { 1, -3, 2 };
  berth_rng rng = seeded(7, 0);
  item list[300], heap[300];
  for (int32_t i = 0; i < 300; i++) {
    list[i] = (item){ berth_rng_below(&rng, 5), { (int32_t)berth_rng_below(&rng, 5), i } };
    item_up(heap, i, list[i]);
  }
  sort_items(list, 300);
  for (int32_t i = 0; i < 300; i++) {
    item least = item_pop(heap, 300 - i);
    CHECK(least.place[1] == list[i].place[1] && (i == 0 || item_before(list[i - 1], list[i])));
    CHECK(i == 0
          || (sort_items_compare(&list[i - 1], &list[i]) < 0
              && sort_items_compare(&list[i], &list[i - 1]) > 0));
  }
  CHECK(sort_items_compare(&list[7], &list[7]) == 0);
  sort_by_size(few, 3);
  CHECK(few[0] == -3 && few[1] == 2 && few[2] == 1);
  sort_by_size(NULL, 0);
}

TEST("random streams: same seed same numbers, sane moments") {
  double sum = 0, square = 0;
  int count[6] = { 0 };
  berth_rng a = seeded(42, 0);
  berth_rng b = seeded(42, 0);
  for (int i = 0; i < 100; i++) CHECK(berth_rng_u64(&a) == berth_rng_u64(&b));
  berth_rng_init(&b, 42, 1);
  CHECK(berth_rng_u64(&a) != berth_rng_u64(&b));
  for (int i = 0; i < 60000; i++) {
    double x = berth_rng_normal(&a);
    sum += x;
    square += x * x;
    count[berth_rng_below(&a, 6)]++;
  }
  CHECK_NEAR(sum / 60000, 0, 0.02);
  CHECK_NEAR(square / 60000, 1, 0.03);
  for (int i = 0; i < 6; i++) CHECK(abs(count[i] - 10000) < 500);
}

TEST("quantities: units are checked") {
  static const struct { const char *text; berth_unit unit; double want;
  } good[] = {
    { "5 us", BERTH_SECONDS, 5e-6 },
    { "0", BERTH_SECONDS, 0 },
    { "1.5min", BERTH_SECONDS, 90 },
    { "16 GiB", BERTH_BYTES, 17179869184.0 },
    { "16GB", BERTH_BYTES, 16e9 },
    { "25 GB/s", BERTH_BYTES_PER_SECOND, 25e9 },
    { "25 Gbit/s", BERTH_BYTES_PER_SECOND, 3.125e9 },
    { "312 TFLOP/s", BERTH_FLOP_PER_SECOND, 312e12 },
    { "1e3 B", BERTH_BYTES, 1000 },
    { "inf", BERTH_BYTES, INFINITY },
    { "8.2 GFLOP", BERTH_FLOP, 8.2e9 },
    { "5.3 us", BERTH_SECONDS, 5.3e-6 },
    { "1.7e2 ns", BERTH_SECONDS, 1.7e-7 },
    { ".5 ms", BERTH_SECONDS, 5e-4 },
    { "8 Mibit", BERTH_BYTES, 1048576.0 },
    { "7. B", BERTH_BYTES, 7 },
  };
  static const struct { const char *text; berth_unit unit;
  } bad[] = {
    { "", BERTH_SECONDS },
    { "5 parsec", BERTH_SECONDS },
    { "2", BERTH_SECONDS },
    { "25 Gb/s", BERTH_BYTES_PER_SECOND },
    { "25 GB", BERTH_BYTES_PER_SECOND },
    { "-1 s", BERTH_SECONDS },
    { "nan", BERTH_SECONDS },
    { "0x10", BERTH_BYTES },
    { "1e308 GB", BERTH_BYTES },
    { "1e", BERTH_BYTES },
    { ".", BERTH_BYTES },
    { "1e400", BERTH_SECONDS },
    { "1 2", BERTH_BYTES },
  };
  static const struct { double value; berth_unit unit; const char *want;
  } out[] = {
    { 0.0412, BERTH_SECONDS, "41.2 ms" },
    { 5e-6, BERTH_SECONDS, "5 us" },
    { 1234.5, BERTH_SECONDS, "1234 s" },
    { 0, BERTH_SECONDS, "0 s" },
    { 11.3e9, BERTH_BYTES, "11.3 GB" },
    { 25e9, BERTH_BYTES_PER_SECOND, "25 GB/s" },
    { 999.7e3, BERTH_BYTES, "1 MB" },
    { 12, BERTH_BYTES, "12 B" },
    { 1e-9, BERTH_SECONDS, "1 ns" },
    { 999.5e-6, BERTH_SECONDS, "1 ms" },
    { 999.4e-6, BERTH_SECONDS, "999 us" },
    { 123456, BERTH_SECONDS, "123456 s" },
    { 566957965312.0, BERTH_SECONDS, "5.67e+11 s" },
    { 1e21, BERTH_BYTES, "1e+06 PB" },
  };
  double x;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    CHECK_OK(berth_quantity_parse(ctx, good[i].text, good[i].unit, &x));
    CHECK(x == good[i].want); /* to the last bit */
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(berth_quantity_parse(ctx, bad[i].text, bad[i].unit, &x), BERTH_EINVAL);
  CHECK(says("1 2"));
  char buf[32];
  for (size_t i = 0; i < sizeof out / sizeof *out; i++)
    CHECK_TEXT(berth_quantity_format(out[i].value, out[i].unit, buf, sizeof buf), out[i].want);
}

TEST("UTF-8: one to four bytes; no bad tails, surrogates or overlong forms") {
  static const char *const good[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
  static const char *const bad[] = { "\x80", "\xc3(", "\xe2\x82(", "\xe2(\xac", "\xf0\x9f\x98(",
                                     "\xf0\x9f(\x80", "\xc0\x80", "\xe0\x9f\xbf",
                                     "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80" };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    CHECK(berth_i_utf8(good[i]) == i + 1 && !berth_i_utf8_error(good[i]));
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(berth_i_utf8(bad[i]) == 0 && berth_i_utf8_error(bad[i]) == bad[i]);
  }
}
