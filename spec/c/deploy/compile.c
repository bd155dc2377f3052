/* Compiled graphs by hand, the checker against graphs that were tampered with, refusals. */
#include "deploy_help.h"

/* x -> y = x W -> gradient of W -> update. Ops 0 input, 1 forward, 2 gradient, 3 update; tensors 0
 * x, 1 y, 2 gradient. 1 s, 2 s and 3 s; 60 and 30 B of the batch of 6, 100 B of parameters. */
static berth_graph *layer(void) {
  graph_build x = { NULL, BERTH_OK, 16 };
  if (berth_graph_builder_new(ctx, &x.b) != BERTH_OK) return NULL;
  int32_t input;
  input = add_op(&x, "input", 0, 0, 0, BERTH_NONE);
  int32_t forward = add_op(&x, "matmul", 1, 100, 0, 0);
  int32_t gradient = add_op(&x, "grad", 2, 0, BERTH_OP_BACKWARD, BERTH_NONE);
  int32_t update = add_op(&x, "sgd", 3, 0, BERTH_OP_UPDATE, 0);
  int32_t a = add_tensor(&x, input, 60, BERTH_TENSOR_BATCH);
  int32_t y = add_tensor(&x, forward, 30, BERTH_TENSOR_BATCH);
  int32_t w = add_tensor(&x, gradient, 100, BERTH_TENSOR_GRADIENT);
  reads(&x, forward, a);
  reads(&x, gradient, a);
  reads(&x, gradient, y);
  reads(&x, update, w);
  return finish(&x);
}

static int32_t find_action(const berth_deploy *d, int32_t devices_in_set,
                           berth_deploy_option option, berth_deploy_shares shares) {
  const berth_action *a;
  int32_t n = berth_deploy_actions(d, &a);
  for (int32_t k = 0; k < n; k++) {
    if (berth_deploy_set(d, a[k].set, NULL) == devices_in_set && a[k].option == option
        && a[k].shares == shares)
      return k;
  }
  CHECK(!"there is such an action");
  return 0;
}

/* ---- by hand ---- */

static berth_deploy *layer_problem(const double *speed, berth_deploy_options o) {
  o.batch = 6;
  return problem(layer(), devices(2, speed, 1), &o);
}

static berth_compiled *compiled(berth_deploy *d, int32_t action, const uint8_t *duplicate) {
  berth_compiled *c = NULL;
  int32_t all[64];
  for (int32_t k = 0; k < 64; k++) all[k] = action;
  CHECK_OK(berth_deploy_compile(d, all, duplicate, &c));
  CHECK_OK(berth_compiled_check(c));
  return OWNED(c);
}

static int32_t count_parts(const berth_compiled *c, berth_part part) {
  int32_t n = 0;
  for (int32_t v = 0; v < c->g->n_ops; v++) n += c->part[v] == part;
  return n;
}

static double seconds_of(const berth_compiled *c, int32_t v) {
  return berth_cost_op(c->cost, v, c->device[v]);
}

/* Replicas: input 0 1, forward 2 3, gradient 4 5, update 6 7. */
TEST("AllReduce: half of the batch each, one collective of the gradient's bytes, which the "
     "updates wait for") {
  berth_deploy *d = layer_problem(NULL, berth_deploy_default(BERTH_PHYSICAL));
  berth_compiled *c =
      compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), NULL);
  const berth_collective *k = c->g->collectives;
  CHECK(c->g->n_ops == 8 && c->g->n_collectives == 1 && count_parts(c, BERTH_PART_REPLICA) == 8);
  CHECK(c->samples[2] == 3 && c->samples[5] == 3 && c->samples[6] == 6);
  CHECK_NEAR(seconds_of(c, 2), 0.5, 1e-15);
  CHECK_NEAR(seconds_of(c, 6), 3, 1e-15);
  CHECK_NEAR(c->g->tensor_bytes[0], 30, 0);
  CHECK_NEAR(c->g->param_bytes[3], 100, 0);
  CHECK(k->kind == BERTH_ALLREDUCE && k->n_members == 2 && k->members[0] == 4
        && k->members[1] == 5);
  CHECK(k->n_consumers == 2 && k->consumers[0] == 6 && k->consumers[1] == 7);
  CHECK_NEAR(k->bytes, 100, 0);
  RELEASE(c);
}

TEST("PS: a sum on the first device for the first update, of all partial gradients, read by all") {
  berth_deploy *d = layer_problem(NULL, berth_deploy_default(BERTH_PHYSICAL));
  berth_compiled *c = compiled(d, find_action(d, 2, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN), NULL);
  CHECK(c->g->n_ops == 9 && c->g->n_collectives == 0 && c->part[8] == BERTH_PART_SUM
        && c->device[8] == 0);
  CHECK(c->origin[8] == 2 && c->g->in_at[9] - c->g->in_at[8] == 2);
  CHECK_NEAR(seconds_of(c, 8), 300, 1e-12); /* 100 B from each and 100 B out at 1 B/s */
  CHECK(c->g->n_tensors == 7 && c->g->producer[6] == 8 && c->g->use_at[7] - c->g->use_at[6] == 2);
  CHECK_NEAR(c->g->tensor_bytes[6], 100, 0);
}

