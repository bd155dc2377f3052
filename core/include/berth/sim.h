/* Step simulator: one event loop, memory accountant, timeline.
 *
 * Nouns:
 *  - options: links, dispatch, send, memory, order; presets follow published simulators;
 *  - result: one run with all that it records, immutable, with counted references;
 *  - simulator (berth_sim): reusable scratch for many runs on one priced graph, also of moves
 *    against a base, which are evaluated from a log of the base. Used by one thread at a time.
 * Simulated time is exact in quanta, if a quantum is given, else in seconds; same options and seed,
 * same times on every machine. */
#ifndef BERTH_SIM_H
#define BERTH_SIM_H

#include <berth/cost.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who shares what while tensors cross. */
typedef enum berth_links {
  BERTH_LINKS_FREE,    /* no contention: every transfer takes its alpha-beta time, all in
                          parallel */
  BERTH_LINKS_CHANNEL, /* one half-duplex channel per device, for sends and receives together */
  BERTH_LINKS_DUPLEX,  /* one channel in and one out per device */
  BERTH_LINKS_PAIR,    /* one channel per ordered pair of devices */
  BERTH_LINKS_ROUTE,   /* a transfer holds every link of its route for its whole time: all of them
                          or none, and the oldest request that can start goes first */
  BERTH_LINKS_FAIR     /* a transfer waits for the latency of its route, then shares the bandwidth
                          of its links with all that cross them, max-min fairly, anew at each
                          instant at which one starts or ends; alone it takes its alpha-beta time.
                          Noise and the cost model's factor stretch both parts. Without quantum, and
                          without a transfer function in the cost model */
} berth_links;

/* Collectives. One begins when its last member has ended and it has what it needs of the links; all
 * its consumers go on when it ends, after the time that the cost model gives for the devices of its
 * members (on one device: at once, unless the model's function prices it; it needs nothing then).
 * In time, noise and quanta count as for transfers. What it needs and uses of the links:
 *   FREE            nothing;
 *   CHANNEL, DUPLEX all channels of all its devices, for its whole time, like a transfer with many
 *                   ends: of all requests the oldest that can start goes first. With split windows:
 *                   one window on all of them, behind those given out before;
 *   PAIR            the channels of the ordered pairs of devices between which its algorithm sends
 *                   (by LINES or a function: RING), behind what was given out before;
 *   ROUTE           all links of the routes of these pairs, as a transfer needs those of its own;
 *   FAIR            begins at once. When its latency is over, each of these pairs becomes a flow of
 *                   the bytes that cross between the two in all, which shares links as transfers
 *                   do; it ends with the last of them, but not before its price. So alone it takes
 *                   its price, unless its own flows share a link. By LINES or a function: its
 *                   price, without flows.
 * Memory: from its start to its end each of its devices, if they are several, holds `bytes`
 * (ALLGATHER: times the devices; BARRIER: nothing) as workspace, under all policies but NONE. Of
 * peaks and of running out it counts as its member there with the lowest id. */

/** What collectives on several devices wait for. */
typedef enum berth_collectives {
  BERTH_COLLECTIVES_LINKS, /* what they need of the links, as above */
  BERTH_COLLECTIVES_QUEUE  /* one queue for all collectives of the graph: one after another, in the
                              order in which they can begin; they use nothing of the links, and
                              transfers ignore them (TAG's published simulator) */
} berth_collectives;

/* Communication ops (BERTH_OP_COMMUNICATION) run beside what their device computes: each begins as
 * soon as its inputs are on its device and takes its time, any number at once; they wait for no
 * device, and none waits for them. With PULL their inputs are fetched as soon as the last producer
 * has ended. They are no computing: busy times, exposed and overlapped communication leave them
 * out, and their place in a sequence means nothing. Memory, slack, chains and limits treat them as
 * any op. */

/** Which of the ready ops an idle device runs next. All but PLANNED are work-conserving. Ties: the
 *  op that became ready first. Events order by (time, insertion); dispatches that compare ops
 *  choose when the other events of the instant are done. */
#define BERTH_DISPATCHES(X)                                                                      \
  X(FIFO, fifo)               /* ready first */                                                  \
  X(LIGHT_FIRST, light_first) /* shortest op time on this device, as priced: noise is unknown */ \
  X(LIGHT_CLASS, light_class) /* ops below all work / devices / 100, then the others */          \
  X(BLEVEL, blevel)           /* largest b-level (mean op times, mean transfers) */              \
  X(PLANNED, planned)         /* exactly `sequence`; the device waits for its next op */         \
  X(LIFO, lifo)               /* ready last */                                                   \
  X(RANDOM, random)           /* uniform, seeded */                                              \
  X(STATIC, static)           /* least `rank` */
