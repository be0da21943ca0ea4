"""The pictures of docs/page and docs/gallery, made of real outputs.

    python docs/page_pictures.py DATA            # all of them; DATA is the folder of the tables
    python docs/page_pictures.py DATA page       # screenshots of the page
    python docs/page_pictures.py DATA first      # those of the first page
    python docs/page_pictures.py DATA gallery    # those of the gallery, whose commands are run

Needs chromium and playwright; the test module `tests/helpers/browser.py` starts them. Charts need matplotlib.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from shallowrules import RuleSet

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests" / "helpers")]
from browser import chromium  # noqa: E402
from run_pages import place_of, renewed  # noqa: E402
from structures import MARKDOWN  # noqa: E402

COMMAND = [sys.executable, "-c", "from shallowrules.cli import script; script()"]
TRY_A_ROW = {"#row input >> nth=0": "2.6", "#row input >> nth=1": "700"}
NAMES = {"#cluster-2 .naming input": "Light and lean", "#cluster-1 .naming input": "Rich"}


def make_pages(data: Path, folder: Path) -> None:
    """Write the pages of wine, of the example tables and of letter."""

    def run(*arguments: object) -> None:
        subprocess.run([*COMMAND, *map(str, arguments)], check=True, cwd=folder, capture_output=True)

    run("sample", "wine", "-o", "wine.csv")
    run("run", "wine.csv", "-k", 3)
    telco = ("--exclude", "customerID", "--null", "", "--impute", "median", "--html-title", "Telephone customers")
    run("run", data / "telco_customer_churn.csv", "-k", 5, *telco, "-o", "telco_rules")
    wholesale = ("--exclude", "Customer ID,Channel,Region", "--html-title", "Customers of a wholesaler")
    run("run", data / "wholesale_customers.csv", "-k", 4, *wholesale, "-o", "wholesale_rules")
    run("run", data / "bank_marketing.csv", "-k", 5, "--html-title", "Customers of a bank", "-o", "bank_rules")
    letter = np.load(data / "letter.npz")
    frame = pd.DataFrame(letter["X"].astype(int), columns=[str(name) for name in letter["feature_names"]])
    frame.to_csv(folder / "letter.csv", index=False)
    run("run", "letter.csv", "-k", 26, "--html-title", "Letters")


def with_palette(image: Image.Image) -> Image.Image:
    """Return a picture in its 256 most frequent colours, so that areas of one colour keep theirs; Pillow's differ."""
    pixels = np.asarray(image).reshape(-1, 3)
    colours, place_of, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(-counts, kind="stable")[:256]]
    distances = ((colours[:, None].astype(int) - kept.astype(int)) ** 2).sum(axis=2)
    found = Image.fromarray(distances.argmin(axis=1).astype(np.uint8)[place_of].reshape(image.height, image.width))
    found.putpalette(kept.tobytes())
    return found


def keep(png: bytes, *place: str) -> None:
    """Write a picture below docs."""
    path = ROOT.joinpath("docs", *place)
    path.parent.mkdir(exist_ok=True)
    with_palette(Image.open(BytesIO(png)).convert("RGB")).save(path, optimize=True)


