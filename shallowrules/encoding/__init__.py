"""From typed raw columns to the numbers that are clustered and cut.

`checks` finds what keeps a table from being clustered, `encoder` turns it into matrices, `scaling` brings columns to
comparable scales, `transformers` sees through scikit-learn transformers.
"""

from shallowrules.encoding.checks import refuse_extreme_weights, refuse_unusable
from shallowrules.encoding.encoder import (
    CATEGORY_WEIGHT,
    Encoder,
    Encoding,
    ModelColumn,
    categories,
    encode,
    impute_table,
)
from shallowrules.encoding.scaling import SCALES, fit_scaler
from shallowrules.encoding.transformers import encode_through, transformed

__all__ = [
    "CATEGORY_WEIGHT",
    "SCALES",
    "Encoder",
    "Encoding",
    "ModelColumn",
    "categories",
    "encode",
    "encode_through",
    "fit_scaler",
    "impute_table",
    "refuse_extreme_weights",
    "refuse_unusable",
    "transformed",
]
