/* Cost: seconds of an op on a device, of a transfer, of a collective.
 *
 * A cost is a graph priced on a topology: immutable, so that simulations, placers and bounds share
 * it; it keeps graph and topology alive. Prices come from the graph's profile, a roofline, the
 * links (latency + bytes / bandwidth along the route), closed forms of collectives, or the caller's
 * functions. Besides: averages over devices, and fits of links and collectives to measurements. */
#ifndef BERTH_COST_H
#define BERTH_COST_H

#include <berth/graph.h>
#include <berth/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How collectives are carried out, and so what they take. n different devices under the members
 * (one: no time), b bytes per member, latency a and bandwidth w of the slowest pair of devices, all
 * pairs of members considered; L = ceil(log2 n). Every device sends and receives one message at a
 * time, both at once.
 *
 * RING
 *   allreduce     2(n-1) a + 2(n-1)/n b/w
 *   allgather     (n-1) (a + b/w); b: what each adds
 *   reducescatter (n-1) a + (n-1)/n b/w
 *   broadcast     (n-1) a + b/w; pipelined
 *   alltoall      (n-1) a + (n-1)/n b/w; pairwise; b to all, itself too
 *   barrier       2(n-1) a
 * TREE, binomial
 *   allreduce     2L (a + b/w)
 *   allgather     2L a + (n-1) b/w + L n b/w
 *   reducescatter 2L a + (L + (n-1)/n) b/w
 *   broadcast     L (a + b/w)
 *   barrier       2L a
 * DOUBLE_TREE
 *   broadcast     (sqrt(2L a) + sqrt(b/w))^2, in the best number of blocks; at least one:
 *                 (2L + 1) (a + b/w) if b/w is below a / 2L
 *   allreduce     twice that
 *   barrier       2L a
 * HALVING; p = 2^floor(log2 n)
 *   allreduce     2 log2(p) a + 2(p-1)/p b/w, and 2 (a + b/w) more unless n = p; halving and
 *                 doubling
 *   reducescatter log2(p) a + (p-1)/p b/w, and 2 a + (1 + 1/n) b/w more unless n = p
 *   allgather     L a + (n-1) b/w; Bruck
 *   broadcast     2L a + 2(n-1)/n b/w; scatter, allgather
 *   barrier       L a
 *   alltoall      L a + B b/(n w), B: the bits set in the numbers below n; Bruck
 * HIERARCHICAL: devices in groups, by device_group or as found; the first member in each leads.
 * m, a1 and w1: in a group, and the slowest group counts; G, a2 and w2: among leaders; M: the
 * largest m. In one group, or with groups of one device each: RING
 *   allreduce     2 ((m-1) a1 + b/w1) + 2(G-1) a2 + 2(G-1)/G b/w2
 *   broadcast     (m-1) a1 + b/w1 + (G-1) a2 + b/w2
 *   reducescatter (m-1) (2 a1 + b/(n w1)) + b/w1 + (G-1) (a2 + M b/(n w2))
 *   barrier       2(m-1) a1 + 2(G-1) a2
 *   allgather     (m-1) (2 a1 + b/w1) + n b/w1 + (G-1) (a2 + M b/w2)
 * LINES
 *   allreduce     max(trunc(c1 k + c0), trunc(d1 k + d0)) us with k = floor(b / 1024), whatever the
 *                 devices are; with lines_bandwidth all four numbers are multiplied by
 *                 lines_bandwidth / w
 * AUTO: the least of RING, TREE, DOUBLE_TREE, HALVING and HIERARCHICAL, ties to the first
 *
 * NCCL:           all but broadcast and barrier: berth_kernel_collective() with the constants of
 *                 the first device, the slowest pair in a group as fabric, the slowest pair of
 *                 devices of different groups as network; groups as in HIERARCHICAL
 *
 * A kind for which the algorithm has no line here goes by RING. A parameter server has one way,
 * under every algorithm: the device of the first member serves; one after another push b to it,
 * then pull b: sum over the others of (a + b/w) there, and back. w is collective_bandwidth times
 * what the topology has, but not for LINES.
 *
 * Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
 * MPICH", 2005 (RING, TREE, HALVING);
 * Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
 * 2009 (DOUBLE_TREE, with as many blocks as a real number); LINES as TAG's published code fits and
 * truncates them.
 */
typedef enum berth_collective_algorithm {
  BERTH_COLLECTIVE_RING,
  BERTH_COLLECTIVE_TREE,
  BERTH_COLLECTIVE_DOUBLE_TREE,
  BERTH_COLLECTIVE_HALVING,
  BERTH_COLLECTIVE_HIERARCHICAL,
  BERTH_COLLECTIVE_LINES,
  BERTH_COLLECTIVE_AUTO,
  BERTH_COLLECTIVE_NCCL,
  BERTH_COLLECTIVE_FUNCTION /* an answer only: the model's function priced it */
} berth_collective_algorithm;

