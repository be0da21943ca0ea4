"""What separates the clusters, and the doubts that follow from it."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from commandline import call
from draws import few
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shallowrules import ExplainableKMeans, Table
from shallowrules.cli.summary import show_rules
from shallowrules.exporters import export
from shallowrules.rules import RuleSet
from shallowrules.rules.words.doubts import doubts_about

UNBALANCED = ("--scale", "minmax", "--category-weight", 0.7)
"""By which categories count for much more than numbers."""


def drawn(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers and categories, and weights."""
    rng = np.random.default_rng(seed)
    n = 300
    group = rng.integers(3, size=n)
    table = pd.DataFrame(
        {
            "a": group * rng.uniform(0, 9) + rng.normal(size=n),
            "b": rng.normal(size=n) * 100,
            "kind": np.where(rng.random(n) < 0.8, np.array(["x", "y", "z"])[group], "w"),
            "yes": rng.random(n) < 0.5,
        }
    )
    return table, rng.integers(0, 4, size=n).astype(float)


@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.parametrize("scale", [None, "minmax", "standard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_those_of_the_sum_of_squares_between_clusters(seed: int, scale: str | None, weighted: bool) -> None:
    table, weight = drawn(seed)
    weight = weight if weighted else np.ones(len(table))
    model = ExplainableKMeans(3, scale=scale, category_weight=0.4, random_state=0)
    model.fit(table, sample_weight=weight if weighted else None)
    space = model.encoder_.to_clustered_space(model.encoder_.transform(Table.of(table)))
    labels = model.reference_labels_
    middle = np.average(space, axis=0, weights=weight)
    between = sum(
        weight[labels == i].sum() * (np.average(space[labels == i], axis=0, weights=weight[labels == i]) - middle) ** 2
        for i in range(3)
    )
    expected = dict.fromkeys(table.columns, 0.0)
    for column, squares in zip(model.encoder_.columns, between / between.sum(), strict=True):
        expected[table.columns[column.source]] += squares
    found = {column.name: share for column, share in model.rules_.separation}
    assert found == pytest.approx(expected)
    assert [share for _, share in model.rules_.separation] == sorted(found.values(), reverse=True)


def test_unknown_behind_a_transformer_and_absent_for_columns_that_are_not_clustered() -> None:
    table, _ = drawn(0)
    numbers = table[["a", "b"]]
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0))
    assert ExplainableKMeans(clusterer=pipeline).fit(numbers).rules_.separation == ()
    assert ExplainableKMeans(3, transformer=StandardScaler(), random_state=0).fit(numbers).rules_.separation == ()
    some = ExplainableKMeans(3, cluster_columns=["a"], explain_columns=["a", "b"], random_state=0).fit(numbers).rules_
    assert [(column.name, share) for column, share in some.separation] == [("a", 1.0)]
    assert ExplainableKMeans(1).fit(numbers).rules_.separation == ()
    assert RuleSet.from_dict(some.to_dict()) == some


def with_noise(**columns: np.ndarray) -> pd.DataFrame:
    """Return a table with columns that hardly tell its rows apart."""
    n = len(next(iter(columns.values())))
    noise = {f"n{j}": np.random.default_rng(j).normal(size=n) for j in range(3)}
    return pd.DataFrame({**columns, **noise})


def test_a_name_is_shown_as_it_is(capsys) -> None:
    table = with_noise(**{"in %": np.arange(300.0)})
    show_rules(ExplainableKMeans(3, random_state=0).fit(table).rules_)
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("differ by")]
    assert re.fullmatch(r"differ by      in % \d+\.\d%, n\d under 0\.1%.*", line)


def test_a_column_that_decides_alone_is_named_with_the_way_out(tmp_path, words) -> None:
    rng = np.random.default_rng(0)
    table = with_noise(big=rng.choice([0.0, 1000.0, 2000.0], 300) + rng.normal(size=300))
    [doubt] = doubts_about(ExplainableKMeans(3, random_state=0).fit(table).rules_)
    assert doubt.kind == "few columns"
    assert all(part in doubt.text for part in ("'big'", "100.0%", "other 3 columns"))
    assert doubts_about(ExplainableKMeans(3, random_state=0).fit(table[["big", "n0"]]).rules_) == []
    table.to_csv(tmp_path / "t.csv", index=False)
    done = call("run", tmp_path / "t.csv", "-k", 3, "--scale", "none", "-o", tmp_path / "out")
    assert all(part in done.stderr for part in ("warning: 'big'", "100.0%", "--scale", "--exclude big."))
    assert "differ by      big 100.0%, " in done.stdout
    sheet = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "**Before you sign**" in sheet
    assert "| Separated by | big 100.0%, " in sheet
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert ": big 100.0%, " in page
    [said] = re.findall("<li>(&#39;big&#39; .* 100.0% .*)</li>", page)
    assert unescape(said) in " ".join(sheet.split())
    for text in (sheet, page):
        assert "--exclude" not in text
    words([("text", doubt.text), ("run", " ".join(done.stderr.split())), ("page", unescape(said))])


