/* Files that are written whole: errors with the system's reason, and replacement in one step. */
#ifndef BERTH_FILE_INTERNAL_H
#define BERTH_FILE_INTERNAL_H

#include "base_internal.h"

/** Fails with "path: what: reason", the reason from errno.  @return BERTH_EIO */
berth_status berth_i_file_error(berth_ctx *ctx, const char *path, const char *what);

/** Waits until fd can be read or written (POLLIN, POLLOUT), or its other end is closed; calls the
 *  interrupt hook at least once.  @return BERTH_OK, BERTH_EINTERRUPT */
berth_status berth_i_file_wait(berth_ctx *ctx, int fd, short events);

/** Writes all `len` bytes; short writes and EINTR are continued. @return false: errno is set */
bool berth_i_file_write(int fd, const void *data, size_t len);

/** Writes the contents to fd. @return false: errno is set */
typedef bool (*berth_i_file_writer)(void *ud, int fd);

/** Replaces the regular file at `path`, or creates it, by what `writer` writes. Readers see either
 *  the old file or the whole new one, and the old one stays if anything fails. The mode of the old
 *  file is kept; a symbolic link keeps pointing to the same place.
 *  @return BERTH_OK, BERTH_EIO, BERTH_ENOMEM */
berth_status berth_i_file_replace(berth_ctx *ctx, const char *path, berth_i_file_writer writer,
                                  void *ud);

#endif
