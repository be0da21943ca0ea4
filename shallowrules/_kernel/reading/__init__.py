"""Reading the bytes of files, and Python values."""
