"""The notebooks of docs/notebooks: how they are kept, and what stops the site; test_site.py looks at their pages."""

from __future__ import annotations

import json
import re
import runpy

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat")

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}

if not NOTEBOOKS:
    pytest.skip("the notebooks are not here", allow_module_level=True)


def test_there_are_six_and_every_one_is_in_the_list_and_in_the_site():
    assert len(NOTEBOOKS) == 6
    listed = re.findall(r"\(([\w-]+)\.ipynb\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    in_the_site = re.findall(r": notebooks/([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(set(in_the_site) - {"README"}) == list(NOTEBOOKS)


@pytest.mark.parametrize("path", [path for name in ("docs", "examples") for path in (ROOT / name).rglob("*.ipynb")])
def test_a_notebook_has_no_outputs_and_nothing_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        assert cell.metadata == {}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS.keys())
def test_a_notebook_is_short_and_begins_with_what_it_gives(path):
    first, *others = nbformat.read(path, as_version=4).cells
    assert len(others) < 15
    assert re.match(r"# .+\n\nYou get .*?It\s+takes\s\w+\sminutes\sto\sread", first.source, re.DOTALL)


@pytest.mark.docs
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('careful', file=sys.stderr)", r"page\.ipynb: a cell writes to stderr: careful"),
        ("import warnings; warnings.warn('old')", r"page\.ipynb: a cell writes to stderr: .*UserWarning: old"),
        ("1 / 0", r"page\.ipynb: ZeroDivisionError: division by zero$"),
        ("import nothing_of_this_name", r"page\.ipynb: ModuleNotFoundError: .*; pip install 'shallowrules\[docs\]'"),
    ],
)
def test_a_cell_that_fails_or_warns_stops_the_site_with_its_notebook(tmp_path, code, words):
    exceptions = pytest.importorskip("mkdocs.exceptions")
    pytest.importorskip("ipykernel")
    run = runpy.run_path(str(ROOT / "docs" / "notebook_pages.py"))["run"]
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), tmp_path / "page.ipynb")
    with pytest.raises(exceptions.PluginError, match=words):
        run(tmp_path / "page.ipynb")
