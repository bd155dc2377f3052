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
  if (!CHECK_OK(st)) return;
  if (!check_plan(x, p, o, !inserts(placer)))
    printf("# placer %s, links %d, memory %d\n", placer, (int)o->links, (int)o->memory);
  RELEASE(p);
}

static void try_instance(berth_rng *rng, int what, tally *count) {
  instance x;
  berth_place_options o = berth_place_default(NULL);
  if (!random_instance(rng, what, 1 + berth_rng_below(rng, 40), 1 + berth_rng_below(rng, 4),
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

static void many(int what, int rounds) {
  tally count = { 0, 0 };
  berth_rng rng = seeded(11, (uint64_t)what);
  int i;
  for (i = 0; i < rounds && !check_bad; i++) try_instance(&rng, what, &count);
  if (check_bad) printf("# round %d\n", i - 1);
  CHECK(count.placed > 2 * count.refused);
  printf("# %d plans, %d refusals\n", count.placed, count.refused);
}

/* A planner that counts in quanta plans what a simulator that does so finds. */
TEST("in quanta") {
  berth_place_options o = berth_place_default(NULL);
  berth_rng rng = seeded(12, 0);
  o.quantum = 0.3;
  instance x;
  for (int i = 0; i < check_runs(30, 100) && !check_bad; i++) {
    int what =
        (i % 2 ? WITH_TYPES | WITH_UNEVEN : 0) | (i >= check_runs(15, 50) ? WITH_COLLECTIVES : 0);
    if (!random_instance(&rng, what, 1 + berth_rng_below(&rng, 40), 1 + i % 4, &x)) continue;
    for (int k = 0; placers[k] && !check_bad; k++) {
      berth_placement *p = must_place(x.cost, placers[k], &o);
      if (p && !check_replay(&x, p, &o, !inserts(placers[k]))) printf("# %s\n", placers[k]);
      RELEASE(p);
    }
    release_instance(&x);
  }
}

TEST("plain graphs") { many(0, check_runs(12, 25)); }
TEST("ties and ops of no length") { many(WITH_TIES, check_runs(12, 25)); }
TEST("two types of device, uneven links") { many(WITH_TYPES | WITH_UNEVEN, check_runs(12, 25)); }
TEST("pins and groups") { many(WITH_PINS | WITH_GROUPS | WITH_TIES, check_runs(12, 25)); }
TEST("memory limits") { many(WITH_MEMORY, check_runs(20, 40)); }
TEST("memory limits, twins, ties") {
  many(WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(20, 40));
}
TEST("everything at once") { many(WITH_ALL, check_runs(30, 60)); }
TEST("collectives") { many(WITH_COLLECTIVES, 12); }
TEST("collectives, ties, types, pins, groups, uneven links") {
  many(WITH_COLLECTIVES | (WITH_ALL & ~WITH_MEMORY), 12);
}
TEST("collectives, memory limits, twins, ties") {
  many(WITH_COLLECTIVES | WITH_MEMORY | WITH_TWINS | WITH_TIES, check_runs(10, 15));
}
