"""Growing a tree from the root down: the cost of a cut, finding the best cut of a node, partitioning its rows."""
