/* What the files of this room share: the plan (options and graph, prepared once), the state
 * (scratch of one run), the trace.
 *
 * Simulated time is counted in units: quanta with a quantum (whole numbers, so ties are exact),
 * else seconds.
 *
 * An edge is a (tensor, consumer) pair; edges are numbered by producer, then in output order, then
 * in consumer order. The first consumer of a tensor on each remote device leads: the tensor's copy
 * on that device has the number of that edge. */
#ifndef BERTH_SIM_INTERNAL_H
#define BERTH_SIM_INTERNAL_H

#include "base/plain_heap_internal.h"
#include "plan_internal.h"

/* ---- state ---- */

/** An op that becomes ready at (time, seq); in the ready sets time is the dispatch key and seq the
 * place. */
typedef struct berth_i_ready {
  double time;
  uint32_t seq;
  int32_t op;
} berth_i_ready;

typedef struct berth_i_sim_op {
  double time;     /* latest arrival of an input so far; with its insertion number, lexicographic.
                      Plain: at last its end */
  double work;     /* what is left to compute */
  uint32_t seq;
  int32_t missing; /* inputs whose arrival is not known yet; while a pulling device fetches: tensors
                      under way. -1: it has started; plain: it has ended */
  int32_t device;
  int32_t last;    /* producer of the latest input */
} berth_i_sim_op;

typedef enum berth_i_phase { BERTH_I_IDLE, BERTH_I_FETCHING, BERTH_I_RUNNING } berth_i_phase;

/** A device owns the slice [base, end) of each of the arrays pending, over, ready and order. */
typedef struct berth_i_sim_device {
  int32_t head, tail;    /* pending ops, sorted; PLANNED: head is the next in order */
  int32_t n_over;        /* more of them, as a heap */
  int32_t base, end;
  int32_t op;            /* on the device now; BERTH_NONE */
  int32_t prev;          /* the op before it */
  int32_t n_ready;       /* ready set, for choosy dispatch */
  berth_i_phase phase;
  uint32_t place;        /* of the op on the device: its key and turn in the ready set */
  double key;
  double since;          /* start of the present stretch of computing */
  double free_at;        /* end of the last stretch */
  double due;            /* end of the present phase; INFINITY: until a transfer ends */
  uint64_t due_seq;
  double busy;
} berth_i_sim_device;

/** When a slot's event is due. Times are not negative, so their bits order like the numbers. */
typedef struct berth_i_when {
  uint64_t time;         /* bits of a double; of INFINITY: never */
  uint64_t seq;
} berth_i_when;

/** Slots hold the next event of each source: devices, then (contended) senders or, under ROUTE and
 *  FAIR, two for all transfers (ROUTE: ends, none; FAIR: ends of latencies, ends of flows), then
 *  one for all collectives, if there are any, then one for all communication ops, if there are any,
 *  then the pump of the links. */
typedef struct berth_i_slots {
  berth_i_when *at;      /* [n], padded to an even number */
  int32_t *winner;       /* [2 * width] tournament tree, for many slots; NULL: scanned */
  int32_t n, width;
} berth_i_slots;

/** Events of one instant: first these by insertion, then waiting transfers start, then idle devices
 * choose. */
#define BERTH_I_PUMP ((uint64_t)1 << 40)
#define BERTH_I_CHOOSE ((uint64_t)1 << 41)

typedef struct berth_i_route berth_i_route;
typedef struct berth_i_fair berth_i_fair;

typedef struct berth_i_links {
  double *until;                /* closed form: [channels] end of the last window; else NULL */
  uint8_t *out_busy, *in_busy;  /* contended: [n_devices]; the same array for CHANNEL */
  int32_t *head, *tail;         /* [n_devices^2] oldest and youngest request of each ordered pair */
  int32_t *next;                /* [n_edges] */
  uint32_t *age;                /* [n_edges] */
  int32_t *carried;             /* [n_devices] copy that the sender is sending */
  int32_t *from_waiting, *to_waiting; /* [n_devices] requests */
  int32_t *touched;             /* [n_devices] whose channels or queues changed in this instant */
  int32_t *choice;              /* [n_devices] oldest request of a touched device that could
                                   start */
  uint8_t *is_touched;
  int32_t n_touched;
  uint32_t n_requests;
  berth_i_route *route;         /* ROUTE and FAIR: one of these, and nothing of the above */
  berth_i_fair *fair;
} berth_i_links;

