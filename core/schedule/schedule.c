/* The noun schedule: words from actions and back, with every mistake named. Micro-batches are not
 * stored: the k-th F, B (FULL counts as B) of a chunk is that of its k-th micro-batch, the k-th W
 * that of the k-th B without W. */
#include "schedule_internal.h"

size_t berth_i_word_most(const berth_schedule_problem *p, int32_t stage) {
  size_t n = 0;
  for (int32_t k = 0; k < p->v; k++) n += (size_t)p->count[p->chunk[stage * p->v + k]];
  return (p->o.joined ? 2 : 3) * n;
}

void berth_i_words_begin(berth_i_words *w) {
  w->begin[0] = 0;
  for (int32_t s = 0; s < w->p->p; s++) w->begin[s + 1] = w->begin[s] + berth_i_word_most(w->p, s);
}

berth_status berth_i_words_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                berth_i_words *out) {
  berth_i_words w = { p, berth_i_pool_alloc(pool, (size_t)p->p + 1, sizeof *w.begin), NULL };
  if (!w.begin) return berth_i_pool_status(pool);
  berth_i_words_begin(&w);
  w.code = berth_i_pool_zalloc(pool, w.begin[p->p], sizeof *w.code);
  *out = w;
  return berth_i_pool_status(pool);
}

berth_status berth_i_schedule_of(berth_schedule_problem *p, const berth_i_words *w,
                                 const char *name, berth_schedule **out) {
  berth_schedule *s = berth_i_pool_object(p->ctx, sizeof *s);
  if (!s) return berth_i_nomem(p->ctx);
  berth_ctx_retain(p->ctx);
  berth_schedule_problem_retain(p);
  s->ctx = p->ctx;
  s->refs = 1;
  s->p = p;
  s->w.p = p;
  s->w.begin = berth_i_pool_copy(&s->pool, w->begin, (size_t)p->p + 1, sizeof *w->begin);
  s->w.code = berth_i_pool_copy(&s->pool, w->code, w->begin[p->p], sizeof *w->code);
  s->name = berth_i_pool_strdup(&s->pool, name ? name : "");
  berth_status st = berth_i_pool_status(&s->pool);
  if (st == BERTH_OK) *out = s;
  else berth_schedule_release(s);
  return st;
}

void berth_schedule_retain(berth_schedule *s) { s->refs++; }

void berth_schedule_release(berth_schedule *s) {
  if (!s || --s->refs > 0) return;
  berth_ctx *ctx = s->ctx;
  berth_schedule_problem_release(s->p);
  berth_i_pool_free(&s->pool);
  berth_ctx_release(ctx);
}

berth_schedule_problem *berth_schedule_problem_of(const berth_schedule *s) { return s->p; }
const char *berth_schedule_name(const berth_schedule *s) { return s->name; }

const char *berth_i_action_text(const berth_schedule_action *a, char *buf, size_t size) {
  static const char *const kinds[] = { "F", "B", "W", "BW" };
  berth_snprintf(buf, size, "%s%d.%d", kinds[a->kind], (int)a->chunk, (int)a->microbatch);
  return buf;
}

/* ---- words from actions ---- */

/* Of one chunk while its stage's word is read: next micro-batch of each kind, from 0. */
typedef struct progress {
  int32_t forward, backward, weight;
} progress;

/* What is being read: chunks' progress, and by (chunk, micro-batch) whether B took W with it. */
typedef struct reader {
  const berth_schedule_problem *p;
  progress *chunk; /* [n] */
  size_t *at;      /* [n] begin of a chunk's micro-batches in full */
  uint8_t *full;   /* [micro-batches of all chunks] */
} reader;

static berth_status wrong(const reader *r, berth_status st, int32_t s,
                          const berth_schedule_action *a, const char *what) {
  char text[48];
  return berth_i_fail(r->p->ctx, st, "schedule: stage%d: %s %s", (int)s,
                      berth_i_action_text(a, text, sizeof text), what);
}

