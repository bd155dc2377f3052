/* Random strategies on random graphs: through the checker, against the lists that the builder
 * makes, with refused allocations. */
#include "deploy_help.h"

enum { CASES = 400 };

typedef struct built_net {
  int32_t n, reader_of[MOST_LAYERS][MOST_LAYERS]; /* layer j reads the output of layer i */
  int32_t act[MOST_LAYERS], grad[MOST_LAYERS][MOST_LAYERS]; /* tensor to i made backward by j */
} built_net;

static void add_update(graph_build *x, berth_rng *rng, int32_t i, int32_t back, int32_t variable,
                       double bytes) {
  bool rows = berth_rng_below(rng, 5) == 0, two = berth_rng_below(rng, 6) == 0;
  int32_t op = add_op(x, rows ? "ScatterSub" : "sgd", 0.1, bytes, rows ? 0 : BERTH_OP_UPDATE,
                      variable >= 0 ? BERTH_NONE : i);
  if (variable >= 0) reads(x, op, variable);
  reads(x, op, add_tensor(x, back, bytes, rows ? BERTH_TENSOR_BATCH : BERTH_TENSOR_GRADIENT));
  if (two)
    reads(x, op, add_tensor(x, back, bytes, rows ? BERTH_TENSOR_BATCH : BERTH_TENSOR_GRADIENT));
}

static int32_t forward_layer(graph_build *x, berth_rng *rng, built_net *net, int32_t i,
                             int32_t input, int32_t *variable) {
  double bytes = 4 * (1 + berth_rng_below(rng, 100));
  bool has_op = berth_rng_below(rng, 2) == 0;
  int32_t holder = has_op ? add_op(x, "Variable", 0, bytes, 0, BERTH_NONE) : BERTH_NONE;
  int32_t op = add_op(x, "layer", 1 + berth_rng_below(rng, 4), has_op ? 0 : bytes, 0,
                      has_op ? BERTH_NONE : i);
  *variable = has_op ? add_tensor(x, holder, bytes, 0) : BERTH_NONE;
  if (has_op) reads(x, op, *variable);
  if (i == 0) reads(x, op, input);
  for (int32_t j = 0; j < i; j++) {
    net->reader_of[j][i] = j == i - 1 || berth_rng_below(rng, 4) == 0;
    if (net->reader_of[j][i]) reads(x, op, net->act[j]);
  }
  net->act[i] = add_tensor(x, op, 40 * (1 + berth_rng_below(rng, 50)), BERTH_TENSOR_BATCH);
  return op;
}

static void backward_layer(graph_build *x, berth_rng *rng, built_net *net, int32_t i,
                           int32_t variable) {
  bool apart = berth_rng_below(rng, 2) == 0;
  int32_t op = add_op(x, "back", 1 + berth_rng_below(rng, 4), 0, BERTH_OP_BACKWARD, BERTH_NONE),
          weights = op;
  reads(x, op, net->act[i]);
  if (apart) weights = add_op(x, "weights", 1, 0, BERTH_OP_BACKWARD, BERTH_NONE);
  if (apart) reads(x, weights, net->act[i]);
  for (int32_t j = i + 1; j < net->n; j++) {
    if (!net->reader_of[i][j]) continue;
    reads(x, op, net->grad[i][j]);
    if (apart) reads(x, weights, net->grad[i][j]);
  }
  for (int32_t j = 0; j < i; j++) {
    if (net->reader_of[j][i])
      net->grad[j][i] = add_tensor(x, op, 40 * (1 + berth_rng_below(rng, 50)), BERTH_TENSOR_BATCH);
  }
  add_update(x, rng, i, weights, variable, 4 * (1 + berth_rng_below(rng, 200)));
}

static berth_graph *random_net(berth_rng *rng) {
  graph_build x = { NULL, BERTH_OK, 16 };
  built_net net;
  memset(&net, 0, sizeof net);
  net.n = 1 + berth_rng_below(rng, MOST_LAYERS);
  if (berth_graph_builder_new(ctx, &x.b) != BERTH_OK) return NULL;
  int32_t input;
  input = add_tensor(&x, add_op(&x, "input", 0, 0, 0, BERTH_NONE), 80, BERTH_TENSOR_BATCH);
  int32_t variable[MOST_LAYERS];
  for (int32_t i = 0; i < net.n; i++) forward_layer(&x, rng, &net, i, input, &variable[i]);
  for (int32_t i = net.n - 1; i >= 0; i--) backward_layer(&x, rng, &net, i, variable[i]);
  return finish(&x);
}

/* ---- random strategies ---- */

static berth_deploy_options random_options(berth_rng *rng) {
  berth_deploy_options o = berth_deploy_default((berth_physics)berth_rng_below(rng, 3));
  o.batch = 1 + berth_rng_below(rng, 40);
  o.op_groups = 1 + berth_rng_below(rng, 8);
  o.bucket = (berth_bucket)berth_rng_below(rng, 3);
  o.bucket_bytes = 1 + 50.0 * berth_rng_below(rng, 20);
  o.uneven = 1;
  o.duplicates = berth_rng_below(rng, 2);
  o.split_gradients = berth_rng_below(rng, 2);
  o.positional = berth_rng_below(rng, 2);
  o.gather = berth_rng_below(rng, 2);
  o.free_auxiliary = berth_rng_below(rng, 2);
  o.input_at_first = berth_rng_below(rng, 4) == 0;
  return o;
}

