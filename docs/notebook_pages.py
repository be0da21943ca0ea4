"""The notebooks of docs/notebooks as pages of the site: mkdocs runs each once, and shows what its cells give.

A notebook is kept without outputs. It runs in a copy of its folder, in a kernel of its own; if a cell fails or writes
to stderr, the site is not built. With SHALLOWRULES_NOTEBOOKS=unrun, nothing is run: the pages show code alone.
"""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = "notebooks/"

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm, of notebooks without ipywidgets
}
"""Variables that keep other packages from writing to stderr, and from the network."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook; the notebook itself stays in the site, to download."""
    found = [file for file in files if file.src_uri.startswith(FOLDER) and file.src_uri.endswith(".ipynb")]
    paths = [Path(str(file.abs_src_path)) for file in found]
    with ThreadPoolExecutor(2) as pool:  # a kernel that starts mostly waits
        notebooks = pool.map(read if os.environ.get("SHALLOWRULES_NOTEBOOKS") == "unrun" else run, paths)
        for file, notebook in zip(found, notebooks, strict=True):
            page = file.src_uri.removesuffix(".ipynb") + ".md"
            files.append(File.generated(config, page, content=page_of(notebook, file.name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links to notebooks, which GitHub shows, lead to their pages."""
    if page.file.generated_by:
        return markdown
    return re.sub(rf"\(((?:{FOLDER})?[\w-]+)\.ipynb\)", r"(\1.md)", markdown)


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


def run(path: Path) -> Any:
    """Return a notebook with the outputs of its cells; PluginError, with its name, if one fails or warns."""
    notebook = read(path)
    with TemporaryDirectory(prefix="shallowrules-") as name:
        folder = shutil.copytree(path.parent, Path(name, path.parent.name))
        client = NotebookClient(
            notebook,
            timeout=120,
            resources={"metadata": {"path": str(folder)}},
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # it warns that it can be eavesdropped on
        )
        try:
            client.execute(env=os.environ | QUIET)
        except CellExecutionError as error:
            missing = "; pip install 'shallowrules[docs]' installs it" if error.ename == "ModuleNotFoundError" else ""
            raise PluginError(f"{path.name}: {error.ename}: {error.evalue}{missing}") from error
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise PluginError(f"{path.name}: a cell writes to stderr: {output.text}")
    return notebook


def page_of(notebook: Any, name: str) -> str:
    """Return the Markdown of a notebook, with a link to download it below its first cell."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts.extend(map(shown, cell.outputs))
    parts.insert(1, f"[Download this notebook]({name}.ipynb)")
    return "---\nhide: [toc]\n---\n\n" + "\n\n".join(parts) + "\n"


def shown(output: Any) -> str:
    """Return an output as Markdown: a table or a picture where there is one, else text."""
    data = output.get("data", {})
    if "text/html" in data:
        html = re.sub(r"<style scoped>.*?</style>", "", data["text/html"], flags=re.DOTALL)  # of pandas
        return f'<div class="output">{html}</div>'
    if "image/png" in data:
        source = f"data:image/png;base64,{data['image/png'].strip()}"
        return f'<div class="output"><img src="{source}" alt="The picture that this cell draws"></div>'
    text = output.get("text") or data["text/plain"]
    return f"``` {{.text .output}}\n{text.rstrip()}\n```"
