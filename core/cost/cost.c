/* Prices a graph on a topology once, so that look-ups are arithmetic. Devices that are alike in all
 * that op times depend on form a class; op times are a table [ops, classes]. Transfers are latency
 * + bytes / bandwidth of the pair, or a table [tensors, devices^2] where the caller has a
 * function. */
#include "cost_internal.h"

#define FIELD(name, kind) BERTH_I_OPTION(berth_cost_model, name, kind)

static const berth_choice *const forms[] = {
  BERTH_I_CHOICE("auto", "Kernels where the graph has shapes and all devices are of types that "
                         "were measured in its dtype, else roofline."),
  BERTH_I_CHOICE("roofline", "The larger of FLOP over the peak and bytes over the memory's "
                             "bandwidth, and the device's overhead."),
  BERTH_I_CHOICE("kernels", "Kernel times by forms that are fitted to measured GPUs: "
                            "docs/kernels.md."),
  NULL
};

const berth_option_table *berth_cost_option_table(void) {
  static const berth_option options[] = {
    { FIELD(op, OTHER), .takes = "function", .fallback = "profile or roofline",
      .text = "seconds of (op, device), or \"built-in\"" },
    { FIELD(transfer, OTHER), .takes = "function", .fallback = "latency plus bytes / bandwidth",
      .text = "seconds of (tensor, source, destination), or nil: as built in" },
    { FIELD(collective, OTHER), .takes = "function", .fallback = "by collective_algorithm",
      .text = "seconds of (collective, devices)" },
    { FIELD(op_factor, NUMBER), .above = 1, .fallback = "1", .text = "multiplies op times" },
    { FIELD(transfer_factor, NUMBER), .above = 1, .fallback = "1",
      .text = "multiplies transfer times" },
    { FIELD(free_control, FLAG), .text = "tensors of no bytes cross in no time" },
    { FIELD(collective_algorithm, CHOICE), .choices = berth_i_collective_algorithms,
      .text = "how collectives are carried out, which prices them" },
    { .key = "collective_lines",
      .type = BERTH_OPTION_OTHER,
      .takes = "array",
      .text = "lines: us per KiB and us of the first line, the same of the second" },
    { FIELD(lines_bandwidth, QUANTITY), .unit = BERTH_BYTES_PER_SECOND,
      .fallback = "collective_lines hold as they are",
      .text = "lines: bandwidth at which they hold; scaled by it over the slowest pair's" },
    { .key = "device_groups",
      .type = BERTH_OPTION_OTHER,
      .takes = "array",
      .fallback = "found in the topology",
      .text = "hierarchical, auto and nccl: group of each device" },
    { FIELD(collective_bandwidth, NUMBER), .above = 1, .fallback = "1",
      .text = "collectives have so many times the bandwidth of transfers" },
    { FIELD(whole_us, FLAG),
      .text = "op times, and bytes / bandwidth of transfers, are cut off to whole microseconds" },
    { FIELD(form, CHOICE), .choices = forms,
      .text = "how ops without a profile are priced" },
    { .key = NULL }
  };
  static const berth_option_table table = { "cost", options, sizeof(berth_cost_model), NULL };
  return &table;
}

berth_cost_form berth_cost_form_of(const berth_graph *g, const berth_topology *t) {
  if (!g || !t || berth_graph_shapes(g) == 0) return BERTH_FORM_ROOFLINE;
  for (int32_t d = 0; d < t->n_devices; d++)
    if (!berth_i_kernels_fitted(&t->devices[d], g->dtype)) return BERTH_FORM_ROOFLINE;
  return BERTH_FORM_KERNELS;
}

/* ---- classes of devices ---- */

/* Index into the graph's types: a graph of one unnamed type fits all devices. BERTH_NONE: the graph
 * has none of that name. */
static int32_t graph_type(const berth_graph *g, const char *type) {
  if (g->n_types == 1 && g->types[0][0] == '\0') return 0;
  for (int32_t i = 0; i < g->n_types; i++)
    if (strcmp(g->types[i], type) == 0) return i;
  return BERTH_NONE;
}

