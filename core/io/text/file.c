/* Whole files: reading, unpacking, saving. The buffer grows while a file is read: its size is not
 * used, as pipes have none. */
#define _XOPEN_SOURCE 700
#include "base/file_internal.h"
#include "io/io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

enum { PIECE = 1 << 20 }; /* bytes between two calls of the interrupt hook */

static bool is_standard(const char *path) { return strcmp(path, "-") == 0; }

const char *berth_i_input_name(const char *path) {
  return is_standard(path) ? "standard input" : path;
}

/* Without waiting for a writer, which a FIFO may never get: berth_i_file_wait waits. A device other
 * than a terminal may have no end.  @param fd to be closed, unless it is standard input */
static berth_status open_input(berth_ctx *ctx, const char *path, int *fd) {
  bool standard = is_standard(path);
  const char *what = NULL, *name = berth_i_input_name(path);
  *fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (*fd < 0) return berth_i_file_error(ctx, name, "cannot be opened");
  struct stat s;
  berth_status st = BERTH_OK;
  if (fstat(*fd, &s) != 0) st = berth_i_file_error(ctx, name, "cannot be read");
  else if (S_ISDIR(s.st_mode)) what = "directory";
  else if (S_ISBLK(s.st_mode) || (S_ISCHR(s.st_mode) && !isatty(*fd))) what = "device";
  if (what) {
    st = berth_i_fail(ctx, BERTH_EIO, "%s: cannot be read: it is a %s, not a file", name, what);
  }
  if (st != BERTH_OK && !standard) close(*fd);
  return st;
}

/* -1: errno is set; EINTR and EAGAIN mean that it has to be tried again. One byte is kept for the
 * terminating zero. */
static ssize_t read_piece(int fd, char *to, size_t room) {
  return read(fd, to, room - 1 < PIECE ? room - 1 : PIECE);
}

berth_status berth_i_read_file(berth_ctx *ctx, const char *path, size_t most, char **out,
                               size_t *len, size_t *size) {
  int fd;
  berth_status st = open_input(ctx, path, &fd);
  if (st != BERTH_OK) return st;
  const char *name = berth_i_input_name(path);
  char *text = NULL, limit[40];
  size_t used = 0, cap = 0;
  for (ssize_t got = 1; got != 0;) {
    if ((st = berth_i_grow_text(ctx, &text, &cap, used)) != BERTH_OK) break;
    if ((st = berth_i_file_wait(ctx, fd, POLLIN)) != BERTH_OK) break;
    got = read_piece(fd, text + used, cap - used);
    if (got > 0) used += (size_t)got;
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      st = berth_i_file_error(ctx, name, "cannot be read");
      break;
    }
    if (used <= most) continue;
    berth_quantity_format((double)most, BERTH_BYTES, limit, sizeof limit);
    st = berth_i_fail(ctx, BERTH_EPARSE, "%s: holds more than %s (most_bytes)", name, limit);
    break;
  }
  if (!is_standard(path)) close(fd);
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

bool berth_i_map_file(const char *path, const char **text, size_t *len) {
  struct stat about;
  int fd = is_standard(path) ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
  void *at = regular ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
  close(fd);
  if (at == MAP_FAILED) return false;
  *text = at;
  *len = (size_t)about.st_size;
  return true;
}

void berth_i_unmap_file(const char *text, size_t len) { munmap((void *)text, len); }

/* What `text` holds, unpacked if need be; it is replaced then. */
static berth_status unpack(berth_ctx *ctx, const char *path, size_t most, char **text,
                           size_t *len, size_t *size) {
  if (!berth_i_is_gzip(*text, *len)) return BERTH_OK;
  char *plain;
  size_t plain_len, plain_size;
  berth_status st;
  if ((st = berth_i_gunzip(ctx, berth_i_input_name(path), *text, *len, most, &plain, &plain_len,
                           &plain_size)) != BERTH_OK)
    return st;
  berth_i_free(ctx, *text, *size, 1);
  *text = plain;
  *len = plain_len;
  *size = plain_size;
  return BERTH_OK;
}

/* Half of what size_t holds: the buffer is larger than the text. */
size_t berth_i_most_bytes(double most) {
  const double limit = (double)(SIZE_MAX / 2);
  return most < limit ? (size_t)most : (size_t)limit;
}

