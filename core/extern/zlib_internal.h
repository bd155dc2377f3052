/* zlib, wrapped: gzip data in memory. */
#ifndef BERTH_ZLIB_INTERNAL_H
#define BERTH_ZLIB_INTERNAL_H

#include "base/base_internal.h"

bool berth_i_is_gzip(const char *text, size_t len);
/** @param name for messages  @param most bytes that are unpacked at most
 *  @param out [*size], of which *len are used and one more is 0
 *  @return BERTH_OK, BERTH_EPARSE (damaged; more than `most`), BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_i_gunzip(berth_ctx *ctx, const char *name, const char *packed, size_t packed_len,
                            size_t most, char **out, size_t *len, size_t *size);
/** The same bytes on every machine: without time and name.
 *  @param out [*size], of which *len are used; on failure nothing is to be freed
 *  @return BERTH_OK, BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_i_gzip(berth_ctx *ctx, const char *plain, size_t plain_len, char **out,
                          size_t *len, size_t *size);

#endif
