"""Rules as a page for the people who have to agree on the clusters: one file, which needs no network.

The template ``page.html.j2`` has the parts that work without JavaScript: figures, tree and cards. The script
``page.js`` adds the interactive ones: names, copying, a typed row, whose values it reads by ``values.js``. It gets its
data packed (`shallowrules.exporters.html.text.pack`), and makes no text of rules itself: words come from here, SQL,
Python and the sheet from their own exporters. The page's content security policy names the one script and the one
style by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shallowrules.errors import ExportError, counted
from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import check_length
from shallowrules.exporters.html.cards import Pictures, describe_cards
from shallowrules.exporters.html.drawing import describe_tree
from shallowrules.exporters.html.heat import describe_heat
from shallowrules.exporters.html.scatter import Points, describe_scatter, read_points
from shallowrules.exporters.html.slider import describe_path, describe_points, join_path, read_path
from shallowrules.exporters.html.text import pack, share_pieces
from shallowrules.exporters.html.walking import describe_inputs, describe_walk
from shallowrules.exporters.markdown import MarkdownExporter
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.palette import DARK, LIGHT, cluster_colours
from shallowrules.exporters.python import PythonExporter
from shallowrules.exporters.rendering import one_line, render, shipped
from shallowrules.exporters.sql import SqlExporter
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.wording import (
    describe_doubts,
    describe_figures,
    describe_made,
    describe_origin,
    format_number,
)
from shallowrules.rules import RulePath, RuleSet
from shallowrules.rules.figures import percent, show_figure
from shallowrules.sources.qualified_names import split_table
from shallowrules.tables.labels import NO_CLUSTER

__all__ = ["HtmlExporter", "HtmlOptions"]

CONFUSION_SHOWN = 30
"""With more clusters the table of both clusterings is a list of its largest cells off the diagonal."""

MOVES_SHOWN = 20


class PageLanguage:
    """How data is written in a page; the template's autoescape makes it safe there."""

    def identifier(self, name: str) -> str:
        """Return a name on one line, without characters that turn the text around them."""
        return one_line(str(name))

    comment = identifier

    def string(self, words: object) -> str:
        """Return words of the page's own, in which names are already isolated (`isolate`)."""
        return str(words)

    def number(self, value: int | float) -> str:
        """Return a number for people to read."""
        return format_number(value)


PAGE = PageLanguage()


@dataclass(frozen=True)
class HtmlOptions:
    """Options of the exporter ``"html"``.

    Parameters
    ----------
    title : str
        Heading of the page.
    dialect : str
        SQL dialect of the query that can be copied; the names are those of the exporter sql.
    table : str or sequence of str
        The table of that query: its name, or the parts of it.
    path : str, path or RulePath, optional
        A path document of the same table and clustering, which `shallowrules path TABLE -k K -o FILE` writes: the page
        gets a slider that moves through its trees.
    points : str, path or Points, optional
        A CSV file with the columns x, y and cluster: the page shows these points, rows of the table for example.
    """

    title: str = "Clusters and their rules"
    dialect: str = field(default="ansi", metadata=on_command_line(default_from="dialect"))
    table: str | Sequence[str] = field(default="data", metadata=on_command_line(default_from="table"))
    path: str | Path | RulePath | None = field(default=None, metadata=on_command_line(default_from="trees"))
    points: str | Path | Points | None = field(default=None, metadata=on_command_line(default_from="points"))

    def __post_init__(self) -> None:
        check_text("title", self.title)
        find_dialect(self.dialect)
        split_table(self.table)
        if self.path is not None:
            read_path(self.path)  # report a wrong file before the work
        if self.points is not None:
            read_points(self.points)


