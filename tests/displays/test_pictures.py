"""Pictures of matplotlib: they show everything they should, and no text overlaps another one or the edge."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from charts import check_that_nothing_is_overprinted, check_that_texts_keep_apart
from rulesets import balanced_rules, chain_rules, example_of_categories, example_rules, make_rules
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError, MissingExtraError
from shallowrules.exporters.html.cards import Pictures
from shallowrules.exporters.html.drawing import describe_tree
from shallowrules.exporters.html.heat import describe_heat
from shallowrules.exporters.palette import HEAT, LIGHT, cluster_colours
from shallowrules.models.silhouettes import SILHOUETTE_ROWS

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    pandas = pytest.importorskip("pandas")
    rows = make_blobs(900, 5, centers=30, random_state=0)[0]
    return pandas.DataFrame(rows, columns=["recency (days)", "orders", "returns", "average_basket_value", "age"])


@pytest.fixture(scope="module", params=[3, 30])
def model(request, table):
    return ExplainableKMeans(request.param, random_state=0).fit(table)


def texts(ax) -> list[str]:
    return [each.get_text() for each in ax.texts]


def test_the_tree_has_every_node_with_names_rows_and_shares(model):
    ax = model.plot()
    rules = model.rules_
    check_that_texts_keep_apart(ax)
    shown = texts(ax)
    for rule in rules:
        assert f"{rule.rows:,} rows, {rule.share:.1%}" in shown
        assert str(rule.cluster) in shown
    joined = " ".join(shown)
    assert all(word in joined for cluster in rules.clusters for word in cluster.name.split())
    inner = [box["shown"] for box in describe_tree(rules, cluster_colours([rules]))["boxes"]]
    assert len(inner) == len(rules) - 1
    assert sorted(each for each in shown if each in set(inner)) == sorted(inner)
    assert rules.plot().figure.get_size_inches().tolist() == ax.figure.get_size_inches().tolist()


def test_the_heat_map_is_that_of_the_page(model):
    rules = model.rules_
    ax = rules.plot_heat()
    check_that_texts_keep_apart(ax)
    heat = describe_heat(rules, cluster_colours([rules]), Pictures.of(rules), 1)
    assert [each for each in texts(ax) if each in rules_names(rules)] == [row["column"] for row in heat["rows"]]
    cells = [cell for row in heat["rows"] for cell in row["cells"]]
    boxes = [matplotlib_colour(each) for each in ax.patches]
    heads = len(heat["heads"])
    assert boxes[:heads] == [LIGHT[head["colour"]] for head in heat["heads"]]
    assert boxes[heads : heads + len(cells)] == [HEAT[cell["level"] + 3] for cell in cells]
    if not heat["is_wide"]:
        assert all(cell["text"] in texts(ax) for cell in cells)


def rules_names(rules) -> list[str]:
    return [column.name for column in rules.columns]


def matplotlib_colour(patch) -> str:
    from matplotlib.colors import to_hex

    return to_hex(patch.get_facecolor())


def test_silhouettes_are_those_of_the_clusters_of_the_tree(model, table):
    ax = model.plot_silhouettes(table)
    check_that_nothing_is_overprinted(ax.figure)
    values = silhouette_samples(table, model.labels_)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(values.mean())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert [int(name.split(":")[0]) for name in names] == [cluster.index for cluster in model.rules_.by_size]
    for patch, cluster in zip(ax.patches, model.rules_.by_size, strict=True):
        own = np.sort(values[model.labels_ == cluster.index])[::-1]
        np.testing.assert_allclose(patch.get_data().values, own)


def test_silhouettes_of_many_rows_are_of_a_sample_that_repeats():
    rows = make_blobs(2 * SILHOUETTE_ROWS, 2, centers=4, random_state=0)[0]
    model = ExplainableKMeans(4, random_state=3, scale="standard").fit(rows)
    one, other = (model.plot_silhouettes(rows).lines[0].get_xdata()[0] for _ in range(2))
    assert one == other
    sizes = [len(patch.get_data().values) for patch in model.plot_silhouettes(rows).patches]
    assert sum(sizes) == SILHOUETTE_ROWS


def test_silhouettes_need_two_clusters():
    model = ExplainableKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    for rows in ([[0.0], [0.1]], [[0.0], [5.0]]):
        with pytest.raises(DataError, match="silhouettes compare clusters of several rows"):
            model.plot_silhouettes(rows)


@pytest.mark.parametrize(
    "rules",
    [
        example_rules(),
        example_of_categories(),
        balanced_rules(60),
        make_rules([("W" * 60, "float"), ("$\\frac{", "float")], (0, 1.0, 0, (1, 2.0, 1, 2)), {0: "$x^", 1: "M" * 50}),
        make_rules([("t", "text")], (0, ("WWWWWWWWWW" * 5, "$a_{"), 0, 1)),
    ],
    ids=["examples", "categories", "60 leaves", "wide names", "wide values"],
)
def test_hostile_and_wide_names_stay_in_their_places(rules):
    check_that_texts_keep_apart(rules.plot())
    check_that_texts_keep_apart(rules.plot_heat())


@pytest.mark.slow
def test_given_axes_are_drawn_on_whatever_their_size(model, table):
    for size in ((7, 6), (14, 7)):
        for draw in (model.plot, model.rules_.plot_heat):
            ax = pyplot.figure(figsize=size, layout="constrained").add_subplot()
            assert draw(ax) is ax
            check_that_texts_keep_apart(ax)
    given = pyplot.figure().add_subplot()
    assert model.plot_silhouettes(table, given) is given


def test_a_single_cluster_has_a_tree_and_no_heat_map():
    single = make_rules([("x", "float")], 3)
    assert texts(single.plot()) == ["3", "1 row, 100.0%", ""]
    with pytest.raises(DataError, match="a heat map compares clusters, and there is only one"):
        single.plot_heat()


@pytest.mark.slow
def test_a_tree_of_any_size_is_drawn():
    ax = chain_rules(300).plot()
    assert len(ax.texts) >= 3 * 300
    assert max(ax.figure.get_size_inches()) <= 200
    ax.figure.canvas.draw()


def test_without_matplotlib_each_picture_says_how_to_get_it(model, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (model.plot, model.rules_.plot, model.rules_.plot_heat, lambda: model.plot_silhouettes(table)):
        with pytest.raises(MissingExtraError, match=r"shallowrules\[plot\]"):
            draw()
