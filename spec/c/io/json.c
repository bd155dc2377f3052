/* A document of JSON, value by value. */
#include "refusals.h"

/* Each value as depth, index, key and what it is. */
static const char *listed(const char *text, berth_status *st) {
  static char buf[512];
  char *p = buf;
  berth_json *json = NULL;
  *buf = 0;
  *st = berth_json_open(ctx, "x", text, strlen(text), &json);
  if (*st != BERTH_OK) return buf;
  berth_json_item x;
  while (berth_json_next(json, &x)) {
    p += sprintf(p, "%s%d.%d%s%s=", p > buf ? " " : "", (int)x.depth, (int)x.index,
                 x.key ? " " : "", x.key ? x.key : "");
    if (x.kind == BERTH_JSON_STRING) p += sprintf(p, "'%s'", x.string);
    else if (x.kind == BERTH_JSON_NUMBER || x.kind == BERTH_JSON_BOOL)
      p += sprintf(p, "%d:%g", (int)x.kind, x.number);
    else p += sprintf(p, "%d", (int)x.kind);
  }
  CHECK(!berth_json_next(json, &x));
  RELEASE(json);
  return buf;
}

TEST("values come in the order of the text") {
  berth_status st;
  CHECK_TEXT(listed("{\"a\": [1, [], {\"b\": null}, true], \"c\": \"\\u00e9\", \"d\": {}, \"e\": "
                    "-1.5e3, \"f\": {\"g\": {\"h\": 0}}}",
                    &st),
             "0.0=5 1.0 a=4 2.0=2:1 2.1=4 2.2=5 3.0 b=0 2.3=1:1 1.1 c='\xc3\xa9' 1.2 d=5 1.3 "
             "e=2:-1500 1.4 f=5 2.0 g=5 3.0 h=2:0");
  CHECK_TEXT(listed(" 7 ", &st), "0.0=2:7");
  CHECK_TEXT(listed("[[[[[[[1]]]]],2],3]", &st),
             "0.0=4 1.0=4 2.0=4 3.0=4 4.0=4 5.0=4 6.0=4 7.0=2:1 2.1=2:2 1.1=2:3");
  listed("[1\n}", &st);
  CHECK_ERROR(st, BERTH_EPARSE, "x:2: not valid JSON here (})");
}

TEST("values lie deep in each other") {
  enum { DEEPEST = 1000 };
  static char text[2 * DEEPEST + 3];
  berth_json *json = NULL;
  berth_json_item x = { 0 };
  int n = 0;
  memset(text, '[', DEEPEST);
  memset(text + DEEPEST, ']', DEEPEST);
  if (!CHECK_OK(berth_json_open(ctx, "x", text, strlen(text), &json))) return;
  while (berth_json_next(json, &x)) CHECK(x.depth == n++);
  CHECK(n == DEEPEST);
  RELEASE(json);
}

static berth_status list_some(const void *text) {
  berth_status st;
  listed(text, &st);
  return st;
}

TEST("memory is refused") {
  refuse_each(list_some, "{\"a\": [1, \"b\"], \"c\": [{}]}", 1, 0);
}
