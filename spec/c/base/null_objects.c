/* Every public function with a status refuses NULL in place of an object. The calls are written
 * from the headers by scripts/tools/null_calls.lua: NULL for one object, else other pointers. */
#include "check.h"

static union {
  double aligned;
  char bytes[65536];
} scratch;

static int calls;

#define NULL_CALL(function, argument, arguments)                                          \
  calls++;                                                                                \
  check_status(function arguments, BERTH_EINVAL, "core/include", 0, #function ": " argument);

TEST("no function with a status takes NULL for an object") {
  void *any = &scratch;
#include "null_calls.h"
  CHECK(calls > 300);
}
