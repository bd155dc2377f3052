/* The table of placers, but for the portfolio, which runs them. */
#include "place_internal.h"

static const berth_i_placer *const placers[] = {
  &berth_i_placer_single,        &berth_i_placer_round_robin, &berth_i_placer_random, &berth_i_placer_metis,
  &berth_i_placer_m_topo,        &berth_i_placer_m_etf,       &berth_i_placer_m_sct,  &berth_i_placer_etf,    &berth_i_placer_heft,
  &berth_i_placer_cpop,          &berth_i_placer_peft,        &berth_i_placer_minmin, &berth_i_placer_blevel,
  &berth_i_placer_critical_path, &berth_i_placer_enumerative, &berth_i_placer_exact, &berth_i_placer_anneal,
  &berth_i_placer_local,         &berth_i_placer_brkga,       &berth_i_placer_policy, NULL
};

static const char *const placer_names[] = {
  "single", "round-robin", "random", "metis", "m-topo", "m-etf", "m-sct", "etf", "heft", "cpop", "peft", "minmin", "blevel",
  "critical-path", "enumerative", "exact", "anneal", "local", "brkga", "portfolio", "policy", NULL
};

const char *const *berth_placers(void) { return placer_names; }

const berth_i_placer *berth_i_placer_find(const char *name) {
  const berth_i_placer *const *p;
  for (p = placers; name && *p; p++) {
    if (strcmp((*p)->name, name) == 0) return *p;
  }
  return NULL;
}
