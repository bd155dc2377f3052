--- berth.repl: the interactive prompt. Line editing, history and completion on a terminal; plain
-- lines elsewhere.
local help = require "berth.help"
local inspect = require "berth.repl.inspect"
local interrupt = require "berth.base.interrupt"

local repl = {}

local global = _G
local PROMPT, MORE = "> ", ">> "

-- Lua 5.1 gives a chunk its globals by setfenv, later versions by the fourth argument of load.
local function load_in(text, env)
  local setfenv = rawget(global, "setfenv")
  if not setfenv then return load(text, "=input", "t", env) end
  local chunk, message = rawget(global, "loadstring")(text, "=input")
  if chunk then setfenv(chunk, env) end
  return chunk, message
end

local function same(...) return ... end

-- A tail call leaves no trace of its line, and its errors would be
-- blamed on this file: the values are passed through a function first.
local function compile_expression(text, env)
  local chunk = load_in("return " .. text, env)
  local traced = chunk and (load_in("return (...)(" .. text .. ")",
    env) or load_in("return (...)(" .. text .. "\n)", env))
  return traced and function() return traced(same) end or chunk
end

--- Compiles an expression or statements. "more": the text only lacks its end.
-- @return function; or nil, message, true if more lines may complete it
function repl.compile(text, env)
  local chunk = compile_expression(text:gsub("^%s*=", ""), env)
  if chunk then return chunk end
  local message
  chunk, message = load_in(text, env)
  if chunk then return chunk end
  return nil, message, message:find("<eof>", 1, true) ~= nil
end

--- Globals of the prompt: those of the program, and help, _ (the last result) and berth, if it is
-- loaded.
function repl.environment()
  return setmetatable({ help = help, berth = package.loaded.berth }, { __index = global })
end

local function pack(...)
  return { n = select("#", ...), ... }
end

local function message_of(err)
  if type(err) == "string" then return err end
  return inspect.show(err)
end

-- A failure "nil, message, code" reads as such; other results one below the other, but for nils
-- behind an object: berth.load returns one for what a file does not hold.
local function show_results(session, results)
  local last = results.n
  while last > 2 and type(results[2]) == "userdata" and results[last] == nil do last = last - 1 end
  for i = 2, last do
    local x = results[i]
    local plain = type(x) == "string" and results[2] == nil and i > 2
    session.write((plain and x or inspect.show(x)) .. "\n")
  end
end

-- LuaJIT checks for Ctrl-C only where it interprets.
local function stay_stoppable(chunk)
  local jit = rawget(global, "jit")
  if jit then jit.off(chunk, true) end
end

local function run(session, chunk)
  stay_stoppable(chunk)
  local results = pack(pcall(chunk))
  if not results[1] then
    session.errors = session.errors + 1
    session.write_error("error: " .. message_of(results[2]) .. "\n")
    return
  end
  if results.n >= 2 then session.env._ = results[2] end
  local shown = pack(pcall(show_results, session, results))
  if not shown[1] then session.write_error("error: " .. message_of(shown[2]) .. "\n") end
end

-- Reads lines until they make a chunk. Returns the chunk; or false for one in error; or nil at the
-- end of input.
local function read_chunk(session)
  local text
  while true do
    local line = session.read(text and MORE or PROMPT)
    if not line then
      if text then session.fail("unfinished: " .. text) end
      return nil
    end
    text = text and text .. "\n" .. line or line
    if text:match("^%s*$") then return false end
    local chunk, message, more = repl.compile(text, session.env)
    if chunk or not more then
      session.remember(text)
      if not chunk then session.fail(message) end
      return chunk or false
    end
  end
end

-- One chunk, read and run; false at the end of input.
local function step(session)
  local chunk = read_chunk(session)
  if chunk then run(session, chunk) end
  return chunk ~= nil
end

--- Reads and runs until the input ends. For tests and other front ends.
-- @tparam table s read(prompt) -> line or nil, write(text), write_error(text), env. Optional:
--  remember(text); give_up(), called when an interrupt has come while a line was typed;
--  interrupted(): the loop ends if it is true after a chunk
-- @treturn number how many chunks failed
-- @treturn ?boolean true: it was interrupted
function repl.loop(s)
  local session = { errors = 0, read = s.read, write = s.write, write_error = s.write_error }
  session.env = s.env or repl.environment()
  session.remember = s.remember or function() end
  session.give_up = s.give_up or function() end
  function session.fail(message)
    session.errors = session.errors + 1
    session.write_error("error: " .. message .. "\n")
  end
  while true do
    local ok, more = pcall(step, session)
    if not ok then
      if not interrupt.is(more) then error(more, 0) end
      session.give_up()
    elseif not more then
      return session.errors
    end
    if s.interrupted and s.interrupted() then return session.errors, true end
  end
