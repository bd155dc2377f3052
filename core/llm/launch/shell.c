/* Commands of a shell script, expanded as far as the file alone says: assignments, arrays, quotes,
 * comments, continued lines, ${A:-b}, ${A[@]}, $((...)), conditions of tests. Nothing is run.
 *
 * First the raw extent of a word is found (quotes and brackets are skipped as units), then it is
 * expanded into words. A variable that the file does not set, or the output of a command, marks the
 * word as unknown; in a test a variable that is not set is empty. Loops, `case`, and branches of
 * conditions that are not tests are passed over, with a note if they have flags.
 *
 * Texts hold marks, characters that no script has, until a command is complete: CONTINUED for a line
 * end that a backslash hides within quotes, and LATER for one between the parts of a variable that
 * was added to, so that words of a variable have their lines; and BEGIN ... END around what is
 * unknown. */
#include "launch_internal.h"

enum { CONTINUED = 1, BEGIN, END, BLANK, /* a blank in what is unknown */
       LATER, DEEPEST = 50, MOST_TEXT = 4 << 20, MOST_FRAMES = 100 };

typedef struct variable {
  const char *name;
  berth_i_word *item; /* [n] */
  size_t n, cap;
  bool array;
} variable;

typedef struct fields {
  berth_i_words list;
  char *text;         /* of the open word */
  size_t n, cap;
  bool open, whole;   /* whole: blanks of variables do not end a word */
  int32_t line, at;   /* of the open word; of what is read */
} fields;

typedef enum truth { NO, YES, UNKNOWN } truth;

typedef struct frame {
  bool branches;      /* if; else a loop or case */
  bool active, taken, unknown, outer;
  const char *begin;
  int32_t line;
} frame;

typedef struct shell {
  berth_llm_launch *l;
  berth_i_shell *out;
  const char *p, *end;
  int32_t line;
  variable *var;
  size_t n_vars, vars_cap, budget;
  frame frames[MOST_FRAMES];
  int n_frames;
  fields cmd;         /* words of the command */
  bool declares;      /* export and its like: words are assignments */
  bool in_test;       /* within [[ ]] */
  bool collecting;    /* the condition of an if */
  truth condition;
  char joined;        /* '&' or '|': how it is combined with the next one; 0 */
  const char *heredoc;
  size_t heredoc_len;
  bool flags;         /* the last command began with "--" */
  berth_status st;
} shell;

static bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void fail(shell *s, const char *what) {
  if (s->st == BERTH_OK)
    s->st = berth_i_fail(s->l->pool.ctx, BERTH_EPARSE, "%s:%d: %s", s->l->name, (int)s->line, what);
}

static void *keep(shell *s, const void *from, size_t n) {
  char *copy = berth_i_pool_alloc(&s->l->pool, n + 1, 1);
  if (!copy) {
    s->st = berth_i_pool_status(&s->l->pool);
    return NULL;
  }
  memcpy(copy, from, n);
  copy[n] = '\0';
  return copy;
}

/* ---- raw extents ---- */

static const char *skip_unit(const char *p, const char *end, bool quoted, int depth);

/* Behind the closing character; NULL: it is missing. */
static const char *skip_to(const char *p, const char *end, char close, int depth) {
  while (p && p < end) {
    if (*p == close) return p + 1;
    if (*p == '(' && close == ')') p = depth < DEEPEST ? skip_to(p + 1, end, ')', depth + 1) : NULL;
    else p = skip_unit(p, end, close == '"', depth);
  }
  return NULL;
}

/* Behind a character, a quoted text, or an expansion. */
static const char *skip_unit(const char *p, const char *end, bool quoted, int depth) {
  if (depth >= DEEPEST) return NULL;
  const char *q;
  switch (*p) {
  case '\\': return p + 1 < end ? p + 2 : end;
  case '\'':
    if (quoted) return p + 1;
    q = memchr(p + 1, '\'', (size_t)(end - p - 1));
    return q ? q + 1 : NULL;
  case '"': return quoted ? p + 1 : skip_to(p + 1, end, '"', depth + 1);
  case '`': return skip_to(p + 1, end, '`', depth + 1);
  case '$':
    if (p + 1 < end && p[1] == '(') return skip_to(p + 2, end, ')', depth + 1);
    if (p + 1 < end && p[1] == '{') return skip_to(p + 2, end, '}', depth + 1);
    return p + 1;
  default: return p + 1;
  }
}

