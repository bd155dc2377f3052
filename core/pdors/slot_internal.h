/* One slot of one job: what the files of its solver share. A state of a slot is brought to classes
 * of machines that are alike (slot_classes.c), each with a polygon of what fits on one
 * (slot_corners.c); a region's program is relaxed (slot_lp.c), then rounded and repaired
 * (slot_round.c) or solved exactly (slot_exact.c). With shared links offers are listed
 * (slot_shared.c). */
#ifndef BERTH_PDORS_SLOT_INTERNAL_H
#define BERTH_PDORS_SLOT_INTERNAL_H

#include "base/pool_internal.h"
#include "slot.h"

/** Machines that are alike: the same prices of a worker and of a server, the same resources
 * left. */
typedef struct berth_i_slot_class {
  double price[2];                   /* of a worker, of a server; INFINITY: none fits, or it is not
                                        to be had */
  double left[BERTH_PS_RESOURCES];   /* by the solver's list of resources */
  int32_t rack;                      /* if racks matter, else 0 */
  int32_t first, count;              /* in `member`; machines ascending */
  int32_t most[2];                   /* workers, servers on one machine, without the other */
  int32_t corner, corners;           /* of the polygon of (workers, servers) that one machine has
                                        room for; the first is (0, 0) */
} berth_i_slot_class;

/** Of the polygon of a class: workers and servers on one machine. */
typedef struct berth_i_slot_corner {
  double units[2], cost;
} berth_i_slot_corner;

/** Where it may be: the whole cluster, or one rack. Its classes are neighbours. */
typedef struct berth_i_slot_region {
  int32_t from, n;       /* classes */
  int32_t list;          /* where its classes by price begin */
  double slots;          /* worker-slots per sample */
} berth_i_slot_region;

typedef struct berth_i_slot_priced {
  double price;
  int32_t class;
} berth_i_slot_priced;

/** Units needed in a region. */
typedef struct berth_i_slot_want {
  int32_t units[2];      /* workers, servers */
} berth_i_slot_want;

/** A machine's part of the linear program's answer. */
typedef struct berth_i_slot_share {
  int32_t machine;
  double workers, servers;
} berth_i_slot_share;

/** An answer in whole numbers in the making. */
typedef struct berth_i_slot_draft {
  int32_t *units[2];          /* [machines] workers, servers; 0 but on those touched */
  int32_t *touched;           /* [machines] */
  uint8_t *is_touched;        /* [machines] */
  int32_t n;
  int64_t all[2];             /* workers, servers */
} berth_i_slot_draft;

/** A column of the basis, less its class's key. */
typedef struct berth_i_slot_column {
  int32_t corner;          /* or surplus: BERTH_I_SURPLUS_... */
  int32_t class;           /* BERTH_NONE: surplus */
  double units[2], cost;
  double amount;           /* machines, or surplus units */
} berth_i_slot_column;

/** The linear program of a region: least cost of so many workers and servers, machines of a class
 * shared out over its corners.
 *
 * Dual simplex method with generalised upper bounds: every class has a key corner, and besides
 * there are two columns, corners or surplus of one of the two covering rows. So the basis is 2 by
 * 2. */
typedef struct berth_i_slot_lp {
  int32_t *key;              /* [classes] corner */
  berth_i_slot_column column[2];
  double base[2];            /* what the key corners give */
  double want[2], price[2];  /* of workers, servers; dual prices */
  double bound;              /* of the cost, by the duals: valid also if pivots ran out;
                                INFINITY: nothing is feasible */
  bool solved;
  berth_i_slot_share *share; /* [shares] machines that have any */
  int32_t shares;
  size_t share_cap;
} berth_i_slot_lp;

/** With shared links: places, and what a job does there. */
typedef struct berth_i_slot_offer {
  double cost, speed;  /* samples in the slot */
  size_t first;        /* in offer_place */
  int32_t n;
} berth_i_slot_offer;

