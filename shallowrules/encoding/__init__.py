"""From typed raw columns to the numbers that are clustered and cut.

`checks` finds the obstacles to clustering a table; `encoded` decides how it becomes matrices, which `encoder` makes of
it and of later tables; `scaling` brings columns to comparable scales, both in `blocks` of rows; `weighing` tells how
much categories count compared with numbers. `transformers` sees through scikit-learn transformers and is imported where
there is one.
"""

from shallowrules.encoding.checks import MAX_CATEGORIES, refuse_extreme_weights, refuse_unusable, unusable
from shallowrules.encoding.encoded import Encoding, encode
from shallowrules.encoding.encoder import Encoder, ModelColumn
from shallowrules.encoding.facts import ColumnFacts, categories
from shallowrules.encoding.imputing import impute_table
from shallowrules.encoding.scaling import SCALES, fit_scaler
from shallowrules.encoding.weighing import AUTO, CATEGORY_WEIGHT, Weighing

__all__ = [
    "AUTO",
    "CATEGORY_WEIGHT",
    "MAX_CATEGORIES",
    "SCALES",
    "ColumnFacts",
    "Encoder",
    "Encoding",
    "ModelColumn",
    "Weighing",
    "categories",
    "encode",
    "fit_scaler",
    "impute_table",
    "refuse_extreme_weights",
    "refuse_unusable",
    "unusable",
]
