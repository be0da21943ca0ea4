"""The picture of the tree: XML of its own, with every node, and names that stay texts."""

from __future__ import annotations

from xml.etree import ElementTree

from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, balanced_rules, example_rules, hostile_names, hostile_texts, make_rules, rule_sets

from shallowrules.exporters import export
from shallowrules.exporters.html.drawing import CHARACTER, describe_tree
from shallowrules.exporters.palette import LIGHT, cluster_colours
from shallowrules.exporters.rendering import one_line

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "rect", "g", "path", "text", "tspan"}


@draws(200, deadline=None)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_names_are_texts(rules):
    root = ElementTree.fromstring(export(rules, "svg", title="</title><script>"))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ALLOWED
    drawing = describe_tree(rules, cluster_colours([rules]))
    groups = root.findall(f"{SVG}g")
    assert len(groups) == len(drawing["branches"]) + len(rules.nodes)
    shown = ["".join(text for text in group.itertext()) for group in groups]
    for box, text in zip(drawing["boxes"], shown[len(drawing["branches"]) :], strict=False):
        assert box["shown"] in text
        assert one_line(box["name"]) in text
    assert not any(name.startswith("on") or name == "href" for element in root.iter() for name in element.attrib)


@given(name=st.text(min_size=1, max_size=6))
def test_any_character_may_be_in_a_name(name):
    root = ElementTree.fromstring(export(make_rules([(name, "float")], (0, 1.0, 0, 1), {0: name, 1: "b"}), "svg"))
    assert any(one_line(name) in (text or "") for text in (element.text for element in root.iter()))


def test_everything_lies_in_the_picture():
    root = ElementTree.fromstring(export(balanced_rules(64), "svg"))
    width, height = (float(root.get(side)) for side in ("width", "height"))
    groups = root.findall(f"{SVG}g")
    assert len(groups) >= 127  # 64 leaves, and the cuts above them
    for group in groups:
        x, y = map(float, group.get("transform").removeprefix("translate(").removesuffix(")").split())
        assert 0 <= x < width
        assert 0 < y < height


def test_a_long_name_of_a_cluster_takes_several_lines_and_stays_in_the_picture():
    names = {0: "high average basket value, " * 12, 1: "b"}
    root = ElementTree.fromstring(export(make_rules([("x", "float")], (0, 1.0, 0, 1), names), "svg"))
    lines = [line for line in root.iter(f"{SVG}tspan") if line.text != "b"]
    assert " ".join(line.text for line in lines) == names[0].strip()
    [group] = [group for group in root.iter(f"{SVG}g") if lines[0] in group.iter()]
    left = float(group.get("transform").removeprefix("translate(").split()[0])
    assert max(left + float(line.get("x")) + CHARACTER * len(line.text) for line in lines) <= float(root.get("width"))


def test_clusters_have_the_colours_of_the_page():
    text = export(example_rules(), "svg")
    colours = cluster_colours([example_rules()])
    assert all(LIGHT[place] in text for place in colours.values())
    page = export(example_rules(), "html")
    assert all(f".k{place}{{--c:{LIGHT[place]}}}" in page for place in colours.values())
