/* Facts of launch files: checks of settings against their rows, messages, and the options and
 * shapes that facts are. */
#include "launch_internal.h"
#include <stdio.h>

enum { MOST_NOTES = 1000 };

/* ---- names of facts ---- */

/* Facts that are options of the plan, and shapes of the model, under their own names. */
static const char *const plan_key[N_FACTS] = {
  [F_TP] = "tp", [F_CP] = "cp", [F_PP] = "pp", [F_EP] = "ep", [F_ETP] = "etp",
  [F_VP] = "vp", [F_MICRO] = "micro_batch",
  [F_GLOBAL] = "global_batch", [F_SEQ] = "seq", [F_ZERO] = "zero", [F_RESHARD] = "reshard",
  [F_RECOMPUTE] = "recompute", [F_OFFLOAD] = "offload", [F_OPTIMIZER] = "optimizer",
  [F_GRADIENTS] = "gradients", [F_DTYPE] = "dtype"
};
static const char *const shape_key[N_FACTS] = {
  [F_LAYERS] = "layers", [F_HIDDEN] = "hidden", [F_HEADS] = "heads", [F_HEAD_DIM] = "head_dim",
  [F_FFN] = "ffn", [F_VOCAB] = "vocab", [F_EXPERTS] = "experts", [F_TOP] = "top",
  [F_EXPERT_FFN] = "expert_ffn", [F_SHARED_FFN] = "shared_ffn"
};

static const berth_option *option_of(const char *key, int *row) {
  const berth_option *first = berth_llm_plan_option_table()->options;
  const berth_option *o = berth_option_find(berth_llm_plan_option_table(), key);
  if (row) *row = (int)(o - first);
  return o;
}

/* ---- messages ---- */

/* A value as messages show it, cut. */
static void shown(const char *value, char *buf, size_t size) {
  snprintf(buf, size, "%.*s%s", 60, value, strlen(value) > 60 ? "..." : "");
}

static berth_status fail_at(const berth_llm_launch *l, int32_t line, const char *setting,
                            const char *value, const char *reason, va_list args) {
  char why[240], text[80];
  berth_vsnprintf(why, sizeof why, reason, args);
  shown(value, text, sizeof text);
  return berth_i_fail(l->pool.ctx, BERTH_EPARSE, "%s:%d: %s%s%s: %s", l->name, (int)line, setting,
                      *text ? " " : "", text, why);
}

berth_status berth_i_launch_fail(const berth_llm_launch *l, int32_t line, const char *setting,
                                 const char *value, const char *reason, ...) {
  va_list args;
  va_start(args, reason);
  berth_status st = fail_at(l, line, setting, value, reason, args);
  va_end(args);
  return st;
}

berth_status berth_i_fact_fail(const berth_llm_launch *l, berth_i_fact_id id, const char *reason,
                               ...) {
  const berth_i_fact *f = &l->fact[id];
  va_list args;
  va_start(args, reason);
  berth_status st = fail_at(l, f->line, f->name, f->text, reason, args);
  va_end(args);
  return st;
}

void berth_i_launch_note(berth_llm_launch *l, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *copy = berth_i_pool_strdup(&l->pool, text);
  size_t n = (size_t)l->n_notes;
  if (!copy || n >= MOST_NOTES) return;
  if (BERTH_I_POOL_GROW(&l->pool, l->note, l->notes_cap, n + 1) == BERTH_OK)
    l->note[l->n_notes++] = copy;
  else l->pool.refused = true; /* growing does not mark it */
}

void berth_i_launch_strange(berth_llm_launch *l, const char *name) {
  size_t n = strlen(l->strange);
  if (n > 300 || strstr(l->strange, name)) return;
  char *text = berth_i_pool_alloc(&l->pool, n + strlen(name) + 3, 1);
  if (!text) return;
  snprintf(text, n + strlen(name) + 3, "%s%s%s", l->strange, n ? ", " : "", name);
  l->strange = text;
}

const char *berth_i_launch_copy(berth_llm_launch *l, const char *text, size_t n) {
  char *copy = berth_i_pool_alloc(&l->pool, n + 1, 1);
  if (!copy) return "";
  memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

/* ---- settings ---- */

bool berth_i_listed(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; *p; p += strspn(p, " ")) {
    size_t k = strcspn(p, " ");
    if (k > 1 && p[k - 1] == '*' && n >= k - 1 && strncmp(p, word, k - 1) == 0) return true;
    if (k == n && strncmp(p, word, n) == 0) return true;
    p += k;
  }
  return false;
}

const berth_i_setting *berth_i_setting_find(const berth_i_setting *table, const char *name) {
  for (const berth_i_setting *s = table; s->name; s++)
    if (strcmp(s->name, name) == 0) return s;
  return NULL;
}

