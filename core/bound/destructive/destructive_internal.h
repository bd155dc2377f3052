/* Destructive bounds: is a makespan T impossible? Co-location that T forces, one-machine bounds on
 * what must share a device, loads of intervals, and a short search over the rest. */
#ifndef BERTH_DESTRUCTIVE_INTERNAL_H
#define BERTH_DESTRUCTIVE_INTERNAL_H

#include "bound/ports_internal.h"
#include "placement/prices_internal.h"

/** fmax and fmin of numbers that are no NaN, without a call of the library. */
static inline double berth_i_max(double a, double b) { return a > b ? a : b; }
static inline double berth_i_min(double a, double b) { return a < b ? a : b; }

/** Rules, for tests of each alone. FORCE is what the others work on. */
enum {
  BERTH_I_DESTRUCT_FORCE = 1,
  BERTH_I_DESTRUCT_JOIN = 2,
  BERTH_I_DESTRUCT_SERIAL = 4,
  BERTH_I_DESTRUCT_EDGE_FINDING = 8,
  BERTH_I_DESTRUCT_LOADS = 16,
  BERTH_I_DESTRUCT_GROUPS = 32,
  BERTH_I_DESTRUCT_DUAL = 64,
  BERTH_I_DESTRUCT_ENERGY = 128,
  BERTH_I_DESTRUCT_RECURSE = 256,
  BERTH_I_DESTRUCT_DEEP = 512,
  BERTH_I_DESTRUCT_MEMORY = 1024,
  BERTH_I_DESTRUCT_RATES = 2048,
  BERTH_I_DESTRUCT_PORTS = 4096,
  BERTH_I_DESTRUCT_ALL = 8191
};

/** Local ids are in topological order. */
typedef struct berth_i_destruct_dag {
  int32_t n, m;
  int32_t *id;           /* [n] row of the whole problem */
  int32_t *end[2];       /* [m] producer, consumer */
  int32_t *at[2], *edge[2]; /* [n + 1], [m] edges into (0), out of (1) an op */
  double *c;             /* [m] s, least time to another device, of all tensors between the two */
  double *w[2];          /* [m] s, what they take of the port into the consumer's place; what
                            `tensor` takes of that out of the producer's */
  int32_t *tensor;       /* [m] of them the largest that may be another edge's, too */
  double *p;             /* [n] s, least op times */
  double *h[2];          /* [n] s, heads and tails known */
  double *reals;
  int32_t *ints;
} berth_i_destruct_dag;

typedef struct berth_i_destruct_item {
  double r, p, q; /* release, length, delivery */
} berth_i_destruct_item;

typedef struct berth_i_destruct_input {
  double arrival;
  int32_t op;
} berth_i_destruct_input;

/** Devices of one kind: the price of a second on one of them; the prices of all devices sum to
 * 1. */
typedef struct berth_i_destruct_rate {
  double price;
  uint64_t places;
  int32_t class_of;
} berth_i_destruct_rate;

/** Where the producer of an input (backwards: a consumer) is, seen from the op. */
enum { BERTH_I_DESTRUCT_EITHER, BERTH_I_DESTRUCT_HERE, BERTH_I_DESTRUCT_ELSEWHERE };

typedef struct berth_i_destruct_frontier {
  double arrival;        /* at the op in question, if the edge crosses */
  int32_t edge;
} berth_i_destruct_frontier;

