/* What the writers of launch files share: a growing text and notes. The first failure stays. */
#ifndef BERTH_LLM_EXPORT_INTERNAL_H
#define BERTH_LLM_EXPORT_INTERNAL_H

#include "launch_internal.h"

struct berth_llm_exported {
  berth_i_pool pool;
  const berth_llm *m;
  const berth_llm_cluster *c;
  const berth_llm_plan *p;  /* filled */
  const char *comment;      /* begin of a comment's line; NULL: the format has none */
  char *text;
  size_t len, cap;
  const char **note;
  size_t notes_cap;
  int32_t n_notes;
  berth_status st;
};

static inline bool berth_i_llm_has_experts(const berth_llm_exported *e) {
  return e->m->about.active < e->m->about.parameters;
}

/* put.c */
void berth_i_put_text(berth_llm_exported *e, const char *format, ...) BERTH_PRINTF(2, 3);
/** What the file does not have: a note, and a comment where the format has them. */
void berth_i_put_note(berth_llm_exported *e, const char *format, ...) BERTH_PRINTF(2, 3);
/** Notes a plan of another framework than the one whose name begins so. */
void berth_i_note_framework(berth_llm_exported *e, const char *name);
/** What the framework does not have: the export fails with BERTH_EUNSUPPORTED. */
void berth_i_refuse_export(berth_llm_exported *e, const char *format, ...) BERTH_PRINTF(2, 3);
/** The plan and where it is for, as comments. */
void berth_i_put_head(berth_llm_exported *e, const char *title);
/** Layers of each chunk in order of the pipeline.  @return [pp * vp], in the pool; NULL: refused */
const int32_t *berth_i_put_stages(berth_llm_exported *e);
/** Do these follow from the even split without further settings? */
bool berth_i_is_even(const berth_llm_exported *e, const int32_t *stages);

void berth_i_write_megatron(berth_llm_exported *e);
void berth_i_write_bridge(berth_llm_exported *e);
void berth_i_write_torchtitan(berth_llm_exported *e);
void berth_i_write_deepspeed(berth_llm_exported *e);
void berth_i_write_fsdp(berth_llm_exported *e);
void berth_i_write_slurm(berth_llm_exported *e);
/** Refuses and notes what Megatron-Core does not have. */
void berth_i_check_megatron(berth_llm_exported *e, const char *title);
/** Flags alone, each behind `begin`. */
void berth_i_write_flags(berth_llm_exported *e, const char *begin);

#endif
