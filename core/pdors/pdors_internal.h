/* What the files of PD-ORS and OASiS share. */
#ifndef BERTH_PDORS_INTERNAL_H
#define BERTH_PDORS_INTERNAL_H

#include "base/pool_internal.h"
#include "slot.h"
#include <berth/pdors.h>

enum { BERTH_I_PDORS_FAMILIES = 2 }; /* OASiS: prices of worker machines, of server machines. PD-ORS
                                        has the first only */

/** How fast a job can be at all, on an empty cluster. */
typedef struct berth_i_pdors_rates {
  double work;                /* samples */
  double inside, outside;     /* worker-slots per sample on one machine, and on several at best */
  int32_t most_in, most_out;  /* workers on one machine, and on several */
  double scale;               /* samples that are planned for each that counts: every slot is taken
                                 to begin with a move */
  double most;                /* samples in a slot that count */
  double per_server;          /* workers for each server, at most, as both are whole */
} berth_i_pdors_rates;

/** Machines with the same capacities; pools of OASiS apart. */
typedef struct berth_i_pdors_types {
  int32_t n;
  int32_t *of;       /* [machines] */
  int32_t *first;    /* [machines] lowest machine of each type */
  int32_t *count;    /* [machines] */
} berth_i_pdors_types;

/** What L and U come from; over the jobs noted so far. */
typedef struct berth_i_pdors_family {
  bool ready;                      /* L and U are known */
  bool wanted[BERTH_PS_RESOURCES]; /* some job takes of it */
  double top[BERTH_PS_RESOURCES];  /* greatest utility per unit */
  double least_use, least_worth;   /* least demand of a whole job; least utility per demand */
  double log_low, log_high[BERTH_PS_RESOURCES];
  double capacity[BERTH_PS_RESOURCES]; /* capacity of its machines */
} berth_i_pdors_family;

typedef struct berth_i_pdors_entry {
  int32_t job;
  berth_ps_place place;
} berth_i_pdors_entry;

/** A slot. Entries of one job are neighbours, in order of admission; sums are made in that order,
 *  so that what is given back leaves no trace. */
typedef struct berth_i_pdors_slot {
  double *used, *price, *left; /* [machines * resources]; NULL: nothing was ever committed, it is as
                                  the blank one */
  uint64_t hash;               /* of used; 0: nothing */
  int64_t epoch;               /* of the bounds by which prices were made */
  berth_i_pdors_entry *entry;
  size_t n, cap;
} berth_i_pdors_slot;

/** Least cost of so much work in a slot, once computed. */
typedef struct berth_i_pdors_known {
  bool known, inside;
  int32_t n;
  size_t place;  /* in `place` of the search */
} berth_i_pdors_known;

/** Cheapest parts of slots that make up so much work. A part can be taken in any share. */
typedef struct berth_i_pdors_part {
  double amount, slope; /* samples; cost of one */
  int32_t slot, which;  /* of the slot's two */
} berth_i_pdors_part;
typedef struct berth_i_pdors_fill {
  berth_i_pdors_part *part; /* [of the caller, for all that are put] heap, largest slope first */
  int32_t n;
  double have, want;
} berth_i_pdors_fill;
/** Offers another one. What is too expensive is dropped for good.  O(log n) */
void berth_i_pdors_fill_put(berth_i_pdors_fill *f, berth_i_pdors_part part);
/** INFINITY if there is too little.  O(n) */
double berth_i_pdors_fill_cost(const berth_i_pdors_fill *f);
/** The lower hull of nothing and two points (amount, cost): at most two parts, in order. @return
 * their number */
int32_t berth_i_pdors_hull(double amount_a, double cost_a, double amount_b, double cost_b,
                           berth_i_pdors_part out[2]);

