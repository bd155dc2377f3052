-- Plan choice by estimates on measured rows; `--help` prints the usage.
package.path = "scripts/bench/?.lua;" .. package.path
local json = require "berth.base.json_writer"
local regret = require "llm.regret"
local rows = require "llm.rows"

local HELP = [[
usage: scripts/bench/llm_regret DIR [options]
Takes the measured rows of DIR by groups of the same model, sequence, batch and number of GPUs with
at least three plans, and a rule's favourite of each group. A line for each file and rule:
  FILE RULE groups N rows M loss X worst Y exact K
loss: how much longer than the fastest measured plan the favourite takes, %, mean and worst; exact:
groups in which it is the fastest. FILE:uncontended is without the rows that other traffic slowed:
39.1 B with tp 2 or 4 and dp of 16 or more, micro-batches of 64. Rules: the least estimate; the most
data parallelism, then tensor parallelism; the most tensor parallelism, then data parallelism; ties
by the larger micro-batch.

  --least N    plans of a group (3)
  --form NAME  events (default) or closed: how steps are estimated
  --groups     prints each group
  --json       prints an object instead

Files: vtrain_multi_a100.csv and bloom_sweeps.csv (measured on several machines),
vtrain_single_a100.csv (by all signs another simulator's output). Those that are not there are
passed over. Exit status: 2 if none is.
]]

local FILES = { "vtrain_multi_a100.csv", "vtrain_single_a100.csv", "bloom_sweeps.csv" }

local function refuse(...)
  io.stderr:write(("llm_regret: " .. (...) .. "\n"):format(select(2, ...)))
  os.exit(2)
end

local function options(argv)
  local given, i = { least = 3, form = "events" }, 1
  while argv[i] do
    local word = argv[i]
    if word == "--help" then io.write(HELP) os.exit(0)
    elseif word == "--json" or word == "--groups" then given[word:sub(3)] = true
    elseif word == "--least" or word == "--form" then
      i = i + 1
      given[word:sub(3)] = argv[i] or refuse("%s needs a value", word)
    elseif word:find "^%-" or given.dir then refuse("unknown argument %s", word)
    else given.dir = word
    end
    i = i + 1
  end
  given.least = tonumber(given.least)
  if not given.dir then refuse "DIR is missing: --help prints the usage" end
  if not given.least or given.least < 2 then refuse "--least: expected a number from 2" end
  if given.form ~= "events" and given.form ~= "closed" then
    refuse("--form: expected events or closed, got %s", given.form)
  end
  return given
end

local function percent(x) return ("%.2f %%"):format(100 * x) end

local function text(file, groups, n, found, given)
  for _, r in ipairs(found) do
    print(("%s %s groups %d rows %d loss %s worst %s exact %d"):format(file, r.name, #groups, n,
      percent(r.mean), percent(r.worst), r.exact))
  end
  for k, group in ipairs(given.groups and groups or {}) do
    local row, losses = group[1], {}
    for i, r in ipairs(found) do losses[i] = ("%s %s"):format(r.name, percent(r.losses[k])) end
    print(("  %s: %d GPUs, batch %d, %d plans: %s"):format(row.group.model, row.cluster.gpus,
      row.plan.global_batch, #group, table.concat(losses, ", ")))
  end
end

local function object(file, groups, n, found)
  local list = {}
  for i, r in ipairs(found) do
    list[i] = json.object(json.fields(r, "rule=name loss=mean worst exact"))
  end
  return json.object { { "file", file }, { "groups", #groups }, { "rows", n }, { "rules", list } }
end

-- The rows of a file, and those among them that are not known to be slowed by other traffic.
local function parts(name, list)
  local clear = {}
  for _, row in ipairs(list) do
    if not row.group.contended then clear[#clear + 1] = row end
  end
  local out = { { name, list } }
  if #clear < #list then out[2] = { name .. ":uncontended", clear } end
  return out
end

local given, out = options(arg), {}

local function report(name, list)
  local groups, n = regret.groups(list, given.least), 0
  for _, group in ipairs(groups) do n = n + #group end
  if #groups == 0 then return end
  local found = regret.of(groups, regret.rules(given.form))
  if given.json then out[#out + 1] = object(name, groups, n, found)
  else text(name, groups, n, found, given) end
end

local any = false
for _, name in ipairs(FILES) do
  local file = rows.read(given.dir, name)
  any = any or file ~= nil
  for _, part in ipairs(file and parts(name, file.rows) or {}) do report(part[1], part[2]) end
end
if not any then refuse("%s has none of: %s", given.dir, table.concat(FILES, ", ")) end
if given.json then print(json.encode(json.object { { "files", out } })) end
