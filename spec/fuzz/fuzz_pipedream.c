/* Reader of "pipedream". */
#define FORMAT "pipedream"
#include "fuzz.h"
