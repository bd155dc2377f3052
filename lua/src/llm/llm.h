/* What the files of berth.llm share. */
#ifndef BERTH_LUA_LLM_H
#define BERTH_LUA_LLM_H

#include "base/binding.h"

typedef struct bl_llm_box {
  berth_llm *llm;
} bl_llm_box;

extern const bl_class bl_llm_class;

#endif
