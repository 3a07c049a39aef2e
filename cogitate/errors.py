"""The errors that a host may catch. Each message says what failed, with which value, and what to do.

CogitateError
├── InputError (ValueError)              a value that the host passed in
│   └── NoSuchOwner                      an owner that the run does not have
├── ConfigurationError (ValueError)      a setting, or an argument that opens a run
│   └── SettingsRefused                  several settings: see its `faults`
├── UsageError (RuntimeError)            a call at the wrong time or place
├── KindError (ValueError)               the declaration of a kind
├── UnknownKind (LookupError)            a kind that is not registered
├── TemplateError                        a prompt template
├── JournalError (ValueError)            a journal that cannot be read
├── WorldDiverged (RuntimeError)         a resumed world that repeats its ticks differently
└── LedgerError (RuntimeError)           a step that the ledger refuses
    ├── RunExists, RunMissing, RunHeld   a run that exists, does not exist, or has an active host
    ├── Fenced                           another host has taken over the run
    ├── RunRolledBack                    Redis has lost committed steps
    ├── LedgerUnavailable                Redis does not answer
    ├── NewerSchema, OlderSchema         a run with another schema
    └── RunUnreadable                    values that no version writes
        └── RunAltered                   a run that another program changed
"""

from cogitate.memory.errors import CogitateError, InputError, UsageError
from cogitate.prompts.render import TemplateError
from cogitate.scheduler.config.settings_faults import ConfigurationError, SettingsRefused
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    LedgerUnavailable,
    NewerSchema,
    OlderSchema,
    RunAltered,
    RunExists,
    RunHeld,
    RunMissing,
    RunRolledBack,
    RunUnreadable,
)
from cogitate.scheduler.tick.tick_iterator import WorldDiverged
from cogitate.scheduler.tick.world_calls import NoSuchOwner
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.registry import UnknownKind

__all__ = [
    "CogitateError",
    "ConfigurationError",
    "Fenced",
    "InputError",
    "JournalError",
    "KindError",
    "LedgerError",
    "LedgerUnavailable",
    "NewerSchema",
    "NoSuchOwner",
    "OlderSchema",
    "RunAltered",
    "RunExists",
    "RunHeld",
    "RunMissing",
    "RunRolledBack",
    "RunUnreadable",
    "SettingsRefused",
    "TemplateError",
    "UnknownKind",
    "UsageError",
    "WorldDiverged",
]
