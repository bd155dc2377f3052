/* What the files of RAMP share: the cluster, models, and the planner's state. A *group* is all
 * pieces of one op; groups have the ids of the graph's ops. A *row* is all transfers from one
 * piece to the pieces of one group. */
#ifndef BERTH_RAMP_INTERNAL_H
#define BERTH_RAMP_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/ramp.h>
#include <stddef.h>
#include <stdlib.h>

enum { BERTH_I_RAMP_SERVERS = 1024 };

struct berth_ramp {
  berth_ctx *ctx;
  int32_t refs, servers;
  berth_ramp_options o;
};

typedef struct berth_i_ramp_edge {
  int32_t src, dst; /* groups */
  double bytes;     /* uncut */
  bool batch;       /* cut along the batch: a piece sends to that with its number alone */
} berth_i_ramp_edge;

struct berth_ramp_model {
  berth_i_pool pool;
  berth_ramp *ramp;
  int32_t refs;
  int32_t n;               /* forward ops */
  int32_t n_edges;
  int32_t *twin;           /* [2n] */
  int32_t *forward;        /* [n] forward ops as they are worked through */
  int32_t *kahn;           /* [n] forward ops in topological order, first come first served */
  double *cost, *memory;   /* [2n] s, scaled; bytes */
  double *params;          /* [2n] bytes, of the forward op */
  uint8_t *backward;       /* [2n] */
  uint8_t *batch;          /* [2n] cut along the batch: each piece holds all parameters */
  berth_i_ramp_edge *edge; /* [n_edges] */
  int32_t *in_start, *in;  /* CSR over groups: edges, in the graph's order */
  int32_t *out_start, *out;
  double sequential;
};

/** Distinct coordinates of some servers, and how many racks contend in one group. */
typedef struct berth_i_ramp_spread {
  int32_t groups, racks, slots, contending;
  bool one; /* all on one server */
} berth_i_ramp_spread;
berth_i_ramp_spread berth_i_ramp_spread_of(const berth_ramp *r, int32_t n, const int32_t *server);
double berth_i_ramp_reduce(const berth_ramp *r, berth_i_ramp_spread s, double bytes);

static inline int32_t berth_i_ramp_group(const berth_ramp *r, int32_t server) {
  return server / (r->o.racks * r->o.slots);
}
static inline int32_t berth_i_ramp_rack(const berth_ramp *r, int32_t server) {
  return server / r->o.slots % r->o.racks;
}
static inline int32_t berth_i_ramp_slot(const berth_ramp *r, int32_t server) {
  return server % r->o.slots;
}

