/* Reader of "saga". */
#define FORMAT "saga"
#include "fuzz.h"
