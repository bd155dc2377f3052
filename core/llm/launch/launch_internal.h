/* What the readers of launch files share.
 *
 * A file is read in two steps. A reader turns its syntax into *facts*: what a flag or key says,
 * with its name and line, checked against the row of the reader's table that has its name. Facts
 * are turned into a plan later, by berth_llm_launch_plan, since some need the number of GPUs or of
 * layers, and options given elsewhere beat them. */
#ifndef BERTH_LLM_LAUNCH_INTERNAL_H
#define BERTH_LLM_LAUNCH_INTERNAL_H

#include "llm/llm_internal.h"

typedef enum berth_i_fact_id {
  BERTH_I_NO_FACT,
  /* options of the plan under their own names */
  F_TP, F_CP, F_PP, F_EP, F_ETP, F_VP, F_MICRO, F_GLOBAL, F_SEQ, F_ZERO, F_RESHARD,
  F_RECOMPUTE, F_OFFLOAD, F_OPTIMIZER, F_GRADIENTS, F_DTYPE,
  /* shapes of the model under their own names */
  F_LAYERS, F_HIDDEN, F_HEADS, F_HEAD_DIM, F_FFN, F_VOCAB, F_EXPERTS, F_TOP, F_EXPERT_FFN,
  F_SHARED_FFN,
  /* what others follow from */
  F_SP, F_RECOMPUTE_LAYERS, F_OVERLAP_GRAD, F_OVERLAP_GATHER, F_OVERLAP_TP, F_OVERLAP_P2P,
  F_VALUE_DIM, F_Q_RANK, F_KV_RANK, F_ROPE_DIM, F_SCHEDULE, F_MODEL, F_FLAVOR, F_NODES,
  F_GPUS_PER_NODE, F_ACCUMULATION, F_LOCAL_BATCH, F_STAGE_BATCH, F_FIRST_LAYERS, F_LAST_LAYERS,
  F_COUNT_EMBEDDING, F_COUNT_LOSS, F_LAYOUT, F_CHUNK_LAYERS, F_FIRST_LESS, F_LAST_LESS, F_SHARD,
  F_REPLICATE, F_STRATEGY, F_FSDP, F_FSDP2, F_NO_RESHARD, F_RECOMPUTE_METHOD, F_RECOMPUTE_ALL,
  F_EVERY, F_BF16, F_FP16, F_FP8, F_FP32_GRADIENTS, F_BF16_GRADIENTS, F_MAIN_GRADIENTS,
  F_ATTENTION, F_FLASH, F_LOCAL_IMPL, F_DROP_ATTENTION, F_DROP_HIDDEN, F_FUSED_LOSS,
  F_LOSS_IMPL, F_CONVERTERS, F_GQA, F_GROUPS, F_GATED, F_UNTIED, F_NO_BIAS, F_QKV_BIAS,
  F_QK_NORM, F_RMS_NORM, F_POSITIONS, F_POSITION_TYPE, F_ROTARY, F_PADDED_VOCAB, F_MLA,
  F_MOE_FREQUENCY, F_ROUTER_BIAS, F_PREDICT, F_QK_DIM, F_OTHER_LAYERS, F_OFFLOAD_SHARE,
  F_DISTRIBUTED,
  N_FACTS
} berth_i_fact_id;

typedef struct berth_i_fact {
  double number;     /* of flags 0 or 1, of words their index */
  const char *text;  /* NULL: not given; of words what the table has for them */
  const char *name;  /* flag or key */
  int32_t line;
} berth_i_fact;

typedef enum berth_i_setting_kind {
  BERTH_I_SWITCH,   /* a flag without value: 1 */
  BERTH_I_UNSWITCH, /* the same: 0 */
  BERTH_I_BOOL,     /* true or false */
  BERTH_I_WHOLE,
  BERTH_I_REAL,
  BERTH_I_WORD,     /* one of `words` */
  BERTH_I_TEXT
} berth_i_setting_kind;

