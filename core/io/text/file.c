/* Whole files: reading, unpacking, saving. The buffer grows while a file is read: its size is not
 * used, as pipes have none. */
#define _XOPEN_SOURCE 700
#include "base/file_internal.h"
#include "io/io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* One byte is kept for the terminating zero. got = 0 ends the loop, at the end of the file or at an
 * error. */
berth_status berth_i_read_file(berth_ctx *ctx, const char *path, char **out, size_t *len,
                               size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t used = 0, cap = 0, got = 1;
  berth_status st = BERTH_OK;
  if (!f) return berth_i_file_error(ctx, path, "cannot be opened");
  while (got > 0 && (st = berth_i_grow_text(ctx, &text, &cap, used)) == BERTH_OK) {
    used += got = fread(text + used, 1, cap - used - 1, f);
  }
  if (st == BERTH_OK && ferror(f)) st = berth_i_file_error(ctx, path, "cannot be read");
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

static bool write_text(void *ud, int fd) {
  const berth_text *text = ud;
  return berth_i_file_write(fd, text->data, text->len);
}

/* Pipes and terminals cannot be replaced: written in place. */
static berth_status write_into(berth_ctx *ctx, const char *path, berth_text *text) {
  int fd = open(path, O_WRONLY);
  bool good = fd >= 0 && write_text(text, fd);
  int code = good ? 0 : errno;
  if (fd >= 0 && close(fd) != 0 && !code) code = errno;
  errno = code;
  return code ? berth_i_file_error(ctx, path, "cannot be written") : BERTH_OK;
}

/* A copy of the handle, as callbacks take no pointer to const. */
berth_status berth_save(berth_ctx *ctx, const char *path, const berth_text *text) {
  struct stat old;
  berth_text contents = *text;
  bool exists = stat(path, &old) == 0;
  if (exists && S_ISDIR(old.st_mode))
    return berth_i_fail(ctx, BERTH_EIO, "%s: cannot be written: it is a directory", path);
  if (exists && !S_ISREG(old.st_mode)) return write_into(ctx, path, &contents);
  return berth_i_file_replace(ctx, path, write_text, &contents);
}
