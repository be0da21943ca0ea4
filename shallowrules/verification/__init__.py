"""Every form of the rules against the tree, row by row.

`walking` gives the cluster that the tree gives, `forms` runs every form on this machine, `comparing` says how one did.
"""

from shallowrules.verification.comparing import Comparison, Difference
from shallowrules.verification.forms import DEFAULT_DIALECTS, DIALECTS, verify
from shallowrules.verification.walking import walk

__all__ = ["DEFAULT_DIALECTS", "DIALECTS", "Comparison", "Difference", "verify", "walk"]
