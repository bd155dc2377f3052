/* Reader of "graphml". */
#define FORMAT "graphml"
#include "fuzz.h"