/* ---- words in the making ---- */

static void put(shell *s, fields *f, char c) {
  if (s->st != BERTH_OK) return;
  if (s->budget == 0) {
    fail(s, "the variables are too long");
    return;
  }
  s->budget--;
  if (!f->open) f->line = f->at;
  f->open = true;
  s->st = BERTH_I_POOL_GROW(&s->l->pool, f->text, f->cap, f->n + 1);
  if (s->st == BERTH_OK) f->text[f->n++] = c;
}

static void open_field(fields *f) {
  if (!f->open) f->line = f->at;
  f->open = true;
}

static void close_field(shell *s, fields *f) {
  if (!f->open || s->st != BERTH_OK) return;
  const char *text = keep(s, f->n ? f->text : "", f->n);
  if (s->st == BERTH_OK)
    s->st = BERTH_I_POOL_GROW(&s->l->pool, f->list.item, f->list.cap, f->list.n + 1);
  if (s->st != BERTH_OK) return;
  f->list.item[f->list.n++] = (berth_i_word){ text, f->line, NULL };
  f->n = 0;
  f->open = false;
}

static void put_unknown(shell *s, fields *f, const char *from, const char *to) {
  if (to - from > 40) to = from + 40;
  put(s, f, BEGIN);
  for (; from < to; from++)
    put(s, f, (unsigned char)*from <= ' ' ? BLANK : *from);
  put(s, f, END);
}

/* ---- variables ---- */

static variable *find(const shell *s, const char *name, size_t n) {
  for (size_t i = 0; i < s->n_vars; i++)
    if (strncmp(s->var[i].name, name, n) == 0 && s->var[i].name[n] == '\0') return &s->var[i];
  return NULL;
}

static variable *make(shell *s, const char *name, size_t n) {
  variable *v = find(s, name, n);
  if (v) return v;
  if (s->n_vars > 5000) fail(s, "more than 5000 variables");
  const char *copy = keep(s, name, n);
  if (s->st == BERTH_OK)
    s->st = BERTH_I_POOL_GROW(&s->l->pool, s->var, s->vars_cap, s->n_vars + 1);
  if (s->st != BERTH_OK) return NULL;
  s->var[s->n_vars] = (variable){ .name = copy };
  return &s->var[s->n_vars++];
}

/* The text of a word of a variable; in an open word, blanks end it unless it is quoted. */
static void put_value(shell *s, fields *f, const berth_i_word *w, bool quoted) {
  int32_t at = f->at;
  f->at = w->line;
  if (quoted) open_field(f);
  for (const char *c = w->text; *c && s->st == BERTH_OK; c++) {
    bool ends = *c == '\n' || *c == CONTINUED;
    if (!quoted && !f->whole && (ends || is_blank(*c))) close_field(s, f);
    else if (*c != LATER || f->whole) put(s, f, *c);
    f->at += ends || *c == LATER;
  }
  f->at = at;
}

static void put_variable(shell *s, fields *f, const variable *v, bool quoted, bool all) {
  for (size_t i = 0; i < v->n && (all || i == 0); i++) {
    if (i && f->whole) put(s, f, ' ');
    else if (i) close_field(s, f);
    put_value(s, f, &v->item[i], quoted);
  }
}

/* ---- expansion ---- */

static void expand(shell *s, fields *f, const char *p, const char *end, bool quoted, int depth);

typedef struct sum {
  shell *s;
  const char *p, *end;
  bool known;
  int depth;
} sum;

static double add_terms(sum *a);

