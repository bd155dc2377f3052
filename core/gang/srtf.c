/* Rules with pauses by the seconds left, by these times GPUs, and by size: each is a key of the
 * order that order.c goes through. Ties: as jobs came. */
#include "gang_internal.h"

static double seconds_left(const berth_gang *g, int32_t job) {
  return g->job[job].left / g->job[job].nominal;
}

static berth_i_gang_rank srtf_arrives(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ seconds_left(g, job), g->next_tie++ };
}
static berth_i_gang_rank srtf_rank(berth_gang *g, int32_t job, double now, int64_t tie) {
  return (berth_i_gang_rank){ berth_cluster_end_of(g->c, job) - now, tie };
}

static berth_i_gang_rank srtf_2d_arrives(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ seconds_left(g, job) * g->job[job].size, g->next_tie++ };
}
static berth_i_gang_rank srtf_2d_rank(berth_gang *g, int32_t job, double now, int64_t tie) {
  return (berth_i_gang_rank){ (berth_cluster_end_of(g->c, job) - now) * g->job[job].size, tie };
}

static berth_i_gang_rank fewest_arrives(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ g->job[job].size, job };
}

const berth_i_gang_rule berth_i_gang_srtf = {
  .about = {
    .choice = { "srtf", "By seconds left; in this order any job that fits what those before "
                        "leave runs; others pause." },
    .source = "Gu et al., \"Tiresias\", NSDI 2019, its simulator",
    .reads = "rate placement",
  },
  .decide = berth_i_gang_choose, .arrives = srtf_arrives, .rank = srtf_rank, .ordered = true,
};

const berth_i_gang_rule berth_i_gang_srtf_2d = {
  .about = {
    .choice = { "srtf-2d", "By seconds left times GPUs; runs and pauses as srtf." },
    .source = "Gu et al., \"Tiresias\", NSDI 2019, its simulator",
    .reads = "rate placement",
  },
  .decide = berth_i_gang_choose, .arrives = srtf_2d_arrives, .rank = srtf_2d_rank,
  .ordered = true, .moves = true,
};

const berth_i_gang_rule berth_i_gang_fewest = {
  .about = {
    .choice = { "fewest", "By GPUs, fewest first; runs and pauses as srtf." },
    .reads = "rate placement",
  },
  .decide = berth_i_gang_choose, .arrives = fewest_arrives, .ordered = true,
};
