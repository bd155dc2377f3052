--- Lists of descriptors from the core by name, and which of them read an option.
local descriptors = {}

--- @tparam table list of { name =, reads = keys separated by spaces or nil }
-- @treturn table names (array), by_name, reads (function), readers (function)
function descriptors.of(list)
  local out = { names = {}, by_name = {} }
  -- by key: set of those that read it; keys that are not in it are for all
  local readers = {}
  for i, one in ipairs(list) do
    out.names[i], out.by_name[one.name] = one.name, one
    for key in (one.reads or ""):gmatch("%S+") do
      readers[key] = readers[key] or {}
      readers[key][one.name] = true
    end
  end

  --- Does the one of that name read the option?
  function out.reads(name, key) return not readers[key] or readers[key][name] == true end

  --- Names of those that read it, in order; nil: all.
  function out.readers(key)
    if not readers[key] then return nil end
    local names = {}
    for _, name in ipairs(out.names) do
      if readers[key][name] then names[#names + 1] = name end
    end
    return names
  end

  return out
end

return descriptors
