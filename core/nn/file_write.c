/* Saving parameters (format: params_internal.h): one pass through a buffer of 64 KiB, into a file
 * that takes the place of the old one when it is whole (base/file.c). Memory: the buffer, whatever
 * the size. */
#define _XOPEN_SOURCE 700
#include "base/file_internal.h"
#include "params_internal.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- bytes ---- */

typedef struct writer {
  const berth_params *p;
  const berth_adam *adam; /* NULL: not saved */
  const char *note;
  int fd;
  int error;  /* errno of the first write that failed, after which nothing is written */
  size_t used;
  uint64_t checksum;
  unsigned char *buf; /* [BERTH_I_FILE_BUFFER] */
} writer;

static void flush(writer *w) {
  if (!w->error && !berth_i_file_write(w->fd, w->buf, w->used)) w->error = errno;
  w->used = 0;
}

/* Only a full buffer counts into the checksum, or the last one. */
static void flush_counted(writer *w) {
  w->checksum = berth_i_checksum(w->checksum, w->buf, w->used);
  flush(w);
}

static void put(writer *w, const void *data, size_t n) {
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

static void put_number(writer *w, uint64_t v, int bytes) {
  unsigned char le[8];
  berth_i_to_le(v, bytes, le);
  put(w, le, (size_t)bytes);
}

/* Little-endian whatever the host, in pieces of 256. */
static void put_floats(writer *w, const float *x, int64_t n) {
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

/* Known beforehand, and written into the header: how a reader detects a file that was cut off. */
static uint64_t file_size(const writer *w) {
  const berth_params *p = w->p;
  uint64_t n = BERTH_I_FILE_HEADER + strlen(w->note) + BERTH_I_FILE_CHECKSUM
               + (uint64_t)p->size * 4 * (w->adam ? 3 : 1);
  for (int32_t i = 0; i < p->n; i++)
    n += 8 + strlen(p->item[i].name) + 4 * (uint64_t)p->item[i].array->rank;
  return n;
}

static void put_header(writer *w) {
  put(w, BERTH_I_FILE_MAGIC, 8);
  put_number(w, BERTH_I_FILE_VERSION, 4);
  put_number(w, BERTH_I_FILE_MARK, 4);
  put_number(w, file_size(w), 8);
  put_number(w, w->adam ? (uint64_t)w->adam->steps : 0, 8);
  put_number(w, (uint64_t)w->p->size, 8);
  put_number(w, strlen(w->note), 8);
  put_number(w, (uint64_t)w->p->n, 4);
  put_number(w, w->adam != NULL, 4);
  put(w, w->note, strlen(w->note));
}

static void put_names(writer *w, const berth_params *p) {
  for (int32_t i = 0; i < p->n; i++) {
    const berth_array *a = p->item[i].array;
    put_number(w, strlen(p->item[i].name), 4);
    put(w, p->item[i].name, strlen(p->item[i].name));
    put_number(w, (uint64_t)a->rank, 4);
    for (int32_t k = 0; k < a->rank; k++) put_number(w, (uint64_t)a->shape[k], 4);
  }
}

/* The first error is kept and reported at the end; nothing is written after it. */
static bool put_all(void *ud, int fd) {
  writer *w = ud;
  const berth_params *p = w->p;
  w->fd = fd;
  put_header(w);
  put_names(w, p);
  for (int32_t i = 0; i < p->n; i++) put_floats(w, p->item[i].array->data, p->item[i].array->size);
  if (w->adam) put_floats(w, w->adam->first, 2 * w->adam->size);
  flush_counted(w);
  put_number(w, w->checksum, 8);
  flush(w);
  errno = w->error;
  return !w->error;
}

/* ---- files ---- */

static berth_status check_adam(const berth_params *p, const berth_adam *adam) {
  if (!adam) return BERTH_OK;
  if (adam->params != p)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "this Adam is of other parameters");
  return berth_i_adam_check(adam);
}

berth_status berth_params_save(const berth_params *p, const berth_adam *adam, const char *note,
                               const char *path) {
  if (!p) return BERTH_EINVAL;
  struct stat old;
  bool exists = stat(path, &old) == 0;
  berth_status st = check_adam(p, adam);
  if (st != BERTH_OK) return st;
  if (exists && !S_ISREG(old.st_mode)) {
    return berth_i_fail(p->ctx, BERTH_EIO, "%s: cannot be written: it is not a regular file", path);
  }
  writer w = { .p = p, .adam = adam, .note = note ? note : "" };
  if (!(w.buf = berth_i_alloc(p->ctx, BERTH_I_FILE_BUFFER, 1))) return berth_i_nomem(p->ctx);
  st = berth_i_file_replace(p->ctx, path, put_all, &w);
  berth_i_free(p->ctx, w.buf, BERTH_I_FILE_BUFFER, 1);
  return st;
}
