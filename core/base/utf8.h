/* UTF-8, for those who read and write texts of others. */
#ifndef BERTH_UTF8_H
#define BERTH_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** Length of the UTF-8 sequence at s, zero-terminated; 0 if it is not one. */
size_t berth_i_utf8(const char *s);
/** First byte of s that does not belong to a sequence, or NULL. */
const char *berth_i_utf8_error(const char *s);
/** The sequence of a character, without a zero behind it.  @return its length; 0: 0, a surrogate,
 *  or beyond the last character */
size_t berth_i_utf8_put(uint32_t code, char out[4]);

#endif