def page_pictures(data: Path) -> None:
    """Make the pages, open them and keep what they look like."""
    with TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        make_pages(data, folder)

        def shoot(table: str, state: str, *, fill: dict[str, str] | None = None, at: str = "", **settings: Any) -> None:
            size = {"width": settings.pop("width", 1100), "height": settings.pop("height", 1000)}
            media = settings.pop("media", None)
            context = browser.new_context(viewport=size, reduced_motion="reduce", **settings)
            page = context.new_page()
            page.goto((folder / f"{table}_rules" / "report.html").as_uri())
            if settings.get("java_script_enabled", True):
                page.wait_for_selector("html[data-ready]")
            for place, text in (fill or {}).items():
                page.fill(place, text)
            if state == "slider":
                page.focus("#slider")
                page.keyboard.press("End")
            page.wait_for_timeout(300)
            if media:
                page.emulate_media(media=media)
            page.evaluate("document.activeElement.blur()")
            page.evaluate("at => at ? document.querySelector(at).scrollIntoView() : scrollTo(0, 0)", at)
            keep(page.screenshot(), "page", f"{table}-{state}.png")
            context.close()

        shoot("wine", "light", fill=TRY_A_ROW | NAMES, height=1500)
        shoot("wine", "dark", fill=TRY_A_ROW | NAMES, height=1500, color_scheme="dark")
        shoot("wine", "slider", fill=NAMES)
        shoot("wine", "phone", fill=TRY_A_ROW | NAMES, width=390, height=1600)
        shoot("wine", "print", fill=NAMES, width=794, height=1123, media="print")
        shoot("wine", "without-script", java_script_enabled=False)
        shoot("telco", "light", height=1400)
        shoot("telco", "cards", at="#cards")
        shoot("wholesale", "light", height=1400)
        shoot("bank", "light", height=1400)
        shoot("letter", "light", height=1100)
        shoot("letter", "dark-cards", at="#cluster-23", color_scheme="dark")


# The first page and the gallery --------------------------------------------------------------------

SHEET = (
    "body {font: 15px/1.4 'Liberation Sans', sans-serif; margin: 28px 36px; color: #222}"
    "table {border-collapse: collapse; margin: 8px 0} td, th {border: 1px solid #bbb}"
    "td, th {padding: 3px 9px; text-align: left; white-space: nowrap}"
    "h1 {font-size: 25px; margin: 0 0 10px} h2 {font-size: 19px; margin: 16px 0 6px} p {margin: 10px 0}"
)
"""How a sheet is shown, which is Markdown."""

PENGUIN = {"flipper_length_mm": "195", "sex": "male"}
BANK_ROW = {"balance": "1200", "housing": "no", "age": "52", "contact": "cellular"}
"""Rows that are typed into pages."""

MAX_SIZE = 150_000
"""Bytes of a picture of the gallery."""


def sheet(browser: Any, text: str, *, width: int = 860, before: str = "\n## Cluster ") -> bytes:
    """Return a picture of a sheet, up to the sections of its clusters."""
    page = browser.new_page(viewport={"width": width, "height": 400})
    page.set_content(
        f"<!doctype html><meta charset=utf-8><style>{SHEET}</style>{MARKDOWN.render(text.split(before)[0])}"
    )
    return bytes(page.screenshot(full_page=True))


def from_the_tree(browser: Any, path: Path, row: dict[str, str], *, width: int, height: int) -> bytes:
    """Return a picture of a page from its tree downwards, with a row typed in: values by the names of their columns."""
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    for name, value in row.items():
        label = page.locator("#row label", has=page.get_by_text(name, exact=True))
        if label.locator("select").count():
            choice = label.locator("option", has_text=re.compile(rf"^\W*{re.escape(value)}\W*$"))
            label.locator("select").select_option(choice.get_attribute("value"))
        else:
            label.locator("input").fill(value)
    page.wait_for_timeout(300)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("document.querySelector('section:has([data-part=drawing])').scrollIntoView()")
    return bytes(page.screenshot())