/** The search for a schedule; its arrays stay from one job to the next. */
typedef struct berth_i_pdors_search {
  int32_t job, from, n, classes; /* slots from .. from + n - 1 */
  berth_i_pdors_rates rates;
  double quantum;                /* samples */
  int32_t quanta, most;          /* of the job; in a slot */
  double incumbent;
  int32_t begun;                 /* class that the solver was begun for; BERTH_NONE */
  int32_t *class_of, *slot_of;   /* [n], [classes] a slot of each */
  double *worth;                 /* [n] utility if done then */
  double *lower;                 /* [classes * (most + 1)] cost at least; exact if known */
  berth_i_pdors_part *hull;      /* [classes * 2] of lower bounds; amount 0: none */
  berth_i_pdors_part *heap;      /* [2 * n] */
  berth_i_pdors_known *known;    /* [classes * (most + 1)] */
  double *ahead, *behind;        /* [(n + 1) * (quanta + 1)] payoff still to be had, cost so far */
  int16_t *chosen;               /* [n * (quanta + 1)] */
  int32_t *table;                /* [table_cap] classes by hash; open addressing */
  size_t table_cap, works, options, ahead_cap, behind_cap, chosen_cap, place_n, place_cap,
      plan_cap, plan_place_cap;
  berth_ps_place *place, *answer; /* [place_cap]; [machines] */
  int32_t *plan_slot;             /* [plan_cap] */
  berth_ps_place *plan_place;
} berth_i_pdors_search;

/** A job that is present, when all are planned again. */
typedef struct berth_i_pdors_present {
  int32_t job;
  double left, density; /* samples; utility at best for its share of the cluster */
  double best;          /* utility at best: all of the cluster from now on */
} berth_i_pdors_present;

/** A copy of what is committed from a slot on. */
typedef struct berth_i_pdors_copy {
  berth_i_pdors_entry *entry;
  int32_t *slot; /* of each entry */
  int32_t *last; /* [jobs] */
  size_t n, entry_cap, slot_cap;
} berth_i_pdors_copy;

/** Of plans that are revised. */
typedef struct berth_i_pdors_revision {
  bool due;                          /* a job came, ended or is late since the last one */
  int32_t *active, n;                /* [jobs] */
  berth_i_pdors_present *present;    /* [jobs] in the order of planning */
  int32_t *order, *rank;             /* [jobs] of the last revision, and where each job is in it */
  int32_t ordered, keep;             /* jobs in it; plans of so many at its head are as they were
                                        made */
  double load[BERTH_PS_RESOURCES];   /* shares that all jobs so far would take, in slots of the
                                        whole cluster */
  double *worth, *worth_before;      /* [jobs] utility as planned; 0: no plan */
  berth_i_pdors_copy copy;
  double *fastest;                   /* [jobs] shared links: samples in an empty slot; NAN: not
                                        computed yet */
} berth_i_pdors_revision;

typedef struct berth_i_oasis berth_i_oasis;

struct berth_pdors {
  berth_i_pool pool;               /* all but the solver's */
  berth_ps *ps;
  berth_ctx *ctx;
  berth_pdors_options o;
  berth_ps_options c;              /* of the problem */
  size_t cells;                    /* machines * resources */
  int32_t split, families;         /* OASiS: machines from here on have servers */
  berth_i_pdors_types types;
  berth_i_pdors_family family[BERTH_I_PDORS_FAMILIES];
  int64_t epoch;
  uint8_t *seen;                   /* [jobs] its numbers are in the bounds */
  int32_t *late, n_late;           /* [jobs] admitted, not done although the plan is at its end */
  int32_t *last;                   /* [jobs] last slot of what was admitted; BERTH_NONE: not; -2:
                                      refused */
  berth_i_pdors_slot blank, *slot; /* [slots] */
  int32_t *mark, stamp;            /* [machines] */
  bool shared;                     /* plans follow shared links: REVISED only */
  berth_i_pdors_revision revision;
  berth_i_slot_solver *solver;     /* PD-ORS */
  berth_i_oasis *oasis;
  berth_i_pdors_search search;
  berth_pdors_counts counts;
};

