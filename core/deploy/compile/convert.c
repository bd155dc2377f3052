/* A tensor from the form in which it is made to that in which it is read. */
#include "compile_internal.h"

/** One conversion. */
typedef struct Job {
  berth_i_arena *a;
  const berth_deploy *d;
  int32_t t, u;              /* tensor, its producer */
  berth_i_form from, to;
  int32_t n_from, n_to;
  const int32_t *from_device, *to_device;
  int32_t *ids;              /* [n_to] out */
} Job;

static int32_t replica(const Job *j, int32_t k) { return j->a->first_tensor[j->t] + k; }
static double bytes_of(const Job *j, int32_t samples) {
  return j->d->g->tensor_bytes[j->t] * samples / j->d->batch;
}

static int32_t position_of(const berth_deploy *d, int32_t place, int32_t device) {
  return d->position[(size_t)place * (size_t)d->n_devices + (size_t)device];
}

/* ---- whole -> whole ---- */

/* The replica that position k of the reader takes: on its device, in its machine, in turn; as
 * published the first. It follows from the device, so that readers in other places take the
 * same. */
static int32_t nearest(const Job *j, int32_t k) {
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

static berth_status add_split(const Job *j, int32_t tensor, int32_t device, int32_t samples,
                              int32_t *op) {
  berth_status st = berth_i_add_auxiliary(j->a, j->u, BERTH_PART_SPLIT, device, samples,
                                          2 * bytes_of(j, samples), op);
  return st == BERTH_OK ? berth_i_add_edge(j->a, tensor, *op) : st;
}

static berth_status add_piece(const Job *j, int32_t op, int32_t samples, int32_t *tensor) {
  return berth_i_add_piece(j->a, op, j->t, (double)samples / j->d->batch, tensor);
}

static berth_status add_concat(const Job *j, int32_t device, int32_t samples, bool free,
                               int32_t *op, int32_t *tensor) {
  double bytes = free ? 0 : 2 * bytes_of(j, samples);
  berth_status st =
      berth_i_add_auxiliary(j->a, j->u, BERTH_PART_CONCAT, device, samples, bytes, op);
  return st == BERTH_OK ? add_piece(j, *op, samples, tensor) : st;
}

/* ---- whole -> cut ---- */

static int32_t samples_to(const Job *j, int32_t k) { return berth_i_form_samples(j->d, j->to, k); }

static int32_t server(const Job *j, int32_t k) { return j->d->o.positional ? 0 : nearest(j, k); }

static berth_status split_at(const Job *j, int32_t source) {
  int32_t samples = 0, op = BERTH_NONE;
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < j->n_to; k++) samples += server(j, k) == source ? samples_to(j, k) : 0;
  if (samples == 0) return BERTH_OK;
  if ((st = add_split(j, replica(j, source), j->from_device[source], samples, &op)) != BERTH_OK)
    return st;
  for (int32_t k = 0; k < j->n_to && st == BERTH_OK; k++) {
    if (server(j, k) == source && samples_to(j, k) > 0)
      st = add_piece(j, op, samples_to(j, k), &j->ids[k]);
  }
  return st;
}

/* ---- cut -> cut ---- */

/* What each source gives away, and how many pieces each target gets: sources and targets with one
 * piece of all need no op. */
static int32_t count_pieces(const berth_i_moves *m, int32_t k, bool source) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n; i++) n += (source ? m->move[i].src : m->move[i].dst) == k;
  return n;
}

/* The tensor that holds what moves; op is the split on its source, once there is one. */
static berth_status piece_of(const Job *j, const berth_i_moves *m, int32_t i, int32_t *op,
                             int32_t *tensor) {
  const berth_i_move *move = &m->move[i];
  berth_status st = BERTH_OK;
  if (i == 0 || m->move[i - 1].src != move->src) {
    int32_t samples = berth_i_form_samples(j->d, j->from, move->src);
    *op = BERTH_NONE;
    if (count_pieces(m, move->src, true) > 1)
      st = add_split(j, replica(j, move->src), j->from_device[move->src], samples, op);
  }
  if (st != BERTH_OK || *op != BERTH_NONE)
    return st == BERTH_OK ? add_piece(j, *op, move->samples, tensor) : st;
  *tensor = replica(j, move->src);
  return BERTH_OK;
}

/* ids holds the concatenation's output, seat the concatenation itself. */
static berth_status join(const Job *j, const berth_i_moves *m, int32_t dst, int32_t piece) {
  int32_t *op = &j->a->seat[dst], samples = samples_to(j, dst);
  berth_status st = BERTH_OK;
  if (count_pieces(m, dst, false) == 1) {
    j->ids[dst] = piece;
    return BERTH_OK;
  }
  if (j->ids[dst] == BERTH_NONE)
    st = add_concat(j, j->to_device[dst], samples, false, op, &j->ids[dst]);
  return st == BERTH_OK ? berth_i_add_edge(j->a, piece, *op) : st;
}