struct berth_i_slot_solver {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_ps *ps;
  berth_pdors_options o;
  berth_ps_options c;
  berth_pdors_counts counts;
  bool whole;                        /* polygons are hulls of their whole points: a better bound,
                                        but not the published program */
  /* the job and the state */
  const berth_ps_job *job;
  int32_t resources, resource[BERTH_PS_RESOURCES]; /* of which it takes any */
  double takes[2][BERTH_PS_RESOURCES];             /* by a worker, by a server */
  int32_t classes;
  berth_i_slot_class *class;         /* [machines] */
  int32_t *class_of, *member, *next; /* [machines] */
  int32_t *table;                    /* [table_room] classes by hash */
  size_t table_cap;
  berth_i_slot_priced *cheap[2];     /* [2 * machines] classes by price of a worker, of a server: of
                                        the cluster, then of each rack */
  bool racks;                        /* racks matter to the job */
  bool sorted;                       /* cheap is made */
  bool drawn;                        /* corners are made */
  berth_i_slot_corner *corner;       /* [corners] of all classes */
  int32_t corners;
  size_t corner_cap;
  berth_i_slot_lp lp;
  berth_i_slot_draft draft;
  berth_i_slot_region *region;       /* [machines + 1] the cluster first */
  int32_t regions;
  double inside_slots, rack_slots;   /* worker-slots per sample on one machine, in one rack */
  /* shared links */
  bool shared, listed;               /* plans follow them; offers are listed for the state */
  int32_t number, offers;            /* of the job */
  berth_i_slot_offer *offer;         /* [offers] by cost, and by speed */
  berth_ps_place *offer_place;
  size_t offer_cap, offer_places, offer_place_cap;
  /* best so far */
  berth_ps_place *best;              /* [machines] */
  int32_t best_n;
  double best_cost;
};

enum { BERTH_I_SURPLUS_WORKERS = -1, BERTH_I_SURPLUS_SERVERS = -2 };

/* ---- slot_classes.c ---- */
void berth_i_slot_classify(berth_i_slot_solver *s, const berth_i_slot_state *state);
/** Both kinds on one machine of a class. */
static inline bool berth_i_slot_fits(const berth_i_slot_solver *s, const berth_i_slot_class *c,
                                     int32_t workers, int32_t servers) {
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[0][r] * workers + s->takes[1][r] * servers > c->left[r]) return false;
  return true;
}
/** More of a kind (0 workers, 1 servers), at most `most`, where some are already. */
int32_t berth_i_slot_most_more(const berth_i_slot_solver *s,
                               const berth_i_slot_class *c, int32_t kind,
                               int32_t workers, int32_t servers, int32_t most);

/** Makes `cheap`, once for a state. */
void berth_i_slot_sort(berth_i_slot_solver *s);

/** Of so many on one machine of a class. */
static inline double berth_i_slot_cost(const berth_i_slot_class *c, double workers,
                                       double servers) {
  return (workers > 0 ? workers * c->price[0] : 0) + (servers > 0 ? servers * c->price[1] : 0);
}

/* ---- slot_corners.c ---- */
/** Makes `corner`, once for a state. */
berth_status berth_i_slot_draw(berth_i_slot_solver *s);

/* ---- slot_lp.c ---- */
/** Least cost of the needed units in a region; the answer is in s->lp. It does not depend on what
 *  was solved before.
 *  O(pivots * corners); pivots are about the classes of which any machine is used. */
berth_status berth_i_slot_relax(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                berth_i_slot_want want);

/** Least reduced cost of a class's corners by these prices; at most 0. */
double berth_i_slot_reduced(const berth_i_slot_solver *s, const berth_i_slot_class *c,
                            const double price[2]);

/* ---- slot_round.c: answers in whole numbers ---- */
void berth_i_slot_draft_clear(berth_i_slot_solver *s);
void berth_i_slot_draft_put(berth_i_slot_solver *s, int32_t machine, int32_t workers,
                            int32_t servers);
/** Takes what is too much for its machine, then what is too much in all, the most expensive; then
 *  adds what is missing, the cheapest that fits, `first` of the kinds first. @return whether all
 *  could be had */
bool berth_i_slot_repair(berth_i_slot_solver *s, const berth_i_slot_region *g,
                         berth_i_slot_want want, int32_t first);
/** Keeps the draft if it is cheaper than what there is. All on one machine is not kept: that is for
 * the case of one machine. */
void berth_i_slot_keep(berth_i_slot_solver *s, const berth_i_slot_region *g);

/* candidates from the linear program's answer, which is in s->lp */
/** The factor of the options for this program. */
double berth_i_slot_factor(const berth_i_slot_solver *s, const berth_i_slot_region *g,
                           berth_i_slot_want want);
void berth_i_slot_round_faithfully(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                   berth_i_slot_want want, berth_rng *rng);
void berth_i_slot_round_and_repair(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                   berth_i_slot_want want, berth_rng *rng);

/* ---- slot_shared.c ---- */
/** The cheapest offer that does so many samples. */
berth_status berth_i_slot_shared(berth_i_slot_solver *s, double samples, berth_i_slot_answer *out);

/* ---- slot_exact.c ---- */
/** Keeps the best of all, if it is better than what there is; s->lp is that of the hulls. @return
 * BERTH_ENOMEM */
berth_status berth_i_slot_exact(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                berth_i_slot_want want);

#endif