/** How ops without a profile are priced. */
typedef enum berth_cost_form {
  BERTH_FORM_AUTO,     /* KERNELS if the graph has shapes and the constants of every device were
                          fitted to its type in the graph's dtype; else ROOFLINE */
  BERTH_FORM_ROOFLINE, /* by peak and memory bandwidth */
  BERTH_FORM_KERNELS   /* by berth_kernel_shape(), or berth_kernel_work() for an op without a shape,
                          with the constants of the device, its overhead left out; a graph without a
                          dtype is in "fp32" */
} berth_cost_form;
/** The form that AUTO means for them: ROOFLINE or KERNELS. O(ops + devices) */
berth_cost_form berth_cost_form_of(const berth_graph *g, const berth_topology *t);

/** A function's op time: the built-in one. */
#define BERTH_COST_BUILT_IN (-(double)INFINITY)

/**
 * The cost seam. Built-ins and users' functions answer the same three questions; a NULL function
 * means the built-in answer:
 *  - op: profile (`seconds` of the device's type / speed) if the op has one, else roofline:
 *        max(flop / flops, bytes / memory_bandwidth) / speed + overhead, where a term whose rate is
 *        unknown is left out as long as the other remains; an op with no profile, FLOP and bytes
 *        takes no time. A graph whose only type is "" fits devices of every type; a profile does
 *        not hold for a device whose type the graph does not name: there the roofline does, and
 *        without one the op cannot run there. An op is priced where its pin allows it;
 *  - transfer: alpha-beta along the route: sum of latencies + bytes / least bandwidth; 0 on one
 *        device. With whole_us bytes / bandwidth is cut off to whole microseconds;
 *  - collective: by the chosen algorithm (berth_collective_algorithm); default: ring AllReduce and
 *  its relatives.
 * op and transfer are called on the calling thread while the cost is made, never later, for every
 * op and device and for every tensor and ordered pair of different devices; collective whenever
 * berth_cost_collective is.
 * A function may answer INFINITY: cannot run, cannot cross; op also BERTH_COST_BUILT_IN.
 */
typedef struct berth_cost_model {
  berth_status (*op)(void *ud, int32_t op, int32_t device, double *seconds);
  berth_status (*transfer)(void *ud, int32_t tensor, int32_t src, int32_t dst, double *seconds);
  berth_status (*collective)(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                             double *seconds);
  void *ud;
  double op_factor;       /* multiplies op times, a function's too; 0 means 1 */
  double transfer_factor; /* multiplies times of transfers and collectives, a function's too; 0
                             means 1 */
  int free_control;       /* 1: a tensor of zero bytes crosses in no time wherever it can cross at
                             all: without a route, or where `transfer` answers INFINITY, it cannot;
                             0 (default): it pays the latency */
  berth_collective_algorithm collective_algorithm; /* default RING; FUNCTION is refused */
  const double *collective_lines; /* [4] c1, c0, d1, d0 of LINES: us per KiB, us; copied */
  const int32_t *device_group;    /* [devices] for HIERARCHICAL and AUTO, any numbers from 0 on;
                                     copied. NULL: found in the topology: of the bandwidths between
                                     pairs of devices, in order, the two neighbours that are
                                     furthest apart by ratio part fast from slow (all alike: their
                                     latencies); fast pairs are in one group */
  double collective_bandwidth;    /* multiplies the bandwidths that built-in algorithms of
                                     collectives go by: how much faster than one transfer at a time
                                     they are; 0 means 1 */
  double lines_bandwidth;         /* bytes/s at which collective_lines hold (TAG: 2810e6): scaled by
                                     it over the bandwidth of the slowest pair of the devices,
                                     before they are cut off; 0: they hold as they are */
  int whole_us;                   /* 1: op times, and bytes / bandwidth of built-in transfers, are
                                     cut off to whole microseconds, but for rounding, as TAG's
                                     published simulator counts; factors count before for ops, after
                                     for transfers. Not with links FAIR */
  berth_cost_form form;           /* default AUTO */
} berth_cost_model;

const berth_option_table *berth_cost_option_table(void);

/** A graph on a topology, priced: what every placer, simulator and bound takes. Immutable. */
typedef struct berth_cost berth_cost;

