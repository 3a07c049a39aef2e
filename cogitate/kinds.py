"""The classes that a kind of job uses: its declaration, and what its methods receive and return.

`cogitate.kind` declares most kinds in one function; use these classes for a kind that needs more.
"""

from cogitate.prompts.constraints import Constraint
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt
from cogitate.tasks.meters import Meter
from cogitate.tasks.registry import register

__all__ = ["Case", "Constraint", "Kind", "Meter", "Moment", "Prompt", "Request", "register"]
