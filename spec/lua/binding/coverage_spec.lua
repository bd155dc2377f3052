-- The binding calls every public C function, but for those that are listed with a reason.
local read = require("support.shell").read

local skipped = {
  berth_adam_retain = "a box owns its optimiser",
  berth_collective_algorithms = "the descriptor of the option has them",
  berth_dispatch_choices = "the descriptor of the option has them",
  berth_gang_gavel_default = "the table of the options has them",
  berth_gang_gittins_default = "the table of the options has them",
  berth_gang_las_default = "the table of the options has them",
  berth_options_check = "the core does it; Lua's values are checked when they are read",
  berth_sim_presets = "the descriptor of the option has them",
  berth_cluster_step = "berth_cluster_run does it again and again",
  berth_compiled_retain = "Lua gets a copy",
  berth_cost_collective = "berth_cost_collective_by returns the algorithm, too",
  berth_rng_u64 = "64 bits do not fit a LuaJIT number; rng:below and rng:uniform",
  berth_decide = "berth_decider_search does it in steps, so that functions may close things",
  berth_decider_retain = "a box owns its search",
  berth_deploy_evaluate_rule = "searches call it, d:search returns its result",
  berth_deploy_search_actions = "results of d:search have the problem's actions",
  berth_deploy_retain = "a box owns its problem",
  berth_expansion_piece = "of the replay in C; Lua has the tensors",
  berth_index_least = "for operations in C, which refuse what is too small",
  berth_llm_search_retain = "Lua gets a copy",
  berth_lp_retain = "Lua gets a copy",
  berth_pacml_decide = "berth_pacml_decide_on does it without a block, too",
  berth_pacml_look = "berth_pacml_look_on does it without a block, too",
  berth_ps_ctx = "a Lua state has one context",
  berth_result_retain = "a box owns its result",
  berth_schedule_retain = "a box owns its schedule",
  berth_search = "through berth_place: anneal, local and brkga",
  berth_sim_chain = "for searches in C; r:critical_path() is that of a result",
  berth_sim_run_limited = "for searches in C",
  berth_write_graph = "berth_write_placed does it with a placement, too",
}

local function files(pattern)
  local list = {}
  local ls = assert(io.popen("ls " .. pattern))
  for path in ls:lines() do list[#list + 1] = path end
  ls:close()
  return list
end

-- Set of the words in the sources of the binding.
local function used()
  local words = {}
  for _, path in ipairs(files("lua/src/*.c lua/src/*/*.c")) do
    for word in read(path):gmatch("[%w_]+") do words[word] = true end
  end
  return words
end

local function declared()
  local names = {}
  for _, path in ipairs(files("core/include/berth/*.h")) do
    local text = read(path):gsub("/%*.-%*/", "")
    for name in text:gmatch("([%w_]+)%(") do
      if name:find("^berth_") and not text:find("%(%*" .. name) then names[#names + 1] = name end
    end
  end
  table.sort(names)
  return names
end

describe("the binding", function()
  it("reaches every public C function", function()
    local words, missing, names = used(), {}, declared()
    assert.is_true(#names > 100)
    for _, name in ipairs(names) do
      if not words[name] and not skipped[name] then missing[#missing + 1] = name end
    end
    assert.same({}, missing)
  end)

  it("skips only what is there and not called", function()
    local known, words = {}, used()
    for _, name in ipairs(declared()) do known[name] = true end
    for name in pairs(skipped) do
      assert.is_true(known[name], name)
      assert.is_nil(words[name], name)
    end
  end)
end)
