/* Pieces and what they send: which dependencies form collectives, what each takes, and priorities
 * (shortest first, static, as published). Edges around a split op are one collective if as many
 * dependencies begin on each server as end there; other transfers are one to one. Along the batch a
 * piece sends to that with its number alone. Rows of one
 * edge, or of one op and distance, take the same time: a class, of which there is one rank.
 * O(pieces edges + classes log classes). */
#include "base/sort_internal.h"
#include "ramp_internal.h"

/* Bits of a distance between two servers. */
enum { OTHER_GROUP = 1, OTHER_RACK = 2, OTHER_SLOT = 4, DISTANCES = 8 };

static int32_t distance(const berth_ramp *r, int32_t a, int32_t b) {
  return (berth_i_ramp_group(r, a) != berth_i_ramp_group(r, b) ? OTHER_GROUP : 0) |
         (berth_i_ramp_rack(r, a) != berth_i_ramp_rack(r, b) ? OTHER_RACK : 0) |
         (berth_i_ramp_slot(r, a) != berth_i_ramp_slot(r, b) ? OTHER_SLOT : 0);
}

static const int32_t *homes(const berth_ramp_planner *p, int32_t v) {
  return p->home + p->where[v];
}

/* ---- collectives ---- */

/* The op whose collective an edge may be part of. */
static int32_t owner(const berth_ramp_model *m, int32_t e) {
  return m->backward[m->edge[e].src] ? m->edge[e].dst : m->edge[e].src;
}

/* The edges that a split op forms a collective of, if it does: those out of a forward op, those
 * into a backward op. */
static int32_t set_edges(const berth_ramp_model *m, int32_t v, const int32_t **edges) {
  const int32_t *start = m->backward[v] ? m->in_start : m->out_start;
  *edges = (m->backward[v] ? m->in : m->out) + start[v];
  return start[v + 1] - start[v];
}

/* Seconds of the collective around op v; negative if its dependencies are transfers of their own.
 * It is one if as many dependencies begin on each server as end there. */
static double time_of_set(berth_ramp_planner *p, const berth_ramp_model *m, int32_t v) {
  const int32_t *edges;
  int32_t n = set_edges(m, v, &edges), ends = 0, k = p->pieces[v];
  if (k == 1) return -1;
  double bytes = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t w = m->backward[v] ? m->edge[edges[i]].src : m->edge[edges[i]].dst;
    /* exact: an edge is part of one collective only, also from a forward to a backward op */
    if (m->edge[edges[i]].batch || (!m->ramp->o.compat && owner(m, edges[i]) != v)) continue;
    for (int32_t j = 0; j < p->pieces[w]; j++) p->count[homes(p, w)[j]] += k;
    ends += p->pieces[w];
    bytes += p->size[edges[i]] * k * p->pieces[w];
  }
  for (int32_t i = 0; i < k; i++) p->count[homes(p, v)[i]] -= ends;
  bool balanced = ends > 0;
  for (int32_t s = 0; s < p->ramp->servers; s++) {
    balanced = balanced && p->count[s] == 0;
    p->count[s] = 0;
  }
  if (!balanced) return -1;
  return berth_i_ramp_reduce(p->ramp, berth_i_ramp_spread_of(p->ramp, k, homes(p, v)), bytes);
}

/* ---- classes: what takes the same time ---- */

static bool syncs(const berth_ramp_planner *p, const berth_ramp_model *m, int32_t v) {
  return m->backward[v] && p->pieces[v] > 1;
}

BERTH_I_SORT(sort_classes, berth_i_ramp_class, BERTH_I_DOWN(time) BERTH_I_UP(index))

static int32_t sync_class(const berth_ramp_model *m, int32_t v, int32_t d) {
  return m->n_edges + DISTANCES * v + d;
}

