/* Topology: devices, switches, links, routes; generators.
 *
 * Built by a builder or a generator, immutable afterwards, with counted references. Devices and
 * switches are nodes; a device has an id among devices and one among nodes. Links are directed.
 * Between every two devices there is one route: fewest links, then largest bottleneck bandwidth,
 * then least latency, unless one was set. Unreachable is the absence of a route. */
#ifndef BERTH_TOPOLOGY_H
#define BERTH_TOPOLOGY_H

#include <berth/base.h>
#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_topology berth_topology;                 /* immutable */
typedef struct berth_topology_builder berth_topology_builder; /* collects one */

/** Start from berth_device_default() or a preset. */
typedef struct berth_device {
  const char *name;        /* NULL: "d0", "d1", ... */
  const char *type;        /* matched with the graph's type names; default "" */
  double speed;            /* profiled times are divided by it; default 1 */
  double flops;            /* FLOP/s for the roofline; 0: unknown */
  double memory;           /* bytes; INFINITY (default): no limit */
  double memory_bandwidth; /* bytes/s for the roofline; 0: unknown */
  double overhead;         /* s added to every op priced by the roofline (kernel launch); default
                              0 */
  int32_t machine;         /* which machine it is in; default 0 */
} berth_device;
berth_device berth_device_default(void);

/** A board's figures; rates are peaks without sparsity, FLOP/s, 0: no such arithmetic. */
typedef struct berth_data_sheet {
  const char *name, *board;
  double flops;            /* TF32 on tensor cores, else FP32 */
  double memory, usable;   /* bytes: as printed, and as the driver reports it */
  double memory_bandwidth; /* bytes/s */
  double fp64, fp32, tf32, bf16, fp16, fp8, fp4; /* fp32 0: slower than tf32, and not used */
  int32_t sms;             /* multiprocessors */
  int32_t gpus;            /* of a usual machine */
  int32_t domain;          /* GPUs that fast links join; 1: none does */
  double link;             /* bytes/s of a GPU into one direction, within the domain or by PCIe */
  int32_t nics;            /* network cards of a machine */
  double nic;              /* bytes/s of each into one direction */
  const char *source;      /* of board and machine */
} berth_data_sheet;
/** By name or another usual one ("A100-80GB"), whatever its case; NULL: none. */
const berth_data_sheet *berth_device_sheet(const char *name);

/** A device from its data sheet, docs/devices.md. Names are case-sensitive.
 *  @return BERTH_OK, BERTH_EINVAL (lists the nearest names) */
berth_status berth_device_preset(berth_ctx *ctx, const char *name, berth_device *out);
/** FLOP/s of a device in an arithmetic ("fp32" "bf16" ..., see berth_graph_builder_dtype()). A
 *  device whose type and flops are those of a preset has a rate for each arithmetic, or that of the
 *  one that frameworks use instead; others have their flops for all.
 *  @param used  out, may be NULL: the arithmetic of the rate, "tf32" for "fp32" on an A100; NULL:
 *               the device's own flops */
double berth_device_rate(const berth_device *d, const char *dtype, const char **used);
/** Names of the presets, NULL-terminated. */
const char *const *berth_device_presets(void);

/** bandwidth > 0 (INFINITY is legal), latency >= 0. Unreachable is no route, never zero
 * bandwidth. */
typedef struct berth_link {
  double bandwidth; /* bytes/s */
  double latency;   /* s */
} berth_link;

/* ---- building --------------------------------------------------------------------------- *
 * Devices and switches are nodes, numbered together in order of adding; devices also have their own
 * index.
 * Names and types are UTF-8, else BERTH_EINVAL. */

enum {
  BERTH_MOST_DEVICES = 1 << 14, /* of a topology: it has a route for each pair of them */
  BERTH_MOST_LINKS = 1 << 25    /* directed ones */
};

