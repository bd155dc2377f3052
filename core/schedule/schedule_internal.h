/* Pipeline schedules, between the files of the room: the problem by chunk and stage, words, their
 * evaluation.
 *
 * A word is the actions of one stage in execution order, each a code: 4 x the number of the chunk
 * on the stage + the kind. The k-th action of a kind and chunk is that of micro-batch k, so a word
 * needs no micro-batches. */
#ifndef BERTH_SCHEDULE_INTERNAL_H
#define BERTH_SCHEDULE_INTERNAL_H

#include "base/base_internal.h"
#include "base/pool_internal.h"
#include <berth/schedule.h>

struct berth_schedule_problem {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_schedule_problem_options o;
  int32_t p, v, m, n;       /* stages, chunks of a stage, micro-batches, chunks of the model */
  int32_t *stage, *local;   /* [n] the stage of a chunk, and its number there */
  int32_t *chunk;           /* [p * v] chunk of the model, by stage and number */
  int32_t *next, *prev;     /* [n] along a micro-batch's way; BERTH_NONE: the ends */
  int32_t *count, *first;   /* [n] micro-batches that the chunk runs, and the first of them */
  int32_t *source, *reader; /* [2n] by lane: the lane that it waits for, NONE: nothing; the stage
                               that waits for it, NONE: none but its own */
  double *wait;             /* [2n] s from an end in `source` */
  double *time[3];          /* [n] s, by kind; W 0 if joined */
  double *lag;              /* [n] s from the previous chunk, and back to it */
  double *adds, *frees[3];  /* [n] memory; frees[0] is 0 */
  double *limit, *extra;    /* [p] */
};

typedef uint16_t berth_i_code;
enum {
  BERTH_I_KINDS = 4,
  BERTH_I_OVERLAPPED = 0x8000, /* flag of a code */
  BERTH_I_MOST_CHUNKS = 1024   /* of a stage */
};
static inline int32_t berth_i_kind(berth_i_code c) { return c & 3; }
static inline int32_t berth_i_local(berth_i_code c) { return (c & ~BERTH_I_OVERLAPPED) >> 2; }
static inline berth_i_code berth_i_code_of(int32_t local, int32_t kind) {
  return (berth_i_code)(4 * local + kind);
}
/** The chunk of the model that a code of a stage means. */
static inline int32_t berth_i_chunk(const berth_schedule_problem *p, int32_t stage,
                                    berth_i_code c) {
  return p->chunk[stage * p->v + berth_i_local(c)];
}
static inline bool berth_i_is_backward(int32_t kind) {
  return kind == BERTH_SCHEDULE_BACKWARD || kind == BERTH_SCHEDULE_FULL;
}
/** The F's and the B's of a chunk are two lanes: the k-th action of a lane waits for the k-th of
 *  another. An F waits for the F before it on its way, a B for the B after it, the last B for its
 *  own F. */
static inline int32_t berth_i_lane(int32_t chunk, int32_t kind) {
  return 2 * chunk + berth_i_is_backward(kind);
}
/** s that an action takes alone. */
static inline double berth_i_seconds(const berth_schedule_problem *p, int32_t chunk,
                                     int32_t kind) {
  return kind == BERTH_SCHEDULE_FULL ? p->time[1][chunk] + p->time[2][chunk] : p->time[kind][chunk];
}
static inline double berth_i_freed(const berth_schedule_problem *p, int32_t chunk, int32_t kind) {
  return kind == BERTH_SCHEDULE_FULL ? p->adds[chunk] : p->frees[kind][chunk];
}
extern const berth_choice *const berth_i_map_choices[];

/** The least that times can be multiplied with by slots: F's and B's of two chunks overlap. */
static inline double berth_i_least_share(const berth_schedule_problem *p) {
  return p->v > 1 ? fmin(p->o.overlap, 1) : 1;
}

/** More than the limit, beyond rounding. */
static inline bool berth_i_over(double held, double limit) {
  return held > limit + 1e-9 * fabs(limit);
}

/* ---- words ---- */

/* One word per stage, one behind the other. */
typedef struct berth_i_words {
  const berth_schedule_problem *p;
  size_t *begin;       /* [p + 1] */
  berth_i_code *code;  /* [begin[p]] */
} berth_i_words;

struct berth_schedule {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_schedule_problem *p;
  berth_i_words w;
  char *name;
};

/** Most actions that a word of the stage can have. */
size_t berth_i_word_most(const berth_schedule_problem *p, int32_t stage);
/** Sets `begin` to the room for all actions of each stage. */
void berth_i_words_begin(berth_i_words *w);
/** Words with room for all actions of each stage, in the pool; `begin` is of that room. */
berth_status berth_i_words_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                berth_i_words *out);
/** A schedule of words that are in order; they are copied. */
berth_status berth_i_schedule_of(berth_schedule_problem *p, const berth_i_words *w,
                                 const char *name, berth_schedule **out);

/** "F2.5" */
const char *berth_i_action_text(const berth_schedule_action *a, char *buf, size_t size);

/* ---- evaluation ---- */

/* Scratch of many evaluations of one problem. */
typedef struct berth_i_run {
  const berth_schedule_problem *p;
  double *end;          /* s, by lane and number */
  size_t *at;           /* [2n] where a lane begins in it */
  int32_t *done;        /* [2n] ended */
  size_t *pos;          /* [p] actions done */
  double *first, *last; /* [p] s: start of the first action, end of the last one */
  int32_t *queue;       /* [p] a ring of the stages that may go on */
  uint8_t *queued;      /* [p] */
  int32_t head, waiting; /* of the ring */
} berth_i_run;

berth_status berth_i_run_make(const berth_schedule_problem *p, berth_i_pool *pool,
                              berth_i_run *out);
/** Nothing has run, and every stage may. */
void berth_i_run_reset(berth_i_run *r);
/** The next stage that may go on; BERTH_NONE: none. */
int32_t berth_i_run_stage(berth_i_run *r);
/** When the input of the next action of a lane is on its stage; INFINITY: it has not been made. */
static inline double berth_i_arrival(const berth_i_run *r, int32_t lane) {
  int32_t from = r->p->source[lane], k = r->done[lane];
  if (from == BERTH_NONE) return 0;
  return k < r->done[from] ? r->end[r->at[from] + (size_t)k] + r->p->wait[lane] : INFINITY;
}
/** The next action of a lane ends: what waits for it may go on. */
static inline void berth_i_end(berth_i_run *r, int32_t lane, double end) {
  int32_t stage = r->p->reader[lane];
  r->end[r->at[lane] + (size_t)r->done[lane]++] = end;
  if (stage == BERTH_NONE || r->queued[stage]) return;
  int32_t tail = r->head + r->waiting++;
  r->queue[tail < r->p->p ? tail : tail - r->p->p] = stage;
  r->queued[stage] = 1;
}
/**
 * Earliest starts. Memory is not looked at: it depends on each word alone (berth_i_word_peak).
 * @param start, finish [actions] may be NULL
 * @return the objective, s; INFINITY: deadlock, r->pos says where. O(actions)
 */
double berth_i_run_words(berth_i_run *r, const berth_i_words *w, double *start, double *finish);
double berth_i_run_span(const berth_i_run *r);
double berth_i_run_makespan(const berth_i_run *r);
/** Most memory that a stage holds along its first n actions.
 *  @param over place of the first action that passes the limit, n: none; may be NULL */
double berth_i_word_peak(const berth_i_words *w, int32_t stage, size_t n, size_t *over);

#endif
