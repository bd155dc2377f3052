/* Contention in bounds: all transfers into a place, and all out of it, go through one port each, as
 * wide as the widest port of all places. */
#ifndef BERTH_PORTS_INTERNAL_H
#define BERTH_PORTS_INTERNAL_H

#include "pack/packing_internal.h"

/** Places are devices, or parts of them. All that comes into a place from others crosses some link,
 *  or channel, of a set that is chosen for it; the widest of the places counts for all. CHANNEL,
 *  DUPLEX: its devices. PAIR: its pairs with other places' devices. ROUTE, FAIR: of first links,
 *  last links and narrowest links of the routes those that are least together. */
typedef struct berth_i_ports {
  const berth_cost *cost;
  berth_links links;
  double width[2]; /* in, out: transfers at once; FAIR: bytes/s; INFINITY: nothing holds anything
                      up */
} berth_i_ports;

/** @param part [devices] 0 to places - 1; NULL: each device is a place
 *  @return BERTH_OK, BERTH_ENOMEM. PAIR, ROUTE, FAIR: O(devices^2), times the length of routes, and
 *          places x links */
berth_status berth_i_ports_init(const berth_cost *cost, berth_links links, const int32_t *part,
                                int32_t places, berth_i_ports *p);
static inline bool berth_i_ports_count(const berth_i_ports *p) {
  return p->links != BERTH_LINKS_FREE;
}
/** Seconds that a port is taken, all of it, by a crossing of so many bytes that takes `seconds` at
 * least. @param dir 0: in */
double berth_i_port_time(const berth_i_ports *p, int dir, double bytes, double seconds);

/** What an op waits for: it runs on the op's device, or comes in through the port. */
typedef struct berth_i_port_item {
  double head, end; /* before it can run; before it can cross */
  double p, w;      /* s of the device; INFINITY: it crosses. s of the port */
} berth_i_port_item;

/** Keeps the items that take most of the port, and puts them into the order that berth_i_port_split
 * needs. @return how many */
int32_t berth_i_port_order(berth_i_port_item *a, int32_t n);
/**
 * Of what is not ready before `from`, each item goes one way or is divided: by when is all done at
 * least?
 *
 * @param load s that the device is taken from then on, whatever the items do
 */
double berth_i_port_split(const berth_i_port_item *a, int32_t n, double from, double load);

#endif
