/* Files that are written whole. The contents go to a new file in the same directory, which is
 * flushed to disk and then renamed over the old one: rename() is atomic within a file system. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAMES = 100, WAIT_MS = 100 }; /* candidates for the name of the new file */

berth_status berth_i_file_error(berth_ctx *ctx, const char *path, const char *what) {
  char reason[128];
  int code = errno;
  if (strerror_r(code, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "error %d", code);
  return berth_i_fail(ctx, BERTH_EIO, "%s: %s: %s", path, what, reason);
}

/* An interrupt that is no signal, or a signal just before poll(), is seen after WAIT_MS. */
berth_status berth_i_file_wait(berth_ctx *ctx, int fd, short events) {
  struct pollfd p = { .fd = fd, .events = events };
  berth_status st;
  int ready;
  do {
    if ((st = berth_i_interrupted(ctx)) != BERTH_OK) return st;
    ready = poll(&p, 1, WAIT_MS);
  } while (ready == 0 || (ready < 0 && errno == EINTR));
  return BERTH_OK;
}

bool berth_i_file_write(int fd, const void *data, size_t len) {
  const char *at = data;
  while (len > 0) {
    ssize_t n = write(fd, at, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    len -= (size_t)n;
  }
  return true;
}

/* So that the new name survives a crash. Not an error where a file system does not support it: the
 * file is in place. Cuts the name of the file off the path. */
static void sync_directory(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) slash[slash == path] = '\0';
  int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

berth_status berth_i_file_replace(berth_ctx *ctx, const char *path, berth_i_file_writer writer,
                                  void *ud) {
  struct stat old;
  bool exists = stat(path, &old) == 0;
  char *real = exists ? realpath(path, NULL) : NULL; /* the target of a symbolic link */
  const char *to = real ? real : path;
  size_t size = strlen(to) + 40;
  char *temp = berth_i_alloc(ctx, size, 1);
  berth_status st = temp ? BERTH_OK : berth_i_nomem(ctx);
  if (!temp) goto done;
  /* O_EXCL: two writers never share a file, and no file that is already there is touched */
  int fd = -1;
  for (int k = 0; k < MOST_NAMES && fd < 0; k++) {
    snprintf(temp, size, "%s.%ld.%d.tmp", to, (long)getpid(), k);
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) {
    st = berth_i_file_error(ctx, to, "cannot be written");
    goto done;
  }
  bool good = writer(ud, fd) && (!exists || fchmod(fd, old.st_mode & 07777) == 0)
              && fsync(fd) == 0;
  int code = good ? 0 : errno; /* the first failure is the one reported */
  if (close(fd) != 0 && !code) code = errno;
  if (!code && rename(temp, to) != 0) code = errno;
  if (!code) sync_directory(temp);
  if (code) {
    unlink(temp);
    errno = code;
    st = berth_i_file_error(ctx, to, "cannot be written");
  }
done:
  berth_i_free(ctx, temp, size, 1);
  free(real);
  return st;
}
