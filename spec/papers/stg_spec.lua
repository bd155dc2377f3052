-- berth.exact reaches the best known times of Standard Task Graphs, none below its bound.
local berth = require "berth"
local shared = require "support.shared"

describe("schedules for identical processors", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  it("reach the best known makespan in all rows tried, and prove at least 93 % of them", function()
    local rows, proved, loaded = 0, 0, {}
    for k, row in ipairs(shared.csv("data/stg/optimum.csv")) do
      if k % 6 == 0 then
        loaded[row.file] = loaded[row.file]
          or assert(berth.load(shared.path("data/stg/" .. row.file)))
        local g, t = loaded[row.file], berth.topology.mesh(tonumber(row.procs), { bandwidth = 1 })
        local p, proof = assert(berth.exact(g, t))
        local name, best = row.file .. " on " .. row.procs, tonumber(row.best_known)
        assert.equal(proof.makespan,
          berth.simulate(g, t, p, { dispatch = "planned", memory = "none" }).makespan, name)
        assert.is_true(proof.makespan <= best, name)
        assert.is_true(proof.makespan >= tonumber(row.published_lower_bound), name)
        assert.is_true(row.status ~= "optimal" or proof.makespan == best, name)
        assert.is_true(proof.bound <= proof.makespan, name)
        rows, proved = rows + 1, proved + (proof.proved and 1 or 0)
      end
    end
    assert.equal(120, rows)
    assert.is_true(proved >= 0.93 * rows, proved)
  end)
end)
