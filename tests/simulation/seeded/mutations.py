"""Planted bugs: for each rule of the protocol the natural alternative that breaks it. The simulator must find each.

One is a text that takes the place of another in a script, or a function that takes the place of another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.simulation.seeded.altered import in_script
from tests.simulation.seeded.planted_in_answers import (
    answers_by_place,
    batches_recorded_late,
    cancelled_answers_used,
    cancelled_jobs_hold_for_ever,
    cancelled_jobs_left_open,
    corrections_forgotten_on_resume,
    corrections_of_the_attempt_before,
    corrections_taken_again,
    ended_jobs_not_charged,
    flex_price_for_any_tier,
    heuristics_before_answers,
    idle_heuristics_of_later_entries,
    late_answers_for_ever,
    late_staging_accepted,
    shares_rounded_down,
    two_requests_of_one_attempt,
)
from tests.simulation.seeded.planted_in_runs import (
    corrections_not_repeated,
    cursor_past_what_was_shown,
    deleted_early,
    fork_pays_again,
    guesses_unjournalled,
    hints_without_repeat,
    late_answers_not_repeated,
    latencies_forgotten,
    leases_by_wall_clock,
    preconditions_ignored,
    replies_unread,
    reservation_shrunk_at_settle,
    retries_seen_by_admission,
    seals_that_only_grow,
    steps_by_two,
    times_taken_again,
    unseen_entries_archived,
    usage_in_the_digest,
)

Mutation = Callable[[], AbstractContextManager[Any]]


def script(name: str, *changes: tuple[str, str]) -> Mutation:
    """Return a mutation of a script."""
    return functools.partial(in_script, name, *changes)


#: By name, what is planted; each breaks one rule of docs/reference/guarantees.md.
MUTATIONS: dict[str, Mutation] = {
    "host steps name no epoch": script(
        "*",
        ("if held_epoch ~= epoch or held_holder ~= holder then return {'fenced', held_epoch, held_seq} end", ""),
        ("  return {'fenced', held_epoch, held_seq}\nend", "  return nil\nend"),
        ("if at ~= given[1][1] - 1 then return", "if false then return"),
    ),
    "host steps have no sequence": script("*", ("  return {'fenced', held_epoch, held_seq}\nend", "  return nil\nend")),
    "a lost reply is answered by doing it again": script(
        "*",
        ("last_step == step then return {'already'} end", "last_step == step then return nil end"),
        ("if at ~= given[1][1] - 1 then return", "if at ~= given[1][1] - 1 and at ~= given[1][1] then return"),
    ),
    "any attempt may settle": script(
        "settle", ("if latest ~= token then return 'accounted' end", "if not latest then return 'accounted' end")
    ),
    "a claimed job is handed out again": script(
        "claim", ("if running ~= '' or held == '1' then return {'claimed'} end", "")
    ),
    "refused claims count as attempts": script(
        "claim",
        (
            "if running ~= '' or held == '1' then return {'claimed'} end",
            "if running ~= '' or held == '1' then redis.call('HINCRBY', name, 'claims', 1) return {'claimed'} end",
        ),
    ),
    "a repeated claim begins an attempt that is over": script(
        "claim",
        ("if earlier_tokens and earlier_tokens:find(' ' .. token .. ' ', 1, true) then return {'claimed'} end", ""),
    ),
    "hints are limited": hints_without_repeat,
    "a tick is written in two steps": steps_by_two,
    "what collect saw decides what attempts hold": script(
        "advance", ("if tonumber(claims) == 0 then  -- never claimed", "if state == 'open' then  -- never claimed")
    ),
    "a result after collect keeps its job open": late_staging_accepted,
    "a late answer is awaited for ever": late_answers_for_ever,
    "a correction is applied twice": corrections_taken_again,
    "corrections are forgotten on resume": corrections_forgotten_on_resume,
    "a correction is of the attempt before": corrections_of_the_attempt_before,
    "earlier attempts are not charged": script("claim", ("if settled then retried(run, latest, key, last) end", "")),
    "a correction does not wait for the usage": script(
        "advance", ("elseif redis.call('HEXISTS', run .. 'attempts', latest) == 1 or", "elseif false and")
    ),
    "a cancelled job is left open": cancelled_jobs_left_open,
    "a cancelled job's reservation is not returned": cancelled_jobs_hold_for_ever,
    "a cancelled job's answer is used": cancelled_answers_used,
    "latencies are forgotten on resume": latencies_forgotten,
    "an answer is timed again": times_taken_again,
    "a guess is not journalled": guesses_unjournalled,
    "an idle heuristic reads later entries": idle_heuristics_of_later_entries,
    "an idle heuristic replaces an answer": heuristics_before_answers,
    "an unread reply counts as read": replies_unread,
    "a seal is of more than there is": seals_that_only_grow,
    "what was not shown is archived": unseen_entries_archived,
    "a cursor passes what was not shown": cursor_past_what_was_shown,
    "preconditions are ignored": preconditions_ignored,
    "entries are deleted early": deleted_early,
    "usage is part of the digest": usage_in_the_digest,
    "admission sees settlements at once": reservation_shrunk_at_settle,
    "admission sees further attempts": retries_seen_by_admission,
    "further attempts are free": script("claim", ("book(run, cells, 'reserved', reserved)", "")),
    "further attempts have no pool": script(
        "claim", ("local pooled = held('pool') + last[unit] <= limit", "local pooled = true")
    ),
    "leases follow the wall clock": leases_by_wall_clock,
    "a fenced host sends heartbeats": script("present", ("held_epoch ~= epoch or held_holder ~= holder or ", "")),
    "a host that is gone sends heartbeats": script("present", (" or (status ~= 'running' and status ~= 'paused')", "")),
    "a pack's answers go by their place": answers_by_place,
    "shares of a pack do not add up": shares_rounded_down,
    "an answer is charged as it was asked": flex_price_for_any_tier,
    "an attempt pays for flex and falls back": two_requests_of_one_attempt,
    "a batch is recorded after it was sent": batches_recorded_late,
    "a batch's answer to an ended job is free": ended_jobs_not_charged,
    "a fork forgets late answers": late_answers_not_repeated,
    "a fork forgets corrections": corrections_not_repeated,
    "a fork pays again": fork_pays_again,
    "a lost attempt is free": script("collect", ("book(run, attempt.cells, 'spent', attempt.reserved)", "")),
}
