"""Labels in a user's database whose names and texts are hostile: only objects made here are touched."""

from __future__ import annotations

import random

import pytest
from applications import COMPUTED, HostileShop
from databases import execute
from draws import few, spread
from rulesets import FRAGMENTS

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

PIECES = [*FRAGMENTS, "%(x)s", "%%", ":p", "::x", "''", '""', "``", "$$", "\\'", "\\", "a", "B", "ß", "--\n", ";\nGO\n"]

ROUNDS = {"sqlite": 4, "duckdb": 4, "postgres": 2, "mysql": 2}
"""`tests/conformance/hostile_database.py` draws more of them."""


@pytest.mark.parametrize("style", few(spread(["view", "table", "update", "update in batches", "column"], 3)))
def test_nothing_but_what_was_made_is_touched(shop, style):
    if style == "column" and shop.dialect not in COMPUTED:
        return
    execute(shop, "CREATE TABLE kept (x INTEGER)")
    execute(shop, "INSERT INTO kept VALUES (1), (2), (NULL)")
    for seed in range(ROUNDS[shop.dialect]):
        hostile = HostileShop(shop, random.Random(f"{seed} {style}"), PIECES)
        hostile.make()
        hostile.check(style.split()[0], ("number", "name")[seed % 2], 5 if "batches" in style else None)
        hostile.drop()
