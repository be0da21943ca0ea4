"""A fit by passes over a table in parts: what `shallowrules.pipeline` finds of a whole table, to the last bit.

`survey` finds names, ranges and categories, `rows` encodes parts by them, `imputing` says what missing values are taken
as, `scaling` brings columns to comparable scales, both by values that `ranked` finds; `centers` clusters, `measuring`
measures a tree, and `fitting` goes through all of it. What is found in parts adds up exactly, in any order.
"""

from shallowrules.passes.fitting import PartsFit, fit_parts, refuse_options

__all__ = ["PartsFit", "fit_parts", "refuse_options"]
