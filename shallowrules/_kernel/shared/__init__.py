"""What growing, ExKMC and refinement share: reading matrices, codes, equal rows, routing, sums of squares."""