/** A flag or key of a framework. */
typedef struct berth_i_setting {
  const char *name;
  berth_i_fact_id fact;
  berth_i_setting_kind kind;
  double low, high;   /* of numbers */
  const char *words;  /* "full selective": legal; "1F1B=1f1b": with the word that the fact has;
                         "x=": legal, but plans do not have it; "*": so is any other. With a note:
                         values that say there is none */
  const char *note;   /* what plans do not have of it; said where it is not 0, "none" or false */
} berth_i_setting;

typedef enum berth_i_value_kind {
  BERTH_I_VALUE_ARGUMENT, /* text of the shell, which may be a number */
  BERTH_I_VALUE_STRING, BERTH_I_VALUE_NUMBER, BERTH_I_VALUE_BOOL,
  BERTH_I_VALUE_OTHER     /* array, table */
} berth_i_value_kind;

typedef struct berth_i_value {
  berth_i_value_kind kind;
  const char *text;   /* as it is in the file, for messages too */
  double number;
} berth_i_value;

typedef struct berth_i_llm_format berth_i_llm_format;
typedef struct berth_i_planned berth_i_planned;

struct berth_llm_launch {
  berth_i_pool pool;
  const char *name;
  const char *text;   /* [len], text[len] == 0 */
  size_t len;
  const berth_i_llm_format *format;
  berth_i_fact fact[N_FACTS];
  int32_t settings;   /* that were understood */
  const char **note;  /* [n_notes] */
  size_t notes_cap;
  int32_t n_notes, read_notes; /* read_notes: of the file; the rest are of the last plan */
  const char *odd;     /* one of `strange` that may change shapes; NULL */
  const char *strange; /* names that are in no table, with commas; "" at first */
  berth_llm_shapes shapes;
  const char *no_model; /* why there is no model; NULL: there is one */
};

/** One format. */
struct berth_i_llm_format {
  berth_llm_format about;
  /** Fills the facts. */
  berth_status (*read)(berth_llm_launch *l);
  /** Facts to the shapes of a model: fills l->shapes and l->no_model. NULL: it has none. */
  void (*shape)(berth_llm_launch *l);
  /** What does not follow from single facts. `plan` has all that was given and what has a name of
   *  its own. */
  berth_status (*derive)(berth_i_planned *p);
  /** The way back. NULL: only read. */
  void (*write)(struct berth_llm_exported *e);
};

/** A plan in the making. */
struct berth_i_planned {
  berth_llm_launch *l;
  int32_t gpus, layers; /* 0: not known */
  berth_llm_plan *plan;
  uint64_t given;       /* bit i: option i of the table */
  const char **source;  /* [options] may be NULL */
};

static inline bool berth_i_fact_given(const berth_llm_launch *l, berth_i_fact_id id) {
  return l->fact[id].text != NULL;
}
static inline double berth_i_fact_number(const berth_llm_launch *l, berth_i_fact_id id,
                                         double otherwise) {
  return l->fact[id].text ? l->fact[id].number : otherwise;
}
/** Given, and not 0. */
static inline bool berth_i_fact_on(const berth_llm_launch *l, berth_i_fact_id id) {
  return l->fact[id].text && l->fact[id].number != 0;
}

/* launch.c */
const berth_i_llm_format *berth_i_llm_format_find(const char *name); /* NULL: none */

/* facts.c */
/** "name:line: setting value: reason"; BERTH_EPARSE. */
berth_status berth_i_launch_fail(const berth_llm_launch *l, int32_t line, const char *setting,
                                 const char *value, const char *reason, ...) BERTH_PRINTF(5, 6);
/** The same of a fact. */
berth_status berth_i_fact_fail(const berth_llm_launch *l, berth_i_fact_id id, const char *reason,
                               ...) BERTH_PRINTF(3, 4);
