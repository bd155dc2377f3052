/* A document of JSON as a sequence of values in the order of the text (a pre-order walk). The state
 * is the path from the root to the present value; a step is O(1) amortised. */
#include "io/io_internal.h"

struct berth_json {
  berth_i_json *doc;
  int32_t depth; /* of the present value; BERTH_NONE: before the first, or behind the last */
  berth_i_value path[BERTH_I_JSON_DEEPEST + 1];
  int32_t index[BERTH_I_JSON_DEEPEST + 1];
};

berth_status berth_json_open(berth_ctx *ctx, const char *name, const char *text, size_t len,
                             berth_json **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_json *json = berth_i_zalloc(ctx, 1, sizeof *json);
  berth_status st =
      json ? berth_i_json_parse(ctx, name, text, len, &json->doc) : berth_i_nomem(ctx);
  if (st != BERTH_OK) {
    berth_i_free(ctx, json, 1, sizeof *json);
    return st;
  }
  json->depth = BERTH_NONE;
  *out = json;
  return BERTH_OK;
}

void berth_json_release(berth_json *json) {
  if (!json) return;
  berth_ctx *ctx = berth_i_json_ctx(json->doc);
  berth_i_json_release(json->doc);
  berth_i_free(ctx, json, 1, sizeof *json);
}

/* To the first member, else to the next sibling, else to that of the closest ancestor that has one.
 * At the end depth falls to BERTH_NONE and path[0] stays, which is how "before the first"
 * differs. */
static berth_i_value advance(berth_json *json) {
  berth_i_value v = json->path[0] ? NULL : berth_i_json_root(json->doc);
  if (json->depth >= 0) v = berth_i_json_first(json->path[json->depth]);
  if (v) json->index[++json->depth] = 0;
  while (!v && json->depth >= 0) {
    if ((v = berth_i_json_next(json->path[json->depth]))) json->index[json->depth]++;
    else json->depth--;
  }
  if (v) json->path[json->depth] = v;
  return v;
}

/* kind: the enums have the same values. */
int berth_json_next(berth_json *json, berth_json_item *out) {
  berth_i_value v = advance(json);
  if (!v) return 0;
  *out = (berth_json_item){ .kind = (berth_json_kind)berth_i_json_kind_of(v),
                            .key = berth_i_json_key(v),
                            .depth = json->depth,
                            .index = json->index[json->depth] };
  if (out->kind == BERTH_JSON_STRING) out->string = berth_i_json_string(v);
  if (out->kind == BERTH_JSON_NUMBER || out->kind == BERTH_JSON_BOOL)
    out->number = berth_i_json_number(v);
  return 1;
}