#define BERTH_DISPATCH_VALUE(NAME, symbol) BERTH_DISPATCH_##NAME,
typedef enum berth_dispatch { BERTH_DISPATCHES(BERTH_DISPATCH_VALUE) } berth_dispatch;
#undef BERTH_DISPATCH_VALUE

typedef enum berth_send {
  BERTH_SEND_PUSH, /* a tensor leaves as soon as it is produced, to every device with a consumer, in
                      consumer order */
  BERTH_SEND_PULL  /* a device picks an op whose producers have finished, fetches what is missing
                      and waits for it */
} berth_send;

/** What stays in memory, and until when. Parameters and workspace count in all but NONE: parameters
 *  all the time, workspace from the start of an op to its end. A tensor is held at home, on its
 *  producer's device, from the producer's start, and as a copy on every other device with a reader
 *  from the start of its transfer. It is freed when the last thing that it waits for ends; one that
 *  is not read and no twin needs is freed at the end of its producer.
 *
 *  What is held from a to b counts at the instants a <= t < b, and at a if b is a. So of one
 *  instant, on every device, all that ends is taken off before anything that starts is charged, and
 *  what takes no time counts at its instant; numbering and the order of events within an instant
 *  play no part. More than a device holds is what passes its limit by over 1e-12 of it. */
typedef enum berth_memory_policy {
  BERTH_MEMORY_NONE,      /* not accounted */
  BERTH_MEMORY_INFERENCE, /* at home a tensor waits for its producer, its readers there and its
                             sends (with split windows: the sender's window); a copy waits for the
                             readers on its device */
  BERTH_MEMORY_TRAINING,  /* ... and at home also for the backward twins of its producer and of its
                             readers there; a copy also for those of the readers on its device, but
                             not for the producer's; on whatever device a twin runs. Of two twins
                             the backward one is the later in topological order */
  BERTH_MEMORY_TOTAL      /* nothing is freed but workspace */
} berth_memory_policy;

typedef enum berth_event_order {
  BERTH_ORDER_EVENT, /* discrete events by (time, insertion) */
  BERTH_ORDER_READY, /* ops handled by (ready time, topological number), as Baechi's published
                        simulator does */
  BERTH_ORDER_TASK   /* ends of tasks by (time, number), as TAG's published simulator does: ops by
                        id, then edges (by producer, output and consumer), then collectives by id.
                        What an op sends to its own device is a task of no time of its own. All that
                        a task takes, device, links or queue, is given out the moment that it is
                        ready: so with dispatch FIFO, send PUSH, links ROUTE only with `reserve`.
                        With a quantum, ops may take no time, too */
} berth_event_order;

typedef struct berth_sim_options {
  berth_links links;          /* default FREE */
  berth_dispatch dispatch;    /* default FIFO */
  berth_send send;            /* default PUSH */
  berth_memory_policy memory; /* default TRAINING if any op has a twin, else INFERENCE; set by
                                 _default(NULL) to INFERENCE */
  double param_multiple;      /* parameter bytes are multiplied by it (gradients, optimiser state);
                                 default 1 */
  berth_event_order order;    /* default EVENT */
  berth_collectives collectives; /* default LINKS */
  int reserve;                /* ROUTE: 1: a transfer, or a collective on links, is given all links
                                 of its routes when it is ready, from the moment on at which the
                                 last of them is free: in the order of becoming ready, even if links
                                 are idle meanwhile (published TAG rule); 0 (default): oldest
                                 request that can start */
  int split_windows;          /* channel and duplex: 1: a send holds the sender, then the receiver,
                                 each for its own window (published Baechi rule); 0 (default): both
                                 at once, oldest request that can start goes first */
  int preempt;                /* 1: a device drops to a better ready op at each event, by `dispatch`
                                 (LIGHT_FIRST, LIGHT_CLASS, BLEVEL, LIFO or STATIC; of whole ops,
                                 not of what is left of them); the rest of the op stays ready */
  double quantum;             /* s; > 0: op times become max(1, round(t / quantum)) quanta (order
                                 TASK: at least 0), transfers round(t / quantum), where halves round
                                 to even; no time may pass 2^53 quanta; default 0 */
  double noise;               /* sigma, 0 to 10, of a multiplicative lognormal of median 1 on every
                                 op and transfer; default 0. A factor depends on the seed and the
                                 op, or tensor and destination, not on the order of events */
  uint64_t seed;              /* for RANDOM and noise; default 0 */
  const double *rank;         /* [ops] for STATIC */
  const int32_t *sequence;    /* [ops] for PLANNED: ops in execution order; devices take theirs from
                                 it in this order. Must not contradict the graph on any device */
} berth_sim_options;