static void skip_blanks(sum *a) {
  while (a->p < a->end && (is_blank(*a->p) || *a->p == '\n' || *a->p == '$' || *a->p == '{'
                           || *a->p == '}' || *a->p == '"'))
    a->p++;
}

static double whole_of(const char *text, bool *known) {
  double x = 0;
  const char *p = text + (*text == '-');
  if (!is_digit(*p)) *known = false;
  for (; is_digit(*p); p++) x = 10 * x + (*p - '0');
  if (*p || x > 1e15) *known = false;
  return *text == '-' ? -x : x;
}

static double factor(sum *a) {
  skip_blanks(a);
  double x = 0;
  const char *from = a->p;
  if (a->p >= a->end || a->depth > DEEPEST) a->known = false;
  else if (*a->p == '-') {
    a->p++;
    a->depth++;
    x = -factor(a);
    a->depth--;
  } else if (*a->p == '(') {
    a->p++;
    a->depth++;
    x = add_terms(a);
    a->depth--;
    skip_blanks(a);
    if (a->p >= a->end || *a->p++ != ')') a->known = false;
  } else {
    while (a->p < a->end && is_name(*a->p)) a->p++;
    const variable *v = is_digit(*from) ? NULL : find(a->s, from, (size_t)(a->p - from));
    char digits[20] = "";
    if (is_digit(*from) && a->p - from < 16) memcpy(digits, from, (size_t)(a->p - from));
    x = whole_of(v && v->n ? v->item[0].text : digits, &a->known);
  }
  return x;
}

static double multiply(sum *a) {
  double x = factor(a);
  for (skip_blanks(a); a->known && a->p < a->end && strchr("*/%", *a->p); skip_blanks(a)) {
    char op = *a->p++;
    double y = factor(a);
    if (op != '*' && y == 0) a->known = false;
    else if (op == '*') x *= y;
    else x = op == '/' ? trunc(x / y) : fmod(x, y);
  }
  return x;
}

static double add_terms(sum *a) {
  double x = multiply(a);
  for (skip_blanks(a); a->known && a->p < a->end && (*a->p == '+' || *a->p == '-');
       skip_blanks(a)) {
    char op = *a->p++;
    double y = multiply(a);
    x += op == '+' ? y : -y;
  }
  return x;
}

/* $((...)), of which [from, to) is within. */
static void arithmetic(shell *s, fields *f, const char *begin, const char *from, const char *to) {
  sum a = { s, from, to, true, 0 };
  double x = add_terms(&a);
  skip_blanks(&a);
  if (!a.known || a.p < a.end || fabs(x) > 1e15) {
    put_unknown(s, f, begin, to);
    return;
  }
  char text[32];
  berth_snprintf(text, sizeof text, "%.0f", x);
  for (const char *c = text; *c; c++) put(s, f, *c);
}

/* Nothing but a variable that is not set. */
static bool is_empty(const char *text) {
  return !*text || (text[0] == BEGIN && text[1] == '$' && is_name(text[2])
                    && strchr(text, END)[1] == '\0');
}

/* ${...}, of which [p, to) is within. */
static void braces(shell *s, fields *f, const char *p, const char *to, bool quoted, int depth) {
  const char *begin = p, *index = NULL;
  while (p < to && is_name(*p)) p++;
  size_t n = (size_t)(p - begin);
  const variable *v = find(s, begin, n);
  if (p < to && *p == '[') {
    index = p + 1;
    while (p < to && *p != ']') p++;
    p += p < to;
  }
  bool all = index && (*index == '@' || *index == '*');
  bool colon = p < to && *p == ':';
  const char *op = p + colon;
  bool set = v && v->n && (!colon || !is_empty(v->item[0].text));
  if (n && p < to && op < to && strchr("-=", *op) && !set)
    expand(s, f, op + 1, to, quoted, depth + 1);
  else if (n && p < to && op < to && *op == '+') {
    if (set) expand(s, f, op + 1, to, quoted, depth + 1);
  } else if (n && v && (p == to || (op < to && strchr("-=?", *op)))) {
    size_t k = index && is_digit(*index) ? (size_t)(*index - '0') : 0;
    if (index && is_digit(*index) && k < v->n) put_value(s, f, &v->item[k], quoted);
    else put_variable(s, f, v, quoted, all);
  } else if (!(n && all && p == to)) put_unknown(s, f, begin - 2, to + 1);
}

