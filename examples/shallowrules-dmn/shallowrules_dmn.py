"""Rules as a decision table of DMN 1.3, which rule engines execute: a row for each rule, a column for each column.

This is a plugin as anyone would write it: a class, a dataclass of its options, and a line in pyproject.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, get_args
from xml.sax.saxutils import escape, quoteattr

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters.options import on_command_line
from shallowrules.rules import Between, ConditionVisitor, NoneOf, OneOf, RuleColumn, RuleSet

TYPES = {"float": "number", "integer": "number", "text": "string", "boolean": "boolean"}

HitPolicy = Literal["UNIQUE", "FIRST", "ANY"]


@dataclass(frozen=True)
class DmnOptions:
    """Options of the exporter ``"dmn"``.

    Parameters
    ----------
    decision : str
        Name of the decision: of what gives a row its cluster.
    hit_policy : {"UNIQUE", "FIRST", "ANY"}
        What the table says of rows that meet several rules. There are none, so that any of these is true.
    columns : mapping from str to str
        Name that the engine has in place of that of the training table.
    """

    decision: str = "cluster"
    hit_policy: HitPolicy = "UNIQUE"
    columns: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("column"))

    def __post_init__(self) -> None:
        if self.hit_policy not in get_args(HitPolicy):
            raise OptionError(f"hit_policy must be one of {', '.join(get_args(HitPolicy))}", option="hit_policy")
        _check_name(self.decision, "the decision: name it otherwise by decision")


class DmnExporter:
    """Writes rules as a decision table; options: `DmnOptions`."""

    name = "dmn"
    file_extension = ".dmn"
    media_type = "application/xml"
    options = DmnOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the decision table as XML.

        Raises
        ------
        ExportError
            If FEEL, the language of its cells, cannot have a name or a text.
        """
        settings = DmnOptions(**options)
        columns = [rules.columns[feature] for feature in rules.tested_columns]
        names = [settings.columns.get(column.name, column.name) for column in columns]
        for name in names:
            _check_name(name, "a column: rename it by columns, or --column OLD=NEW")
        return "\n".join(_document(rules, settings, columns, names)) + "\n"


def _document(rules: RuleSet, settings: DmnOptions, columns: list[RuleColumn], names: list[str]) -> Iterator[str]:
    decision = quoteattr(settings.decision)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        '<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="definitions" '
        f'name={decision} namespace="urn:shallowrules">'
    )
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        variable = f'<variable name={quoteattr(name)} typeRef="{TYPES[column.type]}"/>'
        yield f'  <inputData id="data_{place}" name={quoteattr(name)}>{variable}</inputData>'
    yield f'  <decision id="decision" name={decision}>'
    yield f'    <variable name={decision} typeRef="number"/>'
    for place in range(len(names)):
        yield f'    <informationRequirement><requiredInput href="#data_{place}"/></informationRequirement>'
    yield f'    <decisionTable id="table" hitPolicy="{settings.hit_policy}">'
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        expression = f'<inputExpression id="expression_{place}" typeRef="{TYPES[column.type]}">'
        yield f'      <input id="input_{place}" label={quoteattr(name)}>'
        yield f"        {expression}<text>{escape(name)}</text></inputExpression>"
        yield "      </input>"
    yield f'      <output id="output" name={decision} typeRef="number"/>'
    cells = _Cells()
    for rule in rules:
        asked = {condition.feature: cells(condition) for condition in rule.conditions}
        yield f'      <rule id="rule_{rule.leaf}">'
        for place, feature in enumerate(rules.tested_columns):
            text = escape(asked.get(feature, "-"))
            yield f'        <inputEntry id="entry_{rule.leaf}_{place}"><text>{text}</text></inputEntry>'
        yield f'        <outputEntry id="result_{rule.leaf}"><text>{rule.cluster}</text></outputEntry>'
        yield "      </rule>"
    yield "    </decisionTable>"
    yield "  </decision>"
    yield "</definitions>"


class _Cells(ConditionVisitor[str]):
    """Conditions as unary tests of FEEL. A comparison with null holds for nothing; `not` has to be told."""

    def between(self, condition: Between) -> str:
        """Return a comparison, or a range that is open below."""
        lower, upper = (None if bound is None else _number(bound) for bound in (condition.lower, condition.upper))
        test = f"<= {upper}" if lower is None else f"> {lower}" if upper is None else f"({lower}..{upper}]"
        imputed: Any = condition.column.imputed
        if imputed is None:
            return test
        number = Decimal(repr(imputed))
        above = condition.lower is None or number > Decimal(repr(condition.lower))
        return (
            f"{test}, null" if above and (condition.upper is None or number <= Decimal(repr(condition.upper))) else test
        )

    def one_of(self, condition: OneOf) -> str:
        """Return the categories to be one of."""
        values = [_literal(value) for value in condition.values]
        if condition.column.imputed in condition.values:
            values.append("null")
        return ", ".join(values) or "not(-)"

    def none_of(self, condition: NoneOf) -> str:
        """Return the categories to be none of, null among them."""
        values = [_literal(value) for value in condition.values]
        if condition.column.imputed is None or condition.column.imputed in condition.values:
            values.append("null")
        return f"not({', '.join(values)})"


def _number(value: float) -> str:
    """Return a number without an exponent, which FEEL does not have."""
    return format(Decimal(repr(value)), "f")


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if not text.isprintable():
        raise ExportError(f"FEEL is not to hold the category {text!r}: it has a character that cannot be printed")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check_name(name: str, role: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ExportError(f"FEEL cannot have the name {name!r} of {role}")
