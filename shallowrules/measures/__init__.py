"""Figures of a clustering: exact sums, cost, agreement and histograms."""
