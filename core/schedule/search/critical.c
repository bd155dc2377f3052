/* Where a skeleton's step comes from: from the end of the longest stage back, each action on the
 * path waited for its input or for the action before it on its stage. An action of the path whose
 * input was there earlier may profit from going before what delayed it. O(actions). */
#include "search_internal.h"

berth_status berth_i_critical_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                   berth_i_critical *k) {
  size_t most = 0;
  for (int32_t s = 0; s < p->p; s++) most += berth_i_word_most(p, s);
  k->n = 0;
  k->stage = berth_i_pool_alloc(pool, most, sizeof *k->stage);
  k->code = berth_i_pool_alloc(pool, most, sizeof *k->code);
  k->number = berth_i_pool_alloc(pool, most, sizeof *k->number);
  k->start = berth_i_pool_alloc(pool, most, sizeof *k->start);
  k->finish = berth_i_pool_alloc(pool, most, sizeof *k->finish);
  k->place = berth_i_pool_alloc(pool, most, sizeof *k->place);
  k->at = berth_i_pool_alloc(pool, 2 * (size_t)p->n + 1, sizeof *k->at);
  k->count = berth_i_pool_alloc(pool, most, sizeof *k->count);
  return berth_i_pool_status(pool);
}

/* Places of F's and B's in the words by lane and number, and the number of each action. */
static void index_words(berth_i_critical *k, const berth_i_words *w) {
  const berth_schedule_problem *p = w->p;
  size_t at = 0;
  for (int32_t l = 0; l < 2 * p->n; l++) {
    k->at[l] = at;
    at += (size_t)p->count[l / 2];
  }
  for (int32_t s = 0; s < p->p; s++)
    for (int32_t kind = 0; kind < 2; kind++)
      for (int32_t i = 0; i < p->v; i++) {
        size_t next = k->at[berth_i_lane(p->chunk[s * p->v + i], kind)];
        int32_t number = 0;
        for (size_t j = w->begin[s]; j < w->begin[s + 1]; j++)
          if (w->code[j] == berth_i_code_of(i, kind)) {
            k->place[next++] = j;
            k->count[j] = number++;
          }
      }
}

static int32_t longest_stage(const berth_i_critical *k, const berth_i_words *w) {
  const berth_schedule_problem *p = w->p;
  bool span = p->o.objective == BERTH_SCHEDULE_SPAN;
  int32_t best = 0;
  double most = -1;
  for (int32_t s = 0; s < p->p; s++) {
    double took = k->finish[w->begin[s + 1] - 1] + p->extra[s];
    if (span) took -= k->start[w->begin[s]];
    if (took <= most * (1 + 1e-12)) continue;
    most = took;
    best = s;
  }
  return best;
}

void berth_i_critical_find(berth_i_critical *k, berth_i_run *run, const berth_i_words *w) {
  const berth_schedule_problem *p = w->p;
  berth_i_run_words(run, w, k->start, k->finish);
  index_words(k, w);
  k->n = 0;
  int32_t s = longest_stage(k, w);
  size_t i = w->begin[s + 1] - 1;
  for (;;) {
    int32_t kind = berth_i_kind(w->code[i]), c = berth_i_chunk(p, s, w->code[i]);
    double arrival = 0;
    size_t from = 0;
    int32_t source = BERTH_NONE;
    if (kind != BERTH_SCHEDULE_WEIGHT) {
      int32_t lane = berth_i_lane(c, kind);
      source = p->source[lane];
      if (source != BERTH_NONE) {
        from = k->place[k->at[source] + (size_t)k->count[i]];
        arrival = k->finish[from] + p->wait[lane];
      }
    }
    bool first = i == w->begin[s];
    bool delayed = !first && k->finish[i - 1] > arrival * (1 + 1e-12);
    if (delayed && kind != BERTH_SCHEDULE_WEIGHT) {
      k->stage[k->n] = s;
      k->code[k->n] = w->code[i];
      k->number[k->n++] = k->count[i];
    }
    if (delayed) i--;
    else if (source == BERTH_NONE) {
      if (first || kind != BERTH_SCHEDULE_WEIGHT) return;
      i--;
    } else {
      s = p->stage[source / 2];
      i = from;
    }
  }
}