berth_status berth_topology_builder_new(berth_ctx *ctx, berth_topology_builder **out);
void berth_topology_builder_release(berth_topology_builder *b);
berth_status berth_topology_builder_name(berth_topology_builder *b, const char *name);
/** @param device, node may be NULL */
berth_status berth_topology_builder_add_device(berth_topology_builder *b, const berth_device *d,
                                               int32_t *device, int32_t *node);
berth_status berth_topology_builder_add_switch(berth_topology_builder *b, const char *name,
                                               int32_t *node);
/** Directed, between two different nodes; several between the same two are legal. @param link id,
 * may be NULL */
berth_status berth_topology_builder_add_link(berth_topology_builder *b, int32_t from, int32_t to,
                                             const berth_link *l, int32_t *link);
/** Both directions; the link back has the next id. */
berth_status berth_topology_builder_add_duplex(berth_topology_builder *b, int32_t a, int32_t c,
                                               const berth_link *l, int32_t *link);
/** Overrides the route between two devices by a list of links that exist already and must join up;
 *  the last call for a pair holds. */
berth_status berth_topology_builder_set_route(berth_topology_builder *b, int32_t src, int32_t dst,
                                              int32_t n, const int32_t *links);
/** Makes the topology and empties the builder (on failure the contents stay). Devices forward for
 *  others, as switches do. Routes: fewest links, then largest bottleneck bandwidth, then least
 *  latency, then lowest link ids (of the first links that differ, the lower one).
 *  @return BERTH_OK, BERTH_EINVAL (no device; duplicate names), BERTH_ENOMEM, BERTH_EINTERRUPT.
 *  O(devices x links) where few bandwidths differ. Memory: 29 bytes per ordered pair of devices,
 *  and 4 per link of the routes, of which those that lead on from one another share storage. */
berth_status berth_topology_builder_finish(berth_topology_builder *b, berth_topology **out);

/* ---- reading ---- */

void berth_topology_retain(berth_topology *t);
void berth_topology_release(berth_topology *t);
const char *berth_topology_name(const berth_topology *t);
int32_t berth_topology_devices(const berth_topology *t);
int32_t berth_topology_nodes(const berth_topology *t);
int32_t berth_topology_links(const berth_topology *t);
berth_status berth_topology_device(const berth_topology *t, int32_t device, berth_device *out);
/** @param device the device at that node, or BERTH_NONE for a switch; each out may be NULL */
berth_status berth_topology_node(const berth_topology *t, int32_t node, const char **name,
                                 int32_t *device);
berth_status berth_topology_link(const berth_topology *t, int32_t link, int32_t *from, int32_t *to,
                                 berth_link *out);
/** Number of links on the route, and the links; -1: unreachable, or no such device; 0: the same
 * device.
 *  @param links may be NULL */
int32_t berth_topology_route(const berth_topology *t, int32_t src, int32_t dst,
                             const int32_t **links);
/** Sum of latencies and least bandwidth along the route.
 *  @return BERTH_OK, BERTH_EUNREACHABLE, BERTH_EINVAL */
berth_status berth_topology_path(const berth_topology *t, int32_t src, int32_t dst,
                                 berth_link *out);

/* ---- generators ------------------------------------------------------------------------- *
 * proto: every device is a copy of it, named d0, d1, ... (its own name is ignored). */

/** n devices, a duplex link between every two. n >= 1 */
berth_status berth_topology_mesh(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out);
/** n devices in a circle of duplex links. */
berth_status berth_topology_ring(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out);
/** n devices around one switch. */
berth_status berth_topology_star(berth_ctx *ctx, int32_t n, const berth_device *proto,
                                 const berth_link *link, berth_topology **out);
/** n devices on PCIe switches of `fan_out` each, the switches on one root complex. */
berth_status berth_topology_pcie_tree(berth_ctx *ctx, int32_t n, int32_t fan_out,
                                      const berth_device *proto, const berth_link *down,
                                      const berth_link *up, berth_topology **out);
