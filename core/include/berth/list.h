/* The list engine: places one op after another on the device that a policy prefers. Placers and
 * users share this seam: a policy is a table of functions of the caller, which sees a plan, the
 * partial schedule so far. A plan is valid only during the call in which the policy gets it. */
#ifndef BERTH_LIST_H
#define BERTH_LIST_H

#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_ready {
  BERTH_READY_ASSIGNED, /* an op is a candidate when all its producers are placed */
  BERTH_READY_FINISHED  /* ... when they have finished, in the plan's time */
} berth_ready;
typedef enum berth_fit { BERTH_FIT_APPEND, BERTH_FIT_INSERTION } berth_fit;
typedef enum berth_choose {
  BERTH_CHOOSE_OP,    /* best op by priority, then the best device for it */
  BERTH_CHOOSE_PAIR,  /* best (op, device) by score; ties: priority, then op id, then device id */
  BERTH_CHOOSE_DEVICE /* each idle device in turn takes its best op, or waits */
} berth_choose;

/** What a policy sees of the plan so far. */
typedef struct berth_plan berth_plan;
berth_cost *berth_plan_cost(const berth_plan *p);                /* borrowed */
int32_t berth_plan_device_of(const berth_plan *p, int32_t op);   /* BERTH_NONE: not placed yet */
double berth_plan_start(const berth_plan *p, int32_t op);        /* s; NaN: not placed yet */
double berth_plan_finish(const berth_plan *p, int32_t op);       /* s; NaN: not placed yet */
double berth_plan_free_at(const berth_plan *p, int32_t device);  /* s, end of its last op */
/* op placed there last; BERTH_NONE */
int32_t berth_plan_last(const berth_plan *p, int32_t device);
double berth_plan_memory(const berth_plan *p, int32_t device);   /* bytes held */
double berth_plan_now(const berth_plan *p);                      /* s; 0 unless READY_FINISHED */

/**
 * The policy seam: which op next; how good is each device for it. A NULL function means the
 * engine's own rule.
 * Built-in placers and users' policies are values of this type.
 */
typedef struct berth_policy {
  const char *name;
  berth_ready ready;     /* default ASSIGNED */
  berth_fit fit;         /* default APPEND */
  berth_choose choose;   /* default OP */
  /** Once, before the first op.  @param priority [ops] out: larger goes first; zero on entry */
  berth_status (*prepare)(void *ud, const berth_plan *p, double *priority);
  /** When op becomes a candidate: may replace its priority. */
  berth_status (*select)(void *ud, const berth_plan *p, int32_t op, double *priority);
  /** One call per op (choose OP) or per changed op (PAIR, DEVICE), with the estimates for all
   * devices:
   *  @param est [devices] earliest start, s; INFINITY: cannot (memory, type, pin, group)
   *  @param eft [devices] earliest finish, s
   *  @param score [devices] out, least wins; eft on entry; INFINITY: not here
   *  @param wake out: with every score INFINITY, "not now": try again at this time (READY_FINISHED
   *         only) */
  berth_status (*score)(void *ud, const berth_plan *p, int32_t op, const double *est,
                        const double *eft, double *score, double *wake);
  void *ud;
} berth_policy;

#ifdef __cplusplus
}
#endif
#endif
