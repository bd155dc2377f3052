/* Recipe: a rule of gang schedulers; CONTRIBUTING.md says where it goes. This one serves the job
 * with the most GPUs first; others pause. */
#include "gang_internal.h"

/* Least rank first; equal ones by the number of the job. */
static berth_i_gang_rank arrives(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ -g->job[job].size, job };
}

const berth_i_gang_rule berth_i_gang_most = {
  .about = {
    .choice = { "most", "By GPUs, most first; others pause." },
    .source = "an example",
    .reads = "rate placement",
  },
  .decide = berth_i_gang_choose, .arrives = arrives, .ordered = true,
};
