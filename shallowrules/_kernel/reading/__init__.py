"""What reads the bytes of files, and values as Python has them."""