/* ---- prices.c: what a job can do; L, U ---- */
void berth_i_pdors_rates_of(const berth_pdors *d, int32_t job, berth_i_pdors_rates *out);
/** It can be done in the slots from that one on, were it alone. */
bool berth_i_pdors_can_finish(const berth_pdors *d, const berth_i_pdors_rates *r, int32_t from);
/** Workers on one empty machine, with their servers.  O(resources log batch) */
int32_t berth_i_pdors_most_inside(const berth_pdors *d, const berth_ps_job *j, int32_t machine);
/** Of a resource on a place. */
static inline double berth_i_pdors_demand(const berth_ps_job *j,
                                          const berth_ps_place *p, int32_t r) {
  return j->worker[r] * p->workers + j->server[r] * p->servers;
}

/* ---- prices.c: L, U ---- */
berth_status berth_i_pdors_bounds_init(berth_pdors *d);
/** Under ONLINE: its numbers count from now on. */
void berth_i_pdors_note_job(berth_pdors *d, int32_t job);
double berth_i_pdors_price_at(const berth_pdors *d, int32_t machine, int32_t resource, double used);

/* ---- slots.c: what is committed ---- */
berth_status berth_i_pdors_slots_init(berth_pdors *d);
/** With prices as they are now. */
const berth_i_pdors_slot *berth_i_pdors_slot_at(berth_pdors *d, int32_t slot);
berth_status berth_i_pdors_commit(berth_pdors *d, int32_t job, const berth_pdors_plan *plan);
/** What is committed to a job from that slot on is free again. */
void berth_i_pdors_reclaim(berth_pdors *d, int32_t job, int32_t from);

/** Nothing is committed any more from that slot on. */
void berth_i_pdors_clear(berth_pdors *d, int32_t from);
/** Copies what is committed, and puts it back. */
berth_status berth_i_pdors_save(berth_pdors *d, int32_t from, berth_i_pdors_copy *out);
void berth_i_pdors_restore(berth_pdors *d, int32_t from, const berth_i_pdors_copy *copy);

/* ---- revise.c ---- */
enum { BERTH_I_PDORS_NO_SCHEDULE = 1, BERTH_I_PDORS_NO_PAYOFF = 2 }; /* causes of refusals */
berth_status berth_i_pdors_revision_init(berth_pdors *d);
/** REVISED: it is refused, or planned in the next revision. */
berth_status berth_i_pdors_arrive(berth_pdors *d, berth_ps_run *r, int32_t job);
/** A job ended early, or is late: those behind it in the order are planned again. */
void berth_i_pdors_changed(berth_pdors *d, int32_t job);
/** Plans all jobs that are present, from that slot on. */
berth_status berth_i_pdors_revise(berth_pdors *d, berth_ps_run *r, int32_t from);

/* ---- lower.c: slots that are alike, and bounds on their costs ---- */
void berth_i_pdors_classify(berth_pdors *d);
void berth_i_pdors_lower(berth_pdors *d);
/** Most that any schedule pays by the hulls. */
double berth_i_pdors_relaxed(berth_pdors *d);

berth_status berth_i_pdors_search_init(berth_pdors *d);

/* ---- dp.c ---- */
/** As plans have them: of an empty cluster, or, with shared links, of the best offer there. */
berth_status berth_i_pdors_planned_rates(berth_pdors *d, int32_t job, berth_i_pdors_rates *out);
/** Samples. */
double berth_i_pdors_quantum(const berth_pdors *d, const berth_i_pdors_rates *r);
/** Of random numbers, for v quanta of a job in a slot. */
uint64_t berth_i_pdors_stream(const berth_pdors *d, int32_t job, int32_t slot, int32_t v);
/** @param from first slot  @param work samples */
berth_status berth_i_pdors_search_for(berth_pdors *d, int32_t job, int32_t from, double work,
                                      berth_pdors_plan *out);

/* ---- oasis.c: one slot ---- */
berth_status berth_i_oasis_new(berth_pdors *d);
void berth_i_oasis_begin(berth_pdors *d, int32_t job, const berth_i_slot_state *state);
void berth_i_oasis_solve(berth_pdors *d, double samples, berth_i_slot_answer *out);

#endif
