/* States of one placement taken over for another one: the scratch, and the copy. */
#ifndef BERTH_DELTA_COPY_INTERNAL_H
#define BERTH_DELTA_COPY_INTERNAL_H

#include "sim/sim_internal.h"

/** Scratch. */
typedef struct berth_i_adapt {
  int32_t *op;          /* [n] ops that differ */
  int32_t *source;      /* [n_sources] these and their producers */
  uint8_t *is_source;   /* [n_ops] */
  uint8_t *is_forward;  /* [n_ops] it has a backward twin */
  int32_t *lead_of;     /* [n_devices] */
  double *shift;        /* [n_devices] bytes of parameters; 0 between calls */
  int32_t *next;        /* [n_devices] */
  int32_t n, n_sources;
  bool whole;           /* all bytes are whole numbers and add up exactly in any order */
} berth_i_adapt;

/** x is zeroed. */
berth_status berth_i_adapt_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_adapt *x);
/** Memory allows for it: what is held differs by whole bytes, and has not run out where it
 * differs. */
bool berth_i_adapt_can(const berth_i_sim_plan *p, berth_i_adapt *x, const berth_i_sim_state *s,
                       const int32_t *device);
/** dst becomes what src would be on these devices. Of ops whose device differs no producer has
 *  ended and nothing has been requested. @return false: a collective has no price; dst is not to be
 *  used */
bool berth_i_adapt_state(const berth_i_sim_plan *p, berth_i_adapt *x, berth_i_sim_state *dst,
                         const berth_i_sim_state *src, const int32_t *device);

#endif
