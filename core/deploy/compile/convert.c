/* A tensor from the form in which it is made to that in which it is read: whole or cut on the
 * devices of a place. Each form is made once and kept as a version for later readers. A cut tensor
 * is moved piece by piece: a source with several pieces splits, a target with several
 * concatenates. */
#include "compile_internal.h"

/** One conversion. */
typedef struct conversion {
  berth_i_arena *a;
  const berth_deploy *d;
  int32_t t, u;              /* tensor, its producer */
  berth_i_form from, to;
  int32_t n_from, n_to;
  const int32_t *from_device, *to_device;
  int32_t *ids;              /* [n_to] out */
} conversion;

static int32_t replica(const conversion *j, int32_t k) { return j->a->first_tensor[j->t] + k; }
static double bytes_of(const conversion *j, int32_t samples) {
  return j->d->g->tensor_bytes[j->t] * samples / j->d->batch;
}

static int32_t position_of(const berth_deploy *d, int32_t place, int32_t device) {
  return d->position[(size_t)place * (size_t)d->n_devices + (size_t)device];
}

/* ---- whole -> whole ---- */

/* The replica that position k of the reader takes: on its device, in its machine, in turn; as
 * published the first. It follows from the device, so that readers in other places take the
 * same. */
static int32_t nearest(const conversion *j, int32_t k) {
  const berth_device *device = j->d->t->devices;
  int32_t target = j->to_device[k], i = position_of(j->d, berth_i_form_place(j->from), target);
  if (i != BERTH_NONE) return i;
  if (j->d->o.positional) return 0;
  for (i = 0; i < j->n_from; i++) {
    int32_t turn = (i + target) % j->n_from;
    if (device[j->from_device[turn]].machine == device[target].machine) return turn;
  }
  return target % j->n_from;
}

/* ---- splits and concatenations ---- */

static int32_t samples_from(const conversion *j, int32_t k) {
  return berth_i_form_samples(j->d, j->from, k);
}
static int32_t samples_to(const conversion *j, int32_t k) {
  return berth_i_form_samples(j->d, j->to, k);
}

static int32_t add_split(const conversion *j, int32_t tensor, int32_t device, int32_t samples) {
  int32_t op = berth_i_add_auxiliary(j->a, j->u, BERTH_PART_SPLIT, device, samples,
                                     2 * bytes_of(j, samples));
  berth_i_add_edge(j->a, tensor, op);
  return op;
}

static int32_t add_piece(const conversion *j, int32_t op, int32_t samples) {
  return berth_i_add_piece(j->a, op, j->t, (double)samples / j->d->batch);
}

/* @param tensor out @return op */
static int32_t add_concat(const conversion *j, int32_t device, int32_t samples, bool free,
                          int32_t *tensor) {
  int32_t op = berth_i_add_auxiliary(j->a, j->u, BERTH_PART_CONCAT, device, samples,
                                     free ? 0 : 2 * bytes_of(j, samples));
  *tensor = add_piece(j, op, samples);
  return op;
}

/* ---- whole -> cut ---- */

static int32_t server(const conversion *j, int32_t k) {
  return j->d->o.positional ? 0 : nearest(j, k);
}

static void split_at(const conversion *j, int32_t source) {
  int32_t samples = 0;
  for (int32_t k = 0; k < j->n_to; k++) samples += server(j, k) == source ? samples_to(j, k) : 0;
  if (samples == 0) return;
  int32_t op = add_split(j, replica(j, source), j->from_device[source], samples);
  for (int32_t k = 0; k < j->n_to; k++)
    if (server(j, k) == source && samples_to(j, k) > 0)
      j->ids[k] = add_piece(j, op, samples_to(j, k));
}

/* ---- cut -> cut ---- */

/* Sources and targets with one piece of all need no op. */
static int32_t count_pieces(const berth_i_moves *m, int32_t k, bool source) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n; i++) n += (source ? m->move[i].src : m->move[i].dst) == k;
  return n;
}

/* Moves are by source. Each source with several is split, each target with several concatenated:
 * ids holds the concatenation's output, concat_op the concatenation itself. */
