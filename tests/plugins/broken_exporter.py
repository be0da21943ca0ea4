"""A plugin that does not import."""

raise RuntimeError("broken on purpose")
