"""The unrestricted clustering that a tree explains: starts of k-means, given labels or centers."""
