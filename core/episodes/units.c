/* Units: ops whose device is one decision. The union of what a given label, colocation groups and,
 * with `contract`, the searches hold together; numbered by their first op. */
#include "search/search_internal.h"
#include "base/sort_internal.h"
#include "base/union_find_internal.h"
#include "episodes_internal.h"

typedef struct labelled {
  int32_t label, op;
} labelled;

BERTH_I_SORT(sort_by_label, labelled, BERTH_I_UP(label) BERTH_I_UP(op))

/* Ops with one label form a unit; labels may be any numbers, so they are sorted. */
static berth_status join_labels(berth_assign *a, int32_t *up, const int32_t *label) {
  size_t n = (size_t)a->n;
  for (size_t i = 0; i < n; i++) {
    if (label[i] < 0)
      return berth_i_fail(a->ctx, BERTH_EINVAL, "assignment: unit %d of op %d is negative",
                          (int)label[i], (int)i);
  }
  labelled *sorted;
  if (!(sorted = berth_i_alloc(a->ctx, n, sizeof *sorted))) return berth_i_nomem(a->ctx);
  for (size_t i = 0; i < n; i++) sorted[i] = (labelled){ label[i], (int32_t)i };
  sort_by_label(sorted, n);
  for (size_t i = 1; i < n; i++) {
    if (sorted[i].label == sorted[i - 1].label)
      berth_i_sets_join(up, sorted[i - 1].op, sorted[i].op);
  }
  berth_i_free(a->ctx, sorted, n, sizeof *sorted);
  return BERTH_OK;
}

/* Colocation groups, or with `contract` the units of the searches, which keep groups together. */
static berth_status join_as_searches_do(berth_assign *a, int32_t *up, bool contract) {
  berth_search_options o = berth_search_default();
  berth_i_problem p;
  berth_status st;
  if ((st = berth_i_problem_init(a->cost, &o, &p)) != BERTH_OK) return st;
  st = join_labels(a, up, contract ? p.units.of : p.atoms.of);
  berth_i_problem_release(&p);
  return st;
}

static berth_status weigh(berth_assign *a) {
  size_t n = (size_t)a->n_units, cells = n * (size_t)a->n_devices;
  a->may = berth_i_pool_alloc(&a->pool, cells, sizeof *a->may);
  a->fixed = berth_i_pool_alloc(&a->pool, n, sizeof *a->fixed);
  a->unit_size = berth_i_pool_zalloc(&a->pool, n, sizeof *a->unit_size);
  a->unit_work = berth_i_pool_zalloc(&a->pool, cells, sizeof *a->unit_work);
  berth_status st;
  if ((st = berth_i_pool_status(&a->pool)) != BERTH_OK) return st;
  memset(a->may, 1, cells);
  for (int32_t u = 0; u < a->n_units; u++) a->fixed[u] = BERTH_NONE;
  int32_t i, d;
  for (i = 0; i < a->n; i++) {
    a->unit_size[a->unit[i]]++;
    if (berth_i_pin(a->cost->g, i) != BERTH_NONE) a->fixed[a->unit[i]] = berth_i_pin(a->cost->g, i);
    for (d = 0; d < a->n_devices; d++) {
      size_t at = (size_t)a->unit[i] * (size_t)a->n_devices + (size_t)d;
      a->may[at] = a->may[at] && berth_i_can_run(a->cost, i, d);
      a->unit_work[at] += berth_i_busy(a, i, d);
    }
  }
  for (int32_t u = 0; u < a->n_units; u++) {
    for (d = 0; d < a->n_devices && !a->may[(size_t)u * (size_t)a->n_devices + (size_t)d]; d++) {}
    if (d < a->n_devices) continue;
    for (i = 0; a->unit[i] != u; i++) {}
    return berth_i_fail(a->ctx, BERTH_EINFEASIBLE,
                        "assignment: no device can run all of the unit of op %d", (int)i);
  }
  for (int32_t u = 0; u < a->n_units; u++) a->steps += a->fixed[u] == BERTH_NONE;
  return BERTH_OK;
}

berth_status berth_i_assign_units(berth_assign *a, const int32_t *unit) {
  int32_t *up = berth_i_alloc(a->ctx, (size_t)a->n, sizeof *up);
  berth_status st = BERTH_ENOMEM;
  if (!up || !(a->unit = berth_i_pool_alloc(&a->pool, (size_t)a->n, sizeof *a->unit))) {
    berth_i_nomem(a->ctx);
    goto done;
  }
  for (int32_t i = 0; i < a->n; i++) up[i] = i;
  if (unit && (st = join_labels(a, up, unit)) != BERTH_OK) goto done;
  if ((st = join_as_searches_do(a, up, a->o.contract && !unit)) != BERTH_OK) goto done;
  for (int32_t i = 0; i < a->n; i++)
    a->unit[i] = berth_i_sets_root(up, i) == i ? a->n_units++ : a->unit[up[i]];
  st = weigh(a);
done:
  berth_i_free(a->ctx, up, (size_t)a->n, sizeof *up);
  return st;
}
