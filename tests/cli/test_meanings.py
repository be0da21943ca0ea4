"""Columns whose values are not quantities: IDs that repeat, labels, dates as numbers, sentinels; one note for each."""

from __future__ import annotations

import random

import pytest
from commandline import call
from draws import draws, few
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

N_ROWS = 120


def notes_of(tmp_path, *options, command="fit", **columns):
    """Return the notes and warnings of a fit of a table that has two plain columns besides, and its exit status."""
    pick = random.Random(0)
    columns |= {"plain": [pick.random() for _ in range(N_ROWS)], "group": [pick.choice("abc") for _ in range(N_ROWS)]}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    sizes = ["-k", 3, "-o", tmp_path / "r.json", "--force"] if command == "fit" else ["--to", 3]
    done = call(command, tmp_path / "t.csv", *sizes, *options)
    doubts = ("looks like", "look like", "far from", "leading zeros")
    return [line for line in done.stderr.splitlines() if any(doubt in line for doubt in doubts)], done


def of(values):
    """Return a column that has these values in turn."""
    values = list(values)
    return [values[i * 7919 % len(values)] for i in range(N_ROWS)]


QUANTITIES = {
    "an amount": ("amount", [12.5, 14.25, 99.0, 3.5, 7.25, 180.0]),
    "zero and more": ("income", [0, 0, 0, 2000, 2100, 2200, 2300, 2400, 2500]),
    "a long tail": ("visits", [1, 2, 3, 4, 5, 6, 7, 8, 20, 45, 85]),
    "years": ("year", range(1990, 2021)),
    "a year and months": ("price", [201299, 201305, 201310, 201398, 201350, 201311]),
    "an ID in a word": ("humid", range(30, 95)),
    "two values": ("flag", [1, 1000]),
    "large numbers": ("revenue", [1_512_345_000 + 977_777 * i for i in range(60)]),
    "cluster sizes": ("cluster_size", range(10, 90, 3)),
}


@pytest.mark.parametrize(
    ("name", "values"), few((pytest.param(*case, id=what) for what, case in QUANTITIES.items()), 3)
)
def test_quantities_are_not_doubted(tmp_path, name, values):
    notes, done = notes_of(tmp_path, **{name: of(values)})
    assert done.exit_code == 0
    assert notes == []


MEANINGS = {
    "an ID that repeats": ("CustomerID", range(12346, 12406), "--exclude CustomerID"),
    "an ID by its words": ("order_id", range(5, 400, 7), "--exclude order_id"),
    "a number of invoices": ("invoice_no", range(5, 400, 7), "--exclude invoice_no"),
    "an ID by how it looks": ("buyer", range(12346, 12406), "--exclude buyer"),
    "few IDs": ("store_id", range(1, 9), "--categories store_id"),
    "labels": ("cluster", range(4), "--labels cluster"),
    "names of clusters": ("cluster_name", ["low", "high", "none"], "--exclude cluster_name"),
    "labels of another program": ("kmeans_label", range(3), "--labels kmeans_label"),
    "days": ("day", [20240100 + i for i in range(1, 32)], "2024-01-31"),
    "months": ("month", [202300 + i for i in range(1, 13)], "write them as 2023-12-01"),
    "seconds": ("created_at", [1706659200 + 86_400 * i for i in range(30)], "since 1970"),
    "milliseconds": ("when", [1706659200000 + 86_400_000 * i for i in range(30)], "milliseconds since 1970"),
    "below all": ("temp", [-200, *range(-5, 40)], "--null -200"),
    "nines": ("age", [999, *range(18, 90)], "--null 999"),
    "nines behind a point": ("depth", [-9999.0, 0.5, 0.75, 1.5, 2.25, 3.5, 4.5], "--null -9999"),
    "several": ("answer", [97, 98, 99, *range(11)], "--null 97 --null 98 --null 99"),
    "a last day": ("end", ["9999-12-31", *(f"2020-{m:02}-03" for m in range(1, 13))], "--null 9999-12-31"),
}