/**
 * @param model NULL: built-ins
 * @return BERTH_OK; BERTH_EINVAL (NaN or negative time; an op with neither profile nor roofline on
 *         a device where it may run; a pin out of range); BERTH_EINFEASIBLE (an op that no device
 *         can run, named); BERTH_ENOMEM; what a callback returned.
 * Memory: 8 bytes per op and distinct kind of device; transfers take none unless model->transfer is
 * set (8 bytes per tensor and ordered pair) or all pairs are alike (8 bytes per tensor).
 */
berth_status berth_cost_new(berth_graph *g, berth_topology *t, const berth_cost_model *model,
                            berth_cost **out);
void berth_cost_retain(berth_cost *c);
void berth_cost_release(berth_cost *c);
berth_graph *berth_cost_graph(const berth_cost *c);       /* borrowed */
berth_topology *berth_cost_topology(const berth_cost *c); /* borrowed */

/** Seconds; BERTH_UNSUPPORTED if the op cannot run there (type, or pinned elsewhere); NaN for ids
 * out of range. */
double berth_cost_op(const berth_cost *c, int32_t op, int32_t device);
/** Seconds; 0 on one device; INFINITY if unreachable; NaN for ids out of range. */
double berth_cost_transfer(const berth_cost *c, int32_t tensor, int32_t src, int32_t dst);
/** Seconds of a collective whose member k sits on devices[k]; members on one device count once.
 *  @return BERTH_OK, BERTH_EINVAL (ids; n is not the number of members), BERTH_EUNREACHABLE,
 *          BERTH_ENOMEM, what a callback
 *  returned.
 *  O(n^2), takes memory above 64 members */
berth_status berth_cost_collective(const berth_cost *c, int32_t collective, int32_t n,
                                   const int32_t *devices, double *seconds);
/** The same, and how: the algorithm chosen.  @param algorithm out */
berth_status berth_cost_collective_by(const berth_cost *c, int32_t collective, int32_t n,
                                      const int32_t *devices, double *seconds,
                                      berth_collective_algorithm *algorithm);
/** "ring" to "auto", in the order of the enum, NULL-terminated. */
const berth_choice *const *berth_collective_algorithms(void);
/** The same, and "function"; NULL for others. */
const char *berth_collective_algorithm_name(berth_collective_algorithm a);

/** The groups that device_group describes, as they are found. @param group [devices] out: the
 * lowest device of each one's group
 *  @return BERTH_OK, BERTH_ENOMEM */
berth_status berth_device_groups(const berth_topology *t, int32_t *group);

typedef enum berth_average {
  BERTH_AVERAGE_TEXTBOOK, /* mean over devices that can run the op; transfers: mean over ordered
                             pairs of different devices */
  BERTH_AVERAGE_SAGA      /* transfers: over unordered pairs, and (d, d) counts at no cost:
                             (n-1)/(n+1) of the textbook mean */
} berth_average;
/** "textbook", "saga"; NULL-terminated */
const berth_choice *const *berth_average_choices(void);
/** Mean op time over the devices that can run it.  @param out [ops] s */
berth_status berth_cost_mean_ops(const berth_cost *c, double *out);
/** Mean transfer time of each tensor over pairs of devices. @param out [tensors] s; unreachable
 * pairs are left out */
berth_status berth_cost_mean_transfers(const berth_cost *c, berth_average how, double *out);
/** Least op time over the devices.  @param out [ops] s */
berth_status berth_cost_min_ops(const berth_cost *c, double *out);
/** max transfer (unreachable pairs left out) / min positive op time: how fine the grain is;
 *  INFINITY if no op takes time. It is the rho of the papers if every op takes time; what
 *  guarantees need in any case is in berth_guarantees. */
double berth_cost_rho(const berth_cost *c);

/**
 * Fits seconds = latency + bytes / bandwidth by least squares.
 *
 * @param relative 1: minimises relative errors, so that small messages count (no time may be 0); 0:
 *        absolute
 * @param r2 coefficient of determination, with the same weights as the fit; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (fewer than two different sizes, NaN, negative; or the fitted
 *         slope is not positive).
 * A negative intercept is clamped to zero and the slope fitted again through the origin. O(n)
 */
berth_status berth_fit_link(berth_ctx *ctx, int32_t n, const double *bytes, const double *seconds,
                            int relative, berth_link *out, double *r2);

/**
 * Fits the ring, seconds = 2(n-1) latency + 2(n-1)/n bytes / bandwidth, to AllReduces measured on n
 * devices by least squares.
 *
 * @param count of measurements @param bytes [count] per member @param devices [count] n, from 2 on
 *        @param seconds [count]
 * @param relative, r2 as berth_fit_link
 * @param out latency per step, s; bandwidth, bytes/s: what a cost takes for links, or over theirs
 *        as collective_bandwidth
 * @return BERTH_OK; BERTH_EINVAL (fewer than two measurements that differ, NaN, negative, fewer
 *         than two devices; or the fitted time does not grow with size). A negative latency is
 *         clamped to zero and the bandwidth fitted again. O(count)
 */
