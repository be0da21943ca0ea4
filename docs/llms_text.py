"""The file llms.txt of the site (https://llmstxt.org): mkdocs makes it of its nav whenever the site is built.

A page is described in `extra.descriptions` of mkdocs.yml, a notebook by its first sentence. The site is not built if
a page lacks a description, or a description its page.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

NAME = "llms.txt"

_sections: dict[str, list[Page]] = {}


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the pages of each section; PluginError if a description has no page."""
    _sections.clear()
    for item in nav.items:
        _sections[item.title or ""] = list(item.children) if item.children else [item]
    described = config.extra["descriptions"]
    if left := sorted({*described} - {page.file.src_uri for page in nav.pages}):
        raise PluginError(f"mkdocs.yml describes {left[0]}, which is not in nav")
    return nav


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give a page its description, which search engines read too."""
    described = config.extra["descriptions"].get(page.file.src_uri)
    if described is None and page.file.generated_by:
        described = first_sentence(html)
    if described:
        page.meta["description"] = described
    return html


def on_post_build(config: MkDocsConfig) -> None:
    """Write the file; PluginError if a page has no description."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for title, pages in _sections.items():
        entries = [entry(page, config.site_url or "") for page in pages]
        lines += [f"## {title}", "", *entries, ""]
    Path(config.site_dir, NAME).write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")


def entry(page: Page, site: str) -> str:
    """Return the line of a page."""
    if "description" not in page.meta:
        raise PluginError(f"{page.file.src_uri} needs a sentence in extra.descriptions of mkdocs.yml")
    return f"- [{page.title}]({site}{page.file.url}): {page.meta['description']}"


def first_sentence(html: str) -> str:
    """Return the first sentence of a page as plain text."""
    paragraph = re.search(r"<p>(.*?)</p>", html, re.DOTALL)
    words = " ".join(unescape(re.sub(r"<[^>]+>", "", paragraph[1])).split()) if paragraph else ""
    return re.sub(r"(?<=[.]) .*", "", words)