/** A refusal to allocate is found by the pool's status. */
void berth_i_launch_note(berth_llm_launch *l, const char *format, ...) BERTH_PRINTF(2, 3);
/** A number without unit, signed. */
bool berth_i_launch_real(const berth_llm_launch *l, const char *text, double *out);
/** A name that no table has. */
void berth_i_launch_strange(berth_llm_launch *l, const char *name);
/** A copy in the pool; "" on refusal. */
const char *berth_i_launch_copy(berth_llm_launch *l, const char *text, size_t n);
/** The row of that name; NULL: none. */
const berth_i_setting *berth_i_setting_find(const berth_i_setting *table, const char *name);
/** Checks a value against its row and keeps it; a later one replaces it. */
berth_status berth_i_setting_store(berth_llm_launch *l, const berth_i_setting *row,
                                   const berth_i_value *v, int32_t line);
/** Is the word one of those in the list, separated by spaces? A star at the end of one stands for
 *  any ending. */
bool berth_i_listed(const char *list, const char *word);

/** Was the option given by the caller or set before? */
bool berth_i_planned_has(const berth_i_planned *p, const char *key);
/** Sets an option that is open. `from`: BERTH_I_NO_FACT: a default of the framework. */
void berth_i_planned_set(berth_i_planned *p, const char *key, double value, berth_i_fact_id from);
/** The same of a flag, or a choice of auto, off and on. */
void berth_i_planned_switch(berth_i_planned *p, const char *key, bool on, berth_i_fact_id from);
/** Layers of each chunk in order of the pipeline.  @param stages [n], in the pool */
void berth_i_planned_stages(berth_i_planned *p, int32_t *stages, int32_t n, berth_i_fact_id from);

/** Options that facts are under their own names, and shapes. */
void berth_i_facts_to_plan(berth_i_planned *p);
void berth_i_facts_to_shapes(berth_llm_launch *l);

/* shell.c */
typedef struct berth_i_word {
  const char *text;
  int32_t line;
  const char *unknown; /* a variable or a substitution in it that the file does not say; or NULL */
} berth_i_word;
typedef struct berth_i_words {
  berth_i_word *item;
  size_t n, cap;
} berth_i_words;
typedef struct berth_i_shell {
  berth_i_words words;  /* of all commands, one behind the other */
  int32_t *command;     /* [words.n] number of the command of each */
  size_t command_cap;
  int32_t commands;
} berth_i_shell;
/** Commands of a script in order, expanded as far as the file says. A command that begins with "--"
 *  goes on over line ends. @return BERTH_OK, BERTH_EPARSE, BERTH_ENOMEM.  O(text), bounded */
berth_status berth_i_shell_read(berth_llm_launch *l, berth_i_shell *out);

/* toml.c */
/** Calls `take` for each key: "section.key". */
typedef berth_status (*berth_i_toml_take)(berth_llm_launch *l, const char *key,
                                          const berth_i_value *v, int32_t line);
berth_status berth_i_toml_read(berth_llm_launch *l, berth_i_toml_take take);

/* layout.c */
/** Layers of each chunk of a layout of Megatron.  @param count [most]
 *  @return BERTH_OK, with the number of chunks, and of modules for further tokens; BERTH_EINVAL
 *  with the reason in `why` [size]; BERTH_ENOMEM */
berth_status berth_i_layout_read(berth_i_pool *pool, const char *text, int32_t *count,
                                 int32_t most, int32_t *chunks, int32_t *predict, char *why,
                                 size_t size);

/** The formats, in the order of berth_llm_format_at. */
#define BERTH_I_LLM_FORMATS(X) X(megatron) X(bridge) X(torchtitan) X(deepspeed) X(fsdp) \
  X(slurm)
#define BERTH_I_DECLARE_LLM_FORMAT(name) extern const berth_i_llm_format berth_i_llm_format_##name;
BERTH_I_LLM_FORMATS(BERTH_I_DECLARE_LLM_FORMAT)

#endif
