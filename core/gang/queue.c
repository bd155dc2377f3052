/* Jobs that wait, in the order of a rule: a treap that keeps the least gang and the least time of
 * each subtree, so that the next job that fits is found in O(log jobs) on the mean. Invariants:
 * ranks ascend from left to right, heights fall from a node to its children; heights are a
 * bijection of job numbers, so the shape depends on the jobs and their ranks, not on their
 * history. */
#include "gang_internal.h"

berth_status berth_i_gang_queue_init(berth_i_pool *pool, berth_i_gang_queue *q, int32_t n_jobs) {
  *q = (berth_i_gang_queue){ NULL, BERTH_NONE, 0 };
  q->at = berth_i_pool_alloc(pool, (size_t)n_jobs, sizeof *q->at);
  return berth_i_pool_status(pool);
}

/* Parents have the larger one; a bijection, so no two jobs are equal. */
static uint32_t height(int32_t job) {
  uint32_t x = (uint32_t)job + 0x9E3779B9u;
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return x ^ x >> 16;
}

static void update(berth_i_gang_queue *q, int32_t job) {
  berth_i_gang_node *t = &q->at[job];
  t->least_size = t->size;
  t->least_seconds = t->seconds;
  for (int side = 0; side < 2; side++) {
    int32_t child = side ? t->right : t->left;
    if (child == BERTH_NONE) continue;
    if (q->at[child].least_size < t->least_size) t->least_size = q->at[child].least_size;
    t->least_seconds = fmin(t->least_seconds, q->at[child].least_seconds);
  }
}

/* Those before rank, and those from it on. */
static void split(berth_i_gang_queue *q, int32_t t, berth_i_gang_rank rank, int32_t *before,
                  int32_t *after) {
  if (t == BERTH_NONE) {
    *before = *after = BERTH_NONE;
  } else if (berth_i_gang_before(q->at[t].rank, rank)) {
    int32_t rest;
    split(q, q->at[t].right, rank, &rest, after);
    q->at[t].right = rest;
    update(q, *before = t);
  } else {
    int32_t rest;
    split(q, q->at[t].left, rank, before, &rest);
    q->at[t].left = rest;
    update(q, *after = t);
  }
}

static int32_t join(berth_i_gang_queue *q, int32_t a, int32_t b) {
  if (a == BERTH_NONE) return b;
  if (b == BERTH_NONE) return a;
  if (height(a) > height(b)) {
    q->at[a].right = join(q, q->at[a].right, b);
    update(q, a);
    return a;
  }
  q->at[b].left = join(q, a, q->at[b].left);
  update(q, b);
  return b;
}

static int32_t add(berth_i_gang_queue *q, int32_t t, int32_t job) {
  if (t == BERTH_NONE || height(job) > height(t)) {
    split(q, t, q->at[job].rank, &q->at[job].left, &q->at[job].right);
    update(q, job);
    return job;
  }
  if (berth_i_gang_before(q->at[job].rank, q->at[t].rank)) {
    q->at[t].left = add(q, q->at[t].left, job);
  } else {
    q->at[t].right = add(q, q->at[t].right, job);
  }
  update(q, t);
  return t;
}

void berth_i_gang_queue_add(berth_i_gang_queue *q, int32_t job, berth_i_gang_rank rank,
                            int32_t size, double seconds) {
  q->at[job] = (berth_i_gang_node){ rank, seconds, seconds, size, size, BERTH_NONE, BERTH_NONE };
  q->root = add(q, q->root, job);
  q->n++;
}

static int32_t without(berth_i_gang_queue *q, int32_t t, int32_t job) {
  if (t == job) return join(q, q->at[t].left, q->at[t].right);
  if (berth_i_gang_before(q->at[job].rank, q->at[t].rank)) {
    q->at[t].left = without(q, q->at[t].left, job);
  } else {
    q->at[t].right = without(q, q->at[t].right, job);
  }
  update(q, t);
  return t;
}

void berth_i_gang_queue_remove(berth_i_gang_queue *q, int32_t job) {
  q->root = without(q, q->root, job);
  q->n--;
}

static int32_t next(const berth_i_gang_queue *q, int32_t t, berth_i_gang_rank after, int32_t size,
                    double seconds) {
  while (t != BERTH_NONE && q->at[t].least_size <= size && q->at[t].least_seconds <= seconds) {
    if (berth_i_gang_before(after, q->at[t].rank)) {
      int32_t found = next(q, q->at[t].left, after, size, seconds);
      if (found != BERTH_NONE) return found;
      if (q->at[t].size <= size && q->at[t].seconds <= seconds) return t;
    }
    t = q->at[t].right;
  }
  return BERTH_NONE;
}

int32_t berth_i_gang_queue_next(const berth_i_gang_queue *q, berth_i_gang_rank after, int32_t size,
                                double seconds) {
  return next(q, q->root, after, size, seconds);
}

void berth_i_gang_queue_clear(berth_i_gang_queue *q) {
  q->root = BERTH_NONE;
  q->n = 0;
}

static int32_t *list(const berth_i_gang_queue *q, int32_t t, int32_t *to) {
  for (; t != BERTH_NONE; t = q->at[t].right) {
    to = list(q, q->at[t].left, to);
    *to++ = t;
  }
  return to;
}

void berth_i_gang_queue_list(const berth_i_gang_queue *q, int32_t *job) { list(q, q->root, job); }
