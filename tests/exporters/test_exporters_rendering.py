"""The jinja2 environment, its filters, and templates of users."""

import string
from importlib.resources import files

import pytest
from jinja2 import Environment, StrictUndefined
from jinja2.exceptions import UndefinedError
from rulesets import example_rules, make_rules

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export, rendering
from shallowrules.exporters.languages import JavaScriptExporter
from shallowrules.exporters.python import PythonExporter
from shallowrules.exporters.rendering import escape_markdown, render
from shallowrules.exporters.sql import DIALECTS, STYLES
from shallowrules.rules import RulePath
from shallowrules.verification.runners.languages import TOOLCHAINS, Toolchain, label_by

TEMPLATES = sorted(path.name for path in files("shallowrules.templates").iterdir() if path.name.endswith(".j2"))


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a template and returns its path."""

    def write(text, name="own.sql.j2"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_every_template_is_rendered_by_the_tests(monkeypatch, tmp_path):
    from jinja2 import PackageLoader

    used = set()
    get_source = PackageLoader.get_source

    def record(self, environment, template):
        used.add(template)
        assert environment.undefined is StrictUndefined
        return get_source(self, environment, template)

    monkeypatch.setattr(PackageLoader, "get_source", record)
    monkeypatch.setattr(rendering, "_COMPILED", rendering._Compiled())
    for style in STYLES:
        export(example_rules(), "sql", style=style, dialect="postgres")
    export(example_rules(), "python", vectorized=True, reasons=True)
    PythonExporter().vectors_test(example_rules(), "rules.py", "rules.vectors.json")
    JavaScriptExporter().vectors_test(example_rules(), "rules.mjs", "rules.vectors.json")
    for name in ("markdown", "pandas", "polars"):
        export(example_rules(), name)
    monkeypatch.setattr(Toolchain, "command", lambda *arguments: b"")  # nothing is compiled
    for toolchain in TOOLCHAINS.values():
        label_by(toolchain, [(example_rules(), [])])
    RulePath.of([("full", example_rules()), ("none", example_rules())]).to_json(tmp_path / "path.json")
    export(example_rules(), "html", path=tmp_path / "path.json")
    export(example_rules(), "dbt", table="shop.customers")
    export(example_rules(), "svg")
    assert sorted(used) == TEMPLATES


def test_a_template_is_compiled_once_and_written_in_each_language(monkeypatch):
    monkeypatch.setattr(rendering, "_COMPILED", rendering._Compiled())
    compiled, compile_template = [], Environment.compile

    def record(self, source, name=None, *arguments, **more):
        compiled.append(name)
        return compile_template(self, source, name, *arguments, **more)

    monkeypatch.setattr(Environment, "compile", record)
    texts = [export(example_rules(), "sql", style="select", dialect=dialect) for dialect in ("postgres", "mysql") * 2]
    assert texts[:2] == texts[2:]
    assert 'FROM "data"' in texts[0]
    assert "FROM `data`" in texts[1]
    assert len(compiled) == len({*compiled}) > 0


def test_an_undefined_name_in_a_shipped_template_is_an_error():
    with pytest.raises(UndefinedError):
        render(DIALECTS["ansi"], "sql_where.sql.j2", {})


def test_a_users_template_sees_the_documented_context(write):
    template = write(
        "{{ statistics.rows }} {{ columns[0].name|identifier }} {{ options.style }} {{ table[0] }}\n"
        "{% for rule in rules %}{% for c in rule.conditions %}"
        "{{ c.column|string }} {{ (c.upper if c.upper is not none else c.lower)|number }} {{ c.type }} "
        "{% endfor %}{{ rule.cluster }}{% endfor %}"
    )
    text = export(make_rules([("a'b", "float")], (0, 1.5, 0, 1)), "sql", template=template)
    assert text == "113 \"a'b\" where data\n'a''b' 1.5e0 float 1'a''b' 1.5e0 float 0\n"


def test_a_users_template_may_extend_a_shipped_one(write):
    text = export(example_rules(), "sql", template=write('-- ours\n{% include "sql_where.sql.j2" %}'))
    assert text == "-- ours\n" + export(example_rules(), "sql")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("one\n{{ clusters[0].nmae }}", 2, "nmae"),
        ("one\ntwo\n{% for %}", 3, "Expected"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError"),
        ("\n{{ rules.__class__.__mro__ }}", 2, "SecurityError"),
        ("\n{{ 'x'|shout }}", 2, "shout"),
        ('{% include "no.j2" %}', 1, "no.j2"),
    ],
)
def test_an_error_in_a_users_template_names_its_line(write, text, line, message):
    path = write(text)
    with pytest.raises(OptionError) as caught:
        export(example_rules(), "sql", template=path)
    assert f"{path}, line {line}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_template_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.j2", tmp_path):
        with pytest.raises(OSError, match=path.name):
            export(example_rules(), "markdown", template=path)
    binary = tmp_path / "binary.j2"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="cannot be read"):
        export(example_rules(), "python", template=str(binary))


def test_a_name_that_the_language_cannot_hold_is_not_the_templates_fault(write):
    with pytest.raises(ExportError, match="empty names"):
        export(example_rules(), "sql", template=write("{{ ''|identifier }}"))


def test_only_html_is_escaped_by_itself(write):
    rules = make_rules([("<b>", "float")], 0)
    source = "{{ columns[0].name }}"
    assert export(rules, "markdown", template=write(source, "own.md.j2")) == "<b>\n"
    assert export(rules, "markdown", template=write(source, "own.html.j2")) == "&lt;b&gt;\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("sepal length (cm)", "sepal length (cm)"),
        ("sepal_length", "sepal_length"),
        ("_x_", r"\_x\_"),
        ("-5 to 0", r"\-5 to 0"),
        ("2. wine", r"2\. wine"),
        ("2.5 wine", r"2\.5 wine"),
        ("a\n# b", "a # b"),
        ("<script>", "&lt;script&gt;"),
        ("[a](http://b)", r"\[a\](http\://b)"),
        ("www.b.c", r"www\.b.c"),
        (3, "3"),
    ],
)
def test_markdown_filter(text, written):
    assert escape_markdown(text) == written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_comments_stay_one_line(dialect):
    text = DIALECTS[dialect].comment("a\n*/ b\r\u2028\x85c" + string.punctuation)
    assert text.splitlines() == [text]
    assert "*/" not in text