def chart(height: float) -> tuple[Figure, Any]:
    """Return an empty chart."""
    figure = Figure(figsize=(8.6, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def png_of(figure: Figure) -> bytes:
    """Return a chart as PNG."""
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def first_pictures(data: Path) -> None:
    """Keep the sheet and the page of the first page's table."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    with place_of("index") as shell, chromium() as browser:
        renewed("index", page, shell)
        folder = Path(shell.folder, "penguins_rules")
        keep(sheet(browser, (folder / "report.md").read_text(encoding="utf-8")), "page", "penguins-sheet.png")
        tree = from_the_tree(browser, folder / "report.html", PENGUIN, width=1000, height=560)
        keep(tree, "page", "penguins-light.png")


def churn(folder: Path) -> bytes:
    """Return the share of customers who left, by segment."""
    query = (folder / "churn.sql").read_text(encoding="utf-8")
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as shop:
        found = shop.sql(query).fetchall()[::-1]
    figure, axes = chart(2.6)
    bars = axes.barh([name for name, _, _ in found], [left for _, _, left in found], color="#00796b")
    axes.bar_label(bars, [f"{left:.1f}% of {customers:,}" for _, customers, left in found], padding=4)
    axes.set(xlabel="customers who left, %", xlim=(0, 70))
    return png_of(figure)


def noise(folder: Path) -> bytes:
    """Return the rows and the cuts of the rules for noise."""
    rules = RuleSet.from_json(folder / "bills.json")
    columns = ["bill_length_mm", "bill_depth_mm"]
    bills = pd.read_csv(folder / "penguins.csv")[columns].dropna()
    steps = [np.linspace(bills[name].min() - 0.5, bills[name].max() + 0.5, 700) for name in columns]
    grid = pd.DataFrame(dict(zip(columns, (each.ravel() for each in np.meshgrid(*steps)), strict=True)))
    figure, axes = chart(3.8)
    clusters = rules.clusters_frame()
    names = {int(number): str(name) for number, name in zip(clusters["cluster"], clusters["name"], strict=True)}
    of_rows, of_grid = (np.asarray(rules.assign(each)) for each in (bills, grid))
    for cluster, color in zip(sorted({*map(int, of_rows)}), ("#2f8fd8", "#e0572f", "#2ba36b", "#8a8a8a"), strict=True):
        name = f"cluster {cluster}" if names.get(cluster) == str(cluster) else "noise"
        inside = (of_grid == cluster).reshape(len(steps[1]), len(steps[0]))
        axes.contourf(*steps, inside, levels=[0.5, 1.5], colors=[color], alpha=0.16)
        rows = bills[of_rows == cluster]
        axes.scatter(rows[columns[0]], rows[columns[1]], s=13, color=color, label=f"{name}: {len(rows)}")
    axes.set(xlabel=columns[0], ylabel=columns[1])
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return png_of(figure)


def drift(folder: Path) -> bytes:
    """Return the shares of the clusters in both months."""
    rules = RuleSet.from_json(folder / "may.json")
    clusters = rules.clusters_frame().sort_values("rows")
    figure, axes = chart(2.8)
    for offset, month, color in ((0.2, "may", "#9aa5a3"), (-0.2, "jul", "#e0572f")):
        found = np.asarray(rules.assign(pd.read_csv(folder / f"{month}.csv", sep=";")))
        shares = [100 * float((found == cluster).mean()) for cluster in clusters["cluster"]]
        bars = axes.barh(np.arange(len(shares)) + offset, shares, 0.38, color=color, label=month.capitalize())
        axes.bar_label(bars, [f"{share:.1f}%" for share in shares], padding=4)
    axes.set_yticks(range(len(clusters)), clusters["name"])
    axes.set(xlabel="share of the calls, %", xlim=(0, 105))
    axes.legend(frameon=False, loc="lower right")
    return png_of(figure)


def gallery_pictures(data: Path) -> None:
    """Run the commands of the gallery, and keep a picture of what each job made; RuntimeError if one is too large."""
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    with place_of("gallery") as shell, chromium() as browser:
        renewed("gallery", page, shell)
        folder = Path(shell.folder)
        keep(churn(folder), "gallery", "telco-churn.png")
        keep(sheet(browser, (folder / "sheet.md").read_text(encoding="utf-8")), "gallery", "wholesale-sheet.png")
        row = from_the_tree(browser, folder / "bank_rules" / "report.html", BANK_ROW, width=1000, height=600)
        keep(row, "gallery", "bank-row.png")
        keep(noise(folder), "gallery", "penguins-noise.png")
        keep(drift(folder), "gallery", "bank-drift.png")
    for path in (ROOT / "docs" / "gallery").glob("*.png"):
        if path.stat().st_size > MAX_SIZE:
            raise RuntimeError(f"{path.name} has {path.stat().st_size:,} bytes, more than {MAX_SIZE:,}")


PARTS: dict[str, Callable[[Path], None]] = {
    "page": page_pictures,
    "first": first_pictures,
    "gallery": gallery_pictures,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    os.environ["SHALLOWRULES_DATA"] = str(folder)
    for part in sys.argv[2:] or PARTS:
        PARTS[part](folder)
