/* A yardstick for the machine at this moment: nanoseconds per step of a chain of multiply-adds that
 * wait for one another. usage: yardstick a line as in bench.c; yardstick plain: the number alone */
#include "bench.h"

enum { STEPS = 200000000 };

int main(int argc, char **argv) {
  double from = cpu_seconds();
  uint64_t x = 1;
  for (int i = 0; i < STEPS; i++) x = x * 6364136223846793005u + 1;
  volatile uint64_t sink = x;
  (void)sink;
  double took = cpu_seconds() - from;
  if (argc > 1 && strcmp(argv[1], "plain") == 0) {
    printf("%.2f ns a step\n", 1e9 * took / STEPS);
  } else {
    report("yardstick", 1e9 * took / STEPS, "ns/step", "200 million dependent multiply-adds", took);
  }
  return 0;
}
