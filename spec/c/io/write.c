/* Timelines, pictures, and files on disk. */
#include "must.h"
#include "io_support.h"

#include <cJSON.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- timelines ---- */

/* a(2 s, dev 0) --8 B at 4 B/s--> b(1 s, dev 1), c(3 s, dev 0) */
static berth_result *small_result(berth_memory_policy memory, double multiple) {
  const int32_t device[] = { 0, 1, 0 };
  const double seconds[] = { 2, 1, 3 };
  static const char *const names[] = { "a \"x\"", "b", "" };
  berth_tensor x = { 0, 8, -1, 0 };
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t k = 0; k < 3; k++) {
    berth_op op = berth_op_default();
    op.seconds = &seconds[k];
    op.name = names[k];
    op.param_bytes = 100 * (k + 1);
    op.workspace_bytes = 5;
    must_add_op(b, &op);
  }
  must_add_tensor(b, &x);
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 1));
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 2));
  berth_graph *g = must_graph_builder_finish(b);
  berth_topology *t = must_mesh(2, INFINITY, 4, 0);
  berth_cost *cost = must_cost_new(g, t, NULL);
  berth_sim_options o = berth_sim_default(g);
  o.memory = memory;
  o.param_multiple = multiple;
  berth_result *r = must_simulate(cost, device, &o);
  RELEASE(cost, t, g, b);
  return r;
}

static const char *text_of(const cJSON *event, const char *key) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(event, key);
  return v && cJSON_IsString(v) ? v->valuestring : "";
}

static double number_of(const cJSON *event, const char *key) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(event, key);
  return v && cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static cJSON *trace_of(berth_result *r) {
  berth_text text = { 0 };
  CHECK_OK(berth_write_trace(r, &text));
  cJSON *root = cJSON_ParseWithLengthOpts(text.data, text.len + 1, NULL, 1);
  CHECK(root != NULL);
  RELEASE(&text);
  return root;
}

TEST("chrome trace: slices, rows, arrows, names") {
  berth_result *r = small_result(BERTH_MEMORY_INFERENCE, 1);
  cJSON *root = trace_of(r), *event;
  int slices = 0, arrows = 0, names = 0;
  cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents")) {
    const char *phase = text_of(event, "ph"), *name = text_of(event, "name");
    slices += strcmp(phase, "X") == 0;
    arrows += strchr("stf", phase[0]) != NULL && phase[0];
    names += strcmp(name, "process_name") == 0;
    if (strcmp(name, "b") == 0) {
      CHECK_NEAR(number_of(event, "ts"), 4e6, 1e-6); /* 2 s of a, then 8 B at 4 B/s */
      CHECK_NEAR(number_of(event, "dur"), 1e6, 1e-6);
      CHECK(number_of(event, "pid") == 1);
    }
    if (strcmp(text_of(event, "cat"), "send") == 0)
      CHECK(number_of(event, "pid") == 0 && number_of(event, "ts") == 2e6);
    if (strcmp(text_of(event, "cat"), "receive") == 0)
      CHECK(number_of(event, "pid") == 1 && number_of(event, "dur") == 2e6);
  }
  CHECK(slices == 5 && arrows == 4 && names == 2);
  cJSON_Delete(root);
}

/* The counter is the timeline, entry by entry, so it reaches exactly the peaks that the simulator
 * reports. */
TEST("chrome trace: counters reach the simulator's peaks") {
  static const struct {
    berth_memory_policy policy;
    double multiple;
  } cases[] = { { BERTH_MEMORY_INFERENCE, 1 },
                { BERTH_MEMORY_TRAINING, 3 },
                { BERTH_MEMORY_TOTAL, 2.5 },
                { BERTH_MEMORY_NONE, 1 } };
  for (size_t k = 0; k < 4; k++) {
    berth_result *r = small_result(cases[k].policy, cases[k].multiple);
    cJSON *root = trace_of(r);
    double peak[2] = { 0, 0 };
    const double *time[2], *held[2];
    int32_t told[2], n[2] = { 0, 0 };
    for (int32_t d = 0; d < 2; d++) told[d] = berth_result_memory(r, d, &time[d], &held[d]);
    cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents")) {
      double bytes = number_of(cJSON_GetObjectItemCaseSensitive(event, "args"), "bytes");
      int d = (int)number_of(event, "pid");
      if (strcmp(text_of(event, "ph"), "C") != 0) continue;
      if (bytes > peak[d]) peak[d] = bytes;
      if (!CHECK(n[d] < told[d])) continue;
      CHECK(number_of(event, "ts") == time[d][n[d]] * 1e6 && bytes == held[d][n[d]]);
      n[d]++;
    }
    for (int32_t d = 0; d < 2; d++) {
      CHECK(n[d] == told[d] && (n[d] == 0) == (cases[k].policy == BERTH_MEMORY_NONE));
      CHECK(peak[d] == berth_result_peak(r)[d]);
    }
    cJSON_Delete(root);
  }
}

