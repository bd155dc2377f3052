/* zlib, wrapped: gzip data in memory, unpacked to at most 4 GiB (1 GiB where size_t has 32 bits),
 * so that a small file cannot take all memory. Several members in one file are joined, as gunzip
 * does. */
#include "zlib_internal.h"

#include <limits.h>
#include <zlib.h>

static const size_t MAX_TEXT = (size_t)1 << (sizeof(size_t) > 4 ? 32 : 30); /* unpacked */

bool berth_i_is_gzip(const char *text, size_t len) {
  return len >= 2 && (unsigned char)text[0] == 0x1f && (unsigned char)text[1] == 0x8b;
}

typedef struct unpack {
  berth_ctx *ctx;
  const char *name;
  z_stream z;
  const char *in; /* packed bytes that z has not been given yet */
  size_t n_in;
  char *text;
  size_t used, cap;
} unpack;

static void feed(unpack *u) {
  size_t n = u->n_in < UINT_MAX ? u->n_in : UINT_MAX;
  if (u->z.avail_in > 0) return;
  u->z.next_in = (Bytef *)u->in; /* zlib only reads it */
  u->z.avail_in = (uInt)n;
  u->in += n;
  u->n_in -= n;
}

static berth_status inflate_some(unpack *u, int *code) {
  berth_status st = berth_i_grow_text(u->ctx, &u->text, &u->cap, u->used);
  if (st != BERTH_OK) return st;
  size_t room = u->cap - u->used - 1;
  if (room > UINT_MAX) room = UINT_MAX;
  feed(u);
  u->z.next_out = (Bytef *)u->text + u->used;
  u->z.avail_out = (uInt)room;
  *code = inflate(&u->z, Z_NO_FLUSH);
  u->used += room - u->z.avail_out;
  if (u->used > MAX_TEXT)
    return berth_i_fail(u->ctx, BERTH_EPARSE, "%s: unpacks to more than %zu bytes", u->name,
                        MAX_TEXT);
  if (*code == Z_MEM_ERROR) return berth_i_nomem(u->ctx);
  if (*code == Z_BUF_ERROR)
    return berth_i_fail(u->ctx, BERTH_EPARSE, "%s: gzip data ends too early", u->name);
  if (*code != Z_OK && *code != Z_STREAM_END) {
    return berth_i_fail(u->ctx, BERTH_EPARSE, "%s: gzip data is damaged (%s)", u->name,
                        u->z.msg ? u->z.msg : "no reason given");
  }
  return BERTH_OK;
}

/* A file may hold several gzip members, one after the other. */
static berth_status inflate_all(unpack *u) {
  berth_status st;
  int code = Z_OK;
  do {
    if ((st = inflate_some(u, &code)) != BERTH_OK) return st;
    if (code != Z_STREAM_END) continue;
    if (u->z.avail_in == 0 && u->n_in == 0) return BERTH_OK;
    inflateReset(&u->z);
  } while (true);
}

berth_status berth_i_gunzip(berth_ctx *ctx, const char *name, const char *packed, size_t packed_len,
                            char **out, size_t *len, size_t *size) {
  unpack u = { .ctx = ctx, .name = name, .in = packed, .n_in = packed_len };
  if (inflateInit2(&u.z, 15 + 16) != Z_OK) return berth_i_nomem(ctx);
  berth_status st = inflate_all(&u);
  inflateEnd(&u.z);
  if (st != BERTH_OK) {
    berth_i_free(ctx, u.text, u.cap, 1);
    return st;
  }
  u.text[u.used] = 0;
  *out = u.text;
  *len = u.used;
  *size = u.cap;
  return BERTH_OK;
}