static bool same_price(const berth_graph *g, const berth_device *a, const berth_device *b) {
  return a->speed == b->speed && a->flops == b->flops && a->memory_bandwidth == b->memory_bandwidth
         && berth_device_rate(a, g->dtype, NULL) == berth_device_rate(b, g->dtype, NULL)
         && a->overhead == b->overhead && graph_type(g, a->type) == graph_type(g, b->type);
}

/* Kernels have constants by the name of the preset, too. */
static bool alike(const berth_cost *c, const berth_device *a, const berth_device *b) {
  bool kernels = c->form == BERTH_FORM_KERNELS || c->algorithm == BERTH_COLLECTIVE_NCCL;
  return same_price(c->g, a, b) && (!kernels || strcmp(a->type, b->type) == 0);
}

/* With a user's op function every device is a class of its own. O(devices x classes) */
static berth_status make_classes(berth_cost *c, bool own) {
  const berth_device *d = c->t->devices;
  size_t n = (size_t)c->n_devices;
  c->class_of = berth_i_pool_alloc(&c->pool, n, sizeof *c->class_of);
  c->class_device = berth_i_pool_alloc(&c->pool, n, sizeof *c->class_device);
  c->class_size = berth_i_pool_alloc(&c->pool, n, sizeof *c->class_size);
  berth_status st = berth_i_pool_status(&c->pool);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < c->n_devices; i++) {
    int32_t k = own ? c->n_classes : 0;
    while (k < c->n_classes && !alike(c, &d[c->class_device[k]], &d[i])) k++;
    if (k == c->n_classes) {
      c->class_device[c->n_classes++] = i;
      c->class_size[k] = 0;
    }
    c->class_of[i] = k;
    c->class_size[k]++;
  }
  return BERTH_OK;
}

/* ---- ops ---- */

typedef struct labels {
  char op[128], device[128];
} labels;

static void label(const berth_cost *c, int32_t op, int32_t device, labels *l) {
  berth_i_op_label(c->g, op, l->op, sizeof l->op);
  if (device != BERTH_NONE) berth_i_device_label(c->t, device, l->device, sizeof l->device);
}

static berth_status no_price(const berth_cost *c, int32_t op, int32_t device) {
  const berth_device *d = &c->t->devices[device];
  double flop = c->g->flop ? c->g->flop[op] : 0, bytes = c->g->bytes ? c->g->bytes[op] : 0;
  labels l;
  label(c, op, device, &l);
  return berth_i_fail(c->ctx, BERTH_EINVAL,
                      "%s: no time for device type \"%s\" (%s): no profile, and no roofline from "
                      "%g FLOP and %g B at %g FLOP/s and %g B/s (0: unknown): the device needs a "
                      "preset, or flops and memory_bandwidth",
                      l.op, d->type, l.device, flop, bytes, d->flops, d->memory_bandwidth);
}

/* A term whose rate is unknown is left out; NaN if none is left. */
static double roofline(double flop, double bytes, double rate, const berth_device *d) {
  double t = -1;
  if (flop > 0 && rate > 0) t = flop / rate;
  if (bytes > 0 && d->memory_bandwidth > 0) t = fmax(t, bytes / d->memory_bandwidth);
  return t < 0 ? (double)NAN : t / d->speed + d->overhead;
}

static bool has_profile(const berth_graph *g, int32_t op) {
  return g->seconds && !isnan(g->seconds[(size_t)op * (size_t)g->n_types]);
}

/* A link or copy engine is not of the type of its device: a type without a name gets the longest
 * time of those that have one. */
static double longest_profile(const berth_graph *g, int32_t op) {
  const double *s = g->seconds + (size_t)op * (size_t)g->n_types;
  double most = 0;
  for (int32_t k = 0; k < g->n_types; k++) most = fmax(most, s[k]);
  return most;
}

static const char *kind_of(const berth_graph *g, int32_t op) {
  int32_t kind = g->op_kind ? g->op_kind[op] : BERTH_NONE;
  return kind == BERTH_NONE ? NULL : g->kinds.text[kind];
}

