#include "agent_internal.h"
const float berth_i_agent_weights[BERTH_I_AGENT_WEIGHTS] = { 0 };
