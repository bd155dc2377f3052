--- The bounds of results of the same jobs: mean completion time and makespan, s; nil: none, or they
-- differ, since not all refuse the same jobs.
return function(results)
  local first
  for _, r in ipairs(results) do
    local s = r.summary
    if s.bound_jct then
      first = first or s
      if s.bound_jct ~= first.bound_jct or s.bound_makespan ~= first.bound_makespan then
        return nil
      end
    end
  end
  if first then return first.bound_jct, first.bound_makespan end
end
