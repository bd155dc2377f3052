/* Type "tape": records operations while a function runs. One tape at a time records in a Lua state,
 * whatever the coroutine; record() restores the tape before it, so calls nest. The function may
 * close the tape: record() holds a reference. */
#include "nn.h"

typedef struct tape_box {
  berth_tape *tape;
  bl_nn *nn;
} tape_box;

BL_RELEASE(release_tape, berth_tape_release)

static tape_box *self(lua_State *L, const char *fn) { return bl_self(L, &bl_tape_class, fn); }

/* tape(): object. It does not record until tape:record. */
static int tape_new(lua_State *L) {
  tape_box *box = bl_new(L, &bl_tape_class, sizeof *box);
  box->nn = bl_nn_of(L);
  bl_must(L, berth_tape_new(box->nn->ctx, &box->tape));
  return 1;
}

/* tape:record(f, ...): what f returns; f may close the tape, and cannot yield: lua_pcall is a C
 * boundary. The tape before it records again whatever f does, hence pcall; its error is raised
 * unchanged. */
static int record(lua_State *L) {
  BL_WHERE(w, "tape:record");
  tape_box *box = self(L, w.fn);
  bl_nn *nn = box->nn;
  berth_tape *tape = box->tape, *before = nn->tape;
  if (!lua_isfunction(L, 2)) { /* or what can be called */
    if (!luaL_getmetafield(L, 2, "__call"))
      bl_wrong(L, &w, "f", "expected a function, got %s", bl_kind(L, 2));
    lua_pop(L, 1);
  }
  berth_tape_retain(tape);
  nn->tape = tape;
  int failed = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  nn->tape = before;
  berth_tape_release(tape);
  if (failed) return lua_error(L);
  return lua_gettop(L) - 1;
}

/* tape:backward(loss [1]): adds gradients to those of all parameters that were used. Hooks run
 * meanwhile, which may close tape and loss: both are held. Raises what fails. */
static int backward(lua_State *L) {
  static const char fn[] = "tape:backward";
  berth_tape *tape = self(L, fn)->tape;
  berth_array *loss = bl_check_array(L, 2, fn, "loss")->array;
  berth_tape_retain(tape); /* a hook may close them */
  berth_array_retain(loss);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_tape_backward(tape, loss));
  berth_array_release(loss);
  berth_tape_release(tape);
  bl_must(L, st);
  return 0;
}

/* watch(array): keeps its gradient, too; gives the array */
static int watch(lua_State *L) {
  static const char fn[] = "tape:watch";
  tape_box *box = self(L, fn);
  bl_must(L, berth_tape_watch(box->tape, bl_check_array(L, 2, fn, "array")->array));
  lua_settop(L, 2);
  return 1;
}

/* tape:gradient(array): of a watched array, after backward; nil: none. The array itself, not a
 * copy. */
static int gradient(lua_State *L) {
  static const char fn[] = "tape:gradient";
  bl_array_box *out = bl_result(L, 2);
  berth_array *d = berth_tape_gradient(self(L, fn)->tape, bl_check_array(L, 2, fn, "array")->array);
  if (!d) return 0;
  berth_array_retain(out->array = d);
  return bl_give(L, out, BERTH_OK);
}

/* clear(): forgets what is recorded */
static int clear(lua_State *L) {
  berth_tape_clear(self(L, "tape:clear")->tape);
  return 0;
}

BL_GETTER(length, lua_pushinteger, berth_tape_length(self(L, "#tape")->tape))

static int is_recording(lua_State *L) {
  const tape_box *box = self(L, "tape.recording");
  lua_pushboolean(L, box->nn->tape == box->tape);
  return 1;
}

static int to_string(lua_State *L) {
  const tape_box *box = self(L, "tostring");
  return bl_push_format(L, "tape: %d operations%s", (int)berth_tape_length(box->tape),
                box->nn->tape == box->tape ? ", recording" : "");
}

static const luaL_Reg methods[] = { { "record", record }, { "backward", backward },
                                    { "watch", watch },   { "gradient", gradient },
                                    { "clear", clear },   { NULL, NULL } };
static const luaL_Reg fields[] = { { "recording", is_recording }, { NULL, NULL } };
const bl_class bl_tape_class = {
  .name = "tape", .key = "berth.tape", .release = release_tape, .methods = methods,
  .fields = fields, .text = to_string, .length = length
};

const luaL_Reg bl_nn_tape_functions[] = { { "nn_tape", tape_new }, { NULL, NULL } };