def test_numbers_that_hardly_count_beside_categories(tmp_path) -> None:
    rng = np.random.default_rng(0)
    kinds = {name: rng.choice(["u", "v", "w"], 400) for name in ("k1", "k2", "k3")}
    table = with_noise(**kinds)
    found = doubts_about(ExplainableKMeans(4, scale="minmax", random_state=0).fit(table).rules_)
    assert "numbers" in [doubt.kind for doubt in found]
    table.to_csv(tmp_path / "t.csv", index=False)
    done = call("fit", tmp_path / "t.csv", "-k", 4, *UNBALANCED, "-o", tmp_path / "rules.json")
    assert all(part in done.stderr for part in ("3 columns of numbers", "--category-weight 0.35."))
    balanced = call("fit", tmp_path / "t.csv", "-k", 4, "-o", tmp_path / "balanced.json")
    assert "hardly count" not in balanced.stderr


def test_clusters_that_are_the_categories_of_one_column_whatever_else_is_in_the_table(tmp_path, words) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["u", "v", "w"], 400)
    wide = pd.DataFrame({"kind": kind, **{f"with_{j}": np.where(kind == "u", "no", f"{j}") for j in range(4)}})
    narrow = with_noise(kind=kind)[["kind", "n0", "n1"]]
    for table, k, kinds in ((wide, 2, ["restated"]), (narrow, 3, ["restated", "numbers"])):
        rules = ExplainableKMeans(k, scale="minmax", random_state=0).fit(table).rules_
        found = doubts_about(rules)
        assert [doubt.kind for doubt in found] == kinds
        assert [column.name for column in found[0].columns] == [rules.columns[rules.tested_columns[0]].name]
        assert "100.0% of the rows" in found[0].text
    narrow.to_csv(tmp_path / "t.csv", index=False)
    done = call("clusters", tmp_path / "t.csv", "--from", 2, "--to", 3, *UNBALANCED)
    assert all(part in done.stderr for part in ("categories of 'kind'", "--exclude kind."))
    words(" ".join(done.stderr.split()))
    assert doubts_about(ExplainableKMeans(3, random_state=0).fit(narrow[["kind"]]).rules_) == []


def test_two_columns_are_left_out_as_them(tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = with_noise(**{name: rng.choice([0.0, 900.0], 300) for name in ("one", "other")})
    table.to_csv(tmp_path / "t.csv", index=False)
    done = call("fit", tmp_path / "t.csv", "-k", 4, "--scale", "none", "-o", tmp_path / "rules.json")
    assert "--exclude other,one." in done.stderr


def test_a_clustering_that_rules_cannot_follow() -> None:
    X = np.random.default_rng(0).normal(size=(1500, 12))
    rules = ExplainableKMeans(12, random_state=0).fit(X).rules_
    assert rules.statistics.agreement < 0.6
    assert [doubt.kind for doubt in doubts_about(rules)] == ["poor"]
    [line] = re.findall(r"\*\*Before you sign\*\*\n\n(- .*)", export(rules, "markdown"))
    assert f"{100 * rules.statistics.agreement:.1f}%" in line
    labelled = ExplainableKMeans(clusterer=np.random.default_rng(0).integers(0, 2, 1500))
    with pytest.warns(match="given label"):
        assert doubts_about(labelled.fit(X).rules_) == []


def test_a_flag_is_said_to_be_0_or_1_in_the_sheet_and_exact_elsewhere() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"Weekend": rng.integers(0, 2, 200), "x": rng.normal(size=200) / 9})
    rules = ExplainableKMeans(2, random_state=0).fit(table).rules_
    sheet = export(rules, "markdown")
    assert "**Weekend** is 0" in sheet
    assert "**Weekend** is 1" in sheet
    assert "values up to 0 count as 0" in sheet
    assert "Weekend <= 0" in str(rules)
    [line] = {line for line in sheet.splitlines() if line.startswith("| Weekend is 1 (tested) | 0.0% | ")}
    assert f"| {100 * table['Weekend'].mean():.1f}% |" in line
    assert "Mean or share" in sheet
    other = ExplainableKMeans(2, random_state=0).fit(table.assign(Weekend=table["Weekend"] * 2)).rules_
    assert "counts as 0" not in export(other, "markdown")
    assert "Mean here" in export(other, "markdown")
    assert "**Weekend** is at most 1" in export(other, "markdown")


