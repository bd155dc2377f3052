/* Rooms of a certificate, and what jobs can do in it. */
#ifndef BERTH_PDORS_CERTIFY_H
#define BERTH_PDORS_CERTIFY_H

#include "pdors_internal.h"

enum { BERTH_I_PDORS_GROUPS = 32 };

/** Machines of one type have one price; if there are more types than so many, those of one group. A
 *  group can do what any of its types can. */
static inline int32_t berth_i_pdors_group(const berth_pdors *d, int32_t type) {
  if (d->types.n <= BERTH_I_PDORS_GROUPS) return type;
  return (int32_t)((int64_t)type * BERTH_I_PDORS_GROUPS / d->types.n);
}

/** The most that a job can do, whoever schedules it. */
typedef struct certified_job {
  double work, inside, outside, per_server;
  int32_t most_in, most_out;
} certified_job;

typedef struct certifier {
  berth_i_pool pool;
  const berth_pdors *d;
  berth_ctx *ctx;
  int32_t jobs, slots, types, resources; /* types: groups of them */
  size_t cells;                        /* slots * types * resources */
  certified_job *job;                  /* [jobs] */
  int32_t *most_in;                    /* [jobs * types] workers on one machine */
  uint8_t *fits_worker, *fits_server;  /* [jobs * types] */
  double *capacity;                        /* [types * resources] capacity of all machines of a type */
  double *value, *best_value, *start, *price, *slope; /* [cells] */
  berth_i_pdors_part *heap;            /* [2 * slots] */
  berth_pdors_certificate best;
} certifier;

/** Release it also if this fails. */
berth_status berth_i_pdors_certifier_init(certifier *c, const berth_pdors *d);
double berth_i_pdors_worst_case(const berth_pdors *d);

#endif
