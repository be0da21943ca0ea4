"""Bounds on the row visits of the work on a tree, which limit the growing of trees that nobody asked for.

A visit is one look at one row. Counts follow from the size of a table and the bounds of the search alone, never from
the clock: the same table and seed give the same trees.
"""

from __future__ import annotations

from shallowrules.trees.coded_samples import BROAD_ROWS, MAX_IMPROVED_ROWS, SAMPLE_MARGIN, SAMPLE_ROWS
from shallowrules.trees.coded_table import MAX_PASSES, MAX_VISITED_VALUES
from shallowrules.trees.lookahead import MAX_TREES, ONE_ROUND_TREES, ROUND_FACTORS, WIDE_ROWS, WIDE_TREES

__all__ = ["N_STREAMS", "PASSES_PER_GROWTH", "is_long", "stream_passes", "visits_of_growth", "visits_of_search"]

STREAM_PASSES, SHORT_STREAM_PASSES, MIN_STREAM_VISITS = 75.0, 42.0, 28e3
"""An iterated local search visits all rows of the sample at most this many times: the first number as a rule; the
second for a table that is searched in one round, where a visit is a larger part of a growth. For a very small table it
goes on until it has visited the third number of rows in all."""
PART_STREAM_PASSES = 31.0
"""The same for a table of which a part is searched. With 62, 22 tables of 100,000 rows gain 0.01% more, and a fit takes
up to 14% longer."""
N_STREAMS = 2
"""Iterated local searches, each with random numbers of its own: side by side where there are threads. One of
twice the length gains little more."""
PASSES_PER_GROWTH = 9.0
"""Visits of all rows that count as the growth of a greedy tree. By measurement, 7 to 17 take as long, and a round of a
thorough search takes up to 5 more growths for the lookahead."""


def is_long(n_rows: int, n_sampled: int) -> bool:
    """Whether a table is so much larger than its sample that the lookahead takes several rounds."""
    return n_rows >= len(ROUND_FACTORS) * n_sampled


def stream_passes(n_rows: int, n_sampled: int) -> float:
    """Return the maximum number of visits of all rows of the sample in an iterated local search."""
    if not is_long(n_rows, n_sampled):
        return min(STREAM_PASSES, max(SHORT_STREAM_PASSES, MIN_STREAM_VISITS / n_sampled))
    return PART_STREAM_PASSES if n_rows > MAX_IMPROVED_ROWS else STREAM_PASSES


def visits_of_growth(n_rows: int) -> float:
    """Return the visits of growing a greedy tree and measuring it."""
    return (PASSES_PER_GROWTH + 1) * n_rows


def visits_of_search(n_rows: int, n_columns: int) -> float:
    """Return the visits of searching for a better tree than the greedy one, given the number of distinct rows."""
    n_searched = BROAD_ROWS if n_rows > MAX_IMPROVED_ROWS else n_rows
    n_sampled = n_searched if n_searched <= SAMPLE_MARGIN * SAMPLE_ROWS else SAMPLE_ROWS
    rounds = len(ROUND_FACTORS) * MAX_TREES if is_long(n_rows, n_sampled) else ONE_ROUND_TREES
    ahead = PASSES_PER_GROWTH * (rounds * n_sampled + WIDE_TREES * min(WIDE_ROWS, n_sampled))
    streams = N_STREAMS * stream_passes(n_rows, n_sampled) * n_sampled
    improved = min(MAX_PASSES, max(2.0, MAX_VISITED_VALUES / (n_searched * max(1, n_columns)))) * n_searched
    return ahead + streams + improved
