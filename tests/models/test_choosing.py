"""Several numbers of clusters side by side: figures are those of the fits, and the advice follows from them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from charts import check_that_nothing_is_overprinted
from commandline import call, refused
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score
from tables import write_people

from shallowrules import ExplainableKMeans, compare_cluster_counts
from shallowrules.errors import DataError, OptionError
from shallowrules.models.choosing import CHEAP, SMALL, STABLE, ClusterCount, ClusterCounts
from shallowrules.rules import RuleSet


@pytest.fixture(scope="module")
def four():
    """Four groups far from one another."""
    return make_blobs(400, centers=[[0, 0], [20, 0], [0, 20], [20, 20]], random_state=0)[0]


def test_the_groups_that_there_are_are_recommended(four):
    found = compare_cluster_counts(ExplainableKMeans(random_state=0), four, range(2, 8))
    assert [count.k for count in found] == [2, 3, 4, 5, 6, 7]
    assert found.recommended.k == 4
    assert found.recommended.stability == 1.0
    assert found.model.n_clusters == 4
    assert found.reason.startswith("4 clusters: the clearest clusters (silhouette 0.9")
    assert str(found).splitlines()[-1] == found.reason
    assert len(str(found).splitlines()) == 8
    assert found.table()["k"].tolist() == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("stabilities", "words"),
    [
        ((1.0, 1.0, 1.0), "3 clusters: the clearest clusters (silhouette 0.90); they are alike"),
        (
            (0.1, 1.0, 1.0),
            "3 clusters: the clearest clusters (silhouette 0.90) of the 2 numbers whose clusters are stable, not tiny "
            "and cheap to explain; they are alike",
        ),
        (
            (0.1, 1.0, 0.1),
            "3 clusters: the only number whose clusters are stable, not tiny and cheap to explain (silhouette 0.90); "
            "they are alike",
        ),
    ],
)
def test_the_reason_says_among_which_numbers(stabilities, words):
    counts = [
        ClusterCount(k, 1.0, 0.5, 0.9 if k == 3 else 0.8, stability, 1.0, 2.0, k, 0.2)
        for k, stability in enumerate(stabilities, start=2)
    ]
    assert ClusterCounts(counts, []).reason.startswith(words)


def test_figures_are_those_of_the_fits(four):
    model = ExplainableKMeans(random_state=3, tradeoff=0.1)
    asked = []
    found = compare_cluster_counts(model, four, [5, 3, 3], on_count=asked.append)
    assert asked == [3, 5]
    assert not hasattr(model, "rules_")
    total = ((four - four.mean(axis=0)) ** 2).sum()
    for count, fit in zip(found, found.models, strict=True):
        again = ExplainableKMeans(count.k, random_state=3, tradeoff=0.1).fit(four)
        assert fit.rules_ == again.rules_
        assert (count.price, count.conditions) == (again.normalized_cost_, again.waes_)
        assert count.cost == again.reference_inertia_
        assert count.explained == pytest.approx(1 - again.reference_inertia_ / total, rel=1e-12)
        assert count.silhouette == pytest.approx(silhouette_score(four, again.reference_labels_))
        assert count.smallest == min(cluster.share for cluster in again.rules_.clusters)
        assert count.n_rules == len(again.rules_)


def test_rows_of_weight_0_do_not_count(four):
    noise = np.random.default_rng(0).normal(size=(200, 2)) * 1000
    weight = np.repeat([2.0, 0.0], [400, 200])
    model = ExplainableKMeans(random_state=0)
    weighted = compare_cluster_counts(model, np.concatenate([four, noise]), [3, 4], sample_weight=weight)
    alone = compare_cluster_counts(model, four, [3, 4])
    for one, other in zip(weighted, alone, strict=True):
        assert one.explained == pytest.approx(other.explained)
        assert one.silhouette == pytest.approx(other.silhouette, abs=0.05)


figures = st.builds(
    ClusterCount,
    k=st.integers(2, 50),
    cost=st.floats(0, 1e6),
    explained=st.floats(0, 1),
    silhouette=st.floats(-1, 1) | st.just(math.nan),
    stability=st.floats(-0.5, 1),
    price=st.floats(1, 3),
    conditions=st.floats(0, 9),
    n_rules=st.integers(1, 99),
    smallest=st.floats(0, 1),
)


@given(st.lists(figures, min_size=1, max_size=8, unique_by=lambda count: count.k))
def test_what_is_recommended_is_sound_if_anything_is_and_no_other_is_clearer(counts):
    found = ClusterCounts(sorted(counts, key=lambda count: count.k), [None] * len(counts))
    best = found.recommended
    sound = [c for c in counts if c.stability >= STABLE and c.price <= 1 + CHEAP and c.smallest >= SMALL]
    among = sound or counts
    assert best in among
    assert not any(c.silhouette > best.silhouette for c in among)
    assert found.reason.startswith(f"{best.k} clusters: ")
    assert (", but " in found.reason) == (not sound) == bool(found.unconvincing)
    assert str(found).startswith("No number of clusters") == (not sound)
    ends = {max(c.k for c in counts), min(c.k for c in counts)} - ({2} if len(counts) > 1 else set())
    assert bool(found.end) == (f"{best.k} is the {found.end} number tried" in found.reason)
    assert bool(found.end) == (best.k in ends)


def test_why_no_number_is_convincing(words):
    def said(*figures):
        counts = [
            ClusterCount(k, 1.0, 0.5, 0.5 if k == 4 else 0.1, stability, price, 2.0, k, smallest)
            for k, (stability, price, smallest) in enumerate(figures, start=3)
        ]
        return str(ClusterCounts(counts, [])).replace("\n", "\n    ")

    fine, unstable, dear, tiny = (0.9, 1.0, 0.2), (0.5, 1.0, 0.2), (0.9, 1.2, 0.2), (0.9, 1.0, 0.01)
    words(
        {
            "unstable": said(unstable, unstable, unstable),
            "each for its own reason": said(unstable, dear, tiny),
            "two": said(dear, dear),
            "one number": said(tiny),
            "one is fine": said(unstable, fine, dear),
            "the largest": said(unstable, fine),
            "the smallest, cheaper than k-means": said((0.9, 0.98, 0.2), dear, unstable, (0.5, 0.99, 0.2)),
            "as good as 1": said(unstable, (0.9, 0.9997, 0.2), dear),
        }.items()
    )


def test_what_cannot_be_compared_is_refused(four):
    model = ExplainableKMeans(random_state=0)
    for counts in ([], [1, 2]):
        with pytest.raises(OptionError, match="each 2 or more"):
            compare_cluster_counts(model, four, counts)
    with pytest.raises(OptionError, match="clusterer has its own number of clusters"):
        compare_cluster_counts(ExplainableKMeans(clusterer=KMeans(3)), four)
    with pytest.raises(DataError, match="n_samples=3 should be >= n_clusters=4"):
        compare_cluster_counts(model, four[:3], [2, 4])


def test_a_plot(four):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    found = compare_cluster_counts(ExplainableKMeans(random_state=0), four, [2, 3, 4])
    axes = found.plot()
    assert len({ax.get_ylabel() for ax in axes}) == 6
    assert all(ax.get_xlabel() == "number of clusters" for ax in axes)
    percent = {"smallest": 100, "explained": 100}
    for ax, name in zip(axes, ("silhouette", "stability", "smallest", "price", "conditions", "explained"), strict=True):
        [drawn] = [line for line in ax.lines if line.get_marker() == "o"]  # one quantity each
        expected = percent.get(name, 1) * found.table()[name] if name != "price" else 100 * (found.table()[name] - 1)
        assert drawn.get_xydata().tolist() == list(map(list, zip([2, 3, 4], expected, strict=True)))
    check_that_nothing_is_overprinted(axes[0].figure)
    given = pyplot.figure().subplots(6)
    assert found.plot(given) is given
    for other in (given[0], given[:5], given.reshape(2, 3)):
        with pytest.raises(OptionError, match="axes must be a sequence of 6 Axes"):
            found.plot(other)
    pyplot.close("all")


@pytest.mark.slow
def test_on_the_command_line(four, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", four, delimiter=",", header="a,b", comments="")
    result = call("clusters", "t.csv", "--from", "3", "--to", "5", "--plot", "counts.svg")
    assert result.exit_code == 0
    lines = result.stdout.split("\n")
    assert [line.split()[0] for line in lines[3:6]] == ["3", "4", "5"]
    assert "take           4 clusters: the clearest clusters" in result.stdout
    assert "<svg" in (tmp_path / "counts.svg").read_text()
    assert "--from 5 is above --to 3" in refused("clusters", "t.csv", "--from", "5", "--to", "3", status=2)
    assert "No such option" in refused("clusters", "t.csv", "-k", "3", status=2)
    assert "must end in .png, .svg, .pdf" in refused("clusters", "t.csv", "--plot", "t.gif", status=2)
    said = refused("clusters", "t.csv", "--from", "2", "--to", "500")
    assert said == "500 clusters were asked for (--to), but there are only 400 rows: ask for fewer clusters"
    for plot, message in (("no/p.svg", "there is no folder"), ("t.svg", "is a folder")):
        (tmp_path / "t.svg").mkdir(exist_ok=True)
        said = refused("clusters", "t.csv", "--plot", plot)
        assert message in said
        assert said.endswith("(--plot)")
    kept = refused("clusters", "t.csv", "--from", "2", "--to", "3", "--keep", "a <= 900", status=2)
    assert kept.startswith("--keep 'a <= 900': all clusters are on one side of it")
    assert kept.endswith("(k = 2)")


@pytest.mark.slow
def test_options_are_those_of_run(four, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = four + np.random.default_rng(0).normal(size=four.shape) * 6
    np.savetxt("t.csv", X, delimiter=",", header="a,b", comments="")
    options = ["--scale", "none", "--method", "exgreedy", "--round-within", "1%", "--seed", "3"]
    run = call("run", "t.csv", "-k", "4", *options, "--max-leaves", "4", "-o", "r", "--method", "exkmc")
    assert run.exit_code == 0, run.stderr
    settings = call("clusters", "--settings", "r/settings.json", "--from", "4", "--to", "4")
    assert "note: max_leaves of r/settings.json is not for this command and is ignored" in settings.stderr
    typed = call("clusters", "t.csv", "--from", "4", "--to", "4", *options, "--method", "exkmc")
    assert typed.exit_code == 0, typed.stderr
    assert settings.stdout == typed.stdout
    for options in (["--tradeoff", "0.5"], ["--keep", "a <= 9"], ["--round-within", "2%"], ["--method", "imm"]):
        call("fit", "t.csv", "-k", "4", *options, "-o", "f.json", "--force")
        found = call("clusters", "t.csv", "--from", "4", "--to", "4", *options).stdout.split("\n")[3].split()
        statistics = RuleSet.from_json("f.json").statistics
        assert found[4:6] == [f"{statistics.normalized_cost:.3f}", f"{statistics.waes:.2f}"], options


def without_figures(line: str) -> str:
    return re.sub("[0-9.]+%", "%", line)


@pytest.mark.slow
def test_what_run_says_of_clusters_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    rng = np.random.default_rng(0)
    restated = [f"{'abc'[i % 3]},{x:.2f},{y:.2f},{z:.2f}" for i, (x, y, z) in enumerate(rng.normal(size=(300, 3)))]
    (tmp_path / "restated.csv").write_text("\n".join(["c,x,y,z", *restated]), encoding="utf-8")
    np.savetxt("noise.csv", rng.normal(size=(400, 9)), delimiter=",", header=",".join("abcdefghi"), comments="")
    heard = 0
    for table, k, *options in (
        ("people.csv", "4", "--drop-missing", "--exclude", "weight,segment"),
        ("restated.csv", "3", "--scale", "minmax", "--category-weight", "0.707"),
        ("noise.csv", "9"),
    ):
        run = call("run", table, "-k", k, *options, "-o", "r", "--force")
        assert run.exit_code == 0, run.stderr
        said = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
        clusters = call("clusters", table, "--from", k, "--to", k, *options)
        path = call("path", table, "-k", k, *options)
        for line in said:
            assert line in clusters.stderr.splitlines(), table
            # Trees of other trade-offs help the path, so that its figures may be better.
            assert without_figures(line) in map(without_figures, path.stderr.splitlines()), table
        heard += len(said)
    assert heard >= 2


@pytest.mark.slow
def test_the_verdict_comes_first_and_leads_out_of_the_range(four, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("noise.csv", np.random.default_rng(0).random((300, 5)), delimiter=",", header="a,b,c,d,e", comments="")
    noise = call("clusters", "noise.csv", "--from", "5", "--to", "6")
    assert noise.stdout.startswith("No number of clusters tried is convincing: clusters differ from seed to seed")
    assert "least bad      " in noise.stdout
    np.savetxt("four.csv", four, delimiter=",", header="a,b", comments="")
    for least, most, way in (
        ("2", "4", "4 is the largest number tried: larger ones may be clearer (--to 8)"),
        ("3", "5", None),
        ("4", "6", "4 is the smallest number tried: smaller ones may be clearer (--from 2)"),
    ):
        words = " ".join(call("clusters", "four.csv", "--from", least, "--to", most).stdout.split())
        assert ("number tried" in words) == (way is not None)
        assert way is None or way in words
