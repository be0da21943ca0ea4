"""How each exporter's text is run with hostile names in it: an entry of `CHECKS` for each exporter.

A check yields each finding: a row with a label other than the tree's, a name that is not read back as it is, or
anything else that happened. A name or category that a form cannot have has to be refused with an `ExportError`; the
check continues with a plain one in its place, and counts it.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

from hostile import Findings, executed_sql, parsed_sheet, watched
from hostile_tools import ManyNames, Tools, differences, labels_of
from onnxmodels import holds_text, inputs_of
from rulesets import as_columns
from sqlglot import tokenize
from structures import python_structure, read_flowchart
from workbooks import rows_of_cells

from shallowrules.errors import ExportError
from shallowrules.exporters import export
from shallowrules.exporters.python import Style as PythonStyle
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.sql import DIALECTS, STYLES
from shallowrules.exporters.wording import branch_label, describe_missing
from shallowrules.exporters.xml_text import REFUSED as NOT_IN_XML
from shallowrules.rules import Leaf, RulePath, RuleSet
from shallowrules.tables.table import Table
from shallowrules.verification.runners import RUNNERS
from shallowrules.verification.runners.languages import TOOLCHAINS
from shallowrules.verification.runners.onnx import open_session
from shallowrules.verification.runners.page import READY, type_rows
from shallowrules.verification.runners.xlsx import is_held, paste_rows

__all__ = ["BESIDE", "CHECKS", "Check"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shallowrules-dmn"


# Forms ---------------------------------------------------------------------------------------------------------------

DIALECTS_AT_ONCE = 5
"""Dialects that are looked at in a round, in turn."""

COUNTED = re.compile(r"SELECT|INSERT|DROP|CREATE|UPDATE|DELETE|ALTER|SEMICOLON|FROM|WHERE|UNION|JOIN|COMMAND|GRANT")


def check_sql(drawn: ManyNames, tools: Tools) -> Findings:
    """Execute the SQL in the embedded engines; in every other dialect the statements are those of plain names."""
    held = tools.plain_where("sql", drawn, lambda text: "\0" in text)
    for engine in tools.engines:
        yield from executed_sql(held, engine, tools.refused)
    names = list(DIALECTS)
    for turn in range(DIALECTS_AT_ONCE):
        dialect = names[(tools.seed * DIALECTS_AT_ONCE + turn) % len(names)]
        facts, style = DIALECTS[dialect], STYLES[(tools.seed + turn) % len(STYLES)]

        def refuses(text: str, facts: Any = facts) -> bool:
            try:
                facts.column(text)
                facts.string(text)
            except ExportError:
                return True
            return False

        held = tools.plain_where(f"dialect {dialect}", drawn, refuses)
        options = {"dialect": dialect, "style": style}
        try:
            text = export(held.rules, "sql", **options)
        except ExportError as error:
            tools.counts[f"refused, {dialect}, {style}: {error}"] += 1
            continue
        tools.counts["sql, texts of other dialects"] += 1
        found, wanted = (_statements(each, dialect) for each in (text, export(drawn.plain, "sql", **options)))
        if found != wanted:
            yield f"sql, {dialect}, {style}: {found - wanted} more, {wanted - found} fewer than with plain names"


def _statements(text: str, dialect: str) -> Counter[str]:
    tokens = tokenize(text, read="" if dialect == "ansi" else dialect)
    return Counter(token.token_type.name for token in tokens if COUNTED.fullmatch(token.token_type.name))


def check_python(drawn: ManyNames, tools: Tools) -> Findings:
    """Define and call the functions of every style: the labels, and no event that plain names do not cause."""
    options: list[dict[str, Any]] = [{"style": style, "cluster_as": "name"} for style in get_args(PythonStyle)]
    for each in [*options, {"vectorized": True}]:
        text, plain = (export(rules, "python", **each) for rules in (drawn.rules, drawn.plain))
        if python_structure(text) != python_structure(plain):
            yield f"Python, {each}: other syntax than that of plain names"
    yield from run_by("python")(drawn, tools)


def run_by(name: str) -> Callable[[ManyNames, Tools], Findings]:
    """Return a check of the forms that verify runs in this process: its labels, and no event that plain names do not
    cause."""

    def check(drawn: ManyNames, tools: Tools) -> Findings:
        given = (_labelled(name, drawn.plain, drawn.rows[:1]) for _ in range(2))
        for labelled in given:
            usual, _ = watched(labelled)
        seen, found = watched(_labelled(name, drawn.rules, drawn.rows))
        if set(seen) - set(usual):
            yield f"{name}: {sorted(set(seen) - set(usual))} happened"
        for form, labels in found.items():
            yield from differences(form, drawn.rows, labels, drawn.expected)

    return check


def _labelled(name: str, rules: RuleSet, rows: Sequence[Any]) -> Callable[[], dict[str, list[int | None]]]:
    """Return the functions that label rows by each form of an exporter, from its runner."""
    table = Table.of({column: list(values) for column, values in as_columns(rules, rows).items()})

    def label() -> dict[str, list[int | None]]:
        with RUNNERS[name](rules) as forms:
            return {form: labels_of(each.label(table)) for form, each in forms.items()}

    return label


def check_language(name: str) -> Callable[[ManyNames, Tools], Findings]:
    """Return a check of a programming language: compiled and run, the labels, and as many lines as plain names have."""

    def check(drawn: ManyNames, tools: Tools) -> Findings:
        exporter = TOOLCHAINS[name].exporter

        def refuses(text: str) -> bool:
            try:
                exporter.language.check_text(text)
            except ExportError:
                return True
            return False

        held = tools.plain_where(name, drawn, refuses)
        try:
            found, usual = (_lines(exporter().export(rules)) for rules in (held.rules, drawn.plain))
        except ExportError as error:
            tools.counts[f"refused, {name}: {error}"] += 1
            return
        if found != usual:
            yield f"{name}: {found} lines, {usual} with plain names"
        for form, labels in _labelled(name, held.rules, held.rows)().items():
            yield from differences(form, held.rows, labels, held.expected)

    return check


def _lines(text: str | Mapping[str, str]) -> list[int]:
    return [len(each.splitlines()) for each in (text.values() if isinstance(text, Mapping) else [text])]


def check_markdown(drawn: ManyNames, tools: Tools) -> Findings:
    """Parse the sheet: no tag, link or row that plain names do not give it."""
    yield from parsed_sheet(drawn)


TAGS = """() => [...document.querySelectorAll('*')].map(each => [each.localName,
  ...[...each.attributes].map(a => a.localName).filter(name => /^on|^href$|^src$/.test(name))].join(' '))"""


def check_page(drawn: ManyNames, tools: Tools) -> Findings:
    """Open the page in a browser: names as they are, no further element, request, dialog or message, and the labels."""
    rules = drawn.rules
    with _Tab(tools.browser, "page.html", _page(rules, one_line(drawn.table) or "t", tools.seed % 2 == 1)) as tab:
        page = tab.page
        page.wait_for_selector(READY)
        for cluster in rules.clusters:
            shown = page.text_content(f"#cluster-{cluster.index} h3 .nm")
            if shown != one_line(cluster.name):
                yield f"html: cluster {cluster.name!r} is shown as {shown!r}"
            note = page.text_content(f"#cluster-{cluster.index} p.note")
            if note != "\n".join(map(one_line, cluster.note.splitlines())):
                yield f"html: the note {cluster.note!r} is shown as {note!r}"
        labels = page.evaluate("[...document.querySelectorAll('#row label')].map(each => each.textContent)")
        for i in rules.tested_columns:
            if not any(one_line(rules.columns[i].name) in label for label in labels):
                yield f"html: no field of column {rules.columns[i].name!r}"
        found = [cluster for cluster, _ in type_rows(page, rules, drawn.rows)]
        yield from differences("html", drawn.rows, found, drawn.expected)
        yield from tab.findings("html")
        tags = set(page.evaluate(TAGS))
    with _Tab(tools.browser, "plain.html", _page(drawn.plain, "t", tools.seed % 2 == 1)) as tab:
        tab.page.wait_for_selector(READY)
        type_rows(tab.page, drawn.plain, drawn.rows)
        usual = set(tab.page.evaluate(TAGS))
    if tags - usual:
        yield f"html: elements that plain names do not give it: {sorted(tags - usual)}"


def _page(rules: RuleSet, title: str, with_path: bool) -> str:
    """Return the page, with the slider of a path if wanted."""
    if not with_path:
        return export(rules, "html", title=title)
    RulePath.of([("none", rules), ("full", rules)]).to_json("path.json")
    return export(rules, "html", title=title, path="path.json")


class _Tab:
    """A file in the browser, which may ask for nothing, say nothing and open nothing."""

    def __init__(self, browser: Any, name: str, text: str) -> None:
        self.path = Path(name).resolve()
        self.path.write_text(text, encoding="utf-8")
        self.seen: list[str] = []
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self._ask(request.url))
        self.page.on("console", lambda message: self.seen.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("popup", lambda other: self.seen.append(f"popup: {other.url}"))
        self.page.goto(self.path.as_uri())

    def _ask(self, url: str) -> None:
        if url != self.path.as_uri():
            self.seen.append(f"request: {url}")

    def findings(self, form: str) -> Findings:
        """Yield the events."""
        for each in self.seen:
            yield f"{form}: {each}"

    def __enter__(self) -> _Tab:
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()


SVG_TAGS = {"svg", "title", "desc", "rect", "g", "path", "text", "tspan"}


def check_svg(drawn: ManyNames, tools: Tools) -> Findings:
    """Open the picture in a browser: every name is in a title, and nothing else is there or happens."""
    with _Tab(tools.browser, "tree.svg", export(drawn.rules, "svg", title=one_line(drawn.table) or "t")) as tab:
        titles = tab.page.evaluate("[...document.querySelectorAll('title, text')].map(each => each.textContent)")
        for i in drawn.rules.tested_columns:
            name = one_line(drawn.rules.columns[i].name)
            if not any(name in title for title in titles):
                yield f"svg: column {name!r} is in no text"
        tags = set(tab.page.evaluate(TAGS))
        if tags - SVG_TAGS:
            yield f"svg: {sorted(tags - SVG_TAGS)}"
        yield from tab.findings("svg")


def check_mermaid(drawn: ManyNames, tools: Tools) -> Findings:
    """Read the flowchart by its grammar: every question, answer and cluster is there, each in its place."""
    rules = drawn.rules
    boxes, edges, leaves = read_flowchart(export(rules, "mermaid"))
    titles = {cluster.index: one_line(cluster.title) for cluster in rules.clusters}
    for index, node in enumerate(rules.nodes):
        if isinstance(node, Leaf):
            if not leaves.get(index, "").startswith(f"{titles[node.cluster]}, "):
                yield f"mermaid: leaf {titles[node.cluster]!r} is {leaves.get(index)!r}"
            continue
        column = rules.columns[node.column]
        if boxes.get(index) != one_line(column.name + describe_missing(column)):
            yield f"mermaid: column {column.name!r} is {boxes.get(index)!r}"
        for child, left in ((node.left, True), (node.right, False)):
            if edges.get((index, child)) != one_line(branch_label(node, column, left)):
                yield f"mermaid: a branch of {column.name!r} is {edges.get((index, child))!r}"
    if len(boxes) + len(leaves) != len(rules.nodes) or len(edges) != len(rules.nodes) - 1:
        yield "mermaid: more boxes or branches than the tree has"


XML = "{http://www.dmg.org/PMML-4_4}"


def check_pmml(drawn: ManyNames, tools: Tools) -> Findings:
    """Score the rows by an engine, and read the names back from the XML."""
    if any(NOT_IN_XML.search(name) for name, _ in drawn.columns):
        try:
            export(drawn.rules, "pmml")
            yield "pmml: a character that XML cannot hold was not refused"
        except ExportError:
            tools.counts["pmml, rule sets refused as drawn"] += 1
    held = tools.plain_where("pmml", drawn, lambda text: NOT_IN_XML.search(text) is not None)
    rules = held.rules
    text = export(rules, "pmml", cluster_as="name", cluster_column="the cluster")
    root = ElementTree.fromstring(text)
    fields = [field.get("name") for field in root.iter(f"{XML}DataField")]
    if fields != [*(rules.columns[i].name for i in rules.tested_columns), "the cluster"]:
        yield f"pmml: fields {fields}"
    model = tools.read_pmml(text)
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    columns = [column.name for column in rules.columns]
    predicted = [model.predict(dict(zip(columns, row, strict=True))) for row in held.rows]
    found = [next(iter(each.values())) or None for each in predicted]
    wanted = [None if label is None else names[label] for label in held.expected]
    yield from differences("pmml", held.rows, found, wanted)


def check_onnx(drawn: ManyNames, tools: Tools) -> Findings:
    """Run the model on the rows, and read the names of its inputs back."""
    held = tools.plain_where("onnx", drawn, lambda text: not text or not holds_text(text))
    rules = held.rules
    session = open_session(export(rules, "onnx", cluster_as="name", cluster_column="the cluster"))
    inputs = [each.name for each in session.get_inputs()]
    if inputs != [rules.columns[i].name for i in rules.tested_columns]:
        yield f"onnx: inputs {inputs}"
    arrays, can_be_given = inputs_of(rules, held.rows)
    [found] = session.run(None, arrays)
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    rows = [
        (row, label or None, None if wanted is None else names[wanted])
        for row, label, wanted, is_given in zip(held.rows, found, held.expected, can_be_given, strict=True)
        if is_given
    ]
    yield from differences("onnx", *zip(*rows, strict=True))


def check_dbt(drawn: ManyNames, tools: Tools) -> Findings:
    """Keep the rules for the project that dbt builds of all of them (`build_models`)."""
    held = tools.plain_where("dbt", drawn, lambda text: "\0" in text)
    tools.models.append((held.rules, held.rows, tools.seed))
    yield from ()


def check_workbook(drawn: ManyNames, tools: Tools) -> Findings:
    """Keep the workbook with rows pasted into it: LibreOffice computes all of them at the end (`compute_labels`)."""
    if any(NOT_IN_XML.search(name) for name, _ in drawn.columns):
        try:
            export(drawn.rules, "xlsx", label_rows=1)
            yield "xlsx: a character that XML cannot hold was not refused"
        except ExportError:
            tools.counts["xlsx, rule sets refused as drawn"] += 1
    held = tools.plain_where("xlsx", drawn, lambda text: not is_held(text))  # nor can a cell that is pasted
    rules, rows = held.rules, rows_of_cells(held.rules, held.rows)
    book = export(rules, "xlsx", label_rows=len(rows))
    pasted = paste_rows(book, [column.name for column in rules.columns], rows)
    tools.workbooks.append((rules, rows, pasted, tools.seed))
    tools.counts["xlsx, rows"] += len(rows)


def check_path(drawn: ManyNames, tools: Tools) -> Findings:
    """Read the path document back: the same rules."""
    path = RulePath.of([("none", drawn.rules), ("full", drawn.rules)])
    read = RulePath.from_dict(json.loads(path.to_json()))
    if [tree.rules for tree in read] != [tree.rules for tree in path]:
        yield "path: other rules are read than were written"


NOT_IN_DMN = re.compile(r"""["\\`;]|//|/\*|[{}]|^null|^\s|\s$""")
"""What pyDMNrules cannot read in a text. It takes // and /* for comments, a brace in a list for more than a text, and
"null" and what follows for null. It drops the blanks around a text, and cannot read all lists of texts with ` or ;."""

