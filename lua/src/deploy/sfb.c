/* berth.deploy: sfb and sfb_measure (which ops every replica repeats), tag_lines, batch_time.
 * Problems are read from tables into scratch below the list that is read, so that all arrays stay
 * until the call returns. Formulas and sources: berth/deploy.h. */
#include "base/binding.h"
#include <math.h>
#include <string.h>

BL_OWN_OPTIONS(problem_option,
  BL_OTHER("ops", "array", "none; must be given", "{ seconds, replicas, bandwidth, barred }: ops "
                                                  "of the full batch"),
  BL_OTHER("tensors", "array", "none", "{ from, to, bytes }: tensors that are cut along the batch"),
  BL_OTHER("gradients", "array", "none", "{ op, bytes, seconds }: gradients that are summed over "
                                         "the replicas"),
  BL_ROW("replicas", WHOLE, "1", "of ops that have none", .low = 1),
  BL_ROW("bandwidth", QUANTITY, "infinite", "of ops that have none",
         .unit = BERTH_BYTES_PER_SECOND, .high = INFINITY))
const bl_table bl_sfb_tables[] = { problem_option, berth_sfb_option_table, NULL };
static const char *const op_keys[] = { "seconds", "replicas", "bandwidth", "barred", NULL };
static const char *const tensor_keys[] = { "from", "to", "bytes", NULL };
static const char *const gradient_keys[] = { "op", "bytes", "seconds", NULL };

/* [-0, +0] The op of that field, 0-based; raises if it is missing: nil is no id. */
static int32_t id_field(lua_State *L, int t, const bl_where *w, const char *key, int32_t n) {
  lua_getfield(L, t, key);
  int32_t id = bl_to_id(L, lua_gettop(L), w, key, n, "op");
  lua_pop(L, 1);
  return id;
}

/* [-0, +n] Four arrays [ops] in scratch below the list, so that the settop of each entry leaves
 * them. An entry without `replicas` or `bandwidth` has those of the problem; without `seconds`,
 * 0. */
static void read_ops(lua_State *L, int t, const char *fn, berth_sfb_problem *p) {
  bl_where w = { fn, NULL, 0 }, item = { fn, "ops", 0 };
  double bandwidth = INFINITY;
  int32_t all = 1;
  bl_get_whole(L, t, &w, "replicas", 1, INT32_MAX, &all);
  bl_get_quantity(L, t, &w, "bandwidth", BERTH_BYTES_PER_SECOND, &bandwidth);
  bl_need(L, bl_get_array(L, t, &w, "ops", &p->ops), &w, "ops");
  double *seconds;
  p->seconds = seconds = bl_scratch(L, (size_t)p->ops, sizeof *seconds);
  double *rates;
  p->bandwidth = rates = bl_scratch(L, (size_t)p->ops, sizeof *rates);
  int32_t *replicas;
  p->replicas = replicas = bl_scratch(L, (size_t)p->ops, sizeof *replicas);
  uint8_t *barred;
  p->barred = barred = bl_scratch(L, (size_t)p->ops, sizeof *barred);
  lua_getfield(L, t, "ops");
  for (int32_t k = 0; k < p->ops; k++) {
    int at = bl_to_entry(L, -1, &item, k, op_keys), no = 0;
    seconds[k] = 0, replicas[k] = all, rates[k] = bandwidth;
    bl_get_quantity(L, at, &item, "seconds", BERTH_SECONDS, &seconds[k]);
    bl_get_whole(L, at, &item, "replicas", 1, INT32_MAX, &replicas[k]);
    bl_get_quantity(L, at, &item, "bandwidth", BERTH_BYTES_PER_SECOND, &rates[k]);
    bl_get_bool(L, at, &item, "barred", &no);
    barred[k] = (uint8_t)no;
    lua_settop(L, at - 1);
  }
}

/* [-0, +0] How many readers all tensors have, for the size of their common array; the list is at
 * the top. A first pass over the list: scratch cannot grow. */
static int32_t count_readers(lua_State *L, bl_where *item, int32_t n) {
  int32_t sum = 0;
  for (int32_t k = 0; k < n; k++) {
    int at = bl_to_entry(L, -1, item, k, tensor_keys);
    int32_t readers = 0;
    bl_need(L, bl_get_array(L, at, item, "to", &readers), item, "to");
    sum += readers;
    lua_settop(L, at - 1);
  }
  return sum;
}

