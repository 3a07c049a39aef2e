-- Prelude of the scripts that serve parts of the engine that have separate keys. Each part's prelude follows this one (see
-- keys.py) and adds itself to these two.

-- By the name of a hash with records of ended jobs: a function (run, key, tick), called for each job added to it.
local remember = {}

-- The values of each part in the replies for a boundary, in this order: {name = …, of = function(run) … end}.
local shows = {}

-- {name, list, …}
local function shown(run)
  local found = {}
  for _, one in ipairs(shows) do
    found[#found + 1] = one.name
    found[#found + 1] = one.of(run)
  end
  return found
end
