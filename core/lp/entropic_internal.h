/* The state of the entropic solver: temperatures, both sides of the game in log space, averages. */
#ifndef BERTH_LP_ENTROPIC_INTERNAL_H
#define BERTH_LP_ENTROPIC_INTERNAL_H

#include "exp_internal.h"
#include "lp_internal.h"

/* Largest inverse of a scaling factor that is kept: sums of scaled values stay finite. */
#define BERTH_I_LP_MOST_INVERSE 1e200

typedef struct berth_i_lp_entropic_state {
  berth_i_pool pool;
  const berth_i_lp_problem *q;
  double tau;                /* temperature of paths */
  double step;               /* K: a step goes 1/K of the way */
  double bias;               /* Kf: safety factor on the measured curvature */
  double smoothing;          /* eps */
  int32_t n_parts, n_sinks;
  /* nodes */
  int32_t *sink;             /* [n_sinks] */
  int32_t *part_in;          /* [n] part of the matching graph in which the node is a head; 0 if in
                                none */
  int32_t *part_out;         /* [n] ... a tail */
  double *arrival, *depart;  /* [n] log weight of paths that end before it, with it */
  double *through;           /* [n] flow */
  double *ends;              /* [n] flow that ends there */
  double *row, *col;         /* [n] rows and columns are scaled by exp(- this), >= 0 */
  double *row_inverse, *col_inverse, *row_fitted, *col_fitted; /* [n] see fit */
  double *sum;               /* [n] of rows, then factors */
  /* edges */
  double *length;                             /* [m] smoothed c (1 - y) / tau */
  double *share, *log_share, *last_log_share; /* [m] of what arrives at the head */
  double *flow, *moved;                       /* [m] moved: by the last step */
  double *pull;                               /* [m] smoothed c f / heat */
  double *y, *last_y, *log_y;                 /* [m] */
  double *trial;                              /* [m] */
  /* sums over the last `averaged` iterations: what both sides do on average is better than what
   * they do last */
  double *sum_y, *sum_flow;         /* [m] */
  double *sum_ends, *sum_potential; /* [n] potential: of columns */
  int32_t averaged;
  double *scratch;           /* [m + 3n] */
  /* parts of the matching graph */
  double *heat;              /* [n_parts] temperature of matchings */
  double *gain;              /* [n_parts] sum of c f */
  int32_t *edges;            /* [n_parts] */
} berth_i_lp_entropic_state;

/** Allocates all, finds the parts of the matching graph. Its pool is to be freed also after a
 * failure. */
berth_status berth_i_lp_entropic_init(const berth_i_lp_problem *q, berth_i_lp_entropic_state *s);

/** The flow that answers the present lengths.  @return entropy of its paths */
double berth_i_lp_entropic_flow(berth_i_lp_entropic_state *s);
/** One step of both sides.  @return entropy of the paths */
double berth_i_lp_entropic_step(berth_i_lp_entropic_state *s);
/** Forgets the averages. */
void berth_i_lp_entropic_forget(berth_i_lp_entropic_state *s);

#endif