/** A collective in a run. */
typedef struct berth_i_sim_collective {
  double units;     /* units: as priced, with noise */
  double latency;   /* units: of that, before its flows begin (FAIR) */
  double factor;    /* FAIR: of the bytes of its flows; 0: it has none */
  double seconds;   /* s: as priced, without noise */
  double start, end;/* units; end: not before, while flows are under way */
  double after;     /* units: limited runs: least time from its end to the end of all */
  int32_t missing;  /* members still to end */
  int32_t last;     /* the one that ended last */
  int32_t n_devices;/* different ones: its participants */
  int32_t flows;    /* FAIR: under way, the wait for the latency is one */
  uint32_t age;     /* of its request */
  berth_collective_algorithm algorithm;
  uint8_t late;     /* FAIR: its time is over, flows are under way */
} berth_i_sim_collective;

/** All collectives of a run; all NULL if the graph has none. */
typedef struct berth_i_sim_collectives {
  berth_i_sim_collective *one; /* [n_collectives] */
  int32_t *device;             /* [n_participants] */
  int32_t *seen;               /* [n_devices] scratch: number of the last collective with the device
                                  last */
  int32_t *member_device;      /* [most members] scratch for the cost's function; else NULL */
  berth_i_ready *under_way;    /* [n_collectives] by end */
  int32_t *waiting;            /* [n_collectives] CHANNEL, DUPLEX: requests, oldest first */
  int32_t n_under_way, n_waiting;
  double queue_free;         /* units: QUEUE: end of the last one that began */
  double *tail;              /* [n_ops] units: limited runs: as the plan's, with the collectives as
                                priced */
} berth_i_sim_collectives;

typedef struct berth_i_memory_event {
  double time;
  int32_t thing; /* op, n_ops + participant, or ~copy */
  bool starts;
} berth_i_memory_event;

/** What a device holds over time: what berth_result_memory reports. */
typedef struct berth_i_levels {
  double *time, *bytes; /* [n] s; bytes */
  size_t n, time_cap, bytes_cap;
} berth_i_levels;

typedef struct berth_i_memory {
  double *used, *peak, *peak_time; /* [n_devices] */
  uint32_t *peak_clock;            /* [n_devices] */
  uint32_t clock;                  /* three ticks an instant */
  int32_t *home_left;              /* [n_tensors] producer, readers, sends and twins still to end;
                                      NULL: nothing is freed */
  int32_t *copy_left;              /* [n_edges] readers and twins */
  uint8_t *op_state, *copy_here;   /* [n_ops + n_participants], [n_edges] as far as decided */
  double present;                  /* the instant of these changes: */
  int32_t *starting, *ending;      /* [n_ops + n_edges + n_participants] */
  int32_t n_starting, n_ending;
  berth_i_memory_event *event;     /* heap of future changes */
  int32_t n_events;
  bool over;                       /* some device has more than it holds */
  /* clocks, if traced; homes are born with their op */
  uint32_t *op_born, *op_died, *home_died, *copy_born, *copy_died;
  berth_i_levels *levels;          /* [n_devices] if traced */
  berth_i_pool *kept;              /* in which they grow */
  bool lost;                       /* a level was dropped: no memory */
  berth_oom oom;
} berth_i_memory;

/** What a run leaves behind. The log names stretches of computing (op), collectives (n_ops + id)
 *  and transfers (~copy) in the order in which they were decided; that is a topological order of
 *  all that the schedule keeps. Times in units while running. */
typedef struct berth_i_trace {
  double *start, *finish;   /* [n_ops] */
  int32_t *cause;           /* [n_ops] the op that it waited for; BERTH_NONE */
  int32_t *log;
  berth_transfer *sent;     /* [n_sent] as in the log */
  double *window;           /* [n_edges] split windows: how long a copy holds each channel; else
                               NULL */
  double *stretch;          /* preemption: start and end of each stretch, as in the log; else NULL:
                               each op has one */
  int32_t n_log, n_sent, n_coll_logged;
} berth_i_trace;

/** Plain runs that can be taken up again note each start (op) and each end (~op), with the
 * insertion number that came next. */
typedef struct berth_i_notes {
  int32_t *at;              /* [2 * n_ops] */
  uint32_t *seq;            /* [2 * n_ops] */
  double *left;             /* [n_devices] units of work that has not started: the run is cut short
                               when it cannot end in time */
  const double *tail;       /* [n_ops] units from the start of an op to the end of all, at least:
                               the same */
  int32_t n;
} berth_i_notes;

