/* Plans as launch files (berth/llm.h). */
#include "llm.h"

BL_RELEASE(release, berth_llm_exported_release)

typedef struct exported_box {
  berth_llm_exported *exported;
} exported_box;

static const bl_class exported_class = {
  .name = "exported plan", .key = "berth.llm_exported", .release = release
};

/* llm_export(model, cluster, plan, format): text, notes */
static int export(lua_State *L) {
  BL_WHERE(w, "berth.llm.export");
  const char *const *notes;
  size_t len;
  const berth_llm *m = bl_check_llm(L, 1, &w);
  const berth_llm_cluster *c = bl_check_llm_cluster(L, 2, &w);
  const char *format = bl_to_string(L, 4, &w, "format");
  berth_llm_plan p = berth_llm_plan_default();
  lua_settop(L, 4);
  bl_take_options(L, 3, &w, bl_llm_plan_tables, &p);
  bl_register(L, &exported_class);
  exported_box *box = bl_new(L, &exported_class, sizeof *box);
  berth_status st = berth_llm_export(m, c, &p, format, &box->exported);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  const char *text = berth_llm_exported_text(box->exported, &len);
  lua_pushlstring(L, text, len);
  int32_t n = berth_llm_exported_notes(box->exported, &notes);
  bl_push_strings(L, n, notes);
  return 2;
}

const luaL_Reg bl_llm_export_functions[] = { { "llm_export", export }, { NULL, NULL } };
