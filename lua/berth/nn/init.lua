--- Learning: arrays, a tape that records what is computed, parameters, layers, an optimiser,
-- schedules. docs/learning.md.
-- @module berth.nn
local core = require "berth.core"
local layers = require "berth.nn.layers"

return {
  array = core.nn_array,
  zeros = core.nn_zeros,
  full = core.nn_full,
  uniform = core.nn_uniform,
  normal = core.nn_normal,
  index = core.nn_index,
  segments = core.nn_segments,
  concat = core.nn_concat,
  gru = core.nn_gru,
  attention = core.nn_attention,
  mse = core.nn_mse,
  huber = core.nn_huber,
  cross_entropy = core.nn_cross_entropy,
  tape = core.nn_tape,
  parameters = core.nn_parameters,
  adam = core.nn_adam,
  read_note = core.nn_read_note,
  linear = layers.linear,
  mlp = layers.mlp,
  gru_cell = layers.gru_cell,
  norm = layers.norm,
  multi_head = layers.multi_head,
  self_attention = layers.self_attention,
  schedule = require "berth.nn.schedule",
}
