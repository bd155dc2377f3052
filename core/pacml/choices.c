/* The quick cluster of the planner: jobs that come, and the choices about one. Of each decision
 * within the deadline: the first block that fits, and a few that break up least (many servers,
 * few large blocks left). O(decisions blocks sizes). */
#include "ahead_internal.h"

berth_i_ahead_state berth_i_ahead_empty(const berth_pacml_ahead *a) {
  berth_i_ahead_state s = { { 0 }, 0 };
  for (int32_t v = 0; v < a->f.servers; v++) s.free_at[v] = -1;
  return s;
}

/* ---- jobs ---- */

berth_pacml_job berth_i_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, double arrival) {
  int32_t low = 0, high = a->process.n - 1;
  int32_t model = berth_rng_below(rng, a->f.env->n);
  double u = berth_rng_uniform(rng) * a->cumulative[high];
  while (low < high) {
    int32_t mid = (low + high) / 2;
    if (a->cumulative[mid] > u) high = mid;
    else low = mid + 1;
  }
  return (berth_pacml_job){ arrival, a->process.beta[low], model };
}

double berth_i_ahead_gap(const berth_pacml_ahead *a, berth_rng *rng) {
  double least = a->process.gap_least, most = a->process.gap_most;
  return least == most ? least : least + (most - least) * berth_rng_uniform(rng);
}

void berth_pacml_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, int32_t n,
                            berth_pacml_job *jobs) {
  double time = 0;
  for (int32_t j = 0; j < n; j++) {
    jobs[j] = berth_i_ahead_draw(a, rng, time);
    time += berth_i_ahead_gap(a, rng);
  }
}

double berth_i_ahead_limit(const berth_pacml_ahead *a, const berth_pacml_job *job) {
  return job->beta * a->f.env->steps * a->f.env->model[job->model]->sequential;
}

/* ---- blocks ---- */

berth_i_blocks berth_i_blocks_free(const berth_pacml_ahead *a, const berth_i_servers *busy) {
  berth_i_blocks hit = berth_i_blocks_hit(a, busy), out;
  for (int32_t k = 0; k < BERTH_I_AHEAD_ROW; k++) out.of[k] = a->all.of[k] & ~hit.of[k];
  return out;
}

berth_i_blocks berth_i_blocks_hit(const berth_pacml_ahead *a, const berth_i_servers *servers) {
  berth_i_blocks out = { { 0 } };
  int32_t server[BERTH_I_FAST_SERVERS], n = berth_i_fast_list(&a->f, servers->w, server);
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < BERTH_I_AHEAD_ROW; k++) out.of[k] |= a->with[server[i]].of[k];
  return out;
}

/* ---- choices ---- */

/* How much is broken up: many servers, few large blocks left. */
static int32_t harm(const berth_pacml_ahead *a, const berth_i_servers *taken,
                    const berth_i_blocks *whole) {
  berth_i_blocks hit = berth_i_blocks_hit(a, taken);
  int32_t cost = 64 * berth_i_fast_count(&a->f, taken->w);
  for (int32_t k = 1; k < a->n_counted; k++)
    cost -= k * berth_i_count_bits32(whole->of[k] & ~hit.of[k]);
  return cost;
}

/* The first block that fits, and those that do least harm; of equals the first. */
static int32_t list_blocks(const berth_pacml_ahead *a, const berth_i_fast_cut *cut, int32_t index,
                           const berth_i_servers *busy, const berth_i_blocks *whole,
                           berth_i_choice *choice) {
  int32_t size = cut->size[0], n = 0;
  if (!berth_i_fast_place(&a->f, cut, busy, BERTH_NONE, &choice[0].servers)) return 0;
  choice[n].index = index;
  choice[n].block = BERTH_NONE;
  choice[n++].jct = cut->jct;
  if (a->n_blocks < 2) return n;
  int32_t cost[8];
  cost[0] = INT32_MIN;
  for (int32_t i = a->f.first[size]; i < a->f.first[size + 1]; i++) {
    berth_i_servers servers;
    if (berth_i_fast_meets(&a->f, berth_i_fast_block(&a->f, i), busy->w)
        || !berth_i_fast_place(&a->f, cut, busy, i, &servers)
        || berth_i_fast_equal(&a->f, servers.w, choice[0].servers.w))
      continue;
    int32_t c = harm(a, &servers, whole);
    if (n == a->n_blocks && c >= cost[n - 1]) continue;
    int32_t at = n < a->n_blocks ? n++ : n - 1;
    for (; at > 1 && cost[at - 1] > c; at--) cost[at] = cost[at - 1], choice[at] = choice[at - 1];
    cost[at] = c;
    choice[at] = (berth_i_choice){ index, i, cut->jct, servers };
  }
  return n;
}

int32_t berth_i_ahead_choices(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                              const berth_pacml_job *job, berth_i_choice *choice) {
  const berth_pacml *env = a->f.env;
  const berth_i_fast_cut *cut = &a->f.cut[job->model * env->n_decisions];
  berth_i_servers busy = berth_i_fast_busy(&a->f, s->free_at, s->now);
  berth_i_blocks whole = berth_i_blocks_free(a, &busy);
  double limit = berth_i_ahead_limit(a, job) * (1 + 1e-9);
  int32_t n = 0;
  for (int32_t i = 1; i < env->n_decisions; i++) {
    if (cut[i].jct > limit || (n > 0 && cut[i].jct == choice[n - 1].jct)) continue;
    n += list_blocks(a, &cut[i], i, &busy, &whole, choice + n);
  }
  return n;
}

void berth_i_ahead_hold(const berth_pacml_ahead *a, berth_i_ahead_state *s,
                        const berth_i_choice *c) {
  int32_t server[BERTH_I_FAST_SERVERS], n = berth_i_fast_list(&a->f, c->servers.w, server);
  for (int32_t i = 0; i < n; i++) s->free_at[server[i]] = s->now + c->jct;
}
