/* berth: place, partition, simulate and schedule distributed machine-learning graphs.
 *
 * This header includes all the others; what is not in one of them is not API.
 *
 * Conventions, everywhere:
 *  - SI base units in double: seconds, bytes, bytes/s, FLOP, FLOP/s.
 *  - Ids are int32_t from 0; BERTH_NONE (-1) means "none".
 *  - What can fail returns berth_status, zero is success; results leave through the last
 *    pointers and are untouched on failure; berth_errmsg(ctx) is what was wrong.
 *  - Input arrays are borrowed for the call. Objects are reference counted: whoever gets one from a
 *    `_new`, `_finish` or `**out` owns one reference and gives it back with `_release`.
 *    An object keeps what it needs alive, so the order of releases never matters.
 *  - Objects of one context may be used by one thread at a time; two contexts are independent.
 *  - The library never prints, exits, aborts or reads the time by itself (but for the executor,
 *  exec.h).
 */
#ifndef BERTH_H
#define BERTH_H

#include <berth/base.h>
#include <berth/bound.h>
#include <berth/cluster.h>
#include <berth/cost.h>
#include <berth/decide.h>
#include <berth/deploy.h>
#include <berth/episodes.h>
#include <berth/exec.h>
#include <berth/gang.h>
#include <berth/graph.h>
#include <berth/io.h>
#include <berth/list.h>
#include <berth/llm.h>
#include <berth/lp.h>
#include <berth/nn.h>
#include <berth/pacml.h>
#include <berth/pdors.h>
#include <berth/place.h>
#include <berth/placement.h>
#include <berth/ps.h>
#include <berth/ramp.h>
#include <berth/schedule.h>
#include <berth/search.h>
#include <berth/sim.h>
#include <berth/split.h>
#include <berth/topology.h>

#endif
