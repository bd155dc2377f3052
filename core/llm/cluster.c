/* Clusters: groups of alike GPUs from data sheets, or from a topology. */
#include "llm_internal.h"
#include "topology/topology_internal.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_GROUPS = 64, MOST_GPUS = 1 << 20 };

struct berth_llm_cluster {
  berth_i_pool pool;
  int32_t refs, n, size;
  berth_llm_gpus group[MOST_GROUPS];
  berth_topology *topology; /* NULL: made on request */
};

berth_llm_cluster_options berth_llm_cluster_default(void) {
  return (berth_llm_cluster_options){ .link_latency = 2e-6, .nic_latency = 5e-6,
                                      .oversubscription = 1 };
}

static void set_defaults(void *out) {
  *(berth_llm_cluster_options *)out = berth_llm_cluster_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_cluster_options, name, kind)
#define SHEET .fallback = "by the data sheet"

const berth_option_table *berth_llm_cluster_option_table(void) {
  static const berth_option rows[] = {
    { FIELD(gpu, OTHER), .takes = "string", .fallback = "required",
      .text = "a GPU of docs/devices.md: H100, A100-40GB" },
    { FIELD(gpus, WHOLE), .low = 1, .high = MOST_GPUS, .fallback = "required",
      .text = "how many in all" },
    { FIELD(per_machine, WHOLE), .high = MOST_GPUS, SHEET, .text = "GPUs of a machine" },
    { FIELD(memory, QUANTITY), .unit = BERTH_BYTES, SHEET,
      .text = "of a GPU, as much as programs can have" },
    { FIELD(link, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, SHEET,
      .text = "of a GPU to others of its machine, into one direction" },
    { FIELD(link_latency, QUANTITY), .unit = BERTH_SECONDS, .text = "of such a link" },
    { FIELD(nics, WHOLE), .high = 1024, SHEET, .text = "network cards of a machine" },
    { FIELD(nic, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, SHEET,
      .text = "of a network card, into one direction" },
    { FIELD(nic_latency, QUANTITY), .unit = BERTH_SECONDS, .text = "between two machines" },
    { FIELD(oversubscription, NUMBER), .low = 1, .high = 1e6,
      .text = "of the network: machines together get that part of their cards' bandwidth" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.cluster", rows, berth_llm_cluster_options, set_defaults);
}

static double either(double a, double b) { return a > 0 ? a : b; }

static berth_llm_cluster *empty(berth_ctx *ctx) {
  berth_llm_cluster *c = berth_i_pool_object(ctx, sizeof *c);
  if (c) c->refs = 1;
  else berth_i_nomem(ctx);
  return c;
}

static berth_status unknown(berth_ctx *ctx, const char *gpu) {
  const char *const *names = berth_device_presets();
  int32_t n = 0;
  while (names[n]) n++;
  char list[400];
  if (gpu && strchr(gpu, ','))
    return berth_i_fail(ctx, BERTH_EINVAL, "no GPU \"%.60s\"; unlike GPUs are joined by \"+\": "
                        "8xA100+8xH100", gpu);
  berth_names_text(gpu, names, n, "docs/devices.md", list, sizeof list);
  return berth_i_fail(ctx, BERTH_EINVAL, "no GPU \"%.60s\"; there are %s", gpu ? gpu : "",
                      list);
}

/* GPUs that fast links join, in machines of `per`: a whole machine, unless the board's domain is a
 * part of its machine or has several. */
static int32_t domain_of(const berth_data_sheet *s, int32_t per) {
  if (s->domain == s->gpus) return per;
  return s->domain > s->gpus || s->domain < per ? s->domain : per;
}

static berth_status add(berth_ctx *ctx, berth_llm_cluster *c,
                        const berth_llm_cluster_options *o) {
  const berth_data_sheet *s = berth_device_sheet(o->gpu);
  if (!s) return unknown(ctx, o->gpu);
  if (c->n == MOST_GROUPS || c->size > MOST_GPUS - o->gpus)
    return berth_i_fail(ctx, BERTH_EINVAL, "more than %d groups or %d GPUs",
                        (int)MOST_GROUPS, (int)MOST_GPUS);
  int32_t per = o->per_machine ? o->per_machine : s->gpus;
  c->group[c->n++] = (berth_llm_gpus){
    .sheet = s, .name = s->name, .count = o->gpus, .per_machine = per < o->gpus ? per : o->gpus,
    .domain = domain_of(s, per), .memory = either(o->memory, s->usable),
    .flops = either(s->bf16, either(s->fp16, s->flops)),
    .memory_bandwidth = s->memory_bandwidth, .link = either(o->link, s->link),
    .link_latency = o->link_latency, .nic_latency = o->nic_latency,
    .nic = either(o->nic, s->nic) * (o->nics ? o->nics : s->nics) / o->oversubscription
  };
  c->size += o->gpus;
  return BERTH_OK;
}

static berth_status give(berth_llm_cluster *c, berth_status st, berth_llm_cluster **out) {
  if (st == BERTH_OK) *out = c;
  else berth_llm_cluster_release(c);
  return st;
}

berth_status berth_llm_cluster_new(berth_ctx *ctx, const berth_llm_cluster_options *opts,
                                   berth_llm_cluster **out) {
  if (!ctx || !opts || !out) return BERTH_EINVAL;
  berth_status st = berth_options_check(ctx, berth_llm_cluster_option_table(), opts);
  if (st != BERTH_OK) return st;
  berth_llm_cluster *c = empty(ctx);
  return c ? give(c, add(ctx, c, opts), out) : BERTH_ENOMEM;
}

/* A number in front of an x: how many characters, 0: none. */
static size_t number_before_x(const char *p, const char *end, double *x) {
  char *stop;
  if (p >= end || *p < '0' || *p > '9') return 0;
  *x = strtod(p, &stop);
  return stop < end && (*stop == 'x' || *stop == 'X') && *x == floor(*x) && *x >= 1
         && *x <= MOST_GPUS ? (size_t)(stop - p) + 1 : 0;
}

/* [machines x] GPUs x name */
static berth_status parse_group(berth_ctx *ctx, berth_llm_cluster *c, const char *p,
                                const char *end) {
  const char *start = p;
  double count[2] = { 0, 0 };
  int n = 0;
  while (p < end && *p == ' ') p++;
  for (size_t k; n < 2 && (k = number_before_x(p, end, &count[n])) > 0; n++) p += k;
  while (end > p && end[-1] == ' ') end--;
  char name[64];
  size_t length = (size_t)(end - p);
  if (n == 0 || length == 0 || length >= sizeof name
      || (n == 2 && count[0] * count[1] > MOST_GPUS)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.*s\" is no cluster; write 64xH100, or "
                        "8x8xH100 for 8 machines of 8", (int)(end - start), start);
  }
  memcpy(name, p, length);
  name[length] = '\0';
  berth_llm_cluster_options o = berth_llm_cluster_default();
  o.gpu = name;
  o.gpus = (int32_t)(n == 2 ? count[0] * count[1] : count[0]);
  o.per_machine = n == 2 ? (int32_t)count[1] : 0;
  return add(ctx, c, &o);
}

berth_status berth_llm_cluster_parse(berth_ctx *ctx, const char *text, berth_llm_cluster **out) {
  if (!ctx || !text || !out) return BERTH_EINVAL;
  berth_llm_cluster *c = empty(ctx);
  if (!c) return BERTH_ENOMEM;
  berth_status st = BERTH_OK;
  for (const char *p = text, *end; st == BERTH_OK; p = end + 1) {
    end = p + strcspn(p, "+");
    st = parse_group(ctx, c, p, end);
    if (!*end) break;
  }
  return give(c, st, out);
}

/* ---- topologies ---- */

/* Devices i.. that are alike; `per` is the size of the first's machine. */
static int32_t alike(const berth_topology *t, int32_t i, int32_t *per) {
  berth_device first, d;
  int32_t n = berth_topology_devices(t), k = i;
  berth_topology_device(t, i, &first);
  for (*per = 0; k < n; k++) {
    berth_topology_device(t, k, &d);
    if (strcmp(d.type, first.type) != 0 || d.memory != first.memory) break;
    if (d.machine == first.machine && *per == k - i) ++*per;
  }
  return k - i;
}

static berth_status add_devices(berth_ctx *ctx, berth_llm_cluster *c, const berth_topology *t,
                                int32_t i) {
  int32_t per, count = alike(t, i, &per);
  berth_device d;
  berth_topology_device(t, i, &d);
  if (isinf(d.memory))
    return berth_i_fail(ctx, BERTH_EINVAL, "device %d has no limit of memory", (int)i);
  if (c->n == MOST_GROUPS)
    return berth_i_fail(ctx, BERTH_EINVAL, "the topology has more than %d groups of alike "
                        "devices", (int)MOST_GROUPS);
  berth_link in = { INFINITY, 0 }, out = { INFINITY, 0 };
  berth_status st = per > 1 ? berth_topology_path(t, i, i + 1, &in) : BERTH_OK;
  int32_t other = i + per < berth_topology_devices(t) ? i + per : i - 1; /* of another machine */
  if (st == BERTH_OK && other >= 0) st = berth_topology_path(t, i, other, &out);
  if (st != BERTH_OK) return st;
  const berth_data_sheet *s = berth_device_sheet(d.type);
  double rate = s ? either(s->bf16, s->fp16) : 0;
  c->group[c->n++] = (berth_llm_gpus){
    .sheet = s, .name = berth_i_pool_strdup(&c->pool, d.type), .count = count,
    .per_machine = per, .domain = s ? domain_of(s, per) : per, .memory = d.memory,
    .flops = either(rate, d.flops), .memory_bandwidth = d.memory_bandwidth,
    .link = in.bandwidth, .link_latency = in.latency, .nic = out.bandwidth,
    .nic_latency = out.latency
  };
  c->size += count;
  return berth_i_pool_status(&c->pool);
}

berth_status berth_llm_cluster_of(berth_topology *t, berth_llm_cluster **out) {
  if (!t || !out) return BERTH_EINVAL;
  berth_ctx *ctx = t->ctx;
  berth_llm_cluster *c = empty(ctx);
  if (!c) return BERTH_ENOMEM;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && c->size < berth_topology_devices(t))
    st = add_devices(ctx, c, t, c->size);
  if (st == BERTH_OK) {
    c->topology = t;
    berth_topology_retain(t);
  }
  return give(c, st, out);
}

static berth_status build_group(berth_ctx *ctx, berth_topology_builder *b,
                                const berth_llm_gpus *g, int32_t spine, int32_t *machine) {
  berth_status st = BERTH_OK;
  berth_device d = berth_device_default();
  if (g->sheet) st = berth_device_preset(ctx, g->sheet->name, &d);
  d.memory = g->memory;
  const berth_link in = { g->link, g->link_latency / 2 }, up = { g->nic, g->nic_latency / 2 };
  int32_t hub = 0, node;
  for (int32_t i = 0; i < g->count && st == BERTH_OK; i++) {
    if (i % g->per_machine == 0) {
      st = berth_topology_builder_add_switch(b, NULL, &hub);
      if (st == BERTH_OK) st = berth_topology_builder_add_duplex(b, hub, spine, &up, NULL);
      ++*machine;
    }
    d.machine = *machine;
    if (st == BERTH_OK) st = berth_topology_builder_add_device(b, &d, NULL, &node);
    if (st == BERTH_OK) st = berth_topology_builder_add_duplex(b, node, hub, &in, NULL);
  }
  return st;
}

berth_status berth_llm_cluster_topology(const berth_llm_cluster *c, berth_topology **out) {
  if (!c || !out) return BERTH_EINVAL;
  if (c->topology) {
    berth_topology_retain(c->topology);
    *out = c->topology;
    return BERTH_OK;
  }
  berth_topology_builder *b = NULL;
  berth_status st = berth_topology_builder_new(c->pool.ctx, &b);
  int32_t spine, machine = -1;
  if (st == BERTH_OK) st = berth_topology_builder_add_switch(b, "network", &spine);
  for (int32_t k = 0; k < c->n && st == BERTH_OK; k++)
    st = build_group(c->pool.ctx, b, &c->group[k], spine, &machine);
  if (st == BERTH_OK) st = berth_topology_builder_finish(b, out);
  berth_topology_builder_release(b);
  return st;
}

/* ---- reading ---- */

void berth_llm_cluster_retain(berth_llm_cluster *c) { c->refs++; }

void berth_llm_cluster_release(berth_llm_cluster *c) {
  if (!c || --c->refs > 0) return;
  berth_topology_release(c->topology);
  berth_i_pool_free(&c->pool);
}

int32_t berth_llm_cluster_size(const berth_llm_cluster *c) { return c->size; }

int32_t berth_llm_cluster_groups(const berth_llm_cluster *c, const berth_llm_gpus **groups) {
  *groups = c->group;
  return c->n;
}
