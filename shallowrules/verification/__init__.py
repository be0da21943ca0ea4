"""Every form of the rules against the tree, row by row.

`walking` gives the cluster that the tree gives, `forms` runs every form on this machine, `comparing` says how one did.
`database` runs the SQL in a user's database, with boundary rows in a table of `temporary`, and makes a `certificate`.
"""

from shallowrules.verification.comparing import Comparison, Difference
from shallowrules.verification.forms import DEFAULT_DIALECTS, DIALECTS, verify
from shallowrules.verification.walking import walk

__all__ = ["DEFAULT_DIALECTS", "DIALECTS", "Comparison", "Difference", "verify", "walk"]
