--- Strategies of deployments: actions by their properties, and the same action everywhere.
local strategies = {}

--- The action on the first set with `size` devices, with this option and these shares.
function strategies.find(d, size, option, shares)
  local sets = d:sets()
  for k, a in ipairs(d:actions()) do
    if #sets[a.set] == size and a.option == option and a.shares == (shares or "even") then
      return k
    end
  end
end

--- One action for all op groups; duplicate: ops that are repeated.
function strategies.uniform(d, action, duplicate)
  local s = { action = {}, duplicate = duplicate }
  for g = 1, #d:groups() do s.action[g] = action end
  return s
end

return strategies