/* The speeds are 1 and 2: 2 and 4 samples. */
TEST("shares by speed") {
  const double speed[] = { 1, 2 };
  berth_deploy_options o = berth_deploy_default(BERTH_PHYSICAL);
  const int32_t together[] = { 0, 0 };
  o.device_group = together;
  berth_deploy *d = layer_problem(speed, o);
  berth_compiled *c =
      compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_SPEED), NULL);
  CHECK(c->samples[2] == 2 && c->samples[3] == 4);
  CHECK_NEAR(seconds_of(c, 2), 2.0 / 6, 1e-15);
  CHECK_NEAR(seconds_of(c, 3), 2.0 / 6, 1e-15);
  CHECK_NEAR(c->g->tensor_bytes[1], 40, 1e-12);
  int32_t owner[6];
  CHECK_OK(berth_deploy_owners(d, 0, BERTH_SHARES_SPEED, owner));
  for (int32_t k = 0; k < 6; k++) CHECK(owner[k] == (k >= 2));
  RELEASE(c);
}

/* The gradient repeated: x and y are gathered, 30 + 15 B from each. */
TEST("a repeated gradient gathers what it reads, and needs no AllReduce") {
  const uint8_t duplicate[] = { 0, 0, 1, 0 };
  berth_deploy *d = layer_problem(NULL, berth_deploy_default(BERTH_PHYSICAL));
  berth_compiled *c =
      compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), duplicate);
  CHECK(c->g->n_collectives == 2 && c->g->collectives[0].kind == BERTH_ALLGATHER
        && c->g->collectives[1].kind == BERTH_ALLGATHER);
  CHECK(count_parts(c, BERTH_PART_CONCAT) == 4 && c->samples[4] == 6);
  CHECK_NEAR(c->g->collectives[0].bytes, 30, 0);
  CHECK_NEAR(c->g->collectives[1].bytes, 15, 0);
  CHECK_NEAR(seconds_of(c, 4), 2, 1e-15);
  RELEASE(c);
}

TEST("as published: concatenations on the first device, which all read; partial gradients of "
     "half the bytes") {
  const uint8_t duplicate[] = { 0, 0, 1, 0 };
  berth_deploy_options o = berth_deploy_default(BERTH_PUBLISHED);
  o.split_gradients = 1;
  berth_deploy *d = layer_problem(NULL, o);
  berth_compiled *c =
      compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), duplicate);
  CHECK(c->g->n_collectives == 0 && count_parts(c, BERTH_PART_CONCAT) == 2 && c->device[8] == 0
        && c->device[9] == 0);
  CHECK_NEAR(seconds_of(c, 8), 0, 0);
  c = compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), NULL);
  CHECK_NEAR(c->g->collectives[0].bytes, 50, 0);
}

TEST("one device: the graph as it was") {
  berth_deploy *d = layer_problem(NULL, berth_deploy_default(BERTH_PHYSICAL));
  berth_compiled *c = compiled(d, find_action(d, 1, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN), NULL);
  CHECK(c->g->n_ops == 4 && c->g->n_tensors == 3 && c->g->n_edges == 4);
  for (int32_t v = 0; v < 4; v++)
    CHECK(c->device[v] == c->device[0] && c->origin[v] == v && c->samples[v] == 6);
}

/* ---- owners ---- */

static int32_t count_kept(int32_t n, const int32_t *a, const int32_t *b) {
  int32_t kept = 0;
  for (int32_t k = 0; k < n; k++) kept += a[k] == b[k];
  return kept;
}

/* Of 12 samples on 4 devices and on the last 2 of them: these keep their 3 each. */
TEST("a device keeps its samples from set to set, as far as its share goes") {
  const int32_t at[] = { 0, 4, 6, 8 }, device[] = { 0, 1, 2, 3, 3, 2, 0, 2 };
  berth_deploy_options o = berth_deploy_default(BERTH_PHYSICAL);
  o.batch = 12;
  o.n_sets = 3;
  o.set_at = at;
  o.set_device = device;
  berth_deploy *d = problem(layer(), devices(4, NULL, 0), &o);
  int32_t all[12];
  CHECK_OK(berth_deploy_owners(d, 0, BERTH_SHARES_EVEN, all));
  int32_t last[12];
  CHECK_OK(berth_deploy_owners(d, 1, BERTH_SHARES_EVEN, last));
  int32_t other[12];
  CHECK_OK(berth_deploy_owners(d, 2, BERTH_SHARES_EVEN, other));
  for (int32_t k = 0; k < 12; k++) CHECK(all[k] == k / 3 && (last[k] == all[k] || all[k] < 2));
  CHECK(count_kept(12, all, last) == 6 && count_kept(12, all, other) == 6
        && count_kept(12, last, other) >= 3);
  int32_t samples[4];
  CHECK_OK(berth_deploy_samples(d, 1, BERTH_SHARES_EVEN, samples));
  CHECK(samples[0] == 6 && samples[1] == 6);
  CHECK_ERROR(berth_deploy_samples(d, 3, BERTH_SHARES_EVEN, samples), BERTH_EINVAL,
              "there is no device set 3 (there are 3)");
}