/** Runs that are base or trial of checkpoints: which ended, in which order; and what more can cut
 * them short. */
typedef struct berth_i_watch {
  int32_t *ended;           /* [n_ops + n_collectives] by place: op, or n_ops + collective */
  double *left;             /* [n_devices] as in notes; with a limit only */
  const double *tail;       /* [n_ops] as in notes; NULL: the plan's, or the collectives' */
} berth_i_watch;

enum { BERTH_I_COPY_NONE, BERTH_I_COPY_SENT, BERTH_I_COPY_THERE };

/** Communication ops in a run: those that wait for their time to start or to end. */
typedef struct berth_i_async_ops {
  berth_i_ready *next;      /* [n_async] heap: by (time, seq) of the event */
  uint8_t *phase;           /* [n_ops] berth_i_phase */
  int32_t n_next;
  int32_t last;             /* the one that ended last, of several the lowest; BERTH_NONE */
  double last_end;
} berth_i_async_ops;

/** Order TASK: tasks whose ends are known, heaps by (end, number): op, n_ops + edge, n_ops +
 * n_edges + collective. */
typedef struct berth_i_tasks {
  berth_i_ready *later, *now; /* [n_ops + n_edges + n_collectives] ends in the future; in this
                                 instant */
  int32_t n_later, n_now;
} berth_i_tasks;

typedef struct berth_i_sim_state {
  berth_i_pool pool;
  berth_i_pool kept;            /* what a result takes over: trace, lead, participants,
                                   levels */
  berth_i_sim_op *ops;          /* [n_ops] */
  berth_i_sim_device *dev;      /* [n_devices] */
  berth_i_slots slots;
  berth_i_ready *pending, *over, *ready; /* [n_ops] */
  int32_t *order;                        /* [n_ops] PLANNED: the sequence, by device */
  int32_t *group_device;                 /* [n_groups] */
  uint32_t seq, place;
  int32_t done;                 /* ops and collectives that have ended */
  double now;
  double limit;                 /* units: the run is cut short when an op starts so late that the
                                   end would be above; INFINITY */
  bool cut;                     /* ... it was */
  uint64_t seed;
  berth_rng rng;
  berth_i_fault fault;
  berth_i_notes *notes;         /* borrowed; only for berth_i_sim_resume */
  berth_i_watch *watch;         /* borrowed; NULL in other runs */
  /* not in plain runs */
  int32_t *lead;                /* [n_edges] copy that the consumer reads; BERTH_NONE: it is
                                   local */
  int32_t *lead_of;             /* [n_devices] */
  double *arrival;              /* [n_edges] of each copy */
  uint8_t *copy;                /* [n_edges] */
  berth_i_heap queue;           /* READY: topological numbers by ready time */
  berth_i_tasks tasks;          /* TASK */
  berth_i_links links;
  berth_i_sim_collectives coll;
  berth_i_async_ops async;
  berth_i_memory *memory;       /* NULL: NONE */
  berth_i_trace *trace;         /* NULL: not recorded */
} berth_i_sim_state;

/* The parts of a state take their arrays from its pools, whose status state_new checks. */

berth_status berth_i_sim_state_new(const berth_i_sim_plan *p, berth_i_sim_state **out);
/** With arrays to record in; they belong to the trace. */
berth_status berth_i_sim_trace_new(const berth_i_sim_plan *p, berth_i_sim_state *s);
void berth_i_sim_state_release(const berth_i_sim_plan *p, berth_i_sim_state *s);

/** One run from scratch.  @param poll call the interrupt hook
 *  @return false: s->fault has the reason */
bool berth_i_sim_execute(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device,
                         uint64_t seed, bool poll);
/** The same, cut short as soon as the makespan is certain to be above limit (units), if the plan
 * has tails. */
bool berth_i_sim_execute_limited(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                 const int32_t *device, uint64_t seed, bool poll, double limit);
/** Goes on from a plain state with notes and an order of dispatch that compares nothing, until all
 *  has ended, nothing more happens or the run is cut short. */
