/* XML through expat: elements and texts as events. expat allocates with the context. */
#ifndef BERTH_EXPAT_INTERNAL_H
#define BERTH_EXPAT_INTERNAL_H

#include "base/base_internal.h"

/** What else than BERTH_OK a function returns ends the reading.
 *  Names of elements that are in the namespace of the root, or in none, come without it, others as
 *  "namespace\nname". */
typedef struct berth_i_xml_events {
  /** @param attributes name, value, ..., NULL; UTF-8  @param line of the tag */
  berth_status (*open)(void *ud, const char *name, const char *const *attributes, int32_t line);
  berth_status (*close)(void *ud);
  /* a piece, UTF-8, no zero at its end */
  berth_status (*text)(void *ud, const char *text, size_t len);
  void *ud;
} berth_i_xml_events;

/** A document in UTF-8, UTF-16, ISO-8859-1 or US-ASCII. The five predefined entities are read,
 * declarations of others refused.
 *  @return BERTH_OK, BERTH_EPARSE ("name:line: reason"), BERTH_ENOMEM, BERTH_EINTERRUPT, or what an
 *          event's function returned */
berth_status berth_i_xml_read(berth_ctx *ctx, const char *name, const char *text, size_t len,
                              const berth_i_xml_events *events);

#endif
