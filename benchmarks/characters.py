"""Characters of a condition in SQL: for the types of a table, for the usual ones and for any, compared with a person's.

    python benchmarks/characters.py        # wine, and the tables that SHALLOWRULES_DATA has
    python benchmarks/characters.py --quick

Numbers are INTEGER or DECIMAL(12,4), so none is NaN, and texts are VARCHAR(80), as each dialect spells these types. A
person quotes names as the dialect does, and writes neither guards nor casts. The target for the typed text is at most
1.1 times a person's where ``=`` compares texts character by character and a column of numbers holds nothing else.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from measuring import DATA, Sheet, Target, log
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans, RuleSet
from shallowrules.exporters.sql import DIALECTS, cluster_predicates
from shallowrules.rules import Between, Condition, OneOf, Rule, RuleColumn

FILES = {
    "telco": ("telco_customer_churn.csv", 6, ["customerID", "TotalCharges"]),
    "wholesale": ("wholesale_customers.csv", 5, []),
    "bank": ("bank_marketing.csv", 6, []),
}
TYPES: Mapping[str, tuple[str, str, str]] = {
    "clickhouse": ("Int64", "Decimal(12, 4)", "String"),
    "bigquery": ("INT64", "NUMERIC(12, 4)", "STRING"),
    "spark": ("INT", "DECIMAL(12,4)", "STRING"),
    "databricks": ("INT", "DECIMAL(12,4)", "STRING"),
    "oracle": ("NUMBER(9)", "NUMBER(12,4)", "VARCHAR2(80)"),
    "postgres": ("INTEGER", "INTEGER", "TEXT"),  # a NUMERIC may be NaN there
}
USUAL = ("INTEGER", "DECIMAL(12,4)", "VARCHAR(80)")
GUARDED = ("sqlite", "mysql", "tsql", "redshift")
"""Where a column of numbers may hold texts, or ``=`` does not compare texts character by character."""
TARGET = Target("≤", 1.1)


def tables() -> Iterator[tuple[str, RuleSet]]:
    """Yield rules by the name of their table."""
    wine = load_wine(as_frame=True).data.rename(columns=lambda name: name.replace("/", "_"))  # as BigQuery wants it
    yield "wine", _fitted(wine, 3)
    for name, (file, k, without) in FILES.items():
        path = Path(DATA, file)
        if not path.is_file():
            log(f"{name} is left out: {path} is not there")
            continue
        separator = ";" if name == "bank" else ","
        yield name, _fitted(pd.read_csv(path, sep=separator).drop(columns=without), k)


def _fitted(table: pd.DataFrame, k: int) -> RuleSet:
    return ExplainableKMeans(k, scale="minmax", random_state=0).fit(table).rules_


def types_of(column: RuleColumn, dialect: str) -> str:
    """Return the type that a warehouse declares for a column."""
    whole, decimal, text = TYPES.get(dialect, USUAL)
    return {"integer": whole, "float": decimal}.get(column.type, text)


def by_hand(rule: Rule, quoted: Callable[[str], str]) -> str:
    """Return the conditions of a rule as a person writes them."""

    def written(condition: Condition) -> Iterator[str]:
        name = quoted(condition.column.name)
        if isinstance(condition, Between):
            for sign, end in ((">", condition.lower), ("<=", condition.upper)):
                if end is not None:
                    yield f"{name} {sign} {end:g}" if end == int(end) and abs(end) < 1e6 else f"{name} {sign} {end!r}"
            return
        isin = isinstance(condition, OneOf)
        texts = [f"'{value}'" for value in condition.values]
        if len(texts) == 1:
            yield f"{name} {'=' if isin else '<>'} {texts[0]}"
        else:
            yield f"{name} {'IN' if isin else 'NOT IN'} ({', '.join(texts)})"

    return " AND ".join(part for condition in rule.conditions for part in written(condition))


def emitted(rules: RuleSet, **options: object) -> str:
    """Return the conditions of all clusters, on a line."""
    return re.sub(r"\s+", " ", " AND ".join(cluster_predicates(rules, **options).values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the characters. Returns the exit status: 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="wine alone")
    options = parser.parse_args(arguments)
    lines, missed = [], False
    for name, rules in tables():
        n_conditions = sum(len(by_hand(rule, str).split(" AND ")) for rule in rules)
        for dialect in DIALECTS:
            types = {column.name: types_of(column, dialect) for column in rules.columns}
            hand = len(" AND ".join(by_hand(rule, DIALECTS[dialect].identifier) for rule in rules))
            lengths = [
                len(emitted(rules, dialect=dialect, **known))
                for known in ({"types": types}, {"guards": "usual"}, {"guards": "full"})
            ]
            ratio = lengths[0] / hand
            verdict = "" if dialect in GUARDED else f"{TARGET} {TARGET.verdict(ratio)}"
            missed |= "missed" in verdict
            counts = [f"{length / n_conditions:.0f}" for length in (hand, *lengths)]
            lines.append([name, dialect, *counts, f"{ratio:.2f}", verdict])
        if options.quick:
            break
    headings = ["table", "dialect", "a person's", "typed", "usual", "any", "typed by a person's", "asked for"]
    print(Sheet("Characters of a condition", headings, lines).text())
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