static void rank_classes(berth_ramp_planner *p, const berth_ramp_model *m) {
  const berth_ramp *r = p->ramp;
  int32_t n = 0, all = m->n_edges + DISTANCES * 2 * m->n;
  /* 1. Edges: the time of their collective, or of a transfer between two servers. */
  for (int32_t e = 0; e < m->n_edges; e++) {
    double time = m->edge[e].batch ? -1 : p->set_time[owner(m, e)];
    if (time < 0)
      time = p->size[e] > 0 ? berth_ramp_transfer(r, 0, r->servers > 1 ? 1 : 0, p->size[e]) : 0;
    p->klass[e] = (berth_i_ramp_class){ time, e, 0 };
  }
  /* 2. Synchronisations. Published: two pieces at distance d send each other what one of them
   * holds. exact: all pieces of a backward op add up the gradients of its parameters. */
  for (int32_t v = 0; v < 2 * m->n; v++)
    for (int32_t d = 0; d < DISTANCES; d++) {
      double time = -1;
      if (syncs(p, m, v) && r->o.compat) {
        berth_i_ramp_spread s = { 1 + (d & OTHER_GROUP ? 1 : 0), 1 + (d & OTHER_RACK ? 1 : 0),
                                  1 + (d & OTHER_SLOT ? 1 : 0), 1, d == 0 };
        time = berth_i_ramp_reduce(r, s, 2 * p->held[v]);
      } else if (syncs(p, m, v) && d == 0) {
        time = berth_i_ramp_reduce(r, berth_i_ramp_spread_of(r, p->pieces[v], homes(p, v)),
                                   m->params[v]);
      }
      p->klass[sync_class(m, v, d)] = (berth_i_ramp_class){ time, sync_class(m, v, d), 0 };
    }
  /* 3. Ranks: the shortest the highest. */
  for (int32_t c = 0; c < all; c++)
    if (p->klass[c].time >= 0) p->sorted[n++] = p->klass[c];
  sort_classes(p->sorted, (size_t)n);
  for (int32_t i = 0; i < n; i++) p->klass[p->sorted[i].index].rank = i;
}

/* Shortest first; among equals the one placed last: forward ops in topological order, each twin
 * behind its op. */
static void rank_ops(berth_ramp_planner *p, const berth_ramp_model *m) {
  int32_t groups = 2 * m->n;
  for (int32_t i = 0; i < m->n; i++) {
    int32_t v = m->kahn[i], w = m->twin[v];
    p->sorted[2 * i] = (berth_i_ramp_class){ m->cost[v] / p->pieces[v], 2 * i, v };
    p->sorted[2 * i + 1] = (berth_i_ramp_class){ m->cost[w] / p->pieces[w], 2 * i + 1, w };
  }
  sort_classes(p->sorted, (size_t)groups);
  for (int32_t i = 0; i < groups; i++) p->priority[p->sorted[i].rank] = i;
}

/* ---- pieces and rows ---- */

static void fill_pieces(berth_ramp_planner *p, const berth_ramp_model *m) {
  for (int32_t v = 0; v < 2 * m->n; v++) {
    int32_t need = 0;
    for (int32_t i = m->in_start[v]; i < m->in_start[v + 1]; i++)
      need += m->edge[m->in[i]].batch ? 1 : p->pieces[m->edge[m->in[i]].src];
    for (int32_t i = 0; i < p->pieces[v]; i++) {
      int32_t piece = p->base[v] + i;
      p->server[piece] = homes(p, v)[i];
      p->group[piece] = v;
      p->need[piece] = need;
      p->done[piece] = 0;
      p->left[piece] = m->cost[v] / p->pieces[v];
    }
  }
}

/* Sends to n pieces of row.dst from the first on: to those at the distance row.near, if it is
 * given. */
static void add_row(berth_ramp_planner *p, int32_t piece, berth_i_ramp_row row, int32_t first,
                    int32_t n, double size, berth_ramp_outcome *out) {
  uint64_t *mask = p->mask + (size_t)p->n_rows * (size_t)p->words;
  int32_t here = p->server[piece], away = 0;
  memset(mask, 0, (size_t)p->words * sizeof *mask);
  for (int32_t j = first; j < first + n; j++) {
    int32_t s = homes(p, row.dst)[j];
    if (s == here) {
      if (row.dst != p->group[piece]) row.local = p->base[row.dst] + j;
    } else if (row.near == BERTH_NONE || row.near == distance(p->ramp, here, s)) {
      mask[s / 64] |= (uint64_t)1 << (s % 64);
      away++;
    }
  }
  if (away == 0 && row.local == BERTH_NONE) return;
  p->row[p->n_rows] = row;
  p->source[p->n_rows] = piece;
  p->row_left[p->n_rows++] = row.time;
  if (row.free) return;
  out->flows += away;
  out->flow_bytes += away * size;
}

