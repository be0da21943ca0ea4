"""Labels in a user's own database: creating objects there, recognizing them later, and dropping them."""

from shallowrules.labelling.databases.application import APPLIED_STYLES, Application
from shallowrules.labelling.databases.plan import Plan
from shallowrules.labelling.databases.planning import plan_labels
from shallowrules.labelling.databases.running import run_plan

__all__ = ["APPLIED_STYLES", "Application", "Plan", "plan_labels", "run_plan"]
