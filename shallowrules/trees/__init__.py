"""Trees over the matrix that is explained: growing, searching and refining them, and their thresholds."""
