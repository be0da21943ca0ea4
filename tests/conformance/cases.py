"""The rule sets of the conformance run: data."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))

from rulesets import balanced_rules, chain_rules, make_rules

from shallowrules.rules import RuleSet

__all__ = ["Case", "cases", "one_in"]


@dataclass(frozen=True)
class Case:
    """A rule set to run; `settings` tells whether to run it under each setting of a session too."""

    name: str
    rules: RuleSet
    settings: bool = False


CUTS: dict[str, dict[str, list[Any]]] = {
    "float": {
        "small": [-2.5, 0.1, 7.0, 1999.5],
        "large": [-1e22, 2.0**53, 2.0**53 + 2, 1e300],
        "tiny": [-5e-324, 0.0, 5e-324, 1e-300],
    },
    "integer": {
        "small": [-7, -1, 0, 5, 1999],
        "beyond 2^24": [-(2**24) - 1, 2**24 + 1, 2**31],
        "beyond 2^53": [-(2**53) - 1, 2**53 - 1, 2**53 + 1, 2**60 + 1],
        "ends": [-(2**63), 2**63 - 2],
    },
}

DAY, SECOND = 86_400_000_000, 1_000_000
TIME_CUTS: dict[str, list[int]] = {
    "date": [365, 11_015, 19_812, 19_813, 24_000],
    "timestamp": [DAY * 365 - 1, DAY * 11_016 - 1, DAY * 19_813 + 45_005 * SECOND + 499_999, DAY * 19_814 - 1],
    "timestamptz": [DAY * 365 - 1, DAY * 11_016 + 7_199 * SECOND, DAY * 19_814 + 3_600 * SECOND],
    "duration": [-26 * 3600 * SECOND, 0, 45 * 60 * SECOND, 2 * DAY + 43_200 * SECOND + 250_000],
}
"""Where rules cut dates, in days, and points in time and durations, in microseconds: as far as every engine goes."""

TIME_CONVERSIONS: dict[str, dict[str, Any]] = {
    "": {},
    "words": {"nulls": ("NA", "?")},
    "imputed": {"imputed": 18_000},
    "words, imputed": {"nulls": ("NA", ""), "imputed": 18_000},
}

CONVERSIONS: dict[str, dict[str, Any]] = {
    "": {},
    "imputed": {"imputed": 6},
    "words": {"nulls": ("NA", "?", "")},
    "words, imputed": {"nulls": ("NA", "?"), "imputed": 6},
    "numbers": {"nulls": ("-999", "1999")},
    "numbers, imputed": {"nulls": ("-999", "9007199254740993"), "imputed": -3},
    "words and numbers, imputed": {"nulls": ("NA", "-999", "9007199254740993"), "imputed": -3},
    "infinity is missing": {"nulls": ("inf", "NA"), "imputed": 6},
    "decimal comma": {"decimal": ","},
    "decimal comma, imputed": {"decimal": ",", "nulls": ("NA", "-9,5"), "imputed": 0},
}

FRACTIONAL = ("decimal comma", "decimal comma, imputed")
"""What a column of whole numbers does not have."""

TEXTS = ("A", "Two year", 'it\'s "q" \\ `b` %s', "é😀", "x\ty\nz", "NA", "abc", "")

TEXT_CONVERSIONS: dict[str, dict[str, Any]] = {
    "": {},
    "words": {"nulls": ("NA", "", "-")},
    "imputed": {"imputed": "A"},
    "words, imputed": {"nulls": ("NA", "n/a"), "imputed": "Two year"},
    "imputed, hostile": {"nulls": ("it's", "\\"), "imputed": "it's \\ é"},
}


def one_in(each: int, chosen: Iterable[Case]) -> list[Case]:
    """Return every n-th case of each type of rule column, so that no type is left out.

    Each type begins with another case: the types of times have the same conversions, all of which should be covered.
    """
    of_type: dict[str, list[Case]] = defaultdict(list)
    for case in chosen:
        of_type[case.rules.columns[0].type].append(case)
    return [case for place, some in enumerate(of_type.values()) for case in some[place % min(each, len(some)) :: each]]


def cases() -> Iterator[Case]:
    """Yield every rule set."""
    for kind, groups in CUTS.items():
        for size, cuts in groups.items():
            for name, conversion in CONVERSIONS.items():
                if kind == "integer" and name in FRACTIONAL:
                    continue
                rules = _converted(make_rules([("x", kind)], _chain(cuts)), conversion)
                title = ", ".join(filter(None, (kind, size, name)))
                yield Case(title, rules, settings=size == "small" and "imputed" in name)
    for name, conversion in TEXT_CONVERSIONS.items():
        tree = (0, TEXTS[0], 0, (0, TEXTS[1:3], 1, (0, TEXTS[3], 2, (0, TEXTS[4:6], 3, (0, TEXTS[7], 4, 5)))))
        rules = _converted(make_rules([("c", "text")], tree), conversion)
        yield Case(", ".join(filter(None, ("text", name))), rules, settings=True)
    for kind, cuts in TIME_CUTS.items():
        for name, conversion in TIME_CONVERSIONS.items():
            rules = _converted(make_rules([("t", kind)], _chain(cuts)), conversion)
            yield Case(", ".join(filter(None, (kind, name))), rules)
    typed = make_rules([("c", "text")], (0, ("true", "1"), 0, (0, "-7", 1, (0, "2.5", 2, 3))))
    yield Case("text, of numbers and truth values", typed, settings=True)
    for name, imputed in (("boolean", None), ("boolean, imputed", True)):
        yield Case(name, _converted(make_rules([("b", "boolean")], (0, True, 0, 1)), {"imputed": imputed}))
    yield Case("float, 64 leaves", balanced_rules(64))
    yield Case("float, a chain of 120", chain_rules(120))
    several = (0, 0.5, (1, -3.25, 0, (0, -1e10, 1, 2)), (1, 1e6, (0, 7.0, 3, 4), 5))
    yield Case("float, two columns", make_rules([("x", "float"), ("y", "float")], several))


def _chain(cuts: list[Any]) -> Any:
    tree: Any = len(cuts)
    for index, cut in reversed(list(enumerate(cuts))):
        tree = (0, cut, index, tree)
    return tree


def _converted(rules: RuleSet, conversion: dict[str, Any]) -> RuleSet:
    [column] = rules.columns
    if column.type == "float" and conversion.get("imputed") is not None:
        conversion = {**conversion, "imputed": float(conversion["imputed"])}
    return replace(rules, columns=(replace(column, **conversion),))
