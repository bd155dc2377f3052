/* Commands of a shell script: assignments, arrays, comments, here-documents, conditions of tests.
 * Nothing is run. In a test a variable that is not set is empty. Loops, `case`, and branches of
 * conditions that are not tests are passed over, with a note if they have flags. */
#include "shell_internal.h"

enum { MOST_BYTES = 4 << 20, MOST_FRAMES = 100 };

typedef enum truth { NO, YES, UNKNOWN } truth;

typedef struct frame {
  bool branches;      /* if; else a loop or case */
  bool active, taken, unknown, outer;
  const char *begin;
  int32_t line;
} frame;

typedef struct shell {
  berth_i_expander x;
  berth_i_shell *out;
  const char *p, *end;
  frame frames[MOST_FRAMES];
  int n_frames;
  berth_i_fields cmd;         /* words of the command */
  bool declares;      /* export and its like: words are assignments */
  bool in_test;       /* within [[ ]] */
  bool collecting;    /* the condition of an if */
  truth condition;
  char joined;        /* '&' or '|': how it is combined with the next one; 0 */
  const char *heredoc;
  size_t heredoc_len;
  bool flags;         /* the last command began with "--" */
} shell;

/* ---- tests ---- */

static truth compare(const berth_i_word *a, const char *op, const berth_i_word *b) {
  static const char *const ops[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge" };
  if (strcmp(op, "=") == 0 || strcmp(op, "==") == 0)
    return strpbrk(b->text, "*?[") ? UNKNOWN : strcmp(a->text, b->text) == 0 ? YES : NO;
  if (strcmp(op, "!=") == 0)
    return strpbrk(b->text, "*?[") ? UNKNOWN : strcmp(a->text, b->text) != 0 ? YES : NO;
  bool known = true;
  double x = berth_i_shell_whole(a->text, &known), y = berth_i_shell_whole(b->text, &known);
  const bool holds[] = { x == y, x != y, x < y, x <= y, x > y, x >= y };
  for (int i = 0; i < 6; i++)
    if (strcmp(op, ops[i]) == 0) return !known ? UNKNOWN : holds[i] ? YES : NO;
  return UNKNOWN;
}

/* A variable that is not set is empty; what a command prints is not known. */
static bool is_open(const berth_i_word *w) { return w->unknown && !berth_i_is_name(w->unknown[1])
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

static void store(shell *s) {
  berth_i_shell *o = s->out;
  const berth_i_words *w = &s->cmd.list;
  bool flags = w->n && strncmp(w->item[0].text, "--", 2) == 0;
  if (!(flags && s->flags)) o->commands++;
  s->flags = flags;
  for (size_t i = 0; i < w->n && s->x.st == BERTH_OK; i++) {
    s->x.st = BERTH_I_POOL_GROW(&s->x.l->pool, o->words.item, o->words.cap, o->words.n + 1);
    if (s->x.st == BERTH_OK)
      s->x.st = BERTH_I_POOL_GROW(&s->x.l->pool, o->command, o->command_cap, o->words.n + 1);
    if (s->x.st != BERTH_OK) return;
    o->command[o->words.n] = o->commands;
    o->words.item[o->words.n++] = w->item[i];
  }
}

/* `op`: the character that ended it. */
static void end_command(shell *s, char op) {
  berth_i_fields *f = &s->cmd;
  for (size_t i = 0; i < f->list.n && s->x.st == BERTH_OK; i++)
    berth_i_shell_clean(&s->x, &f->list.item[i]);
  if (s->x.st != BERTH_OK) return;
  if (f->list.n && s->collecting) {
    s->condition = combine(s->condition, s->joined, evaluate(f->list.item, f->list.n));
    s->joined = op == '&' || op == '|' ? op : 0;
  } else if (f->list.n && active(s)) store(s);
  f->list.n = 0;
  s->declares = s->in_test = false;
}

static void push_frame(shell *s, bool branches) {
  if (s->n_frames == MOST_FRAMES) {
    berth_i_shell_fail(&s->x, "conditions are nested too deeply");
    return;
  }
  bool outer = active(s);
  s->frames[s->n_frames++] = (frame){ .branches = branches, .outer = outer, .unknown = !branches,
                                      .begin = s->p, .line = s->x.line };
}

static void pop_frame(shell *s) {
  const frame *x = &s->frames[--s->n_frames];
  bool flags = false;
  for (const char *p = x->begin; p + 2 < s->p && !flags; p++)
    flags = p[0] == '-' && p[1] == '-' && p[-1] != '-' && berth_i_is_name(p[2])
            && !berth_i_is_name(p[-1]);
  if (flags && x->unknown && x->outer)
    berth_i_launch_note(s->x.l, "line %d: flags within %s are left out", (int)x->line,
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
  while (q < end && berth_i_is_name(*q)) q++;
  *name = (size_t)(q - p);
  *adds = q < end && *q == '+';
  q += *adds;
  return *name && !berth_i_is_digit(*p) && q < end && *q == '=' ? q + 1 : NULL;
}

static void skip_comment(shell *s) { while (s->p < s->end && *s->p != '\n') s->p++; }

/* Words up to ')', at '('. */
static void read_array(shell *s, berth_i_variable *v) {
  berth_i_fields f = { .at = s->x.line };
  bool live = active(s) && v;
  for (s->p++; s->x.st == BERTH_OK;) {
    while (s->p < s->end && (berth_i_is_blank(*s->p) || *s->p == '\n'))
      s->x.line += *s->p++ == '\n';
    if (s->p < s->end && *s->p == '#') {
      skip_comment(s);
      continue;
    }
    if (s->p >= s->end) berth_i_shell_fail(&s->x, "an array has no ')'");
    if (s->p >= s->end || *s->p == ')') break;
    const char *from = s->p;
    f.at = s->x.line;
    while (s->p && s->p < s->end && !berth_i_is_blank(*s->p) && *s->p != '\n' && *s->p != ')')
      s->p = berth_i_skip_unit(s->p, s->end, false, 0);
    if (!s->p) {
      s->p = s->end;
      berth_i_shell_fail(&s->x, "a quote or bracket is not closed");
      break;
    }
    if (live) {
      berth_i_expand(&s->x, &f, from, s->p, false, 0);
      berth_i_close_word(&s->x, &f);
    }
    for (const char *c = from; c < s->p; c++) s->x.line += *c == '\n';
  }
  s->p += s->p < s->end;
  if (!live || s->x.st != BERTH_OK) return;
  s->x.st = BERTH_I_POOL_GROW(&s->x.l->pool, v->item, v->cap, v->n + f.list.n);
  if (s->x.st == BERTH_OK && f.list.n)
    memcpy(v->item + v->n, f.list.item, f.list.n * sizeof *v->item);
  if (s->x.st == BERTH_OK) v->n += f.list.n;
}

/* One word, as a scalar. */
static void assign(shell *s, berth_i_variable *v, const char *from, const char *to, bool adds) {
  berth_i_fields f = { .at = s->x.line, .whole = true };
  if (adds && v->n) {
    berth_i_put_value(&s->x, &f, &v->item[0], true);
    f.line = v->item[0].line;
    int32_t at = f.line;
    for (const char *c = v->item[0].text; *c; c++)
      at += *c == '\n' || *c == BERTH_I_SHELL_CONTINUED || *c == BERTH_I_SHELL_LATER;
    for (; at < s->x.line; at++) berth_i_put_char(&s->x, &f, BERTH_I_SHELL_LATER);
  }
  berth_i_expand(&s->x, &f, from, to, false, 0);
  berth_i_open_word(&f);
  berth_i_close_word(&s->x, &f);
  if (s->x.st == BERTH_OK) s->x.st = BERTH_I_POOL_GROW(&s->x.l->pool, v->item, v->cap, 1);
  if (s->x.st != BERTH_OK) return;
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

/* A list of flags alone, where layouts need no quotes. */
static bool in_flags(const shell *s) {
  return s->cmd.list.n && strncmp(s->cmd.list.item[0].text, "--", 2) == 0;
}

static void read_word(shell *s) {
  const char *from = s->p, *p = s->p;
  bool first = s->cmd.list.n == 0;
  const char *stops = in_flags(s) ? " \t\r\n" : " \t\r\n;&|()<>";
  if (s->in_test && strchr("&|()<>", *p)) p = operator_end(p, s->end);
  else
    while (p && p < s->end && !strchr(stops, *p)) p = berth_i_skip_unit(p, s->end, false, 0);
  if (!p) {
    berth_i_shell_fail(&s->x, "a quote or bracket is not closed");
    return;
  }
  s->p = p;
  size_t n = (size_t)(p - from), name;
  bool adds;
  if (first && !s->declares && keyword(s, from, n)) return;
  const char *value = first || s->declares ? assigned(from, p, &name, &adds) : NULL;
  if (value) {
    berth_i_variable *v = active(s) ? berth_i_shell_variable(&s->x, from, name) : NULL;
    bool array = value == p && p < s->end && *p == '(';
    if (v && array && !adds) v->n = 0;
    if (array) read_array(s, v);
    else if (v) assign(s, v, value, p, adds);
  } else if (first && starts_declaration(from, n)) s->declares = true;
  else if (!s->declares && (active(s) || s->collecting)) {
    if (n == 2 && strncmp(from, "[[", 2) == 0) s->in_test = true;
    if (n == 2 && strncmp(from, "]]", 2) == 0) s->in_test = false;
    s->cmd.at = s->x.line;
    berth_i_expand(&s->x, &s->cmd, from, p, false, 0);
    berth_i_close_word(&s->x, &s->cmd);
  }
  if (!value || s->p == p)
    for (const char *c = from; c < p; c++) s->x.line += *c == '\n';
}

/* ---- the file ---- */

/* At '<' or '>'; the name behind it is read as a word, which does no harm. */
static void redirect(shell *s) {
  bool here = s->p + 1 < s->end && s->p[0] == '<' && s->p[1] == '<';
  if (here && s->p + 2 < s->end && s->p[2] != '<') {
    s->p += 2;
    while (s->p < s->end && (berth_i_is_blank(*s->p) || strchr("-'\"\\", *s->p))) s->p++;
    s->heredoc = s->p;
    while (s->p < s->end && berth_i_is_name(*s->p)) s->p++;
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
    s->x.line++;
    if (last) return;
  }
}

static void read_script(shell *s) {
  while (s->p < s->end && s->x.st == BERTH_OK) {
    char c = *s->p;
    if (berth_i_is_blank(c)) s->p++;
    else if (c == '\\' && s->p + 1 < s->end && s->p[1] == '\n') {
      s->p += 2;
      s->x.line++;
    } else if (c == '\\' && s->p + 2 < s->end && s->p[1] == '\r' && s->p[2] == '\n') {
      s->p += 3;
      s->x.line++;
    } else if (c == '#' && strncmp(s->p, "#SBATCH", 7) != 0) skip_comment(s);
    else if (c == '\n') {
      end_command(s, c);
      s->p++;
      s->x.line++;
      if (s->heredoc) skip_heredoc(s);
    } else if (in_flags(s)) read_word(s);
    else if (c == '&' && s->p + 1 < s->end && s->p[1] == '>') redirect(s);
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
  s->x.l = l;
  s->out = out;
  s->p = l->text;
  s->end = l->text + l->len;
  s->x.line = 1;
  s->x.budget = MOST_BYTES;
  *out = (berth_i_shell){ .commands = 0 };
  read_script(s);
  return s->x.st == BERTH_OK ? berth_i_pool_status(&l->pool) : s->x.st;
}
