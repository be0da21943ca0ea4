"""Columns by patterns, and whole numbers that are codes."""

import csv

import numpy as np
import pytest
from commandline import call, refused
from draws import few

from shallowrules.rules import RuleSet


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """Write a table whose clusters follow from regions and amounts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    region = rng.choice([3, 7, 12, 40], 400)
    amount = (rng.normal(100, 5, 400) + 400 * (region == 7)).round(2)
    flags = rng.integers(0, 2, (400, 2))
    with open("sales.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["region", "amount", "flag_a", "flag_b", "x*y"])
        writer.writerows(
            [*map(str, row)] for row in zip(region, amount, *flags.T, rng.normal(size=400).round(3), strict=True)
        )
    return tmp_path


def columns_of(path: str = "rules.json") -> dict[str, str]:
    return {column.name: column.type for column in RuleSet.from_json(path).columns}


@pytest.mark.usefixtures("in_parts")
def test_columns_are_excluded_by_a_pattern(sales) -> None:
    done = call("fit", "sales.csv", "-k", 3, "--exclude", "flag_*", "-o", "rules.json", "--force")
    assert done.exit_code == 0, done.stderr
    assert set(columns_of()) == {"region", "amount", "x*y"}
    # A column of that name is meant, and nothing else.
    call("fit", "sales.csv", "-k", 3, "--exclude", "x*y,flag_[ab]", "-o", "rules.json", "--force")
    assert set(columns_of()) == {"region", "amount"}
    parts = call("fit", "sales.csv", "-k", 3, "--exclude", "flag_?", "--memory", "300MB", "-o", "rules.json", "--force")
    assert parts.exit_code == 0, parts.stderr
    assert set(columns_of()) == {"region", "amount", "x*y"}
    message = refused("fit", "sales.csv", "-k", 3, "--exclude", "mark_*")
    assert "no column matches 'mark_*'; the columns are: 'region'," in message


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize(
    "options", [["--labels", "flag_a"], ["-k", "3", "--weight", "flag_a"], ["-k", "3", "--explain", "flag_a"]]
)
@pytest.mark.parametrize("memory", [[], ["--memory", "300MB"]])
def test_a_pattern_that_takes_a_column_that_is_needed_is_refused(sales, options, memory) -> None:
    message = refused("fit", "sales.csv", *options, *memory, "--exclude", "flag_*", status=2)
    assert "column 'flag_a' is excluded by --exclude and named by another option" in message


@pytest.mark.slow
def test_codes_are_noted_and_taken_as_categories(sales) -> None:
    noted = call("fit", "sales.csv", "-k", 4, "-o", "rules.json", "--force")
    assert "'region' holds whole numbers that look like a code: --categories region treats them" in noted.stderr
    assert columns_of()["region"] == "integer"
    quiet = call("fit", "sales.csv", "-k", 4, "--numbers", "region", "-o", "rules.json", "--force")
    assert "look like a code" not in quiet.stderr
    done = call("run", "sales.csv", "-k", 4, "--categories", "region", "--exclude", "flag_*,x*y", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "look like a code" not in done.stderr
    assert columns_of("out/rules.json")["region"] == "text"
    rules = RuleSet.from_json("out/rules.json")
    assert 0 in rules.tested_columns
    assert "region = '" in str(rules)
    verified = call("verify", "out/rules.json", "sales.csv", "--exporter", "sql", "--exporter", "python")
    assert verified.exit_code == 0, verified.output
    assert call("label", "out/rules.json", "sales.csv", "-o", "labelled.csv").exit_code == 0
    with open("labelled.csv", newline="", encoding="utf-8") as stream:
        found = [int(row["cluster"]) for row in csv.DictReader(stream)]
    from shallowrules.sources import read_table

    assert found == rules.assign(read_table("sales.csv")).tolist()


@pytest.mark.usefixtures("in_parts")
def test_codes_that_are_none_are_refused(sales) -> None:
    assert "column 'amount' holds numbers with fractions" in refused(
        "fit", "sales.csv", "-k", 3, "--categories", "amount", status=2
    )
    assert "column 'nothing' is not read" in refused("fit", "sales.csv", "-k", 3, "--categories", "nothing", status=2)
    assert "--categories does not work on a table in parts" in refused(
        "fit", "sales.csv", "-k", 3, "--categories", "region", "--memory", "300MB", status=2
    )


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("memory", [[], ["--memory", "300MB"]], ids=["in memory", "in parts"])
def test_numbers_that_are_none_are_refused(sales, memory) -> None:
    with open("kinds.csv", "w", encoding="utf-8") as stream:
        stream.write("zip,kind,part,w\n" + "".join(f"{100 * i % 7},{'ab'[i % 2]},{i % 3},1\n" for i in range(60)))
    for options, message in (
        (["--numbers", "nope"], "--numbers: column 'nope' is not read; the columns are: zip, kind, part"),
        (["--numbers", "kind"], "--numbers: column 'kind' was read as text, which is not a quantity"),
        (["--numbers", "w", "--weight", "w"], "--numbers: column 'w' has the weights"),
        (["--numbers", "part", "--exclude", "part"], "--numbers: column 'part' is not read"),
    ):
        assert message in refused("fit", "kinds.csv", "-k", 2, *options, *memory, status=2)
    both = ["--categories", "zip", "--numbers", "part,zip"]
    assert "column 'zip' is in both --numbers and --categories" in refused("fit", "kinds.csv", "-k", 2, *both, status=2)


@pytest.mark.parametrize("place", few([0, 150, 399]))
def test_leading_zeros_are_noted_and_kept(sales, place) -> None:
    rng = np.random.default_rng(1)
    plant = [str(each) for each in rng.choice([1014, 2030, 7777], 400)]
    plant = [f"0{each}" if i == place or (each == "1014" and i > place) else each for i, each in enumerate(plant)]
    amount = [round(float(each), 2) for each in rng.normal(100, 5, 400)]
    for name, some in (("one.csv", slice(0, 200)), ("two.csv", slice(200, 400))):
        with open(name, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([["plant", "amount"], *zip(plant[some], amount[some], strict=True)])
    noted = call("fit", "one.csv", "two.csv", "-k", 3, "-o", "rules.json", "--force")
    assert noted.exit_code == 0, noted.stderr
    assert "'plant' has leading zeros, which a number loses: --categories plant treats" in noted.stderr
    assert "leading zeros" not in call("fit", "one.csv", "two.csv", "-k", 3, "--numbers", "plant").stderr
    done = call("fit", "one.csv", "two.csv", "-k", 3, "--categories", "plant", "-o", "rules.json", "--force")
    assert done.exit_code == 0, done.stderr
    assert "leading zeros" not in done.stderr
    rules = RuleSet.from_json("rules.json")
    assert set(rules.columns[0].values) == set(plant)
    labelled = call("verify", "rules.json", "one.csv", "two.csv")
    assert labelled.exit_code == 0, labelled.stdout
