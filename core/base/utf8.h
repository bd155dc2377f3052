/* UTF-8, for those who read and write texts of others. */
#ifndef BERTH_UTF8_H
#define BERTH_UTF8_H

#include <stddef.h>

/** Length of the UTF-8 sequence at s, zero-terminated; 0 if it is not one. */
size_t berth_i_utf8(const char *s);
/** First byte of s that does not belong to a sequence, or NULL. */
const char *berth_i_utf8_error(const char *s);

#endif
