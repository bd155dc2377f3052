/* The shipped agent from C: an answer that spec/lua/place/agent_spec.lua expects, too; options. */
#include "must.h"
#include "refusals.h"

/* Three ops wide: each reads the one three before it, and every other one the one four before. */
static berth_cost *braid(void) {
  return must_cost_of_text("2 3 1 2 3 1 2 3 1 2 3 1 2 3 1 0>3,4:4 1>4:8 2>5,6:4 3>6:8 4>7,8:4 "
                           "5>8:8 6>9,10:4 7>10:8 8>11,12:4 9>12:8 10>13,14:4 11>14:8",
                           3, INFINITY, 4);
}

TEST("the agent gives the devices that it gives in Lua") {
  static const int32_t expected[15] = { 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2 };
  berth_cost *c = braid();
  berth_place_options o = berth_place_default(NULL);
  o.links = BERTH_LINKS_DUPLEX;
  berth_placement *p = must_place(c, "agent", &o);
  for (int32_t i = 0; i < 15; i++) CHECK(berth_placement_device(p)[i] == expected[i]);
  RELEASE(p);
  CASE("and again with the default number of calls given");
  berth_search_options search = berth_search_default();
  search.calls = 50;
  o.search = &search;
  p = must_place(c, "agent", &o);
  for (int32_t i = 0; i < 15; i++) CHECK(berth_placement_device(p)[i] == expected[i]);
  RELEASE(p, c);
}

TEST("the agent refuses calls out of its range") {
  static const int64_t calls[] = { 0, 51, 2000 };
  berth_cost *c = braid();
  berth_place_options o = berth_place_default(NULL);
  berth_search_options search = berth_search_default();
  o.search = &search;
  for (int i = 0; i < 3; i++) {
    berth_placement *p = NULL;
    search.calls = calls[i];
    CHECK_SAYS(berth_place(c, "agent", &o, &p, NULL), BERTH_EINVAL, "is not from 1 to 50");
  }
  RELEASE(c);
}