/* [-0, +n] Consumers in compressed rows: those of tensor k are consumer[first[k]] to
 * consumer[first[k + 1] - 1]. */
static void read_tensors(lua_State *L, int t, const char *fn, berth_sfb_problem *p) {
  bl_where w = { fn, NULL, 0 }, item = { fn, "tensors", 0 };
  if (!bl_get_array(L, t, &w, "tensors", &p->tensors)) return;
  int32_t readers = count_readers(L, &item, p->tensors);
  int32_t *producer;
  p->producer = producer = bl_scratch(L, (size_t)p->tensors, sizeof *producer);
  double *bytes;
  p->bytes = bytes = bl_scratch(L, (size_t)p->tensors, sizeof *bytes);
  int32_t *first;
  p->first = first = bl_scratch(L, (size_t)p->tensors + 1, sizeof *first);
  int32_t *consumer;
  p->consumer = consumer = bl_scratch(L, (size_t)readers, sizeof *consumer);
  lua_getfield(L, t, "tensors");
  for (int32_t k = first[0] = 0; k < p->tensors; k++) {
    int at = bl_to_entry(L, -1, &item, k, tensor_keys);
    int32_t n = 0;
    producer[k] = id_field(L, at, &item, "from", p->ops);
    bl_need(L, bl_get_quantity(L, at, &item, "bytes", BERTH_BYTES, &bytes[k]), &item, "bytes");
    bl_get_array(L, at, &item, "to", &n);
    /* A metamethod or a finaliser may have made it longer since it was counted. */
    if (n > readers - first[k]) bl_wrong(L, &item, "to", "changed while it was read");
    int32_t *ids = bl_to_ids(L, lua_gettop(L), &item, "to", n, p->ops, "op");
    memcpy(consumer + first[k], ids, (size_t)n * sizeof *ids);
    first[k + 1] = first[k] + n;
    lua_settop(L, at - 1);
  }
}

/* [-0, +n] NAN for the seconds of a gradient says: by the formula of the options. A user cannot
 * give NaN, which bl_get_quantity refuses. */
static void read_gradients(lua_State *L, int t, const char *fn, berth_sfb_problem *p) {
  bl_where w = { fn, NULL, 0 }, item = { fn, "gradients", 0 };
  if (!bl_get_array(L, t, &w, "gradients", &p->gradients)) return;
  int32_t *op;
  p->gradient_op = op = bl_scratch(L, (size_t)p->gradients, sizeof *op);
  double *bytes;
  p->gradient_bytes = bytes = bl_scratch(L, (size_t)p->gradients, sizeof *bytes);
  double *seconds;
  p->gradient_seconds = seconds = bl_scratch(L, (size_t)p->gradients, sizeof *seconds);
  lua_getfield(L, t, "gradients");
  for (int32_t k = 0; k < p->gradients; k++) {
    int at = bl_to_entry(L, -1, &item, k, gradient_keys);
    op[k] = id_field(L, at, &item, "op", p->ops);
    bl_need(L, bl_get_quantity(L, at, &item, "bytes", BERTH_BYTES, &bytes[k]), &item, "bytes");
    seconds[k] = NAN;
    bl_get_quantity(L, at, &item, "seconds", BERTH_SECONDS, &seconds[k]);
    lua_settop(L, at - 1);
  }
}

/* [-0, +n] The problem at 1. The choice of cost sets the defaults of the other options: it is read
 * first. Its pointers are into scratch: valid until the calling function returns. */
static berth_sfb_problem read_problem(lua_State *L, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  int cost = 0;
  bl_need_table(L, 1, &w, "problem");
  bl_check_options(L, 1, &w, bl_sfb_tables);
  bl_get_choice(L, 1, &w, "cost", bl_choices(berth_sfb_option_table(), "cost"), &cost);
  berth_sfb_problem p = berth_sfb_default((berth_sfb_cost)cost);
  bl_read_options(L, 1, &w, berth_sfb_option_table(), &p);
  read_ops(L, 1, fn, &p);
  read_tensors(L, 1, fn, &p);
  read_gradients(L, 1, fn, &p);
  return p;
}

