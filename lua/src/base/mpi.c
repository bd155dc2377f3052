/* berth.mpi: sums and broadcasts among the processes of mpirun. Optional, and no part of
 * berth.core: loading libmpi slows every start.
 *
 * Ranks are ids from 1 in Lua. MPI belongs to the process, and so does its state here: none of this
 * module's own. Collective calls: every rank makes the same ones in the same order. What fails
 * gives nil, message, "mpi"; a caller's mistake raises.
 */
#include "compat.h"
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How berth.nn's arrays begin, see nn.h. */
typedef struct array_box {
  void *array; /* NULL: closed */
  float *data;
  int64_t size;
} array_box;

/* [-0, +3] nil, message, "mpi". */
static int failed(lua_State *L, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int n = 0;
  if (MPI_Error_string(error, text, &n) != MPI_SUCCESS) n = 0;
  lua_pushnil(L);
  if (n > 0) lua_pushlstring(L, text, (size_t)n);
  else lua_pushfstring(L, "MPI error %d", error);
  lua_pushliteral(L, "mpi");
  return 3;
}

static int done(lua_State *L, int error) {
  if (error != MPI_SUCCESS) return failed(L, error);
  lua_pushboolean(L, 1);
  return 1;
}

static int is_running(void) {
  int begun = 0, over = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  return begun && !over;
}

static void need_running(lua_State *L, const char *fn) {
  if (!is_running()) luaL_error(L, "%s: berth.mpi.init() comes first, and finalize() last", fn);
}

/* ---- arguments ---- */

/* NULL: something else. */
static array_box *test_array(lua_State *L, int i) {
  array_box *box = lua_touserdata(L, i);
  if (!box || !lua_getmetatable(L, i)) return NULL;
  lua_pushliteral(L, "__metatable"); /* not to be set from Lua: these metatables are closed to it */
  lua_rawget(L, -2);
  const char *key = lua_tostring(L, -1);
  int same = key && strcmp(key, "berth.array") == 0;
  lua_pop(L, 2);
  return same ? box : NULL;
}

static array_box *check_open(lua_State *L, array_box *box, const char *fn) {
  if (!box->array) luaL_error(L, "%s: array: is closed", fn);
  return box;
}

/* 0-based. */
static int to_root(lua_State *L, int i, const char *fn) {
  int size = 1;
  double root = luaL_optnumber(L, i, 1);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!(root >= 1 && root <= size && root == floor(root)))
    luaL_error(L, "%s: root: expected a rank of 1..%d", fn, size);
  return (int)root - 1;
}

/* ---- begin and end ---- */

