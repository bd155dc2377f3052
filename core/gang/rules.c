/* The gang rules by their number, and the options that they share. */
#include "gang_internal.h"

#define C BERTH_I_CHOICE

#define DECLARE(NAME, symbol) extern const berth_i_gang_rule berth_i_gang_##symbol;
BERTH_GANG_RULES(DECLARE)

#define ROW(NAME, symbol) &berth_i_gang_##symbol,
static const berth_i_gang_rule *const rules[] = { BERTH_GANG_RULES(ROW) };

#define CHOICE(NAME, symbol) &berth_i_gang_##symbol.about.choice,
static const berth_choice *const names[] = { BERTH_GANG_RULES(CHOICE) NULL };

static const berth_choice *const placements[] = {
  C("any", "The first machines with anything left."),
  C("consolidate", "The fullest machine that holds it, or whole machines of the largest kind and "
                   "the rest on one more; else it waits."),
  C("spread", "One by one where most is left."),
  NULL
};

const berth_i_gang_rule *berth_i_gang_rule_of(int rule) {
  return rule >= 0 && rule < (int)(sizeof rules / sizeof *rules) ? rules[rule] : NULL;
}

const berth_gang_about *berth_gang_describe(int rule) {
  const berth_i_gang_rule *r = berth_i_gang_rule_of(rule);
  return r ? &r->about : NULL;
}

berth_gang_options berth_gang_default(berth_gang_rule rule) {
  return (berth_gang_options){ .rule = rule };
}

static void set_defaults(void *out) {
  *(berth_gang_options *)out = berth_gang_default(BERTH_GANG_FIFO);
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_gang_options, name, kind)

const berth_option_table *berth_gang_option_table(void) {
  static const berth_option options[] = {
    { FIELD(rule, CHOICE), .choices = names, .text = "how jobs are served" },
    { FIELD(amounts, FLAG), .text = "gangs are amounts of the first resource, not whole machines" },
    { FIELD(rate, OTHER), .takes = "function", .fallback = "1",
      .text = "work per s of (job, machines, amounts), asked at each start; those that wait are "
              "ordered by the rate on the first places of an empty cluster" },
    { FIELD(placement, CHOICE), .choices = placements, .text = "where gangs of GPUs go" },
    { FIELD(consolidate, OTHER), .takes = "array",
      .text = "placement consolidate: whether each job is; others are spread" },
    { .key = NULL }
  };
  static const berth_option_table table = { "gang", options, sizeof(berth_gang_options),
                                            set_defaults };
  return &table;
}