@pytest.mark.parametrize(
    ("name", "values", "advised"), few((pytest.param(*case, id=what) for what, case in MEANINGS.items()), 6)
)
def test_what_is_no_quantity_is_pointed_at(tmp_path, name, values, advised, words):
    notes, done = notes_of(tmp_path, **{name: of(values)})
    assert done.exit_code == 0
    [note] = notes
    assert repr(name) in note
    assert advised in note
    words(note)


@pytest.mark.parametrize("option", ["--numbers", "--categories", "--exclude"])
def test_what_an_option_says_is_not_doubted(tmp_path, option):
    notes, done = notes_of(tmp_path, option, "store_id", store_id=of(range(1, 9)))
    assert done.exit_code == 0
    assert notes == []


def test_clusters_says_what_run_says(tmp_path):
    columns = {name: of(values) for name, values, _ in MEANINGS.values()}
    of_fit, of_clusters = (notes_of(tmp_path, command=command, **columns)[0] for command in ("fit", "clusters"))
    assert len(of_fit) > 8
    assert of_fit == of_clusters


def test_a_sentinel_that_is_a_value_elsewhere_is_not_said_to_be_missing_everywhere(tmp_path, words):
    columns = {"answer": of([97, 98, 99, *range(11)]), "weight": of(range(50, 130))}
    [note], done = notes_of(tmp_path, **columns)
    assert "leave these fields empty" in note
    assert "also remove it from 'weight'" in note
    words(note)
    columns["weight"] = of([97, 98, 99, *range(20)])
    notes, done = notes_of(tmp_path, **columns)
    assert [note.partition("use ")[2] for note in notes] == ["--null 97 --null 98 --null 99"] * 2
    _, done = notes_of(tmp_path, *["--null", "97", "--null", "98", "--null", "99", "--impute", "median"], **columns)
    assert done.exit_code == 0


@pytest.mark.parametrize("memory", [[], ["--memory", "64MB"]])
def test_ids_are_not_filled(tmp_path, in_parts, memory):
    gaps = [value if i % 9 else "" for i, value in enumerate(of(range(12346, 12406)))]
    for options in ([], ["--impute", "median"]):
        _, done = notes_of(tmp_path, *options, *memory, CustomerID=gaps)
        assert done.exit_code == 3
        assert "'CustomerID' (14 rows), which looks like an ID" in done.stderr
        assert done.stderr.endswith("--exclude CustomerID\n")
    _, done = notes_of(tmp_path, *memory, CustomerID=gaps, OrderID=gaps)
    assert "'CustomerID' (14 rows), 'OrderID' (14 rows), which look like IDs" in done.stderr
    assert "use --numbers CustomerID,OrderID if they are quantities" in done.stderr
    _, done = notes_of(tmp_path, "--impute", "median", "--numbers", "CustomerID", *memory, CustomerID=gaps)
    assert done.exit_code == 0


@given(
    others=st.lists(st.integers(-50, 50), min_size=6, max_size=30, unique=True),
    sentinel=st.sampled_from([-9999, -999, 999, 9999]),
    count=st.integers(1, 5),
)
@draws(60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_sentinel_is_found_if_it_repeats(tmp_path, others, sentinel, count):
    values = [others[i % len(others)] for i in range(N_ROWS - count)] + [sentinel] * count
    notes, _ = notes_of(tmp_path, value=values)
    found = [note for note in notes if f"--null {sentinel}" in note]
    assert len(found) == (count > 1)
    for note in found:
        assert f"in {count} of {N_ROWS} rows" in note
        assert f"({min(others)} to {max(others)})" in note


@pytest.mark.parametrize("codes", [["3.0", "7.0", "11.0"], ["3", "7", ""], ["3.5", "7.0", "11.0"]])
def test_codes_that_are_held_as_floats_are_noted(tmp_path, codes):
    notes, done = notes_of(tmp_path, "--drop-missing", region=of(codes))
    assert done.exit_code == 0
    assert [note[:61] for note in notes] == ["note: 'region' holds whole numbers that look like a code: --c"] * (
        "3.5" not in codes
    )
    _, done = notes_of(tmp_path, "--drop-missing", "--categories", "region", region=of(codes))
    assert (done.exit_code == 0) == ("3.5" not in codes)
