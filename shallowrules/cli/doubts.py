"""What speaks against a clustering, with the way out, on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shallowrules.cli.advice import exclude
from shallowrules.cli.output import show_message

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet
    from shallowrules.rules.words.doubts import Doubt

__all__ = ["show_doubts"]


def show_doubts(rules: RuleSet, category_weight: float) -> None:
    """Warn of what speaks against a clustering, and say what to try."""
    from shallowrules.rules.words.doubts import doubts_about

    for doubt in doubts_about(rules):
        show_message("warning", f"{doubt.text} {_way_out(doubt, category_weight)}")


def _way_out(doubt: Doubt, category_weight: float) -> str:
    if doubt.kind == "poor":
        return (
            "Try other numbers of clusters (`shallowrules clusters`), another --scale, or more rules (--method exkmc)."
        )
    lighter = f"--category-weight {category_weight / 2:.2g}"
    if doubt.kind == "numbers":
        return f"Give categories less weight: {lighter}."
    categories = any(not column.is_numeric for column in doubt.columns)
    other = lighter if categories else "another --scale"
    this = "it" if len(doubt.columns) == 1 else "them"
    return f"To let others count, try {other}, or leave {this} out: {exclude(column.name for column in doubt.columns)}."
