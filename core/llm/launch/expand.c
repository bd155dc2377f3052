/* Words of a shell script, expanded as far as the file alone says.
 *
 * First the raw extent of a word is found (quotes and brackets are skipped as units), then it is
 * expanded into words. A variable that the file does not set, or the output of a command, marks the
 * word as unknown. Texts hold marks, characters that no script has, until berth_i_shell_clean:
 * CONTINUED for a line end that a backslash hides within quotes, and LATER for one between the
 * parts of a variable that was added to, so that words of a variable have their lines; and
 * BEGIN ... END around what is unknown. */
#include "shell_internal.h"

enum { CONTINUED = BERTH_I_SHELL_CONTINUED, LATER = BERTH_I_SHELL_LATER, BEGIN = 3, END,
       BLANK, /* a blank in what is unknown */
       DEEPEST = 50 };

void berth_i_shell_fail(berth_i_expander *x, const char *what) {
  if (x->st == BERTH_OK)
    x->st = berth_i_fail(x->l->pool.ctx, BERTH_EPARSE, "%s:%d: %s", x->l->name, (int)x->line, what);
}

static void *keep(berth_i_expander *x, const void *from, size_t n) {
  char *copy = berth_i_pool_alloc(&x->l->pool, n + 1, 1);
  if (!copy) {
    x->st = berth_i_pool_status(&x->l->pool);
    return NULL;
  }
  memcpy(copy, from, n);
  copy[n] = '\0';
  return copy;
}

/* ---- raw extents ---- */

const char *berth_i_skip_unit(const char *p, const char *end, bool quoted, int depth);

/* Behind the closing character; NULL: it is missing. */
static const char *skip_to(const char *p, const char *end, char close, int depth) {
  while (p && p < end) {
    if (*p == close) return p + 1;
    if (*p == '(' && close == ')') p = depth < DEEPEST ? skip_to(p + 1, end, ')', depth + 1) : NULL;
    else p = berth_i_skip_unit(p, end, close == '"', depth);
  }
  return NULL;
}

