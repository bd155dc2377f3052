/* Loading parameters (format: params_internal.h). The whole file is checked first, in a pass that
 * keeps nothing but the checksum; no length in it is used before it is known to fit into the file,
 * so a damaged file never causes a large allocation. Numbers go to an array of their own and from
 * there, when all is well, to the parameters: a failure changes nothing. */
#include "base/file_internal.h"
#include "params_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct header {
  uint64_t steps, numbers, note;
  uint32_t arrays, moments;
} header;

typedef struct reader {
  berth_ctx *ctx;
  const char *path;
  int fd;
  uint64_t left;      /* bytes before the checksum that were not taken yet */
  size_t at, have;    /* in buf */
  unsigned char *buf; /* [BERTH_I_FILE_BUFFER] */
  header h;
} reader;

static berth_status damaged(reader *r, const char *what) {
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s: damaged: %s", r->path, what);
}

/* ---- bytes ---- */

/* As many as required, unless the file ends.  @param got set */
static berth_status read_some(reader *r, void *to, size_t n, size_t *got) {
  *got = 0;
  while (*got < n) {
    ssize_t k = read(r->fd, (char *)to + *got, n - *got);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return berth_i_file_error(r->ctx, r->path, "cannot be read");
    if (k == 0) break;
    *got += (size_t)k;
  }
  return BERTH_OK;
}

/* The size was checked before: an early end means that the file changed. */
static berth_status refill(reader *r) {
  r->at = 0;
  berth_status st;
  if ((st = read_some(r, r->buf, BERTH_I_FILE_BUFFER, &r->have)) != BERTH_OK) return st;
  return r->have > 0 ? BERTH_OK : damaged(r, "it became shorter while it was read");
}

/* @param to NULL: skipped */
static berth_status take(reader *r, void *to, uint64_t n, const char *what) {
  unsigned char *out = to;
  if (n > r->left) return damaged(r, what);
  r->left -= n;
  berth_status st;
  while (n > 0) {
    if (r->at == r->have && (st = refill(r)) != BERTH_OK) return st;
    size_t k = r->have - r->at;
    if (k > n) k = (size_t)n;
    if (out) memcpy(out, r->buf + r->at, k);
    if (out) out += k;
    r->at += k;
    n -= k;
  }
  return BERTH_OK;
}

static berth_status take_u32(reader *r, uint32_t *v, const char *what) {
  unsigned char le[4];
  berth_status st = take(r, le, sizeof le, what);
  if (st == BERTH_OK) *v = (uint32_t)berth_i_from_le(le, 4);
  return st;
}

/* Turned to the host's order where they lie. */
static berth_status take_floats(reader *r, float *x, int64_t n) {
  berth_status st = take(r, x, (uint64_t)n * 4, "it has too few numbers");
  for (int64_t i = 0; st == BERTH_OK && i < n; i++) {
    unsigned char le[4];
    memcpy(le, &x[i], sizeof le);
    uint32_t bits = (uint32_t)berth_i_from_le(le, 4);
    memcpy(&x[i], &bits, sizeof bits);
  }
  return st;
}

/* A zero-terminated text of n bytes.  @param text freed with berth_i_strfree */
static berth_status take_text(reader *r, uint64_t n, const char *what, char **text) {
  if (n > r->left) return damaged(r, what);
  char *s;
  if (!(s = berth_i_alloc(r->ctx, (size_t)n + 1, 1))) return berth_i_nomem(r->ctx);
  berth_status st = take(r, s, n, what);
  s[n] = 0;
  if (st == BERTH_OK && memchr(s, 0, (size_t)n)) st = damaged(r, what);
  if (st == BERTH_OK) *text = s;
  else berth_i_free(r->ctx, s, (size_t)n + 1, 1);
  return st;
}

/* ---- is it a whole file of ours? ---- */

/* In order: is it such a file at all, of a known version, of a known byte order, whole? */
static berth_status check_kind(reader *r, const unsigned char *b, size_t n, uint64_t size) {
  if (n < 8 || memcmp(b, BERTH_I_FILE_MAGIC, 8) != 0) {
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s: is not a file of parameters", r->path);
  }
  if (n < BERTH_I_FILE_HEADER)
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s: is cut off in its header", r->path);
  uint64_t version = berth_i_from_le(b + 8, 4);
  if (version != BERTH_I_FILE_VERSION) {
    return berth_i_fail(r->ctx, BERTH_EPARSE,
                        "%s: is of version %llu, this library reads version %d", r->path,
                        (unsigned long long)version, BERTH_I_FILE_VERSION);
  }
  if (berth_i_from_le(b + 12, 4) != BERTH_I_FILE_MARK)
    return damaged(r, "its byte-order mark is wrong");
  uint64_t whole = berth_i_from_le(b + 16, 8);
  if (size == whole)
    return size >= BERTH_I_FILE_HEADER + BERTH_I_FILE_CHECKSUM ? BERTH_OK
                                                               : damaged(r, "it is too short");
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s: is %s: %llu bytes, of %llu", r->path,
                      size < whole ? "cut off" : "too long", (unsigned long long)size,
                      (unsigned long long)whole);
}

