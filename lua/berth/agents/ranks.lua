--- Training in many processes: what the trainer needs of berth.mpi, so that every rank stops when
-- one fails.
--
-- Every exchange begins with a small sum of who has failed and what each rank is about to
-- exchange. A rank whose training raises takes part in that sum once more, as failed, and sends its
-- message; so no rank waits for it. If a rank dies, mpirun ends the
-- others.
local core = require "berth.core"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"

local ranks = {}
ranks.__index = ranks
ranks.__name = "berth.ranks"

-- What the ranks are about to do together.
local SUM, NUMBERS, BROADCAST, END, ADD_UP = 1, 2, 3, 4, 5

local function must(value, message)
  if not value then error("berth.agents.ranks: " .. tostring(message), 0) end
  return value
end

--- The module berth.mpi.
-- @treturn[1] table
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function ranks.mpi()
  local found, mpi = pcall(require, "berth.mpi")
  if found then return mpi end
  return nil, "berth.mpi is not there: it is built where Open MPI is (libopenmpi-dev), by make "
    .. "module", "unsupported"
end

--- Was this process started by mpirun? By its environment alone: MPI does not begin.
function ranks.launched()
  return os.getenv("OMPI_COMM_WORLD_SIZE") ~= nil
end

--- The processes of this mpirun; begins MPI. A process that was started alone is a world of one.
-- @treturn[1] ranks
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function ranks.world()
  local mpi, message, code = ranks.mpi()
  if not mpi then return nil, message, code end
  local begun
  begun, message, code = mpi.init()
  if not begun then return nil, message, code end
  return setmetatable({ mpi = mpi, rank = mpi.rank(), size = mpi.size(), over = false }, ranks)
end

function ranks:__tostring()
  return ("ranks: %.0f of %.0f%s"):format(self.rank, self.size, self.over and ", over" or "")
end

-- Raises what the rank `from` sends.
local function hear(self, from)
  self.over = true
  local message = must(self.mpi.broadcast("", from))
  self.stopped = interrupt.is(message)
  error(("rank %.0f: %s"):format(from, message), 0)
end

-- Slots of all ranks: failed, kind, length.
local function agree(self, kind, length)
  if self.over then error("berth.agents.ranks: a rank has failed before", 0) end
  local slots, n = {}, self.size
  for i = 1, 3 * n do slots[i] = 0 end
  slots[self.rank], slots[n + self.rank], slots[2 * n + self.rank] = kind == nil and 1 or 0,
    kind or 0, length or 0
  return must(self.mpi.sum(slots))
end

local function other_step(self, slots, r)
  local n = self.size
  self.over = true -- alike on all ranks: each has the same slots
  error(("berth.agents.ranks: the ranks are not at the same step: rank 1 has kind %.0f of length "
    .. "%.0f, rank %.0f kind %.0f "
    .. "of length %.0f"):format(slots[n + 1], slots[2 * n + 1], r, slots[n + r], slots[2 * n + r]),
      0)
end

local function together(self, kind, length)
  local slots, n = agree(self, kind, length), self.size
  for r = 1, n do
    if slots[r] > 0 then hear(self, r) end
  end
  for r = 2, n do
    if slots[n + r] ~= slots[n + 1] or slots[2 * n + r] ~= slots[2 * n + 1] then
      other_step(self, slots, r)
    end
  end
end

--- Sums an array of berth.nn over all ranks, in place. Single precision, in an order that is MPI's.
-- @tparam array a
-- @treturn array the same
function ranks:sum(a)
  together(self, SUM, a.size)
  must(self.mpi.sum(a))
  return a
end

--- Sums arrays over all ranks, one after the other, in the order of ranks and, of one rank, of the
-- list: the bytes are those of one process that adds them so. Every rank has as many arrays, all of
-- one size.
-- @tparam {array,...} list
-- @treturn array the first, which holds the sum
function ranks:add_up(list)
  together(self, ADD_UP, #list * list[1].size)
  must(self.mpi.add_up(list))
  return list[1]
end

--- Sums of numbers, slot by slot, in double precision. With one rank's number in each slot, and
-- zeros of the others, exact.
-- @tparam table numbers
-- @treturn table sums, alike on all ranks
function ranks:numbers(numbers)
  together(self, NUMBERS, #numbers)
  return must(self.mpi.sum(numbers))
end

--- The root's array, into this one, or the root's string. Strings may differ in length.
-- @tparam array|string what
-- @tparam[opt=1] number root
function ranks:broadcast(what, root)
  together(self, BROADCAST, type(what) == "string" and 0 or what.size)
  local got = must(self.mpi.broadcast(what, root or 1))
  return type(what) == "string" and got or what
end

--- This rank's part of n things: those behind the first `before`, `count` of them. The first ranks
-- get what is left over.
-- @tparam number n
-- @treturn number before
-- @treturn number count
function ranks:share(n)
  local least, more = math.floor(n / self.size), n % self.size
  local before = (self.rank - 1) * least + math.min(self.rank - 1, more)
  return before, least + (self.rank <= more and 1 or 0)
end

-- Announces that this rank has failed, unless the run is over or another has failed.
local function announce(self, message)
  if self.over then return end
  local slots = agree(self, nil)
  for r = 1, self.size do
    if slots[r] > 0 then
      self.over = true
      must(self.mpi.broadcast(r == self.rank and tostring(message) or "", r))
      return
    end
  end
end

--- Announces that this rank stops early, on purpose: the others raise it at their next exchange,
-- and have `stopped` set.
function ranks:stop(message)
  self.stopped = true
  announce(self, message)
end

--- Calls f(ranks, ...) on every rank. If it raises on one, the others raise the same at their next
-- exchange, or at the end.
-- @treturn what f returns, three values at most
function ranks:run(f, ...)
  local ok, a, b, c = pcall(f, self, ...)
  if not ok then
    pcall(announce, self, a)
    error(a, 0)
  end
  if not self.stopped then together(self, END, 0) end
  return a, b, c
end

--- Ends MPI; waits for the other ranks.
function ranks:finish()
  self.over = true
  return self.mpi.finalize()
end

--- Whether `given` can be a trainer's option `ranks`; raises if not.
function ranks.check(where, given)
  if given == nil then return nil end
  options.refuse(getmetatable(given) ~= ranks, "%s: ranks: expected berth.agents.ranks, got %s",
    where, core.kind(given))
  return given
end

return ranks
