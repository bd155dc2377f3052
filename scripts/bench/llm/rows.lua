-- Measured training steps and memory: rows of published CSV files as plans of berth.llm. How each
-- file is read stands in its reader.
--
-- A row: model, cluster, plan (for berth.llm), measured (s; nil: no_time says why), memory (bytes;
-- nil: no_memory says why), group (what the figures are listed by, and what a plan cannot say),
-- file, line.
local bloom = require "llm.bloom"
local bridge = require "llm.bridge"
local csv = require "llm.csv"
local figures = require "llm.figures"
local megatron = require "llm.megatron"
local mosaic = require "llm.mosaic"
local torchtitan = require "llm.torchtitan"

local rows = {}

--- Readers: name (of the file), read(cells) -> row, or nil and a reason; expand(cells) -> array of
-- cells, where a line has several rows.
rows.readers = { megatron.multi, megatron.single, bloom, mosaic, bridge, torchtitan,
  megatron.korthikanti, megatron.narayanan, figures.bytes, figures.shares }

local function reader_of(name)
  for _, reader in ipairs(rows.readers) do
    if reader.name == name then return reader end
  end
  error("no reader of " .. name)
end

local function add(file, reader, cells)
  file.total = file.total + 1
  local fine, row, why = pcall(reader.read, cells)
  if not fine then row, why = nil, "cells that are no numbers" end
  if not row then
    file.left[why] = (file.left[why] or 0) + 1
    return
  end
  row.file, row.line = reader.name, row.line or cells.csv_line
  file.rows[#file.rows + 1] = row
end

--- The rows of a file.
-- @tparam string dir
-- @tparam string name of rows.readers
-- @treturn[1] table name; total (rows, with those left out); rows (array); left (count by reason)
-- @treturn[2] nil where dir has no such file
function rows.read(dir, name)
  local lines, reader = csv.read(dir, name), reader_of(name)
  if not lines then return nil end
  local file = { name = name, total = 0, rows = {}, left = {} }
  for _, cells in ipairs(lines) do
    for _, one in ipairs(reader.expand and reader.expand(cells) or { cells }) do
      add(file, reader, one)
    end
  end
  return file
end

return rows
