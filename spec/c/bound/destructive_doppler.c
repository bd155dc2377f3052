/* Destructive bounds on DOPPLER's graphs with perturbed costs: the published bounds to 0.01 %,
 * never above a known schedule. */
#include "bound/destructive/destructive_internal.h"
#include "sim/sim_help.h"

/* In units of 1e10: bound and best schedule of any kind, for 4 and 8 devices; the bound expected of
 * the cheap level. */
static const struct {
  const char *file;
  double bound[2], schedule[2], cheap[2];
} known[] = {
  { "chain_mm_112nodes.txt",
    { 1200.0710, 600.0355 },
    { 1200.0710, 600.0705 },
    { 1200.0709, 600.0355 } },
  { "ffnn_192nodes.txt", { 56.6981, 34.7895 }, { 56.6982, 34.7924 }, { 56.698, 34.789 } },
  { "transformer_block_215nodes.txt",
    { 141.3670, 141.3712 },
    { 141.4212, 141.3888 },
    { 141.36, 141.37 } },
  { "full_transformer_layer_261nodes.txt",
    { 115.7050, 97.2710 },
    { 115.7786, 97.2844 },
    { 115.70, 97.27 } },
  { "8gpu_transformer_block.txt",
    { 212.6966, 159.8349 },
    { 213.1442, 166.3884 },
    { 202.5, 159.83 } },
  { "8gpu_full_transformer.txt", { 202.5476, 141.4508 }, { 212.8249, 148.4620 }, { 202.5, 141.45 } }
};

static berth_i_destruct_result destructive(berth_cost *cost, const berth_i_destruct_plan *plan) {
  berth_i_destruct_result b = { NAN, NAN, 0 };
  berth_i_units u;
  CHECK_OK(berth_i_units_init(cost, "bounds", BERTH_MEMORY_NONE, 1, &u, NULL));
  CHECK_OK(berth_i_destructive_bound(&u, NULL, plan, &b));
  berth_i_units_release(&u);
  return b;
}

static void check_cheap(berth_cost *cost, double least, double most) {
  berth_i_destruct_result a = destructive(cost, &berth_i_destruct_cheap),
                          b = destructive(cost, &berth_i_destruct_cheap);
  CHECK(a.intervals >= least * 1e10 && a.intervals <= most * 1e10);
  CHECK(a.work <= 9000000); /* some 0.03 s */
  CHECK(a.intervals == b.intervals && a.clusters == b.clusters && a.work == b.work);
  berth_bounds whole = must_bounds_compute(cost, NULL);
  CHECK(whole.intervals == a.intervals && whole.clusters == a.clusters
        && whole.best >= a.intervals);
}

static void check_cell(const char *dir, int k, int wide) {
  doppler_graph *d = doppler_read(dir, known[k].file);
  double bound = known[k].bound[wide], schedule = known[k].schedule[wide] * (1 + 1e-6);
  setup s;
  doppler_setup(&s, d, wide ? 8 : 4, 1);
  check_cheap(s.cost, known[k].cheap[wide], schedule);
  berth_i_destruct_result b = destructive(s.cost, &berth_i_destruct_thorough);
  printf("# %s on %d devices: %.4f (published %.4f), %.1f million steps\n", known[k].file,
         wide ? 8 : 4, b.intervals / 1e10, bound, (double)b.work / 1e6);
  CHECK(b.intervals >= bound * 1e10 * (1 - 1e-4));
  CHECK(b.intervals <= schedule * 1e10);
  setup_end(&s);
  doppler_free(d);
}

TEST("published bounds reached, no known schedule denied") {
  const char *dir = check_shared();
  if (dir) {
    for (int k = 0; k < 6; k++) {
      for (int wide = 0; wide < 2; wide++) check_cell(dir, k, wide);
    }
  } else {
    SKIP("no test data beside the project");
  }
}