class HtmlExporter:
    """Writes rules as a page; options: `HtmlOptions`."""

    name = "html"
    file_extension = ".html"
    media_type = "text/html"
    file_stem = "report"
    options = HtmlOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the page."""
        settings = HtmlOptions(**options)
        check_length(rules)
        trees, shown = [rules], 0
        if settings.path is not None:
            trees, shown = join_path(read_path(settings.path), rules)
        colours = cluster_colours(trees)
        described = [_describe(tree, colours, 1 if i == shown else len(trees)) for i, tree in enumerate(trees)]
        data = _data(trees, described, shown, settings)
        script, style = _script(), _style()
        context = {
            "title": settings.title,
            "tree": described[shown],
            "inputs": describe_inputs(trees),
            "made": describe_made(rules),
            "origin": describe_origin(rules),
            "forms": ["SQL", "Python", "Sheet"],
            "scatter": None
            if settings.points is None
            else describe_scatter(read_points(settings.points), rules, colours),
            "path": describe_path(trees, shown) if settings.path is not None else None,
            "script": Markup(script),  # a shipped file
            "style": Markup(style),
            "script_hash": _hash(script),
            "style_hash": _hash(style),
            "data": Markup(data),  # letters that cannot end a script
        }
        return render(PAGE, "page.html.j2", context)


def _data(trees: Sequence[RuleSet], described: Sequence[dict[str, Any]], shown: int, settings: HtmlOptions) -> str:
    """Return the data for the script."""
    query = {"style": "select", "dialect": settings.dialect, "table": settings.table}
    texts = {
        "SQL": [_text(SqlExporter, tree, **query) for tree in trees],
        "Python": [_text(PythonExporter, tree) for tree in trees],
        "Sheet": [_text(MarkdownExporter, tree, title=settings.title) for tree in trees],
        "html": [],
    }
    if len(trees) > 1:
        texts["html"] = [render(PAGE, "page_tree.html.j2", {"tree": each}) for each in described]
    forms, pieces, lines = share_pieces(texts)
    return pack(
        {
            "key": trees[shown].sha256[:16],
            "shown": shown,
            "points": describe_points(trees, shown) if settings.path is not None else [],
            "columns": describe_inputs(trees),
            "clusters": [{str(cluster.index): one_line(cluster.name) for cluster in tree.clusters} for tree in trees],
            "trees": [describe_walk(tree) for tree in trees],
            "forms": forms,
            "pieces": pieces,
            "lines": lines,
        }
    )


def _text(exporter: Any, rules: RuleSet, **options: Any) -> str:
    """Return an exporter's output for the rules, or the reason why it has none."""
    try:
        text: str = exporter().export(rules, **options)
    except ExportError as error:
        return f"{exporter.name} cannot express these rules: {error}"
    return text


def _describe(rules: RuleSet, colours: dict[int, int], n_trees: int) -> dict[str, Any]:
    """Return the page's data for one of `n_trees` trees."""
    pictures = Pictures.of(rules)
    s = rules.statistics
    extra = 100 * (s.normalized_cost - 1)
    return {
        "figures": describe_figures(rules),
        "drawing": describe_tree(rules, colours),
        "cards": describe_cards(rules, colours, pictures, n_trees),
        "heat": describe_heat(rules, colours, pictures, n_trees),
        "outlines": pictures.outlines(rules),
        "confusion": _confusion(rules, colours),
        "flow": _flow(rules),
        "labelled": s.labelled,
        "weighted": s.weighted,
        "measure": s.measure,
        "left_out": counted(s.left_out, "row") if s.left_out else None,
        "agreement": percent(s.agreement),
        "cost": f"{show_figure(extra, '+.1f')}%" if abs(extra) >= 0.05 else "±0%",
        "waes": f"{s.waes:.2f}",
        "doubts": describe_doubts(rules),
        "notes": list(s.notes),
        "imputed": any(column.imputed is not None for column in rules.columns),
        "categorical": any(not rules.columns[i].is_numeric for i in rules.tested_columns),
    }


