"""What an engine cannot do: every row that is known to get another cluster, with a statement that shows why."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["REFUSALS", "Refusal"]


@dataclass(frozen=True)
class Refusal:
    """Cells of one dialect that are not compared.

    `case`, `kind` and `column` are patterns for the whole name of a rule set, of a kind of value and of a column type.
    `statement` shows on the engine what it cannot do; its answer goes to the page.
    """

    dialect: str
    case: str
    kind: str
    column: str
    reason: str
    statement: str

    def covers(self, case: str, kind: str, column: str) -> bool:
        """Return whether rows are among them."""
        asked = ((self.case, case), (self.kind, kind), (self.column, column))
        return all(re.fullmatch(pattern, name) for pattern, name in asked)


REFUSALS: tuple[Refusal, ...] = ()