static berth_status exchange(const Job *j) {
  const berth_i_moves *m;
  int32_t op = BERTH_NONE, piece = BERTH_NONE;
  berth_status st = berth_i_deploy_moves(j->a->d, j->from, j->to, &m);
  for (int32_t i = 0; st == BERTH_OK && i < m->n; i++) {
    if ((st = piece_of(j, m, i, &op, &piece)) == BERTH_OK) st = join(j, m, m->move[i].dst, piece);
  }
  return st;
}

/* As published: one concatenation and one split for each of the largest equal groups of sources and
 * targets, on the first source of the group. */
static berth_status regroup(const Job *j, int32_t group, int32_t sources, int32_t targets) {
  int32_t samples = 0, device = j->from_device[group * sources];
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < targets; k++) samples += samples_to(j, group * targets + k);
  int32_t whole = replica(j, group * sources);
  int32_t op;
  if (sources > 1) {
    st = add_concat(j, device, samples, false, &op, &whole);
    for (int32_t k = 0; k < sources && st == BERTH_OK; k++) {
      if (berth_i_form_samples(j->d, j->from, group * sources + k) > 0)
        st = berth_i_add_edge(j->a, replica(j, group * sources + k), op);
    }
  }
  if (targets == 1) j->ids[group] = samples > 0 ? whole : BERTH_NONE;
  if (st != BERTH_OK || targets == 1) return st;
  st = add_split(j, whole, device, samples, &op);
  for (int32_t k = group * targets; k < (group + 1) * targets && st == BERTH_OK; k++) {
    if (samples_to(j, k) > 0) st = add_piece(j, op, samples_to(j, k), &j->ids[k]);
  }
  return st;
}

/* Uneven shares need not add up in these groups. */
static bool groups_agree(const Job *j, int32_t groups) {
  int32_t sources = j->n_from / groups, targets = j->n_to / groups;
  for (int32_t g = 0; g < groups; g++) {
    int32_t balance = 0;
    for (int32_t k = 0; k < sources; k++)
      balance += berth_i_form_samples(j->d, j->from, g * sources + k);
    for (int32_t k = 0; k < targets; k++) balance -= samples_to(j, g * targets + k);
    if (balance != 0) return false;
  }
  return true;
}

static berth_status exchange_published(const Job *j) {
  /* Greatest common. */
  int32_t a = j->n_from;
  int32_t b = j->n_to;
  while (b != 0) {
    int32_t rest = a % b;
    a = b;
    b = rest;
  }
  int32_t groups = a;
  berth_status st = BERTH_OK;
  if (!groups_agree(j, groups)) return exchange(j);
  for (int32_t g = 0; g < groups && st == BERTH_OK; g++)
    st = regroup(j, g, j->n_from / groups, j->n_to / groups);
  return st;
}

/* ---- cut -> whole ---- */

static berth_status join_at(const Job *j, int32_t k) {
  int32_t op;
  berth_status st = add_concat(j, j->to_device[k], j->d->batch, false, &op, &j->ids[k]);
  for (int32_t i = 0; i < j->n_from && st == BERTH_OK; i++) {
    if (berth_i_form_samples(j->d, j->from, i) > 0) st = berth_i_add_edge(j->a, replica(j, i), op);
  }
  return st;
}

static berth_status join_once(const Job *j, int32_t at) {
  berth_status st = join_at(j, at);
  for (int32_t k = 0; k < j->n_to; k++) j->ids[k] = j->ids[at];
  return st;
}

static berth_status join_everywhere(const Job *j) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < j->n_to && st == BERTH_OK; k++) st = join_at(j, k);
  return st;
}

/* The target that has most of it. */
static int32_t richest(const Job *j) {
  int32_t best = 0, most = -1;
  for (int32_t k = 0; k < j->n_to; k++) {
    int32_t i = position_of(j->d, berth_i_form_place(j->from), j->to_device[k]);
    int32_t samples = i == BERTH_NONE ? 0 : berth_i_form_samples(j->d, j->from, i);
    if (samples > most) best = k, most = samples;
  }
  return best;
}

static int32_t count_new_devices(const Job *j) {
  int32_t n = 0;
  for (int32_t k = 0; k < j->n_to; k++)
    n += position_of(j->d, berth_i_form_place(j->from), j->to_device[k]) == BERTH_NONE;
  return n;
}

/* The concatenation takes no time: the collective puts parts where they belong. */
static berth_status land(const Job *j, int32_t k) {
  int32_t op, i = position_of(j->d, berth_i_form_place(j->from), j->to_device[k]);
  berth_status st = add_concat(j, j->to_device[k], j->d->batch, true, &op, &j->ids[k]);
  if (st == BERTH_OK && i != BERTH_NONE && berth_i_form_samples(j->d, j->from, i) > 0)
    st = berth_i_add_edge(j->a, replica(j, i), op);
  return st == BERTH_OK ? berth_i_add_waiting(j->a, op) : st;
}

