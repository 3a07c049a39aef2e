"""Changes that a fork can make: `Fork(run=…, tick=…, changes=(SetSetting("act_interval", 30), …))`."""

from cogitate.scheduler.config.controls import SetCadence, SetLimit
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    DropObservation,
    RewordObservation,
    SetProfile,
    SetSetting,
    SetTemplate,
)

__all__ = [
    "AddEvent",
    "AddObservation",
    "DropObservation",
    "RewordObservation",
    "SetCadence",
    "SetLimit",
    "SetProfile",
    "SetSetting",
    "SetTemplate",
]
