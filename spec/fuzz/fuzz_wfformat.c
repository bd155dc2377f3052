/* Reader of "wfformat". */
#define FORMAT "wfformat"
#include "fuzz.h"
