"""Strings, docstrings, comments, templates and pages are written as a native speaker writes them.

`PATTERNS` are turns of phrase that read as translated, and British spellings. A finding names the file and the line.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

COMPARATIVE = r"(?:longer|more|less|fewer|sooner|better|worse|\w+er)\b"

PATTERNS = {
    # "There is no room" and "is no larger than" are English; "12 is no number" is not.
    "is not a …, in place of is no …": rf"(?<![Tt]here )\b(?:is|are|was|were|be) no (?!{COMPARATIVE})",
    "use, in place of say": r"\bsay (?:-|`-)",
    "again, or re-": r"\banew\b",
    "this, in place of for it": r"\bfor it,|\b(?:another|different) \w+ for it\b",
    # "No such file", "as such", "such as" and "such a table" are English; "a sum of such" is not.
    "these, in place of such": r"(?<!\bno )(?<!\bas )\bsuch\b(?! as\b| an? )",
    "Return the noun": r"\bReturn (?:what|that|those)\b",
    "12.5%, without a blank": r"[\d}…] %(?![\w{(}]| [\d{(])",
    "exclude, omit or skip what should not be used": r"\b(?:leave|leaves|leaving) out what\b",
    "drop, remove or delete": r"\b(?:take|takes|taken|taking|took) away\b",
    "keep searching, or the rows for the search": r"\bsearch(?:es|ed)? on\b",
    "so far, or at that point": r"\bby then\b",
    "by itself": r"\bown accord\b",
    "split or separated": r"\bparted\b",
    "undecided": r"\bin doubt\b",
    "should not be used": r"\bplay no part\b",
    "the noun, in place of what is to": r"\b[Ww]hat (?:is|are) to\b",
    "reported, noted or listed": r"\bit is (?:said|told) (?!that\b)",
    "there should be none": r"\bare to be none\b",
    "lookahead": r"\blook(?:s|ed|ing)? ahead\b|\bgrown ahead\b",
    "iterated local search": r"\bperturb and repair\b",
    "is worthwhile": r"\b(?:does not|do not) pay\b",
    "American spelling": (
        r"(?i)\b(?:colour|neighbour|behaviour|favour|honour|(?:grey|centre|spelt|learnt|for ever)\b)"
        r"|\b(?:[mM]inim|[mM]axim|[oO]ptim|[vV]ector|[nN]ormal|[rR]ecogn|[sS]tandard|[sS]ummar)is(?:e|ed|es|ing|ation)\b"
    ),
    "treats as, in place of takes for": r"\b(?:takes|took|taken|taking)\b(?: [\w'`]+){1,6} for (?:equal|one\b(?! of))",
    "expensive, or more expensive": r"\bdear(?:er)?\b",
    "the largest error, in place of is off at most": r"\bis off at most\b",
    "predict": r"\bforet(?:ell|old)\b",
    "within, or in the middle": r"\bin the midst\b",
    "one more row": r"\bone (?:row|column|center|cluster|leaf|tree|cut|rule|part|value) more\b",
    "null marker": r"\b(?:words? for missing|null words?)\b",
    "after": r"\b(?:digits?|line break|point|text|blank|place|number|letter)s? behind (?:it|them|the|an?|its)\b",
    "other than, or a different": r"\banother (?:cluster|label|type|way|value|column|table) than\b",
    "use one of, in place of known are": r"\bknown are\b",
    "only, in place of not even so": r"\bnot even so\b",
    "what else …, in place of what … besides": r"\b[Ww]hat (?:\w+ ){1,5}(?:needs?|has|have) besides\b",
}

ALLOWED = {
    "12,5 %": "a way in which people write numbers in their tables, which is read",
    '"100 %"': "the same",
}
"""Excerpts that a pattern fits rightly, each with the reason."""


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string, docstring and comment; values in f-strings become an ellipsis."""
    inner = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner.update(map(id, node.values))
            parts = (part.value if isinstance(part, ast.Constant) else "{…}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, "" if node.value.isidentifier() else node.value  # keys of a template's data
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, text = token.start[0], token.string.lstrip("# ")
            if comments and comments[-1][0] + comments[-1][1].count("\n") + 1 == line:
                comments[-1] = comments[-1][0], f"{comments[-1][1]}\n{text}"
            else:
                comments.append((line, text))
    yield from comments


def texts_of_page(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each paragraph, without code."""
    source = re.sub(r"^( *)```.*?^\1```$", lambda block: re.sub(r"[^\n]", "", block[0]), source, flags=re.M | re.S)
    source = re.sub(r"<!--.*?-->", lambda block: re.sub(r"[^\n]", "", block[0]), source, flags=re.S)
    for block in re.finditer(r"(?:.+\n?)+", source):
        yield source[: block.start()].count("\n") + 1, re.sub(r"`[^`]*`", "`…`", block[0])


def texts_of_template(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a template; expressions become an ellipsis."""
    for line, text in enumerate(source.splitlines(), 1):
        yield line, re.sub(r"{{.*?}}|{%.*?%}", "…", text)


def texts_of_notebook(source: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each cell of text, and the text, without code."""
    for number, cell in enumerate(json.loads(source)["cells"], 1):
        if cell["cell_type"] == "markdown":
            yield from ((number, " ".join(text.split())) for _, text in texts_of_page("".join(cell["source"])))


def texts_of_kernel(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring and comment of Cython and C."""
    for found in re.finditer(r'"""(.*?)"""|/\*(.*?)\*/|((?:[ \t]*(?:#|//) [^\n]*\n)+)|(?:#|//) ([^\n]*)', source, re.S):
        text = next(filter(None, found.groups()), "")
        yield source.count("\n", 0, found.start()) + 1, re.sub(r"^[ \t]*(?:#|//|\*) ?", "", text, flags=re.M)


def findings(path: Path) -> list[str]:
    """Return a line for each pattern that a file has."""
    reader = READERS.get(path.suffix, texts_of_template)
    found = []
    for line, text in reader(path.read_text(encoding="utf-8")):
        for excerpt in ALLOWED:
            text = text.replace(excerpt, "")
        words = list(re.finditer(r"\S+", text))
        joined = " ".join(word[0] for word in words)
        for rule, pattern in PATTERNS.items():
            for match in re.finditer(pattern, joined):
                first = words[joined.count(" ", 0, match.start())].start()
                around = joined[max(0, match.start() - 40) : match.end() + 40]
                found.append(f"{path}:{line + text.count(chr(10), 0, first)}: {rule}: … {around} …")
    return found


READERS = {
    **dict.fromkeys((".py", ".pyi"), texts_of_python),
    **dict.fromkeys((".pyx", ".pxd", ".h"), texts_of_kernel),
    ".md": texts_of_page,
    ".ipynb": texts_of_notebook,
}
"""By the ending of a file; the lines of all others are read as those of a template."""


def read_by_people() -> list[Path]:
    """Return the files whose words are checked."""
    package = [path for path in (ROOT / "shallowrules").rglob("*") if path.suffix in READERS]
    templates = [path for path in (ROOT / "templates").iterdir() if path.suffix in (".py", ".j2", ".js", ".css")]
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    notebooks = [path for path in (ROOT / "docs" / "notebooks").iterdir() if path.suffix in (".md", ".ipynb")]
    return sorted([*package, *templates, *pages, *notebooks])


def test_no_pattern_is_in_a_text_that_people_read():
    found = [finding for path in read_by_people() for finding in findings(path)]
    assert not found, f"{len(found)} findings\n" + "\n".join(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "'spend 250' is no change of a value",
        "nov.csv exists: say --force to replace",
        "The tree is grown anew.",
        "1 row of 2,800 in another cluster for it.",
        "The sums of such are exact.",
        "Return what is true of the rows that meet no comparison.",
        "44.2 % of the rows",
        "leave out what is to play no part",
        "to take away a view",
        "search on for a cheaper tree",
        "The best tree by then is kept.",
        "It ends of its own accord.",
        "the rows that it parted",
        "every number is in doubt",
        "what is to be checked",
        "it is said of which exporters nothing was run",
        "there are to be none",
        "It looks ahead.",
        "a search by perturb and repair",
        "a re-fit does not pay",
        "The colour of a cluster.",
        "The cost is minimised.",
        "a collation that takes different texts for equal",
        "a tree that is no dearer",
        "the words for missing",
        "the digits behind the point",
        "a row that gets another cluster than the tree gives it",
        "a read-only file not even so",
        "unknown exporter 'cobol'; known are: dbt, html",
        "What the template needs besides.",
    ],
)
@pytest.mark.parametrize(
    ("name", "line", "planted"),
    [
        ("module.py", 3, 'def f():\n    """\n    {}\n    """\n'),
        ("module.py", 2, "x = 1\n# {}\n"),
        ("module.py", 2, 'x = 1\ny = f"{{x}} {}"\n'),
        ("module.pyx", 3, 'cdef int f():\n    """\n    {}\n    """\n'),
        ("module.pxd", 2, "cdef int x\n# {}\n"),
        ("module.h", 2, "int x;\nint y;    /* {} */\n"),
        ("page.md", 4, "# Title\n\nA line.\n{}\n"),
        ("notebook.ipynb", 1, '{{"cells": [{{"cell_type": "markdown", "source": ["A line.\\n", "{}"]}}]}}'),
        ("sheet.md.j2", 2, "| a |\n{}\n"),
    ],
)
def test_a_planted_sentence_is_found_with_its_line(tmp_path, sentence, name, line, planted):
    path = tmp_path / name
    path.write_text(planted.format(sentence), encoding="utf-8")
    found = findings(path)
    assert found
    assert all(each.startswith(f"{path}:{line}: ") for each in found)


def test_a_pattern_is_found_over_the_end_of_a_line(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('x = 1\n# The lines\n# that we take\n# away.\ny = "12.5"\n', encoding="utf-8")
    assert [each.split(": ")[0] for each in findings(path)] == [f"{path}:3"]


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no column 'a'.",
        "The rule is no longer tested, and J is no higher than before.",
        "Formats such as CSV, and such a table.",
        "A share of 12.5% of the rows; 5 % 3 is a modulo.",
        "Return whether a row waits for its lock.",
        "It is said that trees are shallow.",
        "The code `is no number` is not prose.",
    ],
)
def test_plain_english_is_not_found(tmp_path, sentence):
    path = tmp_path / "page.md"
    path.write_text(f"{sentence}\n", encoding="utf-8")
    assert findings(path) == []
