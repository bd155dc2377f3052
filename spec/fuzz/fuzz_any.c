/* Any format, by the contents, packed or not. */
#define FORMAT NULL
#include "fuzz.h"
