/* Every list placer on random graphs, under every links and memory discipline: plans are schedules,
 * keep memory, types, pins and groups, and are what the simulator makes of them. */
#include "place_engine_help.h"

static const char *const placers[] = { "m-etf", "m-sct",  "etf",    "heft",          "cpop",
                                       "peft",  "minmin", "blevel", "critical-path", NULL };

static int inserts(const char *placer) {
  return strcmp(placer, "heft") == 0 || strcmp(placer, "cpop") == 0 || strcmp(placer, "peft") == 0;
}

typedef struct tally {
  int placed, refused;
} tally;

static void try_placer(const instance *x, const char *placer, const berth_place_options *o,
                       tally *count) {
  berth_placement *p = NULL;
  berth_obstacle why = { -9, -9, -9 };
  berth_status st = berth_place(x->cost, placer, o, &p, &why);
  if (st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE) {
    CHECK(p == NULL && why.op != -9);
    count->refused++;
    return;
  }
  count->placed++;
  if (!CHECK_STATUS(st, BERTH_OK)) return;
  if (!check_plan(x, p, o, !inserts(placer)))
    printf("# placer %s, links %d, memory %d\n", placer, (int)o->links, (int)o->memory);
  berth_placement_release(p);
}

static void try_instance(berth_ctx *ctx, berth_rng *rng, int what, tally *count) {
  instance x;
  berth_place_options o = berth_place_default(NULL);
  if (!random_instance(ctx, rng, what, 1 + berth_rng_below(rng, 40), 1 + berth_rng_below(rng, 4),
                       &x))
    return;
  o.param_multiple = 1 + berth_rng_below(rng, 2) * 0.25;
  o.seed = berth_rng_u64(rng);
  for (int links = BERTH_LINKS_FREE; links <= BERTH_LINKS_PAIR; links++) {
    for (int memory = BERTH_MEMORY_NONE; memory <= BERTH_MEMORY_TOTAL; memory++) {
      o.links = (berth_links)links;
      o.memory = (berth_memory_policy)memory;
      for (int i = 0; placers[i] && !check_bad; i++) try_placer(&x, placers[i], &o, count);
    }
  }
  release_instance(&x);
}

static void many(berth_ctx *ctx, const char *name, int what, int rounds) {
  tally count = { 0, 0 };
  check_begin(name);
  berth_rng rng = seeded(11, (uint64_t)what);
  int i;
  for (i = 0; i < rounds && !check_bad; i++) try_instance(ctx, &rng, what, &count);
  if (check_bad) printf("# round %d\n", i - 1);
  CHECK(count.placed > 2 * count.refused);
  printf("# %d plans, %d refusals\n", count.placed, count.refused);
}

/* A planner that counts in quanta plans what a simulator that does so finds. */
static void quanta(berth_ctx *ctx) {
  berth_place_options o = berth_place_default(NULL);
  berth_rng rng = seeded(12, 0);
  o.quantum = 0.3;
  instance x;
  for (int i = 0; i < check_runs(30, 100) && !check_bad; i++) {
    int what =
        (i % 2 ? WITH_TYPES | WITH_UNEVEN : 0) | (i >= check_runs(15, 50) ? WITH_COLLECTIVES : 0);
    if (!random_instance(ctx, &rng, what, 1 + berth_rng_below(&rng, 40), 1 + i % 4, &x)) continue;
    for (int k = 0; placers[k] && !check_bad; k++) {
      berth_placement *p = must_place(x.cost, placers[k], &o);
      if (p && !check_replay(&x, p, &o, !inserts(placers[k]))) printf("# %s\n", placers[k]);
      berth_placement_release(p);
    }
    release_instance(&x);
  }
}

int main(void) {
  berth_ctx *ctx = must_ctx_new(NULL);
  many(ctx, "plain graphs", 0, check_runs(12, 25));
  many(ctx, "ties and ops of no length", WITH_TIES, check_runs(12, 25));
  many(ctx, "two types of device, uneven links", WITH_TYPES | WITH_UNEVEN, check_runs(12, 25));
  many(ctx, "pins and groups", WITH_PINS | WITH_GROUPS | WITH_TIES, check_runs(12, 25));
  many(ctx, "memory limits", WITH_MEMORY, check_runs(20, 40));
  many(ctx, "memory limits, twins, ties", WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(20, 40));
  many(ctx, "everything at once", WITH_ALL, check_runs(30, 60));
  many(ctx, "collectives", WITH_COLLECTIVES, 12);
  many(ctx, "collectives, ties, types, pins, groups, uneven links",
       WITH_COLLECTIVES | (WITH_ALL & ~WITH_MEMORY), 12);
  many(ctx, "collectives, memory limits, twins, ties",
       WITH_COLLECTIVES | WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(10, 15));
  TEST("in quanta") quanta(ctx);
  return done_with(ctx);
}
