"""The scikit-learn estimator, the choice of a trade-off and of the number of clusters, and the price of edits."""