static void exchange(const conversion *j) {
  const berth_i_moves *m;
  int32_t split = BERTH_NONE;
  j->a->st = berth_i_deploy_moves(j->a->d, j->from, j->to, &m);
  for (int32_t i = 0; j->a->st == BERTH_OK && i < m->n; i++) {
    int32_t src = m->move[i].src, dst = m->move[i].dst;
    if (i == 0 || m->move[i - 1].src != src)
      split = count_pieces(m, src, true) > 1
                  ? add_split(j, replica(j, src), j->from_device[src], samples_from(j, src))
                  : BERTH_NONE;
    int32_t piece =
        split == BERTH_NONE ? replica(j, src) : add_piece(j, split, m->move[i].samples);
    if (count_pieces(m, dst, false) == 1) {
      j->ids[dst] = piece;
      continue;
    }
    if (j->ids[dst] == BERTH_NONE)
      j->a->concat_op[dst] =
          add_concat(j, j->to_device[dst], samples_to(j, dst), false, &j->ids[dst]);
    berth_i_add_edge(j->a, piece, j->a->concat_op[dst]);
  }
}

/* As published: one concatenation and one split for each of the largest equal groups of sources and
 * targets, on the first source of the group. */
static void regroup(const conversion *j, int32_t group, int32_t sources, int32_t targets) {
  int32_t samples = 0, device = j->from_device[group * sources];
  for (int32_t k = 0; k < targets; k++) samples += samples_to(j, group * targets + k);
  int32_t whole = replica(j, group * sources);
  if (sources > 1) {
    int32_t op = add_concat(j, device, samples, false, &whole);
    for (int32_t k = group * sources; k < (group + 1) * sources; k++)
      if (samples_from(j, k) > 0) berth_i_add_edge(j->a, replica(j, k), op);
  }
  if (targets == 1) {
    j->ids[group] = samples > 0 ? whole : BERTH_NONE;
    return;
  }
  int32_t op = add_split(j, whole, device, samples);
  for (int32_t k = group * targets; k < (group + 1) * targets; k++)
    if (samples_to(j, k) > 0) j->ids[k] = add_piece(j, op, samples_to(j, k));
}

/* Uneven shares need not add up in these groups: then as not published. */
static void exchange_published(const conversion *j) {
  int32_t groups = j->n_from; /* the greatest common divisor */
  for (int32_t b = j->n_to; b != 0;) {
    int32_t rest = groups % b;
    groups = b;
    b = rest;
  }
  int32_t sources = j->n_from / groups, targets = j->n_to / groups;
  for (int32_t g = 0; g < groups; g++) {
    int32_t balance = 0;
    for (int32_t k = 0; k < sources; k++) balance += samples_from(j, g * sources + k);
    for (int32_t k = 0; k < targets; k++) balance -= samples_to(j, g * targets + k);
    if (balance == 0) continue;
    exchange(j);
    return;
  }
  for (int32_t g = 0; g < groups; g++) regroup(j, g, sources, targets);
}

/* ---- cut -> whole ---- */

static void join_at(const conversion *j, int32_t k) {
  int32_t op = add_concat(j, j->to_device[k], j->d->batch, false, &j->ids[k]);
  for (int32_t i = 0; i < j->n_from; i++)
    if (samples_from(j, i) > 0) berth_i_add_edge(j->a, replica(j, i), op);
}

static void join_once(const conversion *j, int32_t at) {
  join_at(j, at);
  for (int32_t k = 0; k < j->n_to; k++) j->ids[k] = j->ids[at];
}

/* Where the source is that is on the device of target k; BERTH_NONE. */
static int32_t source_at(const conversion *j, int32_t k) {
  return position_of(j->d, berth_i_form_place(j->from), j->to_device[k]);
}

/* Devices that have nothing of it take part with a bucket that waits for nothing. The
 * concatenations take no time: the collective puts parts where they belong. */
static void all_gather(const conversion *j, int32_t members) {
  berth_i_begin_collective(j->a, BERTH_ALLGATHER, j->d->g->tensor_bytes[j->t] / members, 1);
  for (int32_t k = 0; k < j->n_from; k++) berth_i_add_member(j->a, j->a->first_op[j->u] + k);
  for (int32_t k = 0; k < j->n_to; k++)
    if (source_at(j, k) == BERTH_NONE)
      berth_i_add_member(j->a, berth_i_add_auxiliary(j->a, j->u, BERTH_PART_BUCKET,
                                                     j->to_device[k], 0, 0));
  for (int32_t k = 0; k < j->n_to; k++) {
    int32_t i = source_at(j, k),
            op = add_concat(j, j->to_device[k], j->d->batch, true, &j->ids[k]);
    if (i != BERTH_NONE && samples_from(j, i) > 0) berth_i_add_edge(j->a, replica(j, i), op);
    berth_i_add_waiting(j->a, op);
  }
}

