"""Where pickles made before the tree moved to `shallowrules.trees` look for it."""

from shallowrules.trees.tree import Tree

__all__ = ["Tree"]
