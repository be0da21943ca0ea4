"""From typed raw columns to the numbers that are clustered and cut.

`checks` finds the obstacles to clustering a table, and `facts` has what one pass over a column tells. `encoded` decides
how a table becomes matrices, which `encoder` makes of it and of later tables. `imputing` fills in missing values,
`scaling` brings columns to comparable scales, and `weighing` tells how much categories count compared with numbers;
`ranked` finds their medians and quartiles. Tables in parts have `roles` of their columns, `rows` of their parts, and
`codes`. `transformers` sees through scikit-learn transformers and is imported where there is one.
"""

from shallowrules.encoding.checks import refuse_extreme_weights, refuse_unusable, unusable
from shallowrules.encoding.encoded import Encoding, encode
from shallowrules.encoding.encoder import Encoder, ModelColumn
from shallowrules.encoding.facts import ColumnFacts, categories
from shallowrules.encoding.weighing import CATEGORY_WEIGHT, Weighing

__all__ = [
    "CATEGORY_WEIGHT",
    "ColumnFacts",
    "Encoder",
    "Encoding",
    "ModelColumn",
    "Weighing",
    "categories",
    "encode",
    "refuse_extreme_weights",
    "refuse_unusable",
    "unusable",
]
