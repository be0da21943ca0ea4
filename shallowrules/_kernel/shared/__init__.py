"""Code shared by growing, ExKMC and refinement, and passes over all rows that other folders of the package call."""
