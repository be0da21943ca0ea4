"""The cards that a notebook shows: for rules, one rule, an explanation, changes and figures."""

from __future__ import annotations

from functools import singledispatch

from markupsafe import Markup

from shallowrules.displays.cards import ROWS_SHOWN, card, conditions, figures, paragraphs, pill, table
from shallowrules.errors import counted
from shallowrules.exporters.palette import cluster_colours
from shallowrules.exporters.svg import SvgExporter
from shallowrules.exporters.wording import ConditionWords
from shallowrules.rules import Changes, Explanation, Rule, RuleSet, Statistics
from shallowrules.rules.figures import percent, show_figure
from shallowrules.rules.words.changes import UNRELATED
from shallowrules.rules.words.explaining import CONTRASTS_SHOWN

__all__ = ["show"]

LEAVES_DRAWN = 60
"""Maximum number of leaves of a tree that is drawn above its rules: a larger one does not fit on a screen."""


@singledispatch
def show(shown: object) -> Markup:
    """Return the card of an object of rules."""
    raise TypeError(f"{type(shown).__name__} has no card")


@show.register
def _rules(rules: RuleSet) -> Markup:
    colours = cluster_colours([rules])
    pills = {cluster.index: pill(cluster, colours) for cluster in rules.clusters}
    shown = rules[:ROWS_SHOWN]  # a rule may be as long as the tree is deep
    rows = [(pills[rule.cluster], conditions(rule), f"{rule.rows:,}", percent(rule.share)) for rule in shown]
    s = rules.statistics
    found = [
        ("cost, without rules = 1", show_figure(s.normalized_cost, ".3f")),
        ("conditions per row", f"{s.waes:.2f}"),
        ("questions per row", f"{s.wad:.2f}"),
    ]
    title = f"{counted(len(rules), 'rule')}, {counted(len(rules.clusters), 'cluster')}"
    heads = ("cluster", "rule", "rows", "share")
    return card(title, figures(found), _tree(rules), table(heads, rows, texts=(0, 1), n_rows=len(rules)))


def _tree(rules: RuleSet) -> Markup:
    if not 1 < len(rules) <= LEAVES_DRAWN:
        return Markup("")
    return Markup('<div class="scroll">{}</div>').format(Markup(SvgExporter().export(rules)))  # it escapes names


@show.register
def _rule(rule: Rule) -> Markup:
    words = ConditionWords()
    rows = [(each.column.name, words(each)) for each in rule.conditions]
    found = [("rows", f"{rule.rows:,}"), ("share", percent(rule.share)), ("questions", f"{rule.depth}")]
    asked = table(("column", "condition"), rows, texts=(0, 1)) if rows else paragraphs(["every row"])
    return card(f"Rule of cluster {rule.label}", figures(found), asked)


@show.register
def _explanation(explained: Explanation) -> Markup:
    words = ConditionWords()
    steps = [
        (each.condition.column.name, each.condition.column.show(each.value), words(each.condition))
        for each in explained.steps
    ]
    contrasts = [(each.title, each.words) for each in explained.contrasts[:CONTRASTS_SHOWN]]
    parts = [table(("column", "value", "condition"), steps, texts=(0, 2))] if steps else []
    parts.append(paragraphs([_sentence(explained.remark)]))
    if contrasts:
        heads = ("what sets the cluster apart", "compared with all other rows")
        parts.append(table(heads, contrasts, texts=(0, 1)))
    return card(_sentence(explained.outcome), *parts)


@show.register
def _changes(changes: Changes) -> Markup:
    lines = [*changes.cluster_lines, *changes.column_lines]
    if changes.is_unrelated:
        return card("Changes", paragraphs([UNRELATED, *changes.column_lines]))
    new, old = ({cluster.index: cluster for cluster in rules.clusters} for rules in (changes.new, changes.old))
    rows = [
        (pill((old if each.new is None else new)[each.cluster], {}), conditions(each.old), conditions(each.new))
        for each in changes.rules
    ]
    found = [("rules changed", f"{len(rows):,}"), ("rules unchanged", f"{changes.unchanged:,}")]
    parts = [table(("cluster", "rule before", "rule now"), rows, texts=(0, 1, 2))] if rows else []
    if changes.rows is not None:
        n_moved = sum(each.rows for each in changes.moved)
        share = percent(n_moved / changes.rows)
        found.append(("rows that change cluster", f"{n_moved:,} of {changes.rows:,} ({share})"))
        moved = [
            (
                "no cluster" if each.old is None else pill(old[each.old], {}),
                "no cluster" if each.new is None else pill(new[each.new], {}),
                f"{each.rows:,}",
            )
            for each in changes.moved
        ]
        if moved:
            parts.append(table(("from", "to", "rows"), moved, texts=(0, 1)))
    return card("Changes", figures(found), paragraphs(map(_sentence, lines)), *parts)


@show.register
def _statistics(statistics: Statistics) -> Markup:
    rows = table(("figure", "value"), statistics.figures, texts=(0,))
    return card("Figures on the training rows", rows, paragraphs(statistics.notes))


def _sentence(text: str) -> str:
    """Return a line for a terminal with the capital of a sentence."""
    return text[:1].upper() + text[1:]