/* init(): true; nil, message, code. Begun already: true. */
static int init(lua_State *L) {
  int over = 0, begun = 0;
  MPI_Finalized(&over);
  if (over)
    return luaL_error(L,
                      "berth.mpi.init: MPI is finalized, and does not begin again in one process");
  MPI_Initialized(&begun);
  int error;
  if (!begun && (error = MPI_Init(NULL, NULL)) != MPI_SUCCESS) return failed(L, error);
  return done(L, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

/* finalize(): true; waits for the other ranks. Not from a collector: a state that ends without it
 * leaves MPI to the process's end. */
static int finalize(lua_State *L) {
  return done(L, is_running() ? MPI_Finalize() : MPI_SUCCESS);
}

static int running(lua_State *L) {
  lua_pushboolean(L, is_running());
  return 1;
}

static int rank(lua_State *L) {
  int r = 0;
  need_running(L, "berth.mpi.rank");
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  lua_pushinteger(L, r + 1);
  return 1;
}

static int size(lua_State *L) {
  int n = 1;
  need_running(L, "berth.mpi.size");
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  lua_pushinteger(L, n);
  return 1;
}

static int barrier(lua_State *L) {
  need_running(L, "berth.mpi.barrier");
  return done(L, MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- sums ---- */

/* MPI counts in int. */
enum { PIECE = 1 << 28 };

static int piece(int64_t left) { return left < PIECE ? (int)left : PIECE; }

static int sum_floats(float *x, int64_t n) {
  int error = MPI_SUCCESS;
  for (int64_t i = 0; i < n && error == MPI_SUCCESS; i += PIECE)
    error = MPI_Allreduce(MPI_IN_PLACE, x + i, piece(n - i), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return error;
}

/* The numbers of the array at i; raises for anything else. */
static int read_numbers(lua_State *L, int i, double *x, int n) {
  for (int k = 0; k < n; k++, lua_pop(L, 1)) {
    lua_rawgeti(L, i, k + 1);
    if (lua_type(L, -1) != LUA_TNUMBER)
      return luaL_error(L, "berth.mpi.sum: numbers[%d]: expected a number, got %s", k + 1,
                        luaL_typename(L, -1));
    x[k] = lua_tonumber(L, -1);
  }
  return 0;
}

/* One call of at most PIECE numbers: (numbers) -> sums over all processes. */
static int sum_numbers(lua_State *L) {
  size_t n = lua_rawlen(L, 1);
  if (n > PIECE) return luaL_error(L, "berth.mpi.sum: numbers: more than %d", (int)PIECE);
  double *x = lua_newuserdata(L, (n + 1) * sizeof *x);
  read_numbers(L, 1, x, (int)n);
  int error;
  if ((error = MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
      != MPI_SUCCESS)
    return failed(L, error);
  lua_createtable(L, (int)n, 0);
  for (size_t k = 0; k < n; k++) {
    lua_pushnumber(L, x[k]);
    lua_rawseti(L, -2, (int)k + 1);
  }
  return 1;
}

/* sum(array): true, the array holds the sums of all ranks. sum(numbers): a new table of sums. */
static int sum(lua_State *L) {
  array_box *box = test_array(L, 1);
  need_running(L, "berth.mpi.sum");
  if (box) return done(L, sum_floats(check_open(L, box, "berth.mpi.sum")->data, box->size));
  if (lua_istable(L, 1)) return sum_numbers(L);
  return luaL_error(L, "berth.mpi.sum: expected an array of berth.nn or a table of numbers, got %s",
                    luaL_typename(L, 1));
}

/* ---- sums in order ---- */

/* Each rank adds up `width` columns of a block for all ranks: those of rank r are the columns r
 * width to (r + 1) width. */
typedef struct block {
  float **rows; /* [count] of this rank */
  int32_t count;
  int ranks, width;
  float *out, *in; /* [ranks][count][width] to send, and received */
} block;

/* Columns of the block that there are: those behind the last number are unused. */
static int columns(const block *b, int rank, int64_t left) {
  int64_t n = left - (int64_t)rank * b->width;
  return n < 0 ? 0 : n < b->width ? (int)n : b->width;
}

/* Of each row the columns that each rank adds, padded with zeros: rank-major. */
static void pack(const block *b, int64_t at, int64_t left) {
  float *to = b->out;
  for (int rank = 0; rank < b->ranks; rank++) {
    for (int32_t k = 0; k < b->count; k++, to += b->width) {
      int n = columns(b, rank, left);
      if (n > 0) memcpy(to, b->rows[k] + at + (int64_t)rank * b->width, (size_t)n * sizeof *to);
      memset(to + n, 0, (size_t)(b->width - n) * sizeof *to);
    }
  }
}

/* Row after row, rank after rank. */
static void add_rows(const block *b, float *sums) {
  memset(sums, 0, (size_t)b->width * sizeof *sums);
  for (int64_t row = 0; row < (int64_t)b->ranks * b->count; row++)
    for (int i = 0; i < b->width; i++) sums[i] += b->in[row * b->width + i];
}

/* Each rank gets its columns of all rows, adds them row after row and rank after rank, a fixed
 * order, and sends the sums to all. Sums end in the first row. */
static int add_block(const block *b, int64_t at, int64_t left) {
  const int each = b->count * b->width;
  int64_t n = (int64_t)b->ranks * b->width;
  pack(b, at, left);
  int error;
  if ((error = MPI_Alltoall(b->out, each, MPI_FLOAT, b->in, each, MPI_FLOAT, MPI_COMM_WORLD))
      != MPI_SUCCESS)
    return error;
  add_rows(b, b->out);
  if ((error =
           MPI_Allgather(b->out, b->width, MPI_FLOAT, b->in, b->width, MPI_FLOAT, MPI_COMM_WORLD))
      != MPI_SUCCESS)
    return error;
  memcpy(b->rows[0] + at, b->in, (size_t)(left < n ? left : n) * sizeof(float));
  return error;
}

enum { BLOCK = 1 << 20 }; /* floats sent at once, unless there are more rows */

static int add_all(block *b, int64_t n) {
  int64_t step = (int64_t)b->ranks * b->width;
  int error = MPI_SUCCESS;
  for (int64_t at = 0; at < n && error == MPI_SUCCESS; at += step) error = add_block(b, at, n - at);
  return error;
}

/* The arrays of the table at 1, all of one size. */
static int64_t read_rows(lua_State *L, block *b, const char *fn) {
  int64_t n = 0;
  for (int32_t k = 0; k < b->count; k++, lua_pop(L, 1)) {
    lua_rawgeti(L, 1, k + 1);
    const array_box *box = test_array(L, lua_gettop(L));
    if (!box || !box->array)
      return luaL_error(L, "%s: arrays[%d]: expected an array of berth.nn", fn, (int)k + 1);
    if (k > 0 && box->size != n)
      return luaL_error(L, "%s: arrays[%d]: is not of the size of the first", fn, (int)k + 1);
    n = box->size;
    b->rows[k] = box->data;
  }
  return n;
}

/* add_up(arrays): true; the first holds the sum of all arrays of all ranks, added one after the
 * other in the order of ranks and, of one rank, of the list. Every rank has as many arrays, of the
 * same size. The bytes are those of the same sum in one process. */
static int add_up(lua_State *L) {
  static const char fn[] = "berth.mpi.add_up";
  block b = { 0 };
  need_running(L, fn);
  if (!lua_istable(L, 1))
    return luaL_error(L, "%s: expected a table of arrays of berth.nn, got %s", fn,
                      luaL_typename(L, 1));
  size_t count;
  if ((count = lua_rawlen(L, 1)) < 1 || count > BLOCK)
    return luaL_error(L, "%s: arrays: 1 to %d of them", fn, (int)BLOCK);
  b.count = (int32_t)count;
  b.rows = lua_newuserdata(L, count * sizeof *b.rows);
  int64_t n = read_rows(L, &b, fn);
  MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
  int64_t row = (int64_t)b.ranks * b.count;
  b.width = row < BLOCK ? (int)(BLOCK / row) : 1;
  if (b.width > (n + b.ranks - 1) / b.ranks) b.width = (int)((n + b.ranks - 1) / b.ranks);
  b.out = lua_newuserdata(L, ((size_t)row * (size_t)b.width + 1) * sizeof(float));
  b.in = lua_newuserdata(L, ((size_t)row * (size_t)b.width + 1) * sizeof(float));
  /* By a finaliser, while memory was allocated. */
  if (read_rows(L, &b, fn) != n) return luaL_error(L, "%s: arrays: changed meanwhile", fn);
  return done(L, add_all(&b, n));
}

/* ---- broadcasts ---- */

static int broadcast_bytes(void *data, int64_t n, int root) {
  int error = MPI_SUCCESS;
  for (int64_t i = 0; i < n && error == MPI_SUCCESS; i += PIECE)
    error = MPI_Bcast((char *)data + i, piece(n - i), MPI_BYTE, root, MPI_COMM_WORLD);
  return error;
}

/* What the root has, as a new string; elsewhere the argument only says that a string comes. */
static int broadcast_string(lua_State *L, int root) {
  size_t own = 0;
  const char *text = lua_tolstring(L, 1, &own);
  int64_t n = (int64_t)own;
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  int error;
  if ((error = MPI_Bcast(&n, 1, MPI_INT64_T, root, MPI_COMM_WORLD)) != MPI_SUCCESS)
    return failed(L, error);
  char *copy = lua_newuserdata(L, (size_t)n + 1);
  if (me == root) memcpy(copy, text, own);
  if ((error = broadcast_bytes(copy, n, root)) != MPI_SUCCESS) return failed(L, error);
  lua_pushlstring(L, copy, (size_t)n);
  return 1;
}

/* broadcast(array, root): true, all have the root's numbers. broadcast(string, root): the root's
 * string. */
static int broadcast(lua_State *L) {
  static const char fn[] = "berth.mpi.broadcast";
  array_box *box = test_array(L, 1);
  need_running(L, fn);
  int root = to_root(L, 2, fn);
  if (box)
    return done(L, broadcast_bytes(check_open(L, box, fn)->data, box->size * (int64_t)sizeof(float),
                                   root));
  if (lua_type(L, 1) == LUA_TSTRING) return broadcast_string(L, root);
  return luaL_error(L, "%s: expected an array of berth.nn or a string, got %s", fn,
                    luaL_typename(L, 1));
}

/* launched(): was this process started by mpirun? Does not begin MPI. */
static int launched(lua_State *L) {
  lua_pushboolean(L, getenv("OMPI_COMM_WORLD_SIZE") != NULL);
  return 1;
}

int luaopen_berth_mpi(lua_State *L) {
  static const luaL_Reg functions[] = { { "init", init },
                                        { "finalize", finalize },
                                        { "running", running },
                                        { "rank", rank },
                                        { "size", size },
                                        { "barrier", barrier },
                                        { "sum", sum },
                                        { "add_up", add_up },
                                        { "broadcast", broadcast },
                                        { "launched", launched },
                                        { NULL, NULL } };
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
