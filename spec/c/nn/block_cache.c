/* Freed large arrays kept for the next of their size: reuse, bounds, refusals; and two contexts in
 * two threads. */
#include "must.h"
#include <pthread.h>

/* check_alloc, with the most that was ever held, large requests by themselves, and a limit. */
typedef struct alloc_counter {
  check_alloc_state s;
  long most, large, limit;
} alloc_counter;

enum { LARGE = 64 << 10, WIDTH = 32 };

static void *count_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  alloc_counter *c = ud;
  if (c->limit && nsize > osize && c->s.held + (long)(nsize - osize) > c->limit) return NULL;
  c->large += nsize >= LARGE;
  void *p = check_alloc(&c->s, ptr, osize, nsize);
  if (c->s.held > c->most) c->most = c->s.held;
  return p;
}

/* What is trained, in a context of its own. */
typedef struct trained_net {
  berth_ctx *ctx;
  berth_params *params;
  berth_tape *tape;
  berth_array *w;
} trained_net;

/* These two check nothing themselves: they run in threads, too. */
static berth_status try_net(trained_net *x, const berth_hooks *hooks) {
  const int32_t shape[2] = { WIDTH, WIDTH };
  berth_status st = berth_ctx_new(hooks, &x->ctx);
  berth_rng rng = seeded(3, 0);
  TRY(st, berth_params_new(x->ctx, &x->params));
  TRY(st, berth_params_add(x->params, "w", 2, shape, BERTH_NN_ORTHOGONAL, 1, &rng, &x->w));
  TRY(st, berth_tape_new(x->ctx, &x->tape));
  return st;
}
static size_t try_close(trained_net *x) {
  berth_tape_release(x->tape);
  berth_params_release(x->params);
  size_t left = berth_ctx_memory(x->ctx);
  berth_ctx_release(x->ctx);
  return left;
}

static void open_net(trained_net *x, const berth_hooks *hooks) {
  CHECK_OK(try_net(x, hooks));
}
static void close_net(trained_net *x) { CHECK(try_close(x) == 0); }

/* Mean of tanh(a w)^2 over rows of a, walked back. */
static berth_status update(trained_net *x, int32_t rows, float *loss) {
  const int32_t shape[2] = { rows, WIDTH };
  berth_array *a = NULL, *y = NULL, *z = NULL, *sum = NULL;
  berth_status st = berth_array_new(x->ctx, 2, shape, &a);
  for (int64_t i = 0; st == BERTH_OK && i < berth_array_size(a); i++)
    berth_array_data(a)[i] = (float)(i % 7) - 3;
  TRY(st, berth_nn_linear(x->tape, a, x->w, NULL, BERTH_NN_TANH, 0, &y));
  TRY(st, berth_nn_apply(x->tape, BERTH_NN_SQUARE, 0, y, &z));
  TRY(st, berth_nn_reduce(x->tape, BERTH_NN_MEAN, z, BERTH_NONE, &sum));
  if (st == BERTH_OK) *loss = berth_array_data(sum)[0];
  if (st == BERTH_OK) st = berth_tape_backward(x->tape, sum);
  else berth_tape_clear(x->tape);
  berth_array *made[] = { a, y, z, sum };
  for (int i = 0; i < 4; i++) berth_array_release(made[i]);
  return st;
}

TEST("the same update again asks for no large block, and comes to the same") {
  alloc_counter c = { { 0, 0, 0 }, 0, 0, 0 };
  berth_hooks hooks = { count_alloc, &c, NULL, NULL, NULL, NULL };
  float first = 0, loss = 1;
  trained_net x;
  open_net(&x, &hooks);
  size_t held = berth_ctx_memory(x.ctx);
  CHECK_OK(update(&x, 1000, &first));
  CHECK(c.large > 0);
  c.large = 0;
  for (int i = 0; i < 3; i++) CHECK_OK(update(&x, 1000, &loss));
  CHECK(c.large == 0 && loss == first);
  CHECK(berth_ctx_memory(x.ctx) - held < LARGE); /* lists of the tape; cached blocks do not count */
  CHECK(c.s.held > 4 * 1000 * WIDTH * 2);
  CASE("the last tape gives them back");
  RELEASE(x.tape);
  CHECK(c.s.held < LARGE);
  CHECK_OK(berth_tape_new(x.ctx, &x.tape));
  close_net(&x);
  CHECK(c.s.held == 0);
}

TEST("updates of all sizes: never more than the peak and what is small") {
  alloc_counter c = { { 0, 0, 0 }, 0, 0, 0 };
  berth_hooks hooks = { count_alloc, &c, NULL, NULL, NULL, NULL };
  berth_rng rng = seeded(9, 0);
  trained_net x;
  open_net(&x, &hooks);
  c.most = 0;
  float loss;
  for (int i = 0; i < 60; i++)
    CHECK_OK(update(&x, 1 + berth_rng_below(&rng, 5000), &loss));
  CHECK(c.most > 4 * LARGE && (size_t)c.most <= berth_ctx_memory_peak(x.ctx) + 8 * LARGE);
  close_net(&x);
  CHECK(c.s.held == 0);
}

