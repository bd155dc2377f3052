/* Graphs for the tests of the simulator: by hand, at random, and from files of the test data. */
#ifndef BERTH_SIM_HELP_H
#define BERTH_SIM_HELP_H

#include "must.h"
#include <ctype.h>

typedef struct setup {
  berth_graph_builder *b;
  berth_graph *g;
  berth_topology *t;
  berth_cost *cost;
} setup;

static void setup_begin(setup *s) {
  memset(s, 0, sizeof *s);
  s->b = must_graph_builder_new();
}
static int32_t setup_op(setup *s, double seconds) {
  berth_op op = berth_op_default();
  int32_t id = -1;
  op.seconds = &seconds;
  id = must_add_op(s->b, &op);
  return id;
}
/* An op with memory. */
static int32_t setup_heavy(setup *s, double seconds, double params, double workspace,
                           int32_t twin) {
  berth_op op = berth_op_default();
  int32_t id = -1;
  op.seconds = &seconds;
  op.param_bytes = params;
  op.workspace_bytes = workspace;
  op.twin = twin;
  id = must_add_op(s->b, &op);
  return id;
}
static int32_t setup_tensor(setup *s, int32_t from, double bytes) {
  berth_tensor t = { from, bytes, -1, 0 };
  int32_t id = -1;
  id = must_add_tensor(s->b, &t);
  return id;
}
static void setup_use(setup *s, int32_t tensor, int32_t op) {
  CHECK_OK(berth_graph_builder_add_consumer(s->b, tensor, op));
}
static void setup_edge(setup *s, int32_t from, int32_t to, double bytes) {
  must_add_edge(s->b, from, to, bytes);
}
/* n devices, a link of 1 byte/s between every two; memory limit in bytes. */
static void setup_mesh(setup *s, int32_t n, double memory) {
  s->g = must_graph_builder_finish(s->b);
  s->t = must_mesh(n, memory, 1, 0);
  s->cost = must_cost_new(s->g, s->t, NULL);
}
static void setup_add(setup *s, const char *text) {
  must_text(s->b, text);
}
static void setup_text(setup *s, const char *text, int32_t devices, double memory) {
  setup_begin(s);
  setup_add(s, text);
  setup_mesh(s, devices, memory);
}
static void setup_wires(setup *s, const char *topology) {
  s->g = must_graph_builder_finish(s->b);
  s->t = must_topology_of_text(topology);
  s->cost = must_cost_new(s->g, s->t, NULL);
}
/* Devices of different speed, links of different bandwidth, one switch less than a mesh: no uniform
 * times. */
static void setup_uneven(setup *s, int32_t n) {
  berth_topology_builder *b = NULL;
  s->g = must_graph_builder_finish(s->b);
  b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.speed = 1 + 0.25 * i;
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < n; i++) {
    berth_link l = { 1 + 0.5 * i, 0.125 * i };
    CHECK_OK(berth_topology_builder_add_duplex(b, i, (i + 1) % n, &l, NULL));
  }
  s->t = must_topology(b);
  s->cost = must_cost_new(s->g, s->t, NULL);
}
static setup setup_started(void) {
  setup s;
  setup_begin(&s);
  return s;
}
static setup setup_of(const char *text, int32_t devices, double memory) {
  setup s;
  setup_text(&s, text, devices, memory);
  return s;
}
#define SETUP_END(s, ...) (RELEASE(__VA_ARGS__), setup_end(s))
static void setup_end(setup *s) {
  RELEASE(s->b, s->cost, s->t, s->g);
}

/* A random DAG in id order; times and bytes are small multiples of 1/4 (many ties, some of them
 * zero) or real numbers. */
static void setup_random(setup *s, berth_rng *rng, int32_t n, int ties) {
  setup_begin(s);
  for (int32_t i = 0; i < n; i++) {
    double x = ties ? berth_rng_below(rng, 5) * 0.25 : 4 * berth_rng_uniform(rng);
    setup_heavy(s, x, berth_rng_below(rng, 8), berth_rng_below(rng, 4), BERTH_NONE);
  }
  for (int32_t i = 0; i < n - 1; i++) {
    int32_t tensors = berth_rng_below(rng, 3);
    for (int32_t k = 0; k < tensors; k++) {
      int32_t t = setup_tensor(s, i, ties ? berth_rng_below(rng, 7) : 6 * berth_rng_uniform(rng));
      for (int32_t c = i + 1; c < n && c < i + 12; c++) {
        if (berth_rng_below(rng, 5) == 0) setup_use(s, t, c);
      }
    }
  }
}
/* Some collectives of all kinds in a random graph: members come before consumers in id order. */
static void setup_collectives(setup *s, berth_rng *rng, int32_t n, int32_t count, int ties) {
  for (int32_t k = 0; k < count && n > 1; k++) {
    int32_t ops[64], cut = 1 + berth_rng_below(rng, n - 1), members = 0, all = 0;
    berth_collective c = {
      (berth_collective_kind)berth_rng_below(rng, BERTH_PARAMETER_SERVER + 1), 0, 1, 0, ops, 0, ops
    };
    c.bytes = ties ? berth_rng_below(rng, 9) : 6 * berth_rng_uniform(rng);
    for (int32_t i = cut - 1; i >= 0 && members < 6; i--) {
      if (i == cut - 1 || berth_rng_below(rng, 2)) ops[members++] = i;
    }
    all = members;
    for (int32_t i = cut; i < n && all < members + 5; i++) {
      if (berth_rng_below(rng, 3) == 0) ops[all++] = i;
    }
    c.n_members = members;
    c.consumers = ops + members;
    c.n_consumers = all - members;
    must_add_collective(s->b, &c);
  }
}
static void random_devices(berth_rng *rng, int32_t n, int32_t devices, int32_t *device) {
  for (int32_t i = 0; i < n; i++) device[i] = berth_rng_below(rng, devices);
}

