/* Broken files: each is refused with one exact message, kept in spec/bad/expected.tsv (file, format
 * or -, status, message; lists of all formats are left out: "..."). */
#include "must.h"

/* Cuts s at the next tab; returns the rest. */
static char *cut(char *s) {
  char *tab = s ? strchr(s, '\t') : NULL;
  if (!tab) return NULL;
  *tab = 0;
  return tab + 1;
}

static void check_file(const char *file, const char *format, const char *status,
                       const char *message) {
  berth_load_options opts = berth_load_default();
  berth_bundle b = { 0 };
  char path[4096];
  snprintf(path, sizeof path, "spec/bad/%s", file);
  if (strcmp(format, "-") != 0) opts.format = format;
  berth_status st = berth_load(ctx, path, &opts, &b);
  CHECK_TEXT(berth_status_name(st), status);
  const char *got = berth_errmsg(ctx);
  CHECK(strncmp(got, "spec/bad/", 9) == 0);
  const char *rest = strstr(message, "(...");
  if (rest) CHECK(strncmp(got + 9, message, (size_t)(rest - message)) == 0);
  else CHECK_TEXT(got + 9, message);
  CHECK(!b.graph && !b.topology && !b.placement);
  RELEASE(&b);
}

TEST("the corpus is complete") {
  FILE *f = fopen("spec/bad/expected.tsv", "r");
  int n = 0;
  char line[2048];
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#') continue;
    char *format = cut(line);
    char *status = cut(format);
    char *message = cut(status);
    if (!message) continue;
    CASE(line);
    check_file(line, format, status, message);
    check_close_test();
    n++;
  }
  if (f) fclose(f);
  CASE("all of them are there");
  CHECK(n >= 250);
}
