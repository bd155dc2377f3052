/* Reader of "dnn-partitioning". */
#define FORMAT "dnn-partitioning"
#include "fuzz.h"