/* The class of the device prices an op without a profile; NaN: it cannot. */
static double unprofiled(const berth_cost *c, int32_t op, int32_t k, double flop, double bytes) {
  const berth_device *d = &c->t->devices[c->class_device[k]];
  const berth_shape *shape = berth_i_shape(c->g, op);
  if (c->form == BERTH_FORM_KERNELS)
    return (shape ? berth_kernel_shape(&c->kernels[k], shape, bytes)
                  : berth_kernel_work(&c->kernels[k], kind_of(c->g, op), flop, bytes)) / d->speed;
  return roofline(flop, bytes, berth_device_rate(d, c->g->dtype, NULL), d);
}

/* NaN: cannot be computed. An op without profile, FLOP and bytes is free everywhere; one with a
 * profile and no more runs only on the types that it names. */
static double built_in_time(const berth_cost *c, int32_t op, int32_t k) {
  const berth_graph *g = c->g;
  const berth_device *d = &c->t->devices[c->class_device[k]];
  int32_t type = graph_type(g, d->type);
  double flop = g->flop ? g->flop[op] : 0, bytes = g->bytes ? g->bytes[op] : 0;
  bool profiled = has_profile(g, op);
  if (profiled && type != BERTH_NONE)
    return g->seconds[(size_t)op * (size_t)g->n_types + (size_t)type] / d->speed;
  if (!profiled && flop == 0 && bytes == 0) return 0;
  double s = unprofiled(c, op, k, flop, bytes);
  if (profiled && isnan(s) && berth_i_is_communication(g, op))
    return longest_profile(g, op) / d->speed;
  return profiled && isnan(s) ? BERTH_UNSUPPORTED : s;
}

/* The op may run on a device of the class, as far as its pin goes. */
static bool pin_allows(const berth_cost *c, int32_t op, int32_t k) {
  int32_t pin = berth_i_pin(c->g, op);
  return pin == BERTH_NONE || (pin < c->n_devices && c->class_of[pin] == k);
}

static double priced(const berth_cost *c, double seconds) {
  return c->whole_us ? berth_i_whole_us(seconds * c->op_factor) : seconds * c->op_factor;
}

static berth_status take_built_in(const berth_cost *c, int32_t op, int32_t k, double *seconds) {
  double s = built_in_time(c, op, k);
  if (isnan(s) && pin_allows(c, op, k)) return no_price(c, op, c->class_device[k]);
  *seconds = isnan(s) ? BERTH_UNSUPPORTED : s;
  return BERTH_OK;
}

static berth_status price_built_in(berth_cost *c) {
  for (int32_t k = 0; k < c->n_classes; k++) {
    for (int32_t op = 0; op < c->g->n_ops; op++) {
      double s;
      berth_status st = take_built_in(c, op, k, &s);
      if (st != BERTH_OK) return st;
      c->op[(size_t)op * (size_t)c->n_classes + (size_t)k] = priced(c, s);
    }
  }
  return BERTH_OK;
}

static berth_status bad_op_time(const berth_cost *c, int32_t op, int32_t device, double s) {
  labels l;
  label(c, op, device, &l);
  return berth_i_fail(c->ctx, BERTH_EINVAL, "%s on %s: the cost function gave %g s", l.op, l.device,
                      s);
}

static berth_status price_by_function(berth_cost *c, const berth_cost_model *m) {
  berth_status st;
  for (int32_t op = 0; op < c->g->n_ops; op++) {
    if ((st = berth_i_interrupted(c->ctx)) != BERTH_OK) return st;
    for (int32_t d = 0; d < c->n_devices; d++) {
      double s = NAN;
      if ((st = m->op(m->ud, op, d, &s)) != BERTH_OK) return st;
      if (s == BERTH_COST_BUILT_IN && (st = take_built_in(c, op, d, &s)) != BERTH_OK) return st;
      if (!(s >= 0)) return bad_op_time(c, op, d, s);
      c->op[(size_t)op * (size_t)c->n_classes + (size_t)d] = priced(c, s);
    }
  }
  return BERTH_OK;
}

static bool runs_somewhere(const berth_cost *c, int32_t op) {
  const double *row = c->op + (size_t)op * (size_t)c->n_classes;
  for (int32_t k = 0; k < c->n_classes; k++)
    if (!isinf(row[k])) return true;
  return false;
}