/* Many transfers at once: no two slices of one row overlap. */
TEST("chrome trace: no slices of one row overlap") {
  enum { N = 60 };
  double seconds = 1;
  int rows = 0;
  berth_graph_builder *b = must_graph_builder_new();
  int32_t device[N + 1];
  for (int32_t k = 0; k <= N; k++) {
    berth_op op = berth_op_default();
    op.seconds = &seconds;
    device[k] = k == 0 ? 0 : 1 + k % 3;
    must_add_op(b, &op);
    if (k > 0) must_add_edge(b, 0, k, k);
  }
  berth_graph *g = must_graph_builder_finish(b);
  berth_topology *t = must_mesh(4, INFINITY, 1, 0);
  berth_cost *cost = must_cost_new(g, t, NULL);
  berth_result *r = must_simulate(cost, device, NULL);
  cJSON *root = trace_of(r);
  double ends[8][512];
  memset(ends, 0, sizeof ends);
  cJSON *event;
  cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(root, "traceEvents")) {
    int p = (int)number_of(event, "pid"), row = (int)number_of(event, "tid");
    double ts = number_of(event, "ts"), end = ts + number_of(event, "dur");
    if (strcmp(text_of(event, "ph"), "X") != 0 || strcmp(text_of(event, "cat"), "forward") == 0)
      continue;
    CHECK(p < 4 && row < 512 && ts >= ends[p][row] - 1e-6);
    if (p == 0 && ends[p][row] == 0) rows++;
    ends[p][row] = end;
  }
  CHECK(rows == N); /* all leave at once */
  cJSON_Delete(root);
}

/* ---- pictures ---- */

TEST("dot: labels, sizes, collectives, colours") {
  const int32_t device[] = { 0, 1, 0, 1, 2 };
  berth_graph *g = NULL;
  berth_text plain = { 0 }, placed = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(berth_write_graph(g, "dot", &plain));
  CHECK_OK(berth_write_placed(g, "dot", device, &placed));
  CHECK(strncmp(plain.data, "digraph \"full ", 14) == 0);
  CHECK(strstr(plain.data, "n3 [label=\"tab new line<>&\\\"") != NULL);
  CHECK(strstr(plain.data, "  n0 -> n3 [label=\"8.5 B\", bytes=\"8.5\", tensor=\"0\"")
        && strstr(plain.data, "  n0 -> n1 [style=dashed, tensor=\"1\""));
  CHECK(strstr(plain.data, "n5 [label=\"reducescatter") && strstr(plain.data, "  n3 -> n5;\n")
        && strstr(plain.data, "  n5 -> n4;\n"));
  CHECK(!strstr(plain.data, "device") && strstr(placed.data, "device 2")
        && strstr(placed.data, "fillcolor=\"0.618 0.35 0.95\""));
  RELEASE(&plain, &placed, g);
}

TEST("dot: a placement is written and read") {
  const int32_t device[] = { 0, 1, 0, 1, 2 };
  berth_graph *g = NULL;
  berth_text text = { 0 };
  berth_bundle b = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(berth_write_placed(g, "dot", device, &text));
  CHECK_OK(berth_parse(ctx, "x", text.data, text.len, NULL, &b));
  CHECK_TEXT(b.format, "dot");
  CHECK(b.placement && memcmp(berth_placement_device(b.placement), device, sizeof device) == 0);
  RELEASE(&b, &text, g);
}

