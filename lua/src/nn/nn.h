/* What the files of berth.nn share. Arrays, indices and segments are light boxes: userdata without
 * an anchor table, for they are made by the thousand.
 *
 * An operation: bl_result, tables into lists, check the arguments, let the core fill the box,
 * bl_give. In this order, for all that allocates may run finalisers, and these may close any
 * object: arguments are looked at when nothing allocates any more. */
#ifndef BERTH_LUA_NN_H
#define BERTH_LUA_NN_H

#include "base/binding.h"

/* One per Lua state. */
typedef struct bl_nn {
  berth_ctx *ctx;   /* NULL: the state is closing */
  berth_tape *tape; /* that records now, held by tape:record; NULL: none */
  size_t threshold; /* bytes held by the core at which garbage is collected next */
} bl_nn;
bl_nn *bl_nn_of(lua_State *L);

/* The first three fields are read by other modules, which know the key "berth.array". */
typedef struct bl_array_box {
  berth_array *array; /* NULL: closed */
  float *data;
  int64_t size;
  bl_nn *nn;
} bl_array_box;

typedef struct bl_index_box {
  berth_index *index;
} bl_index_box;

typedef struct bl_params_box {
  berth_params *params;
  berth_rng rng; /* what is added starts from it */
} bl_params_box;

typedef struct bl_segments_box {
  berth_segments *segments;
} bl_segments_box;

extern const bl_class bl_array_class, bl_index_class, bl_segments_class, bl_tape_class,
    bl_parameters_class, bl_adam_class;

/** Makes the metatables of all classes of berth.nn. */
void bl_params_register(lua_State *L);

/* ---- arrays ---- */

/** A closed box on the stack, for `give`. */
bl_array_box *bl_new_array(lua_State *L);
/** The same, behind exactly n arguments: more are dropped, missing ones are nil. */
bl_array_box *bl_result(lua_State *L, int n);
/** A box with a reference of its own to the array at 1, on the stack: for what allocates while it
 * reads. */
bl_array_box *bl_hold_array(lua_State *L, const char *fn);
bl_array_box *bl_check_array(lua_State *L, int i, const char *fn, const char *what);
/** NULL: nil or none. */
bl_array_box *bl_opt_array(lua_State *L, int i, const char *fn, const char *what);
/** The box on the top has got its array: returns 1. st not BERTH_OK: raises. */
int bl_give(lua_State *L, bl_array_box *box, berth_status st);
/** Raises for every status but BERTH_OK, with the core's message. */
void bl_must(lua_State *L, berth_status st);
/** Makes a box of zeros on the stack. */
bl_array_box *bl_push_zeros(lua_State *L, int32_t rank, const int32_t *shape);

/** Extents from the table at i into shape. rest: one may be -1.  @return rank */
int32_t bl_to_shape(lua_State *L, int i, const bl_where *w, const char *key, bool rest,
                    int32_t shape[BERTH_NN_RANK]);
/** 0-based. */
int32_t bl_to_axis(lua_State *L, int i, const bl_where *w, const berth_array *a);
double bl_opt_number(lua_State *L, int i, const bl_where *w, const char *key, double otherwise);

/* ---- indices and segments ---- */

bl_index_box *bl_new_index(lua_State *L);
bl_segments_box *bl_new_segments(lua_State *L);
/** A table at i is replaced by the index or segments of its numbers. Where there are several, all
 * come before the first is read. */
void bl_convert_index(lua_State *L, int i, const bl_where *w, const char *key);
void bl_convert_segments(lua_State *L, int i, const bl_where *w, const char *key);
/** An index, or a table of ids, which is replaced by one. */
berth_index *bl_to_index(lua_State *L, int i, const bl_where *w, const char *key);
/** Segments, or a table of lengths, likewise. */
berth_segments *bl_to_segments(lua_State *L, int i, const bl_where *w, const char *key);

/* ---- by file ---- */

extern const luaL_Reg bl_nn_array_functions[], bl_nn_list_functions[], bl_nn_op_functions[],
    bl_nn_tape_functions[], bl_nn_params_functions[], bl_nn_adam_functions[];
extern const luaL_Reg bl_nn_element_methods[], bl_nn_product_methods[], bl_nn_row_methods[],
    bl_nn_value_methods[], bl_nn_arithmetic[];
int bl_nn_array(lua_State *L); /* from tables */
int bl_params_save(lua_State *L);
int bl_params_load(lua_State *L);

#endif