void berth_i_sim_resume(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Order EVENT: after a reset, then as far as `target` ends of ops and collectives, or less. */
void berth_i_sim_begin(const berth_i_sim_plan *p, berth_i_sim_state *s);
void berth_i_sim_run_until(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t target);
/** What set the makespan of the last run, which was not cut short: ops [n_ops], the last one first.
 * @return their number */
int32_t berth_i_sim_chain(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t *ops);
bool berth_i_sim_reset(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device,
                       uint64_t seed);
/** Finds why the run stopped short: there is a fault afterwards. */
void berth_i_sim_stuck(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Sets the fault; false, for the caller to return. */
bool berth_i_sim_refuse(berth_i_sim_state *s, berth_i_fault_kind kind, int32_t op, int32_t device,
                        int32_t other);
/** Baechi's order. @return as berth_i_sim_execute */
bool berth_i_sim_ready_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll);
/** TAG's order. @return as berth_i_sim_execute */
bool berth_i_sim_task_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll);
void berth_i_tasks_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_tasks *x);

/* ---- transfers ---- */

/** Factor of op (or transfer) noise: depends on the seed and the thing only, not on the order of
 * events. */
double berth_i_sim_noise(const berth_i_sim_plan *p, const berth_i_sim_state *s, uint64_t stream);
double berth_i_transfer_noise(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t tensor,
                              int32_t dst);
double berth_i_copy_units(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t copy);
double berth_i_transfer_units(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t tensor,
                              int32_t src, int32_t dst);
/** Needs a trace.  @param sent when the sender's channel is free again */
void berth_i_links_log(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy, double start,
                       double sent, double arrival);

/* ---- links ---- */

void berth_i_links_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_links *l);
/** Closed form: windows. */
size_t berth_i_links_channels(const berth_i_sim_plan *p);
void berth_i_links_reset(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Closed form: sends the copy not before `from`; returns and keeps its arrival. */
double berth_i_links_send(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy,
                          double from);
/** Contended: queues it. */
void berth_i_links_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy);
/** Starts what can start now, oldest first. */
void berth_i_links_pump(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Ends what the sender sends (ROUTE, FAIR: what is next in that slot); returns the copy that has
 * arrived, or BERTH_NONE. */
int32_t berth_i_links_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t sender);

berth_i_route *berth_i_route_new(const berth_i_sim_plan *p, berth_i_pool *pool);
void berth_i_route_copy(const berth_i_sim_plan *p, berth_i_route *dst, const berth_i_route *src);
void berth_i_route_reset(const berth_i_sim_plan *p, berth_i_route *r);
void berth_i_route_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy);
void berth_i_route_pump(const berth_i_sim_plan *p, berth_i_sim_state *s);
int32_t berth_i_route_end(const berth_i_sim_plan *p, berth_i_sim_state *s);

berth_i_fair *berth_i_fair_new(const berth_i_sim_plan *p, berth_i_pool *pool);
/** @param moved other copies may come, so every class needs room anew: as leads, devices and
 *        collectives of dst are */
void berth_i_fair_copy(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                       const berth_i_sim_state *src, bool moved);
/** Needs the copies of the placement. */
void berth_i_fair_reset(const berth_i_sim_plan *p, berth_i_sim_state *s);
void berth_i_fair_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy);
void berth_i_fair_pump(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** @param which 0: a latency, 1: a flow */
int32_t berth_i_fair_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t which);

/* ---- collectives ---- */

berth_status berth_i_sim_collectives_plan(berth_i_sim_plan *p);
void berth_i_sim_collectives_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_pool *kept,
                           berth_i_sim_collectives *x);
