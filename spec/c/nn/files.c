/* Files of parameters: whole, of other networks, damaged and forged. */
#include "refusals.h"
#include "nn_params_help.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[128], other_path[128];

/* ---- files ---- */

typedef struct Net {
  berth_params *p;
  berth_adam *adam;
} Net;

static Net new_net(uint64_t seed, int steps) {
  Net n = { new_params(), NULL };
  add2(n.p, "encoder.w", 3, 4, BERTH_NN_NORMAL, 1, seed);
  add2(n.p, "b", 1, 2, BERTH_NN_NORMAL, 1, seed + 1);
  CHECK_STATUS(berth_adam_new(n.p, NULL, &n.adam), BERTH_OK);
  for (int k = 0; k < steps; k++) {
    fill_gradients(n.p, seed + (uint64_t)k);
    CHECK_STATUS(berth_adam_step(n.adam, 0.01), BERTH_OK);
  }
  return n;
}

static void free_net(Net *n) {
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
static size_t bytes_of(const Net *n, unsigned char *b, size_t room) {
  CHECK_STATUS(berth_params_save(n->p, n->adam, "", other_path), BERTH_OK);
  return read_bytes(other_path, b, room);
}

static int same_net(const Net *a, const Net *b) {
  unsigned char x[1024], y[1024];
  size_t n = bytes_of(a, x, sizeof x), m = bytes_of(b, y, sizeof y);
  return n == m && n > 0 && memcmp(x, y, n) == 0;
}

static void round_trip(void) {
  Net a = new_net(1, 5), b = new_net(2, 1), c = new_net(3, 2);
  char *note = NULL;
  TEST("what is saved is loaded to the bit, moments and steps as well, and training goes on the "
       "same");
  berth_array_data(berth_params_array(a.p, 0))[3] = -0.0f;
  berth_array_data(berth_params_array(a.p, 0))[4] = 1e-42f;
  CHECK_STATUS(berth_params_save(a.p, a.adam, "{\"h\": 128}", path), BERTH_OK);
  CHECK_STATUS(berth_params_load(b.p, b.adam, path), BERTH_OK);
  CHECK(same_net(&a, &b) && berth_adam_steps(b.adam) == 5);
  for (int k = 0; k < 3; k++) {
    fill_gradients(a.p, 9);
    fill_gradients(b.p, 9);
    berth_adam_step(a.adam, 0.1);
    berth_adam_step(b.adam, 0.1);
  }
  CHECK(same_net(&a, &b));
  TEST("the note can be read alone");
  CHECK_STATUS(berth_params_note(ctx, path, &note), BERTH_OK);
  CHECK_TEXT(note, "{\"h\": 128}");
  berth_nn_free_note(ctx, note);
  berth_nn_free_note(ctx, NULL);
  TEST("values alone: moments stay as they are");
  CHECK_STATUS(berth_params_save(a.p, NULL, NULL, path), BERTH_OK);
  CHECK_STATUS(berth_params_load(c.p, NULL, path), BERTH_OK);
  float x[14];
  berth_params_get(a.p, 0, x);
  float y[14];
  berth_params_get(c.p, 0, y);
  CHECK(memcmp(x, y, sizeof x) == 0 && berth_adam_steps(c.adam) == 2);
  CHECK_STATUS(berth_params_load(c.p, c.adam, path), BERTH_EINVAL);
  CHECK_STATUS(berth_params_note(ctx, path, &note), BERTH_OK);
  CHECK_TEXT(note, "");
  berth_nn_free_note(ctx, note);
  free_net(&a);
  free_net(&b);
  free_net(&c);
}

/* More than a buffer, and not a whole number of them. */
static void larger_file(void) {
  berth_params *p = new_params(), *q = new_params();
  float *x = berth_array_data(add2(p, "w", 301, 301, BERTH_NN_NORMAL, 1, 1));
  float *y = berth_array_data(add2(q, "w", 301, 301, BERTH_NN_ZEROS, 0, 1));
  TEST("a file of several buffers comes back the same");
  CHECK_STATUS(berth_params_save(p, NULL, "n", path), BERTH_OK);
  CHECK_STATUS(berth_params_load(q, NULL, path), BERTH_OK);
  CHECK(memcmp(x, y, 301 * 301 * sizeof *x) == 0);
  TEST("parameters without numbers, and none at all, are saved and loaded");
  RELEASE(p, q);
  p = new_params();
  CHECK_STATUS(berth_params_save(p, NULL, NULL, path), BERTH_OK);
  CHECK_STATUS(berth_params_load(p, NULL, path), BERTH_OK);
  add2(p, "empty", 0, 5, BERTH_NN_ORTHOGONAL, 1, 1);
  CHECK_STATUS(berth_params_save(p, NULL, NULL, path), BERTH_OK);
  CHECK_STATUS(berth_params_load(p, NULL, path), BERTH_OK);
  berth_params_release(p);
}

static void replaced_files(void) {
  Net a = new_net(1, 1), b = new_net(2, 1);
  char link[160];
  snprintf(link, sizeof link, "%s.link", path);
  TEST("a file is replaced behind its symbolic link, with its mode");
  CHECK_STATUS(berth_params_save(a.p, a.adam, NULL, path), BERTH_OK);
  CHECK(chmod(path, 0600) == 0 && symlink(path, link) == 0);
  CHECK_STATUS(berth_params_save(b.p, b.adam, NULL, link), BERTH_OK);
  struct stat s;
  CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
  CHECK(stat(path, &s) == 0 && (s.st_mode & 07777) == 0600);
  CHECK_STATUS(berth_params_load(a.p, a.adam, path), BERTH_OK);
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

static void other_networks(void) {
  Net a = new_net(1, 1);
  berth_params *p = new_params();
  berth_adam *adam = NULL;
  TEST("another network: the first difference is told, and nothing changes");
  CHECK_STATUS(berth_params_save(a.p, NULL, NULL, path), BERTH_OK);
  refuse_load(a.p, a.adam, BERTH_EINVAL, "has no moments for Adam");
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: it has 2 arrays, here are 0");
  add2(p, "encoder.w", 4, 3, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL,
              "is of another network: its \"encoder.w\" is 3 x 4, here 4 x 3");
  berth_params_release(p);
  p = new_params();
  add2(p, "encoder.w", 3, 4, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: it has 2 arrays, here are 1");
  add2(p, "c", 1, 2, BERTH_NN_NORMAL, 1, 1);
  refuse_load(p, NULL, BERTH_EINVAL, "is of another network: its array 2 is \"b\", here \"c\"");
  TEST("Adam of other parameters is refused");
  CHECK_STATUS(berth_adam_new(p, NULL, &adam), BERTH_OK);
  CHECK_STATUS(berth_params_save(a.p, adam, NULL, path), BERTH_EINVAL);
  CHECK_STATUS(berth_params_load(a.p, adam, path), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "this Adam is of other parameters");
  RELEASE(adam, p);
  free_net(&a);
}

static void no_files(void) {
  Net a = new_net(1, 1);
  char *note = NULL;
  static const char text[] = "{\"format\": \"berth-graph\"}";
  TEST("what is no such file says so");
  unlink(path);
  refuse_load(a.p, NULL, BERTH_EIO, "cannot be opened: No such file or directory");
  write_bytes(path, (const unsigned char *)text, sizeof text - 1);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is not a file of parameters");
  write_bytes(path, (const unsigned char *)text, 0);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is not a file of parameters");
  write_bytes(path, (const unsigned char *)"berth-nn\1", 9);
  refuse_load(a.p, NULL, BERTH_EPARSE, "is cut off in its header");
  CHECK_STATUS(berth_params_note(ctx, "/", &note), BERTH_EIO);
  CHECK_TEXT(berth_errmsg(ctx), "/: cannot be read: it is not a regular file");
  CHECK_STATUS(berth_params_save(a.p, NULL, NULL, "/"), BERTH_EIO);
  CHECK_STATUS(berth_params_save(a.p, NULL, NULL, "/no/such/folder/file"), BERTH_EIO);
  CHECK_TEXT(berth_errmsg(ctx),
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
static berth_status try_load(Net *n) {
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

static void damage(void) {
  Net a = new_net(1, 3), b = new_net(2, 1), untouched = new_net(2, 1);
  CHECK_STATUS(berth_params_save(a.p, a.adam, "note", path), BERTH_OK);
  unsigned char good[1024];
  size_t n = read_bytes(path, good, sizeof good);
  unsigned char bad[1024];
  memcpy(bad, good, n);
  sign(bad, n);
  TEST("the file is laid out and signed as described");
  CHECK(n == 56 + 4 + (8 + 9 + 8) + (8 + 1 + 8) + 14 * 12 + 8);
  CHECK(memcmp(good, bad, n) == 0);
  CHECK(good[8] == 1 && good[12] == 4 && (size_t)(good[16] | good[17] << 8) == n);
  CHECK(good[24] == 3 && good[32] == 14 && good[40] == 4 && good[48] == 2 && good[52] == 1);
  TEST("every byte damaged in five ways is noticed, and changes nothing");
  for (size_t i = 0; i < n; i++) {
    static const unsigned char flips[] = { 1, 2, 0x40, 0x80, 0xFF };
    for (size_t k = 0; k < sizeof flips; k++) {
      memcpy(bad, good, n);
      bad[i] ^= flips[k];
      write_bytes(path, bad, n);
      CHECK(try_load(&b) != BERTH_OK);
    }
  }
  TEST("cut off at every length, or longer, is noticed");
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
static void forged(void) {
  Net a = new_net(1, 3), b = new_net(2, 1);
  berth_rng rng = seeded(7, 0);
  CHECK_STATUS(berth_params_save(a.p, a.adam, "note", path), BERTH_OK);
  unsigned char good[1024];
  size_t n = read_bytes(path, good, sizeof good);
  TEST("forged lengths are refused before room is made for them");
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

static berth_status whole_job(berth_ctx *c) {
  int32_t shape[2] = { 5, 3 };
  berth_params *p = NULL;
  berth_adam *adam = NULL;
  char *note = NULL;
  berth_status st = berth_params_new(c, &p);
  berth_rng rng = seeded(1, 0);
  berth_array *a;
  if (st == BERTH_OK) st = berth_params_add(p, "w", 2, shape, BERTH_NN_ORTHOGONAL, 1, &rng, &a);
  if (st == BERTH_OK) st = berth_params_add(p, "b", 1, shape, BERTH_NN_ZEROS, 0, NULL, &a);
  if (st == BERTH_OK) st = berth_adam_new(p, NULL, &adam);
  if (st == BERTH_OK) st = berth_adam_step(adam, 0.1);
  if (st == BERTH_OK) st = berth_params_save(p, adam, "note", path);
  if (st == BERTH_OK) st = berth_params_load(p, adam, path);
  if (st == BERTH_OK) st = berth_params_note(c, path, &note);
  if (st == BERTH_OK) berth_nn_free_note(c, note);
  RELEASE(adam, p);
  return st;
}

int main(void) {
  char dir[] = "/tmp/berth-nn-XXXXXX";
  if (!mkdtemp(dir)) return 1;
  snprintf(path, sizeof path, "%s/net", dir);
  snprintf(other_path, sizeof other_path, "%s/other", dir);
  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) return 1;
  round_trip();
  larger_file();
  replaced_files();
  other_networks();
  no_files();
  damage();
  forged();
  TEST("every allocation refused in turn: an orderly end, no leak, no file left behind");
  for (int sign = -1; sign <= 1; sign += 2) {
    CHECK(refuse_each(do_bare_job, &(bare_job){ whole_job }, sign, 0) > 15);
  }
  unlink(path);
  unlink(other_path);
  CHECK(rmdir(dir) == 0);
  CHECK(berth_ctx_memory(ctx) == 0);
  return done_with(ctx);
}
