--- Why a row has no answer: what is proved for all of them is printed once.
local refusals = {}

-- A message begins with the placer's name, as the row does.
local function without_name(row)
  local name, rest = row.error:match("^([^:]+): (.+)$")
  return name and row.name:sub(1, #name) == name and rest or row.error
end

local function proof(row)
  return row.error and row.code == "infeasible" and row.error:match(": (cannot fit: .*)$") or nil
end

--- The proof that several rows give.
function refusals.shared(rows)
  local seen = {}
  for _, row in ipairs(rows) do
    local text = proof(row)
    if text and seen[text] then return text end
    if text then seen[text] = true end
  end
  return nil
end

--- Of a row: its error, without its name; "infeasible" if that is the shared proof.
function refusals.short(row, shared)
  if shared and proof(row) == shared then return "infeasible" end
  return without_name(row)
end

return refusals