static char *read_text(const char *dir, const char *sub, const char *name) {
  char path[4096], *text = NULL;
  snprintf(path, sizeof path, "%s/%s/%s", dir, sub, name);
  FILE *f;
  if (!(f = fopen(path, "rb"))) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  text = malloc((size_t)size + 1);
  if (text && fread(text, 1, (size_t)size, f) == (size_t)size) text[size] = 0;
  fclose(f);
  return text;
}

/* ---- the DOPPLER files ---- */

typedef struct doppler_graph {
  int32_t n, m, *src, *dst;
  double *comp, *comm;
} doppler_graph;

static int32_t read_ints(const char *line, const char *end, int32_t **out) {
  int32_t n = 0, cap = 0, *a = NULL;
  while (line < end) {
    if (!isdigit((unsigned char)*line)) {
      line++;
      continue;
    }
    if (n == cap) a = realloc(a, (size_t)(cap = 2 * cap + 16) * sizeof *a);
    a[n++] = (int32_t)strtol(line, (char **)&line, 10);
  }
  *out = a;
  return n;
}
static const char *line_end(const char *p) {
  const char *e = strchr(p, '\n');
  return e ? e : p + strlen(p);
}
static doppler_graph *doppler_read(const char *dir, const char *name) {
  char *text = read_text(dir, "data/doppler", name);
  const char *p = text;
  if (!text) return NULL;
  doppler_graph *d = calloc(1, sizeof *d);
  const char *line[4];
  for (int i = 0; i < 4; i++) {
    line[i] = p;
    p = line_end(p) + 1;
  }
  int32_t total = (int32_t)strtol(line[0], NULL, 10);
  int32_t *inputs;
  d->n = total - read_ints(line[1], line[2] - 1, &inputs);
  d->m = read_ints(line[2], line[3] - 1, &d->src);
  CHECK(read_ints(line[3], p - 1, &d->dst) == d->m);
  d->comp = calloc((size_t)d->n, sizeof *d->comp);
  d->comm = calloc((size_t)d->n, sizeof *d->comm);
  for (int32_t i = 0; i < d->n; i++, p = line_end(p) + 1) {
    char *rest;
    d->comp[i] = strtod(p, &rest);
    d->comm[i] = strtod(rest + 1, NULL);
  }
  RELEASE(inputs, text);
  return d;
}
static void doppler_free(doppler_graph *d) {
  RELEASE(d->src, d->dst, d->comp, d->comm);
  free(d);
}
static uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
static double jitter(int32_t i, uint64_t s) {
  return (double)(splitmix64(s * 1000003 + (uint64_t)i) % 1000000007 % 1000003);
}

static void doppler_setup(setup *s, const doppler_graph *d, int32_t devices, int perturbed) {
  setup_begin(s);
  for (int32_t i = 0; i < d->n; i++) setup_op(s, d->comp[i] + (perturbed ? jitter(i, 1) : 0));
  for (int32_t i = 0; i < d->n; i++)
    setup_tensor(s, i, d->comm[i] + (perturbed ? jitter(i, 2) : 0));
  for (int32_t e = 0; e < d->m; e++) setup_use(s, d->src[e], d->dst[e]);
  setup_mesh(s, devices, INFINITY);
}

/* ---- refusals ---- */

static berth_result *run(setup *s, const int32_t *device, const berth_sim_options *o) {
  return must_simulate(s->cost, device, o);
}
static void check_refused(setup *s, const int32_t *device, const berth_sim_options *o,
                          berth_status want, const char *what) {
  berth_result *r = NULL;
  CHECK_STATUS(berth_simulate(s->cost, device, o, &r), want);
  CHECK(says(what) && r == NULL);
}

#endif
