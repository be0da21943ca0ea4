"""Clusters given to the rows of files and databases, and how their shares drift."""
