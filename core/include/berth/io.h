/* Input and output: graphs, topologies, placements, timelines. docs/formats.md describes the
 * formats.
 *
 * A format is a descriptor with a name; loading finds it by the contents. A file is read as a whole
 * into a bundle of the objects that it holds, each with a reference of the caller's, or not at all:
 * the message then names file, line and value. Writers append to a text, which grows in the
 * context's allocator and is released by the caller; saving replaces a file in one step. Also JSON,
 * value by value. */
#ifndef BERTH_IO_H
#define BERTH_IO_H

#include <berth/exec.h>
#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- formats ---- */

/** Parts that a file may hold. */
enum {
  BERTH_HOLDS_GRAPH = 1,
  BERTH_HOLDS_TOPOLOGY = 2,
  BERTH_HOLDS_PLACEMENT = 4,
  BERTH_HOLDS_TIMELINE = 8
};

/** A file format. */
typedef struct berth_format {
  berth_choice choice;  /* name, and what it is */
  int loads, saves;     /* sets of BERTH_HOLDS_...: parts that are read and written; 0: none */
  const char *endings;  /* of files of graphs, separated by spaces: "dot gv"; NULL: none */
  const char *reads;    /* options besides those that all read, separated by spaces; NULL: none */
} berth_format;
/** All formats, NULL-terminated: "berth" first, those that are only written last. */
const berth_format *const *berth_formats(void);
/** Does a format read an option of loading? Those that no format lists are for all.
 *  @return BERTH_OK; BERTH_EINVAL with the option, the format and the formats that read it */
berth_status berth_format_check(berth_ctx *ctx, const char *format, const char *key);
/** The format that parts are saved in by the ending of a file's name, before ".gz" if it has that
 *  one, too; without an ending, or of "-": "berth". Of parts that one format alone can hold, other
 *  endings than those of formats are legal.
 *  @param saves set of BERTH_HOLDS_...: what has to be saved
 *  @return BERTH_OK, BERTH_EINVAL (the ending of no format, or of one that cannot hold them) */
berth_status berth_format_of_path(berth_ctx *ctx, const char *path, int saves,
                                  const char **format);

/* ---- loading ---- */

enum {
  BERTH_MIRROR_PHYSICAL,  /* default: as berth_mirror_default does: every sink is joined to its
                             twin, gradients are as large as their tensors, backward ops read what
                             their forward ops read, parameters count once */
  BERTH_MIRROR_PACML      /* as PAC-ML's simulator does: BERTH_JOIN_LAST, BERTH_GRADIENT_AS_OUTPUT,
                             activations 0, params 1 */
};
/** A number for a name of the file. */
typedef struct berth_binding {
  const char *name;
  double value;           /* whole, 0 to 2^48 */
} berth_binding;
/** A value of a node. */
typedef struct berth_node_value {
  const char *name;       /* NULL: the node leaves it out */
  int dtype;              /* ONNX's number; 0: unknown */
  int rank;               /* -1: its shape is unknown */
  const int64_t *dim;     /* [rank] */
} berth_node_value;
enum { BERTH_NODE_FLOAT = 1, BERTH_NODE_INT, BERTH_NODE_STRING, BERTH_NODE_FLOATS = 6,
       BERTH_NODE_INTS }; /* types of attributes; others are left out */
typedef struct berth_node_attribute {
  const char *name;
  int type;               /* BERTH_NODE_..., which of the following it has */
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;    /* [n] */
  const double *floats;   /* [n] */
  int32_t n;
} berth_node_attribute;
/** A node of a model whose cost no rule gives; during the call. */
typedef struct berth_node {
  const char *name;       /* without one that of its first output */
  const char *kind, *domain;
  int32_t n_inputs, n_outputs, n_attributes;
  const berth_node_value *inputs, *outputs;
  const berth_node_attribute *attributes;
} berth_node;
typedef struct berth_node_cost {
  int known;              /* 0 (as it comes): the node has no cost */
  double flop;
  double bytes;           /* negative (as it comes): inputs and outputs, once each */
  char why[200];          /* of a failure */
} berth_node_cost;
/** What a node costs. @return BERTH_OK, or a status with which loading fails, at that node */
typedef berth_status (*berth_node_cost_fn)(void *ud, const berth_node *node, berth_node_cost *out);
typedef struct berth_load_options {
  const char *format;     /* name of a format that is read; NULL: by the contents */
  /* Of what follows a format refuses what it does not read, unless it is as berth_load_default
   * has it. */
  int forward_only;       /* pipedream: 0 (default): mirrored with the backward times; 1: not */
  int mirror;             /* pipedream, unless forward_only: BERTH_MIRROR_... */
  double file_bandwidth;  /* bytes/s; dnn-partitioning: transfer times become bytes at this rate,
                             which links get; wfformat: of the machines' links; default 16e9 */
  int cpus;               /* dnn-partitioning: 1: the topology also has the CPUs; default 0 */
  const berth_binding *bind; /* [n_bind] onnx: sizes of dimensions that have names, values of inputs
                             of one element; NULL (default): none */
  int32_t n_bind;
  berth_node_cost_fn cost; /* onnx: of nodes that no rule prices; NULL (default): they have none */
  void *cost_ud;
  int training;           /* 1: the graph becomes a training step (berth_graph_mirror with an
                             optimizer); not with a placement in the same file; default 0 */
  int optimizer;          /* BERTH_OPTIMIZER_... of it; default ADAM; NONE: gradients of weights are
                             kept */
  double most_bytes;      /* of any format: a file that is larger, unpacked if it is gzip, is
                             refused; default 1e9. Files of ONNX are mapped, and may be larger */
} berth_load_options;
berth_load_options berth_load_default(void);
const berth_option_table *berth_load_option_table(void);

