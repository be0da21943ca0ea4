"""Code shared by growing, ExKMC and refinement: reading matrices, codes, equal rows, routing, sums of squares."""
