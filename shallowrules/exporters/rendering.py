"""The one jinja2 environment: strict about undefined names, its filters bound to a language.

Every name and label from the data goes through a filter: ``identifier``, ``string``, ``number``
and ``comment`` write it in the language of the output, ``md`` as Markdown text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Any, Protocol
from unicodedata import bidirectional

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, TemplateSyntaxError, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from shallowrules.errors import OptionError, ShallowRulesError
from shallowrules.exporters.base import check_path
from shallowrules.files import read_whole

__all__ = ["Language", "escape_markdown", "isolate", "one_line", "render", "shipped"]


class Language(Protocol):
    """How data is written in one output language so that it stays data."""

    def identifier(self, name: str) -> str:
        """Return a column or table name, quoted."""
        ...

    def string(self, text: str) -> str:
        """Return a text literal."""
        ...

    def number(self, value: int | float) -> str:
        """Return a number."""
        ...

    def comment(self, text: str) -> str:
        """Return text that cannot end the comment that it is in."""
        ...


def render(language: Language, name: str, context: Mapping[str, Any], template: str | Path | None = None) -> str:
    """Render a shipped template, or the user's own; the text ends with a line break.

    Parameters
    ----------
    language : Language
        The syntax that the filters write.
    name : str
        The shipped template.
    context : mapping
        Plain data: see `shallowrules.exporters.context`.
    template : str or Path, optional
        A user's template. It runs in jinja2's sandbox and may extend a shipped one; the sandbox
        does not bound time or memory, so trust a template like a program.

    Raises
    ------
    OptionError
        If the user's template is not a path, is not UTF-8, or cannot be parsed or rendered; names its file and line.
    OSError
        If the file cannot be read.
    """
    check_path("template", template)
    if template is None:
        text = _environment(Environment, language, _COMPILED).get_template(name).render(context)
    else:
        text = _render_file(_environment(SandboxedEnvironment, language), Path(template), context)
    return text if text.endswith("\n") else text + "\n"


def shipped(name: str) -> str:
    """Return a shipped file that a text holds unchanged."""
    return files("shallowrules.templates").joinpath(name).read_text(encoding="utf-8")


class _Compiled(BytecodeCache):
    """The code of the shipped templates, compiled once in a process: it is the same for every language."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(bucket.key)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.code


_COMPILED = _Compiled()


def _environment(kind: type[Environment], language: Language, compiled: BytecodeCache | None = None) -> Environment:
    environment = kind(
        loader=PackageLoader("shallowrules.templates", ""),
        undefined=StrictUndefined,
        autoescape=lambda name: name is not None and name.endswith((".html", ".html.j2", ".svg", ".svg.j2")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        bytecode_cache=compiled,
    )
    environment.filters.update(
        identifier=_at_run_time(language.identifier),
        string=_at_run_time(language.string),
        number=_at_run_time(language.number),
        comment=_at_run_time(language.comment),
        md=escape_markdown,
    )
    return environment


def _at_run_time(write: Callable[[Any], str]) -> Callable[[Context, Any], str]:
    """Return a filter whose text for a constant is not compiled into the template."""
    return pass_context(lambda context, value: write(value))


def _render_file(environment: Environment, path: Path, context: Mapping[str, Any]) -> str:
    try:
        source = read_whole(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise OptionError(f"template {str(path)!r} cannot be read: {error}", option="template") from error
    try:
        code = environment.compile(source, path.name, str(path))
        return environment.template_class.from_code(environment, code, environment.make_globals(None)).render(context)
    except ShallowRulesError:
        raise
    except TemplateSyntaxError as error:
        raise OptionError(
            f"template {error.filename or path}, line {error.lineno}: {error.message}", option="template"
        ) from error
    except Exception as error:
        raise OptionError(
            f"template {path}{_line_of(error, path)}: {type(error).__name__}: {error}", option="template"
        ) from error


def _line_of(error: Exception, path: Path) -> str:
    """Return ", line N" for the line of a template where an error arose; jinja2 puts its lines into the traceback."""
    line, frame = "", error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(path):
            line = f", line {frame.tb_lineno}"
        frame = frame.tb_next
    return line


def one_line(text: str) -> str:
    """Return text with a space for every line break, control character and unpaired surrogate."""
    return "".join(c if c.isprintable() else " " for c in text)


def isolate(text: str) -> str:
    """Return text on one line; if it reads from right to left, between marks that keep its surroundings in order.

    Without them ``name: 35.5%`` is shown as ``%35.5 :name`` where the name is Hebrew. The marks are invisible:
    U+2068 FIRST STRONG ISOLATE and U+2069 POP DIRECTIONAL ISOLATE.
    """
    text = one_line(text)
    if any(bidirectional(character) in ("R", "AL", "AN") for character in text):
        return f"\u2068{text}\u2069"
    return text


# Where Markdown (CommonMark with tables) would see syntax. An underscore inside a word is not syntax.
_MD_SYNTAX = re.compile(r"[\\`*\[\]|~$!]|(?<![^\W_])_|_(?![^\W_])|(?<=[hpsHPS]):(?=//)|(?<=[wW])\.|@")
# Signs of comparison, as in "a <= 5", stay as they are: they neither open a tag nor, within a line, begin a quotation.
_MD_HTML = re.compile(r"&|<(?![= ])|>(?!=? )|(?<! )>")
_MD_LINE_START = re.compile(r"^(\s*)([#+\-=:]|\d+(?=[.)]))")


def escape_markdown(text: object) -> str:
    """Return text as Markdown that shows exactly this text, anywhere in a line or table cell."""
    escaped = _MD_SYNTAX.sub(r"\\\g<0>", one_line(str(text)).strip())
    escaped = _MD_HTML.sub(lambda sign: html.escape(sign[0]), escaped)
    start = _MD_LINE_START.match(escaped)
    if start is None:
        return isolate(escaped)
    head, tail = start[2], escaped[start.end() :]
    return isolate(f"{head}\\{tail}" if head.isdigit() else f"\\{head}{tail}")
