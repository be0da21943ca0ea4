"""Every form of the rules against the tree, row by row.

`walking` gives the cluster that the tree gives. `forms` runs every form on this machine by the `runners`, one for each
exporter's output, and by the `engines`; `parts` are the rows, `comparing` holds the results of a form. `loading` runs
forms on a CSV file as people load it. `database` runs the SQL in a user's database, with boundary rows in a table of
`temporary`, and makes a `certificate`.
"""

from shallowrules.verification.comparing import Comparison, Difference, Failed, NotRun
from shallowrules.verification.forms import DEFAULT_DIALECTS, verify
from shallowrules.verification.loading import CsvFile, LoadingReport, verify_loading
from shallowrules.verification.walking import walk

__all__ = [
    "DEFAULT_DIALECTS",
    "Comparison",
    "CsvFile",
    "Difference",
    "Failed",
    "LoadingReport",
    "NotRun",
    "verify",
    "verify_loading",
    "walk",
]
