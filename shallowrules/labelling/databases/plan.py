"""A plan as data: the statements to run in a database, and notes on them."""

from __future__ import annotations

from dataclasses import dataclass

from shallowrules.errors import OptionName
from shallowrules.labelling.databases.application import Application
from shallowrules.labelling.databases.batches import Batches
from shallowrules.labelling.databases.inspecting import DatabaseObject
from shallowrules.labelling.databases.marks import Mark
from shallowrules.labelling.databases.refusals import NOTHING_CHANGED, State
from shallowrules.labelling.drift import ColumnShift, Counts
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows

__all__ = ["REPLACE", "UNDO", "Plan"]

REPLACE, UNDO = map(OptionName, ("replace", "undo"))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The statements to run, planned by inspecting the database.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
        The table.
    application : Application
    undo : bool
        Whether to undo an earlier application.
    thing : DatabaseObject
        The object to create or drop.
    target : str
        The same for a person.
    steps, ending : tuple of str
        Statements in their order, those before the update and those after it; one transaction if `is_whole`.
    update : str or None
        The statement that writes labels on the table.
    batches : Batches or None
        How it is run in several transactions.
    unwritten : str or None
        A query for the number of rows that the update leaves with another label, where a trigger or a policy may
        interfere.
    is_whole : bool
        Whether the database undoes all of it if one statement fails.
    beside : tuple of DatabaseObject
        Objects that are created under a temporary name.
    made : tuple of DatabaseObject and Mark
        The objects to drop if a statement fails and the database does not roll back.
    notes : tuple of str
        Notes to show first.
    is_repeated : bool
        Whether the column exists and can hold these labels, so that only rows whose label changes are written.
    counts : mapping or None
        Rows by the number of their cluster, as the database counts them; None if labels are dropped, or counted in the
        new table.
    unseen : tuple of ColumnShift
        The columns with categories that training did not have.
    changes : int or None
        Rows that an update writes; None where that is not known.
    replaces : bool
        Whether an update drops its column first and adds a new one.
    """

    rules: RuleSet
    rows: DatabaseRows
    application: Application
    undo: bool
    thing: DatabaseObject
    target: str
    steps: tuple[str, ...]
    update: str | None = None
    batches: Batches | None = None
    unwritten: str | None = None
    ending: tuple[str, ...] = ()
    is_whole: bool = True
    beside: tuple[DatabaseObject, ...] = ()
    made: tuple[tuple[DatabaseObject, Mark], ...] = ()
    notes: tuple[str, ...] = ()
    is_repeated: bool = False
    counts: Counts | None = None
    unseen: tuple[ColumnShift, ...] = ()
    changes: int | None = None
    replaces: bool = False

    @property
    def state_of_failure(self) -> State:
        """What a failed statement leaves behind, as the end of its message."""
        if self.batches is not None:
            return "Batches that were written stay: the same command continues, ", UNDO, " drops the column"
        is_update = self.application.style == "update"
        if self.is_whole or (is_update and self.made and not self.replaces):  # a column that was created is dropped
            return NOTHING_CHANGED
        if is_update and not self.made:
            return ("The update is unfinished: the same command continues",)
        return ("The objects created so far have been dropped",)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to run: each row already has its label, and the column's comment says so."""
        return self.changes == 0 and not self.steps and not self.ending

    @property
    def statements(self) -> list[str]:
        """All statements, the update once without its batches."""
        return [*self.steps, *([] if self.update is None else [self.update]), *self.ending]
