/* Transfers, whatever the links: their times, with noise, and their place in the log. Noise depends
 * on the seed and on (tensor, destination) only, so that it is the same under any order of
 * events. */
#include "sim/sim_internal.h"

double berth_i_sim_noise(const berth_i_sim_plan *p, const berth_i_sim_state *s, uint64_t stream) {
  if (p->o.noise == 0) return 1;
  berth_rng rng;
  berth_rng_init(&rng, s->seed, stream);
  return exp(p->o.noise * berth_rng_normal(&rng));
}

double berth_i_transfer_noise(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t tensor,
                              int32_t dst) {
  return berth_i_sim_noise(p, s,
                           2 * ((uint64_t)tensor * (uint64_t)p->n_devices + (uint64_t)dst) + 1);
}

double berth_i_transfer_units(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t tensor,
                              int32_t src, int32_t dst) {
  double t = berth_i_transfer_time(p->cost, tensor, src, dst);
  if (p->o.noise > 0) t *= berth_i_transfer_noise(p, s, tensor, dst);
  return berth_i_quantise_transfer(t, p->o.quantum);
}

double berth_i_copy_units(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t copy) {
  if (p->edge_time) return p->edge_time[copy];
  return berth_i_transfer_units(p, s, p->edge_tensor[copy], berth_i_copy_src(p, s, copy),
                                berth_i_copy_dst(p, s, copy));
}

void berth_i_links_log(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy, double start,
                       double sent, double arrival) {
  berth_i_trace *t = s->trace;
  berth_transfer *x = &t->sent[t->n_sent++];
  t->log[t->n_log++] = ~copy;
  x->tensor = p->edge_tensor[copy];
  x->src = berth_i_copy_src(p, s, copy);
  x->dst = berth_i_copy_dst(p, s, copy);
  x->start = start;
  x->finish = arrival;
  if (t->window) t->window[copy] = sent - start;
}
