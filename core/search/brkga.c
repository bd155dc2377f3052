/* Biased random-key genetic algorithm: one key per unit, decoded to a device. Each generation: the
 * elites stay, the mutants are new, the rest takes each key from an elite parent with probability
 * `bias`, else from another. Invariant: rows are sorted by rank up to `elite`; what cannot become
 * an elite is not simulated to its end. O(population x simulation) a generation.
 * Source: Goncalves, Resende, "Biased random-key genetic algorithms for combinatorial
 * optimization", J. Heuristics 2011, sec. 2. */
#include "base/sort_internal.h"
#include "search_internal.h"

enum { BARREN = 20, FEW = 20, LOTS = 100 }; /* generations in a row of which nothing fits; rows */

typedef struct ranked {
  double value;
  int32_t row;
} ranked;

typedef struct breeder {
  berth_i_walk *walk; /* one per thread */
  berth_i_search *s;
  const berth_i_problem *p;
  const berth_i_clumps *b;
  int32_t n_walks, size, elite, mutants;
  int32_t from, n_rows; /* of this generation are to be evaluated */
  double *key, *next;   /* [size * units] rows: elites by rank, children, mutants */
  double *value;        /* [size] INFINITY: not allowed, or above what makes an elite */
  ranked *rank;         /* [size] */
  double limit;
  berth_rng rng;
} breeder;

static double *row_of(const breeder *y, double *keys, int32_t row) {
  return &keys[(size_t)row * (size_t)y->b->n];
}

/* ---- values ---- */

static bool is_over(const breeder *y) {
  const berth_search_options *o = y->p->o;
  if (atomic_load(&y->s->stopped)) return true;
  return o->seconds > 0 && atomic_load_explicit(&y->s->elapsed, memory_order_relaxed) >= o->seconds;
}

static bool decode(const breeder *y, berth_i_walk *w, int32_t row) {
  return berth_i_start_dealt(y->p, y->b, row_of(y, y->key, row), w->order, w->held);
}

static void evaluate_row(void *ud, int32_t thread, int32_t job) {
  breeder *y = ud;
  berth_i_walk *w = &y->walk[thread];
  if (thread == 0) berth_i_search_poll(y->s);
  if (is_over(y) || !decode(y, w, y->from + job)) return;
  double value;
  w->status = berth_i_walk_evaluate(w, w->order, y->limit, &value);
  if (w->status != BERTH_OK) atomic_store(&y->s->stopped, true);
  else if (value <= y->limit) y->value[y->from + job] = value;
}

static void watch(void *ud) { berth_i_search_watch(((breeder *)ud)->s); }

/* Rows that the budget does not reach count as not allowed. To start threads takes as long as to
 * simulate some thousand edges. */
static void evaluate_rows(breeder *y) {
  const berth_graph *g = y->p->cost->g;
  const int64_t left = y->p->o->calls - (int64_t)atomic_load(&y->s->calls);
  berth_i_jobs jobs = { evaluate_row, NULL, watch, y };
  for (int32_t i = y->from; i < y->size; i++) y->value[i] = INFINITY;
  y->n_rows = y->size - y->from;
  if (y->p->o->calls > 0 && left < y->n_rows) y->n_rows = (int32_t)left;
  bool threads = (int64_t)y->n_rows * (berth_graph_ops(g) + berth_graph_edges(g)) >= 10000;
  berth_i_parallel_watched(threads ? y->n_walks : 1, y->n_rows, &jobs);
  berth_i_walk *w = &y->walk[0];
  for (int32_t i = y->from; i < y->from + y->n_rows; i++) {
    if (y->value[i] < w->best_value && decode(y, w, i)) berth_i_walk_take(w, w->order, y->value[i]);
  }
}

/* ---- generations ---- */

BERTH_I_SORT(sort_by_value, ranked, BERTH_I_UP(value) BERTH_I_UP(row))

/* Behind the elites by number: values above the limit are not exact, so they have no rank. */
BERTH_I_SORT(sort_by_row, ranked, BERTH_I_UP(row))

static void draw_keys(breeder *y, double *key) {
  for (int32_t i = 0; i < y->b->n; i++) key[i] = berth_rng_uniform(&y->rng);
}

