"""Labels in a user's own database: what is made there, how it is known again, and how it is taken away."""

from shallowrules.labelling.databases.planning import APPLIED_STYLES, Application, Plan, plan_labels
from shallowrules.labelling.databases.running import run_plan

__all__ = ["APPLIED_STYLES", "Application", "Plan", "plan_labels", "run_plan"]
