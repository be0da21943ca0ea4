"""Refinement: lookahead while growing, and improving a finished tree."""
