/* printf in the C locale: numbers have a point, whatever the program has set. The locale of the
 * thread is changed for the call, and only where its decimal point is another. */
#define _XOPEN_SOURCE 700 /* uselocale */
#include "base_internal.h"

#include <locale.h>
#include <stdio.h>
#ifdef __APPLE__
# include <xlocale.h>
#endif

int berth_vsnprintf(char *buf, size_t size, const char *format, va_list args) {
  locale_t plain = (locale_t)0, before = (locale_t)0;
  if (strcmp(localeconv()->decimal_point, ".") != 0) plain = newlocale(LC_ALL_MASK, "C", plain);
  if (plain) before = uselocale(plain);
  int n = vsnprintf(buf, size, format, args);
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  return n;
}

int berth_snprintf(char *buf, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = berth_vsnprintf(buf, size, format, args);
  va_end(args);
  return n;
}