/* At a '$'.  @return behind it */
static const char *dollar(shell *s, fields *f, const char *p, const char *end, bool quoted,
                          int depth) {
  const char *next = p + 1, *q = skip_unit(p, end, quoted, depth);
  if (!q || next >= end) {
    put(s, f, '$');
    return next;
  }
  if (*next == '(') {
    if (p[2] == '(' && q - p > 4 && q[-2] == ')') arithmetic(s, f, p, p + 3, q - 2);
    else put_unknown(s, f, p, q);
    return q;
  }
  if (*next == '{') {
    braces(s, f, p + 2, q - 1, quoted, depth);
    return q;
  }
  if (*next == '#') put(s, f, '0');
  if (strchr("#@*", *next)) return next + 1;
  for (q = next; q < end && is_name(*q) && !(is_digit(*next) && q > next);) q++;
  if (q == next) {
    put(s, f, '$');
    return next;
  }
  const variable *v = find(s, next, (size_t)(q - next));
  if (v) put_variable(s, f, v, quoted, false);
  else put_unknown(s, f, p, q);
  return q;
}

static const char *escaped(shell *s, fields *f, const char *p, const char *end, bool quoted) {
  char c = p + 1 < end ? p[1] : '\\';
  if (c == '\n') {
    if (quoted) put(s, f, CONTINUED);
    f->at++;
  } else {
    if (quoted && !strchr("$`\"\\", c)) put(s, f, '\\');
    put(s, f, c);
  }
  return p + 2 < end ? p + 2 : end;
}

static void expand(shell *s, fields *f, const char *p, const char *end, bool quoted, int depth) {
  if (depth >= DEEPEST) fail(s, "expansions are nested too deeply");
  while (p < end && s->st == BERTH_OK) {
    const char *q = skip_unit(p, end, quoted, depth);
    if (*p == '\\') p = escaped(s, f, p, end, quoted);
    else if (*p == '\'' && !quoted && q) {
      open_field(f);
      for (p++; p < q - 1; p++) {
        put(s, f, *p);
        f->at += *p == '\n';
      }
      p = q;
    } else if (*p == '"') {
      size_t words = f->list.n;
      if (!quoted && q) expand(s, f, p + 1, q - 1, true, depth + 1);
      /* "" is a word; "${A[@]}" of an empty array is none */
      if (f->list.n == words && !(q && memchr(p, '@', (size_t)(q - p)))) open_field(f);
      p = quoted || !q ? p + 1 : q;
    } else if (*p == '`' && q) {
      put_unknown(s, f, p, q);
      p = q;
    } else if (*p == '$') p = dollar(s, f, p, end, quoted, depth);
    else {
      if (!quoted && !f->whole && (is_blank(*p) || *p == '\n')) close_field(s, f);
      else put(s, f, *p);
      f->at += *p++ == '\n';
    }
  }
}

/* ---- tests ---- */

