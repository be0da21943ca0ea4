"""Labels in a user's own database: creating objects there, recognizing them later, and dropping them."""

from shallowrules.labelling.databases.application import Application
from shallowrules.labelling.databases.plan import Plan
from shallowrules.labelling.databases.planning import plan_labels
from shallowrules.labelling.databases.running import run_plan

__all__ = ["Application", "Plan", "plan_labels", "run_plan"]
