/* Context: hooks, last error, counted references. The error text is a fixed buffer, so that
 * reporting never needs memory. */
#include "context_internal.h"
#include <stdio.h>
#include <stdlib.h>

static void *default_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  (void)ud;
  (void)osize;
  if (nsize == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, nsize);
}

const char *berth_status_name(berth_status st) {
  switch (st) {
    case BERTH_OK: return "ok";
    case BERTH_ENOMEM: return "out of memory";
    case BERTH_EINVAL: return "invalid";
    case BERTH_ECYCLE: return "cycle";
    case BERTH_EINFEASIBLE: return "infeasible";
    case BERTH_EUNREACHABLE: return "unreachable";
    case BERTH_EPARSE: return "parse";
    case BERTH_EIO: return "io";
    case BERTH_EUNSUPPORTED: return "unsupported";
    case BERTH_ECALLBACK: return "callback";
    case BERTH_EINTERRUPT: return "interrupted";
  }
  return "unknown";
}

const char *berth_version(void) { return BERTH_VERSION; }

berth_status berth_ctx_new(const berth_hooks *hooks, berth_ctx **out) {
  if (!out) return BERTH_EINVAL;
  berth_hooks h = { 0 };
  if (hooks) h = *hooks;
  if (!h.alloc) {
    h.alloc = default_alloc;
    h.alloc_ud = NULL;
  }
  berth_ctx *ctx = h.alloc(h.alloc_ud, NULL, 0, sizeof *ctx);
  if (!ctx) return BERTH_ENOMEM;
  memset(ctx, 0, sizeof *ctx);
  ctx->hooks = h;
  ctx->refs = 1;
  *out = ctx;
  return BERTH_OK;
}

void berth_ctx_retain(berth_ctx *ctx) { ctx->refs++; }

void berth_ctx_release(berth_ctx *ctx) {
  if (!ctx || --ctx->refs > 0) return;
  berth_i_block_cache_drop(ctx);
  ctx->hooks.alloc(ctx->hooks.alloc_ud, ctx, sizeof *ctx, 0);
}

const char *berth_errmsg(const berth_ctx *ctx) { return ctx->error; }
size_t berth_ctx_memory(const berth_ctx *ctx) { return ctx->used; }
size_t berth_ctx_memory_peak(const berth_ctx *ctx) { return ctx->peak; }
void berth_ctx_memory_reset_peak(berth_ctx *ctx) { ctx->peak = ctx->used; }

/* ---- contexts of other threads ---- */

bool berth_i_ctx_default_alloc(const berth_ctx *ctx) { return ctx->hooks.alloc == default_alloc; }
bool berth_i_ctx_has_clock(const berth_ctx *ctx) { return ctx->hooks.clock != NULL; }
double berth_i_ctx_clock(const berth_ctx *ctx) {
  return ctx->hooks.clock ? ctx->hooks.clock(ctx->hooks.ud) : 0;
}

berth_status berth_i_ctx_worker(berth_ctx *ctx, int (*interrupt)(void *ud), void *ud,
                                berth_ctx **out) {
  berth_hooks h = { 0 };
  h.interrupt = interrupt;
  h.ud = ud;
  return berth_ctx_new(&h, out) == BERTH_OK ? BERTH_OK : berth_i_nomem(ctx);
}

berth_hooks berth_i_ctx_swap_hooks(berth_ctx *ctx, const berth_hooks *hooks) {
  berth_hooks before = ctx->hooks;
  ctx->hooks = *hooks;
  ctx->hooks.alloc = before.alloc;
  ctx->hooks.alloc_ud = before.alloc_ud;
  return before;
}

void berth_i_ctx_move(berth_ctx *from, berth_ctx *to, size_t bytes) {
  from->used -= bytes;
  to->used += bytes;
  berth_i_ctx_count_peak(to, 0);
  berth_ctx_retain(to);
  berth_ctx_release(from);
}

void berth_i_ctx_count_peak(berth_ctx *ctx, size_t bytes) {
  if (ctx->used + bytes > ctx->peak) ctx->peak = ctx->used + bytes;
}

/* ---- errors ---- */

berth_status berth_i_fail(berth_ctx *ctx, berth_status st, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[sizeof ctx->error];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  berth_escape(text, 0, ctx->error, sizeof ctx->error);
  return st;
}

berth_status berth_i_nomem(berth_ctx *ctx) {
  return berth_i_fail(ctx, BERTH_ENOMEM, "out of memory");
}

void berth_i_prefix_error(berth_ctx *ctx, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char prefix[sizeof ctx->error], text[sizeof ctx->error];
  berth_vsnprintf(prefix, sizeof prefix, format, args);
  va_end(args);
  berth_escape(prefix, 0, text, sizeof text);
  size_t n = strlen(text);
  snprintf(text + n, sizeof text - n, "%s", ctx->error);
  memcpy(ctx->error, text, sizeof text);
}

berth_status berth_i_interrupted(berth_ctx *ctx) {
  if (!ctx->hooks.interrupt || !ctx->hooks.interrupt(ctx->hooks.ud)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINTERRUPT, "interrupted");
}

void berth_i_progress(berth_ctx *ctx, const char *what, double done) {
  if (ctx->hooks.progress) ctx->hooks.progress(ctx->hooks.ud, what, done);
}

uint64_t berth_i_ctx_number(berth_ctx *ctx) { return ++ctx->number; }