/* ---- the checker ---- */

static void expect(berth_compiled *c, const char *text) {
  CHECK_STATUS(berth_compiled_check(c), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(c->g->ctx), text);
}

TEST("the checker sees what was tampered with") {
  berth_deploy *d = layer_problem(NULL, berth_deploy_default(BERTH_PHYSICAL));
  berth_compiled *c =
      compiled(d, find_action(d, 2, BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN), NULL);
  c->samples[2] = 2;
  expect(c, "op 1 has 2 replicas, of which 0 do all of the batch, with 5 of 6 samples in all");
  c->samples[2] = 3;
  c->samples[6] = 3;
  expect(c, "op 3 has 2 replicas, of which 1 do all of the batch, with 9 of 6 samples in all");
  c->samples[6] = 6;
  c->g->collectives[0].bytes = 50;
  expect(c, "op 4 \"op2@0\": does not bring the bytes of the 1 gradients of collective 0");
  c->g->collectives[0].bytes = 100;
  c->g->after[c->g->after_at[6]] = 0;
  c->g->collectives[0].kind = BERTH_BARRIER;
  expect(c, "op 6 \"op3@0\": waits for 0 AllReduces of tensor 2");
  c->g->collectives[0].kind = BERTH_ALLREDUCE;
  c->g->tensor_bytes[2] = 20;
  expect(c, "op 2 \"op1@0\": its tensor 2 has the wrong size for 3 samples");
  c->g->tensor_bytes[2] = 15;
  c->device[3] = c->g->pin[3] = 0;
  expect(c, "op 3 \"op1@1\": another replica is on device 0, too (replica 0)");
  c->device[3] = c->g->pin[3] = 1;
  c->source[0] = 1;
  expect(c, "op 0 \"op0@0\": its tensor 0 says that it is tensor 1, which another op makes");
  c->source[0] = 0;
  CHECK_OK(berth_compiled_check(c));
  RELEASE(c);
}

/* ---- refusals ---- */

static void refuse(const berth_deploy_options *o, const char *text) {
  berth_graph *g = layer();
  berth_topology *t = devices(2, NULL, 1);
  berth_cost *cost = must_cost_new(g, t, NULL);
  berth_deploy *d;
  CHECK_ERROR(berth_deploy_new(cost, NULL, o, &d), BERTH_EINVAL, text);
}

TEST("options that make no sense are named") {
  const int32_t at[] = { 0, 2 }, twice[] = { 1, 1 }, none[] = { 0, 7 };
  berth_deploy_options o = berth_deploy_default(BERTH_PHYSICAL);
  refuse(&o, "option batch is 0 (a finite number from 1)");
  o.batch = 6;
  o.op_groups = 0;
  refuse(&o, "option op_groups is 0 (a finite number from 1)");
  o.op_groups = 60;
  o.bucket = BERTH_BUCKET_BYTES;
  o.bucket_bytes = 0;
  refuse(&o, "option bucket_bytes is 0 (a number above 0)");
  o.bucket_bytes = 1;
  o.n_sets = 1;
  o.set_at = at;
  o.set_device = twice;
  refuse(&o, "device set 0 has device 1 twice");
  o.set_device = none;
  refuse(&o, "device set 0 has device 7, which does not exist");
}

TEST("illegal actions are reported with the reason") {
  berth_deploy_options o = berth_deploy_default(BERTH_PHYSICAL);
  int32_t action[8] = { 99, 0, 0, 0, 0, 0, 0, 0 };
  o.strict = 1;
  o.batch = 5;
  berth_deploy *d = problem(layer(), devices(2, NULL, 1), &o);
  berth_compiled *c;
  CHECK_ERROR(berth_deploy_compile(d, action, NULL, &c), BERTH_EINVAL,
              "op group 0: there is no action 99 (there are 5)");
  action[0] = find_action(d, 2, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  CHECK_ERROR(berth_deploy_compile(d, action, NULL, &c), BERTH_EINVAL,
              "op group 0: action 0 (PS): the batch of 5 does not divide by 2 devices");
  int32_t split = find_action(d, 2, BERTH_DEPLOY_SPLIT, BERTH_SHARES_EVEN);
  /* the input alone */
  CHECK(!berth_deploy_legal(d)[(size_t)(d->n_groups - 1) * 5 + (size_t)split]);
  CHECK(berth_deploy_reduces(d, 0) && !berth_deploy_reduces(d, d->n_groups - 1));
  CHECK(!berth_deploy_reduces(d, -1) && !berth_deploy_reduces(d, d->n_groups));
}