static berth_status all_gather(const Job *j, int32_t members) {
  double bytes = j->d->g->tensor_bytes[j->t] / members;
  berth_status st = berth_i_begin_collective(j->a, BERTH_ALLGATHER, bytes, 1);
  if (st == BERTH_OK) {
    /* Devices that have nothing of it take part with a bucket that waits for nothing. */
    for (int32_t k = 0; k < j->n_from && st == BERTH_OK; k++)
      st = berth_i_add_member(j->a, j->a->first_op[j->u] + k);
    int32_t op;
    for (int32_t k = 0; k < j->n_to && st == BERTH_OK; k++) {
      if (position_of(j->d, berth_i_form_place(j->from), j->to_device[k]) != BERTH_NONE) continue;
      if ((st = berth_i_add_auxiliary(j->a, j->u, BERTH_PART_BUCKET, j->to_device[k], 0, 0, &op))
          == BERTH_OK)
        st = berth_i_add_member(j->a, op);
    }
  }
  for (int32_t k = 0; k < j->n_to && st == BERTH_OK; k++) st = land(j, k);
  return st;
}

static berth_status gather(const Job *j, int32_t reader) {
  const berth_action *action = &j->d->action[j->a->action[j->d->group[reader]]];
  int32_t members = j->n_from + count_new_devices(j);
  if (j->n_to == 1) return join_at(j, 0);
  if (j->d->role[reader] == BERTH_ROLE_SCATTER && action->option == BERTH_DEPLOY_PS)
    return join_once(j, j->d->update_number[reader] % j->n_to);
  if (j->d->o.positional || !j->d->o.gather)
    return join_once(j, j->d->o.positional ? 0 : richest(j));
  return 2 * j->n_to >= members ? all_gather(j, members) : join_everywhere(j);
}

/* ---- versions ---- */

static berth_status convert(const Job *j, int32_t reader) {
  if (berth_i_tensor_kind(j->d, j->t) != BERTH_I_CUT
      || !(berth_i_is_cut(j->from) || berth_i_is_cut(j->to))) {
    for (int32_t k = 0; k < j->n_to; k++) j->ids[k] = replica(j, nearest(j, k));
    return BERTH_OK;
  }
  if (!berth_i_is_cut(j->from)) {
    berth_status st = BERTH_OK;
    for (int32_t k = 0; k < j->n_from && st == BERTH_OK; k++) st = split_at(j, k);
    return st;
  }
  if (!berth_i_is_cut(j->to)) return gather(j, reader);
  return j->d->o.positional ? exchange_published(j) : exchange(j);
}

static bool needs_sum(const berth_i_arena *a, int32_t tensor) {
  return berth_i_is_cut(a->form[a->d->g->producer[tensor]])
         && berth_i_tensor_kind(a->d, tensor) == BERTH_I_PARTIAL;
}

/* Only what is cut along the batch is read in parts. */
static berth_i_form form_read(const berth_i_arena *a, int32_t tensor, int32_t reader) {
  berth_i_form f = a->form[reader];
  return berth_i_tensor_kind(a->d, tensor) == BERTH_I_CUT
             ? f
             : berth_i_form_of(berth_i_form_place(f), BERTH_I_WHOLE);
}

static const int32_t *find_version(const berth_i_arena *a, int32_t tensor, berth_i_form form) {
  const berth_i_version *all = a->versions.at;
  for (int32_t k = a->version[tensor]; k != BERTH_NONE; k = all[k].next) {
    if (all[k].form == form) return (const int32_t *)a->ids.at + all[k].first;
  }
  return NULL;
}

static berth_status keep_version(berth_i_arena *a, int32_t tensor, berth_i_form form,
                                 int32_t first) {
  int32_t k;
  berth_status st = berth_i_items_take(a, &a->versions, 1, sizeof(berth_i_version), &k);
  if (st != BERTH_OK) return st;
  ((berth_i_version *)a->versions.at)[k] = (berth_i_version){ form, first, a->version[tensor] };
  a->version[tensor] = k;
  return BERTH_OK;
}

berth_status berth_i_convert(berth_i_arena *a, int32_t tensor, int32_t reader,
                             const int32_t **ids) {
  berth_i_form to = form_read(a, tensor, reader);
  int32_t n = berth_i_place_size(a->d, berth_i_form_place(to));
  bool keep = true;
  if ((*ids = find_version(a, tensor, to)) != NULL) return BERTH_OK;
  int32_t first, *made;
  berth_status st;
  if ((st = berth_i_items_take(a, &a->ids, (size_t)n, sizeof *made, &first)) != BERTH_OK) return st;
  made = (int32_t *)a->ids.at + first;
  for (int32_t k = 0; k < n; k++) made[k] = BERTH_NONE;
  const berth_deploy *d = a->d;
  int32_t u = d->g->producer[tensor], from_place = berth_i_form_place(a->form[u]),
          to_place = berth_i_form_place(to);
  Job j = (Job){ a,
                d,
                tensor,
                u,
                a->form[u],
                to,
                berth_i_place_size(d, from_place),
                berth_i_place_size(d, to_place),
                berth_i_place_devices(d, from_place),
                berth_i_place_devices(d, to_place),
                made };
  st = needs_sum(a, tensor) ? berth_i_reduce(a, tensor, reader, made, &keep) : convert(&j, reader);
  if (st == BERTH_OK && keep) st = keep_version(a, tensor, to, first);
  *ids = made;
  return st;
}