TABLES_OF_DMN = 20
"""Decision tables in each round, so that they have as many names as the rules of the others."""


class FewNames(ManyNames):
    """Rules over a few columns, since a decision table with many takes the engine up to a minute."""

    columns_drawn = (2, 3)
    n_clusters = 4
    n_rows = 4
    most_categories = 3


def check_dmn(drawn: ManyNames, tools: Tools) -> Findings:
    """Execute decision tables of the example plugin with a rule engine."""
    for _ in range(TABLES_OF_DMN):
        yield from _decided(FewNames(drawn.chooser), tools)


def _decided(drawn: FewNames, tools: Tools) -> Findings:
    """Execute a decision table; its names are plain FEEL names."""
    tools.counts["dmn, names"] += drawn.named
    if str(EXAMPLE) not in sys.path:
        sys.path.append(str(EXAMPLE))
    from pyDMNrules import DMN
    from shallowrules_dmn import DmnExporter, _check_name, _literal

    def refuses(text: str) -> bool:
        try:
            _literal(text)
        except ExportError:
            return True
        return NOT_IN_DMN.search(text) is not None

    def is_name(text: str) -> bool:
        try:
            _check_name(text, "a name")
        except ExportError:
            return False
        return True

    held = tools.plain_where("dmn", drawn, refuses)
    renamed = {name: f"c{j}" for j, name in enumerate(c.name for c in held.rules.columns) if not is_name(name)}
    tools.refused["dmn, name of a column"] += len(renamed)
    text = DmnExporter().export(held.rules, columns=renamed)
    path = Path("clusters.dmn")
    path.write_text(text, encoding="utf-8")
    engine = DMN()
    status = engine.loadXML(str(path))
    if status:
        yield f"dmn: the engine refuses the table: {str(status)[:300]}"
        return
    names = [renamed.get(column.name, column.name) for column in held.rules.columns]
    found: list[int | None] = []
    for row in held.rows:
        said, decision = engine.decide(dict(zip(names, row, strict=True)))
        found.append(None if "errors" in said else int(decision["Result"]["cluster.cluster"]))
    yield from differences("dmn", held.rows, found, held.expected)


Check = Callable[[ManyNames, Tools], Iterator[str]]

CHECKS: Mapping[str, Check] = {
    "sql": check_sql,
    "python": check_python,
    "markdown": check_markdown,
    "html": check_page,
    "svg": check_svg,
    "mermaid": check_mermaid,
    "pmml": check_pmml,
    "onnx": check_onnx,
    "dbt": check_dbt,
    "pandas": run_by("pandas"),
    "polars": run_by("polars"),
    "xlsx": check_workbook,
    **{name: check_language(name) for name in TOOLCHAINS},
}
"""By name, how each installed exporter is checked. The run fails where one has none."""

BESIDE: Mapping[str, Check] = {"path documents": check_path, "dmn (the example of a plugin)": check_dmn}
"""What is checked besides the installed exporters."""
