"""Growing a tree from the root down: what a cut costs, finding the best cut of a node, partitioning its rows."""
