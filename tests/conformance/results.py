"""The results of an engine, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cases import Case
from comparing import Block
from refusals import Refusal

__all__ = ["Result"]


@dataclass
class Result:
    """The results of one engine; counts are of rows, by cell: a kind of value in a type of column."""

    title: str
    version: str
    guards: str = ""
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    mismatches: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: dict[Refusal, str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], Refusal] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, case: Case, block: Block, row: int, wrong: str | None) -> None:
        """Count a row that was compared, and its fault, if any."""
        cell = (block.kinds[row], block.type)
        self.rows[cell] += 1
        if wrong is not None:
            self.mismatches[cell] += 1
            self.findings.append(f"{case.name} | {cell[1]} | {cell[0]} | {block.rows[row]!r}: {wrong}")

    @property
    def cells(self) -> set[tuple[str, str]]:
        """Every kind of value in every type of column that can hold it."""
        return set(self.rows) | set(self.refused)

    @property
    def compared(self) -> set[tuple[str, str]]:
        """The cells of which no row is refused."""
        return {cell for cell in self.cells if not self.refused[cell]}