/* The micro-batch, from 0 within its chunk, that is next for an action of that kind; the chunk's
 * count: none is left. */
static int32_t due(const reader *r, int32_t c, int32_t kind) {
  const progress *g = &r->chunk[c];
  if (kind == BERTH_SCHEDULE_FORWARD) return g->forward;
  if (kind != BERTH_SCHEDULE_WEIGHT) return g->backward;
  int32_t k = g->weight;
  while (k < r->p->count[c] && r->full[r->at[c] + (size_t)k]) k++;
  return k;
}

static void advance(reader *r, int32_t c, int32_t kind, int32_t k) {
  progress *g = &r->chunk[c];
  if (kind == BERTH_SCHEDULE_FORWARD) g->forward++;
  else if (kind == BERTH_SCHEDULE_WEIGHT) g->weight = k + 1;
  else r->full[r->at[c] + (size_t)g->backward++] = kind == BERTH_SCHEDULE_FULL;
}

static berth_status read_action(reader *r, int32_t s, const berth_schedule_action *a,
                                berth_i_code *out) {
  const berth_schedule_problem *p = r->p;
  if ((int)a->kind < 0 || (int)a->kind >= BERTH_I_KINDS)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "schedule: stage%d: unknown kind %d of an action",
                        (int)s, (int)a->kind);
  if (p->o.joined && a->kind >= BERTH_SCHEDULE_WEIGHT)
    return wrong(r, BERTH_EINVAL, s, a, "is an action of its own only without `joined`");
  if (a->chunk < 0 || a->chunk >= p->n || p->stage[a->chunk] != s)
    return wrong(r, BERTH_EINVAL, s, a, "is of no chunk of the stage");
  int32_t c = a->chunk, k = a->microbatch - p->first[c], next = due(r, c, a->kind);
  if (k < 0 || k >= p->count[c])
    return wrong(r, BERTH_EINVAL, s, a, "is of a micro-batch that the chunk does not run");
  if (k < next) return wrong(r, BERTH_EINVAL, s, a, "occurs a second time");
  if (a->kind != BERTH_SCHEDULE_FORWARD && k >= r->chunk[c].forward)
    return wrong(r, BERTH_EINVAL, s, a, "comes before its F");
  if (a->kind == BERTH_SCHEDULE_WEIGHT && k >= r->chunk[c].backward)
    return wrong(r, BERTH_EINVAL, s, a, "comes before its B");
  if (k > next)
    return wrong(r, BERTH_EUNSUPPORTED, s, a, "is out of order: earlier micro-batches come first");
  advance(r, c, a->kind, k);
  *out = berth_i_code_of(p->local[c], a->kind);
  return BERTH_OK;
}

static berth_status check_slot(const reader *r, int32_t s, int32_t i, int32_t n,
                               const berth_schedule_action *a) {
  if (!a->overlapped) return BERTH_OK;
  bool fits = i + 1 < n && a->kind != BERTH_SCHEDULE_WEIGHT && a[1].kind != BERTH_SCHEDULE_WEIGHT
              && (a->kind == BERTH_SCHEDULE_FORWARD) != (a[1].kind == BERTH_SCHEDULE_FORWARD)
              && a->chunk != a[1].chunk && !a[1].overlapped;
  return fits ? BERTH_OK
              : wrong(r, BERTH_EINVAL, s, a, "is in a slot that is not an F and a B of two chunks");
}

static berth_status check_complete(const reader *r) {
  const berth_schedule_problem *p = r->p;
  for (int32_t c = 0; c < p->n; c++)
    for (int32_t kind = 0; kind < 3 - p->o.joined; kind++) {
      int32_t k = due(r, c, kind);
      if (k >= p->count[c]) continue;
      berth_schedule_action a = { (berth_schedule_kind)kind, c, p->first[c] + k, 0 };
      char text[48];
      return berth_i_fail(p->ctx, BERTH_EINVAL, "schedule: stage%d lacks %s", (int)p->stage[c],
                          berth_i_action_text(&a, text, sizeof text));
    }
  return BERTH_OK;
}

