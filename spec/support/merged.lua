--- A copy of a table with the fields of another one, which may be nil, put over its own.
return function(base, more)
  local out = {}
  for key, value in pairs(base) do out[key] = value end
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end
