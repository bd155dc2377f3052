/* Whole files: reading, unpacking, replacing. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "io/io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static berth_status io_error(berth_ctx *ctx, const char *path, const char *what) {
  char reason[128];
  int code = errno;
  if (strerror_r(code, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "error %d", code);
  return berth_i_fail(ctx, BERTH_EIO, "%s: %s: %s", path, what, reason);
}

berth_status berth_i_read_file(berth_ctx *ctx, const char *path, char **out, size_t *len,
                               size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t used = 0, cap = 0, got = 1;
  berth_status st = BERTH_OK;
  if (!f) return io_error(ctx, path, "cannot be opened");
  while (got > 0 && (st = berth_i_grow_text(ctx, &text, &cap, used)) == BERTH_OK) {
    used += got = fread(text + used, 1, cap - used - 1, f);
  }
  if (st == BERTH_OK && ferror(f)) st = io_error(ctx, path, "cannot be read");
  fclose(f);
  if (st != BERTH_OK) {
    berth_i_free(ctx, text, cap, 1);
    return st;
  }
  text[used] = 0;
  *out = text;
  *len = used;
  *size = cap;
  return BERTH_OK;
}

/* What `text` holds, unpacked if need be; it is replaced then. */
static berth_status unpack(berth_ctx *ctx, const char *path, char **text, size_t *len,
                           size_t *size) {
  if (!berth_i_is_gzip(*text, *len)) return BERTH_OK;
  char *plain;
  size_t plain_len, plain_size;
  berth_status st;
  if ((st = berth_i_gunzip(ctx, path, *text, *len, &plain, &plain_len, &plain_size)) != BERTH_OK)
    return st;
  berth_i_free(ctx, *text, *size, 1);
  *text = plain;
  *len = plain_len;
  *size = plain_size;
  return BERTH_OK;
}

berth_status berth_read(berth_ctx *ctx, const char *path, berth_text *out) {
  char *text;
  size_t len, size;
  berth_status st = berth_i_read_file(ctx, path, &text, &len, &size);
  if (st != BERTH_OK) return st;
  if ((st = unpack(ctx, path, &text, &len, &size)) == BERTH_OK) {
    berth_i_out o = berth_i_out_open(ctx, out);
    berth_i_put_n(&o, text, len);
    st = berth_i_out_close(&o);
  }
  berth_i_free(ctx, text, size, 1);
  return st;
}

/* ---- saving ---- */

static bool write_all(int fd, const char *data, size_t len) {
  while (len > 0) {
    ssize_t n = write(fd, data, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    len -= (size_t)n;
  }
  return true;
}

/* A new file beside `path`, open for writing; its name goes to temp. */
static int open_beside(const char *path, char *temp, size_t size) {
  int fd = -1;
  for (int k = 0; k < 100 && fd < 0; k++) {
    snprintf(temp, size, "%s.%ld.%d.tmp", path, (long)getpid(), k);
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

static berth_status replace(berth_ctx *ctx, const char *path, const struct stat *old,
                            const berth_text *text) {
  size_t size = strlen(path) + 40;
  char *temp = berth_i_alloc(ctx, size, 1);
  berth_status st = BERTH_OK;
  if (!temp) return berth_i_nomem(ctx);
  int fd;
  if ((fd = open_beside(path, temp, size)) < 0) {
    st = io_error(ctx, path, "cannot be written");
    goto done;
  }
  bool good = write_all(fd, text->data, text->len)
              && (!old || fchmod(fd, old->st_mode & 07777) == 0) && fsync(fd) == 0;
  if (close(fd) != 0) good = false;
  if (!good || rename(temp, path) != 0) {
    st = io_error(ctx, path, "cannot be written");
    unlink(temp);
  }
done:
  berth_i_free(ctx, temp, size, 1);
  return st;
}

/* Pipes and terminals cannot be replaced. */
static berth_status write_into(berth_ctx *ctx, const char *path, const berth_text *text) {
  int fd = open(path, O_WRONLY);
  berth_status st = BERTH_OK;
  if (fd < 0) return io_error(ctx, path, "cannot be written");
  if (!write_all(fd, text->data, text->len)) st = io_error(ctx, path, "cannot be written");
  if (close(fd) != 0 && st == BERTH_OK) st = io_error(ctx, path, "cannot be written");
  return st;
}

berth_status berth_save(berth_ctx *ctx, const char *path, const berth_text *text) {
  struct stat old;
  bool exists = stat(path, &old) == 0;
  char *real = exists ? realpath(path, NULL) : NULL; /* a symbolic link stays one */
  berth_status st;
  if (exists && S_ISDIR(old.st_mode)) {
    st = berth_i_fail(ctx, BERTH_EIO, "%s: cannot be written: it is a directory", path);
  } else if (exists && !S_ISREG(old.st_mode)) {
    st = write_into(ctx, path, text);
  } else {
    st = replace(ctx, real ? real : path, exists ? &old : NULL, text);
  }
  free(real);
  return st;
}