/** Names and meanings of the values of each enum, in order, NULL-terminated. */
const berth_choice *const *berth_link_choices(void);
const berth_choice *const *berth_dispatch_choices(void);
const berth_choice *const *berth_memory_choices(void);
const berth_choice *const *berth_sim_presets(void);
const berth_option_table *berth_sim_option_table(void);
/** @param g decides the memory policy by its twins; NULL: INFERENCE */
berth_sim_options berth_sim_default(const berth_graph *g);
/** "doppler": free, fifo, push, no memory. "baechi-tf": channel with split windows, order READY, 1
 *  us quantum, memory TOTAL. "baechi-pt": free, fifo, push, memory TOTAL. "tag": route with
 *  reservations, one queue of collectives, order TASK, 1 us quantum, memory INFERENCE. Others
 *  BERTH_EINVAL, which lists them.
 *
 *  "tag" departs from TAG's published code: a tensor crosses once to each device that reads it, not
 *  once for each reader; parameters are there all the time, outputs from the start of their op and
 *  copies from the start of their transfer (there: from the end of either), workspace counts;
 *  utilisation is a fraction; ties, which it leaves to its heap, go by the number of the task; a
 *  collective on one device waits for nothing. */
berth_status berth_sim_preset(berth_ctx *ctx, const char *name, berth_sim_options *out);

/* ---- once, with everything recorded ---- */

typedef struct berth_result berth_result; /* immutable */

typedef struct berth_transfer {
  int32_t tensor, src, dst;
  double start, finish; /* s */
} berth_transfer;

/** The first instant at which memory ran out, and the lowest of the devices on which it did. op is
 *  the one whose start, or whose arriving input, brought most at that instant (before all: the one
 *  with most parameters); ties: the lowest id. */
typedef struct berth_oom {
  int32_t op, device;
  double time;      /* s */
  double shortfall; /* bytes over the limit at that instant */
} berth_oom;

/**
 * @param device [ops] device of each op
 * @param opts NULL: berth_sim_default(graph)
 * @return BERTH_OK; BERTH_EINVAL (device out of range, op unsupported or pinned elsewhere, split
 *         colocation group: each named; bad options: orders READY and TASK require FIFO and PUSH,
 *         without preempt, which requires a dispatch that compares; a sequence that deadlocks,
 *         naming the op that waits; times that cannot be counted, naming the op or tensor that
 *         would come in at inf s or beyond 2^53 quanta);
 *         BERTH_EUNREACHABLE (names both devices and the tensor);
 *         BERTH_EUNREACHABLE also for a collective, BERTH_EUNSUPPORTED (order READY, and
 *         collectives or communication ops; order TASK, and communication ops); BERTH_ENOMEM;
 *         BERTH_EINTERRUPT;
 *         what the cost model's function for collectives returned.
 * Running out of memory is a result, not an error.  O((ops + edges) log)
 */
berth_status berth_simulate(berth_cost *cost, const int32_t *device, const berth_sim_options *opts,
                            berth_result **out);
void berth_result_retain(berth_result *r);
void berth_result_release(berth_result *r);
berth_cost *berth_result_cost(const berth_result *r); /* borrowed */
/** The run's options, defaults filled in; rank and sequence are NULL. Lives as long as r. */
const berth_sim_options *berth_result_options(const berth_result *r);