static inline int32_t berth_i_count_bits32(uint32_t b) {
  b = b - ((b >> 1) & 0x55555555u);
  b = (b & 0x33333333u) + ((b >> 2) & 0x33333333u);
  return (int32_t)((((b + (b >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}
static inline int32_t berth_i_count_bits(uint64_t b) {
  return berth_i_count_bits32((uint32_t)b) + berth_i_count_bits32((uint32_t)(b >> 32));
}

/* ---- a job cut and placed ---- */

/** Transfers from one piece to the pieces of a group, or, to synchronise, to those of its own group
 *  at one distance. Those to other servers all take the same time. */
typedef struct berth_i_ramp_row {
  int32_t dst;    /* group */
  int32_t near;   /* which of its own group: differing group 1, rack 2, slot 4, as a sum;
                     BERTH_NONE: all but itself, or another group */
  int32_t local;  /* a piece of dst on the same server, BERTH_NONE */
  int32_t set;    /* exact: that of the collective around group v: 2v; of the synchronisation of v:
                     2v + 1; BERTH_NONE */
  int32_t rank;   /* the higher, the sooner */
  bool free;      /* no bytes: takes no time anywhere */
  double time;    /* s of a transfer to another server */
} berth_i_ramp_row;

/** All rows of one edge, or of one op and distance, have the same time. */
typedef struct berth_i_ramp_class {
  double time;
  int32_t index, rank;
} berth_i_ramp_class;

/** Kinds of arrays of a planner, by what they are as long as. */
typedef enum berth_i_ramp_length {
  BERTH_I_RAMP_OF_GROUPS,
  BERTH_I_RAMP_OF_SETS,
  BERTH_I_RAMP_OF_EDGES,
  BERTH_I_RAMP_OF_HOMES,
  BERTH_I_RAMP_OF_SERVERS,
  BERTH_I_RAMP_OF_CHANNELS,
  BERTH_I_RAMP_OF_PIECES,
  BERTH_I_RAMP_OF_ROWS,
  BERTH_I_RAMP_OF_MASKS,
  BERTH_I_RAMP_LENGTHS
} berth_i_ramp_length;

struct berth_ramp_planner {
  berth_i_pool pool;
  berth_ramp *ramp;
  size_t cap[BERTH_I_RAMP_LENGTHS];
  /* groups */
  int32_t *pieces, *base;  /* how many; the first one */
  int32_t *where;          /* where in home its servers begin; BERTH_NONE: not placed */
  double *held;            /* bytes of a piece */
  int32_t *priority;       /* the higher, the sooner */
  double *set_time;        /* s of the collective around a split op; negative: its dependencies are
                              transfers of their own */
  int32_t *waiting, *gathered;  /* exact, of its collective, and of its synchronisation: rows that
                                   are not ready yet; those that are */
  /* edges */
  double *size;                       /* bytes of one dependency */
  berth_i_ramp_class *klass, *sorted; /* of edges, then 8 of each group: to synchronise, at each
                                         distance */
  /* homes: the servers of the groups, one list after the other; twins have the same */
  int32_t *home;
  int32_t n_homes;
  /* servers */
  double *free_bytes;
  uint8_t *taken;          /* by other jobs */
  uint8_t *mine;           /* the job is there */
  int32_t *count, *block;  /* scratch */
  const int32_t *wish;     /* block for the ops with n_wish pieces; n_wish 0: none */
  int32_t n_wish;
  uint64_t *reach;         /* [servers * words] servers that flows go to from each */
  int32_t *own, n_own;  /* servers that the job is on, ascending */
  int32_t *ready, *flows;  /* look-ahead: first piece that is ready, first row under way; lists by
                              rank, highest first */
  /* pieces */
  int32_t n_pieces;
  int32_t *server, *group, *need, *done, *next, *first_row;
  double *left;            /* s */
  /* rows */
  int32_t n_rows;
  berth_i_ramp_row *row;
  double *row_left;           /* s */
  int32_t *row_next, *source; /* the next in its list; piece that sends */
  int32_t *local, *later;     /* rows whose transfers within a server, or without bytes, are due */
  /* masks */
  uint64_t *mask;          /* [rows * words] servers that a row sends to */
  int32_t words;
};

/** Makes the arrays of that kind at least so long; what was in them is gone. */
berth_status berth_i_ramp_reserve(berth_ramp_planner *p, berth_i_ramp_length kind, size_t need);

/** Evaluates the legal blocks of so many servers, in the order of the search, until the
 * answer is true.
 *  @return whether it was */
typedef bool berth_i_ramp_accept(void *ud, int32_t n, const int32_t *block);
/** Whether some legal block of so many servers is within the first one of `outer`; also if there is
 * none of `outer`. */
bool berth_i_ramp_within(const berth_ramp *r, int32_t inner, int32_t outer);
bool berth_i_ramp_is_block(const berth_ramp *r, int32_t n, const int32_t *block);
bool berth_i_ramp_each_block(const berth_ramp *r, int32_t pieces, berth_i_ramp_accept *accept,
                             void *ud);

berth_status berth_i_ramp_place(berth_ramp_planner *p, const berth_ramp_model *m,
                                const uint8_t *busy, berth_ramp_outcome *out);
berth_status berth_i_ramp_schedule(berth_ramp_planner *p, const berth_ramp_model *m,
                                   berth_ramp_outcome *out);
berth_status berth_i_ramp_lookahead(berth_ramp_planner *p, const berth_ramp_model *m,
                               berth_ramp_outcome *out);

#endif
