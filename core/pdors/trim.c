/* A plan in which every slot begins with a move, played with those moves that it really has: it may
 * be at its end before. */
#include "pdors_internal.h"

static bool same(const berth_ps_place *a, size_t n, const berth_ps_place *b, size_t m) {
  for (size_t i = 0; i < n && n == m; i++)
    if (a[i].machine != b[i].machine || a[i].workers != b[i].workers
        || a[i].servers != b[i].servers)
      return false;
  return n == m;
}

static double cost_of(berth_pdors *d, int32_t job, int32_t slot, const berth_ps_place *p) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  const berth_i_pdors_slot *s = berth_i_pdors_slot_at(d, slot);
  double sum = 0;
  for (int32_t r = 0; r < d->c.resources; r++) {
    double amount = j->worker[r] * p->workers + j->server[r] * p->servers;
    if (amount > 0)
      sum += amount * s->price[(size_t)p->machine * (size_t)d->c.resources + (size_t)r];
  }
  return sum;
}

static size_t end_of_slot(const berth_pdors_plan *plan, size_t at) {
  size_t end = at;
  while (end < plan->n && plan->slot[end] == plan->slot[at]) end++;
  return end;
}

static void cut(berth_pdors *d, int32_t job, size_t n, berth_pdors_plan *plan) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  plan->n = n;
  plan->done = plan->slot[n - 1];
  plan->utility = berth_ps_utility(j, plan->done - j->arrival);
  size_t i;
  for (plan->cost = 0, i = 0; i < n; i++)
    plan->cost += cost_of(d, job, plan->slot[i], &plan->place[i]);
  plan->payoff = plan->utility - plan->cost;
}

/* What ran before the plan began was somewhere else. O(places) */
void berth_i_pdors_trim(berth_pdors *d, int32_t job, double work, bool ran,
                        berth_pdors_plan *plan) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  size_t end, last = 0, last_n = 0;
  double done = 0;
  for (size_t at = 0; at < plan->n; last = at, last_n = end - at, at = end) {
    end = end_of_slot(plan, at);
    bool moves = last_n == 0 ? ran : !same(plan->place + at, end - at, plan->place + last, last_n);
    done += berth_ps_speed(d->ps, job, (int32_t)(end - at), plan->place + at)
            * (moves ? 1 - j->moving : 1);
    if (done < work * (1 - 1e-9)) continue;
    if (end < plan->n) cut(d, job, end, plan);
    return;
  }
}