static header header_of(const unsigned char *b) {
  header h = { berth_i_from_le(b + 24, 8), berth_i_from_le(b + 32, 8), berth_i_from_le(b + 40, 8),
               (uint32_t)berth_i_from_le(b + 48, 4), (uint32_t)berth_i_from_le(b + 52, 4) };
  return h;
}

/* Over all bytes before the checksum itself, in pieces of the buffer, a multiple of 8. */
static berth_status check_sum(reader *r, uint64_t size) {
  uint64_t left = size - BERTH_I_FILE_CHECKSUM, sum = 0;
  size_t got;
  berth_status st;
  while (left > 0) {
    size_t n = left < BERTH_I_FILE_BUFFER ? (size_t)left : BERTH_I_FILE_BUFFER;
    if ((st = read_some(r, r->buf, n, &got)) != BERTH_OK) return st;
    if (got < n) return damaged(r, "it became shorter while it was read");
    sum = berth_i_checksum(sum, r->buf, n);
    left -= n;
  }
  unsigned char le[BERTH_I_FILE_CHECKSUM];
  if ((st = read_some(r, le, sizeof le, &got)) != BERTH_OK) return st;
  return got == sizeof le && berth_i_from_le(le, 8) == sum
             ? BERTH_OK
             : damaged(r, "its checksum does not match");
}

static berth_status rewind_to(reader *r, off_t at) {
  return lseek(r->fd, at, SEEK_SET) == at ? BERTH_OK
                                          : berth_i_file_error(r->ctx, r->path, "cannot be read");
}

static berth_status check_file(reader *r, uint64_t size) {
  size_t got;
  berth_status st = read_some(r, r->buf, BERTH_I_FILE_HEADER, &got);
  if (st == BERTH_OK) st = check_kind(r, r->buf, got, size);
  if (st != BERTH_OK) return st;
  r->h = header_of(r->buf);
  if ((st = rewind_to(r, 0)) != BERTH_OK || (st = check_sum(r, size)) != BERTH_OK) return st;
  if (r->h.moments > 1) return damaged(r, "its flag of moments is neither 0 nor 1");
  if (r->h.steps > INT64_MAX || r->h.numbers > INT64_MAX)
    return damaged(r, "its counts are too large");
  r->left = size - BERTH_I_FILE_HEADER - BERTH_I_FILE_CHECKSUM;
  return rewind_to(r, BERTH_I_FILE_HEADER);
}

static void close_file(reader *r) {
  if (r->fd >= 0) close(r->fd);
  berth_i_free(r->ctx, r->buf, BERTH_I_FILE_BUFFER, 1);
}

/* Opens a file, checks that it is whole, and is positioned behind its header. On failure there is
 * nothing to close. */
static berth_status open_file(berth_ctx *ctx, const char *path, reader *r) {
  berth_status st = BERTH_OK;
  *r = (reader){ .ctx = ctx, .path = path, .fd = -1 };
  struct stat s;
  if (stat(path, &s) != 0) return berth_i_file_error(ctx, path, "cannot be opened");
  if (!S_ISREG(s.st_mode))
    return berth_i_fail(ctx, BERTH_EIO, "%s: cannot be read: it is not a regular file", path);
  if (!(r->buf = berth_i_alloc(ctx, BERTH_I_FILE_BUFFER, 1))) return berth_i_nomem(ctx);
  if ((r->fd = open(path, O_RDONLY)) < 0) st = berth_i_file_error(ctx, path, "cannot be opened");
  if (st == BERTH_OK && fstat(r->fd, &s) != 0) st = berth_i_file_error(ctx, path, "cannot be read");
  if (st == BERTH_OK) st = check_file(r, (uint64_t)s.st_size);
  if (st != BERTH_OK) close_file(r);
  return st;
}

/* ---- the note ---- */

berth_status berth_params_note(berth_ctx *ctx, const char *path, char **note) {
  if (!ctx) return BERTH_EINVAL;
  reader r;
  berth_status st = open_file(ctx, path, &r);
  if (st != BERTH_OK) return st;
  st = take_text(&r, r.h.note, "its note is wrong", note);
  close_file(&r);
  return st;
}

void berth_nn_free_note(berth_ctx *ctx, char *note) { berth_i_strfree(ctx, note); }

/* ---- the same network? ---- */

