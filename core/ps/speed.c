/* How fast a job of workers and parameter servers runs by where they are, and what it is worth by
 * when it ends. Speed: all on one machine, in one rack, or across (PD-ORS, eq. 1); or by the worst
 * pair of worker and server if links are shared. O(places). */
#include "ps_internal.h"

double berth_ps_worker_slots(const berth_ps_job *job, double bandwidth) {
  return job->tau + 2 * job->bytes * job->ratio / (bandwidth * job->batch);
}

double berth_ps_utility(const berth_ps_job *job, double slots) {
  return job->importance / (1 + exp(job->urgency * (slots - job->target)));
}

/* ---- where its parts are ---- */

/* Some worker and some server are on two machines, or in two racks, exactly if not all are on, or
 * in, one. */
typedef struct spread {
  int64_t workers, servers;
  bool machine, rack; /* all are on one machine, in one rack */
} spread;

static spread spread_of(const berth_ps *p, int32_t n, const berth_ps_place *at) {
  spread s = { 0, 0, true, true };
  int32_t first = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    if (at[i].workers <= 0 && at[i].servers <= 0) continue;
    s.workers += at[i].workers;
    s.servers += at[i].servers;
    if (first == BERTH_NONE) first = at[i].machine;
    s.machine = s.machine && at[i].machine == first;
    s.rack =
        s.rack && (at[i].machine == first || (p->rack && p->rack[at[i].machine] == p->rack[first]));
  }
  return s;
}

/* Between two machines. */
static double outside(const berth_ps_job *j, const spread *s) {
  return s->rack && j->rack > 0 ? j->rack : j->across;
}

/* ---- shared links ---- */

/* Of the pair of worker and server that has least: each end's link is shared by all at other
 * machines. */
static double least_bandwidth(const berth_ps_job *j, const spread *s, int64_t workers, int32_t n,
                              const berth_ps_place *at) {
  double least = INFINITY, link = outside(j, s);
  for (int32_t i = 0; i < n; i++) {
    double servers_away = (double)(s->servers - at[i].servers),
           workers_away = fmin((double)(s->workers - at[i].workers), (double)workers);
    if (at[i].workers > 0 && at[i].servers > 0) least = fmin(least, j->inside);
    if (at[i].workers > 0 && servers_away > 0) least = fmin(least, link / servers_away);
    if (at[i].servers > 0 && workers_away > 0) least = fmin(least, link / workers_away);
  }
  return least;
}

double berth_ps_speed(const berth_ps *p, int32_t job, int32_t n, const berth_ps_place *places) {
  const berth_ps_job *j = berth_ps_job_at(p, job);
  spread s = spread_of(p, n, places);
  int64_t workers = j && s.workers > j->batch ? j->batch : s.workers;
  if (!j || workers < 1 || s.servers < berth_i_ps_servers(j, (int32_t)workers)) return 0;
  if (p->o.comm == BERTH_PS_SHARED) {
    /* Each server has an equal share of the parameters: with more of them than by the ratio it is
     * faster. */
    double bandwidth = least_bandwidth(j, &s, workers, n, places);
    double iteration =
        j->tau * j->batch / (double)workers + 2 * j->bytes / ((double)s.servers * bandwidth);
    return j->batch / iteration;
  }
  return (double)workers / berth_ps_worker_slots(j, s.machine ? j->inside : outside(j, &s));
}
