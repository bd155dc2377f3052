/* Reader of "dot". */
#define FORMAT "dot"
#include "fuzz.h"
