"""What turns the text of a file or database into the values that rules compare.

A column that holds "no value" in words (``NA``, blanks), or numbers with a decimal comma, is text to
any reader that has not been told. The rules keep what was told, so that every form of them can read the column.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

__all__ = ["PLAIN", "Conversion", "Number"]

Number = int | float

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class Conversion:
    """How to read a column.

    Parameters
    ----------
    decimal : {".", ","}
        What separates the fraction of a number.
    nulls : tuple of str
        Texts that mean "no value", compared without the spaces around them: ``""`` is a text of nothing but
        spaces. The empty text is no number in any case. A token that is a number stands for every number of its
        value, however that is written.
    """

    decimal: str = "."
    nulls: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The texts that mean "no value" and are no finite number."""
        return tuple(token for token in self.nulls if self._finite(token) is None)

    @property
    def null_numbers(self) -> tuple[Number, ...]:
        """The finite numbers that mean "no value"."""
        return tuple(number for number in map(self._finite, self.nulls) if number is not None)

    @property
    def from_text(self) -> bool:
        """Whether numbers are text to a reader that does not know of the conversion."""
        return self.decimal != "." or bool(self.words)

    def _finite(self, token: str) -> Number | None:
        number = self.number(token)
        return number if number is not None and math.isfinite(number) else None

    def is_null(self, text: str) -> bool:
        """Return whether a text means "no value"."""
        return text.strip(" ") in self.nulls

    def number(self, text: str) -> Number | None:
        """Return the number that a text holds, None where it holds none."""
        text = text.strip(" ")
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        if _WHOLE.fullmatch(text):
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else None


PLAIN = Conversion()
"""The values are compared as they are."""
