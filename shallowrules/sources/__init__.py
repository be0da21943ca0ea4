"""Where rows come from: each source has names and a number of rows, and gives the rows as a table.

`base` defines sources, `opening` opens the one for a name, and there is a module for each kind; `engine` is the DuckDB
that reads files, also as a stream. What files need before that: `trimming`, `extent` and `evidence` find the table in
a file or a sheet; `structure`, `text` and `csv_sample` look at its lines, `number_formats`, `text_dates` and
`text_findings` at its values.
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
