/* Files of parameters: whole, of other networks, damaged and forged. */
#include "refusals.h"
#include "nn_params_help.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[128], other_path[128];

static char dir[] = "/tmp/berth-nn-XXXXXX";

SETUP {
  if (!path[0]) CHECK(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/net", dir);
  snprintf(other_path, sizeof other_path, "%s/other", dir);
}

/* ---- files ---- */

typedef struct saved_net {
  berth_params *p;
  berth_adam *adam;
} saved_net;

static saved_net new_net(uint64_t seed, int steps) {
  saved_net n = { new_params(), NULL };
  add2(n.p, "encoder.w", 3, 4, BERTH_NN_NORMAL, 1, seed);
  add2(n.p, "b", 1, 2, BERTH_NN_NORMAL, 1, seed + 1);
  n.adam = must_adam_new(n.p, NULL);
  for (int k = 0; k < steps; k++) {
    fill_gradients(n.p, seed + (uint64_t)k);
    CHECK_OK(berth_adam_step(n.adam, 0.01));
  }
  return n;
}

static void free_net(saved_net *n) {
  RELEASE(n->adam, n->p);
}

static size_t read_bytes(const char *from, unsigned char *b, size_t room) {
  FILE *f = fopen(from, "rb");
  size_t n = f ? fread(b, 1, room, f) : 0;
  if (f) fclose(f);
  return n;
}

static void write_bytes(const char *to, const unsigned char *b, size_t n) {
  FILE *f = fopen(to, "wb");
  CHECK(f && fwrite(b, 1, n, f) == n);
  if (f) fclose(f);
}

/* All that a network is, as the bytes of its file. */
static size_t bytes_of(const saved_net *n, unsigned char *b, size_t room) {
  CHECK_OK(berth_params_save(n->p, n->adam, "", other_path));
  return read_bytes(other_path, b, room);
}

static int same_net(const saved_net *a, const saved_net *b) {
  unsigned char x[1024], y[1024];
  size_t n = bytes_of(a, x, sizeof x), m = bytes_of(b, y, sizeof y);
  return n == m && n > 0 && memcmp(x, y, n) == 0;
}

TEST("what is saved is loaded to the bit, moments and steps as well, and training goes on the "
     "same") {
  saved_net a = new_net(1, 5), b = new_net(2, 1), c = new_net(3, 2);
  char *note = NULL;
  berth_array_data(berth_params_array(a.p, 0))[3] = -0.0f;
  berth_array_data(berth_params_array(a.p, 0))[4] = 1e-42f;
  CHECK_OK(berth_params_save(a.p, a.adam, "{\"h\": 128}", path));
  CHECK_OK(berth_params_load(b.p, b.adam, path));
  CHECK(same_net(&a, &b) && berth_adam_steps(b.adam) == 5);
  for (int k = 0; k < 3; k++) {
    fill_gradients(a.p, 9);
    fill_gradients(b.p, 9);
    berth_adam_step(a.adam, 0.1);
    berth_adam_step(b.adam, 0.1);
  }
  CHECK(same_net(&a, &b));
  CASE("the note can be read alone");
  CHECK_OK(berth_params_note(ctx, path, &note));
  CHECK_TEXT(note, "{\"h\": 128}");
  berth_nn_free_note(ctx, note);
  berth_nn_free_note(ctx, NULL);
  CASE("values alone: moments stay as they are");
  CHECK_OK(berth_params_save(a.p, NULL, NULL, path));
  CHECK_OK(berth_params_load(c.p, NULL, path));
  float x[14];
  berth_params_get(a.p, 0, x);
  float y[14];
  berth_params_get(c.p, 0, y);
  CHECK(memcmp(x, y, sizeof x) == 0 && berth_adam_steps(c.adam) == 2);
  CHECK_STATUS(berth_params_load(c.p, c.adam, path), BERTH_EINVAL);
  CHECK_OK(berth_params_note(ctx, path, &note));
  CHECK_TEXT(note, "");
  berth_nn_free_note(ctx, note);
  free_net(&a);
  free_net(&b);
  free_net(&c);
}

/* More than a buffer, and not a whole number of them. */
TEST("a file of several buffers comes back the same") {
  berth_params *p = new_params(), *q = new_params();
  float *x = berth_array_data(add2(p, "w", 301, 301, BERTH_NN_NORMAL, 1, 1));
  float *y = berth_array_data(add2(q, "w", 301, 301, BERTH_NN_ZEROS, 0, 1));
  CHECK_OK(berth_params_save(p, NULL, "n", path));
  CHECK_OK(berth_params_load(q, NULL, path));
  CHECK(memcmp(x, y, 301 * 301 * sizeof *x) == 0);
  CASE("parameters without numbers, and none at all, are saved and loaded");
  RELEASE(q);
  p = new_params();
  CHECK_OK(berth_params_save(p, NULL, NULL, path));
  CHECK_OK(berth_params_load(p, NULL, path));
  add2(p, "empty", 0, 5, BERTH_NN_ORTHOGONAL, 1, 1);
  CHECK_OK(berth_params_save(p, NULL, NULL, path));
  CHECK_OK(berth_params_load(p, NULL, path));
}

TEST("a file is replaced behind its symbolic link, with its mode") {
  saved_net a = new_net(1, 1), b = new_net(2, 1);
  char link[160];
  snprintf(link, sizeof link, "%s.link", path);
  CHECK_OK(berth_params_save(a.p, a.adam, NULL, path));
  CHECK(chmod(path, 0600) == 0 && symlink(path, link) == 0);
  CHECK_OK(berth_params_save(b.p, b.adam, NULL, link));
  struct stat s;
  CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
  CHECK(stat(path, &s) == 0 && (s.st_mode & 07777) == 0600);
  CHECK_OK(berth_params_load(a.p, a.adam, path));
  CHECK(same_net(&a, &b));
  unlink(link);
  free_net(&a);
  free_net(&b);
}

static void refuse_load(berth_params *p, berth_adam *adam, berth_status want, const char *why) {
  CHECK(berth_params_size(p) <= 64);
  float before[64];
  berth_params_get(p, 0, before);
  CHECK_STATUS(berth_params_load(p, adam, path), want);
  char text[512];
  snprintf(text, sizeof text, "%s: %s", path, why);
  CHECK_TEXT(berth_errmsg(ctx), text);
  float after[64];
  berth_params_get(p, 0, after);
  CHECK(memcmp(before, after, (size_t)berth_params_size(p) * sizeof *before) == 0);
}

TEST("another network: the first difference is reported, and nothing changes") {
  saved_net a = new_net(1, 1);
  berth_params *p = new_params();
  berth_adam *adam = NULL;
  CHECK_OK(berth_params_save(a.p, NULL, NULL, path));
  refuse_load(a.p, a.adam, BERTH_EINVAL, "has no moments for Adam");
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: it has 2 arrays, here are 0");
  add2(p, "encoder.w", 4, 3, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL,
              "is of another network: its \"encoder.w\" is 3 x 4, here 4 x 3");
  p = new_params();
  add2(p, "encoder.w", 3, 4, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: it has 2 arrays, here are 1");
  add2(p, "c", 1, 2, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: its array 2 is \"b\", here \"c\"");
  CASE("Adam of other parameters is refused");
  adam = must_adam_new(p, NULL);
  CHECK_STATUS(berth_params_save(a.p, adam, NULL, path), BERTH_EINVAL);
  CHECK_ERROR(berth_params_load(a.p, adam, path), BERTH_EINVAL, "this Adam is of other parameters");
  RELEASE(adam, p);
  free_net(&a);
}

TEST("what is no such file says so") {
  saved_net a = new_net(1, 1);
  char *note = NULL;
  static const char text[] = "{\"format\": \"berth-graph\"}";
  unlink(path);
  refuse_load(a.p, NULL, BERTH_EIO, "cannot be opened: No such file or directory");
  write_bytes(path, (const unsigned char *)text, sizeof text - 1);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is not a file of parameters");
  write_bytes(path, (const unsigned char *)text, 0);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is not a file of parameters");
  write_bytes(path, (const unsigned char *)"berth-nn\1", 9);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is cut off in its header");
  CHECK_ERROR(berth_params_note(ctx, "/", &note), BERTH_EIO,
              "/: cannot be read: it is not a regular file");
  CHECK_STATUS(berth_params_save(a.p, NULL, NULL, "/"), BERTH_EIO);
  CHECK_ERROR(berth_params_save(a.p, NULL, NULL, "/no/such/folder/file"), BERTH_EIO,
              "/no/such/folder/file: cannot be written: No such file or directory");
  CHECK(note == NULL);
  free_net(&a);
}

/* ---- damage ---- */

/* The checksum as the file's description has it. */
static void sign(unsigned char *b, size_t n) {
  uint64_t h = 0;
  for (size_t i = 0; i < n - 8; i += 8) {
    uint64_t w = 0;
    for (size_t k = 0; k < 8 && i + k < n - 8; k++) w |= (uint64_t)b[i + k] << 8 * k;
    h = (h ^ w) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  for (int k = 0; k < 8; k++) b[n - 8 + (size_t)k] = (unsigned char)(h >> 8 * k);
}

/* Loads what lies at `path`: refused with everything as before (moments are looked at by the
 * caller, at the end), or taken. */
static berth_status try_load(saved_net *n) {
  float before[14];
  int64_t steps = berth_adam_steps(n->adam);
  char *note = NULL;
  berth_params_get(n->p, 0, before);
  berth_status st = berth_params_load(n->p, n->adam, path);
  if (berth_params_note(ctx, path, &note) == BERTH_OK) berth_nn_free_note(ctx, note);
  if (st == BERTH_OK) return st;
  float after[14];
  berth_params_get(n->p, 0, after);
  CHECK(st == BERTH_EPARSE || st == BERTH_EINVAL);
  CHECK(memcmp(before, after, sizeof before) == 0 && berth_adam_steps(n->adam) == steps);
  return st;
}

TEST("the file is laid out and signed as described") {
  saved_net a = new_net(1, 3), b = new_net(2, 1), untouched = new_net(2, 1);
  CHECK_OK(berth_params_save(a.p, a.adam, "note", path));
  unsigned char good[1024];
  size_t n = read_bytes(path, good, sizeof good);
  unsigned char bad[1024];
  memcpy(bad, good, n);
  sign(bad, n);
  CHECK(n == 56 + 4 + (8 + 9 + 8) + (8 + 1 + 8) + 14 * 12 + 8);
  CHECK(memcmp(good, bad, n) == 0);
  CHECK(good[8] == 1 && good[12] == 4 && (size_t)(good[16] | good[17] << 8) == n);
  CHECK(good[24] == 3 && good[32] == 14 && good[40] == 4 && good[48] == 2 && good[52] == 1);
  CASE("every byte damaged in five ways is noticed, and changes nothing");
  for (size_t i = 0; i < n; i++) {
    static const unsigned char flips[] = { 1, 2, 0x40, 0x80, 0xFF };
    for (size_t k = 0; k < sizeof flips; k++) {
      memcpy(bad, good, n);
      bad[i] ^= flips[k];
      write_bytes(path, bad, n);
      CHECK(try_load(&b) != BERTH_OK);
    }
  }
  CASE("cut off at every length, or longer, is noticed");
  for (size_t i = 0; i < n; i++) {
    write_bytes(path, good, i);
    CHECK(try_load(&b) == BERTH_EPARSE);
  }
  memcpy(bad, good, n);
  bad[n] = 0;
  write_bytes(path, bad, n + 1);
  refuse_load(b.p, b.adam, BERTH_EPARSE, "is too long: 279 bytes, of 278");
  write_bytes(path, bad, n - 1);
  refuse_load(b.p, b.adam, BERTH_EPARSE, "is cut off: 277 bytes, of 278");
  bad[8] = 2;
  write_bytes(path, bad, n);
  refuse_load(b.p, b.adam, BERTH_EPARSE, "is of version 2, this library reads version 1");
  bad[8] = 1;
  bad[100] ^= 1;
  write_bytes(path, bad, n);
  refuse_load(b.p, b.adam, BERTH_EPARSE, "damaged: its checksum does not match");
  CHECK(same_net(&b, &untouched));
  free_net(&a);
  free_net(&b);
  free_net(&untouched);
}

/* Lengths that lie, under a checksum that is right: never a crash, never room for more than the
 * file has. */
TEST("forged lengths are refused before room is made for them") {
  saved_net a = new_net(1, 3), b = new_net(2, 1);
  berth_rng rng = seeded(7, 0);
  CHECK_OK(berth_params_save(a.p, a.adam, "note", path));
  unsigned char good[1024];
  size_t n = read_bytes(path, good, sizeof good);
  berth_ctx_memory_reset_peak(ctx);
  size_t most = berth_ctx_memory(ctx) + 200000;
  unsigned char bad[1024];
  for (int round = 0; round < 3000; round++) {
    int edits = 1 + berth_rng_below(&rng, 3);
    memcpy(bad, good, n);
    while (edits-- > 0) {
      static const unsigned char values[] = { 0, 1, 0x7F, 0x80, 0xFF };
      int at = 24 + berth_rng_below(&rng, 84);
      bad[at] =
          round % 2 ? values[berth_rng_below(&rng, 5)] : (unsigned char)berth_rng_below(&rng, 256);
    }
    sign(bad, n);
    write_bytes(path, bad, n);
    try_load(&b);
  }
  CHECK(berth_ctx_memory_peak(ctx) < most);
  memcpy(bad, good, n);
  memset(bad + 40, 0xFF, 7);
  sign(bad, n);
  write_bytes(path, bad, n);
  refuse_load(b.p, b.adam, BERTH_EPARSE, "damaged: its note is cut off");
  memcpy(bad, good, n);
  bad[57] = 0;
  sign(bad, n);
  write_bytes(path, bad, n);
  {
    char *note = NULL;
    CHECK_STATUS(berth_params_note(ctx, path, &note), BERTH_EPARSE);
    CHECK(note == NULL);
  }
  free_net(&a);
  free_net(&b);
}

/* ---- allocation failure ---- */

static berth_status whole_job(const void *what) {
  (void)what;
  int32_t shape[2] = { 5, 3 };
  berth_params *p = NULL;
  berth_adam *adam = NULL;
  char *note = NULL;
  berth_status st = berth_params_new(ctx, &p);
  berth_rng rng = seeded(1, 0);
  berth_array *a;
  TRY(st, berth_params_add(p, "w", 2, shape, BERTH_NN_ORTHOGONAL, 1, &rng, &a));
  TRY(st, berth_params_add(p, "b", 1, shape, BERTH_NN_ZEROS, 0, NULL, &a));
  TRY(st, berth_adam_new(p, NULL, &adam));
  TRY(st, berth_adam_step(adam, 0.1));
  TRY(st, berth_params_save(p, adam, "note", path));
  TRY(st, berth_params_load(p, adam, path));
  TRY(st, berth_params_note(ctx, path, &note));
  if (st == BERTH_OK) berth_nn_free_note(ctx, note);
  RELEASE(adam, p);
  return st;
}

TEST("every allocation refused in turn: an orderly end, no leak, no file left behind") {
  for (int sign = -1; sign <= 1; sign += 2) {
    CHECK(refuse_each(whole_job, NULL, sign, 0) > 15);
  }
  unlink(path);
  unlink(other_path);
  CHECK(rmdir(dir) == 0);
}
