"""The HTML that a notebook shows, and pictures of matplotlib: of rules, and of the figures measured for them."""
