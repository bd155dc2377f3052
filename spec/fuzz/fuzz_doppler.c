/* Reader of "doppler". */
#define FORMAT "doppler"
#include "fuzz.h"