static berth_status refuse_op(const berth_cost *c, int32_t op) {
  int32_t pin = berth_i_pin(c->g, op);
  labels l;
  label(c, op, BERTH_NONE, &l);
  if (pin >= c->n_devices)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "%s is pinned to device %d, but there are %d", l.op,
                        (int)pin, (int)c->n_devices);
  if (!runs_somewhere(c, op))
    return berth_i_fail(c->ctx, BERTH_EINFEASIBLE, "%s cannot run on any of the %d devices", l.op,
                        (int)c->n_devices);
  label(c, op, pin, &l);
  return berth_i_fail(c->ctx, BERTH_EINFEASIBLE, "%s is pinned to %s, which cannot run it", l.op,
                      l.device);
}

static bool runs_at_all(const berth_cost *c, int32_t op) {
  int32_t pin = berth_i_pin(c->g, op);
  return pin == BERTH_NONE ? runs_somewhere(c, op)
                           : pin < c->n_devices && !isinf(berth_i_op_time(c, op, pin));
}

static berth_status find_kernels(berth_cost *c) {
  if (c->form != BERTH_FORM_KERNELS && c->algorithm != BERTH_COLLECTIVE_NCCL) return BERTH_OK;
  c->kernels = berth_i_pool_alloc(&c->pool, (size_t)c->n_classes, sizeof *c->kernels);
  berth_status st = c->kernels ? BERTH_OK : berth_i_nomem(c->ctx);
  const char *dtype = c->g->dtype && *c->g->dtype ? c->g->dtype : "fp32"; /* the rate: flops */
  for (int32_t k = 0; k < c->n_classes && st == BERTH_OK; k++)
    st = berth_kernels_of(c->ctx, &c->t->devices[c->class_device[k]], dtype, &c->kernels[k]);
  return st;
}

static berth_status price_ops(berth_cost *c, const berth_cost_model *m) {
  berth_status st;
  if ((st = make_classes(c, m->op != NULL)) != BERTH_OK) return st;
  c->op = berth_i_pool_alloc(&c->pool, (size_t)c->g->n_ops * (size_t)c->n_classes, sizeof *c->op);
  if (!c->op) return berth_i_nomem(c->ctx);
  if ((st = find_kernels(c)) != BERTH_OK) return st;
  st = m->op ? price_by_function(c, m) : price_built_in(c);
  for (int32_t op = 0; op < c->g->n_ops && st == BERTH_OK; op++)
    if (!runs_at_all(c, op)) st = refuse_op(c, op);
  return st;
}

/* ---- transfers ---- */

static bool pairs_alike(const berth_topology *t) {
  size_t first = berth_i_pair(t, 0, 1);
  if (t->n_devices < 2) return false;
  for (int32_t a = 0; a < t->n_devices; a++)
    for (int32_t b = 0; b < t->n_devices; b++) {
      size_t p = berth_i_pair(t, a, b);
      if (a != b
          && (isinf(t->latency[p]) || t->latency[p] != t->latency[first]
              || t->bandwidth[p] != t->bandwidth[first]))
        return false;
    }
  return true;
}

static berth_status price_alike(berth_cost *c) {
  double *column = berth_i_pool_alloc(&c->pool, (size_t)c->g->n_tensors, sizeof *column);
  if (!column) return berth_i_nomem(c->ctx);
  for (int32_t k = 0; k < c->g->n_tensors; k++) column[k] = berth_i_transfer_time(c, k, 0, 1);
  c->uniform = column;
  return BERTH_OK;
}

static berth_status bad_transfer(const berth_cost *c, int32_t tensor, int32_t src, int32_t dst,
                                 double s) {
  labels l;
  label(c, c->g->producer[tensor], src, &l);
  char to[128];
  return berth_i_fail(c->ctx, BERTH_EINVAL,
                      "tensor %d of %s from %s to %s: the cost function gave %g s", (int)tensor,
                      l.op, l.device, berth_i_device_label(c->t, dst, to, sizeof to), s);
}

