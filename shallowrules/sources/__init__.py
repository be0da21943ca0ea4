"""Where rows come from: each source has names, types and a number of rows, and gives rows as a table or in batches.

`base` defines sources, `opening` opens the one for a name; there is a module for each kind.
"""

from shallowrules.sources.base import Provenance, Source
from shallowrules.sources.database import DatabaseRows
from shallowrules.sources.opening import (
    Files,
    Where,
    delimiter_of,
    file_relation,
    files_of,
    input_files,
    open_source,
    read_table,
)

__all__ = [
    "DatabaseRows",
    "Files",
    "Provenance",
    "Source",
    "Where",
    "delimiter_of",
    "file_relation",
    "files_of",
    "input_files",
    "open_source",
    "read_table",
]
