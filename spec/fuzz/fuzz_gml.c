/* Reader of "gml". */
#define FORMAT "gml"
#include "fuzz.h"
