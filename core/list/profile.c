/* Bytes held on one device over time: a treap of changes in order of (time, releases first), each
 * subtree with its sum and with the highest level that its changes reach. Priorities are a hash of
 * the node's number: same input, same tree. */
#include "engine_internal.h"

struct berth_i_profile_node {
  double time, change, sum, most; /* most: largest sum of a prefix of the subtree, the empty one
                                     included */
  int32_t left, right;
};

static uint32_t rank_of(int32_t node) {
  uint32_t h = (uint32_t)node * 2654435761u;
  h = (h ^ (h >> 15)) * 2246822519u;
  return h ^ (h >> 13);
}

void berth_i_profile_init(berth_i_profile *f) {
  memset(f, 0, sizeof *f);
  f->root = BERTH_NONE;
}

static double sum_of(const berth_i_profile *f, int32_t i) {
  return i == BERTH_NONE ? 0 : f->node[i].sum;
}
static double most_of(const berth_i_profile *f, int32_t i) {
  return i == BERTH_NONE ? 0 : f->node[i].most;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void refresh(berth_i_profile *f, int32_t i) {
  berth_i_profile_node *v = &f->node[i];
  double through = sum_of(f, v->left) + v->change, beyond = through + most_of(f, v->right);
  v->sum = through + sum_of(f, v->right);
  v->most = larger(most_of(f, v->left), larger(through, beyond));
}

static bool before(const berth_i_profile_node *v, double time, bool release) {
  if (v->time != time) return v->time < time;
  return v->change < 0 || !release;
}

/* Splits a tree into what comes before (time, release or not) and the rest. */
static void split(berth_i_profile *f, int32_t i, double time, bool release, int32_t *low,
                  int32_t *high) {
  if (i == BERTH_NONE) {
    *low = *high = BERTH_NONE;
    return;
  }
  if (before(&f->node[i], time, release)) {
    int32_t right;
    split(f, f->node[i].right, time, release, &right, high);
    f->node[i].right = right;
    *low = i;
  } else {
    int32_t left;
    split(f, f->node[i].left, time, release, low, &left);
    f->node[i].left = left;
    *high = i;
  }
  refresh(f, i);
}

static int32_t insert(berth_i_profile *f, int32_t i, int32_t fresh) {
  const berth_i_profile_node *v = &f->node[fresh];
  if (i == BERTH_NONE) return fresh;
  if (rank_of(fresh) > rank_of(i)) {
    int32_t low, high;
    split(f, i, v->time, v->change < 0, &low, &high);
    f->node[fresh].left = low;
    f->node[fresh].right = high;
    refresh(f, fresh);
    return fresh;
  }
  if (before(&f->node[i], v->time, v->change < 0)) {
    f->node[i].right = insert(f, f->node[i].right, fresh);
  } else {
    f->node[i].left = insert(f, f->node[i].left, fresh);
  }
  refresh(f, i);
  return i;
}

berth_status berth_i_profile_add(berth_i_pool *pool, berth_i_profile *f, double time,
                                 double bytes) {
  if (bytes == 0) return BERTH_OK;
  berth_status st;
  if ((st = berth_i_pool_grow(pool, (void **)&f->node, &f->cap, f->n + 1, sizeof *f->node))
      != BERTH_OK)
    return st;
  berth_i_profile_node *v = &f->node[f->n];
  v->time = time;
  v->change = v->sum = bytes;
  v->most = bytes > 0 ? bytes : 0;
  v->left = v->right = BERTH_NONE;
  f->root = insert(f, f->root, (int32_t)f->n++);
  return BERTH_OK;
}

/* Walks down; `level` is what is held before the subtree, `highest` the most seen at or after
 * `time`. */
double berth_i_profile_most(const berth_i_profile *f, double time) {
  double level = 0, highest = -INFINITY;
  int32_t i = f->root;
  while (i != BERTH_NONE) {
    const berth_i_profile_node *v = &f->node[i];
    double through = level + sum_of(f, v->left) + v->change;
    if (v->time < time || (v->time == time && v->change < 0)) {
      level = through;
      i = v->right;
    } else {
      highest = larger(highest, through + most_of(f, v->right)); /* most_of is at least 0 */
      i = v->left;
    }
  }
  return larger(highest, level);
}

double berth_i_profile_highest(const berth_i_profile *f) { return most_of(f, f->root); }

double berth_i_profile_last(const berth_i_profile *f) { return sum_of(f, f->root); }