berth_status berth_fit_collective(berth_ctx *ctx, int32_t count, const double *bytes,
                                  const int32_t *devices, const double *seconds, int relative,
                                  berth_link *out, double *r2);

/**
 * Fits the two lines of BERTH_COLLECTIVE_LINES, as TAG does: one to sizes below 256 KiB, one to
 * sizes above 1 MiB, robustly, by Huber's loss: quadratic up to 1.35 scales from the line, linear
 * beyond, where the scale is fitted together with it.
 *
 * @param lines [4] out: c1, c0, d1, d0; us per KiB, us
 * @return BERTH_OK; BERTH_EINVAL (NaN, negative; fewer than two sizes in a branch). O(n), some 100
 *         passes at most
 * Departs from the published fit: no ridge penalty (1e-4 there); sizes are whole KiB.
 */
berth_status berth_fit_lines(berth_ctx *ctx, int32_t n, const double *bytes, const double *seconds,
                             double *lines);

/* ---- TAG's AllReduce times ---- */
/* TAG's model of AllReduce times. */

/**
 * The four numbers of BERTH_COLLECTIVE_LINES as TAG scales them: fitted at 2810 MB/s, times 2810
 * MB/s / bandwidth.
 *
 * @param bandwidth bytes/s of the slowest pair of the devices
 * @param lines     [4] out: c1, c0, d1, d0; us per KiB, us
 * @return BERTH_OK, BERTH_EINVAL (bandwidth not above 0, or infinite)
 * Source: the published code of Zhang and others, "Expediting Distributed DNN Training with Device
 * Topology-Aware Graph Deployment", 2023. Latency shrinks with bandwidth, and the number of devices
 * plays no part, as there.
 */
berth_status berth_tag_lines(berth_ctx *ctx, double bandwidth, double *lines);

/* ---- op times by batch size ---- */
/* Op times at batch sizes between and beside the profiled ones. */

/**
 * The straight line through the two profiled batch sizes around `batch`, or the nearest two beyond
 * an end; at least 0.
 *
 * @param n        at least 2
 * @param batches  [n] rising  @param seconds [n]
 * @param whole_us 1: cut off to whole microseconds, as published
 * @return BERTH_OK, BERTH_EINVAL
 * O(n). Source: the published code of TAG (see above).
 */
berth_status berth_batch_time(berth_ctx *ctx, int32_t n, const double *batches,
                              const double *seconds, double batch, int whole_us, double *out);

/* ---- kernels ---- */
/* Times of kernels on one GPU and of NCCL's collectives, by forms whose constants are fitted to
 * measurements. docs/kernels.md has the forms, their errors and what they leave out. */

/** t(m, n, k) of a matrix product: the fastest of 8 tiles and splits of k, waves of tiles over the
 *  multiprocessors, smooth maximum with the time of memory, launch. */
typedef struct berth_gemm_constants {
  double efficiency[8];    /* share of the peak that a tile of 256x128 128x256 128x128 256x64 64x256
                              128x64 64x128 64x64 reaches; 0: there is none */
  double k_start;          /* a tile costs so many steps of k more */
  double bandwidth;        /* share of the memory's */
  double launch;           /* s */
  double partial;          /* 0: the last wave takes as long as a full one; 1: its share */
  double droop;            /* growth with each doubling of FLOP above 1e11: clocks under load */
  double norm;             /* of the smooth maximum */
  double split_traffic;    /* bytes of partial results, over 8 m n a split */
  double split_launch;     /* s */
  double quantise;         /* bytes per element of the activations, where they are made FP8 by a
                              kernel of their own */
  double quantise_launch;  /* s */
} berth_gemm_constants;

/** t of flash attention, forward. */
typedef struct berth_attention_constants {
  double head_size;        /* that they hold for; 0: an unused row */
  double efficiency;       /* share of the peak */
  double tail;             /* how much of the longest row of blocks is not hidden */
  double block;            /* s a block more */
  double launch;           /* s */
  double traffic;          /* bytes over those of query, output, key and value */
  double kv;               /* weight of key and value in them */
} berth_attention_constants;

/** t of a collective of n GPUs inside a machine: start + step * steps + the least of NCCL's three
 *  protocols; rates are shares of `fabric`. */