typedef struct berth_i_destruct {
  berth_i_pool pool;
  berth_ctx *ctx;
  const berth_i_units *u;
  const berth_i_kinds *kinds; /* what devices hold; NULL: memory plays no part */
  const int32_t *part;   /* [devices] place of a device; NULL: each is one. Places are what the rest
                            speaks of */
  int32_t places, width; /* devices of a place at most: so many ops run there at once */
  int32_t n, devices, classes;
  const int32_t *op;     /* [n] op of a row: the graph's topological order */
  int32_t *row;          /* [n] its inverse */
  double *path;          /* [n * n] longest path of least times strictly between two rows; -1:
                            none */
  uint64_t *can;         /* [n] places that can run the row */
  uint64_t *class_of;    /* [classes] places of the class; of parts there is one class */
  uint64_t *size_of;     /* [sizes] places that hold so much */
  double *size;          /* [sizes] bytes */
  int32_t *size_count;   /* [sizes] */
  int32_t sizes;
  berth_i_destruct_rate *rate; /* [rates] unlike devices; none: all are alike */
  int32_t rates;
  bool masks;            /* at most 64 places: `can` is filled */
  unsigned rules, unused;
  berth_i_ports ports;
  const double *price;   /* [collectives] s at least; NULL: none takes any */
  double *members_end;          /* [collectives] when the last member ended, or how long it is from
                                   the first consumer on */
  int32_t nodes;         /* of one search */
  int32_t window;        /* ops of a part beside its end at most: the latest */
  int32_t *by_head, listed; /* [n] rows whose head (tail) is known, by that */
  int64_t work, most;    /* items handled; at `most` nothing is refuted any more */
  int64_t deep_work, deep_most, deep_share; /* of heads through the depth, in it; what each sweep
                                               may take */
  int64_t port_work, port_most; /* the same of ports alone, beside it; at `port_most` they are not
                                   evaluated any more */
  berth_status st;
  /* scratch */
  berth_i_destruct_item *item, *sorted, *spare; /* [n] */
  berth_i_destruct_input *input;        /* [most edges of an op] */
  double *real;                         /* [21 n] */
  int32_t *scratch, *mark, *list;       /* [n], [4 n], [n] */
  berth_i_destruct_frontier *frontier;  /* [edges] */
  int32_t *stamp, epoch;                /* [2 n] ops, units of a set that is made up */
  uint8_t *side;                        /* [n] of inputs, by label */
  berth_i_port_item *port;              /* [edges] */
  int32_t *slot, *slot_epoch;           /* [tensors] item of a tensor in this epoch */
  int32_t epoch_of_slots;
} berth_i_destruct;

/** Longest path of least times strictly between two rows (dir 1: backwards); -1: there is none. */
static inline double berth_i_destruct_path(const berth_i_destruct *b, int dir, int32_t x,
                                           int32_t v) {
  return b->path[(size_t)(dir ? v : x) * (size_t)b->n + (size_t)(dir ? x : v)];
}

/** One attempt to disprove T. */
typedef struct berth_i_destruct_state {
  const berth_i_destruct_dag *g;
  double limit, slip;            /* T; what rounding may do */
  double *h[2], *p;              /* [n] */
  uint64_t *can;                 /* [n] of clusters, by label */
  berth_i_least_bytes *bytes; /* [n] of clusters, by label; NULL: memory plays no part */
  berth_i_least_bytes rest;   /* of units that have no op here */
  int32_t *label, *next;         /* [n] cluster, named by its least member; circular list of its
                                    members, rising from there on */
  int32_t *stamp[2];             /* [n] of clusters, by label: clock at the last change of heads
                                    (tails), op times, members or edges */
  int32_t clock, swept[2], serial; /* clock at the end of the last sweep over joins (forks), at the
                                      beginning of the last one over clusters */
  uint8_t *edge;                 /* [m] */
  void *block;
  size_t size;                      /* of the block */
  bool changed, impossible, merged; /* merged: since the last check of memory */
} berth_i_destruct_state;

enum { BERTH_I_DESTRUCT_OPEN, BERTH_I_DESTRUCT_SAME, BERTH_I_DESTRUCT_APART };

/* dag.c */
berth_status berth_i_destruct_dag_whole(berth_i_destruct *b, berth_i_destruct_dag *g);
/** What comes before v (dir 1: after it), the latest b->window ops of that, and v with no time of
 * its own. Whatever is left out makes no head in the part smaller: they are known. */
berth_status berth_i_destruct_dag_part(berth_i_destruct *b,
                                       const berth_i_destruct_dag *whole,
                                       int dir, int32_t v,
                                       berth_i_destruct_dag *g);
void berth_i_destruct_dag_release(berth_i_destruct *b, berth_i_destruct_dag *g);

/* state.c */
berth_status berth_i_destruct_state_init(berth_i_destruct *b,
                                         const berth_i_destruct_dag *g,
                                         double limit,
                                         berth_i_destruct_state *s);
berth_status berth_i_destruct_state_copy(berth_i_destruct *b, const berth_i_destruct_state *from,
                                     berth_i_destruct_state *s);
void berth_i_destruct_state_release(berth_i_destruct *b, berth_i_destruct_state *s);
/** A head (dir 1: a tail) is at least `value`. */
void berth_i_destruct_lift(berth_i_destruct_state *s, int dir, int32_t op, double value);
void berth_i_destruct_decide(berth_i_destruct *b, berth_i_destruct_state *s,
                             int32_t edge, int verdict);
static inline double berth_i_destruct_due(const berth_i_destruct_state *s, int32_t op) {
  return s->limit - s->h[1][op];
}

