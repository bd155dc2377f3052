/* Tags of an XML text that igraph has to read: it tells neither lines nor repeated or undeclared ids. */
#ifndef BERTH_XML_SCAN_H
#define BERTH_XML_SCAN_H

#include "io/io_internal.h"

typedef struct berth_i_tag {
  const char *name; /* local name */
  size_t name_len;
  const char *at, *end;  /* its attributes */
  const char *after;     /* behind '>' */
} berth_i_tag;

/** Next opening tag from *p on; comments, CDATA, instructions and declarations are passed over. */
bool berth_i_next_tag(const char **p, const char *stop, berth_i_tag *tag);
bool berth_i_tag_is(const berth_i_tag *tag, const char *name);
/** Value of an attribute, as it stands there. */
bool berth_i_tag_attribute(const berth_i_tag *tag, const char *name, const char **value, size_t *len);

/** Ids of nodes are there, each once, and edges lead between them. */
berth_status berth_i_check_graphml_ids(const berth_i_source *src);
/** Direction of the graph and its edges, data given twice, NaN. */
berth_status berth_i_check_graphml_data(const berth_i_source *src);
/** Makes texts of all columns of doubles in a copy of the text. @return false: there is none */
bool berth_i_graphml_doubles_as_texts(const berth_i_source *src, char *copy);
/** Line of a place in the text. */
int32_t berth_i_line_in(const berth_i_source *src, const char *at);
/** Line of the k-th <edge>, or of the <node> with that id; 1 if there is none. */
int32_t berth_i_graphml_edge_line(const berth_i_source *src, int32_t k);
int32_t berth_i_graphml_node_line(const berth_i_source *src, const char *id);
/** Line of the first <data> that should be a number and is not, and its text; 0: there is none. */
int32_t berth_i_graphml_bad_number(const berth_i_source *src, char *buf, size_t size);

#endif