def test_a_sheet_says_what_it_comes_from_and_its_date_if_asked() -> None:
    table, _ = drawn(0)
    rules = ExplainableKMeans(3, random_state=0).fit(table).rules_
    assert f"SHA-256 {rules.sha256}, written by shallowrules " in export(rules, "markdown")
    assert ", 2026-11-23." in export(rules, "markdown", date="2026-11-23")
    assert "2026" not in export(rules, "markdown")


def test_a_sheet_that_run_writes_says_what_it_was_made_from(tmp_path) -> None:
    table, _ = drawn(1)
    table.to_csv(tmp_path / "shop.csv", index=False)
    done = call("run", tmp_path / "shop.csv", "-k", 3, "--seed", 4, "--exclude", "b", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    sheet = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    made = "shop.csv; seed 4; unused columns: b (excluded)"
    assert "| Table | shop.csv (300 rows, 3 columns) |" in sheet
    assert "| Seed | 4 |" in sheet
    assert "| Unused columns | b (excluded) |" in sheet
    rules = RuleSet.from_json(tmp_path / "out" / "rules.json")
    assert re.search(rf"<p>Made from {re.escape(made)}\.</p>\n<p>.* {rules.sha256}, ", export(rules, "html"))
    assert str(tmp_path) not in sheet
    told = call("run", tmp_path / "shop.csv", "-k", 3, "--markdown-made", "the shop, 2026", "-o", tmp_path / "b")
    assert told.exit_code == 0, told.stderr
    assert "| Table | the shop, 2026 (300 rows, 4 columns) |" in (tmp_path / "b" / "report.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_rules_say_what_they_were_made_from_wherever_they_are_exported(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    table, _ = drawn(2)
    segment = np.digitize(table["b"], [-50, 50]).astype(str)
    table = table.assign(flag_a=1, flag_b=[0, 1] * (len(table) // 2), seg=segment, w=2, z=3.5)
    table.to_csv("shop.csv", index=False)

    def made(path: str) -> str:
        sheet = call("export", path, "markdown").stdout.replace("\\", "")
        [table] = re.findall(r"^\| Table \| (.*?) \(", sheet, re.MULTILINE)
        [seed] = re.findall(r"^\| Seed \| (.*?) \|", sheet, re.MULTILINE)
        [unused] = re.findall(r"^\| Unused columns \| (.*) \|", sheet, re.MULTILINE)
        return f"{table}; seed {seed}; unused columns: {unused.removesuffix(' | neither clustered nor tested')}"

    left_out = "unused columns: flag_a, flag_b, z (excluded), seg (holds the labels), w (holds the weights)"
    call("fit", "shop.csv", "--labels", "seg", "--weight", "w", "--exclude", "flag_*,z", "-o", "a.json")
    assert made("a.json") == f"shop.csv; seed 0; {left_out}"
    call("fit", "shop.csv", "-k", 2, "--columns", "a,b,z", "--exclude", "z", "-o", "b.json")
    others = "kind, yes, flag_a, flag_b, seg, w (not chosen), z (excluded)"
    assert made("b.json") == f"shop.csv; seed 0; unused columns: {others}"
    call("fit", "shop.csv", "-k", 2, "--exclude", "seg", "-o", "c.json")
    table.to_csv("later.csv", index=False)
    merged = call("edit", "a.json", "--merge", "0,1", "--table", "later.csv", "-o", "d.json")
    assert merged.exit_code == 0, merged.stderr
    assert made("d.json") == f"later.csv; seed 0; {left_out}"
    call("refit", "c.json", "later.csv", "-o", "e.json")
    assert made("e.json") == "later.csv; seed 0; unused columns: seg (excluded)"
    wide = pd.DataFrame({f"x{j}": [*range(9), j] for j in range(30)})
    wide.to_csv("wide.csv", index=False)
    call("fit", "wide.csv", "-k", 2, "--columns", "x0,x1", "-o", "f.json")
    assert made("f.json").endswith("x21 (not chosen), 8 more")
    sheet = export(ExplainableKMeans(2).fit(wide).rules_, "markdown")
    assert "| Table | 10 rows, 30 columns |" in sheet
    assert "| Seed |" not in sheet
