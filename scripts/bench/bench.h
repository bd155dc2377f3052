/* What the measuring programs share: CPU time, lines of figures. */
#ifndef BERTH_BENCH_H
#define BERTH_BENCH_H

#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *name, double value, const char *unit, const char *input,
                   double cpu) {
  printf("%s\t%.6g\t%s\t%s\t%.4f\n", name, value, unit, input, cpu);
  fflush(stdout);
}

static void must(berth_ctx *ctx, berth_status st, const char *what) {
  if (st == BERTH_OK) return;
  fprintf(stderr, "bench: %s: %s\n", what, berth_errmsg(ctx));
  exit(1);
}

#endif