static void gather(const conversion *j, int32_t reader) {
  const berth_action *action = &j->d->action[j->a->action[j->d->group[reader]]];
  int32_t members = j->n_from, richest = 0, most = -1; /* the target that has most of it */
  for (int32_t k = 0; k < j->n_to; k++) {
    int32_t i = source_at(j, k), samples = i == BERTH_NONE ? 0 : samples_from(j, i);
    members += i == BERTH_NONE;
    if (samples > most) richest = k, most = samples;
  }
  if (j->n_to == 1) join_at(j, 0);
  else if (j->d->role[reader] == BERTH_ROLE_SCATTER && action->option == BERTH_DEPLOY_PS)
    join_once(j, j->d->update_number[reader] % j->n_to);
  else if (j->d->o.positional || !j->d->o.gather) join_once(j, j->d->o.positional ? 0 : richest);
  else if (2 * j->n_to >= members) all_gather(j, members);
  else
    for (int32_t k = 0; k < j->n_to; k++) join_at(j, k);
}

/* ---- versions ---- */

static void convert(const conversion *j, int32_t reader) {
  if (berth_i_tensor_kind(j->d, j->t) != BERTH_I_CUT
      || !(berth_i_is_cut(j->from) || berth_i_is_cut(j->to)))
    for (int32_t k = 0; k < j->n_to; k++) j->ids[k] = replica(j, nearest(j, k));
  else if (!berth_i_is_cut(j->from))
    for (int32_t k = 0; k < j->n_from; k++) split_at(j, k);
  else if (!berth_i_is_cut(j->to)) gather(j, reader);
  else if (j->d->o.positional) exchange_published(j);
  else exchange(j);
}

const int32_t *berth_i_convert(berth_i_arena *a, int32_t tensor, int32_t reader) {
  const berth_deploy *d = a->d;
  int32_t u = d->g->producer[tensor], from = berth_i_form_place(a->form[u]),
          place = berth_i_form_place(a->form[reader]), n = berth_i_place_size(d, place);
  /* Only what is cut along the batch is read in parts. */
  berth_i_form to = berth_i_tensor_kind(d, tensor) == BERTH_I_CUT
                        ? a->form[reader]
                        : berth_i_form_of(place, BERTH_I_WHOLE);
  /* 1. A version that there is. */
  const berth_i_version *all = a->versions.at;
  for (int32_t k = a->version[tensor]; k != BERTH_NONE; k = all[k].next)
    if (all[k].form == to) return (const int32_t *)a->ids.at + all[k].first;
  int32_t first = berth_i_items_take(a, &a->ids, (size_t)n, sizeof(int32_t));
  if (first == BERTH_NONE) return NULL;
  int32_t *ids = (int32_t *)a->ids.at + first;
  for (int32_t k = 0; k < n; k++) ids[k] = BERTH_NONE;
  /* 2. A sum of what replicas that share the batch make; else a conversion. */
  bool keep = true;
  if (berth_i_is_cut(a->form[u]) && berth_i_tensor_kind(d, tensor) == BERTH_I_PARTIAL) {
    keep = berth_i_reduce(a, tensor, reader, ids);
  } else {
    conversion j = { a, d, tensor, u, a->form[u], to, berth_i_place_size(d, from), n,
              berth_i_place_devices(d, from), berth_i_place_devices(d, place), ids };
    convert(&j, reader);
  }
  /* 3. Kept for later readers. */
  int32_t k = keep ? berth_i_items_take(a, &a->versions, 1, sizeof(berth_i_version)) : BERTH_NONE;
  if (k == BERTH_NONE) return ids;
  ((berth_i_version *)a->versions.at)[k] = (berth_i_version){ to, first, a->version[tensor] };
  a->version[tensor] = k;
  return ids;
}
