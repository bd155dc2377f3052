/* The cluster: options, and what transfers and all-reduces take. Servers are numbered by group,
 * rack, slot. An all-reduce is four stages by distinct groups, slots and racks, each a
 * reduce-scatter of the message of the one before, then the same back (RAMP, Ottino et al.);
 * `compat` divides the bandwidth twice, as the published simulator does. */
#include "ramp_internal.h"

berth_ramp_options berth_ramp_default(int compat) {
  berth_ramp_options o = { 4,    4,      2, 1.6e12, 50e-9, 100e-9,     80e9,
                           2e12, 130e12, 2, 1e-5,   1,     compat != 0 };
  if (compat) {
    o.quantum = 0.01;
    o.time_scale = 1000;
  }
  return o;
}

static void set_defaults(void *out) { *(berth_ramp_options *)out = berth_ramp_default(0); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_ramp_options, name, kind)

const berth_option_table *berth_ramp_option_table(void) {
  static const berth_option options[] = {
    { FIELD(compat, FLAG), .text = "as the published simulator does" },
    { FIELD(groups, WHOLE), .low = 1, .text = "communication groups" },
    { FIELD(racks, WHOLE), .low = 1, .text = "racks in each group; no more than groups" },
    { FIELD(slots, WHOLE), .low = 1, .text = "servers in each rack" },
    { FIELD(bandwidth, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1,
      .text = "of a server in all; a channel between two has bandwidth / groups" },
    { FIELD(latency, QUANTITY), .unit = BERTH_SECONDS, .text = "of propagation" },
    { FIELD(io_latency, QUANTITY), .unit = BERTH_SECONDS, .text = "latency at each end" },
    { FIELD(memory, QUANTITY), .unit = BERTH_BYTES, .above = 1, .text = "of a server" },
    { FIELD(memory_rate, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1,
      .text = "memory bandwidth for the additions of a reduction" },
    { FIELD(flops, QUANTITY), .unit = BERTH_FLOP_PER_SECOND, .above = 1,
      .text = "speed of the additions of a reduction" },
    { FIELD(value_bytes, QUANTITY), .unit = BERTH_BYTES, .above = 1,
      .text = "of a number that is reduced" },
    { FIELD(quantum, QUANTITY), .unit = BERTH_SECONDS, .above = 1,
      .fallback = "10 us; compat 10 ms",
      .text = "an op gets no more pieces than it has quanta" },
    { FIELD(time_scale, NUMBER), .above = 1, .fallback = "1; compat 1000",
      .text = "op times of graphs are multiplied by it" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("ramp", options, berth_ramp_options, set_defaults);
}

berth_status berth_ramp_new(berth_ctx *ctx, const berth_ramp_options *opts, berth_ramp **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_ramp_options o = opts ? *opts : berth_ramp_default(0);
  berth_status st = berth_options_check(ctx, berth_ramp_option_table(), &o);
  if (st != BERTH_OK) return st;
  if (o.racks > o.groups)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "ramp: %d racks in a group, but only %d groups: racks may not be more",
                        (int)o.racks, (int)o.groups);
  if ((int64_t)o.groups * o.racks * o.slots > BERTH_I_RAMP_SERVERS)
    return berth_i_fail(ctx, BERTH_EINVAL, "ramp: %d x %d x %d servers, at most %d", (int)o.groups,
                        (int)o.racks, (int)o.slots, (int)BERTH_I_RAMP_SERVERS);
  berth_ramp *r;
  if (!(r = berth_i_alloc(ctx, 1, sizeof *r))) return berth_i_nomem(ctx);
  *r = (berth_ramp){ ctx, 1, o.groups * o.racks * o.slots, o };
  berth_ctx_retain(ctx);
  *out = r;
  return BERTH_OK;
}

void berth_ramp_retain(berth_ramp *r) { r->refs++; }

void berth_ramp_release(berth_ramp *r) {
  if (!r || --r->refs > 0) return;
  berth_ctx *ctx;
  ctx = r->ctx;
  berth_i_free(ctx, r, 1, sizeof *r);
  berth_ctx_release(ctx);
}

int32_t berth_ramp_servers(const berth_ramp *r) { return r->servers; }
const berth_ramp_options *berth_ramp_options_of(const berth_ramp *r) { return &r->o; }

/* ---- what messages take ---- */

static double hop(const berth_ramp *r) { return r->o.latency + 2 * r->o.io_latency; }

double berth_ramp_transfer(const berth_ramp *r, int32_t src, int32_t dst, double bytes) {
  if (src < 0 || dst < 0 || src >= r->servers || dst >= r->servers || !(bytes >= 0)) return NAN;
  if (src == dst || bytes == 0) return 0;
  return hop(r) + bytes / (r->o.bandwidth / r->o.groups);
}

/* Racks of one group are marked in `rack`, all of them in the last row; groups and slots are
 * counted by marks of their own. */
berth_i_ramp_spread berth_i_ramp_spread_of(const berth_ramp *r, int32_t n, const int32_t *server) {
  uint8_t group[BERTH_I_RAMP_SERVERS] = { 0 }, rack[BERTH_I_RAMP_SERVERS] = { 0 },
          slot[BERTH_I_RAMP_SERVERS] = { 0 };
  uint8_t cell[BERTH_I_RAMP_SERVERS] = { 0 };
  int32_t in_group[BERTH_I_RAMP_SERVERS] = { 0 };
  berth_i_ramp_spread s = { 0, 0, 0, 0, true };
  for (int32_t i = 0; i < n; i++) {
    int32_t g = berth_i_ramp_group(r, server[i]), k = berth_i_ramp_rack(r, server[i]),
            v = berth_i_ramp_slot(r, server[i]);
    s.groups += !group[g];
    s.racks += !rack[k];
    s.slots += !slot[v];
    group[g] = rack[k] = slot[v] = 1;
    if (!cell[g * r->o.racks + k]) in_group[g]++;
    cell[g * r->o.racks + k] = 1;
    if (in_group[g] > s.contending) s.contending = in_group[g];
    if (server[i] != server[0]) s.one = false;
  }
  return s;
}

/* Seconds to add d vectors into one, `bytes` of them in all, by whichever is slower, memory or
 * arithmetic. */
static double add(const berth_ramp *r, double bytes, int32_t d) {
  double n = ceil(log2(d)), intensity = n / (r->o.value_bytes * (d + 1)),
         ops = n * (bytes / d) / r->o.value_bytes;
  return ops / fmin(r->o.memory_rate * intensity, r->o.flops);
}

/* Transceivers that each server has for a stage among d, at least one. */
static double transceivers(const berth_ramp *r, int32_t d, int32_t contending) {
  int32_t x = r->o.groups, n = x / contending, each = d > 1 ? x / (d - 1) : 0;
  if (each < n) n = each;
  return n > 1 ? n : 1;
}

double berth_i_ramp_reduce(const berth_ramp *r, berth_i_ramp_spread s, double bytes) {
  int32_t x = r->o.groups, contending = r->o.compat ? 1 : s.contending;
  int32_t q[4] = { s.groups, s.groups < s.slots ? s.groups : s.slots, s.racks,
                   (s.slots + x - 1) / x };
  double rate = r->o.compat ? r->o.bandwidth / x / x : r->o.bandwidth / x, comm = 0, comp = 0,
         message = bytes;
  if (s.one) return 0;
  if (!r->o.compat && s.groups == 1 && s.racks == 1 && s.slots > 1) q[3] = s.slots;
  for (int32_t i = 0; i < 4; i++) {
    message = ceil(message / q[i]);
    if (q[i] == 1) continue;
    comp += add(r, message * q[i], q[i]);
    comm += hop(r) + message / (transceivers(r, q[i], contending) * rate);
  }
  return 2 * comm + comp;
}

berth_status berth_ramp_collective(const berth_ramp *r, int32_t n, const int32_t *server,
                                   double bytes, double *seconds) {
  if (!r) return BERTH_EINVAL;
  if (n < 1)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ramp: a collective of %d end points", (int)n);
  for (int32_t i = 0; i < n; i++)
    if (server[i] < 0 || server[i] >= r->servers)
      return berth_i_fail(r->ctx, BERTH_EINVAL, "ramp: server %d does not exist: there are %d",
                          (int)server[i], (int)r->servers);
  if (!(bytes >= 0) || isinf(bytes))
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ramp: a collective of %g bytes", bytes);
  *seconds = berth_i_ramp_reduce(r, berth_i_ramp_spread_of(r, n, server), bytes);
  return BERTH_OK;
}
