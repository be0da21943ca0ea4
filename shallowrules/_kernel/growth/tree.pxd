"""Growing a tree node by node."""

from shallowrules._kernel.growth.workspace cimport Workspace

cdef grow_nodes(Workspace workspace, double tradeoff)
