/* Cost: means, least times and rho against naive loops; link fits. */
#include "cost/cost_internal.h"
#include "must.h"

enum { N_OPS = 12, N_DEVICES = 5 };

static berth_graph *random_graph(berth_rng *rng) {
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, (const char *[]){ "a", "b" }));
  for (int32_t i = 0; i < N_OPS; i++) {
    berth_op op = berth_op_default();
    double s[2] = { berth_rng_uniform(rng),
                    berth_rng_below(rng, 3) ? berth_rng_uniform(rng) : BERTH_UNSUPPORTED };
    op.seconds = s;
    op.pin = berth_rng_below(rng, 6) ? BERTH_NONE : 0;
    must_add_op(b, &op);
    if (i == 0) continue;
    must_add_edge(b, berth_rng_below(rng, i), i, 100 * berth_rng_below(rng, 5));
  }
  return must_graph(b);
}

static berth_topology *random_topology(berth_rng *rng) {
  berth_device d = berth_device_default();
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < N_DEVICES; i++) {
    d.type = i && berth_rng_below(rng, 2) ? "b" : "a";
    d.speed = 1 + berth_rng_below(rng, 2);
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < 7; i++) {
    berth_link l = { 10 + berth_rng_below(rng, 50), berth_rng_uniform(rng) };
    int32_t from = berth_rng_below(rng, N_DEVICES), to = berth_rng_below(rng, N_DEVICES);
    if (from != to) CHECK_OK(berth_topology_builder_add_link(b, from, to, &l, NULL));
  }
  return must_topology(b);
}

static void check_ops(const berth_cost *c) {
  double mean[N_OPS];
  CHECK_OK(berth_cost_mean_ops(c, mean));
  double least[N_OPS];
  CHECK_OK(berth_cost_min_ops(c, least));
  for (int32_t op = 0; op < N_OPS; op++) {
    double sum = 0, n = 0, low = INFINITY;
    for (int32_t d = 0; d < N_DEVICES; d++) {
      double s = berth_cost_op(c, op, d);
      if (isinf(s)) continue;
      sum += s;
      n++;
      low = fmin(low, s);
    }
    CHECK_NEAR(mean[op], sum / n, 1e-12);
    CHECK(least[op] == low);
  }
}

static void check_transfers(const berth_cost *c, berth_average how) {
  double mean[N_OPS];
  CHECK_OK(berth_cost_mean_transfers(c, how, mean));
  for (int32_t k = 0; k < c->g->n_tensors; k++) {
    double sum = 0, n = 0;
    for (int32_t a = 0; a < N_DEVICES; a++)
      for (int32_t b = 0; b < N_DEVICES; b++) {
        double s = berth_cost_transfer(c, k, a, b);
        if (isinf(s) || (a == b && how == BERTH_AVERAGE_TEXTBOOK)) continue;
        sum += s;
        n += a == b ? 2 : 1; /* unordered pairs of different devices are met twice */
      }
    CHECK_NEAR(mean[k], n ? sum / n : 0, 1e-9);
  }
}

static void check_rho(const berth_cost *c) {
  double most = 0, least = INFINITY;
  for (int32_t k = 0; k < c->g->n_tensors; k++)
    for (int32_t a = 0; a < N_DEVICES; a++)
      for (int32_t b = 0; b < N_DEVICES; b++)
        if (!isinf(berth_cost_transfer(c, k, a, b)))
          most = fmax(most, berth_cost_transfer(c, k, a, b));
  for (int32_t op = 0; op < N_OPS; op++)
    for (int32_t d = 0; d < N_DEVICES; d++)
      if (berth_cost_op(c, op, d) > 0) least = fmin(least, berth_cost_op(c, op, d));
  CHECK(berth_cost_rho(c) == most / least);
}

static berth_status some_transfer(void *ud, int32_t tensor, int32_t src, int32_t dst, double *s) {
  (void)ud;
  *s = (src + dst) % 4 == 3 ? INFINITY : tensor + src * 0.5 + dst;
  return BERTH_OK;
}

