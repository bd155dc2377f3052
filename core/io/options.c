/* Options of loading: descriptors and defaults. Which format reads which option is in the
 * descriptors of the formats (`reads`). */
#include "formats_internal.h"
#include "graph/transforms/mirror_internal.h"

#define C BERTH_I_CHOICE

static const berth_choice *const mirrors[] = {
  C("physical", "As graph:mirror() does: every sink is joined to its twin, gradients are as large "
                "as their tensors, backward ops also read what their forward ops read, parameters "
                "count once."),
  C("pac-ml", "As in PAC-ML's simulator: only the last op is joined to the first backward op, so "
              "backward twins of other sinks wait for nothing; gradients are as large as the "
              "first output of the op whose twin sends them; backward ops do not read "
              "activations, and both copies of an op have its parameters."),
  NULL
};

berth_load_options berth_load_default(void) {
  berth_load_options o = { 0 };
  o.mirror = BERTH_MIRROR_PHYSICAL;
  o.file_bandwidth = 16e9;
  o.optimizer = BERTH_OPTIMIZER_ADAM;
  o.most_bytes = 1e9;
  return o;
}

static void set_defaults(void *out) { *(berth_load_options *)out = berth_load_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_load_options, name, kind)

const berth_option_table *berth_load_option_table(void) {
  static const berth_option options[] = {
    { FIELD(format, OTHER), .takes = "choice", .choices = berth_i_readable_formats,
      .fallback = "by the contents", .text = "format of the file" },
    { FIELD(forward_only, FLAG), .text = "the backward pass is left out" },
    { FIELD(mirror, CHOICE), .choices = mirrors, .text = "how the backward pass is made" },
    { FIELD(file_bandwidth, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1,
      .text = "rate at which transfer seconds become bytes, or of the links between machines" },
    { FIELD(cpus, FLAG), .text = "the topology has the CPUs, too" },
    { FIELD(bind, OTHER), .takes = "table",
      .text = "sizes of the dimensions that have names, such as batch = 8" },
    { FIELD(cost, OTHER), .takes = "function",
      .text = "prices the nodes whose kind has no rule" },
    { FIELD(training, FLAG), .text = "the graph becomes a training step" },
    { FIELD(optimizer, CHOICE), .choices = berth_i_optimizers,
      .text = "updates of a training step" },
    { FIELD(most_bytes, QUANTITY), .unit = BERTH_BYTES, .low = 1,
      .text = "a file that is larger, unpacked if it is gzip, is refused" },
    { .key = NULL }
  };
  static const berth_option_table table = {
    "load", options, sizeof(berth_load_options), set_defaults
  };
  return &table;
}