/* sizes.c */
/** Places by their memory. */
berth_status berth_i_destruct_sizes(berth_i_destruct *b);
/** Those of the places in `can` that hold so much; without masks all or none. */
uint64_t berth_i_destruct_holding(const berth_i_destruct *b, uint64_t can,
                                  berth_i_least_bytes bytes);
/* memory.c */
/** Clusters that cannot be packed into the devices: impossible. Open edges between two that no
 * device holds: apart. */
void berth_i_destruct_memory(berth_i_destruct *b, berth_i_destruct_state *s);

/* deep.c */
/** What v's device must have run before v: v starts no earlier than the bound that is returned. */
double berth_i_destruct_deep(berth_i_destruct *b, const berth_i_destruct_dag *g, int dir, int32_t v,
                         double low);

/* ports.c */
void berth_i_destruct_sides(berth_i_destruct *b,
                            const berth_i_destruct_state *s, int dir,
                            int32_t v);
/** No schedule starts v earlier, sides being as they are; b->item[items] run before v on its
 * device. O(inputs^2) */
double berth_i_destruct_port_delay(berth_i_destruct *b,
                                   const berth_i_destruct_state *s, int dir,
                                   int32_t v, int32_t items);
/** What surely crosses into, or out of, a cluster. */
void berth_i_destruct_ports(berth_i_destruct *b, berth_i_destruct_state *s);

/* jackson.c */
/** Makespan of one machine with preemption; b->item is unchanged.  O(n log n) */
double berth_i_destruct_jackson(berth_i_destruct *b, int32_t n);

/* serial.c */
void berth_i_destruct_join(berth_i_destruct *b, berth_i_destruct_state *s, int dir);
void berth_i_destruct_serial(berth_i_destruct *b, berth_i_destruct_state *s);

/* load.c */
enum { BERTH_I_DESTRUCT_POINTS = 40 }; /* ends of intervals, each way */
void berth_i_destruct_loads(berth_i_destruct *b, berth_i_destruct_state *s);

/* rates.c */
/** By the prices that make the bound of work largest, whatever memory there is. */
berth_status berth_i_destruct_rates(berth_i_destruct *b);

/* dual.c: items of sizes x[n], 0 to 1, do not fit into `bins` bins of size 1; x is sorted. */
bool berth_i_destruct_overfull(double *x, int32_t n, int32_t bins);

/* search.c */
/** Raises a lower bound in steps from `step` on as far as it can be. */
double berth_i_destruct_raise(berth_i_destruct *b,
                              const berth_i_destruct_dag *g, double low,
                              double step);

/* destructive.c */
typedef struct berth_i_destruct_plan {
  unsigned rules;
  int32_t nodes, part_nodes; /* of a search of the whole, of a part at most */
  int64_t work;
  int32_t ops;           /* nothing is done for more */
  bool part_loads;       /* interval loads for heads and tails, too */
  double step;           /* relative to the bound */
  int32_t window;        /* ops of parts at most; 0: all that come before */
} berth_i_destruct_plan;
typedef struct berth_i_destruct_result {
  double clusters, intervals; /* s; NaN: too many ops, or not requested. intervals is not smaller */
  int64_t work;
} berth_i_destruct_result;
extern const berth_i_destruct_plan berth_i_destruct_cheap, berth_i_destruct_windows,
    berth_i_destruct_thorough;
/** What the paths between all pairs take, in items handled. */
double berth_i_destruct_path_steps(int32_t ops, int32_t edges);
typedef struct berth_i_destruct_scope {
  const berth_i_kinds *kinds; /* with memory; NULL: memory plays no part */
  const int32_t *part;        /* [devices] 0 to parts - 1: parts count as one device that does as
                                 much at once as the largest has devices, and transfers between them
                                 alone take time; NULL: each device by itself */
  int32_t parts;
  berth_links links;
  const double *price;        /* [collectives] s at least; NULL: none takes any */
} berth_i_destruct_scope;
/** @param scope NULL: devices, no memory */
berth_status berth_i_destructive_bound(const berth_i_units *u, const berth_i_destruct_scope *scope,
                                const berth_i_destruct_plan *plan, berth_i_destruct_result *out);

/* cut.c */
extern const berth_i_destruct_plan berth_i_destruct_cut, berth_i_destruct_cheap_cut;
/** @param whole its parts do not count
 *  @param plan each cut has half the work of the one before
 *  The best bound over at most `most` ways to cut the devices into parts where transfers take a
 *  step; NaN: there is none. */
berth_status berth_i_destruct_cuts(const berth_i_units *u, const berth_i_destruct_scope *whole,
                               const berth_i_destruct_plan *plan, int32_t most, double *out);

#endif
