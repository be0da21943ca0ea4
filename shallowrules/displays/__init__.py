"""What a notebook shows, as HTML, and pictures of matplotlib: of rules, and of what is measured about them."""
