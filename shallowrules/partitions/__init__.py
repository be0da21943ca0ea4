"""Tables in parts: names and types of the columns, and a function called on every part whose results add up.

`base` defines them, `opening` opens the one for a source; there is a module for each kind.
"""

from shallowrules.partitions.base import Part, Partitions, TableParts, ThreadedPartitions, WholeTable
from shallowrules.partitions.opening import open_partitions

__all__ = ["Part", "Partitions", "TableParts", "ThreadedPartitions", "WholeTable", "open_partitions"]
