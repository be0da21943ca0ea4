"""Screenshots of the page, to docs/page: `docs/page_pictures.py DATA`, with the folder of the tables.

Needs chromium and playwright; the test module `tests/helpers/browser.py` starts them.
"""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
from browser import chromium  # noqa: E402

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


def main(data: Path) -> None:
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
            image = Image.open(BytesIO(page.screenshot())).convert("RGB")
            with_palette(image).save(ROOT / "docs" / "page" / f"{table}-{state}.png", optimize=True)
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


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
