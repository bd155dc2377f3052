/* Lists of nodes, edges and values, and their way into a graph (listed_internal.h). Whether all
 * values of a key are numbers is known at the end only: of "device" that decides whether it is a
 * placement. */
#include "listed_internal.h"
#include "base/sort_internal.h"

/* ---- lists ---- */

/* In names and elsewhere: an editor's encoding is the same for the whole file. */
static berth_status check_text(const berth_i_source *src) {
  int32_t line = 1;
  for (const char *at = src->text, *end = at + src->len; at < end;) {
    size_t n = *at ? berth_i_utf8(at) : 0;
    if (n == 0)
      return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: not UTF-8 here (byte 0x%02x)", src->name,
                          (int)line, (unsigned char)*at);
    line += *at == '\n';
    at += n;
  }
  return BERTH_OK;
}

berth_status berth_i_listed_open(const berth_i_source *src, berth_i_listed *l) {
  memset(l, 0, sizeof *l);
  berth_status st = berth_i_elements_open(src, &l->e);
  return st == BERTH_OK ? check_text(src) : st;
}

void berth_i_listed_release(berth_i_listed *l) {
  for (int k = 0; k < BERTH_I_PLACES; k++) berth_i_names_release(l->e.ctx, &l->keys[k].names);
  berth_i_elements_release(&l->e);
}

/* The number of a key, new ones with their column. */
static berth_status find_key(berth_i_listed *l, berth_i_place place, const char *name,
                             int32_t *out) {
  berth_i_listed_keys *keys = &l->keys[place];
  int32_t known = keys->names.n;
  berth_status st = BERTH_I_POOL_GROW(&l->e.pool, keys->at, keys->cap, (size_t)known + 1);
  if (st == BERTH_OK) st = berth_i_names_add(l->e.ctx, &keys->names, name, out);
  if (st != BERTH_OK || *out < known) return st;
  berth_i_key *key = &keys->at[known];
  *key = (berth_i_key){ .name = keys->names.text[known], .number = true };
  return berth_i_elements_key(&l->e, key, place, &key->column[place]);
}

berth_status berth_i_listed_value_add(berth_i_listed *l, berth_i_place place, const char *name,
                                      const char *text, int32_t line, int32_t *list) {
  int32_t k = 0;
  double x;
  berth_status st = find_key(l, place, name, &k);
  if (st != BERTH_OK || l->keys[place].at[k].column[place] == BERTH_I_UNREAD) return st;
  if (*text && !berth_i_decimal(text, &x)) l->keys[place].at[k].number = false;
  st = BERTH_I_POOL_GROW(&l->e.pool, l->values, l->values_cap, l->n_values + 1);
  if (st == BERTH_OK && l->n_values >= INT32_MAX) st = berth_i_nomem(l->e.ctx);
  if (st != BERTH_OK) return st;
  char *copy = berth_i_pool_strdup(&l->e.pool, text);
  if (!copy) return berth_i_pool_status(&l->e.pool);
  l->values[l->n_values] = (berth_i_listed_value){ copy, k, line, *list };
  *list = (int32_t)l->n_values++;
  return BERTH_OK;
}

berth_status berth_i_listed_node_add(berth_i_listed *l, berth_i_listed_node node) {
  berth_status st = BERTH_I_POOL_GROW(&l->e.pool, l->nodes, l->nodes_cap, l->n_nodes + 1);
  if (st == BERTH_OK) l->nodes[l->n_nodes++] = node;
  return st;
}

berth_status berth_i_listed_edge_add(berth_i_listed *l, berth_i_listed_edge edge) {
  edge.same = BERTH_NONE;
  berth_status st = BERTH_I_POOL_GROW(&l->e.pool, l->edges, l->edges_cap, l->n_edges + 1);
  if (st == BERTH_OK && l->n_edges >= INT32_MAX) st = berth_i_nomem(l->e.ctx);
  if (st == BERTH_OK) l->edges[l->n_edges++] = edge;
  return st;
}

typedef struct edge_pair {
  int32_t from, to, edge;
} edge_pair;

BERTH_I_SORT(sort_pairs, edge_pair, BERTH_I_UP(from) BERTH_I_UP(to) BERTH_I_UP(edge))

/* Chains of `same` lead from the first edge of a pair to its last: values of the last count. */
berth_status berth_i_listed_merge_edges(berth_i_listed *l) {
  edge_pair *pair = berth_i_pool_alloc(&l->e.pool, l->n_edges, sizeof *pair);
  if (!pair && l->n_edges > 0) return berth_i_pool_status(&l->e.pool);
  for (size_t k = 0; k < l->n_edges; k++)
    pair[k] = (edge_pair){ l->edges[k].from, l->edges[k].to, (int32_t)k };
  sort_pairs(pair, l->n_edges);
  for (size_t k = 1; k < l->n_edges; k++)
    if (pair[k].from == pair[k - 1].from && pair[k].to == pair[k - 1].to)
      l->edges[pair[k].edge].same = pair[k - 1].edge;
  return BERTH_OK;
}

/* ---- into the graph ---- */