static void next_generation(breeder *y) {
  const size_t row = (size_t)y->b->n * sizeof *y->key;
  int32_t i;
  for (i = 0; i < y->size; i++) y->rank[i] = (ranked){ y->value[i], i };
  sort_by_value(y->rank, (size_t)y->size);
  sort_by_row(y->rank + y->elite, (size_t)(y->size - y->elite));
  /* elites stay */
  for (i = 0; i < y->elite; i++) {
    memcpy(row_of(y, y->next, i), row_of(y, y->key, y->rank[i].row), row);
    y->value[i] = y->rank[i].value;
  }
  /* crossover: each key from an elite parent with probability `bias` */
  for (; i < y->size - y->mutants; i++) {
    const int32_t elite = berth_rng_below(&y->rng, y->elite),
                  other = y->elite + berth_rng_below(&y->rng, y->size - y->elite);
    const double *a = row_of(y, y->key, y->rank[elite].row),
                 *b = row_of(y, y->key, y->rank[other].row);
    double *child = row_of(y, y->next, i);
    for (int32_t k = 0; k < y->b->n; k++)
      child[k] = berth_rng_uniform(&y->rng) < y->p->o->bias ? a[k] : b[k];
  }
  /* mutants are drawn anew */
  for (; i < y->size; i++) draw_keys(y, row_of(y, y->next, i));
  double *swap = y->key;
  y->key = y->next;
  y->next = swap;
  y->from = y->elite;
  y->limit = y->value[y->elite - 1];
}

/* The middle of the keys that lead a unit to where its first op is. */
static void encode(breeder *y, const int32_t *device, double *key) {
  const int32_t devices = y->p->n_devices;
  for (int32_t i = 0; i < y->b->n; i++) {
    const uint8_t *may = &y->b->may[(size_t)i * (size_t)devices];
    int32_t before = 0, all = 0, at = device[y->b->ops[y->b->at[i]]];
    for (int32_t d = 0; d < devices; d++) {
      before += may[d] && d < at;
      all += may[d];
    }
    key[i] = all > 0 ? (before + 0.5) / all : 0.5;
  }
}

static void breed(breeder *y, const berth_i_starts *start) {
  const int64_t calls = y->p->o->calls;
  int32_t barren = 0;
  bool rival = !isinf(start->rival_value);
  if (rival) berth_i_walk_take(&y->walk[0], start->rival, start->rival_value);
  if (start->value[0] < start->rival_value)
    berth_i_walk_take(&y->walk[0], start->device[0], start->value[0]);
  /* the first generation: the starts, then random keys */
  for (int32_t i = 0; i < y->size; i++) {
    if (i < start->n) encode(y, start->device[i], row_of(y, y->key, i));
    else if (i == start->n && rival) encode(y, start->rival, row_of(y, y->key, i));
    else draw_keys(y, row_of(y, y->key, i));
  }
  for (; !is_over(y) && barren < BARREN; next_generation(y)) {
    const int64_t before = (int64_t)atomic_load(&y->s->calls);
    if (calls > 0 && before >= calls) break;
    evaluate_rows(y);
    barren = (int64_t)atomic_load(&y->s->calls) == before ? barren + 1 : 0;
  }
}

int32_t berth_i_population(const berth_i_problem *p) {
  if (p->o->population > 0) return p->o->population;
  return p->units.n < FEW ? FEW : p->units.n > LOTS ? LOTS : p->units.n;
}

berth_status berth_i_breed(berth_i_walk *walk, int32_t n_walks, const berth_i_starts *start) {
  berth_i_pool scratch = berth_i_pool_empty(walk->p->ctx);
  const berth_i_problem *p = walk->p;
  const int32_t size = berth_i_population(p), elite = (int32_t)(p->o->elite * size);
  const size_t keys = (size_t)size * (size_t)p->units.n;
  breeder y = { .walk = walk, .s = walk->s, .p = p, .b = &p->units, .n_walks = n_walks,
                .size = size, .elite = elite > 1 ? elite : 1,
                .mutants = (int32_t)(p->o->mutants * size), .limit = INFINITY };
  berth_rng_init(&y.rng, p->o->seed, 0);
  y.key = berth_i_pool_alloc(&scratch, keys, sizeof *y.key);
  y.next = berth_i_pool_alloc(&scratch, keys, sizeof *y.next);
  y.value = berth_i_pool_alloc(&scratch, (size_t)size, sizeof *y.value);
  y.rank = berth_i_pool_alloc(&scratch, (size_t)size, sizeof *y.rank);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) breed(&y, start);
  berth_i_pool_free(&scratch);
  return st;
}
