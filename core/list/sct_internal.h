/* m-SCT on the list engine: a device that has run an op may stay idle for the op's favourite child.
 * place/placers/sct.c: placer and options; sct_favourites.c beside it: the favourite of each op.
 * sct_choose.c: the loop. sct_queues.c: what could run where. sct_rule.c and sct_published.c: what
 * an idle device offers to run, in continuous time and as the published programs do. */
#ifndef BERTH_SCT_INTERNAL_H
#define BERTH_SCT_INTERNAL_H

#include "engine_internal.h"

/** The candidates of one device. Keys of `waiting` and `not_urgent` are never too large: channels
 *  only get busier. */
typedef struct berth_i_sct_queues {
  berth_i_queue open;       /* (-priority, 0, op): inputs are there by now */
  berth_i_queue waiting;    /* (ready, -priority, op) */
  berth_i_queue not_urgent; /* (time from which its inputs are everywhere, -priority, op): open, but
                               not for a device that is kept */
  berth_i_queue blocked;    /* (bytes needed, 0, op): cannot fit now */
  int32_t kept;             /* the favourite for which it is kept; BERTH_NONE: none */
} berth_i_sct_queues;

/** What an idle device would run now. */
typedef struct berth_i_offer {
  int32_t op;   /* BERTH_NONE: nothing */
  bool last;    /* only when no device has anything else to run */
  double wake;  /* when to evaluate it again, if nothing changes until then */
} berth_i_offer;

typedef struct berth_i_sct berth_i_sct;
struct berth_i_sct {
  berth_plan *plan;
  const int32_t *favourite; /* [ops] */
  berth_status (*offer)(berth_i_sct *s, int32_t device, berth_i_offer *out);
  berth_i_sct_queues *queues;       /* [devices] */
  double *everywhere;       /* [ops] from when the inputs of a candidate are on all its devices;
                               NULL: channels change it */
  int32_t *candidate, *position; /* [ops] those that are not placed, in no order, n of them; place
                                    of each in that */
  int32_t n;
  bool frees;               /* memory may be freed */
  bool free_choice;         /* published: every op may run on every device */
  double largest;           /* published: bytes that no op needs more than */
};

/* ---- sct_queues.c ---- */

berth_status berth_i_sct_push(berth_i_sct *s, int32_t device, int32_t op, double ready);
/** Adds a new candidate to the queues of all devices. */
berth_status berth_i_sct_admit(berth_i_sct *s, int32_t op);
/** What the placing of op changes for others. */
berth_status berth_i_sct_after(berth_i_sct *s, int32_t op);
/** From when its inputs are on all devices that it may run on; p->ready holds the row. */
double berth_i_sct_latest(const berth_plan *p, int32_t op);
/** It is placed, or may not run there. */
bool berth_i_sct_stale(const berth_i_sct *s, int32_t op, int32_t device);
/** Leaves an op that can run now at the top of open, or empties it. `waiting` then starts with what
 * comes next. */
berth_status berth_i_sct_update(berth_i_sct *s, int32_t device);
/** The same, for open alone, after its top was taken. */
berth_status berth_i_sct_check_open(berth_i_sct *s, int32_t device);

/* ---- the two rules ---- */

berth_status berth_i_sct_offer(berth_i_sct *s, int32_t device, berth_i_offer *out);
berth_status berth_i_sct_offer_published(berth_i_sct *s, int32_t device, berth_i_offer *out);
void berth_i_sct_measure_published(berth_i_sct *s);

/* ---- place/placers/sct_favourites.c ---- */

/** @param out [ops] */
berth_status berth_i_sct_favourites(berth_cost *cost, const berth_place_options *opts,
                                    int32_t *out);

#endif
