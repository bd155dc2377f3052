--- Numbers of the JSON documents that berth prints and writes: docs/json.md lists them with their
-- fields. A number is raised when a field is removed or changes its meaning; an additional field
-- does not raise it.
local core = require "berth.core"
local json = require "berth.base.json_writer"

local schema = {}

--- By document: what a command prints with --json, and files.
schema.numbers = {
  place = 1, simulate = 1, compare = 1, repair = 1, bounds = 1, ["bounds --split"] = 1, split = 1,
  check = 1, placers = 1,
  deploy = 1, models = 1, ["models NAME"] = 1, train = 1, ["train pacml"] = 1, ["train tag"] = 1,
  ["llm model"] = 1, ["llm memory"] = 1, ["llm estimate"] = 1, ["llm plan"] = 1,
  ["llm export"] = 1,
  cluster = 1, ["cluster pacml"] = 1, ["cluster pacml, several runs"] = 1, ["cluster pdors"] = 1,
  ["cluster pdors, several runs"] = 1, refusal = 1, schedule = 1, ["schedule file"] = 1,
  ["pdors problem"] = 1, ["experiment line"] = 1,
  ["records of pacml"] = 1, ["records of a cluster"] = 1,
}

--- A document: the version of berth, the number, then the given members.
-- @tparam string name of the document
-- @treturn function members -> object for base.json_writer
-- @usage text = json.encode(schema.document "split" { { "max_load_s", x } })
function schema.document(name)
  local number = assert(schema.numbers[name], name)
  return function(members)
    table.insert(members, 1, { "schema", number })
    table.insert(members, 1, { "berth", core.version })
    return json.object(members)
  end
end

--- May a file with this number be read as this document? Files of before there were numbers have
-- none.
function schema.reads(name, number) return number == nil or number == schema.numbers[name] end

return schema