berth_status berth_read(berth_ctx *ctx, const char *path, double most_bytes, berth_text *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_load_options opts = berth_load_default();
  if (most_bytes != 0) opts.most_bytes = most_bytes;
  berth_status st;
  if ((st = berth_options_check(ctx, berth_load_option_table(), &opts)) != BERTH_OK) return st;
  size_t most = berth_i_most_bytes(opts.most_bytes);
  char *text;
  size_t len, size;
  st = berth_i_read_file(ctx, path, most, &text, &len, &size);
  if (st != BERTH_OK) return st;
  if ((st = unpack(ctx, path, most, &text, &len, &size)) == BERTH_OK) {
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

/* Pipes and terminals cannot be replaced: written in place. A FIFO without a reader cannot be
 * opened (ENXIO): one is awaited. */
static berth_status open_output(berth_ctx *ctx, const char *path, int *fd) {
  berth_status st;
  do {
    *fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (*fd >= 0) return BERTH_OK;
    if (errno != ENXIO && errno != EINTR) break;
    if ((st = berth_i_interrupted(ctx)) != BERTH_OK) return st;
    poll(NULL, 0, 50);
  } while (true);
  return berth_i_file_error(ctx, path, "cannot be written");
}

static berth_status write_all(berth_ctx *ctx, int fd, const char *name, const berth_text *text) {
  berth_status st;
  for (size_t at = 0; at < text->len;) {
    if ((st = berth_i_file_wait(ctx, fd, POLLOUT)) != BERTH_OK) return st;
    ssize_t n = write(fd, text->data + at, text->len - at);
    if (n >= 0) at += (size_t)n;
    else if (errno != EINTR && errno != EAGAIN)
      return berth_i_file_error(ctx, name, "cannot be written");
  }
  return BERTH_OK;
}

static berth_status write_into(berth_ctx *ctx, const char *path, const berth_text *text) {
  int fd;
  berth_status st;
  if ((st = open_output(ctx, path, &fd)) != BERTH_OK) return st;
  st = write_all(ctx, fd, path, text);
  if (close(fd) != 0 && st == BERTH_OK) st = berth_i_file_error(ctx, path, "cannot be written");
  return st;
}

/* Fails for a directory.  @param old with st_mode 0: there is none of that name */
static berth_status find_old(berth_ctx *ctx, const char *path, struct stat *old) {
  if (stat(path, old) != 0) old->st_mode = 0;
  if (!S_ISDIR(old->st_mode)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EIO, "%s: cannot be written: it is a directory", path);
}

berth_status berth_can_save(berth_ctx *ctx, const char *path) {
  if (!ctx) return BERTH_EINVAL;
  if (is_standard(path)) return BERTH_OK;
  struct stat old;
  berth_status st;
  if ((st = find_old(ctx, path, &old)) != BERTH_OK) return st;
  bool in_place = old.st_mode != 0 && !S_ISREG(old.st_mode);
  char *real = in_place || !old.st_mode ? NULL : realpath(path, NULL);
  char *to = berth_i_strdup(ctx, real ? real : path), *slash = to ? strrchr(to, '/') : NULL;
  free(real);
  if (!to) return berth_i_nomem(ctx);
  size_t size = strlen(to) + 1;
  if (slash && !in_place) slash[slash == to] = '\0'; /* the directory */
  const char *where = in_place || slash ? to : ".";
  if (access(where, in_place ? W_OK : W_OK | X_OK) != 0)
    st = berth_i_file_error(ctx, path, "cannot be written");
  berth_i_free(ctx, to, size, 1);
  return st;
}

/* A copy of the handle, as callbacks take no pointer to const. */
static berth_status save_text(berth_ctx *ctx, const char *path, const berth_text *text) {
  if (is_standard(path)) return write_all(ctx, STDOUT_FILENO, "standard output", text);
  struct stat old;
  berth_text contents = *text;
  berth_status st;
  if ((st = find_old(ctx, path, &old)) != BERTH_OK) return st;
  if (old.st_mode != 0 && !S_ISREG(old.st_mode)) return write_into(ctx, path, text);
  return berth_i_file_replace(ctx, path, write_text, &contents);
}

berth_status berth_save(berth_ctx *ctx, const char *path, const berth_text *text) {
  if (!ctx) return BERTH_EINVAL;
  if (!berth_i_packs(path)) return save_text(ctx, path, text);
  berth_text packed = { .ctx = ctx };
  berth_status st;
  if ((st = berth_i_gzip(ctx, text->data, text->len, &packed.data, &packed.len, &packed.size))
      != BERTH_OK)
    return st;
  st = save_text(ctx, path, &packed);
  berth_text_release(&packed);
  return st;
}
