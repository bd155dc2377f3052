/* Places a graph from C, without Lua: the portfolio within a second, the results of its members, a
 * bound on the distance from the best, and a repair for devices with less memory.
 *
 *   cc -std=c11 place.c -o place $(pkg-config --cflags --libs berth) && ./place
 */
#define _POSIX_C_SOURCE 200809L
#include <berth/berth.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { TOWERS = 3, LAYERS = 7, OPS = TOWERS * LAYERS + 2 };

static double now(void *ud) {
  (void)ud;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* An input, parallel towers of layers, an output: 1 to 3 ms and 200 MB of parameters a layer, 8
 * MB from one to the next. */
static berth_status add_ops(berth_graph_builder *b) {
  for (int32_t i = 0; i < OPS; i++) {
    berth_op op = berth_op_default();
    double seconds = i == 0 ? 0 : 1e-3 * (1 + i % 3);
    op.seconds = &seconds;
    op.param_bytes = i == 0 ? 0 : 200e6;
    berth_status st = berth_graph_builder_add_op(b, &op, NULL);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status connect_ops(berth_graph_builder *b) {
  for (int32_t i = 1; i < OPS - 1; i++) {
    int32_t above = (i - 1) % LAYERS == 0 ? 0 : i - 1;
    berth_status st = berth_graph_builder_connect(b, above, i, 8e6, NULL);
    if (st == BERTH_OK && i % LAYERS == 0)
      st = berth_graph_builder_connect(b, i, OPS - 1, 8e6, NULL);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status make_graph(berth_ctx *ctx, berth_graph **out) {
  berth_graph_builder *b;
  berth_status st = berth_graph_builder_new(ctx, &b);
  if (st != BERTH_OK) return st;
  st = add_ops(b);
  if (st == BERTH_OK) st = connect_ops(b);
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, out);
  berth_graph_builder_release(b);
  return st;
}

static berth_status make_cost(berth_ctx *ctx, berth_graph *g, double memory, berth_cost **out) {
  berth_device device = berth_device_default();
  berth_link link = { 12e9, 5e-6 };
  berth_topology *t = NULL;
  device.memory = memory;
  berth_status st;
  if ((st = berth_topology_mesh(ctx, 4, &device, &link, &t)) != BERTH_OK) return st;
  st = berth_cost_new(g, t, NULL, out);
  berth_topology_release(t); /* the cost has a reference of its own */
  return st;
}

static void print_rows(const berth_portfolio *p) {
  for (int32_t i = 0; i < berth_portfolio_members(p); i++) {
    const berth_member_report *r = berth_portfolio_report(p, i);
    if (r->placement)
      printf("  %-36s %6.3f ms%s\n", r->name, 1e3 * r->makespan, r->oom ? ", out of memory" : "");
    else printf("  %-36s %s\n", r->name, r->message);
  }
}

/* The best of several placers on full-duplex links, within a second by the clock of the context. */
static berth_status run_portfolio(berth_cost *cost, berth_placement **out, double *makespan) {
  berth_portfolio_options o = berth_portfolio_default(berth_cost_graph(cost));
  berth_portfolio *p = NULL;
  o.place.links = BERTH_LINKS_DUPLEX;
  o.seconds = 1;
  berth_status st;
  if ((st = berth_portfolio_run(cost, &o, &p, NULL)) == BERTH_OK) {
    *makespan = berth_portfolio_report(p, berth_portfolio_winner(p))->makespan;
    berth_placement_retain(*out = berth_portfolio_best(p));
    print_rows(p);
    printf("best: %s, %.3f ms\n", berth_portfolio_report(p, berth_portfolio_winner(p))->name,
           1e3 * *makespan);
  }
  berth_portfolio_release(p); /* there are rows, too, when nothing fits */
  return st;
}

/* No placement is faster than the bound; the linear program of favourite children is one of its
 * sources. */
static berth_status print_bounds(berth_cost *cost, double makespan) {
  berth_bounds_options o = berth_bounds_default(berth_cost_graph(cost));
  berth_lp *lp = NULL;
  o.thorough = 1;
  berth_bounds b;
  berth_status st;
  if ((st = berth_bounds_compute(cost, &o, &b, NULL)) != BERTH_OK) return st;
  printf("bound: %.3f ms (%s); at most %.2f times the optimum\n", 1e3 * b.best, b.name,
         makespan / b.best);
  if ((st = berth_lp_solve(cost, NULL, &lp)) != BERTH_OK) return st;
  printf("favourite children: longest path %.3f to %.3f ms\n", 1e3 * berth_lp_get(lp)->lower,
         1e3 * berth_lp_get(lp)->upper);
  berth_lp_release(lp);
  return b.best <= makespan * (1 + 1e-9) ? BERTH_OK : BERTH_EINVAL;
}

/* For devices on which the placement need not fit: as few ops as possible move. Prints the reason
 * if nothing fits. */
static berth_status repair(berth_ctx *ctx, berth_graph *g, const berth_placement *p,
                           double memory) {
  berth_cost *cost = NULL;
  berth_placement *mended = NULL;
  berth_status st = make_cost(ctx, g, memory, &cost);
  int32_t moved = 0;
  if (st != BERTH_OK) return st;
  berth_obstacle why;
  st = berth_place_repair(cost, berth_placement_device(p), NULL, &mended, &why);
  if (st == BERTH_OK) {
    for (int32_t i = 0; i < OPS; i++)
      moved += berth_placement_device(mended)[i] != berth_placement_device(p)[i];
    printf("%.2f GB a device: %d of %d ops move, %.3f ms\n", memory / 1e9, (int)moved, OPS,
           1e3 * berth_placement_estimate(mended));
  } else if (st == BERTH_EINFEASIBLE) {
    printf("%.2f GB a device: %s\n", memory / 1e9, berth_errmsg(ctx));
  }
  berth_placement_release(mended);
  berth_cost_release(cost);
  return st;
}

int main(void) {
  berth_hooks hooks = { 0 };
  berth_ctx *ctx = NULL;
  berth_graph *g = NULL;
  berth_cost *cost = NULL;
  berth_placement *p = NULL;
  double makespan = NAN;
  hooks.clock = now; /* without it there is no time limit */
  if (berth_ctx_new(&hooks, &ctx) != BERTH_OK) return 1;
  berth_status st;
  if ((st = make_graph(ctx, &g)) != BERTH_OK) goto done;
  if ((st = make_cost(ctx, g, 16e9, &cost)) != BERTH_OK) goto done;
  if ((st = run_portfolio(cost, &p, &makespan)) != BERTH_OK) goto done;
  if ((st = print_bounds(cost, makespan)) != BERTH_OK) goto done;
  if ((st = repair(ctx, g, p, 1.3e9)) != BERTH_OK) goto done;
  st = repair(ctx, g, p, 1.0e9);
  if (st == BERTH_EINFEASIBLE) st = BERTH_OK; /* an answer, too */
done:
  if (st != BERTH_OK) fprintf(stderr, "%s: %s\n", berth_status_name(st), berth_errmsg(ctx));
  berth_placement_release(p);
  berth_cost_release(cost);
  berth_graph_release(g);
  berth_ctx_release(ctx);
  return st != BERTH_OK;
}
