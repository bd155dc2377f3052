/* From a plan to the file that launches it. */
#include "export_internal.h"

berth_status berth_llm_export(const berth_llm *m, const berth_llm_cluster *c,
                              const berth_llm_plan *plan, const char *format,
                              berth_llm_exported **out) {
  if (!m || !c || !plan || !format || !out) return BERTH_EINVAL;
  berth_ctx *ctx = m->pool.ctx;
  berth_llm_plan p = *plan;
  const berth_i_llm_format *f = berth_i_llm_format_find(format);
  if (!f || !f->write)
    return berth_i_fail(ctx, BERTH_EINVAL, "format \"%s\" is none that is written", format);
  berth_status st = berth_llm_plan_fill(m, c, &p);
  if (st != BERTH_OK) return st;
  berth_llm_exported *e = berth_i_pool_object(ctx, sizeof *e);
  if (!e) return berth_i_nomem(ctx);
  e->m = m;
  e->c = c;
  e->p = &p;
  if (p.training == BERTH_LLM_LORA)
    berth_i_refuse_export(e, "training lora: adapters are in the code of a fine-tuning library, "
                          "not in files of %s", f->about.title);
  f->write(e);
  if (e->st == BERTH_OK) e->st = berth_i_pool_status(&e->pool);
  e->m = NULL;
  e->c = NULL;
  e->p = NULL;
  if ((st = e->st) == BERTH_OK) *out = e;
  else berth_llm_exported_release(e);
  return st;
}

void berth_llm_exported_release(berth_llm_exported *e) {
  if (e) berth_i_pool_free(&e->pool);
}

const char *berth_llm_exported_text(const berth_llm_exported *e, size_t *len) {
  if (len) *len = e->len;
  return e->text;
}

int32_t berth_llm_exported_notes(const berth_llm_exported *e, const char *const **notes) {
  *notes = e->note;
  return e->n_notes;
}