def _confusion(rules: RuleSet, colours: dict[int, int]) -> dict[str, Any] | None:
    """Return the table of the rules' clusters against those of the clustering without rules, or its largest cells."""
    if not any(cluster.reference_clusters for cluster in rules.clusters):
        return None
    if len(rules.clusters) > CONFUSION_SHOWN:
        return _largest_moves(rules, colours)
    heads = sorted({index for cluster in rules.clusters for index in cluster.reference_clusters})
    labels = _labels(rules)
    rows = []
    for cluster in rules.clusters:
        found = dict(zip(cluster.reference_clusters, cluster.reference_weights, strict=True))
        cells = [_cell(found.get(head), cluster.weight, head == cluster.index) for head in heads]
        rows.append({"label": cluster.label, "colour": colours[cluster.index], "cells": cells})
    return {"heads": [labels.get(head, head) for head in heads], "rows": rows, "moves": []}


def _flow(rules: RuleSet) -> dict[str, Any] | None:
    """Return the table of the clusters of earlier rules against these, or its largest cells off the diagonal."""
    flow = rules.flow
    if flow is None:
        return None
    said = f"{flow.moved:,} of {counted(flow.rows, 'row')} change cluster ({percent(flow.share)})."
    heads, lines = flow.table()
    labels: dict[int, int | str] = {**_labels(rules), NO_CLUSTER: "none"}
    if max(len(heads), len(lines)) > CONFUSION_SHOWN:
        moves = [
            {"title": flow.title(old), "label": labels[new], "text": format_number(rows)}
            for old, new, rows in flow.moves[:MOVES_SHOWN]
        ]
        return {"said": said, "heads": [], "rows": [], "moves": moves}
    described = []
    for number, (title, cells) in zip([*flow.clusters, NO_CLUSTER], lines, strict=False):
        total = max(1, sum(cells))
        found = [_cell(rows or None, total, head == number) for head, rows in zip(heads, cells, strict=True)]
        described.append({"title": title, "cells": found})
    return {"said": said, "heads": [labels[head] for head in heads], "rows": described, "moves": []}


def _cell(amount: float | None, total: float, own: bool) -> dict[str, Any]:
    """Return a cell of either table: its text, whether it is on the diagonal, and its shade, 0 to 4; -1 if empty."""
    if amount is None:
        return {"text": "", "own": own, "level": -1}
    return {"text": format_number(amount), "own": own, "level": min(4, int(5 * amount / total))}


def _labels(rules: RuleSet) -> dict[int, int]:
    """Return the number of each cluster that people see."""
    return {cluster.index: cluster.label for cluster in rules.clusters}


def _largest_moves(rules: RuleSet, colours: dict[int, int]) -> dict[str, Any]:
    """Return the largest cells off the diagonal of the table of both clusterings, and the sum of all others."""
    moves = [
        (weight, cluster.index, origin)
        for cluster in rules.clusters
        for origin, weight in zip(cluster.reference_clusters, cluster.reference_weights, strict=True)
        if origin != cluster.index and weight > 0
    ]
    moves.sort(key=lambda move: (-move[0], move[1:]))
    total, labels = rules.statistics.weight, _labels(rules)
    return {
        "heads": [],
        "rows": [],
        "moves": [
            {
                "label": labels[index],
                "colour": colours[index],
                "origin": labels.get(origin, origin),
                "origin_colour": colours.get(origin),
                "text": format_number(weight),
                "share": percent(weight / total),
            }
            for weight, index, origin in moves[:MOVES_SHOWN]
        ],
        "left_out": len(moves[MOVES_SHOWN:]),
        "left_out_share": percent(sum(weight for weight, *_ in moves[MOVES_SHOWN:]) / total),
        "clusters": len(rules.clusters),
    }


@cache
def _script() -> str:
    """Return the script of the page: what a value is, which the emitted JavaScript holds too, and all else."""
    return f'"use strict";\n{shipped("values.js")}\n{shipped("page.js")}'


@cache
def _style() -> str:
    """Return the style of the page: the colors of clusters, light and dark, and all else."""
    light, dark = (
        "".join(f".k{place}{{--c:{colour}}}" for place, colour in enumerate(colours)) for colours in (LIGHT, DARK)
    )
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n{shipped('page.css')}"


def _hash(text: str) -> str:
    """Return the hash by which a content security policy names an inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
