"""Hostile names, labels and values, drawn and run in every form: the fuzz of `conformance/hostile.py`, a part of it."""

from __future__ import annotations

import random
from collections import Counter

import pytest

pytest.importorskip("markdown_it")

from hostile import KEPT, Hostile, findings, surrogates_are_refused


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_every_form_gives_the_labels_of_the_tree_and_does_nothing_else(running, seed):
    engines = [running("sqlite"), running("duckdb")]
    drawn = Hostile(random.Random(seed))
    try:
        for engine in engines:
            engine.create(KEPT, [("x", engine.types["integer"])], [(1,)])
        assert [*surrogates_are_refused(drawn), *findings(drawn, engines, Counter())] == []
    finally:
        for engine in engines:
            engine.drop(KEPT)