/* [-0, +1] Ids of what is duplicated, gathered and removed, and the parts of the time in s. */
static void push_answer(lua_State *L, const berth_sfb_problem *p, const berth_sfb_value *v,
                        const uint8_t *duplicated, const uint8_t *gathered,
                        const uint8_t *removed) {
  lua_newtable(L);
  bl_push_marked(L, p->ops, duplicated);
  lua_setfield(L, -2, "duplicated");
  bl_push_marked(L, p->tensors, gathered);
  lua_setfield(L, -2, "gathered");
  bl_push_marked(L, p->gradients, removed);
  lua_setfield(L, -2, "removed");
  bl_set_number(L, "work", v->work);
  bl_set_number(L, "gather", v->gather);
  bl_set_number(L, "sync", v->sync);
  bl_set_number(L, "total", v->total);
}

/* berth.deploy.sfb(problem): { duplicated, gathered, removed, work, gather, sync, total }: ids of
 * ops, tensors and gradients, and times in s. nil, message, code; an invalid problem raises. */
static int sfb(lua_State *L) {
  static const char fn[] = "berth.deploy.sfb";
  lua_settop(L, 1);
  berth_sfb_problem p = read_problem(L, fn);
  uint8_t *duplicated = bl_scratch(L, (size_t)p.ops, 1);
  uint8_t *gathered = bl_scratch(L, (size_t)p.tensors, 1);
  uint8_t *removed = bl_scratch(L, (size_t)p.gradients, 1);
  berth_sfb_value v;
  berth_status st = berth_sfb_choose(bl_ctx(L), &p, duplicated, gathered, removed, &v);
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  push_answer(L, &p, &v, duplicated, gathered, removed);
  return 1;
}

/* berth.deploy.sfb_measure(problem, ops): the same value for these ops, in place of the best ones.
 * An id that is listed twice counts once. */
static int sfb_measure(lua_State *L) {
  BL_WHERE(w, "berth.deploy.sfb_measure");
  lua_settop(L, 2);
  berth_sfb_problem p = read_problem(L, w.fn);
  int32_t n = bl_to_length(L, 2, &w, "ops");
  int32_t *ids = bl_to_ids(L, 2, &w, "ops", n, p.ops, "op");
  uint8_t *duplicated = bl_scratch(L, (size_t)p.ops, 1);
  uint8_t *gathered = bl_scratch(L, (size_t)p.tensors, 1);
  uint8_t *removed = bl_scratch(L, (size_t)p.gradients, 1);
  memset(duplicated, 0, (size_t)p.ops);
  for (int32_t k = 0; k < n; k++) duplicated[ids[k]] = 1;
  berth_sfb_value v;
  berth_status st = berth_sfb_measure(bl_ctx(L), &p, duplicated, gathered, removed, &v);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  push_answer(L, &p, &v, duplicated, gathered, removed);
  return 1;
}

/* berth.deploy.tag_lines(bandwidth): { c1, c0, d1, d0 }, us per KiB and us of two lines, as the
 * option collective_lines of berth.cost takes them. */
static int tag_lines(lua_State *L) {
  BL_WHERE(w, "berth.deploy.tag_lines");
  double lines[4];
  berth_status st = berth_tag_lines(
      bl_ctx(L), bl_to_quantity(L, 1, &w, "bandwidth", BERTH_BYTES_PER_SECOND), lines);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_push_numbers(L, 4, lines);
  return 1;
}

/* berth.deploy.batch_time(batches, seconds, batch, { whole_us }): s at that batch size, from times
 * [n] measured at n batch sizes. nil, message, code. */
BL_OPTIONS(batch_time, BL_ROW("whole_us", FLAG, "false", "cuts off to whole us, as published"))

static int batch_time(lua_State *L) {
  static const bl_where w = { "berth.deploy.batch_time", NULL, 0 };
  int32_t n = bl_to_length(L, 1, &w, "batches");
  int whole_us = 0;
  lua_settop(L, 4);
  double batch = bl_to_number(L, 3, &w, "batch");
  bl_take_options(L, 4, &w, bl_batch_time_tables, &whole_us);
  double *batches = bl_to_numbers(L, 1, &w, "batches", n, "batch size");
  double *seconds = bl_to_numbers(L, 2, &w, "seconds", n, "batch size");
  double out;
  berth_status st = berth_batch_time(bl_ctx(L), n, batches, seconds, batch, whole_us, &out);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, out);
  return 1;
}

const luaL_Reg bl_sfb_functions[] = { { "sfb", sfb },
                                      { "sfb_measure", sfb_measure },
                                      { "tag_lines", tag_lines },
                                      { "batch_time", batch_time },
                                      { NULL, NULL } };
