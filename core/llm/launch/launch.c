/* Launch files: the table of formats, which of them a file is in, and the plan that follows. */
#include "launch_internal.h"

enum { MOST_TEXT = 1 << 20 };

#define ROW(name) &berth_i_llm_format_##name,
static const berth_i_llm_format *const formats[] = { BERTH_I_LLM_FORMATS(ROW) };
enum { N_FORMATS = sizeof formats / sizeof *formats };

const berth_llm_format *berth_llm_format_at(int32_t i) {
  return i >= 0 && i < N_FORMATS ? &formats[i]->about : NULL;
}

const berth_i_llm_format *berth_i_llm_format_find(const char *name) {
  for (int i = 0; i < N_FORMATS; i++)
    if (strcmp(formats[i]->about.name, name) == 0) return formats[i];
  return NULL;
}

/* ---- the file ---- */

static berth_status check_text(const berth_llm_launch *l) {
  if (l->len > MOST_TEXT)
    return berth_i_fail(l->pool.ctx, BERTH_EPARSE, "%s: is longer than 1 MiB", l->name);
  int32_t line = 1;
  for (size_t i = 0; i < l->len; i++) {
    unsigned char c = (unsigned char)l->text[i];
    line += c == '\n';
    if (c < 9 || c == 127)
      return berth_i_fail(l->pool.ctx, BERTH_EPARSE, "%s:%d: character %d is not of a text",
                          l->name, (int)line, (int)c);
  }
  return BERTH_OK;
}

/* A key at the begin of an object says whose it is. */
static bool mentions(const berth_llm_launch *l, const char *key) {
  return strstr(l->text, key) != NULL;
}

/* JSON begins with a brace; TOML has a line [section] or key = value before any flag. */
static const berth_i_llm_format *recognised(const berth_llm_launch *l) {
  const char *p = l->text + strspn(l->text, " \t\r\n");
  if (*p == '{')
    return mentions(l, "\"distributed_type\"") || mentions(l, "\"fsdp_config\"")
               ? &berth_i_llm_format_fsdp : &berth_i_llm_format_deepspeed;
  for (; *p; p += *p == '\n') {
    p += strspn(p, " \t\r");
    size_t n = strcspn(p, "\n"), name = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_.\"");
    if (*p == '[' && p[1] != '[' && p[1] != ' ' && memchr(p, ']', n)) break;
    if (name && name < n && strspn(p + name, " \t") && p[name + strspn(p + name, " \t")] == '=')
      break;
    if (n && *p != '#') return &berth_i_llm_format_megatron;
    p += n;
  }
  return *p ? &berth_i_llm_format_torchtitan : &berth_i_llm_format_megatron;
}

static bool ends_as_yaml(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static berth_status read_file(berth_llm_launch *l, const char *format) {
  berth_status st = check_text(l);
  if (st != BERTH_OK) return st;
  l->format = format ? berth_i_llm_format_find(format) : recognised(l);
  if (!l->format || !l->format->read)
    return berth_i_fail(l->pool.ctx, BERTH_EINVAL, "format \"%s\" is none that is read", format);
  if ((st = l->format->read(l)) != BERTH_OK) return st;
  if (l->settings == 0)
    return berth_i_fail(l->pool.ctx, BERTH_EPARSE, "%s: has no setting of %s that a plan has%s",
                        l->name, l->format->about.title, ends_as_yaml(l->name)
                        ? "; YAML is not read: accelerate takes JSON, too" : "");
  if (*l->strange) berth_i_launch_note(l, "not known, and passed over: %s", l->strange);
  l->no_model = "a file of this format does not say the model's shapes";
  berth_i_facts_to_shapes(l);
  if (l->format->shape) l->format->shape(l);
  l->read_notes = l->n_notes;
  return BERTH_OK;
}

/* A text that could not be copied reads as a wrong value: the refusal counts. */
static berth_status without_refusal(berth_llm_launch *l, berth_status st) {
  berth_status pool = berth_i_pool_status(&l->pool);
  return pool != BERTH_OK ? pool : st;
}

berth_status berth_llm_launch_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                                    const char *format, berth_llm_launch **out) {
  if (!ctx || !name || !text || !out) return BERTH_EINVAL;
  berth_llm_launch *l = berth_i_pool_object(ctx, sizeof *l);
  if (!l) return berth_i_nomem(ctx);
  l->strange = "";
  l->len = len;
  l->name = berth_i_pool_strdup(&l->pool, name);
  if (len >= 3 && strncmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
    text += 3;
    l->len -= 3;
  }
  l->text = l->name ? berth_i_launch_copy(l, text, l->len) : NULL;
  berth_status st = berth_i_pool_status(&l->pool);
  if (st == BERTH_OK) st = without_refusal(l, read_file(l, format));
  if (st != BERTH_OK) {
    berth_llm_launch_release(l);
    return st;
  }
  *out = l;
  return BERTH_OK;
}

void berth_llm_launch_release(berth_llm_launch *l) {
  if (l) berth_i_pool_free(&l->pool);
}

/* ---- what it says ---- */

berth_llm_launch_about berth_llm_launch_about_of(const berth_llm_launch *l) {
  double gpus = berth_i_fact_number(l, F_NODES, 1) * berth_i_fact_number(l, F_GPUS_PER_NODE, 0);
  return (berth_llm_launch_about){
    .name = l->name, .format = l->format->about.name, .settings = l->settings,
    .gpus = gpus <= 1 << 20 ? (int32_t)gpus : 0,
    .model = l->fact[F_MODEL].text, .flavor = l->fact[F_FLAVOR].text,
    .no_model = l->no_model
  };
}

const berth_llm_shapes *berth_llm_launch_shapes(const berth_llm_launch *l) { return &l->shapes; }

berth_status berth_llm_launch_model(const berth_llm_launch *l, berth_llm **out) {
  if (!l || !out) return BERTH_EINVAL;
  if (l->no_model)
    return berth_i_fail(l->pool.ctx, BERTH_EUNSUPPORTED, "%s: %s", l->name, l->no_model);
  const char *slash = strrchr(l->name, '/');
  berth_i_llm_draft d = { .s = l->shapes, .name = slash ? slash + 1 : l->name };
  berth_status st = berth_i_llm_make(l->pool.ctx, &d, out);
  if (st == BERTH_EINVAL) berth_i_prefix_error(l->pool.ctx, "%s: ", l->name);
  return st;
}

int32_t berth_llm_launch_notes(const berth_llm_launch *l, const char *const **notes) {
  *notes = l->note;
  return l->n_notes;
}

/* ---- the plan ---- */

berth_status berth_llm_launch_plan(berth_llm_launch *l, int32_t gpus, int32_t layers,
                                   berth_llm_plan *plan, uint64_t *given, const char **source) {
  if (!l || !plan || !given || gpus < 0 || layers < 0) return BERTH_EINVAL;
  berth_llm_plan filled = *plan;
  if (!gpus) gpus = berth_llm_launch_about_of(l).gpus;
  if (!layers) layers = (int32_t)berth_i_fact_number(l, F_LAYERS, 0);
  berth_i_planned p = { l, gpus, layers, &filled, *given, source };
  l->n_notes = l->read_notes;
  berth_i_facts_to_plan(&p);
  berth_status st = without_refusal(l, l->format->derive(&p));
  if (st != BERTH_OK) return st;
  *plan = filled;
  *given = p.given;
  return BERTH_OK;
}
