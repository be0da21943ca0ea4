"""The texts that XML can hold."""

from __future__ import annotations

import re

from shallowrules.errors import ExportError

__all__ = ["check_xml_text"]

REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_xml_text(text: str) -> str:
    """Return a text; ExportError if XML cannot hold one of its characters."""
    found = REFUSED.search(text)
    if found is not None:
        raise ExportError(
            f"XML cannot hold the character U+{ord(found[0]):04X} of {text!r}: rename the column or category"
        )
    return text
