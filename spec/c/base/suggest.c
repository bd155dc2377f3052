/* Unknown names in messages. */
#include "check.h"
#include <string.h>

static const char *const few[] = { "mesh", "ring", "star" };
static const char *const many[] = { "heft", "m-etf", "m-sct", "etf",      "cpop",  "peft",
                                    "fuse", "metis", "local", "portfolio", "random" };
enum { FEW = 3, MANY = 11 };

TEST("distance counts letters that are inserted, left out, replaced or swapped") {
  CHECK(berth_name_distance("heft", "heftt") == 1 && berth_name_distance("heft", "hef") == 1);
  CHECK(berth_name_distance("heft", "hfet") == 1 && berth_name_distance("heft", "heft") == 0);
  CHECK(berth_name_distance("BERT_Base", "bert-base") == 0);
  CHECK(berth_name_distance("tau", "gap") > 1 && berth_name_distance("kitten", "sitting") == 3);
  char longest[60];
  memset(longest, 'a', 59);
  longest[59] = '\0';
  CHECK(berth_name_distance(longest, longest) == 0 && berth_name_distance(longest, "a") == 99);
}

TEST("the nearest name is a misspelling, or begins with the word") {
  CHECK(strcmp("mesh", berth_name_nearest("msh", few, FEW)) == 0);
  CHECK(strcmp("portfolio", berth_name_nearest("port", many, MANY)) == 0);
  CHECK(strcmp("m-sct", berth_name_nearest("M_SCT", many, MANY)) == 0);
  CHECK(!berth_name_nearest("tree", few, FEW) && !berth_name_nearest(NULL, few, FEW));
  CHECK(!berth_name_nearest("mesh", few, 0));
}

TEST("few names are listed; of many the one that is meant, or the five nearest in their order") {
  char text[200];
  berth_names_text("msh", few, FEW, NULL, text, sizeof text);
  CHECK(strcmp("mesh, ring, star; did you mean 'mesh'?", text) == 0);
  berth_names_text(NULL, few, FEW, "help", text, sizeof text);
  CHECK(strcmp("mesh, ring, star", text) == 0);
  size_t n = berth_names_text("hept", many, MANY, "berth.placers()", text, sizeof text);
  CHECK(strcmp("11 names; berth.placers() lists all; did you mean 'heft'?", text) == 0);
  CHECK(n == strlen(text));
  CHECK(n == berth_names_text("hept", many, MANY, "berth.placers()", NULL, 0));
  berth_names_text("hept", many, MANY, NULL, text, 8);
  CHECK(strcmp("11 name", text) == 0);
}
