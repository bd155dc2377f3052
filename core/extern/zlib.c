/* zlib, wrapped: gzip data in memory, unpacked and packed. Several members of one file are joined,
 * as gunzip does. */
#include "zlib_internal.h"

#include <limits.h>
#include <zlib.h>

enum { PIECE = 1 << 20 }; /* bytes between two calls of the interrupt hook */

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
  size_t used, cap, most;
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
  berth_status st = berth_i_interrupted(u->ctx);
  if (st == BERTH_OK) st = berth_i_grow_text(u->ctx, &u->text, &u->cap, u->used);
  if (st != BERTH_OK) return st;
  size_t room = u->cap - u->used - 1;
  if (room > PIECE) room = PIECE;
  feed(u);
  u->z.next_out = (Bytef *)u->text + u->used;
  u->z.avail_out = (uInt)room;
  *code = inflate(&u->z, Z_NO_FLUSH);
  u->used += room - u->z.avail_out;
  if (u->used > u->most) {
    char most[40];
    return berth_i_fail(u->ctx, BERTH_EPARSE, "%s: unpacks to more than %s (most_bytes)", u->name,
                        berth_quantity_format((double)u->most, BERTH_BYTES, most, sizeof most));
  }
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
                            size_t most, char **out, size_t *len, size_t *size) {
  unpack u = { .ctx = ctx, .name = name, .in = packed, .n_in = packed_len, .most = most };
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

/* ---- packing ---- */

berth_status berth_i_gzip(berth_ctx *ctx, const char *plain, size_t plain_len, char **out,
                          size_t *len, size_t *size) {
  z_stream z = { 0 };
  char *text = NULL;
  size_t used = 0, cap = 0;
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return berth_i_nomem(ctx);
  berth_status st = BERTH_OK;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if ((st = berth_i_interrupted(ctx)) != BERTH_OK) break;
    if ((st = berth_i_grow_text(ctx, &text, &cap, used)) != BERTH_OK) break;
    if (z.avail_in == 0) {
      z.avail_in = (uInt)(plain_len < PIECE ? plain_len : PIECE);
      z.next_in = (Bytef *)plain; /* zlib only reads it */
      plain += z.avail_in;
      plain_len -= z.avail_in;
    }
    size_t room = cap - used < UINT_MAX ? cap - used : UINT_MAX;
    z.next_out = (Bytef *)text + used;
    z.avail_out = (uInt)room;
    code = deflate(&z, plain_len == 0 ? Z_FINISH : Z_NO_FLUSH);
    used += room - z.avail_out;
  }
  deflateEnd(&z);
  if (st != BERTH_OK) {
    berth_i_free(ctx, text, cap, 1);
    return st;
  }
  *out = text;
  *len = used;
  *size = cap;
  return BERTH_OK;
}