TEST("graphml: a placement is written and read, types are declared, digits are kept") {
  const int32_t device[] = { 0, 1, 0, 1, 2 };
  berth_graph *g = NULL;
  berth_text text = { 0 };
  berth_bundle b = { 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(berth_write_placed(g, "graphml", device, &text));
  CHECK(strstr(text.data, "attr.name=\"device\" attr.type=\"int\"/>")
        && strstr(text.data, "attr.name=\"backward\" attr.type=\"boolean\"/>"));
  CHECK(strstr(text.data, "0.30000000000000004") && !strstr(text.data, "></data>"));
  CHECK_OK(berth_parse(ctx, "x", text.data, text.len, NULL, &b));
  CHECK(b.placement && memcmp(berth_placement_device(b.placement), device, sizeof device) == 0);
  RELEASE(&b, &text, g);
}

/* Numbers below the normal ones, and infinities. */
TEST("graphml: the smallest numbers and infinity go and come") {
  static const double seconds[] = { 5e-324, 1e-310, INFINITY, 2 };
  const int32_t device[] = { 1, 0, 2, 0 };
  berth_text text = { 0 };
  berth_bundle b = { 0 };
  berth_op op = berth_op_default();
  berth_graph_builder *builder = must_graph_builder_new();
  for (int32_t v = 0; v < 4; v++) {
    op.seconds = &seconds[v];
    op.flop = v == 3 ? 2.3e-308 : 3e-320;
    must_add_op(builder, &op);
  }
  must_add_edge(builder, 0, 1, 7e-315);
  berth_graph *g = must_graph_builder_finish(builder);
  CHECK_OK(berth_write_placed(g, "graphml", device, &text));
  berth_tensor t;
  if (CHECK_OK(berth_parse(ctx, "x", text.data, text.len, NULL, &b))) {
    for (int32_t v = 0; v < 4; v++) {
      op = must_graph_op(b.graph, v);
      CHECK(*op.seconds == seconds[v] && op.flop == (v == 3 ? 2.3e-308 : 3e-320));
    }
    CHECK(berth_graph_tensor(b.graph, 0, &t) == BERTH_OK && t.bytes == 7e-315);
    CHECK(b.placement && memcmp(berth_placement_device(b.placement), device, sizeof device) == 0);
  }
  RELEASE(&b, &text);
}

/* Characters that XML has not do not make the files wrong; bytes that are not UTF-8 come into no
 * graph. */
TEST("odd names become U+FFFD") {
  berth_op op = berth_op_default();
  static const char *const formats[] = { "berth", "graphml" };
  op.name = "\xff";
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_STATUS(berth_graph_builder_add_op(b, &op, NULL), BERTH_EINVAL);
  op.name = "\x01 \xef\xbf\xbf \xf0\x9f\x98\x80";
  must_add_op(b, &op);
  berth_graph *g = must_graph_builder_finish(b);
  for (int k = 0; k < 2; k++) {
    berth_text text = { 0 };
    berth_bundle back = { 0 };
    CHECK_OK(berth_write_graph(g, formats[k], &text));
    CHECK_OK(berth_parse(ctx, "x", text.data, text.len, NULL, &back));
    op = must_graph_op(back.graph, 0);
    CHECK(strstr(op.name, k == 0 ? "\xef\xbf\xbf" : "\xef\xbf\xbd")
          && strstr(op.name, k == 0 ? "\x01" : "\xe2\x90\x81")
          && strstr(op.name, "\xf0\x9f\x98\x80"));
    RELEASE(&back, &text);
  }
}

/* ---- files ---- */

static void read_back(const char *path, char *buf, size_t size) {
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(buf, 1, size - 1, f) : 0;
  buf[n] = 0;
  if (f) fclose(f);
}

TEST("saving: replaces whole, keeps mode and links, leaves nothing behind") {
  char dir[] = "/tmp/berth-io-XXXXXX";
  berth_text one = { ctx, "one\n", 4, 0 }, two = { ctx, "two\n", 4, 0 };
  if (!CHECK(mkdtemp(dir) != NULL)) return;
  char path[128];
  snprintf(path, sizeof path, "%s/file", dir);
  char link[128];
  snprintf(link, sizeof link, "%s/link", dir);
  CHECK_OK(berth_save(ctx, path, &one));
  CHECK(chmod(path, 0640) == 0 && symlink("file", link) == 0);
  CHECK_OK(berth_save(ctx, link, &two));
  char buf[64];
  read_back(path, buf, sizeof buf);
  CHECK_TEXT(buf, "two\n");
  struct stat st;
  CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
  CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
  CHECK_STATUS(berth_save(ctx, dir, &one), BERTH_EIO);
  CHECK_ERROR(berth_save(ctx, "/nowhere/at/all", &one), BERTH_EIO,
              "/nowhere/at/all: cannot be written: No such file or directory");
  CHECK_OK(berth_save(ctx, "/dev/null", &one));
  CHECK_STATUS(berth_save(ctx, "/dev/full", &one), BERTH_EIO);
  CHECK(unlink(link) == 0 && unlink(path) == 0);
  CHECK(rmdir(dir) == 0); /* no temporary file is left */
}

/* Text of earlier writes stays before that of later ones, and is untouched when one fails. */
TEST("writers append, and leave the text alone on failure") {
  berth_graph *g = NULL;
  berth_text text = { 0 };
  const int32_t bad[] = { -1, 0, 0, 0, 0 };
  CHECK_OK(full_graph(&g));
  CHECK_OK(berth_write_graph(g, "dot", &text));
  size_t len;
  len = text.len;
  CHECK_OK(berth_write_graph(g, "berth", &text));
  CHECK(text.len > len && strncmp(text.data, "digraph", 7) == 0
        && strncmp(text.data + len, "{\"berth\": 1", 11) == 0);
  len = text.len;
  CHECK_STATUS(berth_write_placed(g, "berth", bad, &text), BERTH_EINVAL);
  CHECK(text.len == len && strlen(text.data) == len);
  RELEASE(&text, g);
}

TEST("numbers as text") {
  const struct { double x; int digits; const char *text;
  } list[] = { { 0.1, 0, "0.1" },
               { 5e-8, 0, "5e-08" },
               { -0.0, 0, "-0" },
               { 1e14, 0, "100000000000000" },
               { 1.0 / 3, 0, "0.3333333333333333" },
               /* halves go to the even digit */
               { 9503711414.55078125, 0, "9503711414.550781" },
               { 10000000000.0078125, 0, "10000000000.007812" },
               { 1.03125, 5, "1.0312" },
               { 2.0 / 3, 2, "0.67" },
               { 0.1, 99, "0.10000000000000001" },
               { INFINITY, 0, "inf" },
               { -INFINITY, 3, "-inf" },
               { NAN, 0, "nan" } };
  char buf[40];
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    CHECK(strcmp(berth_number_text(list[i].x, list[i].digits, buf, sizeof buf), list[i].text) == 0);
  CHECK(strcmp(berth_number_text(1.25, 0, buf, 3), "1.") == 0);
}