/** Prices all for the placement, before links and memory are reset.  @return false: a fault */
bool berth_i_sim_collectives_reset(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Before it was requested: members have moved.  @return false: a fault */
bool berth_i_sim_collective_price_again(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
/** Least times from the start of each op to the end of all, for limits: as priced. */
void berth_i_sim_collectives_tails(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** An op has ended: those whose last member it was are requested. */
void berth_i_sim_collectives_leave(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
/** It begins at `start`, now or later, and holds all that it needs. */
void berth_i_sim_collective_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k,
                           double start);
/** Takes the next one whose time is over off; BERTH_NONE: flows of it are still under way. */
int32_t berth_i_sim_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Takes the one that is to end next out of the queue, whatever is still under way of it. */
int32_t berth_i_sim_collective_next(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** FAIR: a flow of it has arrived. */
void berth_i_sim_collective_flowed(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
/** Bytes that a collective holds on each of its devices. */
double berth_i_sim_collective_bytes(const berth_i_sim_plan *p,
                                    const berth_i_sim_state *s, int32_t k);
/** Its pairs of devices. */
void berth_i_sim_collective_flows(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t k,
                           berth_i_flow_fn flow, void *ud);
/** The op of that collective and device with the lowest id. */
int32_t berth_i_member_slot_op(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                               int32_t participant);

/** Requests from the links a collective of at least two devices; it starts by
 * berth_i_sim_collective_start. */
void berth_i_links_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
/** It has ended: gives back what it held. */
void berth_i_links_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
void berth_i_route_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
void berth_i_route_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
/** Its flows begin when its latency is over. */
void berth_i_fair_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);

/* ---- communication ops ---- */

berth_status berth_i_async_ops_plan(berth_i_sim_plan *p);
void berth_i_async_ops_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_async_ops *x);
void berth_i_async_ops_reset(const berth_i_sim_plan *p, berth_i_sim_state *s);
/** Its ready time has just become known. */
void berth_i_async_ready(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
/** A tensor that it fetches (PULL) has arrived. */
void berth_i_async_fetched(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
/** The next event: a start, or an end.  @return the op that has ended; BERTH_NONE */
int32_t berth_i_async_event(const berth_i_sim_plan *p, berth_i_sim_state *s);

/* ---- memory -------------------------------------------------------------------------------------
 * _start and _finish happen now; sends may lie ahead. _later takes any order. Peaks hold after
 * _drain. */

berth_i_memory *berth_i_memory_new(const berth_i_sim_plan *p, berth_i_pool *pool);
berth_status berth_i_memory_trace(const berth_i_sim_plan *p, berth_i_sim_state *s);
void berth_i_memory_reset(const berth_i_sim_plan *p, berth_i_sim_state *s);
bool berth_i_memory_overflows(const berth_i_sim_plan *p, int32_t device, double bytes);
void berth_i_memory_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
void berth_i_memory_finish(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
void berth_i_memory_send(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy,
                         double start, double sent);
void berth_i_memory_later(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start,
                          double finish);
/** An op that starts now or later: its start and its end. */
void berth_i_memory_ahead(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start,
                          double finish);
/** A send whose end is not known when it starts: both now. */
void berth_i_memory_depart(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy);
void berth_i_memory_arrive(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy);
/** A collective starts now or later; ends now. */
void berth_i_memory_collective(const berth_i_sim_plan *p, berth_i_sim_state *s,
                               int32_t k, double start);
void berth_i_memory_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k);
void berth_i_memory_drain(const berth_i_sim_plan *p, berth_i_sim_state *s);

/* ---- small things, inline because hot ---- */

/** Units that an op computes for: at least one quantum, but in order TASK. */
BERTH_I_INLINE double berth_i_op_units(const berth_i_sim_plan *p, double seconds) {
  return p->o.order == BERTH_ORDER_TASK ? berth_i_quantise_transfer(seconds, p->o.quantum)
                                        : berth_i_quantise_op(seconds, p->o.quantum);
}
BERTH_I_INLINE bool berth_i_is_async(const berth_i_sim_plan *p, int32_t op) {
  return p->n_async > 0 && p->is_async[op];
}
/** Transfers hold or share links of the topology, not channels of devices. */
BERTH_I_INLINE bool berth_i_on_links(berth_links l) {
  return l == BERTH_LINKS_ROUTE || l == BERTH_LINKS_FAIR;
}
/** Ops, and collectives on one of their devices. */
BERTH_I_INLINE size_t berth_i_memory_runs(const berth_i_sim_plan *p) {
  return (size_t)p->n_ops + (size_t)p->n_participants;
}
BERTH_I_INLINE const berth_graph *berth_i_plan_graph(const berth_i_sim_plan *p) {
  return p->cost->g;
}
BERTH_I_INLINE int32_t berth_i_copy_src(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                                        int32_t edge) {
  return s->ops[p->cost->g->producer[p->edge_tensor[edge]]].device;
}
BERTH_I_INLINE int32_t berth_i_copy_dst(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                                        int32_t edge) {
  return s->ops[p->edge_to[edge]].device;
}
BERTH_I_INLINE void berth_i_trace_stretch(berth_i_trace *t, int32_t op, double start,
                                          double finish) {
  if (t->stretch) {
    double *s = &t->stretch[2 * (t->n_log - t->n_sent - t->n_coll_logged)];
    s[0] = start;
    s[1] = finish;
  }
  t->log[t->n_log++] = op;
}

/** Logs and accounts for a transfer; sent: when the sender's channel is free again. */
static inline void berth_i_links_note(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy,
                                      double start, double sent, double arrival) {
  if (s->memory) berth_i_memory_send(p, s, copy, start, sent);
  if (s->trace) berth_i_links_log(p, s, copy, start, sent, arrival);
}

/** An op takes its device, where its end is known as it begins. */
BERTH_I_INLINE void berth_i_sim_take(berth_i_sim_state *s, berth_i_sim_device *v, int32_t id,
                                     double start, double finish) {
  if (s->trace) {
    s->trace->start[id] = start;
    s->trace->finish[id] = finish;
    s->trace->cause[id] = s->ops[id].last;
    berth_i_trace_stretch(s->trace, id, start, finish);
  }
  v->busy += s->ops[id].work;
  v->free_at = finish;
  v->prev = id;
}

/* Lexicographic order of (time, seq). */
BERTH_I_INLINE bool berth_i_ready_before(berth_i_ready a, berth_i_ready b) {
  return a.time < b.time || (a.time == b.time && a.seq < b.seq);
}
BERTH_I_HEAP(berth_i_ready, berth_i_ready, berth_i_ready_before)

BERTH_I_INLINE uint64_t berth_i_time_bits(double time) {
  uint64_t bits;
  memcpy(&bits, &time, sizeof bits);
  return bits;
}
BERTH_I_INLINE double berth_i_slot_time(const berth_i_slots *q, int32_t k) {
  double time;
  memcpy(&time, &q->at[k].time, sizeof time);
  return time;
}
BERTH_I_INLINE bool berth_i_when_before(berth_i_when a, berth_i_when b) {
  return (a.time < b.time) | ((a.time == b.time) & (a.seq < b.seq));
}
void berth_i_slots_replay(berth_i_slots *q, int32_t k);
void berth_i_slots_init(berth_i_pool *pool, berth_i_slots *q, int32_t n);
void berth_i_slots_clear(berth_i_slots *q);

BERTH_I_INLINE void berth_i_slot_set(berth_i_slots *q, int32_t k, double time, uint64_t seq) {
  q->at[k].time = berth_i_time_bits(time);
  q->at[k].seq = seq;
  if (q->winner) berth_i_slots_replay(q, k);
}

typedef struct berth_i_leader {
  berth_i_when at;
  uint64_t slot;
} berth_i_leader;

BERTH_I_INLINE berth_i_leader berth_i_leader_at(const berth_i_slots *q, int32_t k) {
  berth_i_leader l;
  l.at = q->at[k];
  l.slot = (uint64_t)k;
  return l;
}
/* Masks, not branches: which of two comes first cannot be predicted. */
BERTH_I_INLINE berth_i_leader berth_i_leader_of(berth_i_leader a, berth_i_leader b) {
  uint64_t mask = 0 - (uint64_t)berth_i_when_before(b.at, a.at);
  a.at.time ^= (a.at.time ^ b.at.time) & mask;
  a.at.seq ^= (a.at.seq ^ b.at.seq) & mask;
  a.slot ^= (a.slot ^ b.slot) & mask;
  return a;
}

/** Slot of the earliest event. */
BERTH_I_INLINE int32_t berth_i_slots_next(const berth_i_slots *q) {
  if (q->winner) return q->winner[1];
  berth_i_leader best = berth_i_leader_of(berth_i_leader_at(q, 0), berth_i_leader_at(q, 1));
  for (int32_t k = 2; k < q->n; k += 2) {
    best = berth_i_leader_of(best, berth_i_leader_of(berth_i_leader_at(q, k),
                                                     berth_i_leader_at(q, k + 1)));
  }
  return (int32_t)best.slot;
}

/* ---- any_order.c ---- */

typedef struct berth_i_any_order {
  double *held, *workspace; /* [devices] */
  int32_t *stamp;           /* [devices] */
} berth_i_any_order;
/** Released even if it fails. */
berth_status berth_i_any_order_init(const berth_cost *c, berth_i_any_order *a);
void berth_i_any_order_release(const berth_cost *c, berth_i_any_order *a);
/** Memory policy TOTAL. @return the lowest device that runs out in some order, or may; BERTH_NONE:
 * none. O(ops + edges) */
int32_t berth_i_any_order_over(const berth_cost *c, double param_multiple, const int32_t *device,
                               berth_i_any_order *a);

#endif