static truth compare(const berth_i_word *a, const char *op, const berth_i_word *b) {
  static const char *const ops[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge" };
  if (strcmp(op, "=") == 0 || strcmp(op, "==") == 0)
    return strpbrk(b->text, "*?[") ? UNKNOWN : strcmp(a->text, b->text) == 0 ? YES : NO;
  if (strcmp(op, "!=") == 0)
    return strpbrk(b->text, "*?[") ? UNKNOWN : strcmp(a->text, b->text) != 0 ? YES : NO;
  bool known = true;
  double x = whole_of(a->text, &known), y = whole_of(b->text, &known);
  const bool holds[] = { x == y, x != y, x < y, x <= y, x > y, x >= y };
  for (int i = 0; i < 6; i++)
    if (strcmp(op, ops[i]) == 0) return !known ? UNKNOWN : holds[i] ? YES : NO;
  return UNKNOWN;
}

/* A variable that is not set is empty; what a command prints is not known. */
static bool is_open(const berth_i_word *w) { return w->unknown && !is_name(w->unknown[1])
                                                    && w->unknown[1] != '{'; }

static truth combine(truth a, char op, truth b) {
  if (op == '&') return a == NO || b == NO ? NO : a == YES ? b : a;
  if (op == '|') return a == YES || b == YES ? YES : a == NO ? b : a;
  return b;
}

/* One term of a test at w[*i], without what joins it to the next. */
static truth term(const berth_i_word *w, size_t n, size_t *i) {
  if (*i >= n) return UNKNOWN;
  const berth_i_word *a = &w[*i];
  if (strcmp(a->text, "!") == 0 && !a->unknown) {
    ++*i;
    truth t = *i < n && strcmp(w[*i].text, "!") == 0 ? UNKNOWN : term(w, n, i);
    return t == YES ? NO : t == NO ? YES : t;
  }
  bool last = *i + 1 >= n || strcmp(w[*i + 1].text, "&&") == 0 || strcmp(w[*i + 1].text, "||") == 0;
  if (last) {
    ++*i;
    return is_open(a) ? UNKNOWN : a->text[0] ? YES : NO;
  }
  bool empty = strcmp(a->text, "-z") == 0;
  if (empty || strcmp(a->text, "-n") == 0) {
    const berth_i_word *b = &w[*i + 1];
    *i += 2;
    return is_open(b) ? UNKNOWN : (b->text[0] == '\0') == empty ? YES : NO;
  }
  if (*i + 2 >= n || is_open(a) || is_open(&w[*i + 2])) {
    *i = n;
    return UNKNOWN;
  }
  *i += 3;
  return compare(a, w[*i - 2].text, &w[*i - 1]);
}

static truth evaluate(const berth_i_word *w, size_t n) {
  if (n == 1 && strcmp(w[0].text, "true") == 0) return YES;
  if (n == 1 && strcmp(w[0].text, "false") == 0) return NO;
  bool test = n > 0 && strcmp(w[0].text, "test") == 0;
  bool bracket = n > 2 && (strcmp(w[0].text, "[") == 0 || strcmp(w[0].text, "[[") == 0);
  if (!test && !bracket) return UNKNOWN;
  n -= bracket;
  truth all = UNKNOWN;
  char op = 0;
  for (size_t i = 1; i < n;) {
    all = combine(all, op, term(w, n, &i));
    if (i < n && strcmp(w[i].text, "&&") != 0 && strcmp(w[i].text, "||") != 0) return UNKNOWN;
    op = i < n ? w[i].text[0] : 0;
    i++;
  }
  return all;
}

/* ---- commands ---- */

static bool active(const shell *s) { return s->n_frames == 0 || s->frames[s->n_frames - 1].active; }

/* Takes the marks out. */
static void clean(shell *s, berth_i_word *w) {
  if (!strpbrk(w->text, "\1\2\5")) return;
  size_t n = strlen(w->text), k = 0;
  char *text = keep(s, w->text, n), *unknown = berth_i_pool_zalloc(&s->l->pool, n + 1, 1);
  if (!text || !unknown) {
    s->st = s->st == BERTH_OK ? berth_i_pool_status(&s->l->pool) : s->st;
    return;
  }
  for (const char *c = w->text; *c; c++) {
    if (*c == BEGIN) {
      const char *to = strchr(c, END);
      for (size_t i = 0; ++c < to; i++) {
        unknown[i] = *c == BLANK ? ' ' : *c;
        unknown[i + 1] = '\0';
      }
      w->unknown = unknown;
    } else if (*c != CONTINUED && *c != LATER) text[k++] = *c;
  }
  text[k] = '\0';
  w->text = text;
}

static void store(shell *s) {
  berth_i_shell *o = s->out;
  const berth_i_words *w = &s->cmd.list;
  bool flags = w->n && strncmp(w->item[0].text, "--", 2) == 0;
  if (!(flags && s->flags)) o->commands++;
  s->flags = flags;
  for (size_t i = 0; i < w->n && s->st == BERTH_OK; i++) {
    s->st = BERTH_I_POOL_GROW(&s->l->pool, o->words.item, o->words.cap, o->words.n + 1);
    if (s->st == BERTH_OK)
      s->st = BERTH_I_POOL_GROW(&s->l->pool, o->command, o->command_cap, o->words.n + 1);
    if (s->st != BERTH_OK) return;
    o->command[o->words.n] = o->commands;
    o->words.item[o->words.n++] = w->item[i];
  }
}

/* `op`: the character that ended it. */
static void end_command(shell *s, char op) {
  fields *f = &s->cmd;
  for (size_t i = 0; i < f->list.n && s->st == BERTH_OK; i++) clean(s, &f->list.item[i]);
  if (s->st != BERTH_OK) return;
  if (f->list.n && s->collecting) {
    s->condition = combine(s->condition, s->joined, evaluate(f->list.item, f->list.n));
    s->joined = op == '&' || op == '|' ? op : 0;
  } else if (f->list.n && active(s)) store(s);
  f->list.n = 0;
  s->declares = s->in_test = false;
}

static void push_frame(shell *s, bool branches) {
  if (s->n_frames == MOST_FRAMES) {
    fail(s, "conditions are nested too deeply");
    return;
  }
  bool outer = active(s);
  s->frames[s->n_frames++] = (frame){ .branches = branches, .outer = outer, .unknown = !branches,
                                      .begin = s->p, .line = s->line };
}

static void pop_frame(shell *s) {
  const frame *x = &s->frames[--s->n_frames];
  bool flags = false;
  for (const char *p = x->begin; p + 2 < s->p && !flags; p++)
    flags = p[0] == '-' && p[1] == '-' && is_name(p[2]) && p[-1] != '-' && !is_name(p[-1]);
  if (flags && x->unknown && x->outer)
    berth_i_launch_note(s->l, "line %d: flags within %s are left out", (int)x->line,
                        x->branches ? "a condition that the file does not decide"
                                    : "a loop or case");
}

static void begin_branch(shell *s, bool holds) {
  frame *x = &s->frames[s->n_frames - 1];
  x->active = x->outer && holds && !x->taken;
  x->taken |= holds;
}

/* @return whether it was one */
static bool keyword(shell *s, const char *w, size_t n) {
  static const char *const words[] = { "if", "elif", "then", "else", "fi", "for", "while", "until",
                                       "select", "case", "done", "esac", "do", "{", "}", "!",
                                       "function", NULL };
  int k = 0;
  while (words[k] && !(strlen(words[k]) == n && strncmp(words[k], w, n) == 0)) k++;
  bool branches = s->n_frames && s->frames[s->n_frames - 1].branches;
  bool loop = s->n_frames && !s->frames[s->n_frames - 1].branches;
  if (k == 15) return !s->collecting; /* in a condition "!" is a word */
  if (k == 0) push_frame(s, true);
  if (k == 1 && branches) s->frames[s->n_frames - 1].active = false;
  if (k == 0 || (k == 1 && branches)) {
    s->collecting = s->frames[s->n_frames - 1].outer;
    s->condition = UNKNOWN;
    s->joined = 0;
  }
  if (k == 2 && branches) {
    frame *x = &s->frames[s->n_frames - 1];
    if (s->collecting && s->condition == UNKNOWN && !x->taken) x->unknown = x->taken = true;
    begin_branch(s, s->collecting && s->condition == YES);
    s->collecting = false;
  }
  if (k == 3 && branches) begin_branch(s, true);
  if ((k == 4 && branches) || ((k == 10 || k == 11) && loop)) pop_frame(s);
  if (k >= 5 && k <= 9) push_frame(s, false);
  return words[k] != NULL;
}

/* NAME=, NAME+= or NAME[...]=: behind the sign; NULL: no assignment. */
static const char *assigned(const char *p, const char *end, size_t *name, bool *adds) {
  const char *q = p;
  while (q < end && is_name(*q)) q++;
  *name = (size_t)(q - p);
  *adds = q < end && *q == '+';
  q += *adds;
  return *name && !is_digit(*p) && q < end && *q == '=' ? q + 1 : NULL;
}

static void skip_comment(shell *s) { while (s->p < s->end && *s->p != '\n') s->p++; }

/* Words up to ')', at '('. */
static void read_array(shell *s, variable *v) {
  fields f = { .at = s->line };
  bool live = active(s) && v;
  for (s->p++; s->st == BERTH_OK;) {
    while (s->p < s->end && (is_blank(*s->p) || *s->p == '\n')) s->line += *s->p++ == '\n';
    if (s->p < s->end && *s->p == '#') {
      skip_comment(s);
      continue;
    }
    if (s->p >= s->end) fail(s, "an array has no ')'");
    if (s->p >= s->end || *s->p == ')') break;
    const char *from = s->p;
    f.at = s->line;
    while (s->p && s->p < s->end && !is_blank(*s->p) && *s->p != '\n' && *s->p != ')')
      s->p = skip_unit(s->p, s->end, false, 0);
    if (!s->p) {
      s->p = s->end;
      fail(s, "a quote or bracket is not closed");
      break;
    }
    if (live) {
      expand(s, &f, from, s->p, false, 0);
      close_field(s, &f);
    }
    for (const char *c = from; c < s->p; c++) s->line += *c == '\n';
  }
  s->p += s->p < s->end;
  if (!live || s->st != BERTH_OK) return;
  s->st = BERTH_I_POOL_GROW(&s->l->pool, v->item, v->cap, v->n + f.list.n);
  if (s->st == BERTH_OK && f.list.n)
    memcpy(v->item + v->n, f.list.item, f.list.n * sizeof *v->item);
  if (s->st == BERTH_OK) v->n += f.list.n;
}

/* One word, as a scalar. */
static void assign(shell *s, variable *v, const char *from, const char *to, bool adds) {
  fields f = { .at = s->line, .whole = true };
  if (adds && v->n) {
    put_value(s, &f, &v->item[0], true);
    f.line = v->item[0].line;
    int32_t at = f.line;
    for (const char *c = v->item[0].text; *c; c++)
      at += *c == '\n' || *c == CONTINUED || *c == LATER;
    for (; at < s->line; at++) put(s, &f, LATER);
  }
  expand(s, &f, from, to, false, 0);
  open_field(&f);
  close_field(s, &f);
  if (s->st == BERTH_OK) s->st = BERTH_I_POOL_GROW(&s->l->pool, v->item, v->cap, 1);
  if (s->st != BERTH_OK) return;
  v->item[0] = f.list.item[0];
  v->n = 1;
}

static bool starts_declaration(const char *w, size_t n) {
  static const char *const words[] = { "export", "declare", "local", "readonly", "typeset", NULL };
  for (int k = 0; words[k]; k++)
    if (strlen(words[k]) == n && strncmp(words[k], w, n) == 0) return true;
  return false;
}

/* An operator within [[ ]], which is a word there. */
static const char *operator_end(const char *p, const char *end) {
  return p + 1 < end && p[1] == p[0] ? p + 2 : p + 1;
}

static void read_word(shell *s) {
  const char *from = s->p, *p = s->p;
  bool first = s->cmd.list.n == 0;
  if (s->in_test && strchr("&|()<>", *p)) p = operator_end(p, s->end);
  else
    while (p && p < s->end && !strchr(" \t\r\n;&|()<>", *p)) p = skip_unit(p, s->end, false, 0);
  if (!p) {
    fail(s, "a quote or bracket is not closed");
    return;
  }
  s->p = p;
  size_t n = (size_t)(p - from), name;
  bool adds;
  if (first && !s->declares && keyword(s, from, n)) return;
  const char *value = first || s->declares ? assigned(from, p, &name, &adds) : NULL;
  if (value) {
    variable *v = active(s) ? make(s, from, name) : NULL;
    bool array = value == p && p < s->end && *p == '(';
    if (v && array && !adds) v->n = 0;
    if (array) read_array(s, v);
    else if (v) assign(s, v, value, p, adds);
  } else if (first && starts_declaration(from, n)) s->declares = true;
  else if (!s->declares && (active(s) || s->collecting)) {
    if (n == 2 && strncmp(from, "[[", 2) == 0) s->in_test = true;
    if (n == 2 && strncmp(from, "]]", 2) == 0) s->in_test = false;
    s->cmd.at = s->line;
    expand(s, &s->cmd, from, p, false, 0);
    close_field(s, &s->cmd);
  }
  if (!value || s->p == p)
    for (const char *c = from; c < p; c++) s->line += *c == '\n';
}

/* ---- the file ---- */

/* At '<' or '>'; the name behind it is read as a word, which does no harm. */
static void redirect(shell *s) {
  bool here = s->p + 1 < s->end && s->p[0] == '<' && s->p[1] == '<';
  if (here && s->p + 2 < s->end && s->p[2] != '<') {
    s->p += 2;
    while (s->p < s->end && (is_blank(*s->p) || strchr("-'\"\\", *s->p))) s->p++;
    s->heredoc = s->p;
    while (s->p < s->end && is_name(*s->p)) s->p++;
    s->heredoc_len = (size_t)(s->p - s->heredoc);
    while (s->p < s->end && strchr("'\"", *s->p)) s->p++;
    return;
  }
  while (s->p < s->end && strchr("<>&", *s->p)) s->p++;
}

/* Behind the line end: up to the line that ends a here-document. */
static void skip_heredoc(shell *s) {
  const char *word = s->heredoc;
  size_t n = s->heredoc_len;
  s->heredoc = NULL;
  while (n && s->p < s->end) {
    const char *from = s->p;
    while (from < s->end && *from == '\t') from++;
    skip_comment(s);
    bool last = (size_t)(s->p - from) == n && strncmp(from, word, n) == 0;
    s->p += s->p < s->end;
    s->line++;
    if (last) return;
  }
}

static void read_script(shell *s) {
  while (s->p < s->end && s->st == BERTH_OK) {
    char c = *s->p;
    if (is_blank(c)) s->p++;
    else if (c == '\\' && s->p + 1 < s->end && s->p[1] == '\n') {
      s->p += 2;
      s->line++;
    } else if (c == '\\' && s->p + 2 < s->end && s->p[1] == '\r' && s->p[2] == '\n') {
      s->p += 3;
      s->line++;
    } else if (c == '#' && strncmp(s->p, "#SBATCH", 7) != 0) skip_comment(s);
    else if (c == '\n') {
      end_command(s, c);
      s->p++;
      s->line++;
      if (s->heredoc) skip_heredoc(s);
    } else if (c == '&' && s->p + 1 < s->end && s->p[1] == '>') redirect(s);
    else if (strchr(";&|()", c) && !s->in_test) {
      end_command(s, c);
      s->p++;
    } else if (strchr("<>", c) && !s->in_test) redirect(s);
    else if (s->in_test && c == ';') s->p++;
    else read_word(s);
  }
  end_command(s, '\n');
}

berth_status berth_i_shell_read(berth_llm_launch *l, berth_i_shell *out) {
  shell *s = berth_i_pool_zalloc(&l->pool, 1, sizeof *s);
  if (!s) return berth_i_pool_status(&l->pool);
  s->l = l;
  s->out = out;
  s->p = l->text;
  s->end = l->text + l->len;
  s->line = 1;
  s->budget = MOST_TEXT;
  *out = (berth_i_shell){ .commands = 0 };
  read_script(s);
  return s->st == BERTH_OK ? berth_i_pool_status(&l->pool) : s->st;
}
