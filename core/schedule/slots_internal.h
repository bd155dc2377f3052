/* Slots for schedules that were found without: slots.c. */
#ifndef BERTH_SCHEDULE_SLOTS_INTERNAL_H
#define BERTH_SCHEDULE_SLOTS_INTERNAL_H

#include "schedule_internal.h"

/**
 * Puts slots into words, or takes a generator's words, where that shortens the step.
 *
 * @param calls    evaluations at most, but for those of the generators
 * @param deadline s, by the context's clock; INFINITY: none
 * @param best     with room for all actions
 * @param step     s, in and out; INFINITY: `best` has none yet
 * @param used     evaluations are added
 * @return BERTH_OK, BERTH_EINTERRUPT (the best so far is kept), BERTH_ENOMEM
 */
berth_status berth_i_slots(const berth_schedule_problem *p, int64_t calls, double deadline,
                           berth_i_words *best, double *step, int64_t *used);

#endif