static berth_deploy *random_problem(berth_rng *rng) {
  static const double speeds[] = { 1, 1, 2, 3.5 };
  berth_deploy_options o = random_options(rng);
  double speed[MOST_DEVICES];
  int32_t n = 1 + berth_rng_below(rng, MOST_DEVICES);
  for (int32_t k = 0; k < MOST_DEVICES; k++) speed[k] = speeds[berth_rng_below(rng, 4)];
  return problem(random_net(rng), devices(n, speed, berth_rng_below(rng, 2) ? 100 : 0),
                 &o);
}

static void random_strategy(const berth_deploy *d, berth_rng *rng, int32_t *action,
                            uint8_t *duplicate) {
  const uint8_t *legal = berth_deploy_legal(d);
  int32_t repeats = 2 + berth_rng_below(rng, 10);
  int32_t n = berth_deploy_actions(d, NULL);
  for (int32_t k = 0; k < d->n_groups; k++) {
    do action[k] = berth_rng_below(rng, n);
    while (!legal[(size_t)k * (size_t)n + (size_t)action[k]]);
  }
  for (int32_t k = 0; k < d->n_ops; k++) duplicate[k] = berth_rng_below(rng, repeats) == 0;
}

/* What the builder makes of the same ops, tensors, edges and collectives. */
static berth_graph *built_again(const berth_graph *g) {
  berth_graph *again = NULL;
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < g->n_ops; i++) {
    berth_op op = must_graph_op(g, i);
    must_add_op(b, &op);
  }
  for (int32_t i = 0; i < g->n_tensors; i++) {
    berth_tensor t = must_graph_tensor(g, i);
    must_add_tensor(b, &t);
  }
  for (int32_t i = 0; i < g->n_ops; i++) {
    for (int32_t j = g->in_at[i]; j < g->in_at[i + 1]; j++)
      CHECK_OK(berth_graph_builder_add_consumer(b, g->in[j], i));
  }
  for (int32_t i = 0; i < g->n_collectives; i++)
    must_add_collective(b, &g->collectives[i]);
  CHECK_OK(berth_graph_builder_finish(b, &again));
  RELEASE(b);
  return OWNED(again);
}

static int same(const int32_t *a, const int32_t *b, int32_t n) {
  return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static void check_lists(const berth_graph *g) {
  berth_graph *h = built_again(g);
  if (!h) return;
  CHECK(same(g->in_at, h->in_at, g->n_ops + 1) && same(g->in, h->in, g->n_edges)
        && same(g->out_at, h->out_at, g->n_ops + 1));
  CHECK(same(g->out, h->out, g->n_tensors) && same(g->use_at, h->use_at, g->n_tensors + 1));
  CHECK((g->wait_at != NULL) == (h->wait_at != NULL));
  if (g->wait_at && h->wait_at) {
    CHECK(same(g->wait_at, h->wait_at, g->n_ops + 1)
          && same(g->wait, h->wait, g->wait_at[g->n_ops]));
    CHECK(same(g->after_at, h->after_at, g->n_ops + 1)
          && same(g->after, h->after, g->after_at[g->n_ops]));
  }
  for (int32_t k = 0; k < g->n_tensors; k++)
    CHECK(berth_i_resident(g, k) == berth_i_resident(h, k));
}

static void check_random(uint64_t seed) {
  berth_compiled *c = NULL;
  berth_result *r = NULL;
  berth_rng rng = seeded(seed, 0);
  berth_deploy *d = random_problem(&rng);
  int32_t action[16];
  uint8_t duplicate[MOST_LAYERS * 6];
  for (int32_t k = 0; k < 3; k++) {
    random_strategy(d, &rng, action, duplicate);
    if (!CHECK_OK(berth_deploy_compile(d, action, k == 2 ? NULL : duplicate, &c)))
      break;
    if (!CHECK_OK(berth_compiled_check(c)))
      printf("# seed %d.%d: %s\n", (int)seed, (int)k, berth_errmsg(ctx));
    if (seed % 4 == 0) check_lists(c->g);
    if (CHECK_OK(berth_simulate(c->cost, c->device, NULL, &r)))
      CHECK(berth_result_makespan(r) > 0);
    RELEASE(r, c);
  }
}

static berth_status whole_job(void) {
  berth_compiled *c = NULL;
  berth_status st = BERTH_ENOMEM;
  berth_rng rng = seeded(4, 0);
  berth_deploy *d;
  if (!(d = random_problem(&rng))) return st;
  int32_t action[16];
  uint8_t duplicate[MOST_LAYERS * 6];
  random_strategy(d, &rng, action, duplicate);
  st = berth_deploy_compile(d, action, duplicate, &c);
  TRY(st, berth_compiled_check(c));
  RELEASE(c, d);
  return st;
}

TEST("random strategies on random graphs pass the checker, are as the builder makes them, and "
     "can be simulated") {
  for (uint64_t seed = 0; seed < CASES; seed++) check_random(seed);
}
TEST_REFUSALS(whole_job)
