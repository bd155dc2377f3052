/* The network of the shipped agent: one hidden layer with rectifiers, evaluated row by row in a
 * fixed order, so that an answer is the same on every machine. O(hidden x (context +
 * terms)). */
#include "agent_internal.h"

void berth_i_agent_network(const float *w, const double *context, double *out) {
  float hidden[BERTH_I_HIDDEN] = { 0 }, sum[BERTH_I_TERMS] = { 0 };
  for (int k = 0; k < BERTH_I_CONTEXT; k++) {
    const float *row = w + k * BERTH_I_HIDDEN, x = (float)context[k];
    if (x == 0) continue;
    for (int i = 0; i < BERTH_I_HIDDEN; i++) hidden[i] += row[i] * x;
  }
  for (int i = 0; i < BERTH_I_HIDDEN; i++) {
    const float *row = w + BERTH_I_AT_OUTPUT + i * BERTH_I_TERMS;
    if (!(hidden[i] > 0)) continue;
    for (int k = 0; k < BERTH_I_TERMS; k++) sum[k] += row[k] * hidden[i];
  }
  for (int k = 0; k < BERTH_I_TERMS; k++) out[k] = (double)sum[k];
}
