/* Protocol buffers' wire format over a range of bytes: tags, varints, lengths. Nothing is copied;
 * each length is checked against the message around it. */
#include "onnx_internal.h"

bool berth_i_onnx_fail(onnx_model *m, berth_status st, const char *format, ...) {
  char text[400];
  va_list args;
  if (m->st != BERTH_OK) return false;
  m->st = st;
  if (!m->ctx) return false;
  va_start(args, format);
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  berth_i_fail(m->ctx, st, "%s: %s", m->name, text);
  return false;
}

bool berth_i_onnx_room(onnx_model *m, void **array, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return true;
  berth_status st = berth_i_pool_grow(&m->pool, array, cap, need, size);
  if (st != BERTH_OK && m->st == BERTH_OK) m->st = berth_i_nomem(m->ctx);
  return st == BERTH_OK;
}

onnx_wire berth_i_onnx_wire(onnx_model *m, onnx_bytes data, const char *message) {
  const char *at = data.at ? data.at : ""; /* an absent message is an empty one */
  return (onnx_wire){ m, at, at + data.n, message };
}

static bool fail_at(onnx_wire *w, const char *at, const char *reason) {
  return berth_i_onnx_fail(w->m, BERTH_EPARSE, "byte %zu: %s: %s", (size_t)(at - w->m->text),
                           w->message, reason);
}

bool berth_i_onnx_bad(onnx_wire *w, const onnx_field *f, const char *reason, ...) {
  char text[200];
  va_list args;
  va_start(args, reason);
  berth_vsnprintf(text, sizeof text, reason, args);
  va_end(args);
  const char *at = f->data.at ? f->data.at : w->at;
  return berth_i_onnx_fail(w->m, BERTH_EPARSE, "byte %zu: field %u of %s: %s",
                           (size_t)(at - w->m->text), (unsigned)f->number, w->message, text);
}

/* At most ten bytes; bits above 64 are lost, as protocol buffers' own readers do. */
static bool varint(onnx_wire *w, uint64_t *out) {
  const char *begin = w->at;
  uint64_t x = 0;
  for (int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
    unsigned char c = (unsigned char)*w->at++;
    if (shift < 64) x |= (uint64_t)(c & 127) << shift;
    if (c < 128) {
      *out = x;
      return true;
    }
  }
  return fail_at(w, begin, w->at < w->end ? "a number of more than 10 bytes"
                                          : "the end of the message is inside a number");
}

static bool fixed(onnx_wire *w, const char *begin, size_t n, uint64_t *out) {
  if ((size_t)(w->end - w->at) < n)
    return fail_at(w, begin, "the end of the message is inside a number");
  *out = 0;
  for (size_t k = n; k-- > 0;) *out = *out << 8 | (unsigned char)w->at[k];
  w->at += n;
  return true;
}

static bool take(onnx_wire *w, onnx_field *f) {
  uint64_t n;
  if (!varint(w, &n)) return false;
  f->data.at = w->at;
  if (n > (uint64_t)(w->end - w->at))
    return berth_i_onnx_bad(w, f, "a length of %.0f bytes, but %zu are left in the message",
                            (double)n, (size_t)(w->end - w->at));
  f->data.n = (size_t)n;
  w->at += n;
  return true;
}

bool berth_i_onnx_next(onnx_wire *w, onnx_field *f) {
  const char *begin = w->at;
  uint64_t tag;
  if (w->m->st != BERTH_OK || w->at == w->end || !varint(w, &tag)) return false;
  *f = (onnx_field){ (uint32_t)(tag >> 3), (int)(tag & 7), 0, { NULL, 0 } };
  if (tag >> 3 == 0 || tag >> 32) return fail_at(w, begin, "no field has such a number");
  if (f->type == ONNX_VARINT) return varint(w, &f->value);
  if (f->type == ONNX_FIXED64) return fixed(w, begin, 8, &f->value);
  if (f->type == ONNX_FIXED32) return fixed(w, begin, 4, &f->value);
  if (f->type == ONNX_LENGTH) return take(w, f);
  return berth_i_onnx_bad(w, f, "wire type %d is not used by ONNX", f->type);
}

bool berth_i_onnx_is(onnx_wire *w, const onnx_field *f, int type) {
  static const char *const names[] = { "a number", "8 bytes", "a length", "", "", "4 bytes" };
  if (f->type == type) return true;
  return berth_i_onnx_bad(w, f, "%s, expected %s", names[f->type], names[type]);
}

static bool push(onnx_wire *w, onnx_ints *list, uint64_t x) {
  if (!ONNX_GROW(w->m, list->at, list->cap, list->n + 1)) return false;
  list->at[list->n++] = (int64_t)x;
  return true;
}

bool berth_i_onnx_add(onnx_wire *w, const onnx_field *f, onnx_ints *list) {
  if (f->type != ONNX_LENGTH) return push(w, list, f->value);
  onnx_wire in = berth_i_onnx_wire(w->m, f->data, w->message);
  uint64_t x;
  while (in.at < in.end)
    if (!varint(&in, &x) || !push(w, list, x)) return false;
  return true;
}

/* Files begin with ir_version, 1 to 20. Other orders are legal: then all fields of the top must be
 * those of a model, and a graph among them. */
bool berth_i_onnx_matches(const char *text, size_t len) {
  if (len >= 3 && text[0] == 8 && text[1] >= 1 && text[1] <= 20) return true;
  onnx_model quiet = { .text = text, .len = len };
  onnx_wire w = berth_i_onnx_wire(&quiet, (onnx_bytes){ text, len }, "ModelProto");
  onnx_field f;
  bool version = false, graph = false;
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number > 26) return false;
    version |= f.number == 1 && f.type == ONNX_VARINT;
    graph |= f.number == 7 && f.type == ONNX_LENGTH;
  }
  return quiet.st == BERTH_OK && version && graph;
}