/** Eight devices: NVLink hybrid cube mesh as in the DGX-1 (V100), four PCIe switches of two below
 *  two sockets.
 *  `nvlink` is one NVLink brick; double bricks get twice its bandwidth. `pcie` also joins the two
 *  sockets. */
berth_status berth_topology_dgx1(berth_ctx *ctx, const berth_device *proto,
                                 const berth_link *nvlink, const berth_link *pcie,
                                 berth_topology **out);
/** k-ary fat tree (k even, at most 2048): k^3/4 devices, full bisection. There is one route per
 *  pair, so all traffic of an edge switch goes up through one aggregation switch, another for each
 *  edge of a pod. */
berth_status berth_topology_fat_tree(berth_ctx *ctx, int32_t k, const berth_device *proto,
                                     const berth_link *link, berth_topology **out);
/** Torus of any number of dimensions: dims[0] x ... devices, the last dimension running fastest,
 *  duplex links to the neighbours with wrap-around; a dimension of 2 has one link between the two,
 *  of 1 none. */
berth_status berth_topology_torus(berth_ctx *ctx, int32_t n_dims, const int32_t *dims,
                                  const berth_device *proto, const berth_link *link,
                                  berth_topology **out);
/** Machines of `per_machine` devices: a switch in each (link `inside`), all machines on one switch
 * (link `between`). */
berth_status berth_topology_two_level(berth_ctx *ctx, int32_t machines, int32_t per_machine,
                                      const berth_device *proto, const berth_link *inside,
                                      const berth_link *between, berth_topology **out);

typedef enum berth_group_links {
  BERTH_GROUPS_TAG,     /* a link for each ordered pair of devices in a group, one for each ordered
                           pair of groups */
  BERTH_GROUPS_HETEROG, /* the same in groups; one link for all that goes between groups */
  BERTH_GROUPS_NIC,     /* a send and a receive port for each device, a send and a receive network
                           card for each machine */
  BERTH_GROUPS_TREE     /* the same, and a link up and one down for each rack */
} berth_group_links;

/** Equal devices, which deployment treats as one. */
typedef struct berth_device_group {
  berth_device device; /* name and machine are ignored: d0, d1, ... group by group; the machine is
                          the number of the group */
  int32_t count;       /* devices, at least 1 */
  int32_t machines;    /* that they are in, 1 to count; more than 1 with NIC and TREE only */
  int32_t rack;        /* 0 to groups - 1; above 0 with TREE only */
  double bandwidth;    /* bytes/s within a machine */
} berth_device_group;

typedef struct berth_groups {
  int32_t n;                       /* groups */
  const berth_device_group *group; /* [n] */
  const double *between;           /* [n * n] bytes/s, src-major; the diagonal is read where a group
                                      has several machines */
  double latency;                  /* s of every route */
  berth_group_links links;
} berth_groups;

/** A cluster of groups of equal devices, all routes explicit. Every route has the latency; its
 *  bottleneck is the group's bandwidth within a machine, else `between`, or with ports (NIC, TREE)
 *  the least of `between` and the two groups' bandwidths. A network card is as fast as the fastest
 *  pair that uses it, a rack's link as the fastest that crosses it; where a pair is slower than
 *  these let it be, every pair of machines has a link of its own bandwidth besides.
 *  @return BERTH_OK, BERTH_EINVAL (with the values), BERTH_ENOMEM.  O(devices^2).
 *  Source: H. Zhang and others, "Expediting Distributed DNN Training with Device Topology-Aware
 *  Graph Deployment", 2023, and its code (tag); X. Yi and others, "Optimizing Distributed Training
 *  Deployment in Heterogeneous GPU Clusters", 2020 (heterog). */
berth_status berth_topology_groups(berth_ctx *ctx, const berth_groups *spec, berth_topology **out);

#ifdef __cplusplus
}
#endif
#endif