static berth_status take_shape(reader *r, berth_array *shape) {
  uint32_t rank;
  berth_status st = take_u32(r, &rank, "a shape is cut off");
  if (st != BERTH_OK) return st;
  if (rank < 1 || rank > BERTH_NN_RANK) return damaged(r, "a shape has a wrong rank");
  shape->rank = (int32_t)rank;
  uint32_t extent;
  for (uint32_t k = 0; k < rank; k++) {
    if ((st = take_u32(r, &extent, "a shape is cut off")) != BERTH_OK) return st;
    if (extent > INT32_MAX) return damaged(r, "a shape is too large");
    shape->shape[k] = (int32_t)extent;
  }
  return BERTH_OK;
}

/* Names and shapes must agree in order: another network has the same number of floats by chance
 * only. */
static berth_status compare(reader *r, int32_t i, const char *name, const berth_array *shape,
                            const berth_i_param *here) {
  if (strcmp(name, here->name) != 0) {
    return berth_i_fail(r->ctx, BERTH_EINVAL,
                        "%s: is of another network: its array %d is \"%.60s\", here \"%.60s\"",
                        r->path, i + 1, name, here->name);
  }
  if (berth_i_same_shape(shape, here->array)) return BERTH_OK;
  char there_text[BERTH_I_SHAPE_TEXT], here_text[BERTH_I_SHAPE_TEXT];
  return berth_i_fail(r->ctx, BERTH_EINVAL,
                      "%s: is of another network: its \"%.60s\" is %s, here %s", r->path, name,
                      berth_i_shape_text(shape, there_text),
                      berth_i_shape_text(here->array, here_text));
}

static berth_status compare_next(reader *r, int32_t i, const berth_i_param *here) {
  berth_array shape = { 0 }; /* only rank and extents are used */
  uint32_t length;
  char *name;
  berth_status st = take_u32(r, &length, "a name is cut off");
  if (st == BERTH_OK) st = take_text(r, length, "a name is wrong", &name);
  if (st != BERTH_OK) return st;
  st = take_shape(r, &shape);
  if (st == BERTH_OK) st = compare(r, i, name, &shape, here);
  berth_i_strfree(r->ctx, name);
  return st;
}

/* Arrays that both have are compared before the counts, for the better message. */
static berth_status compare_network(reader *r, const berth_params *p) {
  uint32_t n = r->h.arrays < (uint32_t)p->n ? r->h.arrays : (uint32_t)p->n;
  berth_status st = take(r, NULL, r->h.note, "its note is cut off");
  for (uint32_t i = 0; st == BERTH_OK && i < n; i++) st = compare_next(r, (int32_t)i, &p->item[i]);
  if (st != BERTH_OK) return st;
  if (r->h.arrays != (uint32_t)p->n) {
    return berth_i_fail(r->ctx, BERTH_EINVAL,
                        "%s: is of another network: it has %lu arrays, here are %d", r->path,
                        (unsigned long)r->h.arrays, p->n);
  }
  if (r->h.numbers != (uint64_t)p->size)
    return damaged(r, "its shapes do not match its count of numbers");
  return BERTH_OK;
}

/* ---- loading ---- */

static berth_status check_rest(reader *r, const berth_adam *adam) {
  uint64_t each = r->h.moments ? 12 : 4; /* numbers are those of the parameters by now, so their
                                            bytes fit */
  if (r->left != r->h.numbers * each)
    return damaged(r, "its length does not match its count of numbers");
  if (!adam || r->h.moments) return BERTH_OK;
  return berth_i_fail(r->ctx, BERTH_EINVAL, "%s: has no moments for Adam", r->path);
}

/* Nothing has changed until the last byte is here. */
static berth_status load(reader *r, berth_params *p, berth_adam *adam) {
  int64_t n = p->size * (adam ? 3 : 1);
  float *x = berth_i_alloc(r->ctx, (size_t)n, sizeof *x);
  if (!x) return berth_i_nomem(r->ctx);
  berth_status st;
  if ((st = take_floats(r, x, n)) != BERTH_OK) goto done;
  berth_params_set(p, 0, x);
  if (!adam) goto done;
  memcpy(adam->first, x + p->size, 2 * (size_t)p->size * sizeof *x);
  adam->steps = (int64_t)r->h.steps;
done:
  berth_i_free(r->ctx, x, (size_t)n, sizeof *x);
  return st;
}

berth_status berth_params_load(berth_params *p, berth_adam *adam, const char *path) {
  if (!p) return BERTH_EINVAL;
  berth_status st = BERTH_OK;
  if (adam && adam->params != p)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "this Adam is of other parameters");
  if (adam) st = berth_i_adam_check(adam);
  reader r;
  if (st == BERTH_OK) st = open_file(p->ctx, path, &r);
  if (st != BERTH_OK) return st;
  st = compare_network(&r, p);
  if (st == BERTH_OK) st = check_rest(&r, adam);
  if (st == BERTH_OK) st = load(&r, p, adam);
  close_file(&r);
  return st;
}
