"""The forms of the rules that need no engine, on the values of every type of column: `RuleSet.assign` and Python."""

FORMS = {}
