-- Prelude of the scripts that serve parts of the engine that have separate keys. Each part's prelude follows this one (see
-- keys.py) and adds itself to these two.

-- By the name of a hash that remembers ended jobs: what follows when a job is added to it, called as (run, key, tick).
local remember = {}

-- What a host is shown at a boundary for each part, in this order: {name = …, of = function(run) … end}.
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
