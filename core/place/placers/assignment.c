/* The assignment problem, by shortest augmenting paths with dual prices (source: the header), and
 * by enumeration. Invariant of the former: reduced prices are at least 0, and 0 on assigned pairs.
 * O(rows^2 columns); the enumeration is O(columns! / (columns - rows)!) at worst. */
#include "assignment_internal.h"

static const berth_i_price nothing = { 0, 0, 0 }, endless = { INFINITY, 0, 0 };

static berth_i_price plus(berth_i_price a, berth_i_price b) {
  berth_i_price sum = { a.refused + b.refused, a.cost + b.cost, a.tie + b.tie };
  return sum;
}
static berth_i_price minus(berth_i_price a, berth_i_price b) {
  berth_i_price left = { a.refused - b.refused, a.cost - b.cost, a.tie - b.tie };
  return left;
}
static bool below(berth_i_price a, berth_i_price b) { return berth_i_price_compare(a, b) < 0; }

/* ---- augmenting paths ---- */

/* Rows and columns from 1; column 0 is the root of the row that is being assigned. */
typedef struct solver {
  int32_t rows, columns;
  const berth_i_price *price;
  berth_i_price *of_row, *of_column, *least; /* [rows + 1], [columns + 1]: potentials; [columns + 1]
                                                reduced price from the tree */
  int32_t *row, *before;                     /* [columns + 1]: assigned row, 0: none; column before
                                                it on the path */
  uint8_t *reached;                          /* [columns + 1] */
} solver;

static void assign_row(solver *s, int32_t row) {
  int32_t j, column = 0;
  for (j = 0; j <= s->columns; j++) {
    s->least[j] = endless;
    s->reached[j] = 0;
  }
  s->row[0] = row;
  do {
    /* 1. The column enters the tree; columns outside may be reached for less through its row. */
    const int32_t from = s->row[column];
    const berth_i_price *p = s->price + (size_t)(from - 1) * (size_t)s->columns;
    int32_t nearest = 0;
    s->reached[column] = 1;
    for (j = 1; j <= s->columns; j++) {
      if (s->reached[j]) continue;
      berth_i_price reduced = minus(p[j - 1], plus(s->of_row[from], s->of_column[j]));
      if (below(reduced, s->least[j])) {
        s->least[j] = reduced;
        s->before[j] = column;
      }
      if (nearest == 0 || below(s->least[j], s->least[nearest])) nearest = j;
    }
    /* 2. Potentials change so that the nearest column is reached at reduced price 0. */
    const berth_i_price by = s->least[nearest];
    for (j = 0; j <= s->columns; j++) {
      if (s->reached[j]) {
        s->of_row[s->row[j]] = plus(s->of_row[s->row[j]], by);
        s->of_column[j] = minus(s->of_column[j], by);
      } else {
        s->least[j] = minus(s->least[j], by);
      }
    }
    column = nearest;
  } while (s->row[column] != 0);
  /* 3. Augment: rows on the path to the free column move one column on. */
  for (; column != 0; column = j) {
    j = s->before[column];
    s->row[column] = s->row[j];
  }
}

berth_status berth_i_assignment(berth_ctx *ctx, int32_t rows, int32_t columns,
                                const berth_i_price *price, int32_t *column) {
  size_t n = (size_t)rows + 1, m = (size_t)columns + 1;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  solver s = { .rows = rows, .columns = columns, .price = price };
  if (rows == 0) return BERTH_OK;
  s.of_row = berth_i_pool_alloc(&scratch, n, sizeof *s.of_row);
  s.of_column = berth_i_pool_alloc(&scratch, m, sizeof *s.of_column);
  s.least = berth_i_pool_alloc(&scratch, m, sizeof *s.least);
  s.row = berth_i_pool_alloc(&scratch, m, sizeof *s.row);
  s.before = berth_i_pool_zalloc(&scratch, m, sizeof *s.before);
  s.reached = berth_i_pool_alloc(&scratch, m, sizeof *s.reached);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  for (int32_t i = 0; i <= rows; i++) s.of_row[i] = nothing;
  for (int32_t j = 0; j <= columns; j++) {
    s.of_column[j] = nothing;
    s.row[j] = 0;
  }
  for (int32_t i = 1; i <= rows; i++) assign_row(&s, i);
  for (int32_t j = 1; j <= columns; j++) {
    if (s.row[j] != 0) column[s.row[j] - 1] = j - 1;
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- enumeration ---- */

typedef struct trial {
  int32_t rows, columns;
  const berth_i_price *price;
  int32_t twin[BERTH_I_MOST_PERMUTED]; /* the lowest column equal to it */
  int32_t at[BERTH_I_MOST_PERMUTED];   /* of the rows so far */
  bool taken[BERTH_I_MOST_PERMUTED];
  berth_i_price best;
  int32_t *column;
} trial;

static bool equal_columns(const trial *t, int32_t a, int32_t b) {
  for (int32_t i = 0; i < t->rows; i++) {
    const berth_i_price *p = t->price + (size_t)i * (size_t)t->columns;
    if (berth_i_price_compare(p[a], p[b]) != 0) return false;
  }
  return true;
}

static void find_twins(trial *t) {
  for (int32_t j = 0; j < t->columns; j++) {
    t->twin[j] = 0;
    while (!equal_columns(t, t->twin[j], j)) t->twin[j]++;
  }
}

/* Of equal columns that are free, only the first is evaluated. */
static bool is_first(const trial *t, int32_t column) {
  for (int32_t j = t->twin[column]; j < column; j++) {
    if (!t->taken[j] && t->twin[j] == t->twin[column]) return false;
  }
  return true;
}

static void descend(trial *t, int32_t row, berth_i_price sum) {
  if (!below(sum, t->best)) return;
  if (row == t->rows) {
    t->best = sum;
    memcpy(t->column, t->at, (size_t)row * sizeof *t->column);
    return;
  }
  for (int32_t j = 0; j < t->columns; j++) {
    if (t->taken[j] || !is_first(t, j)) continue;
    t->taken[j] = true;
    t->at[row] = j;
    descend(t, row + 1, plus(sum, t->price[(size_t)row * (size_t)t->columns + (size_t)j]));
    t->taken[j] = false;
  }
}

void berth_i_assignment_enumerate(int32_t rows, int32_t columns, const berth_i_price *price,
                                  int32_t *column) {
  trial t = { 0 };
  t.rows = rows;
  t.columns = columns;
  t.price = price;
  t.column = column;
  t.best = endless;
  find_twins(&t);
  descend(&t, 0, nothing);
}
