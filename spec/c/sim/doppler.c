/* Preset "doppler" against the answers of the authors' simulator. */
#include "sim_help.h"
#include <cjson/cJSON.h>

enum { MAX_OPS = 512 };

static double number(const cJSON *o, const char *key) {
  return cJSON_GetObjectItem(o, key)->valuedouble;
}

static double makespan_of(const cJSON *c, const doppler_graph *d, int perturbed, int record) {
  setup s;
  berth_sim_summary sum = { 0, 0, 0 };
  int32_t n = 0;
  doppler_setup(&s, d, (int32_t)number(c, "D"), perturbed);
  int32_t device[MAX_OPS];
  const cJSON *x;
  cJSON_ArrayForEach(x, cJSON_GetObjectItem(c, "assign")) device[n++] = x->valueint;
  CHECK(n == d->n);
  berth_sim_options o = must_sim_preset("doppler");
  if (record) {
    berth_result *r = must_simulate(s.cost, device, &o);
    sum.makespan = berth_result_makespan(r);
  } else {
    berth_sim *sim = must_sim_new(s.cost, &o);
    sum = must_sim_run(sim, device);
  }
  setup_end(&s);
  return sum.makespan;
}

static double check_case(const cJSON *c, const char *dir) {
  doppler_graph *d = doppler_read(dir, cJSON_GetObjectItem(c, "graph")->valuestring);
  double want = number(c, "makespan"), got = makespan_of(c, d, 0, 0), off = fabs(got / want - 1);
  CHECK_NEAR(makespan_of(c, d, 1, 0), number(c, "makespan_perturbed"), 0);
  CHECK_NEAR(makespan_of(c, d, 1, 1), number(c, "makespan_perturbed"), 0);
  CHECK(makespan_of(c, d, 0, 1) == got);
  CHECK(off <= 0.08);
  doppler_free(d);
  return off;
}

TEST("published simulator: equal to the unit on perturbed costs, within 8 % on tied ones") {
  const char *dir = check_shared();
  if (!dir) {
    SKIP("no test data beside the project");
  } else {
    char *text = read_text(dir, "reference", "doppler_fifo.json");
    cJSON *cases = cJSON_Parse(text), *c;
    double worst = 0;
    int n = 0, exact = 0;
    cJSON_ArrayForEach(c, cases) {
      double off = check_case(c, dir);
      worst = off > worst ? off : worst;
      exact += off == 0;
      n++;
    }
    printf("# %d cases, %d equal on tied costs, worst there %.2f %%\n", n, exact, 100 * worst);
    CHECK(n >= 44);
    cJSON_Delete(cases);
    free(text);
  }
}
