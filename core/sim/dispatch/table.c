/* The dispatch orders by their number: one array generated from BERTH_DISPATCHES. */
#include "dispatch_internal.h"

#define DECLARE(NAME, symbol) extern const berth_i_dispatch berth_i_dispatch_##symbol;
BERTH_DISPATCHES(DECLARE)

#define ROW(NAME, symbol) &berth_i_dispatch_##symbol,
static const berth_i_dispatch *const orders[] = { BERTH_DISPATCHES(ROW) };

#define CHOICE(NAME, symbol) &berth_i_dispatch_##symbol.choice,
const berth_choice *const berth_i_dispatch_choices[] = { BERTH_DISPATCHES(CHOICE) NULL };

const berth_choice *const *berth_dispatch_choices(void) { return berth_i_dispatch_choices; }
const berth_i_dispatch *berth_i_dispatch_of(berth_dispatch d) { return orders[d]; }