static bool whole_of(const berth_i_value *v, double *out) {
  *out = v->number;
  if (v->kind == BERTH_I_VALUE_NUMBER) return v->number == floor(v->number);
  const char *p = v->text + (*v->text == '-' || *v->text == '+');
  double x = 0;
  if (v->kind != BERTH_I_VALUE_ARGUMENT || !*p || strlen(p) > 15) return false;
  for (; *p >= '0' && *p <= '9'; p++) x = 10 * x + (*p - '0');
  *out = *v->text == '-' ? -x : x;
  return *p == '\0';
}

bool berth_i_launch_real(const berth_llm_launch *l, const char *text, double *out) {
  bool bare = false, minus = *text == '-';
  text += minus || *text == '+';
  berth_ctx *ctx = l->pool.ctx;
  if (!*text || berth_i_quantity_or_number(ctx, text, BERTH_SECONDS, &bare, out) != BERTH_OK)
    return false;
  if (minus) *out = -*out;
  return bare && !isinf(*out);
}

static bool real_of(const berth_llm_launch *l, const berth_i_value *v, double *out) {
  *out = v->number;
  if (v->kind == BERTH_I_VALUE_NUMBER) return !isnan(v->number) && !isinf(v->number);
  return v->kind == BERTH_I_VALUE_ARGUMENT && berth_i_launch_real(l, v->text, out);
}

static berth_status store_number(const berth_llm_launch *l, const berth_i_setting *row,
                                 const berth_i_value *v, int32_t line, double *out) {
  double low = row->low, high = row->high;
  const char *key = plan_key[row->fact];
  const berth_option *o = key ? option_of(key, NULL) : NULL;
  if (!o && (key = shape_key[row->fact]) != NULL)
    o = berth_option_find(berth_llm_shapes_option_table(), key);
  if (o && high == 0) {
    low = o->low > 0 ? o->low : row->low;
    high = o->high;
  }
  if (high == 0) high = 1e9;
  if (row->kind == BERTH_I_REAL) {
    if (!real_of(l, v, out)) return berth_i_launch_fail(l, line, row->name, v->text,
                                                        "is not a number");
  } else if (!whole_of(v, out))
    return berth_i_launch_fail(l, line, row->name, v->text, "is not a whole number");
  if (*out >= low && *out <= high) return BERTH_OK;
  return berth_i_launch_fail(l, line, row->name, v->text, "is not from %.10g to %.10g", low, high);
}

static bool same(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char x = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];
    char y = b[i] >= 'A' && b[i] <= 'Z' ? (char)(b[i] + 32) : b[i];
    if (x != y) return false;
  }
  return true;
}

/* The word of the list that is v, as the plan has it; "": plans do not have it. Case does not
 * count, since frameworks differ in it.  @return NULL: none */
static const char *word_of(berth_llm_launch *l, const berth_i_setting *row, const char *text,
                           double *index) {
  size_t n = strlen(text);
  *index = 0;
  for (const char *p = row->words; *p; p += strspn(p, " "), ++*index) {
    size_t k = strcspn(p, " "), name = strcspn(p, "= ");
    if (name == n && same(p, text, n))
      return name < k ? berth_i_launch_copy(l, p + name + 1, k - name - 1)
                      : berth_i_launch_copy(l, p, k);
    p += k;
  }
  return NULL;
}

/* "1F1B, GPipe" of "1F1B=1f1b GPipe=gpipe" */
static void legal_words(const char *words, char *buf, size_t size) {
  size_t used = 0;
  for (const char *p = words; *p && used + 2 < size; p += strspn(p, " ")) {
    int name = (int)strcspn(p, "= ");
    int n = snprintf(buf + used, size - used, "%s%.*s", used ? ", " : "", name, p);
    used += n > 0 ? (size_t)n : 0;
    p += strcspn(p, " ");
  }
}

static berth_status store_word(berth_llm_launch *l, const berth_i_setting *row,
                               const berth_i_value *v, int32_t line, berth_i_fact *f) {
  char legal[200] = "";
  f->text = v->kind == BERTH_I_VALUE_ARGUMENT || v->kind == BERTH_I_VALUE_STRING
                ? word_of(l, row, v->text, &f->number) : NULL;
  if (!f->text && berth_i_listed(row->words, "*")) f->text = "";
  if (!f->text) {
    legal_words(row->words, legal, sizeof legal);
    return berth_i_launch_fail(l, line, row->name, v->text, "is none of: %s", legal);
  }
  if (!*f->text) {
    berth_i_launch_note(l, "line %d: %s %s: plans do not have it; left open", (int)line, row->name,
                        v->text);
    f->text = NULL;
  } else if (plan_key[row->fact] || row->fact == F_SCHEDULE) {
    const berth_option *o = option_of(plan_key[row->fact] ? plan_key[row->fact] : "schedule", NULL);
    f->number = o->first + berth_choice_find(o->choices, f->text);
  }
  return BERTH_OK;
}

