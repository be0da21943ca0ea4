"""From typed raw columns to the numbers that are clustered and cut.

`checks` finds what keeps a table from being clustered, `encoder` turns it into matrices, `scaling` brings columns to
comparable scales, both in `blocks` of rows; `transformers` sees through scikit-learn transformers and is imported where
there is one.
"""

from shallowrules.encoding.checks import MAX_CATEGORIES, refuse_extreme_weights, refuse_unusable
from shallowrules.encoding.encoder import (
    CATEGORY_WEIGHT,
    Encoder,
    Encoding,
    ModelColumn,
    categories,
    encode,
    impute_table,
    median_rank,
    most_frequent,
)
from shallowrules.encoding.scaling import (
    SCALES,
    fit_scaler,
    quartile_ranks,
    refuse_fractions,
    set_moments,
    set_quartiles,
)

__all__ = [
    "CATEGORY_WEIGHT",
    "MAX_CATEGORIES",
    "SCALES",
    "Encoder",
    "Encoding",
    "ModelColumn",
    "categories",
    "encode",
    "fit_scaler",
    "impute_table",
    "median_rank",
    "most_frequent",
    "quartile_ranks",
    "refuse_extreme_weights",
    "refuse_fractions",
    "refuse_unusable",
    "set_moments",
    "set_quartiles",
]