end

-- ---- completion ---------------------------------------------------------------------------------

-- Of an object: methods behind a colon, fields behind a dot.
local function names_in(value, joint)
  local class = help.class(value)
  if class then return joint == ":" and help.methods(class) or help.fields(class) end
  local names = {}
  if type(value) ~= "table" then return names end
  for key in pairs(value) do
    if type(key) == "string" and key:match("^[%a_][%w_]*$") then names[#names + 1] = key end
  end
  return names
end

-- Only of names joined by dots: what a call gives is not known before it is made.
local function resolve(env, path)
  local value = env
  for part in (path .. "."):gmatch("([^.]*)%.") do
    if not part:match("^[%a_][%w_]*$") then return nil end
    local ok, field = pcall(function() return value[part] end)
    if not ok then return nil end
    value = field
  end
  return value
end

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if",
  "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }

local function top_names(env)
  local names = names_in(env)
  for _, name in ipairs(names_in(global)) do names[#names + 1] = name end
  for _, name in ipairs(KEYWORDS) do names[#names + 1] = name end
  return names
end

--- Candidates for a word such as "berth.mod", sorted, each once.
-- @tparam[opt] string before the line up to the word; behind a closed bracket or string no word
--  begins
function repl.candidates(env, word, before)
  if word == "" and before and before:match("[%)%]}\"']$") then return {} end
  local path, joint, start = word:match("^(.*)([.:])([%w_]*)$")
  if not path then path, joint, start = "", "", word end
  local names = joint == "" and top_names(env) or names_in(resolve(env, path), joint)
  local found, seen = {}, {}
  for _, name in ipairs(names) do
    if name:sub(1, #start) == start and not seen[name] then
      seen[name] = true
      found[#found + 1] = path .. joint .. name
    end
  end
  table.sort(found)
  return found
end

-- ---- front ends ---------------------------------------------------------------------------------

local function plain_reader(prompted)
  return function(prompt)
    if prompted then
      io.stdout:write(prompt)
      io.stdout:flush()
    end
    local line = io.stdin:read("*l")
    return line
  end
end

local function on_terminal(edit)
  if edit then return edit.is_terminal() end
  local ok = os.execute("test -t 0 && test -t 1")
  return ok == true or ok == 0
end

local function history_path()
  local home = os.getenv("HOME")
  return os.getenv("BERTH_HISTORY") or (home and home .. "/.berth_history")
end

local function banner(env)
  local version = env.berth and env.berth.version or "?"
  local machine = rawget(global, "jit") and rawget(global, "jit").version or global._VERSION
  io.stdout:write(string.format("berth %s, %s. help() lists what there is; end with Ctrl-D.\n",
    version, machine))
end

local function editing_session(edit, session)
  local path = history_path()
  if path then edit.read_history(path) end
  edit.completion(function(word, before) return repl.candidates(session.env, word, before) end)
  session.read = function(prompt)
    local line = edit.readline(prompt)
    -- at the latest; Lua may have the signal already
    if line == false then error("interrupted", 0) end
    return line
  end
  session.remember = function(text) edit.add_history((text:gsub("\n", " "))) end
  local errors = repl.loop(session)
  edit.completion(nil)
  if path then edit.write_history(path) end
  io.stdout:write("\n")
  return errors
end

local function optional(name)
  local found, module = pcall(require, name)
  return found and module or nil
end

-- On a terminal Ctrl-C stops a chunk; elsewhere also those that would follow.
local function interact(core, edit)
  local session = {
    env = repl.environment(),
    write = function(s) io.stdout:write(core.escape(s, true)) end,
    write_error = function(s) io.stdout:flush(); io.stderr:write(core.escape(s, true)) end,
  }
  local terminal = on_terminal(edit)
  if terminal then banner(session.env) end
  if terminal and edit then
    if core then edit.watch(core.interrupt_count()) end
    editing_session(edit, session)
    return 0
  end
  session.read = plain_reader(terminal)
  if terminal then session.give_up = function() io.stdout:write("\n") end end
  if core and not terminal then session.interrupted = core.interrupted end
  local errors, interrupted = repl.loop(session)
  return terminal and 0 or errors, interrupted
end

--- Runs the prompt on standard input and output, with Ctrl-C caught.
-- @treturn number how many chunks failed; 0 on a terminal
-- @treturn ?boolean true: it was interrupted (not on a terminal)
function repl.run()
  local core = optional "berth.core"
  if core then core.interrupted() end -- of an earlier session
  local ok, errors, interrupted = interrupt.catching(interact, core, optional "berth.readline")
  if not ok then error(errors, 0) end
  return errors, interrupted
end

return setmetatable(repl, { __call = function() return repl.run() end })
