/* Saving parameters: one pass through a small buffer, into a file that takes the place of the old
 * one when it is whole. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "params_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

berth_status berth_i_file_error(berth_ctx *ctx, const char *path, const char *what) {
  char reason[128];
  int code = errno;
  if (strerror_r(code, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "error %d", code);
  return berth_i_fail(ctx, BERTH_EIO, "%s: %s: %s", path, what, reason);
}

/* ---- bytes ---- */

typedef struct Writer {
  int fd;
  int error;  /* errno of the first write that failed, after which nothing is written */
  size_t used;
  uint64_t checksum;
  unsigned char *buf; /* [BERTH_I_FILE_BUFFER] */
} Writer;

static void flush(Writer *w) {
  const unsigned char *p = w->buf;
  while (w->used > 0 && !w->error) {
    ssize_t n = write(w->fd, p, w->used);
    if (n < 0 && errno != EINTR) w->error = errno;
    if (n < 0) continue;
    p += n;
    w->used -= (size_t)n;
  }
  w->used = 0;
}

/* Only a full buffer counts into the checksum, or the last one. */
static void flush_counted(Writer *w) {
  w->checksum = berth_i_checksum(w->checksum, w->buf, w->used);
  flush(w);
}

static void put(Writer *w, const void *data, size_t n) {
  const unsigned char *p = data;
  while (n > 0) {
    size_t room = BERTH_I_FILE_BUFFER - w->used, k = n < room ? n : room;
    memcpy(w->buf + w->used, p, k);
    w->used += k;
    p += k;
    n -= k;
    if (w->used == BERTH_I_FILE_BUFFER) flush_counted(w);
  }
}

static void put_number(Writer *w, uint64_t v, int bytes) {
  unsigned char le[8];
  berth_i_to_le(v, bytes, le);
  put(w, le, (size_t)bytes);
}

static void put_floats(Writer *w, const float *x, int64_t n) {
  unsigned char le[1024];
  for (int64_t i = 0; i < n;) {
    size_t k = 0;
    for (; i < n && k < sizeof le; i++, k += 4) {
      uint32_t bits;
      memcpy(&bits, &x[i], sizeof bits);
      berth_i_to_le(bits, 4, le + k);
    }
    put(w, le, k);
  }
}

/* ---- contents ---- */

static uint64_t file_size(const berth_params *p, const berth_adam *adam, const char *note) {
  uint64_t n = BERTH_I_FILE_HEADER + strlen(note) + BERTH_I_FILE_CHECKSUM
               + (uint64_t)p->size * 4 * (adam ? 3 : 1);
  for (int32_t i = 0; i < p->n; i++)
    n += 8 + strlen(p->item[i].name) + 4 * (uint64_t)p->item[i].array->rank;
  return n;
}

static void put_header(Writer *w, const berth_params *p, const berth_adam *adam, const char *note) {
  put(w, BERTH_I_FILE_MAGIC, 8);
  put_number(w, BERTH_I_FILE_VERSION, 4);
  put_number(w, BERTH_I_FILE_MARK, 4);
  put_number(w, file_size(p, adam, note), 8);
  put_number(w, adam ? (uint64_t)adam->steps : 0, 8);
  put_number(w, (uint64_t)p->size, 8);
  put_number(w, strlen(note), 8);
  put_number(w, (uint64_t)p->n, 4);
  put_number(w, adam != NULL, 4);
  put(w, note, strlen(note));
}

static void put_names(Writer *w, const berth_params *p) {
  for (int32_t i = 0; i < p->n; i++) {
    const berth_array *a = p->item[i].array;
    put_number(w, strlen(p->item[i].name), 4);
    put(w, p->item[i].name, strlen(p->item[i].name));
    put_number(w, (uint64_t)a->rank, 4);
    for (int32_t k = 0; k < a->rank; k++) put_number(w, (uint64_t)a->shape[k], 4);
  }
}

static void put_all(Writer *w, const berth_params *p, const berth_adam *adam, const char *note) {
  put_header(w, p, adam, note);
  put_names(w, p);
  for (int32_t i = 0; i < p->n; i++) put_floats(w, p->item[i].array->data, p->item[i].array->size);
  if (adam) put_floats(w, adam->first, 2 * adam->size);
  flush_counted(w);
  put_number(w, w->checksum, 8);
  flush(w);
}

/* ---- files ---- */

/* A new file beside `path`, open for writing; its name is written to temp. */
static int open_beside(const char *path, char *temp, size_t size) {
  int fd = -1;
  for (int k = 0; k < 100 && fd < 0; k++) {
    snprintf(temp, size, "%s.%ld.%d.tmp", path, (long)getpid(), k);
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

static void finish(Writer *w, const struct stat *old) {
  if (!w->error && old && fchmod(w->fd, old->st_mode & 07777) != 0) w->error = errno;
  if (!w->error && fsync(w->fd) != 0) w->error = errno;
  if (close(w->fd) != 0 && !w->error) w->error = errno;
}

/* @param old NULL: there is no file yet */
static berth_status replace(const berth_params *p, const berth_adam *adam, const char *note,
                            const char *path, const struct stat *old) {
  size_t size = strlen(path) + 40;
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  char *temp = berth_i_pool_alloc(&scratch, size, 1);
  Writer w = { -1, 0, 0, 0, berth_i_pool_alloc(&scratch, BERTH_I_FILE_BUFFER, 1) };
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  if ((w.fd = open_beside(path, temp, size)) < 0) {
    st = berth_i_file_error(p->ctx, path, "cannot be written");
    goto done;
  }
  put_all(&w, p, adam, note);
  finish(&w, old);
  if (!w.error && rename(temp, path) != 0) w.error = errno;
  if (!w.error) goto done;
  unlink(temp);
  errno = w.error;
  st = berth_i_file_error(p->ctx, path, "cannot be written");
done:
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status check_adam(const berth_params *p, const berth_adam *adam) {
  if (!adam) return BERTH_OK;
  if (adam->params != p)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "this Adam is of other parameters");
  return berth_i_adam_check(adam);
}

berth_status berth_params_save(const berth_params *p, const berth_adam *adam, const char *note,
                               const char *path) {
  struct stat old;
  bool exists = stat(path, &old) == 0;
  berth_status st = check_adam(p, adam);
  if (st != BERTH_OK) return st;
  if (exists && !S_ISREG(old.st_mode)) {
    return berth_i_fail(p->ctx, BERTH_EIO, "%s: cannot be written: it is not a regular file", path);
  }
  char *real = exists ? realpath(path, NULL) : NULL; /* a symbolic link stays one */
  st = replace(p, adam, note ? note : "", real ? real : path, exists ? &old : NULL);
  free(real);
  return st;
}