TEST("means, least times and rho of 300 random pairs equal naive loops") {
  static const berth_cost_model models[] = {
    { 0 },
    { .op_factor = 2, .transfer_factor = 3, .free_control = 1 },
    { .transfer = some_transfer, .transfer_factor = 0.5 }
  };
  berth_rng rng = seeded(3, 0);
  for (int round = 0; round < 300; round++) {
    berth_graph *g = random_graph(&rng);
    berth_topology *t = random_topology(&rng);
    berth_cost *c = must_cost_new(g, t, &models[round % 3]);
    RELEASE(g, t);
    if (!c) return;
    check_ops(c);
    check_transfers(c, BERTH_AVERAGE_TEXTBOOK);
    check_transfers(c, BERTH_AVERAGE_SAGA);
    check_rho(c);
    RELEASE(c);
  }
}

TEST("three equal devices: means are exact; one device: transfers cost nothing") {
  berth_graph *g = must_graph_of_text("0 0.1 0.2 0>1:0.7");
  berth_topology *t = must_mesh(3, INFINITY, 1, 0);
  berth_cost *c = must_cost_new(g, t, NULL);
  double mean[3];
  CHECK_OK(berth_cost_mean_ops(c, mean));
  CHECK(mean[0] == 0 && mean[1] == 0.1 && mean[2] == 0.2);
  CHECK_OK(berth_cost_mean_transfers(c, BERTH_AVERAGE_TEXTBOOK, mean));
  CHECK(mean[0] == 0.7);
  CHECK_OK(berth_cost_mean_transfers(c, BERTH_AVERAGE_SAGA, mean));
  CHECK_NEAR(mean[0], 0.7 * 2 / 4, 1e-15);
  CHECK_STATUS(berth_cost_mean_transfers(c, (berth_average)7, mean), BERTH_EINVAL);
  CHECK(berth_cost_rho(c) == 0.7 / 0.1);
  t = must_mesh(1, INFINITY, 1, 0);
  c = must_cost_new(g, t, NULL);
  CHECK_OK(berth_cost_mean_transfers(c, BERTH_AVERAGE_TEXTBOOK, mean));
  CHECK(mean[0] == 0 && berth_cost_transfer(c, 0, 0, 0) == 0 && berth_cost_rho(c) == 0);
  CHECK_OK(berth_cost_mean_transfers(c, BERTH_AVERAGE_SAGA, mean));
  CHECK(mean[0] == 0);
}

TEST("rho is infinite where no op takes time") {
  berth_op op = berth_op_default();
  berth_graph_builder *b = must_graph_builder_new();
  must_add_op(b, &op);
  berth_graph *g = must_graph(b);
  berth_topology *t = must_mesh(2, INFINITY, 1, 0);
  berth_cost *c = must_cost_new(g, t, NULL);
  CHECK(berth_cost_op(c, 0, 1) == 0 && isinf(berth_cost_rho(c)));
}

/* ---- fits ---- */

TEST("fit: exact data come back, absolute and relative") {
  berth_link l;
  double r2;
  for (int relative = 0; relative < 2; relative++) {
    CHECK_OK(berth_fit_link(ctx, 3, (double[]){ 0, 4, 8 }, (double[]){ 2, 3, 4 }, relative, &l,
             &r2));
    CHECK_NEAR(l.latency, 2, 1e-12);
    CHECK_NEAR(l.bandwidth, 4, 1e-12);
    CHECK_NEAR(r2, 1, 1e-12);
  }
  CASE("fit: least squares by hand, (0,1) (1,3) (2,4): 7/6 + 3/2 x");
  CHECK_OK(berth_fit_link(ctx, 3, (double[]){ 0, 1, 2 }, (double[]){ 1, 3, 4 }, 0, &l, &r2));
  CHECK_NEAR(l.latency, 7.0 / 6, 1e-12);
  CHECK_NEAR(1 / l.bandwidth, 1.5, 1e-12);
  CHECK_NEAR(r2, 1 - (1.0 / 6) / (14.0 / 3), 1e-12);
  CASE("fit: relative weights by hand, the same points: normal equations with 1/y^2");
  CHECK_OK(berth_fit_link(ctx, 3, (double[]){ 0, 1, 2 }, (double[]){ 1, 3, 4 }, 1, &l, NULL));
  {
    double w[] = { 1, 1.0 / 9, 1.0 / 16 }, s0 = w[0] + w[1] + w[2], sx = w[1] + 2 * w[2],
           sxx = w[1] + 4 * w[2];
    double sy = 1 + 3 * w[1] + 4 * w[2], sxy = 3 * w[1] + 8 * w[2],
           b = (s0 * sxy - sx * sy) / (s0 * sxx - sx * sx);
    CHECK_NEAR(1 / l.bandwidth, b, 1e-12);
    CHECK_NEAR(l.latency, (sy - b * sx) / s0, 1e-12);
  }
  CASE("fit: a negative intercept becomes 0, and the slope is fitted again");
  CHECK_OK(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 1, 4 }, 0, &l, &r2));
  CHECK(l.latency == 0);
  CHECK_NEAR(1 / l.bandwidth, 9.0 / 5, 1e-12);
  CHECK_NEAR(r2, 1 - (0.64 + 0.16) / 4.5, 1e-12);
}

