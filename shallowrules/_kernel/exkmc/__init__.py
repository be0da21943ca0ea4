"""ExKMC: splitting the leaf whose best cut lowers the surrogate cost most."""
