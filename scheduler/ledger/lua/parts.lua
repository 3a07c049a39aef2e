-- Prelude of a host's steps: the features of its engine that have keys of their own, see late.lua, corrections.lua,
-- retries.lua and rows.lua.

-- What follows when a job ends that a hash remembers, by the name of the hash.
local remember = {awaited = await, charged = charge}

-- What a host is shown of a boundary beyond the jobs that are due: requests of operators, answers after their jobs'
-- ends, final usages, times of answers, usage of earlier attempts.
local function shown(run)
  return asked(run), offered(run), corrections(run), timed(run), retries(run)
end
