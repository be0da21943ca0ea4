"""A tree grown and refined over a table in parts."""
