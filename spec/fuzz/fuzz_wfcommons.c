/* Reader of "wfcommons". */
#define FORMAT "wfcommons"
#include "fuzz.h"