static void add_edge_rows(berth_ramp_planner *p, const berth_ramp_model *m, int32_t piece,
                          berth_ramp_outcome *out) {
  int32_t v = p->group[piece];
  for (int32_t i = m->out_start[v]; i < m->out_start[v + 1]; i++) {
    int32_t e = m->out[i], dst = m->edge[e].dst, set = 2 * owner(m, e);
    bool batch = m->edge[e].batch;
    if (batch || p->ramp->o.compat || p->set_time[owner(m, e)] < 0) set = BERTH_NONE;
    berth_i_ramp_row row = { dst,              BERTH_NONE,        BERTH_NONE,      set,
                             p->klass[e].rank, !(p->size[e] > 0), p->klass[e].time };
    add_row(p, piece, row, batch ? piece - p->base[v] : 0, batch ? 1 : p->pieces[dst],
            p->size[e], out);
  }
}

static void add_sync_rows(berth_ramp_planner *p, const berth_ramp_model *m, int32_t piece,
                          berth_ramp_outcome *out) {
  int32_t v = p->group[piece], last = p->ramp->o.compat ? DISTANCES - 1 : 0;
  double bytes = p->ramp->o.compat ? p->held[v] : m->params[v] / p->pieces[v];
  if (!syncs(p, m, v)) return;
  for (int32_t d = p->ramp->o.compat ? 1 : 0; d <= last; d++) {
    const berth_i_ramp_class *c = &p->klass[sync_class(m, v, d)];
    berth_i_ramp_row row = { v,          d == 0 ? BERTH_NONE : d,
                             BERTH_NONE, d == 0 ? 2 * v + 1 : BERTH_NONE,
                             c->rank,    !(bytes > 0),
                             c->time };
    add_row(p, piece, row, 0, p->pieces[v], bytes, out);
  }
}

static void count(const berth_ramp_planner *p, const berth_ramp_model *m, berth_ramp_outcome *out) {
  for (int32_t e = 0; e < m->n_edges; e++) {
    double n = m->edge[e].batch ? 1 : p->pieces[m->edge[e].dst];
    n *= p->pieces[m->edge[e].src];
    out->deps += (int64_t)n;
    out->bytes += n * p->size[e];
  }
  for (int32_t v = 0; v < 2 * m->n; v++) {
    double k = p->pieces[v];
    out->memory += k * p->held[v];
    if (!syncs(p, m, v)) continue;
    out->deps += (int64_t)(k * (k - 1));
    out->bytes += k * (k - 1) * (p->ramp->o.compat ? p->held[v] : m->params[v] / k);
  }
}

berth_status berth_i_ramp_schedule(berth_ramp_planner *p, const berth_ramp_model *m,
                                   berth_ramp_outcome *out) {
  /* Rows: transfers of edges and of synchronisations, at most. */
  size_t rows = 1;
  for (int32_t v = 0; v < 2 * m->n; v++)
    rows += (size_t)p->pieces[v]
         * ((size_t)(m->out_start[v + 1] - m->out_start[v]) + (syncs(p, m, v) ? DISTANCES : 0));
  berth_status st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_PIECES, (size_t)p->n_pieces + 1);
  if (st == BERTH_OK) st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_ROWS, rows);
  if (st == BERTH_OK) st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_MASKS, rows * (size_t)p->words);
  if (st != BERTH_OK) return st;
  memset(p->count, 0, (size_t)p->ramp->servers * sizeof *p->count);
  for (int32_t v = 0; v < 2 * m->n; v++) p->set_time[v] = time_of_set(p, m, v);
  rank_ops(p, m);
  rank_classes(p, m);
  fill_pieces(p, m);
  p->n_rows = 0;
  for (int32_t piece = 0; piece < p->n_pieces; piece++) {
    p->first_row[piece] = p->n_rows;
    add_edge_rows(p, m, piece, out);
    add_sync_rows(p, m, piece, out);
  }
  p->first_row[p->n_pieces] = p->n_rows;
  count(p, m, out);
  int32_t n = 0, words = p->words;
  size_t all = (size_t)p->ramp->servers * (size_t)words;
  memset(p->reach, 0, all * sizeof *p->reach);
  for (int32_t row = 0; row < p->n_rows; row++)
    for (int32_t w = 0; w < words && !p->row[row].free; w++)
      p->reach[p->server[p->source[row]] * words + w] |=
          p->mask[(size_t)row * (size_t)words + (size_t)w];
  for (size_t i = 0; i < all; i++) n += berth_i_count_bits(p->reach[i]);
  out->channels = n;
  return BERTH_OK;
}