static berth_status reader_make(const berth_schedule_problem *p, berth_i_pool *pool, reader *r) {
  size_t total = 0;
  *r = (reader){ p, berth_i_pool_zalloc(pool, (size_t)p->n, sizeof *r->chunk),
                 berth_i_pool_alloc(pool, (size_t)p->n, sizeof *r->at), NULL };
  for (int32_t c = 0; r->at && c < p->n; c++) {
    r->at[c] = total;
    total += (size_t)p->count[c];
  }
  r->full = berth_i_pool_zalloc(pool, total, 1);
  return berth_i_pool_status(pool);
}

static berth_status read_words(reader *r, const int32_t *count, const berth_schedule_action *a,
                               berth_i_words *w) {
  const berth_schedule_problem *p = r->p;
  berth_status st = BERTH_OK;
  size_t n = 0;
  for (int32_t s = 0; s < p->p; s++) {
    if (count[s] < 0 || (size_t)count[s] > berth_i_word_most(p, s))
      return berth_i_fail(p->ctx, BERTH_EINVAL, "schedule: stage%d has %d actions, at most %.0f",
                          (int)s, (int)count[s], (double)berth_i_word_most(p, s));
    w->begin[s] = n;
    for (int32_t i = 0; i < count[s] && st == BERTH_OK; i++, n++) {
      const berth_schedule_action *x = a + n;
      st = read_action(r, s, x, &w->code[n]);
      if (st == BERTH_OK) st = check_slot(r, s, i, count[s], x);
      if (x->overlapped) w->code[n] |= BERTH_I_OVERLAPPED;
    }
    if (st != BERTH_OK) return st;
  }
  w->begin[p->p] = n;
  return check_complete(r);
}

berth_status berth_schedule_new(berth_schedule_problem *p, const int32_t *count,
                                const berth_schedule_action *action, const char *name,
                                berth_schedule **out) {
  if (!p || !count || !action || !out) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  reader r;
  berth_i_words w;
  berth_status st = reader_make(p, &pool, &r);
  if (st == BERTH_OK) st = berth_i_words_make(p, &pool, &w);
  if (st == BERTH_OK) st = read_words(&r, count, action, &w);
  if (st == BERTH_OK) st = berth_i_schedule_of(p, &w, name, out);
  berth_i_pool_free(&pool);
  return st;
}

/* ---- actions from words ---- */

/* Micro-batches of W follow the B's without W: the next such is sought from the last one on, so a
 * word is read in O(actions x chunks of a stage). */
int32_t berth_schedule_actions(const berth_schedule *s, int32_t stage, berth_schedule_action *out) {
  const berth_schedule_problem *p = s->p;
  if (stage < 0 || stage >= p->p) return 0;
  const berth_i_code *code = s->w.code + s->w.begin[stage];
  int32_t n = (int32_t)(s->w.begin[stage + 1] - s->w.begin[stage]);
  for (int32_t k = 0; out && k < p->v; k++) {
    int32_t c = p->chunk[stage * p->v + k], forward = p->first[c], backward = p->first[c];
    int32_t open = 0; /* the B whose W is next, as place in the word */
    for (int32_t i = 0; i < n; i++) {
      if (berth_i_local(code[i]) != k) continue;
      int32_t kind = berth_i_kind(code[i]);
      out[i] = (berth_schedule_action){ (berth_schedule_kind)kind, c, 0,
                               (code[i] & BERTH_I_OVERLAPPED) != 0 };
      if (kind == BERTH_SCHEDULE_FORWARD) out[i].microbatch = forward++;
      else if (kind != BERTH_SCHEDULE_WEIGHT) out[i].microbatch = backward++;
      else {
        berth_i_code b = berth_i_code_of(k, BERTH_SCHEDULE_BACKWARD);
        while ((code[open] & ~BERTH_I_OVERLAPPED) != b) open++;
        out[i].microbatch = out[open++].microbatch;
      }
    }
  }
  return n;
}