static bool truth_of(const berth_i_value *v, double *out) {
  *out = v->number;
  if (v->kind == BERTH_I_VALUE_BOOL) return true;
  *out = 1;
  if (v->kind != BERTH_I_VALUE_ARGUMENT) return false;
  if (strcmp(v->text, "true") == 0 || strcmp(v->text, "True") == 0) return true;
  *out = 0;
  return strcmp(v->text, "false") == 0 || strcmp(v->text, "False") == 0;
}

/* Of what plans do not have: whether the value says that there is none of it. */
static bool says_none(const berth_i_setting *row, const berth_i_value *v) {
  if (row->kind == BERTH_I_SWITCH || row->kind == BERTH_I_UNSWITCH) return false;
  return berth_i_listed("0 1 none false False null off no 0.0 1.0 []", v->text) || !*v->text
         || (row->words && berth_i_listed(row->words, v->text));
}

berth_status berth_i_setting_store(berth_llm_launch *l, const berth_i_setting *row,
                                   const berth_i_value *v, int32_t line) {
  berth_i_fact f = { 0, v->text, row->name, line };
  berth_status st = BERTH_OK;
  switch (row->kind) {
  case BERTH_I_SWITCH: case BERTH_I_UNSWITCH: f.number = row->kind == BERTH_I_SWITCH; break;
  case BERTH_I_WHOLE: case BERTH_I_REAL: st = store_number(l, row, v, line, &f.number); break;
  case BERTH_I_WORD: st = store_word(l, row, v, line, &f); break;
  case BERTH_I_BOOL:
    if (!truth_of(v, &f.number))
      st = berth_i_launch_fail(l, line, row->name, v->text, "is neither true nor false");
    break;
  default:
    if (row->fact && v->kind == BERTH_I_VALUE_NUMBER)
      st = berth_i_launch_fail(l, line, row->name, v->text, "is not a text");
    break;
  }
  if (st != BERTH_OK) return st;
  if (row->note && !says_none(row, v))
    berth_i_launch_note(l, "line %d: %s%s%s: %s", (int)line, row->name, *v->text ? " " : "",
                        row->kind == BERTH_I_SWITCH ? "" : v->text, row->note);
  l->settings += row->fact != BERTH_I_NO_FACT;
  if (row->fact) l->fact[row->fact] = f;
  return BERTH_OK;
}

/* ---- plans and shapes ---- */

bool berth_i_planned_has(const berth_i_planned *p, const char *key) {
  int row;
  option_of(key, &row);
  return (p->given >> row & 1) != 0;
}

static void set_source(const berth_i_planned *p, int row, berth_i_fact_id from) {
  char text[160];
  if (!p->source) return;
  if (from) snprintf(text, sizeof text, "%s, line %d", p->l->fact[from].name,
                     (int)p->l->fact[from].line);
  else snprintf(text, sizeof text, "default of %s", p->l->format->about.title);
  p->source[row] = berth_i_pool_strdup(&p->l->pool, text);
}

void berth_i_planned_set(berth_i_planned *p, const char *key, double value, berth_i_fact_id from) {
  int row;
  const berth_option *o = option_of(key, &row);
  if (p->given >> row & 1) return;
  void *at = (char *)p->plan + o->offset;
  if (o->type == BERTH_OPTION_WHOLE) *(int32_t *)at = (int32_t)value;
  else *(int *)at = (int)value;
  p->given |= (uint64_t)1 << row;
  set_source(p, row, from);
}

void berth_i_planned_switch(berth_i_planned *p, const char *key, bool on, berth_i_fact_id from) {
  bool choice = option_of(key, NULL)->type == BERTH_OPTION_CHOICE;
  berth_i_planned_set(p, key, !choice ? on : on ? BERTH_LLM_ON : BERTH_LLM_OFF, from);
}

void berth_i_planned_stages(berth_i_planned *p, int32_t *stages, int32_t n, berth_i_fact_id from) {
  int row;
  option_of("stages", &row);
  p->plan->stages = stages;
  p->plan->n_stages = n;
  p->given |= (uint64_t)1 << row;
  set_source(p, row, from);
}

void berth_i_facts_to_plan(berth_i_planned *p) {
  for (int i = 0; i < N_FACTS; i++)
    if (plan_key[i] && p->l->fact[i].text)
      berth_i_planned_set(p, plan_key[i], p->l->fact[i].number, (berth_i_fact_id)i);
}

void berth_i_facts_to_shapes(berth_llm_launch *l) {
  l->shapes = berth_llm_shapes_default();
  for (int i = 0; i < N_FACTS; i++) {
    if (!shape_key[i] || !l->fact[i].text) continue;
    const berth_option *o = berth_option_find(berth_llm_shapes_option_table(), shape_key[i]);
    *(int32_t *)((char *)&l->shapes + o->offset) = (int32_t)l->fact[i].number;
  }
}
