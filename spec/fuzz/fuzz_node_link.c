/* Reader of "node-link". */
#define FORMAT "node-link"
#include "fuzz.h"
