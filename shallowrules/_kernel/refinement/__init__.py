"""Refinement: looking ahead while growing, and improving a finished tree."""