static berth_status put_text(berth_i_listed *l, const char *text) {
  l->scratch.len = 0;
  return berth_i_chars_add(&l->e.pool, &l->scratch, text, strlen(text));
}

berth_status berth_i_listed_graph_name(berth_i_listed *l, const char *name) {
  berth_i_key key = { "name", { BERTH_I_UNREAD, BERTH_I_UNREAD, BERTH_I_UNREAD }, false };
  berth_status st = berth_i_elements_key(&l->e, &key, BERTH_I_IN_GRAPH,
                                         &key.column[BERTH_I_IN_GRAPH]);
  if (st == BERTH_OK) st = put_text(l, name);
  return st == BERTH_OK ? berth_i_elements_default(&l->e, &key, &l->scratch) : st;
}

/* At the last mention, which is the first in the list. */
static berth_status refuse_repeated(berth_i_listed *l, const char *name, int32_t list,
                                    int32_t key) {
  while (l->values[list].key != key) list = l->values[list].next;
  l->e.line = l->values[list].line;
  return berth_i_elements_fail(&l->e, name, "is given twice", l->values[list].text);
}

/* Values of the current element up to `end`; the first one of a key in the list counts. */
static berth_status put_values(berth_i_listed *l, berth_i_place place, int32_t list, int32_t end) {
  berth_status st = BERTH_OK;
  for (int32_t k = list; k != end && st == BERTH_OK; k = l->values[k].next) {
    const berth_i_listed_value *v = &l->values[k];
    const berth_i_key *key = &l->keys[place].at[v->key];
    l->e.line = v->line;
    if (key->column[place] < 0) continue;
    if (!berth_i_elements_seen(&l->e, place, key->column[place])) {
      if ((st = put_text(l, v->text)) == BERTH_OK)
        st = berth_i_elements_value(&l->e, key, place, &l->scratch);
    } else if (l->once) st = refuse_repeated(l, key->name, list, v->key);
  }
  return st;
}

static berth_status put_nodes(berth_i_listed *l) {
  berth_status st = BERTH_OK;
  for (size_t k = 0; k < l->n_nodes && st == BERTH_OK; k++) {
    const berth_i_listed_node *node = &l->nodes[k];
    l->e.line = node->line;
    if (k % 4096 == 0) st = berth_i_interrupted(l->e.ctx);
    if (st == BERTH_OK) st = berth_i_elements_open_node(&l->e, node->name);
    if (st == BERTH_OK) st = put_values(l, BERTH_I_IN_NODE, node->values, BERTH_NONE);
    if (st == BERTH_OK) st = berth_i_elements_close_node(&l->e);
  }
  return st;
}

/* Of edges that are one: the place of the first, its defaults, and the values of all of them, those
 * of the last in front.  @param last [edges] of each first edge */
static berth_status put_edge(berth_i_listed *l, int32_t first, int32_t last) {
  berth_status st = BERTH_OK;
  l->e.line = l->edges[first].line;
  berth_i_elements_open_edge(&l->e, l->edges[first].from, l->edges[first].to);
  for (int32_t k = last; k != BERTH_NONE && st == BERTH_OK; k = l->edges[k].same) {
    const berth_i_listed_edge *edge = &l->edges[k];
    st = put_values(l, BERTH_I_IN_EDGE, edge->values,
                    k == first ? BERTH_NONE : edge->defaults);
  }
  return st == BERTH_OK ? berth_i_elements_close_edge(&l->e) : st;
}

static berth_status put_edges(berth_i_listed *l) {
  int32_t n = (int32_t)l->n_edges;
  int32_t *first = berth_i_pool_alloc(&l->e.pool, l->n_edges, sizeof *first);
  int32_t *last = berth_i_pool_alloc(&l->e.pool, l->n_edges, sizeof *last);
  berth_status st = berth_i_pool_status(&l->e.pool);
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    first[k] = l->edges[k].same == BERTH_NONE ? k : first[l->edges[k].same];
    last[first[k]] = k;
  }
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    if (k % 4096 == 0 && (st = berth_i_interrupted(l->e.ctx)) != BERTH_OK) return st;
    if (first[k] == k) st = put_edge(l, k, last[k]);
  }
  return st;
}

/* The columns of keys again: now it is known whether they are numbers. */
static berth_status find_columns(berth_i_listed *l) {
  berth_status st = BERTH_OK;
  for (int place = BERTH_I_IN_NODE; place < BERTH_I_PLACES; place++) {
    berth_i_listed_keys *keys = &l->keys[place];
    for (int32_t k = 0; k < keys->names.n && st == BERTH_OK; k++)
      st = berth_i_elements_key(&l->e, &keys->at[k], (berth_i_place)place,
                                &keys->at[k].column[place]);
  }
  return st;
}

berth_status berth_i_listed_finish(berth_i_listed *l, berth_bundle *out) {
  berth_status st;
  if ((st = find_columns(l)) != BERTH_OK) return st;
  if ((st = berth_i_elements_begin(&l->e)) != BERTH_OK) return st;
  if ((st = put_nodes(l)) != BERTH_OK || (st = put_edges(l)) != BERTH_OK) return st;
  return berth_i_elements_finish(&l->e, out);
}