TEST("fit: refuses what cannot be fitted") {
  berth_link l = { -1, -1 };
  CHECK_STATUS(berth_fit_link(ctx, 0, NULL, NULL, 0, &l, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 3, (double[]){ 2, 2, 2 }, (double[]){ 1, 2, 3 }, 0, &l, NULL),
               BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 1, NAN }, (double[]){ 1, 2 }, 0, &l, NULL),
               BERTH_EINVAL);
  CHECK_ERROR(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 1, -2 }, 0, &l, NULL),
              BERTH_EINVAL, "measurement 1: 2 B in -2 s: both must be at least 0 and finite");
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 2, 1 }, 0, &l, NULL),
               BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 1, 1 }, 0, &l, NULL),
               BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 0, 1 }, 1, &l, NULL),
               BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 0, 1e-200 }, (double[]){ 1, 2 }, 0, &l, NULL),
               BERTH_EINVAL);
  CHECK_STATUS(berth_fit_link(ctx, 2, (double[]){ 1, 2 }, (double[]){ 1, 1e-320 }, 1, &l, NULL),
               BERTH_EINVAL);
  CHECK(l.bandwidth == -1);
}

TEST("fit: 5 us and 25 GB/s come back from 1 KiB..1 GiB with 2 % noise within 1 %, when "
     "relative") {
  enum { N = 400 };
  berth_rng rng = seeded(5, 0);
  double x[N], y[N];
  for (int i = 0; i < N; i++) {
    x[i] = 1024 * pow(2, 20.0 * i / (N - 1));
    y[i] = (5e-6 + x[i] / 25e9) * exp(0.02 * berth_rng_normal(&rng));
  }
  double r2;
  berth_link l;
  CHECK_OK(berth_fit_link(ctx, N, x, y, 1, &l, &r2));
  CHECK_NEAR(l.latency, 5e-6, 5e-8);
  CHECK_NEAR(l.bandwidth, 25e9, 25e7);
  CHECK(r2 > 0.9);
}

static int read_table(double *x, double *intra, double *inter) {
  char path[4096];
  int n = 0;
  snprintf(path, sizeof path, "%s/data/tag/nccl_allreduce.tsv",
           check_shared() ? check_shared() : "");
  FILE *f;
  if (!(f = fopen(path, "r"))) return 0;
  if (fscanf(f, "%*[^\n]") == 0)
    while (n < 32 && fscanf(f, "%lf %lf %lf", &x[n], &intra[n], &inter[n]) == 3) n++;
  fclose(f);
  return n;
}

TEST("fit: measured AllReduce times, 1 KiB..256 MiB on four devices, follow 1.5 S / B + a") {
  double kib[32], intra[32], inter[32], worst = 0;
  int n = read_table(kib, intra, inter);
  if (n == 0) {
    SKIP("no ../shared/data/tag/nccl_allreduce.tsv");
    return;
  }
  double x[32], y[32];
  for (int i = 0; i < n; i++) {
    x[i] = kib[i] * 1024 * 1.5;
    y[i] = inter[i] * 1e-6;
  }
  double r2;
  berth_link l;
  CHECK_OK(berth_fit_link(ctx, n, x, y, 1, &l, &r2));
  for (int i = 0; i < n; i++)
    worst = fmax(worst, fabs(l.latency + x[i] / l.bandwidth - y[i]) / y[i]);
  printf("# %.4g us + bytes / %.4g GB/s, r2 %.4f, worst relative error %.3f\n", l.latency * 1e6,
         l.bandwidth / 1e9, r2, worst);
  CHECK(l.bandwidth > 4.5e9 && l.bandwidth < 6.5e9 && l.latency > 1e-4 && l.latency < 5e-4);
  CHECK_OK(berth_fit_link(ctx, n, x, y, 0, &l, &r2));
  printf("# absolute: %.4g us + bytes / %.4g GB/s, r2 %.5f\n", l.latency * 1e6, l.bandwidth / 1e9,
         r2);
  CHECK(r2 > 0.999);
}