/** Growing text in the context's allocator. Start from zero: berth_text t = {0}. */
typedef struct berth_text {
  berth_ctx *ctx;
  char *data; /* zero-terminated; NULL while empty */
  size_t len, size;
} berth_text;
void berth_text_release(berth_text *t);

/** What a file held: each NULL if it did not. Release each. */
typedef struct berth_bundle {
  berth_graph *graph;
  berth_topology *topology;
  berth_placement *placement;
  const char *format; /* name of the format, static */
  char note[200];     /* what the file holds and was passed over, a sentence; "": nothing */
  berth_text facts;   /* what the reader counted, a JSON object; empty: nothing. docs/onnx.md */
} berth_bundle;
void berth_bundle_release(berth_bundle *b);

/** The interrupt hook is called while the file is read and unpacked, also while a FIFO has no
 *  writer.
 *  @param path of a regular file, FIFO or terminal, or "-": standard input; gzip is read as such
 *  @return BERTH_OK; BERTH_EIO; BERTH_EPARSE ("file:line: reason with the value"); BERTH_ECYCLE;
 *          BERTH_EINVAL (an option); BERTH_ENOMEM; BERTH_EINTERRUPT */
berth_status berth_load(berth_ctx *ctx, const char *path, const berth_load_options *opts,
                        berth_bundle *out);
/** The same from memory.  @param name of the file, for messages */
berth_status berth_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                         const berth_load_options *opts, berth_bundle *out);

/** A whole file as it is, unpacked if it is gzip.
 *  @param path as of berth_load  @param most_bytes as in berth_load_options; 0: its default
 *  @param out empty, or it is added to; its ctx is set when it is NULL
 *  @return BERTH_OK, BERTH_EIO, BERTH_EPARSE (damaged gzip data, more than most_bytes),
 *          BERTH_EINVAL (most_bytes), BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_read(berth_ctx *ctx, const char *path, double most_bytes, berth_text *out);

/* ---- JSON ---- */

typedef enum berth_json_kind {
  BERTH_JSON_NULL, BERTH_JSON_BOOL, BERTH_JSON_NUMBER, BERTH_JSON_STRING, BERTH_JSON_ARRAY,
  BERTH_JSON_OBJECT
} berth_json_kind;
typedef struct berth_json_item {
  berth_json_kind kind;
  int32_t depth;      /* arrays and objects around it */
  int32_t index;      /* members before it in its array or object */
  const char *key;    /* of a member of an object; NULL: another */
  const char *string; /* of a string */
  double number;      /* of a number, infinite if it is beyond doubles; of a bool: 0, 1 */
} berth_json_item;
typedef struct berth_json berth_json; /* a document and a place in it */

/** A document of any kind: strict, in UTF-8, at most 1000 values in each other.
 *  @param name of the file, for messages @param text [len], text[len] == 0; not needed
 *         afterwards
 *  @return BERTH_OK, BERTH_EPARSE ("name:line: reason"), BERTH_ENOMEM */
berth_status berth_json_open(berth_ctx *ctx, const char *name, const char *text, size_t len,
                             berth_json **out);
/** The next value in the order of the text: an array or object, then its members. @return 0 at the
 * end */
int berth_json_next(berth_json *json, berth_json_item *out);
void berth_json_release(berth_json *json); /* NULL is fine */

/* ---- writing ---- */
/* Writers append to out, whose ctx they set when it is NULL. Numbers round-trip exactly. */

/** @param format one that graphs are saved in
 *  @return BERTH_OK, BERTH_EINVAL (another), BERTH_ENOMEM */
berth_status berth_write_graph(berth_graph *g, const char *format, berth_text *out);
berth_status berth_write_topology(berth_topology *t, berth_text *out);               /* "berth" */
/** Names of graph and topology, where there are any, are written beside the ids. g, t may be
 * NULL. */
berth_status berth_write_placement(berth_placement *p, berth_graph *g, berth_topology *t,
                                   berth_text *out);
/** One file with all that the bundle holds, format "berth".
 *  @return BERTH_OK, BERTH_EINVAL (parts that do not fit each other; an empty bundle),
 *          BERTH_ENOMEM */
berth_status berth_write_bundle(const berth_bundle *b, berth_text *out);
/** Chrome trace JSON: one process per device with rows for compute, send, receive, and counters of
 * memory. Opens in Perfetto. */
berth_status berth_write_trace(berth_result *r, berth_text *out);
/** The same of what the executor has done, without memory. */
berth_status berth_write_execution_trace(const berth_execution *r, berth_text *out);
/** Graph with a placement: DOT with a colour per device, GraphML with a device attribute. @param
 * device [ops] or NULL */
berth_status berth_write_placed(berth_graph *g, const char *format, const int32_t *device,
                                berth_text *out);
/** A number as files have it, with a dot whatever the locale.
 *  @param digits significant ones, at most 17; 0: the fewest of 15 to 17 that read back as the same
 *         number
 *  @param buf of `size` bytes, 40 are always enough @return buf; "nan", "inf", "-inf" of what is
 *         not finite */
const char *berth_number_text(double x, int digits, char *buf, size_t size);
/** Writes text to a new file that takes the place of an old one at once: the old contents stay if
 *  it fails. What must be writable is the directory: an old file is replaced even if it is
 *  read-only. FIFOs and devices are written in place, with calls of the interrupt hook.
 *  @param path "-": standard output; what ends in ".gz" is packed
 *  @return BERTH_OK, BERTH_EIO, BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_save(berth_ctx *ctx, const char *path, const berth_text *text);
/** Could berth_save write it, as far as its directory and permissions go? Opens nothing.
 *  @return BERTH_OK; BERTH_EIO */
berth_status berth_can_save(berth_ctx *ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
