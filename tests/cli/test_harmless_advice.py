"""Advice on tables with gaps, null markers, values with digits and IDs: it works, and loses exactly what it says."""

from __future__ import annotations

import csv
import random
import re
import shlex
from uuid import UUID

import pytest
from commandline import call
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules import RuleSet

WORKS = "This works: "
WORDS = ["k.A.", "PrivacySuppressed", "(D)", "..", "n/a", "-", "withheld"]
VALUES = ["3+", ">5", "<1", "10-20", "4 593 x"]


def write(path, columns):
    """Write a table."""
    with open(path, "w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def refusal(tmp_path, columns, *options):
    """Return the message on a refused table, and the options that it proposes."""
    write(tmp_path / "t.csv", columns)
    done = call("fit", tmp_path / "t.csv", "-k", 2, "-o", tmp_path / "r.json", "--force", *options)
    assert done.exit_code == 3, done.stderr
    said, _, command = done.stderr.partition(WORKS)
    return said, shlex.split(command)


def plain(n_rows=100):
    """Return columns with nothing wrong in them."""
    pick = random.Random(1)
    return {"x": [pick.random() for _ in range(n_rows)], "y": [pick.randint(0, 99) for _ in range(n_rows)]}


def sprinkled(values, others, share):
    """Return values, a share of them replaced by other values."""
    pick = random.Random(2)
    places = pick.sample(range(len(values)), max(1, round(share * len(values))))
    return [others[place % len(others)] if place in places else value for place, value in enumerate(values)]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("share", [0.02, 0.09])
def test_a_text_with_a_digit_is_a_value(tmp_path, value, share):
    few, many = [i % 3 for i in range(100)], [i * 1.5 for i in range(100)]
    said, proposed = refusal(tmp_path, plain() | {"few": sprinkled(few, [value], share)})
    assert proposed[-2:] == ["--categories", "few"]
    assert "treats column 'few' as categories" in said
    assert call(*proposed[1:]).exit_code == 0
    rules = RuleSet.from_json(tmp_path / "r.json")
    assert {column.name: column.values for column in rules.columns}["few"].count(value) == 1
    said, proposed = refusal(tmp_path, plain() | {"many": sprinkled(many, [value], share)})
    assert proposed[-2:] == ["--exclude", "many"]
    assert "--null" not in said


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
def test_one_word_among_numbers_is_missing_whatever_its_share(tmp_path, word, share):
    said, proposed = refusal(tmp_path, plain() | {"rate": sprinkled([i / 4 for i in range(100)], [word], share)})
    assert f"{round(100 * share)} of 100 values are not, such as {word!r} in row " in said
    if share > 0.5:
        assert proposed[-2:] == ["--exclude", "rate"]
    else:
        assert proposed[proposed.index("--null") + 1] == word
    assert call(*proposed[1:]).exit_code == 0


@pytest.mark.parametrize("values", [["a", "b", "5"], ["ground", 1, 2, 3], ["1 x", "2 x", "3"], ["red", "-"]])
def test_categories_are_no_numbers_with_a_word_among_them(tmp_path, values):
    write(tmp_path / "t.csv", plain() | {"kind": [values[i % len(values)] for i in range(100)]})
    assert call("fit", tmp_path / "t.csv", "-k", 2, "-o", tmp_path / "r.json").exit_code == 0


def test_a_word_for_missing_among_values_with_digits_is_no_category(tmp_path):
    kids = sprinkled([i % 3 for i in range(100)], ["3+", "NA"], 0.08)
    said, proposed = refusal(tmp_path, plain() | {"kids": kids})
    assert "3+" in said
    assert proposed[proposed.index("--null") + 1] == "NA"
    assert proposed[proposed.index("--categories") + 1] == "kids"
    assert call(*proposed[1:]).exit_code == 0


def test_ways_out_are_ordered_by_what_they_lose(tmp_path, words):
    columns = plain(1460)
    columns["PoolQC"] = sprinkled([""] * 1460, ["Gd"], 0.005)
    columns["rooms"] = sprinkled([i % 7 for i in range(1460)], [""], 0.01)
    said, proposed = refusal(tmp_path, columns)
    assert said.index("--drop-missing") < said.index("--impute median: 'rooms' as 3") < said.index("1 of 4 col")
    assert (
        said.index("(--missing category)") < said.index("exclude 1,453 of 1,460 rows") < said.index("(--exclude PoolQC")
    )
    assert "excludes 15 of 1,460 rows, and imputes 'PoolQC' as '(missing)' in 1,445 of 1,445 rows." in said
    assert proposed[-3:] == ["--missing", "category", "--drop-missing"]
    words(said.strip())
    columns["rooms"] = sprinkled([i % 7 for i in range(1460)], [""], 0.3)
    said, proposed = refusal(tmp_path, columns)
    rooms = said.splitlines()[1]
    assert rooms.index("--impute median: 'rooms' as ") < rooms.index("--drop-missing") < rooms.index("1 of 4 col")
    assert "imputes 'PoolQC' as '(missing)' in 1,453 of 1,460 rows, 'rooms' as 3 in 438 of 1,460 rows." in said
    assert proposed[-4:] == ["--missing", "category", "--impute", "median"]
    columns["street"] = columns.pop("rooms")
    columns["floors"] = sprinkled([""] * 1460, [3], 0.005)
    said, proposed = refusal(tmp_path, columns)
    assert "most values are missing in 'floors' (1,453 of 1,460 rows)" in said
    assert proposed[-6:] == ["--exclude", "floors", "--missing", "category", "--impute", "median"]


def test_no_text_is_taken_as_missing_for_a_column_that_is_left_out(tmp_path):
    columns = plain() | {
        "rate": sprinkled(list(range(100)), ["k.A."], 0.8),
        "kind": ["k.A." if i % 2 else "b" for i in range(100)],
    }
    _, proposed = refusal(tmp_path, columns)
    assert proposed[-2:] == ["--exclude", "rate"]


@pytest.mark.parametrize(
    ("words", "share"), [(["inf"], 0.02), (["-inf", "inf"], 0.1), (["inf"], 0.3), (["1e999"], 0.02)]
)
def test_infinity_costs_rows_or_a_column_and_is_never_imputed(tmp_path, words, share):
    said, proposed = refusal(tmp_path, plain() | {"rate": sprinkled([i * 0.5 for i in range(100)], words, share)})
    assert "infinite in 'rate'" in said
    done = call(*proposed[1:])
    assert done.exit_code == 0, done.stderr
    rules = RuleSet.from_json(tmp_path / "r.json")
    assert "--impute" not in proposed
    if share > 0.2 or words == ["1e999"]:  # a null marker is a text of the file
        assert "--exclude" in proposed
        return
    assert "--exclude" not in proposed
    assert {proposed[i + 1] for i, word in enumerate(proposed) if word == "--null"} == {*words}
    assert "rate" in {column.name for column in rules.columns}
    rows = sum(cluster.rows for cluster in rules.clusters)
    assert rows == 100 - round(100 * share)


def test_uuids_are_named(tmp_path):
    ids = [str(UUID(int=i, version=4)) for i in range(100)]
    assert "look like UUIDs" in refusal(tmp_path, plain() | {"user": ids})[0]
    assert "look like IDs or free text" in refusal(tmp_path, plain() | {"user": [*ids[1:], "0 none of these"]})[0]


@st.composite
def tables(draw):
    """Return a table with random gaps, sentinels, IDs, null markers, and values with digits."""
    n_rows = draw(st.integers(40, 120))
    columns = plain(n_rows)
    for number in range(draw(st.integers(1, 5))):
        what = draw(st.sampled_from(["gaps", "text gaps", "word", "value", "id", "sentinel", "NA", "both"]))
        share = draw(st.sampled_from([0.02, 0.15, 0.4, 0.7]))
        numbers = draw(st.sampled_from([[i % 4 for i in range(n_rows)], [i * 0.5 for i in range(n_rows)]]))
        texts = ["abc"[i % 3] for i in range(n_rows)]
        word, value = draw(st.sampled_from(WORDS)), draw(st.sampled_from(VALUES))
        cells, others, part = {
            "gaps": (numbers, [""], share),
            "text gaps": (texts, [""], share),
            "word": (numbers, [word], share),
            "value": (numbers, [value], 0.05),
            "id": ([12_000 + i // 2 for i in range(n_rows)], [""], share),
            "sentinel": (numbers, [-999], share),
            "NA": (texts, ["NA"], share),
            "both": (numbers, [word, value], 0.08),
        }[what]
        columns[f"customer_{number}_id" if what == "id" else f"{what} {number}"] = sprinkled(cells, others, part)
    return columns


@pytest.mark.slow
@given(tables())
@draws(80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_the_line_that_is_printed_runs_and_loses_what_it_says(tmp_path, columns):
    write(tmp_path / "t.csv", columns)
    n_rows = len(columns["x"])
    done = call("fit", tmp_path / "t.csv", "-k", 2, "-o", tmp_path / "r.json", "--force")
    if done.exit_code == 0:
        return
    said, works, command = done.stderr.partition(WORKS)
    assert works, said
    proposed = shlex.split(command)
    done = call(*proposed[1:])
    assert done.exit_code == 0, (said, command, done.stderr)
    losses = said.rstrip().splitlines()[-1]
    nulls = [proposed[i + 1] for i, word in enumerate(proposed) if word == "--null"]
    assert not any(re.search(r"\d", text) for text in nulls)
    rules = RuleSet.from_json(tmp_path / "r.json")
    left = {name: values for name, values in columns.items() if name in {column.name for column in rules.columns}}
    assert len(left) >= 2
    gone = re.search(r"excludes (?:column|(\d+) columns)", losses)
    assert len(columns) - len(left) == (int(gone[1] or 1) if gone else 0)
    as_category = {name for name in left if "--missing" in proposed and name.startswith(("text gaps", "NA", "both"))}
    missing = {name: sum(value in ("", *nulls) for value in values) for name, values in left.items()}
    rows = re.search(rf"(\d+) of {n_rows} rows(?:\.|, and)", losses.partition(" imputes '")[0])
    assert sum(cluster.rows for cluster in rules.clusters) == n_rows - (int(rows[1]) if rows else 0)
    if "--impute" in proposed:
        taken = {name: int(count) for name, count in re.findall(rf"'([^']+)' as \S+ in (\d+) of {n_rows}", losses)}
        lacking = {name: count for name, count in missing.items() if count}
        assert taken.items() <= lacking.items()
        assert len(taken) == min(3, len(lacking))
        numbers = {name: count for name, count in lacking.items() if name not in as_category}
        assert all(count <= n_rows / 2 and not name.endswith("_id") for name, count in numbers.items())
    filled = {column.name for column in rules.columns if column.imputed == "(missing)"}
    assert filled <= {name for name in as_category if missing[name]}  # unless these rows are left out
