/* JSON through cJSON: a read-only document whose every value has its place in the text.
 * cJSON allocates with malloc, not with the context, a piece at a time; its hooks are never
 * touched. */
#ifndef BERTH_JSON_INTERNAL_H
#define BERTH_JSON_INTERNAL_H

#include "base/pool_internal.h"

typedef struct berth_i_json berth_i_json;             /* a document */
typedef struct berth_i_json_value berth_i_json_value; /* a value in it */

typedef enum berth_i_json_kind {
  BERTH_I_JSON_NULL,
  BERTH_I_JSON_BOOL,
  BERTH_I_JSON_NUMBER,
  BERTH_I_JSON_STRING,
  BERTH_I_JSON_ARRAY,
  BERTH_I_JSON_OBJECT
} berth_i_json_kind;

enum { BERTH_I_JSON_DEEPEST = 1008 }; /* values in each other, at most */

/** @param name of the file, for messages @param text [len], text[len] == 0; both must outlive
 *        the document
 *  @return BERTH_OK, BERTH_EPARSE ("name:line: reason"), BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_i_json_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                                berth_i_json **out);
void berth_i_json_release(berth_i_json *doc); /* NULL is fine */

berth_ctx *berth_i_json_ctx(const berth_i_json *doc);
const berth_i_json_value *berth_i_json_root(const berth_i_json *doc);
berth_i_json_kind berth_i_json_kind_of(const berth_i_json_value *v);
/* of a number; infinite if the text overflows */
double berth_i_json_number(const berth_i_json_value *v);
const char *berth_i_json_string(const berth_i_json_value *v); /* of a string */
bool berth_i_json_true(const berth_i_json_value *v);          /* of a bool */
const char *berth_i_json_key(const berth_i_json_value *v);    /* of a member of an object */

/** Members of an array or object in order of the text; NULL at the end, and for other kinds. */
const berth_i_json_value *berth_i_json_first(const berth_i_json_value *v);
const berth_i_json_value *berth_i_json_next(const berth_i_json_value *v);
int64_t berth_i_json_count(const berth_i_json_value *v); /* O(members) */
/** First member with that key, or NULL. O(members) */
const berth_i_json_value *berth_i_json_get(const berth_i_json_value *object, const char *key);

/** Where a value begins, from 1. O(document) */
int32_t berth_i_json_line(const berth_i_json *doc, const berth_i_json_value *v);
/** Sets "name:line: path reason (text of a scalar)", or, if the reason begins with a colon,
 *  "name:line: path: reason"; returns BERTH_EPARSE. O(document): the line is found only now. */
berth_status berth_i_json_fail(const berth_i_json *doc, const berth_i_json_value *v,
                               const char *reason, ...) BERTH_PRINTF(3, 4);

#endif
