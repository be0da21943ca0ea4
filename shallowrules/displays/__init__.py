"""The HTML that a notebook shows, and pictures by matplotlib: of rules, and of the figures measured for them."""