double berth_result_makespan(const berth_result *r);
const int32_t *berth_result_device(const berth_result *r);  /* [ops] */
const double *berth_result_start(const berth_result *r);    /* [ops] s */
const double *berth_result_finish(const berth_result *r);   /* [ops] s */
const double *berth_result_busy(const berth_result *r);     /* [devices] s computing */
const double *berth_result_peak(const berth_result *r);     /* [devices] bytes */
const double *berth_result_peak_time(const berth_result *r);/* [devices] s */
/** In order of start.  @return count */
int32_t berth_result_transfers(const berth_result *r, const berth_transfer **out);
typedef struct berth_collective_run {
  double start, finish;   /* s */
  double seconds;         /* s by the cost model, without noise, quantum and contention */
  double bytes;           /* per member */
  int32_t n_devices;      /* different ones */
  int32_t last;           /* the member that ended last */
  berth_collective_algorithm algorithm;
} berth_collective_run;
/** By id.  @return count */
int32_t berth_result_collectives(const berth_result *r, const berth_collective_run **out);
/** In the order of its members.  @return count */
int32_t berth_result_collective_devices(const berth_result *r, int32_t collective,
                                        const int32_t **devices);

/** Per link of the topology, along the routes of the transfers, and of the pairs of devices between
 *  which the algorithms of collectives send (by LINES or a function: RING), whatever `links` is.
 *  [links] bytes; s with at least one of them on it */
const double *berth_result_link_bytes(const berth_result *r);
const double *berth_result_link_busy(const berth_result *r);
/** The most transfers and collectives at once on each link, as above; what takes no time does not
 *  count, what ends goes before what starts. FAIR: from the start of the latency on.
 *  [links]; computed at the first call.  @return NULL: out of memory */
const int32_t *berth_result_link_sharing(const berth_result *r);

/** Communication: something is under way, a transfer or a collective on several devices, from its
 *  start to its finish (what waits for links is not under way). For a device: a transfer to it, or
 *  a collective with it. The step: any. It is exposed while the device (the step: no device at all)
 *  does not compute, else overlapped. */
typedef struct berth_overlap {
  double communication; /* s: exposed + overlapped */
  double exposed, overlapped;
} berth_overlap;
/** [devices + 1], the step last; computed at the first call.  @return NULL: out of memory */
const berth_overlap *berth_result_overlap(const berth_result *r);
/** @return 1 and fills out if memory ran out, else 0 */
int berth_result_oom(const berth_result *r, berth_oom *out);
/** What device holds over time, as accounted. The first entry is its parameters, at time 0, before
 *  anything starts. Then each instant at which that changes has one entry, what is held from it on;
 *  or two, if some of what starts at it takes no time: what is held at it, then what stays. So the
 *  largest entry is exactly berth_result_peak, and the first of that size is at
 *  berth_result_peak_time.
 *  @param time through it: [count] s, never falling @param bytes through it: [count]; both valid as
 *         long as r
 *  @return count; 0 if memory was not accounted or there is no such device */
int32_t berth_result_memory(const berth_result *r, int32_t device, const double **time,
                            const double **bytes);
/** Ops whose parameters, workspace, outputs or received inputs are held on device at its peak, in
 * id order.
 *  @param bytes through it: what each holds.  @return count; computed while simulating */
int32_t berth_result_peak_ops(const berth_result *r, int32_t device, const int32_t **ops,
                              const double **bytes);
/** Chain of ops that sets the makespan: each waited for the one before it (its tensor, its device,
 *  or the last member of a collective); a collective that ends after all ops is represented by its
 *  last member. Source first.
 *  @return count */
int32_t berth_result_critical(const berth_result *r, const int32_t **ops);
/** How much later each op could finish, in this schedule's order on devices and channels, without a
 *  longer makespan.
 *  Links FAIR: with every transfer taking as long as it did.
 *  [ops] s; computed at the first call.  @return NULL: out of memory */
const double *berth_result_slack(const berth_result *r);

/* ---- many times ---- */

/** Keeps its arrays between runs: no allocation in berth_sim_run. */
typedef struct berth_sim berth_sim;

typedef struct berth_sim_summary {
  double makespan;
  double peak;     /* bytes, largest over devices */
  int32_t oom_op;  /* BERTH_NONE: memory held */
} berth_sim_summary;

berth_status berth_sim_new(berth_cost *cost, const berth_sim_options *opts, berth_sim **out);
void berth_sim_release(berth_sim *sim);
/** Errors as berth_simulate. A simulator does one thing at a time: run, base, try or acceptance
 *  from within its own run, by a function of the cost or by the hook, is refused (EINVAL). */
