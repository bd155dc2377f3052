/* The text of an export in the making. */
#include "export_internal.h"
#include <stdio.h>

/* ---- text ---- */

static void fail(berth_llm_exported *e, berth_status st) {
  if (e->st == BERTH_OK) e->st = st;
}

static void put(berth_llm_exported *e, const char *text, size_t n) {
  if (e->st != BERTH_OK) return;
  fail(e, BERTH_I_POOL_GROW(&e->pool, e->text, e->cap, e->len + n + 1));
  if (e->st != BERTH_OK) return;
  memcpy(e->text + e->len, text, n);
  e->len += n;
  e->text[e->len] = '\0';
}

void berth_i_put_text(berth_llm_exported *e, const char *format, ...) {
  char line[400];
  va_list args;
  va_start(args, format);
  int n = berth_vsnprintf(line, sizeof line, format, args);
  va_end(args);
  put(e, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void berth_i_put_note(berth_llm_exported *e, const char *format, ...) {
  char line[400];
  va_list args;
  va_start(args, format);
  berth_vsnprintf(line, sizeof line, format, args);
  va_end(args);
  size_t n = (size_t)e->n_notes;
  const char *copy = berth_i_pool_strdup(&e->pool, line);
  if (!copy || BERTH_I_POOL_GROW(&e->pool, e->note, e->notes_cap, n + 1) != BERTH_OK) {
    fail(e, BERTH_ENOMEM);
    return;
  }
  e->note[e->n_notes++] = copy;
  if (e->comment) berth_i_put_text(e, "%s%s\n", e->comment, line);
}

void berth_i_note_framework(berth_llm_exported *e, const char *name) {
  const berth_option *o = berth_option_find(berth_llm_plan_option_table(), "framework");
  const char *own = o->choices[e->p->framework]->name;
  if (strncmp(own, name, strlen(name)) != 0)
    berth_i_put_note(e, "the plan is one of framework %s: memory and time differ", own);
}

void berth_i_refuse_export(berth_llm_exported *e, const char *format, ...) {
  char line[300];
  if (e->st != BERTH_OK) return;
  va_list args;
  va_start(args, format);
  berth_vsnprintf(line, sizeof line, format, args);
  va_end(args);
  fail(e, berth_i_fail(e->pool.ctx, BERTH_EUNSUPPORTED, "%s", line));
}

void berth_i_put_head(berth_llm_exported *e, const char *title) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(e->c, &g);
  berth_i_put_text(e, "# %s, by berth %s: %.60s, %.0f parameters\n# GPUs:", title, berth_version(),
                   e->m->about.name, e->m->about.parameters);
  for (int32_t k = 0; k < n && k < 8; k++)
    berth_i_put_text(e, "%s %d x %.60s", k ? "," : "", (int)g[k].count, g[k].name);
  berth_i_put_text(e, "; tp %d, cp %d, pp %d, dp %d\n", (int)e->p->tp, (int)e->p->cp,
                   (int)e->p->pp, (int)e->p->dp);
}

/* ---- the split of the layers ---- */

const int32_t *berth_i_put_stages(berth_llm_exported *e) {
  int32_t n = e->p->pp * e->p->vp;
  int32_t *count = berth_i_pool_alloc(&e->pool, (size_t)n, sizeof *count);
  int32_t *at = count ? berth_i_llm_starts(e->pool.ctx, e->m, e->p) : NULL;
  if (!at) {
    fail(e, BERTH_ENOMEM);
    return NULL;
  }
  for (int32_t c = 0; c < n; c++) count[c] = at[c + 1] - at[c];
  berth_i_free(e->pool.ctx, at, (size_t)n + 1, sizeof *at);
  return count;
}

bool berth_i_is_even(const berth_llm_exported *e, const int32_t *stages) {
  for (int32_t c = 1; c < e->p->pp * e->p->vp; c++)
    if (stages[c] != stages[0]) return false;
  return true;
}
