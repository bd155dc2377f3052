--- The text of a PipeDream profile, from its nodes and edges.
--
-- A node is { kind, forward ms, backward ms, activation bytes, parameter bytes }, an edge a pair of
-- node numbers.
return function(nodes, edges)
  local lines = {}
  for i, node in ipairs(nodes) do
    lines[i] = ("node%d -- %s -- forward_compute_time=%g, backward_compute_time=%g, "
      .. "activation_size=%g, parameter_size=%g\n"):format(i, node[1], node[2], node[3], node[4],
      node[5])
  end
  for _, edge in ipairs(edges) do
    lines[#lines + 1] = ("\tnode%d -- node%d\n"):format(edge[1], edge[2])
  end
  return table.concat(lines)
end
