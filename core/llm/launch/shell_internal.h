/* What the two files of the shell's reader share: words in the making, and variables. */
#ifndef BERTH_LLM_SHELL_INTERNAL_H
#define BERTH_LLM_SHELL_INTERNAL_H

#include "launch_internal.h"

/* Marks in texts of variables: expand.c. */
enum { BERTH_I_SHELL_CONTINUED = 1, BERTH_I_SHELL_LATER };

typedef struct berth_i_variable {
  const char *name;
  berth_i_word *item; /* [n] */
  size_t n, cap;
} berth_i_variable;

typedef struct berth_i_expander {
  berth_llm_launch *l;
  int32_t line;            /* for messages */
  berth_i_variable *var;   /* [n_vars] */
  size_t n_vars, vars_cap;
  size_t budget;           /* characters that may still be made */
  berth_status st;         /* the first failure stays */
} berth_i_expander;

/** Words in the making. */
typedef struct berth_i_fields {
  berth_i_words list;
  char *text;         /* of the open word */
  size_t n, cap;
  bool open, whole;   /* whole: blanks of variables do not end a word */
  int32_t line, at;   /* of the open word; of what is read */
} berth_i_fields;

static inline bool berth_i_is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}
static inline bool berth_i_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool berth_i_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/** Behind a character, a quoted text, or an expansion; NULL: it is not closed.
 *  @param quoted within double quotes  @param depth 0 */
const char *berth_i_skip_unit(const char *p, const char *end, bool quoted, int depth);
/** The text [p, end) into words.  @param depth 0 */
void berth_i_expand(berth_i_expander *x, berth_i_fields *f, const char *p, const char *end,
                    bool quoted, int depth);
void berth_i_put_char(berth_i_expander *x, berth_i_fields *f, char c);
/** The text of a word of a variable; unless quoted, its blanks end words. */
void berth_i_put_value(berth_i_expander *x, berth_i_fields *f, const berth_i_word *w, bool quoted);
void berth_i_open_word(berth_i_fields *f);
void berth_i_close_word(berth_i_expander *x, berth_i_fields *f);
/** The variable of that name, made if it is not there; NULL: refused. */
berth_i_variable *berth_i_shell_variable(berth_i_expander *x, const char *name, size_t n);
/** Takes the marks out of a word, and sets what is unknown in it. */
void berth_i_shell_clean(berth_i_expander *x, berth_i_word *w);
/** A whole number; *known becomes false for another text. */
double berth_i_shell_whole(const char *text, bool *known);
void berth_i_shell_fail(berth_i_expander *x, const char *what);

#endif
