"""Cards for notebooks: HTML without script or network, in the colors of the notebook, and all data escaped.

A str is text, which is escaped wherever it is put in; `Markup` is our own HTML. A card brings its own style, whose
rules hold only inside cards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from shallowrules.errors import counted
from shallowrules.exporters.palette import DARK, LIGHT
from shallowrules.exporters.rendering import isolate
from shallowrules.rules import Cluster, Rule

__all__ = ["ROWS_SHOWN", "card", "conditions", "figures", "paragraphs", "pill", "table"]

ROWS_SHOWN = 60
"""Maximum number of rows of a table; pandas shows as many."""


def card(title: str | Markup, *parts: Markup) -> Markup:
    """Return a card with a title, and its style."""
    body = Markup("").join(parts)
    return Markup('<div class="shallowrules"><style>{}</style><h4>{}</h4>{}</div>').format(_style(), _text(title), body)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Markup]],
    texts: Collection[int],
    marked: int | None = None,
    n_rows: int | None = None,
) -> Markup:
    """Return a table, and how many rows are left out beyond `ROWS_SHOWN`.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequences of str or Markup
    texts : collection of int
        The columns that hold texts; others hold numbers, whose last digits stand below one another.
    marked : int, optional
        A row that stands out.
    n_rows : int, optional
        How many rows there are, where only the first of them are given.
    """
    places = [Markup("") if i in texts else Markup(' class="number"') for i in range(len(head))]
    heads = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(place, _text(each)) for place, each in zip(places, head, strict=True)
    )
    lines = [
        Markup("<tr{}>{}</tr>").format(
            Markup(' class="marked"') if number == marked else "",
            Markup("").join(
                Markup("<td{}>{}</td>").format(place, _text(each)) for place, each in zip(places, row, strict=True)
            ),
        )
        for number, row in enumerate(rows[:ROWS_SHOWN])
    ]
    more = (len(rows) if n_rows is None else n_rows) - ROWS_SHOWN
    return Markup(  # the class keeps themes of sites from styling the table, as mkdocs-material does without one
        '<div class="scroll"><table class="rows"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}'
    ).format(heads, Markup("").join(lines), paragraphs([f"and {counted(more, 'more row')}"] if more > 0 else []))


def figures(found: Iterable[tuple[str, str]]) -> Markup:
    """Return a row of figures, each with its name."""
    lines = (Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(_text(name), _text(each)) for name, each in found)
    return Markup("<dl>{}</dl>").format(Markup("").join(lines))


def paragraphs(lines: Iterable[str]) -> Markup:
    """Return a paragraph for each line that has a text."""
    return Markup("").join(Markup("<p>{}</p>").format(_text(line)) for line in lines if line)


def pill(cluster: Cluster, colours: dict[int, int]) -> Markup:
    """Return the number of a cluster in its color, and its name."""
    name = "" if cluster.name == str(cluster.label) else cluster.name
    colour = Markup(' style="--c:var(--k{})"').format(colours[cluster.index]) if colours else ""
    return Markup('<b class="pill"{}>{}</b> {}').format(colour, cluster.label, _text(name))


def conditions(rule: Rule | None) -> Markup:
    """Return the conditions of a rule, each isolated where it reads from right to left; – for none."""
    if rule is None or not rule.conditions:
        return Markup("–") if rule is None else Markup("every row")
    return Markup(" <i>and</i> ").join(Markup("<bdi>{}</bdi>").format(_text(str(each))) for each in rule.conditions)


def _text(value: str | Markup) -> Markup | str:
    return value if isinstance(value, Markup) else isolate(value)


@cache
def _style() -> Markup:
    """Return the style: the colors of clusters in light and dark, and the shipped file."""
    pairs = enumerate(zip(LIGHT, DARK, strict=True))
    colours = "".join(f"--k{place}:light-dark({light},{dark});" for place, (light, dark) in pairs)
    drawn = "".join(f'.shallowrules [fill="{colour}"]{{fill:var(--k{i})}}' for i, colour in enumerate(LIGHT))
    shipped = files("shallowrules.templates").joinpath("display.css").read_text(encoding="utf-8")
    return Markup(f".shallowrules{{{colours}}}{drawn}\n{shipped}")
