-- Estimates of berth.llm and berth.kernels against measured rows; `--help` prints the usage.
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local errors = require "llm.errors"
local json = require "berth.base.json_writer"
local kernels = require "llm.kernels"
local memory = require "llm.memory"
local rows = require "llm.rows"
local steps = require "llm.steps"

local HELP = [[
usage: scripts/bench/llm_validate DIR [options]
Compares estimates with the measured rows in DIR: step times, memory, kernels. A line for each file,
and for parts of it (FILE:PART):
  FILE rows N used K mape X p90 Y max Z bias W         step times, kernels, collectives
  FILE memory rows N used K mape X p90 Y max Z bias W  memory
  FILE ran rows N fit K least X most Y                 of rows that ran: how many are said to fit,
                                                       and their shares of the memory, %
  FILE out-of-memory rows N fit K least X most Y       the same of rows that ran out of memory
Errors are estimate / measured - 1 in %: mean and 90th percentile of the absolute values, the
largest, the mean. Rows that are left out follow, by reason.

  --calibrate N   fits the user's factors on N rows of each file, at most half, and reports the
                  others
  --scale gpu     each row is scaled by one factor, from two other rows of its GPU in its file
  --scale model   the same from one other row of its model and GPU
  --seed S        of the rows that are drawn (1)
  --form NAME     closed or events: how step times are estimated (that of berth.llm.estimate)
  --rows          prints each row
  --json          prints an object instead

Files of DIR that are not there are passed over. Exit status: 2 if there is none.
]]

local function refuse(...)
  io.stderr:write(("llm_validate: " .. (...) .. "\n"):format(select(2, ...)))
  os.exit(2)
end

local function whole(key, value)
  local n = tonumber(value)
  if not n or n < 1 or n % 1 ~= 0 then
    refuse("--%s: expected a whole number from 1 on, got '%s'", key, tostring(value))
  end
  return n
end

local function one_of(...)
  local legal = { ... }
  return function(key, value)
    for _, x in ipairs(legal) do
      if x == value then return value end
    end
    return refuse("--%s: expected %s, got '%s'", key, table.concat(legal, " or "), tostring(value))
  end
end

local VALUES = { calibrate = whole, seed = whole, scale = one_of("gpu", "model"),
  form = one_of("closed", "events") }
local FLAGS = { rows = true, json = true, help = true }

local function options_of(words)
  local how, i = { seed = 1 }, 1
  while words[i] do
    local key = words[i]:match "^%-%-(.*)$"
    if not key then
      if how.dir then refuse("%s: there is a directory already", words[i]) end
      how.dir = words[i]
    elseif FLAGS[key] then
      how[key] = true
    elseif VALUES[key] then
      i = i + 1
      how[key] = VALUES[key](key, words[i])
    else
      refuse("unknown option --%s; --help lists them", key)
    end
    i = i + 1
  end
  if how.calibrate and how.scale then refuse "--calibrate and --scale: only one of them" end
  return how
end

-- ---- report -------------------------------------------------------------------------------------

-- All parts: step, memory, kernel (lists); limits; missing (names).
local function collect(how)
  local out = { step = {}, memory = {}, kernel = {}, limits = {}, missing = {} }
  local function append(list, parts)
    for _, part in ipairs(parts) do list[#list + 1] = part end
  end
  for _, reader in ipairs(rows.readers) do
    local file = rows.read(how.dir, reader.name)
    if file then
      if not reader.formulas then append(out.step, steps.parts(file, how)) end
      append(out.memory, memory.parts(file))
      append(out.limits, memory.limits(file))
    else
      out.missing[#out.missing + 1] = reader.name
    end
  end
  local parts, missing = kernels.parts(how.dir)
  append(out.kernel, parts)
  append(out.missing, missing)
  return out
end

local function print_parts(parts, how, unit, scale)
  for _, part in ipairs(parts) do
    print(table.concat(errors.lines(part), "\n"))
    -- parts of a file repeat its rows
    if how.rows and not part.name:find("csv:", 1, true) then
      for _, line in ipairs(errors.rows(part, unit, scale)) do print(line) end
    end
  end
end

local function print_text(all, how)
  print_parts(all.step, how, "s", 1)
  print_parts(all.memory, how, "GB", 1e9)
  for _, x in ipairs(all.limits) do print(memory.limit_line(x)) end
  print_parts(all.kernel, how, "s", 1)
  for _, name in ipairs(all.missing) do print(name .. " passed over") end
end

local function documents(parts)
  local out = {}
  for i, part in ipairs(parts) do out[i] = errors.document(part) end
  return out
end

local function print_json(all, how)
  local limits = {}
  for i, x in ipairs(all.limits) do
    limits[i] = json.object { { "name", x.name }, { "what", x.what }, { "rows", x.rows },
      { "fit", x.fit }, { "least_percent", x.least }, { "most_percent", x.most } }
  end
  print(json.encode(json.object { { "berth", berth.version }, { "schema", 1 },
    { "form", how.form }, { "calibrate", how.calibrate }, { "scale", how.scale },
    { "seed", how.seed }, { "step", documents(all.step) }, { "memory", documents(all.memory) },
    { "limits", limits }, { "kernel", documents(all.kernel) }, { "passed_over", all.missing } }))
end

local how = options_of(arg)
if how.help then
  io.write(HELP)
  os.exit(0)
end
if not how.dir then refuse "which directory? --help says more" end
local all = collect(how)
if #all.step + #all.memory + #all.kernel == 0 then
  refuse("%s: no file of measured rows", how.dir)
end
if how.json then print_json(all, how) else print_text(all, how) end
