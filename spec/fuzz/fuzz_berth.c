/* Reader of "berth". */
#define FORMAT "berth"
#include "fuzz.h"