/* Behind a character, a quoted text, or an expansion. */
const char *berth_i_skip_unit(const char *p, const char *end, bool quoted, int depth) {
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

void berth_i_put_char(berth_i_expander *x, berth_i_fields *f, char c) {
  if (x->st != BERTH_OK) return;
  if (x->budget == 0) {
    berth_i_shell_fail(x, "the variables are too long");
    return;
  }
  x->budget--;
  if (!f->open) f->line = f->at;
  f->open = true;
  x->st = BERTH_I_POOL_GROW(&x->l->pool, f->text, f->cap, f->n + 1);
  if (x->st == BERTH_OK) f->text[f->n++] = c;
}

void berth_i_open_word(berth_i_fields *f) {
  if (!f->open) f->line = f->at;
  f->open = true;
}

void berth_i_close_word(berth_i_expander *x, berth_i_fields *f) {
  if (!f->open || x->st != BERTH_OK) return;
  const char *text = keep(x, f->n ? f->text : "", f->n);
  if (x->st == BERTH_OK)
    x->st = BERTH_I_POOL_GROW(&x->l->pool, f->list.item, f->list.cap, f->list.n + 1);
  if (x->st != BERTH_OK) return;
  f->list.item[f->list.n++] = (berth_i_word){ text, f->line, NULL };
  f->n = 0;
  f->open = false;
}

static void put_unknown(berth_i_expander *x, berth_i_fields *f, const char *from, const char *to) {
  if (to - from > 40) to = from + 40;
  berth_i_put_char(x, f, BEGIN);
  for (; from < to; from++)
    berth_i_put_char(x, f, (unsigned char)*from <= ' ' ? BLANK : *from);
  berth_i_put_char(x, f, END);
}

/* ---- variables ---- */

static berth_i_variable *find(const berth_i_expander *x, const char *name, size_t n) {
  for (size_t i = 0; i < x->n_vars; i++)
    if (strncmp(x->var[i].name, name, n) == 0 && x->var[i].name[n] == '\0') return &x->var[i];
  return NULL;
}

berth_i_variable *berth_i_shell_variable(berth_i_expander *x, const char *name, size_t n) {
  berth_i_variable *v = find(x, name, n);
  if (v) return v;
  if (x->n_vars > 5000) berth_i_shell_fail(x, "more than 5000 variables");
  const char *copy = keep(x, name, n);
  if (x->st == BERTH_OK)
    x->st = BERTH_I_POOL_GROW(&x->l->pool, x->var, x->vars_cap, x->n_vars + 1);
  if (x->st != BERTH_OK) return NULL;
  x->var[x->n_vars] = (berth_i_variable){ .name = copy };
  return &x->var[x->n_vars++];
}

/* The text of a word of a variable; in an open word, blanks end it unless it is quoted. */
void berth_i_put_value(berth_i_expander *x, berth_i_fields *f, const berth_i_word *w, bool quoted) {
  int32_t at = f->at;
  f->at = w->line;
  if (quoted) berth_i_open_word(f);
  for (const char *c = w->text; *c && x->st == BERTH_OK; c++) {
    bool ends = *c == '\n' || *c == CONTINUED;
    if (!quoted && !f->whole && (ends || berth_i_is_blank(*c))) berth_i_close_word(x, f);
    else if (*c != LATER || f->whole) berth_i_put_char(x, f, *c);
    f->at += ends || *c == LATER;
  }
  f->at = at;
}

static void put_variable(berth_i_expander *x, berth_i_fields *f, const berth_i_variable *v,
                         bool quoted, bool all) {
  for (size_t i = 0; i < v->n && (all || i == 0); i++) {
    if (i && f->whole) berth_i_put_char(x, f, ' ');
    else if (i) berth_i_close_word(x, f);
    berth_i_put_value(x, f, &v->item[i], quoted);
  }
}

/* ---- expansion ---- */

typedef struct sum {
  berth_i_expander *x;
  const char *p, *end;
  bool known;
  int depth;
} sum;

static double choose(sum *a);

static void skip_blanks(sum *a) {
  while (a->p < a->end && (berth_i_is_blank(*a->p) || *a->p == '\n' || *a->p == '$' || *a->p == '{'
                           || *a->p == '}' || *a->p == '"'))
    a->p++;
}

double berth_i_shell_whole(const char *text, bool *known) {
  double x = 0;
  const char *p = text + (*text == '-');
  if (!berth_i_is_digit(*p)) *known = false;
  for (; berth_i_is_digit(*p); p++) x = 10 * x + (*p - '0');
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
    x = choose(a);
    a->depth--;
    skip_blanks(a);
    if (a->p >= a->end || *a->p++ != ')') a->known = false;
  } else {
    while (a->p < a->end && berth_i_is_name(*a->p)) a->p++;
    bool digit = berth_i_is_digit(*from);
    const berth_i_variable *v = digit ? NULL : find(a->x, from, (size_t)(a->p - from));
    char digits[20] = "";
    if (digit && a->p - from < 16) memcpy(digits, from, (size_t)(a->p - from));
    x = berth_i_shell_whole(v && v->n ? v->item[0].text : digits, &a->known);
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

/* Is the operator next? Then it is passed. */
static bool takes(sum *a, const char *op) {
  size_t n = strlen(op);
  skip_blanks(a);
  if ((size_t)(a->end - a->p) < n || strncmp(a->p, op, n) != 0) return false;
  a->p += n;
  return true;
}

static double compare(sum *a) {
  static const char *const ops[] = { "==", "!=", "<=", ">=", "<", ">" };
  double x = add_terms(a);
  for (int i = 0; i < 6; i++) {
    if (!takes(a, ops[i])) continue;
    double y = add_terms(a);
    const bool holds[] = { x == y, x != y, x <= y, x >= y, x < y, x > y };
    return holds[i];
  }
  return x;
}

static double both(sum *a) {
  double x = compare(a);
  while (a->known && takes(a, "&&")) x = (compare(a) != 0) & (x != 0);
  return x;
}

static double either(sum *a) {
  double x = both(a);
  while (a->known && takes(a, "||")) x = (both(a) != 0) | (x != 0);
  return x;
}

/* a ? b : c */
static double choose(sum *a) {
  double x = either(a);
  if (!a->known || !takes(a, "?")) return x;
  if (++a->depth > DEEPEST) a->known = false;
  double yes = a->known ? choose(a) : 0;
  if (!takes(a, ":")) a->known = false;
  double no = a->known ? choose(a) : 0;
  a->depth--;
  return x != 0 ? yes : no;
}

/* $((...)), of which [from, to) is within. */
static void arithmetic(berth_i_expander *x, berth_i_fields *f, const char *begin,
                       const char *from, const char *to) {
  sum a = { x, from, to, true, 0 };
  double value = choose(&a);
  skip_blanks(&a);
  if (!a.known || a.p < a.end || fabs(value) > 1e15) {
    put_unknown(x, f, begin, to);
    return;
  }
  char text[32];
  berth_snprintf(text, sizeof text, "%.0f", value);
  for (const char *c = text; *c; c++) berth_i_put_char(x, f, *c);
}

/* Nothing but a variable that is not set. */
static bool is_empty(const char *text) {
  return !*text || (text[0] == BEGIN && text[1] == '$' && berth_i_is_name(text[2])
                    && strchr(text, END)[1] == '\0');
}

/* ${...}, of which [p, to) is within. */
static void braces(berth_i_expander *x, berth_i_fields *f, const char *p, const char *to,
                   bool quoted, int depth) {
  const char *begin = p, *index = NULL;
  while (p < to && berth_i_is_name(*p)) p++;
  size_t n = (size_t)(p - begin);
  const berth_i_variable *v = find(x, begin, n);
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
    berth_i_expand(x, f, op + 1, to, quoted, depth + 1);
  else if (n && p < to && op < to && *op == '+') {
    if (set) berth_i_expand(x, f, op + 1, to, quoted, depth + 1);
  } else if (n && v && (p == to || (op < to && strchr("-=?", *op)))) {
    size_t k = index && berth_i_is_digit(*index) ? (size_t)(*index - '0') : 0;
    if (index && berth_i_is_digit(*index) && k < v->n) berth_i_put_value(x, f, &v->item[k], quoted);
    else put_variable(x, f, v, quoted, all);
  } else if (!(n && all && p == to)) put_unknown(x, f, begin - 2, to + 1);
}

/* At a '$'.  @return behind it */
static const char *dollar(berth_i_expander *x, berth_i_fields *f, const char *p, const char *end,
                          bool quoted, int depth) {
  const char *next = p + 1, *q = berth_i_skip_unit(p, end, quoted, depth);
  if (!q || next >= end) {
    berth_i_put_char(x, f, '$');
    return next;
  }
  if (*next == '(') {
    if (p[2] == '(' && q - p > 4 && q[-2] == ')') arithmetic(x, f, p, p + 3, q - 2);
    else put_unknown(x, f, p, q);
    return q;
  }
  if (*next == '{') {
    braces(x, f, p + 2, q - 1, quoted, depth);
    return q;
  }
  if (*next == '#') berth_i_put_char(x, f, '0');
  if (strchr("#@*", *next)) return next + 1;
  for (q = next; q < end && berth_i_is_name(*q) && !(berth_i_is_digit(*next) && q > next);) q++;
  if (q == next) {
    berth_i_put_char(x, f, '$');
    return next;
  }
  const berth_i_variable *v = find(x, next, (size_t)(q - next));
  if (v) put_variable(x, f, v, quoted, false);
  else put_unknown(x, f, p, q);
  return q;
}

static const char *escaped(berth_i_expander *x, berth_i_fields *f, const char *p,
                           const char *end, bool quoted) {
  char c = p + 1 < end ? p[1] : '\\';
  if (c == '\n') {
    if (quoted) berth_i_put_char(x, f, CONTINUED);
    f->at++;
  } else {
    if (quoted && !strchr("$`\"\\", c)) berth_i_put_char(x, f, '\\');
    berth_i_put_char(x, f, c);
  }
  return p + 2 < end ? p + 2 : end;
}

void berth_i_expand(berth_i_expander *x, berth_i_fields *f, const char *p, const char *end,
                    bool quoted, int depth) {
  if (depth >= DEEPEST) berth_i_shell_fail(x, "expansions are nested too deeply");
  while (p < end && x->st == BERTH_OK) {
    const char *q = berth_i_skip_unit(p, end, quoted, depth);
    if (*p == '\\') p = escaped(x, f, p, end, quoted);
    else if (*p == '\'' && !quoted && q) {
      berth_i_open_word(f);
      for (p++; p < q - 1; p++) {
        berth_i_put_char(x, f, *p);
        f->at += *p == '\n';
      }
      p = q;
    } else if (*p == '"') {
      size_t words = f->list.n;
      if (!quoted && q) berth_i_expand(x, f, p + 1, q - 1, true, depth + 1);
      /* "" is a word; "${A[@]}" of an empty array is none */
      if (f->list.n == words && !(q && memchr(p, '@', (size_t)(q - p)))) berth_i_open_word(f);
      p = quoted || !q ? p + 1 : q;
    } else if (*p == '`' && q) {
      put_unknown(x, f, p, q);
      p = q;
    } else if (*p == '$') p = dollar(x, f, p, end, quoted, depth);
    else {
      if (!quoted && !f->whole && (berth_i_is_blank(*p) || *p == '\n')) berth_i_close_word(x, f);
      else berth_i_put_char(x, f, *p);
      f->at += *p++ == '\n';
    }
  }
}

/* Takes the marks out. */
void berth_i_shell_clean(berth_i_expander *x, berth_i_word *w) {
  static const char marks[] = { CONTINUED, LATER, BEGIN, '\0' };
  if (!strpbrk(w->text, marks)) return;
  size_t n = strlen(w->text), k = 0;
  char *text = keep(x, w->text, n), *unknown = berth_i_pool_zalloc(&x->l->pool, n + 1, 1);
  if (!text || !unknown) {
    x->st = x->st == BERTH_OK ? berth_i_pool_status(&x->l->pool) : x->st;
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