static berth_status fill_row(berth_cost *c, const berth_cost_model *m, int32_t tensor,
                             double *row) {
  berth_status st;
  bool control = c->free_control && c->g->tensor_bytes[tensor] == 0;
  for (int32_t a = 0; a < c->n_devices; a++)
    for (int32_t b = 0; b < c->n_devices; b++) {
      double s = 0;
      if (a != b && (st = m->transfer(m->ud, tensor, a, b, &s)) != BERTH_OK) return st;
      if (!(s >= 0)) return bad_transfer(c, tensor, a, b, s);
      if (control && !isinf(s)) s = 0;
      row[berth_i_pair(c->t, a, b)] = s * c->transfer_factor;
    }
  return BERTH_OK;
}

static berth_status price_table(berth_cost *c, const berth_cost_model *m) {
  size_t pairs = (size_t)c->n_devices * (size_t)c->n_devices;
  berth_status st = BERTH_OK;
  /* pairs * size of an element cannot overflow: the topology has such arrays */
  if (!(c->table = berth_i_pool_alloc(&c->pool, (size_t)c->g->n_tensors, pairs * sizeof *c->table)))
    return berth_i_nomem(c->ctx);
  for (int32_t k = 0; k < c->g->n_tensors && st == BERTH_OK; k++) {
    if ((st = berth_i_interrupted(c->ctx)) == BERTH_OK)
      st = fill_row(c, m, k, c->table + (size_t)k * pairs);
  }
  return st;
}

static berth_status price_transfers(berth_cost *c, const berth_cost_model *m) {
  if (m->transfer) return price_table(c, m);
  return pairs_alike(c->t) ? price_alike(c) : BERTH_OK;
}

/* ---- life ---- */

static berth_status take_factor(berth_ctx *ctx, const char *name, double given, double *out) {
  if (!(given >= 0) || isinf(given))
    return berth_i_fail(ctx, BERTH_EINVAL, "%s %g must be positive and finite (0: 1)", name, given);
  *out = given == 0 ? 1 : given;
  return BERTH_OK;
}

static berth_status take_lines(berth_cost *c, const double *lines, double bandwidth) {
  if (!(bandwidth >= 0) || isinf(bandwidth))
    return berth_i_fail(c->ctx, BERTH_EINVAL, "lines_bandwidth is %g B/s (a finite number from 0)",
                        bandwidth);
  c->lines_bandwidth = bandwidth;
  if (!lines)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective_algorithm lines needs collective_lines");
  for (int k = 0; k < 4; k++) {
    if (isnan(lines[k]) || isinf(lines[k]))
      return berth_i_fail(c->ctx, BERTH_EINVAL, "collective_lines[%d] is %g: not a finite number",
                          k, lines[k]);
    c->lines[k] = lines[k];
  }
  return BERTH_OK;
}

static berth_status take_groups(berth_cost *c, const int32_t *group) {
  if (!(c->device_group = berth_i_pool_alloc(&c->pool, (size_t)c->n_devices, sizeof *group)))
    return berth_i_nomem(c->ctx);
  if (!group) return berth_i_device_groups(c->ctx, c->t, c->device_group);
  for (int32_t d = 0; d < c->n_devices; d++) {
    if (group[d] < 0)
      return berth_i_fail(c->ctx, BERTH_EINVAL, "device_group[%d] is %d (from 0)", (int)d,
                          (int)group[d]);
    c->device_group[d] = group[d];
  }
  return BERTH_OK;
}

static berth_status take_algorithm(berth_cost *c, const berth_cost_model *m) {
  berth_collective_algorithm a = m->collective_algorithm;
  bool groups = a == BERTH_COLLECTIVE_HIERARCHICAL || a == BERTH_COLLECTIVE_AUTO
                || a == BERTH_COLLECTIVE_NCCL;
  if ((int)a < 0 || a >= BERTH_COLLECTIVE_FUNCTION)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective_algorithm is %d (0 to %d)", (int)a,
                        BERTH_COLLECTIVE_NCCL);
  if (m->collective && a != BERTH_COLLECTIVE_RING)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "collective_algorithm %s: collectives are priced by a function",
                        berth_collective_algorithm_name(a));
  if (m->collective_lines && a != BERTH_COLLECTIVE_LINES)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "collective_lines require collective_algorithm lines");
  if (m->lines_bandwidth != 0 && a != BERTH_COLLECTIVE_LINES)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "lines_bandwidth requires collective_algorithm lines");
  if (m->device_group && !groups)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "device_group requires collective_algorithm hierarchical, auto or nccl");
  c->algorithm = a;
  if (a == BERTH_COLLECTIVE_LINES) return take_lines(c, m->collective_lines, m->lines_bandwidth);
  return groups ? take_groups(c, m->device_group) : BERTH_OK;
}

