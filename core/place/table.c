/* The table of placers without the portfolio, which runs them (and so may depend on this file); and
 * the order of its members. */
#include "place_internal.h"
#include <stdio.h>

#define ROW(symbol) &berth_i_placer_##symbol,
static const berth_i_placer *const placers[] = { BERTH_I_PLACERS(ROW) ROW(policy) NULL };

const berth_i_placer *berth_i_placer_find(const char *name) {
  for (const berth_i_placer *const *p = placers; name && *p; p++) {
    if (strcmp((*p)->about.name, name) == 0) return *p;
  }
  return NULL;
}

berth_status berth_i_placer_unknown(berth_ctx *ctx, const char *name) {
  char list[400];
  size_t used = 0;
  list[0] = 0;
  for (const berth_i_placer *const *p = placers; *p && used < sizeof list; p++) {
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                             (*p)->about.name);
  }
  return berth_i_fail(ctx, BERTH_EINVAL, "unknown placer \"%s\"; there are %s, portfolio",
                      name ? name : "", list);
}

/* How many rows come before one. */
static int32_t rank_of(int order) {
  int32_t n = 0;
  for (const berth_i_placer *const *p = placers; *p; p++) {
    for (const berth_i_member_row *m = (*p)->members; m && m->name; m++) n += m->order < order;
  }
  return n;
}

const berth_i_member_row *berth_i_member_row_at(int32_t k, const berth_i_placer **placer) {
  for (const berth_i_placer *const *p = placers; *p; p++) {
    for (const berth_i_member_row *m = (*p)->members; m && m->name; m++) {
      *placer = *p;
      if (rank_of(m->order) == k) return m;
    }
  }
  return NULL;
}
