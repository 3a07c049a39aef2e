"""The classes behind a kind of job: what it declares, what its methods receive, and what they return.

`cogitate.kind` declares most kinds in one function; these names are for a kind that needs more.
"""

from cogitate.prompts.constraints import Constraint
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt
from cogitate.tasks.meters import Meter
from cogitate.tasks.registry import register

__all__ = ["Case", "Constraint", "Kind", "Meter", "Moment", "Prompt", "Request", "register"]
