/* The table of rules. A rule is a file with its berth_i_gang_ops, which this table alone names, and a line here. */
#include "gang_internal.h"

/* R(berth_gang_rule, its berth_i_gang_ops) */
#define RULES(R) \
  R(FIFO, fifo) \
  R(FIT_FIRST, fit_first) \
  R(BACKFILL, backfill) \
  R(SJF, sjf) \
  R(SRTF, srtf) \
  R(SRTF_2D, srtf_2d) \
  R(FEWEST, fewest) \
  R(LAS, las) \
  R(LAS_2D, las) \
  R(GITTINS, gittins) \
  R(OPTIMUS, resize) \
  R(POLLUX, resize) \
  R(GAVEL, rounds)

#define DECLARED(rule, ops) extern const berth_i_gang_ops berth_i_gang_##ops;
#define LISTED(rule, ops) [BERTH_GANG_##rule] = &berth_i_gang_##ops,

RULES(DECLARED)

const berth_i_gang_ops *berth_i_gang_ops_of(berth_gang_rule rule) {
  static const berth_i_gang_ops *const all[] = { RULES(LISTED) };
  return (size_t)rule < sizeof all / sizeof *all ? all[rule] : NULL;
}