typedef struct berth_collective_constants {
  double start, step;                     /* s */
  double low;                             /* LL: rate */
  double low128_start, low128, low128_n;  /* LL128: s, rate, how it changes with log2 n */
  double simple_start, simple, simple_n;  /* Simple: the same */
  double ramp;                            /* Simple: us by the square root of us at full rate */
} berth_collective_constants;

enum { BERTH_ATTENTION_SIZES = 4 };

/** What a GPU's kernels take in one arithmetic: data sheet and constants, all of which may be
 *  changed. */
typedef struct berth_kernels {
  const char *gpu;            /* static; "": a device without a preset's type */
  const char *arithmetic;     /* of `flops`, static */
  const char *constants;      /* whose, static: "H100 bf16" */
  const char *source;         /* rows, errors, date; static */
  int fitted;                 /* 1: constants were fitted to this GPU in this arithmetic; 0: they
                                 are those of the nearest GPU that was */
  double flops;               /* peak, FLOP/s */
  double memory_bandwidth;    /* bytes/s */
  double sms;                 /* streaming multiprocessors */
  double fabric;              /* bytes/s that a GPU sends inside the machine */
  double element_bytes;
  int quantise;               /* 1: products in FP8 make their activations FP8, unfused; 0: not */
  berth_gemm_constants gemm;
  double attention_block;     /* queries and keys a block */
  berth_attention_constants attention[BERTH_ATTENTION_SIZES]; /* by head size, rising */
  berth_collective_constants collective[4]; /* all-reduce, all-gather, reduce-scatter, all-to-all */
} berth_kernels;

/** flops, memory_bandwidth, fabric, sms, quantise: what a user changes. */
const berth_option_table *berth_kernels_option_table(void);

/**
 * @param d     type and flops of a preset, or any with flops and memory_bandwidth
 * @param dtype "bf16" "fp16" "fp8" "tf32" "fp32" "fp64"; NULL: "bf16". One that the preset lacks:
 *              what berth_device_rate() answers
 * @param out   the constants of that GPU and arithmetic, or of the GPU of the table whose peak in
 *              16 bits is nearest by ratio
 * @return BERTH_OK, BERTH_EINVAL (no rate, no memory bandwidth, another dtype)
 */
berth_status berth_kernels_of(berth_ctx *ctx, const berth_device *d, const char *dtype,
                              berth_kernels *out);

/** Seconds of [m, k] times [k, n], m: tokens. n or k no multiple of 8: three times the compute, no
 *  multiple of 64 (above 64): 1.25 times; both by hand from published sweeps. O(1) */
double berth_kernel_gemm(const berth_kernels *kernels, double m, double n, double k);

/** Seconds. A head size between those of the table: the constants of the next larger one. */
double berth_kernel_attention(const berth_kernels *kernels, const berth_attention *shape);

/**
 * Seconds of an op of that shape. Copies of a product are one kernel over all their rows, those of
 * each rounded up to blocks of 128; gradients are two kernels.
 *
 * @param bytes moved by the op: what a product's operands and result take counts up to it (an
 *        implicit GEMM reads each input once). 0: unknown
 * @return NaN: no shape
 */
double berth_kernel_shape(const berth_kernels *kernels, const berth_shape *shape, double bytes);

/** Seconds of element-wise work that moves so many bytes. */
double berth_kernel_elementwise(const berth_kernels *kernels, double bytes);

/** Seconds of work that is known by FLOP and bytes only. Below 4 FLOP a byte: element-wise; of the
 *  kind "attention" (may be NULL): at the rate of long sequences and head size 128; else: the
 *  product with n = k and m <= n that has these FLOP and moves these bytes, or m = n = k if there
 *  is none. */
double berth_kernel_work(const berth_kernels *kernels, const char *kind, double flop,
                         double bytes);

/**
 * Seconds of a collective: all-reduce, all-gather, reduce-scatter, all-to-all; NaN for others.
 *
 * @param bytes    of the whole buffer (all-gather: what each has in the end)
 * @param n        GPUs, all machines together; 1: no time
 * @param machines over which they are spread evenly; 1: inside one
 * @param nic      bytes/s that leave a machine for this collective; unused if machines is 1
 * Across machines: the slower of fabric and network, and a start-up that grows with their number.
 */
double berth_kernel_collective(const berth_kernels *kernels, berth_collective_kind kind,
                               double bytes, int32_t n, int32_t machines, double nic);
/** Seconds from one GPU to another.  @param nic bytes/s; 0: inside the machine */
double berth_kernel_p2p(const berth_kernels *kernels, double bytes, double nic);

#ifdef __cplusplus
}
#endif
#endif