berth_status berth_sim_run(berth_sim *sim, const int32_t *device, berth_sim_summary *out);
/** The same, but no further than it takes to see that the makespan is above limit: until an op
 *  starts from which the rest, without transfers but with collectives as priced, takes too long
 *  (with noise: until an op starts too late). Then the makespan of `out` is a lower bound above
 *  limit, and its peak and oom_op are those up to there. Bounds add in another order than runs:
 *  they may be above the makespan itself by rounding (less than 1e-9 of it); a run within the limit
 *  is never cut for that.
 *  @param limit s; INFINITY: as berth_sim_run  @return also BERTH_EINVAL (NaN, negative) */
berth_status berth_sim_run_limited(berth_sim *sim, const int32_t *device, double limit,
                                   berth_sim_summary *out);
/** Of the last run (or base, or try): the ops that set the makespan, the last one first; each
 *  waited for the next, its device or a tensor. @param ops [ops] out @return their number; 0: the
 *  run was cut short, or failed, or there was none */
int32_t berth_sim_chain(const berth_sim *sim, int32_t *ops);

/** Ops whose ends this simulator has simulated, in all runs: the work done, whatever the
 * machine. */
int64_t berth_sim_ended(const berth_sim *sim);

/* ---- what changes when few ops move -------------------------------------------------------
 * A base, and trials that differ from it by the devices of some ops. A trial gives to the bit what
 * a run of the changed placement gives, and what is before a moved op matters is not simulated
 * again:
 *   A. Links FREE, send PUSH, dispatch FIFO, order EVENT, without noise, preemption, collectives
 *      and communication ops: a try goes on from just before the first event at which a moved op
 *      matters: at its place in the queue of the device that it leaves or comes to. Time: that of a
 *      run for what comes after, and O(inputs) for each op that starts there. Memory: some 160
 *      bytes an op, 4 an edge. If memory is accounted, that is done as in B, and only if the
 *      makespan is not above the limit.
 *   B. Order EVENT, all other options, from 5 ops on: a try goes on from a copy of the state of the
 *      base, the last one before the first end of a producer of a moved op (then it is decided what
 *      is sent where; PLANNED: nor once the op has had its turn on one of its two devices;
 *      TRAINING: nor after the end of a backward twin that its tensors wait for). There are up to
 *      32 copies, evenly spread by ends of ops, made on the way when tries pass through the base's
 *      part of their runs. Time: copying the state, some per cent of a run, and that of a run for
 *      what comes after. Memory: some 64 MB for all copies, or two states if these take more. If
 *      ops with parameters move, bytes must be whole numbers, and memory must not have run out on
 *      their devices before; else it goes on from earlier.
 *   C. Orders READY and TASK, fewer ops, collectives priced by a function, and moves of an op that
 *      waits for nothing (it matters from the start): a trial is a run. */

/** Runs the placement, from which tries start. Errors as berth_sim_run; then there is no base. */
berth_status berth_sim_base(berth_sim *sim, const int32_t *device, berth_sim_summary *out);
/**
 * The base with some ops on other devices; the base stays.
 *
 * @param op, device [n] each op's device; of several for one op the last counts
 * @param limit s; INFINITY: none. As in berth_sim_run_limited; besides, in A and B, it stops when
 *        some device has more left to compute than there is time, or when the path from an op to
 *        the end takes too long with the transfers of this placement (not with noise or
 *        collectives). If cut short, the makespan of `out` is a lower bound above limit, peak is 0
 *        and oom_op BERTH_NONE
 * @return as berth_sim_run; BERTH_EINVAL also: no base, no such op, limit NaN or negative. The base
 *         stays
 */
berth_status berth_sim_try(berth_sim *sim, int32_t n, const int32_t *op, const int32_t *device,
                           double limit, berth_sim_summary *out);
/** The last try becomes the base. @return BERTH_EINVAL: there is none since the last base or
 *  acceptance, it failed, or it was cut short */
berth_status berth_sim_accept(berth_sim *sim);

/**
 * k placements on threads; the same bytes for any number of threads (run i uses seed + i). With
 * collectives that a function prices: on the calling thread.
 *
 * @param device [k x ops] row-major  @param threads 0: one per core
 * @param out [k]
 * @return as berth_simulate, for the lowest failing row, whose number is in the message
 */
berth_status berth_sim_batch(berth_cost *cost, const berth_sim_options *opts, int32_t k,
                             const int32_t *device, int32_t threads, berth_sim_summary *out);

#ifdef __cplusplus
}
#endif
#endif
