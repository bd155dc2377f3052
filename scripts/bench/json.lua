-- Turns the figures' table into JSON, and prints them aligned.   usage: json.lua IN.tsv OUT.json
local rows = {}
for line in io.lines(arg[1]) do
  local name, value, unit, input, cpu = line:match("^(.-)\t(.-)\t(.-)\t(.-)\t(.-)$")
  local row = '  {"name": "%s", "value": %s, "unit": "%s", "input": "%s", "cpu_seconds": %s}'
  rows[#rows + 1] = row:format(name, value, unit, input, cpu)
  print(("%-58s %12s %-9s %s"):format(name, value, unit, input))
end
local out = assert(io.open(arg[2], "w"))
out:write("[\n", table.concat(rows, ",\n"), "\n]\n")
out:close()