TEST("they make way for what the allocator would refuse") {
  alloc_counter c = { { 0, 0, 0 }, 0, 0, 0 };
  berth_hooks hooks = { count_alloc, &c, NULL, NULL, NULL, NULL };
  float loss = 0;
  trained_net x;
  open_net(&x, &hooks);
  CHECK_OK(update(&x, 3000, &loss));
  c.limit = c.s.held + 1000; /* no room but theirs */
  CHECK_OK(update(&x, 2000, &loss));
  CHECK_STATUS(update(&x, 100000, &loss), BERTH_ENOMEM);
  c.limit = 0;
  CHECK_OK(update(&x, 3000, &loss));
  close_net(&x);
  CHECK(c.s.held == 0);
}

static void refusals(long sign) {
  berth_status st = BERTH_ENOMEM;
  for (long n = 1; st == BERTH_ENOMEM && n < 500; n++) {
    alloc_counter c = { { 0, 0, 0 }, 0, 0, 0 };
    berth_hooks hooks = { count_alloc, &c, NULL, NULL, NULL, NULL };
    trained_net x;
    open_net(&x, &hooks);
    c.s.fail_at = sign * (c.s.calls + n);
    float loss;
    st = update(&x, 700, &loss);
    TRY(st, update(&x, 900, &loss));
    c.s.fail_at = 0;
    close_net(&x);
    CHECK(c.s.held == 0);
  }
  CHECK_OK(st);
}

TEST("what is left in a block of before shows nowhere") {
  static const int32_t shape[2] = { 600, WIDTH };
  trained_net x;
  open_net(&x, NULL);
  for (int i = 0; i < 8; i++) {
    berth_array *a[8];
    for (int k = 0; k < 8; k++) {
      CHECK_OK(berth_array_new(x.ctx, 2, shape, &a[k]));
      for (int64_t j = 0; j < berth_array_size(a[k]); j++) berth_array_data(a[k])[j] = NAN;
    }
    for (int k = 0; k < 8; k++) RELEASE(a[k]);
    berth_array *out;
    CHECK_OK(berth_array_new(x.ctx, 2, shape, &out));
    CHECK(berth_array_data(out)[0] == 0 && berth_array_data(out)[600 * WIDTH - 1] == 0);
    CHECK_OK(berth_nn_matmul(x.tape, out, 0, x.w, 0, &a[0]));
    for (int64_t j = 0; j < berth_array_size(a[0]); j++) CHECK(berth_array_data(a[0])[j] == 0);
    CHECK_OK(berth_nn_reduce(x.tape, BERTH_NN_SUM, a[0], BERTH_NONE, &a[1]));
    CHECK_OK(berth_tape_backward(x.tape, a[1]));
    for (int64_t j = 0; j < WIDTH * WIDTH; j++)
      CHECK(berth_array_data(berth_params_gradient(x.params, 0))[j] == 0);
    RELEASE(out, a[0], a[1]);
  }
  close_net(&x);
}

/* ---- two threads ---- */

enum { UPDATES = 40 };

typedef struct training_log {
  float loss[UPDATES], w[WIDTH * WIDTH];
  berth_status st;
} training_log;

static void *train(void *ud) {
  training_log *r = ud;
  trained_net x;
  berth_adam *adam = NULL;
  if ((r->st = try_net(&x, NULL)) != BERTH_OK) return NULL;
  r->st = berth_adam_new(x.params, NULL, &adam);
  for (int i = 0; r->st == BERTH_OK && i < UPDATES; i++) {
    r->st = update(&x, 200 + 100 * (i % 9), &r->loss[i]);
    TRY(r->st, berth_adam_step(adam, 0.01));
    berth_params_zero_gradients(x.params);
  }
  berth_params_get(x.params, 0, r->w);
  berth_adam_release(adam);
  if (try_close(&x) != 0) r->st = BERTH_EINVAL;
  return NULL;
}

TEST("two contexts in two threads learn what one does alone, to the byte") {
  static training_log r[3];
  train(&r[0]);
  pthread_t other[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&other[i], NULL, train, &r[i + 1]) == 0);
  for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
  CHECK_OK(r[0].st);
  for (int i = 1; i < 3; i++) CHECK(memcmp(&r[0], &r[i], sizeof r[0]) == 0);
  CHECK(r[0].loss[UPDATES - 1] < r[0].loss[UPDATES - 10]);
}

TEST("every allocation refused in turn with large arrays: an orderly end, no leak") {
  refusals(1);
  refusals(-1);
}
