"""`--measure`: the total behind a share, in every command that has it, in files and databases alike."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commandline import call, refused
from databases import File

from shallowrules import RuleSet
from shallowrules.exporters import export

duckdb = pytest.importorskip("duckdb")

FIT = ["-k", "3", "--measure", "revenue"]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Three groups of customers with their revenue, as files and in two databases; return the table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    group = np.arange(240) % 3
    frame = pd.DataFrame(
        {
            "visits": np.round(rng.normal(10 * group, 1.0), 2),
            "age": 20 + 10 * (group == 1) + rng.integers(0, 5, 240),
            "revenue": np.round(rng.gamma(2.0, 100.0 * (1 + group)), 2),
            "w": np.round(rng.gamma(2.0, 1.0, 240) + 0.1, 1),
            "city": np.array(["Ulm", "Bonn"])[rng.integers(0, 2, 240)],
        }
    )
    frame.loc[::11, "revenue"] = np.nan
    frame.loc[5, "revenue"] = -1234.5
    frame.to_csv("shop.csv", index=False)
    frame.to_parquet("shop.parquet", index=False)
    for kind in ("sqlite", "duckdb"):
        database = File(kind, tmp_path / f"{kind}.db")
        types = [(name, database.types["text" if name == "city" else "float"]) for name in frame]
        database.create("shop", types, [tuple(None if v != v else v for v in row) for row in frame.values.tolist()])
    return frame


def fitted(*options, out="rules.json"):
    done = call("fit", "shop.csv", *FIT, "--exclude", "city,w", *options, "-o", out, "--force")
    assert done.exit_code == 0, done.output
    return RuleSet.from_json(out), done


def sums_of(rules, frame):
    """Return the sum and the missing values of each cluster, None for no cluster, computed in another way."""
    labels = rules.assign(frame)
    return {
        None if label == -1 else int(label): (
            math.fsum(frame["revenue"][labels == label].dropna()),
            int(frame["revenue"][labels == label].isna().sum()),
        )
        for label in np.unique(labels)
    }


def table_of(text, column):
    """Return the texts in a column of totals of a printed table, by the first word of each line."""
    lines = [line for line in text.splitlines() if line.strip()]
    [head] = [line for line in lines if "cluster " in line and "share" in line]
    end = head.index(column) + len(column)
    rows = [
        line for line in lines[lines.index(head) + 2 :] if "%" in line and not line.startswith(("total", "k-means"))
    ]
    return {line.split()[0]: line[:end].split("   ")[-1].strip() for line in rows if line.startswith(" ")}


def shown(total, whole):
    return f"{total:,.0f} ({total / whole:.1%})"


def test_all_that_a_run_writes_has_the_totals(shop):
    done = call("run", "shop.csv", *FIT, "--exclude", "city,w", "-o", "out")
    assert done.exit_code == 0, done.output
    rules = RuleSet.from_json("out/rules.json")
    found = sums_of(rules, shop)
    whole = math.fsum(shop["revenue"].dropna())
    assert {c.index: (c.total, c.unmeasured) for c in rules.clusters} == found
    assert rules.statistics.total == whole
    assert [column.name for column in rules.columns] == ["visits", "age"]
    assert rules.statistics.other_columns == ("revenue", "w", "city")
    assert table_of(done.stdout, "revenue") == {str(i): shown(total, whole) for i, (total, _) in found.items()}
    assert f"total          {whole:,.0f} is the sum of revenue; 22 rows without a value" in done.stdout
    sheet, page = (Path("out", name).read_text(encoding="utf-8") for name in ("report.md", "report.html"))
    for total, missing in found.values():
        text = shown(total, whole)
        assert f"| {text} |" in sheet
        assert f"\n**revenue**: {text}, {missing} of the rows without a value.\n" in sheet
        assert f"<bdi>revenue</bdi>: <b>{text}</b>, {missing} of the rows without a value</p>" in page
    assert f"| Total of revenue | {whole:,.0f}, 22 rows without a value |" in sheet
    assert "revenue (is added up)" in sheet
    assert json.loads(Path("out/settings.json").read_text(encoding="utf-8"))["options"]["measure"] == "revenue"
    again = call("edit", "out/rules.json", "--rules", "out/report.md", "--table", "shop.csv", "-o", "same.json")
    assert "all 3 rules are unchanged" in again.stderr
    assert [c.total for c in RuleSet.from_json("same.json").clusters] == [c.total for c in rules.clusters]


def test_labels_and_weights(shop):
    done = call("run", "shop.csv", "--labels", "city", "--weight", "w", "--measure", "revenue", "-o", "out")
    assert done.exit_code == 0, done.output
    rules = RuleSet.from_json("out/rules.json")
    sheet = Path("out/report.md").read_text(encoding="utf-8")
    heading = (
        "| Cluster | Rows | Share | revenue | Correct | Found | A row is here if |\n|---|--:|--:|--:|--:|--:|---|\n"
    )
    assert heading in sheet
    assert ", each row times its weight, 22 rows without a value |" in sheet
    labels = rules.assign(shop)
    for cluster in rules.clusters:
        mine = shop[labels == cluster.index].dropna()
        assert cluster.total == pytest.approx(math.fsum(mine["revenue"] * mine["w"]), rel=1e-14)
    drift = call("drift", "out/rules.json", "shop.csv", "--measure", "revenue", "--max-shift", "1")
    assert "–" in drift.stdout  # the weighted share is not that of rows
    assert "total_share_in_training" not in export(rules, "sql", style="drift", measure="revenue")


@pytest.mark.usefixtures("in_parts")
def test_a_table_in_parts_is_told_alike(shop):
    for options in ([], ["--weight", "w"], ["--labels", "city"]):
        chosen = ["-k", "3", "--exclude", "city"] if "--labels" not in options else []
        said = []
        for memory in ([], ["--memory", "1GB"]):
            done = call(
                "fit", "shop.csv", *chosen, "--measure", "revenue", *options, *memory, "-o", "r.json", "--force"
            )
            assert done.exit_code == 0, done.output
            document = json.loads(Path("r.json").read_text(encoding="utf-8"))
            said.append((document["statistics"]["total"], [c["total"] for c in document["clusters"]], done.stderr))
            assert all("unmeasured" in cluster for cluster in document["clusters"])
        if "--labels" in options:
            assert said[0] == said[1]
        else:  # other centers, but the same rows
            assert said[0][0] == said[1][0]


@pytest.mark.parametrize("memory", [[], ["--memory", "1GB"]])
@pytest.mark.usefixtures("in_parts")
def test_what_cannot_be_added_up_is_refused(shop, memory):
    said = {
        ("--measure", "city"): "the measure 'city' cannot be added up: it was read as text; name a column of numbers",
        ("--measure", "nope"): "there is no column 'nope'",
        ("--measure", "age", "--columns", "age,visits"): "column 'age' has the numbers to add up: do not also use",
        ("--measure", "age", "--explain", "age"): "column 'age' has the numbers to add up: do not also use",
        ("--measure", "age", "--exclude", "age"): "column 'age' has the numbers to add up: do not also use",
        ("--measure", "age", "--exclude", "a*"): "column 'age' is excluded by --exclude",
        ("--measure", "w", "--weight", "w"): "column 'w' cannot be both the weights and the numbers to add up",
        ("--measure", "revenue", "--numbers", "revenue"): "--numbers: column 'revenue' has the numbers to add up",
    }
    for options, message in said.items():
        done = call("fit", "shop.csv", "-k", "3", *options, *memory)
        assert done.exit_code in (2, 3), done.output
        assert message in " ".join(done.stderr.split()), (options, done.stderr)
    shop.assign(revenue=shop["revenue"].fillna(np.inf)).to_parquet("infinite.parquet", index=False)
    found = refused("fit", "infinite.parquet", *FIT, *memory)
    assert found.startswith("the measure 'revenue' is infinite in 22 rows, so it has no sum")


def test_refit_and_edit_measure_again(shop):
    rules, _ = fitted()
    newer = shop.sample(frac=0.5, random_state=1)
    newer.to_csv("newer.csv", index=False)
    done = call("refit", "rules.json", "newer.csv", "-o", "new.json")
    assert done.exit_code == 0, done.output
    again = RuleSet.from_json("new.json")
    assert {c.index: (c.total, c.unmeasured) for c in again.clusters} == sums_of(again, newer)
    done = call("edit", "rules.json", "--merge", "0,1", "--table", "shop.csv", "-o", "merged.json")
    assert done.exit_code == 0, done.output
    merged = RuleSet.from_json("merged.json")
    assert {c.index: (c.total, c.unmeasured) for c in merged.clusters} == sums_of(merged, shop)
    assert merged.statistics.total == rules.statistics.total


@pytest.mark.parametrize("source", ["shop.csv", "shop.parquet", "sqlite", "duckdb"])
def test_label_and_drift_show_the_sums(shop, source):
    rules, _ = fitted()
    found = sums_of(rules, shop)
    whole = math.fsum(shop["revenue"].dropna())
    table = [source] if "." in source else ["--database", f"{source}:///{source}.db", "--table", "shop"]
    labelled = call("label", "rules.json", *table, "--measure", "revenue", "-o", "labelled.csv")
    assert labelled.exit_code == 0, labelled.output
    assert list(pd.read_csv("labelled.csv").columns) == [*shop.columns, "cluster"]
    drift = call("drift", "rules.json", *table, "--measure", "revenue", "--max-shift", "1")
    assert drift.exit_code == 0, drift.output
    expected = {str(i): shown(total, whole) for i, (total, _) in found.items()}
    assert table_of(labelled.stderr, "revenue") == expected
    assert table_of(drift.stdout, "revenue") == {**expected, "without": "0 (0.0%)"}
    for cluster in rules.clusters:
        [line] = [line for line in drift.stdout.splitlines() if line.startswith(f" {cluster.index} ")]
        assert line.split()[-1] == f"{cluster.total / whole:.1%}"
    for text in (labelled.stderr, drift.stdout):
        assert f"total          {whole:,.0f} is the sum of revenue; 22 rows without a value" in text


def test_rows_without_a_cluster_have_a_sum_too(shop):
    rules, _ = fitted()
    gaps = shop.assign(visits=shop["visits"].where(shop.index % 4 > 0))
    gaps.to_csv("gaps.csv", index=False)
    lost, missing = sums_of(rules, gaps)[None]
    assert missing
    whole = math.fsum(gaps["revenue"].dropna())
    done = call("drift", "rules.json", "gaps.csv", "--measure", "revenue", "--max-shift", "1")
    assert table_of(done.stdout, "revenue")["without"] == shown(lost, whole)
    done = call("label", "rules.json", "gaps.csv", "--measure", "revenue", "-o", "out.csv")
    assert table_of(done.stderr, "revenue")["without"] == shown(lost, whole)


def test_what_label_and_drift_refuse(shop):
    fitted()
    there = ["--database", "sqlite:///sqlite.db", "--table", "shop"]
    for table in (["shop.csv"], there):
        for command in (["drift"], ["label", "-o", "out.csv"]):
            name, *rest = command
            found = refused(name, "rules.json", *table, *rest, "--measure", "age", status=2)
            assert found == (
                "--measure names 'age', which is a column of the rules: name a different column, or fit the "
                "rules with this measure, which excludes the column from the clustering"
            )
            assert "no column 'nope'" in refused(name, "rules.json", *table, *rest, "--measure", "nope")
            assert "'city'" in refused(name, "rules.json", *table, *rest, "--measure", "city")
    with closing(sqlite3.connect("sqlite.db")) as connection:
        connection.execute("CREATE TABLE loose AS SELECT visits, age, 'a lot' AS revenue FROM shop")
        connection.commit()
    loose = ["--database", "sqlite:///sqlite.db", "--table", "loose"]
    assert "not numbers" in refused("label", "rules.json", *loose, "--measure", "revenue", "-o", "out.csv")


def test_labels_in_a_database_are_shown_with_their_sums(shop):
    rules, _ = fitted()
    whole = math.fsum(shop["revenue"].dropna())
    there = ["--database", "sqlite:///sqlite.db", "--table", "shop", "--measure", "revenue"]
    done = call("label", "rules.json", *there, "--apply", "table", "--yes")
    assert done.exit_code == 0, done.output
    expected = {str(cluster.index): shown(cluster.total, whole) for cluster in rules.clusters}
    assert table_of(done.stderr, "revenue") == expected
    with closing(sqlite3.connect("sqlite.db")) as connection:
        query = "SELECT cluster, SUM(revenue) FROM shop_clusters GROUP BY cluster"
        made = {str(cluster): shown(total, whole) for cluster, total in connection.execute(query)}
        connection.execute("CREATE TABLE other AS SELECT visits, age, revenue AS turnover FROM shop")
        connection.commit()
    assert made == expected
    there[3] = "other"
    for command in (
        ["label", "rules.json", *there, "--apply", "--dry-run"],
        ["label", "rules.json", *there, "-o", "o.csv"],
    ):
        done = call(*command, "--column", "revenue=turnover")
        assert table_of(done.stderr, "revenue") == expected
    done = call("drift", "rules.json", *there, "--column", "revenue=turnover", "--max-shift", "1")
    assert table_of(done.stdout, "revenue") == {**expected, "without": "0 (0.0%)"}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("style", ["drift", "check"])
@pytest.mark.parametrize("known", [True, False])
def test_exported_sql_gives_the_same(shop, tmp_path, kind, style, known):
    rules, _ = fitted()
    database = File(kind, tmp_path / f"{kind}.db")
    measure = "revenue" if known else "turnover"
    if not known:  # rules know no shares in training of a measure of another name
        database.run('ALTER TABLE shop RENAME COLUMN "revenue" TO "turnover"')
    query = export(rules, "sql", dialect=kind, style=style, table="shop", measure=measure)
    rows = database.query(query)
    titles = {cluster.title: cluster for cluster in rules.clusters}
    places = slice(5, -1) if style == "drift" else slice(6, None)  # the shift is the last
    figures = {row[1]: row[places] for row in rows}
    whole = rules.statistics.total
    for title, cluster in titles.items():
        missing, total, share, *trained = figures[title]
        assert (missing, total) == (cluster.unmeasured, pytest.approx(cluster.total, rel=1e-12))
        assert share == pytest.approx(cluster.total / whole)
        assert [float(each) for each in trained] == ([pytest.approx(cluster.total / whole, abs=1e-6)] if known else [])
    assert len(rows) == len(titles) + 1


def test_nan_and_text_are_no_numbers_to_sql(shop, tmp_path):
    rules, _ = fitted()
    for kind, odd in (("duckdb", "'NaN'::DOUBLE"), ("sqlite", "'n/a'")):
        database = File(kind, tmp_path / f"{kind}.db")
        database.run(f"UPDATE shop SET revenue = {odd} WHERE revenue IS NULL")
        query = export(rules, "sql", dialect=kind, style="drift", table="shop", measure="revenue")
        found = {row[0]: (row[5], row[6]) for row in database.query(query)}
        for cluster in rules.clusters:
            assert found[cluster.index] == (cluster.unmeasured, pytest.approx(cluster.total, rel=1e-12))


def test_a_name_is_no_markup(shop):
    name = "[red]a|b*_<i>"
    shop.rename(columns={"revenue": name}).to_csv("odd.csv", index=False)
    done = call("run", "odd.csv", "-k", "3", "--exclude", "city,w", "--measure", name, "-o", "out")
    assert done.exit_code == 0, done.output
    assert f" {name} " in done.stdout
    assert "| \\[red\\]a\\|b\\*\\_&lt;i&gt; |" in Path("out/report.md").read_text(encoding="utf-8")
    assert "<bdi>[red]a|b*_&lt;i&gt;</bdi>: <b>" in Path("out/report.html").read_text(encoding="utf-8")


def test_sql_says_where_it_adds_up(shop):
    fitted()
    for options, message in (
        (["--measure", "revenue"], "--measure goes with check and drift, not with --style where"),
        (["--style", "drift", "--measure", "age"], "--measure names 'age', which is a column of the rules"),
    ):
        assert message in refused("export", "rules.json", "sql", *options, status=2)
    done = call("run", "shop.csv", *FIT, "--sql-style", "drift", "--sql-measure", "revenue", "-o", "out")
    assert done.exit_code == 0, done.output
    assert 'SUM("measured") AS "total_found"' in Path("out/rules.sql").read_text(encoding="utf-8")
