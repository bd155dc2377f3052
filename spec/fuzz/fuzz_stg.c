/* Reader of "stg". */
#define FORMAT "stg"
#include "fuzz.h"
