"""Draw small tables of all kinds of columns in all forms of input; check every form of their rules against the labels.

    tests/conformance/drawn_tables.py --tables 5000 --seed 1

A table that takes more than a minute, ends in a traceback or a warning, or gets two labels is named with its seed; then
the exit status is 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from drawntables import check_table

SECONDS = 60


def main() -> int:
    """Check the tables, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="of the first table; the others follow")
    settings = parser.parse_args()
    signal.signal(signal.SIGALRM, _too_long)
    found: Counter[str] = Counter()
    for seed in range(settings.seed, settings.seed + settings.tables):
        signal.alarm(SECONDS)
        try:
            found[check_table(seed)] += 1
        except Exception:
            found["failed"] += 1
            print(f"seed {seed}: {traceback.format_exc()}", flush=True)
        finally:
            signal.alarm(0)
    print(", ".join(f"{count:,} {what}" for what, count in sorted(found.items())))
    return int(found["failed"] > 0)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