static berth_status take_model(berth_cost *c, const berth_cost_model *m) {
  berth_status st;
  if ((st = take_factor(c->ctx, "op_factor", m->op_factor, &c->op_factor)) != BERTH_OK) return st;
  if ((st = take_factor(c->ctx, "transfer_factor", m->transfer_factor, &c->transfer_factor))
      != BERTH_OK)
    return st;
  if ((st = take_factor(c->ctx, "collective_bandwidth", m->collective_bandwidth,
                        &c->collective_bandwidth))
      != BERTH_OK)
    return st;
  if (m->collective && c->collective_bandwidth != 1)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "collective_bandwidth %g: collectives are priced by a function",
                        c->collective_bandwidth);
  if ((int)m->form < 0 || m->form > BERTH_FORM_KERNELS)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "form is %d (0 to %d)", (int)m->form,
                        BERTH_FORM_KERNELS);
  c->form = m->form == BERTH_FORM_AUTO ? berth_cost_form_of(c->g, c->t) : m->form;
  c->whole_us = m->whole_us != 0;
  c->free_control = m->free_control;
  c->collective = m->collective;
  c->ud = m->ud;
  return take_algorithm(c, m);
}

/* Holds graph and topology from the first moment: a callback may drop the caller's references. */
static berth_cost *make_empty(berth_graph *g, berth_topology *t) {
  berth_cost *c = berth_i_pool_object(g->ctx, sizeof *c);
  if (!c) return NULL;
  c->ctx = g->ctx;
  c->refs = 1;
  c->g = g;
  c->t = t;
  c->n_devices = t->n_devices;
  berth_ctx_retain(c->ctx);
  berth_graph_retain(g);
  berth_topology_retain(t);
  return c;
}

berth_status berth_cost_new(berth_graph *g, berth_topology *t, const berth_cost_model *model,
                            berth_cost **out) {
  if (!g || !t || !out) return BERTH_EINVAL;
  static const berth_cost_model built_in = { .op = NULL };
  const berth_cost_model *m = model ? model : &built_in;
  berth_cost *c = make_empty(g, t);
  if (!c) return berth_i_nomem(g->ctx);
  berth_status st;
  if ((st = take_model(c, m)) != BERTH_OK) goto done;
  if ((st = price_ops(c, m)) != BERTH_OK) goto done;
  if ((st = price_transfers(c, m)) != BERTH_OK) goto done;
  *out = c;
  c = NULL;
done:
  berth_cost_release(c);
  return st;
}

void berth_cost_retain(berth_cost *c) { c->refs++; }

void berth_cost_release(berth_cost *c) {
  if (!c || --c->refs > 0) return;
  berth_ctx *ctx = c->ctx;
  berth_topology_release(c->t);
  berth_graph_release(c->g);
  berth_i_pool_free(&c->pool);
  berth_ctx_release(ctx);
}

berth_graph *berth_cost_graph(const berth_cost *c) { return c->g; }
berth_topology *berth_cost_topology(const berth_cost *c) { return c->t; }

/* ---- look-ups ---- */

static bool is_device(const berth_cost *c, int32_t d) { return d >= 0 && d < c->n_devices; }

double berth_cost_op(const berth_cost *c, int32_t op, int32_t device) {
  if (op < 0 || op >= c->g->n_ops || !is_device(c, device)) return (double)NAN;
  return berth_i_can_run(c, op, device) ? berth_i_op_time(c, op, device) : BERTH_UNSUPPORTED;
}

double berth_cost_transfer(const berth_cost *c, int32_t tensor, int32_t src, int32_t dst) {
  if (tensor < 0 || tensor >= c->g->n_tensors || !is_device(c, src) || !is_device(c, dst))
    return (double)NAN;
  return berth_i_transfer_time(c, tensor, src, dst);
}
